//! What each part of a path does to a whole run, one sentence each.

use crate::plans::{greedy, plain, MS, S};
use crate::run::{run, Ran};
use serde_json::{json, Value};
use sim::plan::{EcnMode, Flow, Nic, Plan};
use std::io::Write as _;

/// Share of a full frame that is payload.
const PAYLOAD: f64 = 1448.0 / 1514.0;

/// 20 Mbit/s and 20 ms, one CUBIC flow for ten seconds.
fn one() -> Plan {
    let mut plan = plain(20_000_000, 100_000, 10 * S);
    plan.flows.push(greedy(&plan, "cubic", 20 * MS));
    plan
}

/// The flow's route with these parts before the bottleneck.
fn before_bottleneck(plan: &mut Plan, parts: &[Value]) {
    let mut all = vec![json!({"kind": "delay", "ns": 10 * MS})];
    all.extend_from_slice(parts);
    all.push(json!({"kind": "link", "link": 0}));
    plan.flows[0].forward = stages(all);
}

/// The route of the acknowledgements with these parts.
fn acks_through(plan: &mut Plan, parts: &[Value]) {
    let mut all = vec![json!({"kind": "delay", "ns": 10 * MS})];
    all.extend_from_slice(parts);
    plan.flows[0].back = stages(all);
}

fn stages<T: serde::de::DeserializeOwned>(parts: Vec<Value>) -> T {
    serde_json::from_value(Value::Array(parts)).expect("parts of a route")
}

fn fifo_link(rate_bps: u64, limit_bytes: u64) -> sim::plan::Link {
    let mut link = plain(rate_bps, limit_bytes, S).links.remove(0);
    link.name = "another".into();
    link
}

fn goodput(ran: &Ran, flow: usize) -> f64 {
    ran.summary.flows[flow].goodput_mbps
}

fn sum(ran: &Ran, column: &str) -> i64 {
    ran.table("flows").iter().map(|row| row.int(column)).sum()
}

#[test]
fn a_slower_link_behind_the_first_is_the_bottleneck() {
    let mut plan = one();
    plan.links.push(fifo_link(5_000_000, 50_000));
    before_bottleneck(&mut plan, &[]);
    let route = &mut plan.flows[0].forward;
    route.extend(stages::<Vec<_>>(vec![json!({"kind": "link", "link": 1})]));
    let ran = run(&plan);
    assert!((0.95..1.01).contains(&(goodput(&ran, 0) / (5.0 * PAYLOAD))), "{}", goodput(&ran, 0));
    assert_eq!(ran.summary.link.drops, 0, "nothing waits before the faster link");
    assert!(ran.summary.links[0].drops > 0 && ran.summary.links[0].queue_mean_ms > 5.0);
}

#[test]
fn in_a_parking_lot_the_flow_over_both_links_gets_the_least() {
    let mut plan = plain(20_000_000, 50_000, 30 * S);
    plan.links.push(fifo_link(20_000_000, 50_000));
    for way in [vec![0, 1], vec![0], vec![1]] {
        let links = way.iter().map(|link| json!({"kind": "link", "link": link}));
        let delay = json!({"kind": "delay", "ns": 10 * MS});
        let forward = stages(std::iter::once(delay).chain(links).collect());
        plan.flows.push(Flow { forward, ..greedy(&plan, "reno", 20 * MS) });
    }
    let ran = run(&plan);
    let [long, first, second] = [0, 1, 2].map(|i| goodput(&ran, i));
    assert!(long < 0.6 * first && long < 0.6 * second && long > 1.0, "{long} {first} {second}");
    assert!(ran.summary.link.utilization > 0.95 && ran.summary.links[0].utilization > 0.95);
}

#[test]
fn a_trace_is_used_whole_and_repeats() {
    // One opportunity a millisecond for a second, then one each fourth: 12.112 and 3.028 Mbit/s of frames.
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    let fast = 1..=1000;
    let slow = (1004..=2000).step_by(4);
    fast.chain(slow).for_each(|ms| writeln!(file, "{ms}").expect("a writable file"));
    let mut plan = one();
    let path = file.path().to_str().expect("a path in UTF-8");
    let trace = json!({"path": path, "opportunity_bytes": 1514, "repeat": true});
    plan.links[0].trace = serde_json::from_value(trace).expect("a trace");
    let ran = run(&plan);
    let mean = 1514.0 * 8.0 * 1250.0 / 2.0 / 1e6;
    let of_capacity = goodput(&ran, 0) / (mean * PAYLOAD);
    assert!((0.97..1.0).contains(&of_capacity), "{of_capacity} of the trace");
    assert!((0.97..=1.0).contains(&ran.summary.link.utilization));
}

