//! Reasons to read the figures of a run with care: one line per kind, for any number of flows.

use super::totals::{FlowTotals, LinkTotals, Waits};
use std::time::Duration;

/// How late a flow may open its connection.
const OPENING_LATE_NS: u64 = 200_000_000;
/// Share of its busy time that a flow may wait for buffers of the hosts, per cent.
const HELD_PERCENT: u64 = 5;
/// A shorter wait does not matter.
const HELD_US: u64 = 100_000;
/// Flow numbers that a line lists; more are abbreviated.
const NAMED: usize = 5;
/// Share of events that may miss their deadline before a result says so, in parts of 1000.
const MISSED_PER_MILLE: u64 = 1;
/// Fewer missed events do not matter.
const MISSED_MIN: u64 = 2;

/// The warnings about flows.
pub fn of_flows(flows: &[FlowTotals]) -> Vec<String> {
    let numbered = || flows.iter().enumerate();
    let which = |is: &dyn Fn(&FlowTotals) -> bool| -> Vec<usize> {
        numbered().filter(|(_, flow)| is(flow)).map(|(i, _)| i).collect()
    };
    let is_open = |flow: &FlowTotals| flow.established_ns.is_some();
    let silent = which(&|flow| !is_open(flow) && flow.is_acknowledged());
    let late = which(&|flow| is_open(flow) && flow.late_ns() > OPENING_LATE_NS);
    let incomplete =
        which(&|flow| is_open(flow) && flow.size_bytes.is_some() && !flow.is_completed);
    let received = which(&|flow| held(flow, |waits| waits.receive_us).is_some());
    let sent = which(&|flow| held(flow, |waits| waits.send_us).is_some());
    [
        never_connected(flows, &silent),
        opened_late(flows, &late),
        line(flows, &incomplete, "did not complete their transfer within the run"),
        waited(flows, &received, "receive", |waits| waits.receive_us),
        waited(flows, &sent, "send", |waits| waits.send_us),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The links that sent more than their rates allow.
pub fn of_links(links: &[LinkTotals]) -> Vec<String> {
    let over =
        links.iter().map(LinkTotals::utilization).enumerate().filter(|&(_, full)| full > 1.0);
    over.map(|(i, full)| format!("link {i} sent {:.0} % of what its rate allows", 100.0 * full))
        .collect()
}

/// That events of an emulated path were late, where too many were.
pub fn late_events(
    missed: u64,
    events: u64,
    limit: Duration,
    p99: Duration,
    most: Duration,
) -> Option<String> {
    let tolerated = (events * MISSED_PER_MILLE / 1000).max(MISSED_MIN);
    let ms = |span: Duration| span.as_secs_f64() * 1e3;
    (missed > tolerated).then(|| {
        format!(
            "the emulator was late: {missed} of {events} events by more than {} ms (p99 {:.3} ms, at most {:.1} ms); \
             delays were longer than configured",
            ms(limit), ms(p99), ms(most)
        )
    })
}

/// That the emulator lost frames by itself.
pub fn own_drops(frames: u64) -> Option<String> {
    (frames > 0).then(|| format!("the emulator itself dropped {frames} frames"))
}

impl FlowTotals {
    fn late_ns(&self) -> u64 {
        self.start_ns.saturating_sub(self.planned_ns)
    }
}

/// Which flows, of how many: `flow 3`, `flows 0 and 4`, `12 of 100 flows (0, 1, 2, 3, 4, ...)`.
fn named(which: &[usize], all: usize) -> String {
    match which {
        [one] => format!("flow {one}"),
        [one, other] => format!("flows {one} and {other}"),
        _ if which.len() == all => format!("all {all} flows"),
        _ => {
            let mut numbers: Vec<String> = which.iter().take(NAMED).map(usize::to_string).collect();
            if which.len() > NAMED {
                numbers.push("...".to_string());
            }
            format!("{} of {all} flows ({})", which.len(), numbers.join(", "))
        }
    }
}

fn line(flows: &[FlowTotals], which: &[usize], what: &str) -> Option<String> {
    let what = if which.len() == 1 { what.replace("their", "its") } else { what.to_string() };
    (!which.is_empty()).then(|| format!("{} {what}", named(which, flows.len())))
}

fn never_connected(flows: &[FlowTotals], which: &[usize]) -> Option<String> {
    let said = line(flows, which, "never connected: their figures are zero")?;
    let why = which.iter().find_map(|&i| flows[i].why.as_deref().map(|why| (i, why)));
    Some(match why {
        None => said,
        Some((_, why)) if which.len() == 1 => format!("{said} ({why})"),
        Some((i, why)) => format!("{said} (flow {i}: {why})"),
    })
}

fn opened_late(flows: &[FlowTotals], which: &[usize]) -> Option<String> {
    let &worst = which.iter().max_by_key(|&&i| flows[i].late_ns())?;
    let ms = flows[worst].late_ns() / 1_000_000;
    let named = named(which, flows.len());
    Some(match which.len() {
        1 => format!("{named} opened its connection {ms} ms after its start"),
        _ => format!(
            "{named} opened their connections late, flow {worst} by {ms} ms, the others by less"
        ),
    })
}

/// Share of its busy time that a flow waited for a buffer, per cent, where that is too much.
fn held(flow: &FlowTotals, of: fn(&Waits) -> u64) -> Option<u64> {
    let waits = flow.waits.as_ref()?;
    let us = of(waits);
    (us * 100 > waits.busy_us * HELD_PERCENT && us > HELD_US)
        .then(|| us * 100 / waits.busy_us.max(1))
}

fn waited(
    flows: &[FlowTotals],
    which: &[usize],
    buffer: &str,
    of: fn(&Waits) -> u64,
) -> Option<String> {
    let most = which.iter().filter_map(|&i| held(&flows[i], of)).max()?;
    let up_to = if which.len() == 1 { "" } else { "up to " };
    line(flows, which, &format!("waited for their {buffer} buffer {up_to}{most} % of the time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn open(late_ms: u64) -> FlowTotals {
        let start_ns = (1000 + late_ms) * MS;
        let established_ns = Some(start_ns + MS);
        FlowTotals { planned_ns: 1000 * MS, start_ns, established_ns, ..FlowTotals::default() }
    }

    #[test]
    fn flows_in_order_say_nothing() {
        let done = FlowTotals { size_bytes: Some(5), is_completed: true, ..open(0) };
        assert!(of_flows(&[open(0), open(200), done]).is_empty());
    }

    #[test]
    fn a_kind_of_warning_is_one_line_whatever_the_number_of_flows() {
        let silent = FlowTotals { why: Some("refused".to_string()), ..FlowTotals::default() };
        assert_eq!(
            of_flows(std::slice::from_ref(&silent)),
            ["flow 0 never connected: its figures are zero (refused)"]
        );
        assert_eq!(
            of_flows(&vec![silent; 9]),
            ["all 9 flows never connected: their figures are zero (flow 0: refused)"]
        );
        let mut flows = vec![open(0), open(201), open(0), open(900)];
        assert_eq!(of_flows(&flows[..3]), ["flow 1 opened its connection 201 ms after its start"]);
        assert_eq!(
            of_flows(&flows),
            ["flows 1 and 3 opened their connections late, flow 3 by 900 ms, the others by less"]
        );
        flows.extend(vec![open(300); 6]);
        assert_eq!(
            of_flows(&flows),
            ["8 of 10 flows (1, 3, 4, 5, 6, ...) opened their connections late, flow 3 by 900 ms, the others by less"]
        );
    }

    #[test]
    fn an_incomplete_transfer_and_a_wait_for_buffers_are_said() {
        let half = FlowTotals { size_bytes: Some(5), ..open(0) };
        assert_eq!(
            of_flows(&[half.clone(), half, open(0)]),
            ["flows 0 and 1 did not complete their transfer within the run"]
        );
        let waits = |send_us| Some(Waits { busy_us: 1_000_000, receive_us: 0, send_us });
        let flows =
            [100_000, 100_001, 900_000].map(|us| FlowTotals { waits: waits(us), ..open(0) });
        assert_eq!(
            of_flows(&flows),
            ["flows 1 and 2 waited for their send buffer up to 90 % of the time"]
        );
    }

    #[test]
    fn late_events_are_said_from_one_in_a_thousand_and_above_two() {
        let ms = Duration::from_millis;
        let said = |missed, events| late_events(missed, events, ms(1), ms(2), ms(30));
        assert_eq!((said(2, 10), said(10, 10_000)), (None, None));
        let line = said(11, 10_000).expect("more than one in a thousand");
        assert!(
            line.contains("11 of 10000 events by more than 1 ms (p99 2.000 ms, at most 30.0 ms)"),
            "{line}"
        );
        assert!(said(3, 10).is_some());
    }
}
