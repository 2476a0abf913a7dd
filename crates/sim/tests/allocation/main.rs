//! In steady state nothing is allocated per packet: a counting allocator watches whole runs.

use sim::Plan;

#[path = "../../../transport/tests/counting/mod.rs"]
mod counting;

use counting::counted;

fn plan(cca: &str, jitter: &str, events: bool) -> Plan {
    let flow = format!(
        r#"{{"cca": "{cca}", "params": {{}}, "rtt_ns": 20000000, "loss_ppb": 10000,
            "jitter": {jitter}, "start_ns": 0, "stop_ns": 25000000000, "size_bytes": null,
            "max_rate_bps": null}}"#
    );
    let text = format!(
        r#"{{"name": "steady", "seed": 1, "duration_ns": 25000000000, "sample_ns": 100000000,
            "bottleneck": {{"rate_bps": 200000000, "burst_bytes": 3028,
                "qdisc": {{"kind": "fifo", "limit_bytes": 500000, "limit_packets": null}}}},
            "host": {{"hz": 1000, "qdisc": "fq", "tso": true, "gro": false, "ecn": "off",
                "rcvbuf_bytes": 0, "sndbuf_bytes": 0, "delayed_ack": true}},
            "flows": [{flow}, {flow}, {flow}, {flow}],
            "record": {{"samples": false, "queue": false, "events": {events}, "pcap": false}}}}"#
    );
    Plan::from_json(&text).expect("a plan")
}

/// Allocations and packets between 13 s and the end of a run: after the first PROBE_RTT of the BBR family, from which windows may grow
/// once more.
fn steady_state(plan: &Plan) -> (u64, u64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut looks = Vec::with_capacity(1024);
    let outcome = sim::run(plan, folder.path(), &mut |at_ns, packets| {
        looks.push((at_ns, counted(), packets));
        true
    });
    outcome.expect("a run");
    let steady: Vec<_> = looks.iter().filter(|l| l.0 >= 13_000_000_000).collect();
    let (first, last) = (steady[0], steady[steady.len() - 1]);
    (last.1 - first.1, last.2 - first.2)
}

/// A flow whose window reaches a new largest value late (after a PROBE_RTT, say) doubles its rings once more: four flows
/// with a handful of rings each, two doublings.
const RING_GROWTH_MAX: u64 = 40;

#[test]
fn nothing_is_allocated_per_packet() {
    for module in cca::Module::all() {
        for jitter in ["null", r#"{"kind": "uniform", "spread_ns": 1000000, "reorder": true}"#] {
            let (allocations, packets) = steady_state(&plan(module.name(), jitter, false));
            let what = format!("{} with jitter {jitter}: {allocations}/{packets}", module.name());
            assert!(packets > 50_000, "no steady state: {what}");
            assert!(allocations <= RING_GROWTH_MAX, "allocations per packets: {what}");
        }
    }
}

#[test]
fn the_event_table_allocates_by_row_groups_and_not_by_packets() {
    for module in cca::Module::all() {
        let (allocations, packets) = steady_state(&plan(module.name(), "null", true));
        assert!(allocations <= packets / 500, "{}: {allocations}/{packets}", module.name());
    }
}

#[test]
fn the_counter_counts() {
    let before = counted();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(counted(), before + 1);
}