#[test]
fn a_trace_that_cannot_be_read_is_named_with_its_line() {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    writeln!(file, "1\n2\nthree").expect("a writable file");
    let mut plan = one();
    let path = file.path().to_str().expect("a path in UTF-8");
    let trace = json!({"path": path, "opportunity_bytes": 1514, "repeat": true});
    plan.links[0].trace = serde_json::from_value(trace).expect("a trace");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = sim::run(&plan, folder.path(), &mut |_, _| true).expect_err("a broken trace");
    let text = error.to_string();
    assert!(text.starts_with("links[0].trace.path: ") && text.contains("line 3"), "{text}");
}

#[test]
fn a_policer_bounds_the_rate_without_a_queue() {
    let mut plan = one();
    let policer = json!({"rate_bps": 5_000_000, "burst_bytes": 30_000, "mark": false});
    plan.links[0].policer = serde_json::from_value(policer).expect("a policer");
    let ran = run(&plan);
    assert!(goodput(&ran, 0) < 5.1 && goodput(&ran, 0) > 2.5, "{}", goodput(&ran, 0));
    assert_eq!(sum(&ran, "policed_drops"), sum(&ran, "queue_drops"));
    assert!(sum(&ran, "policed_drops") > 50 && ran.summary.link.queue_mean_ms < 1.0);
}

#[test]
fn a_queue_that_marks_keeps_ecn_flows_from_losing() {
    for (ecn, loses) in
        [(EcnMode::Off, true), (EcnMode::Classic, false), (EcnMode::Accurate, false)]
    {
        let mut plan = one();
        plan.host.ecn = ecn;
        let codel = json!({
            "kind": "codel", "limit_packets": 1000, "target_ns": 5 * MS, "interval_ns": 100 * MS, "ecn": true,
            "ce_threshold_ns": null,
        });
        plan.links[0].qdisc = serde_json::from_value(codel).expect("a queue");
        let ran = run(&plan);
        let (drops, marks) = (sum(&ran, "aqm_drops"), sum(&ran, "ecn_marks"));
        assert_eq!(drops > 0, loses, "{ecn:?}: {drops} drops");
        assert_eq!(marks > 0, !loses, "{ecn:?}: {marks} marks");
        assert_eq!(sum(&ran, "retrans_segs") > 0, loses);
        assert!(ran.summary.link.utilization > 0.9, "{ecn:?}");
    }
}

#[test]
fn a_step_at_242_us_keeps_dctcp_below_a_millisecond_of_queue() {
    // google/bbr's "ecn_bulk": CoDel with ce_threshold 242 us, 1 ms; here 100 Mbit/s instead of 1 Gbit/s, 1 and
    // 4 flows. DCTCP needs about a seventh of the BDP of queue (Alizadeh et al. 2010, section 3.3).
    for flows in [1, 4] {
        let mut plan = plain(100_000_000, 1_000_000, 5 * S);
        let codel = json!({
            "kind": "codel", "limit_packets": 1000, "target_ns": 5 * MS, "interval_ns": 100 * MS, "ecn": false,
            "ce_threshold_ns": 242_000,
        });
        plan.links[0].qdisc = serde_json::from_value(codel).expect("a queue");
        plan.flows = vec![greedy(&plan, "dctcp", MS); flows];
        let ran = run(&plan);
        let link = &ran.summary.link;
        assert!(link.utilization > 0.93, "{flows}: {}", link.utilization);
        assert!(link.queue_mean_ms < 1.0 && link.drops == 0, "{flows}: {} ms", link.queue_mean_ms);
        let jain = ran.summary.jain.expect("all ran all the time");
        assert!(jain > 0.98 && link.marks > 100, "{flows}: {jain}");
    }
}

