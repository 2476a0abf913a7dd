//! In steady state nothing is allocated per packet: a counting allocator watches whole runs.

use parquet::file::reader::{FileReader, SerializedFileReader};
use sim::Plan;
use std::path::Path;

#[path = "../../../transport/tests/counting/mod.rs"]
mod counting;

use counting::counted;

fn plan(cca: &str, jitter: &str, events: bool) -> Plan {
    let flow = format!(
        r#"{{"cca": "{cca}", "params": {{}}, "rtt_ns": 20000000,
            "forward": [{{"kind": "loss", "model": "random", "ppb": 10000}},
                {{"kind": "delay", "ns": 10000000, "jitter": {jitter}}}, {{"kind": "link", "link": 0}}],
            "back": [{{"kind": "delay", "ns": 10000000}}], "start_ns": 0, "stop_ns": 25000000000, "size_bytes": null,
            "max_rate_bps": null}}"#
    );
    let text = format!(
        r#"{{"name": "steady", "seed": 1, "duration_ns": 25000000000, "sample_ns": 100000000,
            "links": [{{"rate_bps": 200000000, "burst_bytes": 3028,
                "qdisc": {{"kind": "fifo", "limit_bytes": 500000, "limit_packets": null}}}}],
            "host": {{"hz": 1000, "qdisc": "fq", "tso": true, "gro": false, "ecn": "off",
                "rcvbuf_bytes": 0, "sndbuf_bytes": 0, "delayed_ack": true}},
            "flows": [{flow}, {flow}, {flow}, {flow}],
            "record": {{"samples": false, "queue": false, "events": {events}, "pcap": false}}}}"#
    );
    sim::parse(&text, &cca::Modules::new()).expect("a plan")
}

/// Allocations and packets between 13 s and the end of a run: after the first PROBE_RTT of the BBR family, from which windows may grow
/// once more.
fn steady_state(plan: &Plan) -> (u64, u64) {
    steady_state_in(plan, tempfile::tempdir().expect("a temporary folder").path())
}

fn steady_state_in(plan: &Plan, folder: &Path) -> (u64, u64) {
    let mut looks = Vec::with_capacity(1024);
    let outcome = sim::run(plan, folder, &mut |at_ns, packets| {
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
        for jitter in
            ["null", r#"{"distribution": "uniform", "spread_ns": 1000000, "reorder": true}"#]
        {
            let (allocations, packets) = steady_state(&plan(module.name(), jitter, false));
            let what = format!("{} with jitter {jitter}: {allocations}/{packets}", module.name());
            assert!(packets > 50_000, "no steady state: {what}");
            assert!(allocations <= RING_GROWTH_MAX, "allocations per packets: {what}");
        }
    }
}

/// Rows of the event table, and the groups that were begun while the run went on: the last one is written at its end, and
/// encoded before that.
fn events_in(folder: &Path) -> (i64, u64) {
    let file = std::fs::File::open(folder.join("events.parquet")).expect("a table");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let rows = reader.metadata().file_metadata().num_rows();
    (rows, reader.num_row_groups() as u64)
}

/// A row group of 65,536 rows makes its pages, encoders and dictionaries again, in batches of 1,024 rows: some 500 times for a
/// whole one, for any content of the rows.
const PER_GROUP_MAX: u64 = 600;

/// What the Parquet library gets of the table's two columns of text waits in buffers, which double while the first batch fills.
const COLUMN_GROWTH_MAX: u64 = 16;

#[test]
fn the_event_table_allocates_by_row_groups_and_not_by_rows() {
    for module in cca::Module::all() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (allocations, _) = steady_state_in(&plan(module.name(), "null", true), folder.path());
        let (rows, groups) = events_in(folder.path());
        let what = format!("{}: {allocations} for {rows} rows, {groups} groups", module.name());
        let most = RING_GROWTH_MAX + COLUMN_GROWTH_MAX + groups * PER_GROUP_MAX;
        assert!(allocations <= most, "{what}");
    }
}

#[test]
fn the_counter_counts() {
    let before = counted();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(counted(), before + 1);
}
