//! Random paths: any queue discipline, links in a row, any parts of a route in any order, any workload.

use crate::plans::{any_plan, MS};
use proptest::prelude::*;
use serde_json::{json, Value};
use sim::plan::{Direction, Flow, Plan, Receiver, Stage};

/// Any plan whose links, routes, transports and applications are of any kind.
pub fn any_path() -> impl Strategy<Value = Plan> {
    let links = prop::collection::vec(any_link(), 0..3);
    let ack_links = prop::collection::vec(any_link(), 0..2);
    let ways = prop::collection::vec(any_way(), 5);
    (any_plan(), any_qdisc(), links, ack_links, ways).prop_map(
        |(mut plan, qdisc, links, ack_links, ways)| {
            plan.links[0].qdisc = from(qdisc);
            plan.links.extend(links.into_iter().map(from));
            plan.ack_links = ack_links.into_iter().map(from).collect();
            for (flow, way) in plan.flows.iter_mut().zip(ways) {
                let (transport, workload, forward, back, goes_up) = way;
                flow.transport = from(transport);
                if quinn_refuses(flow) {
                    flow.cca = "quinn:bbr".into();
                }
                let greedy_tcp = flow.size_bytes.is_none() && way_is_tcp(&flow.transport);
                flow.workload = if greedy_tcp { from(workload) } else { None };
                if !flow.transport.is_acknowledged() {
                    let paced =
                        json!({"kind": "paced", "rate_bps": 5_000_000, "message_bytes": 700});
                    (flow.workload, flow.size_bytes) = (from(paced), None);
                    flow.cca.clear();
                }
                let lacks = matches!(flow.receiver, Some(Receiver::OptimisticAcks { .. }));
                if lacks && flow.workload.is_some() || !way_is_tcp(&flow.transport) {
                    flow.receiver = None;
                }
                let mut counts = (plan.links.len(), plan.ack_links.len());
                // Without a link nothing bounds what is sent.
                if goes_up && counts.1 > 0 {
                    flow.direction = Direction::Up;
                    counts = (counts.1, counts.0);
                }
                flow.forward = through(forward, counts.0);
                flow.back = through(back, counts.1);
            }
            plan
        },
    )
}

/// Transport, workload, parts there and back, and whether data go up.
type Way = (Value, Value, Vec<Value>, Vec<Value>, bool);

fn any_way() -> impl Strategy<Value = Way> {
    let parts = || prop::collection::vec(any_stage(), 0..5);
    (any_transport(), any_workload(), parts(), parts(), prop::bool::weighted(0.3))
}

fn quinn_refuses(flow: &Flow) -> bool {
    let is_quinn = matches!(flow.transport, sim::plan::Transport::Quinn { .. });
    is_quinn && ["dctcp", "prague"].contains(&&*flow.cca)
}

fn way_is_tcp(transport: &sim::plan::Transport) -> bool {
    matches!(transport, sim::plan::Transport::Tcp)
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value}"))
}

/// The parts with all links among them, in their order.
fn through(parts: Vec<Value>, links: usize) -> Vec<Stage> {
    let mut all: Vec<Value> = parts;
    for link in 0..links {
        let at = all.len().min(2 * link);
        all.insert(at, json!({"kind": "link", "link": links - 1 - link}));
    }
    all.into_iter().map(from).collect()
}

fn any_link() -> impl Strategy<Value = Value> {
    let steps = prop::collection::vec(0u64..20_000_000, 1..4);
    let course = prop::option::of((1_000_000u64..20_000_000, steps));
    let policer = prop::option::weighted(0.3, (500_000u64..20_000_000, 3_000u64..60_000));
    (200_000u64..50_000_000, 1514u64..30_000, any_qdisc(), course, policer).prop_map(
        |(rate_bps, burst_bytes, qdisc, course, policer)| {
            let steps: Vec<(u64, u64)> = course.map_or(Vec::new(), |(first, rest)| {
                let rates = std::iter::once(first).chain(rest);
                rates.enumerate().map(|(i, bps)| (i as u64 * 100 * MS, bps)).collect()
            });
            json!({
                "rate_bps": rate_bps, "burst_bytes": burst_bytes, "qdisc": qdisc,
                "repeat_ns": (!steps.is_empty()).then_some(500 * MS), "steps": steps,
                "policer": policer.map(|(rate_bps, burst_bytes)| {
                    json!({"rate_bps": rate_bps, "burst_bytes": burst_bytes, "mark": burst_bytes % 2 == 0})
                }),
            })
        },
    )
}