#[test]
fn fair_queueing_gives_bbr_and_reno_the_same() {
    for kind in ["fq_codel", "cake", "fq"] {
        let mut plan = plain(20_000_000, 400_000, 30 * S);
        plan.links[0].qdisc = serde_json::from_value(match kind {
            "fq_codel" => json!({
                "kind": kind, "limit_packets": 10240, "flows": 1024, "quantum_bytes": 1514,
                "memory_limit_bytes": 33_554_432, "drop_batch": 64, "target_ns": 5 * MS, "interval_ns": 100 * MS,
                "ecn": true, "ce_threshold_ns": null, "ce_threshold_selector": 0, "ce_threshold_mask": 0,
            }),
            "cake" => json!({
                "kind": kind, "bandwidth_bps": 20_000_000, "rtt_ns": 100 * MS, "diffserv": "diffserv3",
                "isolation": "triple-isolate", "overhead_bytes": null, "mpu_bytes": 0, "framing": "none",
                "ack_filter": "off", "ingress": false, "wash": false, "memory_limit_bytes": null,
            }),
            _ => json!({
                "kind": kind, "limit_packets": 10000, "flow_limit_packets": 100, "quantum_bytes": 3028,
                "initial_quantum_bytes": 15140, "maxrate_bps": null, "low_rate_threshold_bps": 550_000,
                "ce_threshold_ns": null,
            }),
        })
        .expect("a queue");
        plan.flows = ["bbr", "reno"].map(|cca| greedy(&plan, cca, 20 * MS)).to_vec();
        let ran = run(&plan);
        let jain = ran.summary.jain.expect("all ran all the time");
        assert!(jain > 0.98, "{kind}: {jain}");
        assert!(ran.summary.link.utilization > 0.95, "{kind}: {}", ran.summary.link.utilization);
    }
}

#[test]
fn paced_flows_of_hosts_on_one_processor_share_more_evenly() {
    let [one, own] = [true, false].map(|is_shared| {
        let jain = [2, 3, 4, 5, 6, 7, 8, 9].map(|apart| {
            let mut plan = plain(100_000_000, 50_000, 20 * S);
            plan.host.shared_processor = is_shared;
            plan.flows = vec![greedy(&plan, "bbr", 20 * MS); 10];
            for (i, flow) in (0..).zip(&mut plan.flows) {
                flow.start_ns = i * apart * MS;
            }
            run(&plan).summary.jain.expect("all ran all the time")
        });
        jain.iter().sum::<f64>() / 8.0
    });
    // Over 32 such starts the difference is 0.06 to 0.08.
    assert!(one > own + 0.03, "where departures coincide {one}, and where not {own}");
}

#[test]
fn timeouts_of_one_host_fire_together_and_those_of_many_do_not() {
    let [one, own] = [true, false].map(|is_shared| {
        let mut plan = plain(1_000_000_000, 2_500_000, 3 * S);
        plan.host.shared_processor = is_shared;
        plan.flows = vec![greedy(&plan, "cubic", 20 * MS); 1000];
        for (i, flow) in (0..).zip(&mut plan.flows) {
            flow.start_ns = i * MS / 2;
        }
        run(&plan)
    });
    let is_said = |ran: &Ran| ran.summary.warnings.iter().any(|w| w.contains("host.processors"));
    assert!(
        is_said(&one) && !is_said(&own),
        "{:?} {:?}",
        one.summary.warnings,
        own.summary.warnings
    );
    // Both lose as much; on one host the same flows lose time and again what they send after a timeout.
    let starved =
        |ran: &Ran| ran.summary.flows.iter().filter(|flow| flow.goodput_bytes == 0).count();
    assert!(starved(&own) == 0 && starved(&one) > 0, "{} {}", starved(&own), starved(&one));
}

#[test]
fn a_slow_way_back_bounds_the_data() {
    // An ACK of 66 bytes for two segments of 1448: 264 kbit/s of ACKs carry 11.6 Mbit/s of payload.
    let mut plan = one();
    plan.ack_links = vec![fifo_link(264_000, 20_000)];
    acks_through(&mut plan, &[json!({"kind": "link", "link": 0})]);
    let bounded = goodput(&run(&plan), 0);
    assert!((10.0..=12.0).contains(&bounded), "{bounded}");
}

