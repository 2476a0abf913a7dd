//! What holds for any plan. A failure prints the plan, seed included; `dumbbell-sim` runs it again.

use crate::paths::any_path;
use crate::plans::{any_plan, greedy, lose, plain, MS, S};
use crate::run::{run, Cells, Ran};
use net::impair::BernoulliLoss;
use net::rng::Rng;
use proptest::prelude::*;
use sim::plan::{HostQdisc, Plan, Receiver, Stage};

/// Random plans of each property; `PROPTEST_CASES` overrides it.
const CASES: u32 = 200;

fn config() -> ProptestConfig {
    let by_env = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    let cases = by_env.unwrap_or(CASES);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_plan_runs_and_its_tables_agree_with_each_other(plan in any_plan()) {
        let ran = run(&plan);
        check_link(&plan, &ran);
        for row in ran.table("flows") {
            check_flow(&plan, &row);
        }
        check_events(&ran);
        check_samples(&plan, &ran);
    }

    #[test]
    fn the_same_plan_gives_the_same_bytes(plan in any_plan(), pcap in any::<bool>()) {
        let mut plan = plan;
        plan.record.pcap = pcap;
        let (one, two) = (run(&plan).bytes(), run(&plan).bytes());
        prop_assert_eq!(one.len(), 5 + usize::from(pcap));
        for (name, bytes) in &one {
            prop_assert!(&two[name] == bytes, "{} differs", name);
        }
    }

    #[test]
    fn any_path_conserves_and_repeats(plan in any_path()) {
        let (one, two) = (run(&plan).bytes(), run(&plan).bytes());
        for (name, bytes) in &one {
            prop_assert!(&two[name] == bytes, "{} differs", name);
        }
    }

    #[test]
    fn recording_changes_nothing(plan in any_plan()) {
        let mut silent = plan.clone();
        (silent.record.samples, silent.record.queue, silent.record.events) = (false, false, false);
        let (loud, quiet) = (run(&plan), run(&silent));
        prop_assert!(loud.bytes()["flows.parquet"] == quiet.bytes()["flows.parquet"]);
        prop_assert!(quiet.table("samples").is_empty() && quiet.table("events").is_empty());
    }
}

/// No more leaves the link than its rate and its bucket allow, and the drops are the flows' drops.
fn check_link(plan: &Plan, ran: &Ran) {
    let link = &plan.links[0];
    let seconds = plan.duration_ns as f64 / 1e9;
    let most = 1.0 + link.burst_bytes as f64 * 8.0 / (link.rate_bps as f64 * seconds);
    let utilization = ran.summary.link.utilization;
    assert!(utilization <= most + 1e-9, "utilization {utilization} of at most {most}");
    let flows = ran.table("flows");
    let drops: i64 = flows.iter().map(|row| row.int("queue_drops")).sum();
    assert_eq!(drops as u64, ran.summary.link.drops);
    let goodput: i64 = flows.iter().map(|row| row.int("goodput_bytes")).sum();
    let room = link.rate_bps as f64 / 8.0 * seconds + link.burst_bytes as f64;
    assert!(goodput as f64 <= room * 1448.0 / 1514.0 + 1448.0, "{goodput} B of {room} B");
}

fn check_flow(plan: &Plan, row: &Cells) {
    let flow = &plan.flows[row.int("flow") as usize];
    assert_eq!(row.text("cca"), flow.cca);
    let (sent, retrans) = (row.int("segs_sent"), row.int("retrans_segs"));
    assert!(retrans <= sent && row.int("delivered_segs") <= sent + 1, "segments");
    assert!(row.int("goodput_bytes") <= row.int("bytes_sent"), "bytes received were sent");
    assert!(row.int("goodput_bytes") <= (sent - retrans) * 1448, "each byte counts once");
    assert!(
        row.int("rtos") + row.int("tlps") <= retrans + row.int("tlps"),
        "a timeout retransmits"
    );
    let (start, stop) = (row.int("start_us"), row.int("stop_us"));
    assert_eq!(start, (flow.start_ns / 1000) as i64);
    assert!(start <= stop && stop <= (flow.stop_ns / 1000) as i64, "{start} <= {stop}");
    if let Some(established) = row.get("established_us") {
        let least = flow.rtt_ns.saturating_sub(spread_ns(flow)) / 1000;
        assert!(established >= start + least as i64 && established <= stop, "established");
    } else {
        assert_eq!(sent, 0, "data before the handshake");
    }
    if let Some(completed) = row.get("completed_us") {
        assert_eq!(completed, stop);
        assert_eq!(Some(row.int("goodput_bytes")), row.get("size_bytes"));
    } else {
        assert!(row.get("size_bytes").is_none_or(|size| row.int("goodput_bytes") < size));
        assert_eq!(stop, (flow.stop_ns / 1000) as i64, "only a complete flow ends early");
    }
}

fn spread_ns(flow: &sim::plan::Flow) -> u64 {
    let spread = |stage: &Stage| match stage {
        Stage::Delay(delay) => delay.jitter.map_or(0, |jitter| jitter.spread.as_ns()),
        _ => 0,
    };
    flow.forward.iter().map(spread).sum()
}

