//! What a run counted, of its flows and links.

use crate::flow::{Flow, Life};
use crate::traffic::Traffic;
use path::link::Link;
use path::network::Network;
use path::plan::Plan;
use record::report::Waits;
use record::{FlowTotals, RunTotals};
use units::Time;

pub(crate) fn totals<T: Traffic>(
    plan: &Plan,
    flows: &mut [Flow],
    (down, up): (&Network<T::Down>, &Network<T::Up>),
    (end, delivered, events): (Time, u64, u64),
) -> RunTotals {
    flows.iter_mut().for_each(|flow| flow.ends.observe());
    let fates = [down.fates(), up.fates()];
    let mut links: Vec<_> = down.links.iter().map(|link| link.totals(end)).collect();
    let mut warnings: Vec<_> = down.links.iter().filter_map(Link::warning).collect();
    if T::RECORDS_UP {
        links.extend(up.links.iter().map(|link| link.totals(end)));
        warnings.extend(up.links.iter().filter_map(Link::warning));
    }
    let fate = |i: usize| &fates[usize::from(flows[i].is_up)][i];
    RunTotals {
        end_ns: end.as_ns(),
        packets_delivered: delivered,
        events,
        warnings,
        links,
        flows: (0..flows.len())
            .map(|i| of_flow(&flows[i], plan.flows[i].totals(fate(i)), end))
            .collect(),
    }
}

/// What is known of a flow, with what its ends counted.
fn of_flow(flow: &Flow, known: FlowTotals, end: Time) -> FlowTotals {
    let (stop, is_completed) = match flow.life {
        Life::Ended { at, completed } => (at, completed),
        Life::Waiting | Life::Running => (end, false),
    };
    let stats = flow.ends.stats();
    let min_rtt = flow.ends.sk().rtt_min.value().min(flow.min_rtt_us);
    FlowTotals {
        start_ns: flow.start.as_ns(),
        stop_ns: stop.as_ns(),
        established_ns: flow.established.filter(|_| flow.ends.is_acknowledged()).map(Time::as_ns),
        is_completed,
        goodput_bytes: flow.goodput_bytes(),
        segs_sent: stats.segs_sent,
        retrans_segs: stats.retrans_segs,
        bytes_sent: stats.bytes_sent,
        delivered_segs: stats.delivered,
        lost_segs: stats.lost,
        recoveries: u64::from(stats.recoveries),
        rtos: u64::from(stats.rtos),
        tlps: u64::from(stats.tlps),
        undos: u64::from(stats.undos),
        acks_sent: flow.acks_sent(),
        min_rtt_us: (min_rtt != u32::MAX).then_some(u64::from(min_rtt)),
        one_way: flow.one_way.delays(),
        srtt_us: flow.srtt_samples.clone(),
        waits: flow.ends.limited_time(stop).map(|time| Waits {
            busy_us: time.busy_us,
            receive_us: time.receive_window_us,
            send_us: time.send_buffer_us,
        }),
        ..known
    }
}