#[test]
fn thinned_acknowledgements_reach_the_sender_by_fewer() {
    let mut plan = one();
    acks_through(&mut plan, &[json!({"kind": "thin", "every": 8, "hold_ns": 5 * MS})]);
    let (plain, thin) = (run(&one()), run(&plan));
    assert!(thin.summary.link.utilization > 0.9 * plain.summary.link.utilization);
    // Fewer ACKs at the sender are larger steps of its window, not fewer ACKs sent.
    assert!(sum(&thin, "acks_sent") > sum(&plain, "acks_sent") / 2);
}

#[test]
fn held_acknowledgements_lengthen_the_rtt() {
    // A flow too slow for a queue: the RTT grows by half the time between services.
    let mut plan = one();
    plan.flows[0].max_rate_bps = Some(1_000_000);
    let mut held = plan.clone();
    acks_through(&mut held, &[json!({"kind": "serve", "period_ns": 20 * MS, "packets": null})]);
    let srtt = |plan: &Plan| run(plan).summary.flows[0].srtt_mean_ms.expect("samples");
    let more = srtt(&held) - srtt(&plan);
    assert!((5.0..15.0).contains(&more), "{more} ms more");
}

#[test]
fn damaged_and_copied_packets_are_counted_apart_from_lost_ones() {
    let mut plan = one();
    let parts = [
        json!({"kind": "corrupt", "ppb": 2_000_000}),
        json!({"kind": "duplicate", "ppb": 2_000_000}),
    ];
    before_bottleneck(&mut plan, &parts);
    // At 10 s the last damaged one is not sent again yet.
    plan.duration_ns += 100 * MS;
    plan.flows[0].stop_ns += 100 * MS;
    let ran = run(&plan);
    let (damaged, copied) = (sum(&ran, "damaged"), sum(&ran, "duplicated"));
    assert!(damaged > 5 && copied > 5, "{damaged} damaged, {copied} copied");
    assert_eq!(sum(&ran, "random_drops"), 0);
    assert!(sum(&ran, "retrans_segs") >= damaged);
}

#[test]
fn packets_on_a_list_are_lost_and_no_others() {
    let mut plan = one();
    plan.flows[0].size_bytes = Some(1_000_000);
    before_bottleneck(
        &mut plan,
        &[json!({"kind": "loss", "model": "list", "packets": [10, 11, 50]})],
    );
    let ran = run(&plan);
    assert_eq!((sum(&ran, "random_drops"), sum(&ran, "queue_drops")), (3, 0));
    assert_eq!(sum(&ran, "retrans_segs"), 3);
}

#[test]
fn a_delay_in_steps_is_what_the_flow_measures() {
    let mut plan = one();
    plan.sample_ns = 100 * MS;
    plan.flows[0].max_rate_bps = Some(1_000_000);
    let steps = json!([[0, 10 * MS], [5 * S, 60 * MS]]);
    let delay = json!({"kind": "delay", "ns": 10 * MS, "steps": steps});
    plan.flows[0].forward = stages(vec![delay, json!({"kind": "link", "link": 0})]);
    let rtts: Vec<(i64, i64)> = run(&plan)
        .table("samples")
        .iter()
        .filter_map(|row| Some((row.int("t_us"), row.get("rtt_us")?)))
        .collect();
    let early = rtts.iter().filter(|(t, _)| (1_000_000..5_000_000).contains(t));
    let late = rtts.iter().filter(|(t, _)| (6_000_000..).contains(t));
    assert!(early.clone().count() > 30 && late.clone().count() > 30);
    assert!(early.into_iter().all(|(_, rtt)| (20_000..22_000).contains(rtt)));
    assert!(late.into_iter().all(|(_, rtt)| (70_000..72_000).contains(rtt)));
}

#[test]
fn quic_and_tcp_share_a_bottleneck() {
    let mut plan = plain(20_000_000, 100_000, 30 * S);
    let quic = json!({
        "kind": "quic", "payload_bytes": 1000, "ack_every": 2, "ack_delay_ns": 25 * MS, "handshake": true,
        "initial_rtt_ns": 100 * MS,
    });
    let transport = serde_json::from_value(quic).expect("a transport");
    plan.flows.push(Flow { transport, ..greedy(&plan, "cubic", 20 * MS) });
    plan.flows.push(greedy(&plan, "cubic", 20 * MS));
    let ran = run(&plan);
    assert!(ran.summary.link.utilization > 0.95);
    assert!(ran.summary.flows.iter().all(|f| f.share > 0.25), "{:?}", ran.summary.flows);
}