/// The events of a flow are those that its row counts.
fn check_events(ran: &Ran) {
    let events = ran.table("events");
    assert!(events.iter().is_sorted_by_key(|e| e.int("t_ns")), "events in order");
    for row in ran.table("flows") {
        let of = |kind: &str| -> Vec<&Cells> {
            let mine = |e: &&Cells| e.get("flow") == row.get("flow") && e.text("kind") == kind;
            events.iter().filter(mine).collect()
        };
        let sum = |kind| of(kind).iter().filter_map(|e| e.get("value")).sum::<i64>();
        assert_eq!(sum("drop_random"), row.int("random_drops"));
        assert_eq!(of("rto").len() as i64, row.int("rtos"));
        assert_eq!(of("tlp").len() as i64, row.int("tlps"));
        assert_eq!(of("undo").len() as i64, row.int("undos"));
        assert_eq!(sum("loss_detected"), row.int("lost_segs"));
        assert_eq!(of("complete").len(), usize::from(row.get("completed_us").is_some()));
        assert_eq!(of("complete").len() + of("stop").len(), 1);
    }
}

/// The least that the flow may measure as its RTT, us. Timestamps round down to a millisecond. A timeout sends without regard to
/// pacing, but what it sends has the timestamp of its paced time. The echo then tells less than the path's RTT, down to the 1 ms
/// that Linux takes for none. With `fq` a packet leaves at its paced time. What is acknowledged before it comes has any RTT.
fn least_rtt_us(plan: &Plan, row: &Cells) -> i64 {
    const TIMESTAMP_US: i64 = 1_000;
    let flow = &plan.flows[row.int("flow") as usize];
    if matches!(flow.receiver, Some(Receiver::OptimisticAcks { .. })) {
        return 0;
    }
    let path = (flow.rtt_ns.saturating_sub(spread_ns(flow)) / 1000) as i64 - TIMESTAMP_US;
    let paces_itself = flow.host.qdisc.unwrap_or(plan.host.qdisc) == HostQdisc::Pfifo;
    if paces_itself && row.int("rtos") + row.int("tlps") > 0 {
        return path.min(TIMESTAMP_US);
    }
    path
}

/// The sender's counters are consistent at every sample, and what is cumulative never falls.
fn check_samples(plan: &Plan, ran: &Ran) {
    const CUMULATIVE: [&str; 6] =
        ["t_us", "goodput_bytes", "delivered", "lost_total", "retrans_total", "segs_sent"];
    let least: Vec<i64> = ran.table("flows").iter().map(|row| least_rtt_us(plan, row)).collect();
    let mut last: Vec<Option<&Cells>> = plan.flows.iter().map(|_| None).collect();
    let samples = ran.table("samples");
    for row in &samples {
        let get = |name: &str| row.int(name);
        let i = get("flow") as usize;
        assert!(get("sacked") + get("lost") <= get("packets_out"), "flow {i}: scoreboard");
        assert!(get("retrans_out") == 0 || get("packets_out") > 0);
        assert_eq!(
            get("in_flight"),
            get("packets_out") + get("retrans_out") - get("sacked") - get("lost")
        );
        assert!(get("cwnd") >= 1 && (0..=4).contains(&get("ca_state")));
        assert!(
            get("sacked") == 0 || get("ca_state") != 0 || get("delivered") == 0,
            "Open with SACKs"
        );
        if let Some(min_rtt) = row.get("min_rtt_us") {
            assert!(min_rtt >= least[i], "flow {i}: RTT {min_rtt} us of at least {} us", least[i]);
        }
        if let Some(before) = last[i].replace(row) {
            let falls = CUMULATIVE.iter().find(|c| get(c) < before.int(c));
            assert!(falls.is_none(), "flow {i}: {falls:?} falls");
        }
    }
}

/// Random loss of the flows below.
const LOSS_PPB: u64 = 10_000_000;

/// How many of the first `n` packets of flow `i` are lost at random.
fn drawn(plan: &Plan, i: usize, n: i64) -> i64 {
    let stream = Rng::stream(plan.seed, &format!("flow{i}.loss"));
    let mut loss = BernoulliLoss::new(LOSS_PPB, stream);
    (0..n).filter(|_| loss.is_lost()).count() as i64
}

#[test]
fn adding_flows_does_not_shift_the_random_losses_of_another() {
    let mut drops = 0;
    for others in 0..4 {
        let mut plan = plain(20_000_000, 100_000, 5 * S);
        for cca in ["cubic", "reno", "bbr", "cubic"].iter().take(1 + others) {
            let mut flow = greedy(&plan, cca, 30 * MS);
            lose(&mut flow, LOSS_PPB);
            plan.flows.push(flow);
        }
        for row in run(&plan).table("flows") {
            let i = row.int("flow") as usize;
            // The handshake's two packets come first; lost SYNs are sent again.
            let lost_syns = (1..).take_while(|&n| drawn(&plan, i, n) == n).count() as i64;
            let packets = lost_syns + 2 + row.int("segs_sent");
            assert_eq!(
                row.int("random_drops"),
                drawn(&plan, i, packets),
                "flow {i}, {others} others"
            );
            drops += row.int("random_drops");
        }
    }
    assert!(drops > 200, "{drops} losses prove little");
}

#[test]
fn a_flow_of_its_own_seed_draws_its_own_losses() {
    let mut plan = plain(20_000_000, 100_000, 5 * S);
    let mut flow = greedy(&plan, "cubic", 30 * MS);
    lose(&mut flow, LOSS_PPB);
    plan.flows.push(flow);
    let one = run(&plan).bytes();
    plan.seed += 1;
    assert!(one["flows.parquet"] != run(&plan).bytes()["flows.parquet"]);
}