fn any_qdisc() -> impl Strategy<Value = Value> {
    let numbers = (1u64..500, 0u64..20 * MS, any::<[bool; 4]>());
    (0..9, numbers).prop_map(|(kind, (limit, threshold, [a, b, c, d]))| {
        let ce_threshold_ns = a.then_some(threshold);
        let target_ns = threshold.max(MS);
        match kind {
            0 => json!({"kind": "fifo", "limit_bytes": null, "limit_packets": limit, "head_drop": a}),
            1 => json!({
                "kind": "codel", "limit_packets": limit, "target_ns": target_ns, "interval_ns": 100 * MS, "ecn": b,
                "ce_threshold_ns": ce_threshold_ns,
            }),
            2 => json!({
                "kind": "fq_codel", "limit_packets": limit, "flows": 1 + limit % 8, "quantum_bytes": 300 + limit,
                "memory_limit_bytes": 20_000 + 1_000 * limit, "drop_batch": 64, "target_ns": target_ns,
                "interval_ns": 100 * MS, "ecn": b, "ce_threshold_ns": ce_threshold_ns, "ce_threshold_selector": 0,
                "ce_threshold_mask": 0,
            }),
            3 => json!({
                "kind": "red", "limit_bytes": 60_000 + 1_000 * limit, "min_bytes": null, "max_bytes": null,
                "avpkt_bytes": 1000, "burst_packets": null, "probability_ppb": 20_000_000, "bandwidth_bps": 10_000_000,
                "ecn": a, "harddrop": false, "nodrop": a && b, "adaptive": c, "gentle": d,
            }),
            4 => json!({
                "kind": "pie", "limit_packets": limit, "target_ns": target_ns, "tupdate_ns": 15 * MS, "alpha": 2,
                "beta": 20, "ecn": a, "ecn_limit_percent": 10, "bytemode": b, "dq_rate_estimator": c,
            }),
            5 => json!({
                "kind": "cake", "bandwidth_bps": a.then_some(500_000 + 50_000 * limit), "rtt_ns": 100 * MS,
                "diffserv": "diffserv3", "isolation": if b { "triple-isolate" } else { "flows" },
                "overhead_bytes": c.then_some(18), "mpu_bytes": 64, "framing": if d { "atm" } else { "none" },
                "ack_filter": if c { "aggressive" } else { "on" }, "ingress": d, "wash": false,
                "memory_limit_bytes": b.then_some(50_000 + 1_000 * limit),
            }),
            6 => json!({
                "kind": "dualpi2", "limit_packets": limit, "target_ns": target_ns, "tupdate_ns": 16 * MS, "alpha": 41,
                "beta": 819, "coupling": 2, "step_ns": MS, "c_protection_percent": 10, "drop_overload": a,
                "drop_early": b,
            }),
            _ => json!({
                "kind": "fq", "limit_packets": limit, "flow_limit_packets": 1 + limit / 3, "quantum_bytes": 3028,
                "initial_quantum_bytes": 15140, "maxrate_bps": a.then_some(300_000 + 10_000 * limit),
                "low_rate_threshold_bps": 550_000, "ce_threshold_ns": ce_threshold_ns,
            }),
        }
    })
}