#[test]
fn answers_are_messages_with_their_times() {
    let mut plan = one();
    let workload = json!({
        "kind": "request_response", "response_bytes": 100_000, "think": {"ns": 500 * MS, "exponential": false},
        "count": 5,
    });
    plan.flows[0].workload = serde_json::from_value(workload).expect("a workload");
    let ran = run(&plan);
    let messages = ran.table("messages");
    assert_eq!(messages.len(), 5);
    for message in &messages {
        let took = message.get("completed_us").expect("complete") - message.int("asked_us");
        // 100 kB at 20 Mbit/s are 42 ms on the wire; a request and its first byte take a round trip.
        assert!((62_000..400_000).contains(&took), "{took} us");
    }
    assert_eq!(sum(&ran, "goodput_bytes"), 500_000);
    let stop = ran.table("flows")[0].int("stop_us");
    assert!(stop < 10_000_000, "a flow that closes is complete");
}

#[test]
fn a_paced_application_leaves_the_link_to_others() {
    let mut plan = one();
    let workload = json!({"kind": "paced", "rate_bps": 2_000_000, "message_bytes": 5_000});
    plan.flows[0].workload = serde_json::from_value(workload).expect("a workload");
    let ran = run(&plan);
    assert!((1.95..2.05).contains(&goodput(&ran, 0)), "{}", goodput(&ran, 0));
    assert!(ran.summary.link.queue_mean_ms < 1.0 && ran.summary.link.drops == 0);
}

#[test]
fn a_virtual_interface_passes_bursts_whole_and_one_draw_takes_all_of_one() {
    let mut plan = plain(100_000_000, 1_000_000, 5 * S);
    plan.links[0].burst_bytes = 128_000;
    plan.flows.push(greedy(&plan, "cubic", 20 * MS));
    before_bottleneck(&mut plan, &[json!({"kind": "loss", "model": "list", "packets": [500]})]);
    let cut = run(&plan);
    plan.host.nic = Nic::Virtual;
    let whole = run(&plan);
    assert_eq!(sum(&cut, "random_drops"), 1);
    let lost = sum(&whole, "random_drops");
    assert!((2..=45).contains(&lost), "{lost} segments of a super-packet");
    assert_eq!(sum(&whole, "retrans_segs"), lost + sum(&whole, "queue_drops"));
    // One decision whether to acknowledge for each buffer.
    assert!(sum(&whole, "acks_sent") * 3 < sum(&cut, "acks_sent"));
    assert!((goodput(&whole, 0) / goodput(&cut, 0) - 1.0).abs() < 0.02);
    // An interface on the way cuts them again: only its receiver sees frames.
    before_bottleneck(&mut plan, &[json!({"kind": "segment"})]);
    assert!(sum(&run(&plan), "acks_sent") * 3 > sum(&cut, "acks_sent"));
}

/// A sender sends at the link's rate or waits for room: for the share of the time in which the link is idle. Linux counts less,
/// because it takes a sender whose application was woken for busy; `tests/test_uml_runs.py` holds both figures to its own.
#[test]
fn a_flow_that_a_buffer_of_its_hosts_holds_is_warned_of() {
    let ran = |set: fn(&mut Plan)| {
        let mut plan = plain(100_000_000, 2_000_000, 10 * S);
        plan.flows.push(greedy(&plan, "cubic", 100 * MS));
        set(&mut plan);
        run(&plan)
    };
    assert!(ran(|_| ()).summary.warnings.is_empty());
    for buffer in ["receive", "send"] {
        let ran = ran(match buffer {
            "receive" => |plan| plan.host.rcvbuf_bytes = 200_000,
            _ => |plan| plan.host.sndbuf_bytes = 200_000,
        });
        let [warning] = &ran.summary.warnings[..] else { panic!("{:?}", ran.summary.warnings) };
        let rest = warning.strip_prefix(&format!("flow 0 waited for its {buffer} buffer "));
        let percent = rest.and_then(|rest| rest.strip_suffix(" % of the time")).expect(warning);
        let idle = 100.0 - goodput(&ran, 0) / PAYLOAD;
        let waited: f64 = percent.parse().expect("a number");
        let share = waited / idle;
        assert!(
            (0.8..1.01).contains(&share),
            "{buffer}: {waited} % of the time, idle for {idle} %"
        );
    }
}
