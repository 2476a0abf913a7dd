//! UDP that does not respond: what arrives is arithmetic, whatever is lost or marked.

use crate::plans::{greedy, plain, MS, S};
use crate::run::{run, Ran};
use serde_json::json;
use sim::plan::{CodePoint, Plan, Transport};

/// Datagrams of 1200 bytes at this rate for 10 s, over a link of 10 Mbit/s with a queue of 100 kB.
fn blast(rate_bps: u64) -> Plan {
    let mut plan = plain(10_000_000, 100_000, 10 * S);
    plan.host.arp = false;
    let mut flow = greedy(&plan, "", 20 * MS);
    flow.transport = Transport::Udp { ecn: CodePoint::NotEct };
    let workload = json!({"kind": "paced", "rate_bps": rate_bps, "message_bytes": 1200});
    flow.workload = serde_json::from_value(workload).expect("a workload");
    plan.flows = vec![flow];
    plan
}

/// Datagrams that were sent, and the share of their payload that arrived.
fn fate(ran: &Ran) -> (u64, f64) {
    let flow = &ran.summary.flows[0];
    (flow.packets_sent, flow.goodput_bytes as f64 / (1200 * flow.packets_sent) as f64)
}

#[test]
fn below_the_rate_of_the_link_all_arrives_and_above_it_what_the_link_carries() {
    let (sent, arrived) = fate(&run(&blast(9_600_000)));
    // The last ones are on the way when the run ends.
    assert!(sent == 10_001 && (0.998..1.0).contains(&arrived), "{sent}, {arrived}");
    let (sent, arrived) = fate(&run(&blast(96_000_000)));
    let carried = 10e6 * 9.99 / 8.0 / 1242.0 / 100_000.0;
    assert!(sent == 100_001 && (arrived / carried - 1.0).abs() < 0.01, "{sent}, {arrived}");
}

#[test]
fn marks_take_nothing_and_copies_count_once() {
    let mut plan = blast(19_200_000);
    plan.flows[0].transport = Transport::Udp { ecn: CodePoint::Ect0 };
    let codel = json!({"kind": "codel", "limit_packets": 1_000_000, "ecn": true});
    plan.links[0].qdisc = serde_json::from_value(codel).expect("a discipline");
    let duplicate = json!({"kind": "duplicate", "ppb": 500_000_000});
    plan.flows[0].forward.insert(0, serde_json::from_value(duplicate).expect("a stage"));
    let ran = run(&plan);
    let (sent, arrived) = fate(&ran);
    assert!(sent == 20_001 && ran.summary.link.marks > 1000 && ran.summary.link.drops == 0);
    // Two of three packets are no copies.
    let carried = 10e6 * 9.99 / 8.0 / 1242.0 / 20_000.0 * 2.0 / 3.0;
    assert!((arrived / carried - 1.0).abs() < 0.02, "{arrived} for {carried}");
}

#[test]
fn its_sender_learns_of_nothing_so_that_there_is_no_window_and_no_round_trip() {
    let summary = run(&blast(96_000_000)).summary;
    let flow = &summary.flows[0];
    assert_eq!((flow.retrans_rate, flow.srtt_mean_ms, flow.fct_s), (None, None, None));
    assert!(flow.owd_mean_ms.expect("datagrams arrived") > 80.0, "the queue is full");
    assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
}

#[test]
fn what_is_no_datagram_is_refused() {
    for (workload, wanted) in [
        (json!(null), "messages at a rate"),
        (json!({"kind": "paced", "rate_bps": 1000, "message_bytes": 1473}), "1 to 1472"),
        (
            json!({"kind": "paced", "rate_bps": 1_000_000_000_000u64, "message_bytes": 1}),
            "datagrams",
        ),
    ] {
        let mut plan = blast(1);
        plan.flows[0].workload = serde_json::from_value(workload).expect("a workload");
        let text = serde_json::to_string(&plan).expect("JSON");
        let error = Plan::parse(&text).expect_err("refused").to_string();
        assert!(error.contains(wanted), "{error}");
    }
}