fn any_stage() -> impl Strategy<Value = Value> {
    (0..12, 0u64..50_000_000, 0u64..30 * MS, 1u32..20, any::<bool>()).prop_map(
        |(kind, ppb, ns, n, on)| match kind {
            0 if on => json!({"kind": "delay", "ns": ns}),
            0 => json!({
                "kind": "delay", "ns": ns, "slot": {"min_ns": ns / 8, "max_ns": 1 + ns / 4, "packets": n, "bytes": 40_000},
            }),
            1 => json!({
                "kind": "delay", "ns": ns, "steps": [[0, ns], [300 * MS, ns / 2]], "repeat_ns": 600 * MS,
                "jitter": {"distribution": if on { "normal" } else { "pareto" }, "spread_ns": ns / 3, "reorder": on},
            }),
            2 => json!({
                "kind": "delay", "ns": ns, "reorder": {"gap": n, "ppb": 10 * ppb},
                "jitter": {"distribution": "uniform", "spread_ns": ns, "correlation_ppb": 10 * ppb, "reorder": on},
            }),
            3 => json!({"kind": "loss", "model": "random", "ppb": ppb, "correlation_ppb": if on { ppb } else { 0 }}),
            4 => json!({
                "kind": "loss", "model": "gilbert_elliott", "p_ppb": ppb, "r_ppb": 500_000_000,
                "bad_loss_ppb": 900_000_000, "good_loss_ppb": 0,
            }),
            5 => json!({
                "kind": "loss", "model": "four_state", "p13_ppb": ppb, "p31_ppb": 400_000_000, "p32_ppb": 100_000_000,
                "p23_ppb": 1_000_000_000, "p14_ppb": ppb / 10,
            }),
            6 => json!({
                "kind": "loss", "model": "schedule", "steps": [[0, ppb], [400 * MS, 1_000_000_000], [450 * MS, 0]],
                "repeat_ns": if on { Some(1000 * MS) } else { None },
            }),
            7 if on => json!({"kind": "loss", "model": "windows", "windows": [
                {"from_ns": ns, "to_ns": ns + 50 * MS, "ppb": 1_000_000_000, "packets": n},
                {"from_ns": 500 * MS, "to_ns": 700 * MS, "ppb": 10 * ppb, "packets": null},
            ]}),
            7 => json!({"kind": "duplicate", "ppb": ppb}),
            8 => json!({"kind": "corrupt", "ppb": ppb}),
            9 => json!({"kind": "thin", "every": n, "hold_ns": ns / 4}),
            10 => json!({"kind": "segment"}),
            _ if on => json!({"kind": "aggregate", "packets": n, "hold_ns": ns / 4}),
            _ => json!({"kind": "serve", "period_ns": 1 + ns / 4, "packets": 64}),
        },
    )
}

fn any_transport() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(json!({"kind": "tcp"})),
        1 => (1u32..20, 0u64..30 * MS, any::<bool>()).prop_map(|(ack_every, ack_delay_ns, handshake)| json!({
            "kind": "quic", "payload_bytes": 1000, "ack_every": ack_every, "ack_delay_ns": ack_delay_ns,
            "handshake": handshake, "initial_rtt_ns": 100 * MS,
        })),
        1 => (1200u32..=1448).prop_map(|bytes| json!({"kind": "quinn", "datagram_bytes": bytes})),
        1 => Just(json!({"kind": "udp", "ecn": "ect1"})),
    ]
}

fn any_workload() -> impl Strategy<Value = Value> {
    let length = |ns: u64, exponential: bool| json!({"ns": ns, "exponential": exponential});
    (0..4, 1u64..300 * MS, 1u64..50_000, any::<bool>()).prop_map(move |(kind, ns, bytes, on)| match kind {
        0 => Value::Null,
        1 => json!({
            "kind": "on_off", "on": length(ns, on), "off": length(ns / 2, !on),
            "rate_bps": on.then_some(bytes * 100), "message_bytes": bytes,
        }),
        2 => json!({"kind": "paced", "rate_bps": bytes * 200, "message_bytes": bytes}),
        _ => json!({"kind": "request_response", "response_bytes": bytes, "think": length(ns, on), "count": bytes % 5}),
    })
}
