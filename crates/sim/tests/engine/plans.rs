//! Plans for tests: a plain one, and random ones.

use net::delay::Jitter;
use net::impair::Share;
use net::qdisc::fifo::{self, Limit};
use proptest::prelude::*;
use serde_json::json;
use sim::plan::{
    EcnMode, Flow, FlowHost, Host, HostQdisc, Loss, Nic, Plan, Qdisc, Receiver, Stage,
};
use units::Span;

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000 * MS;

/// A drop-tail link with hosts as Linux has them; the caller sets the flows. As JSON, so that keys with
/// a default may be added to the plan.
pub fn plain(rate_bps: u64, limit_bytes: u64, duration_ns: u64) -> Plan {
    let plan = json!({
        "name": "test", "seed": 1, "duration_ns": duration_ns, "sample_ns": 100 * MS,
        "links": [{
            "rate_bps": rate_bps, "burst_bytes": 3028,
            "qdisc": {"kind": "fifo", "limit_bytes": limit_bytes.max(1514), "limit_packets": null},
        }],
        "host": {
            "hz": 1000, "qdisc": "fq", "tso": true, "gro": false, "ecn": "off",
            "rcvbuf_bytes": 0, "sndbuf_bytes": 0, "delayed_ack": true, "arp": true,
        },
        "flows": [],
        "record": {"samples": true, "queue": true, "events": true, "pcap": false},
    });
    serde_json::from_value(plan).expect("a plan")
}

/// A flow without end and without impairment over the whole run.
pub fn greedy(plan: &Plan, cca: &str, rtt_ns: u64) -> Flow {
    let flow = json!({
        "cca": cca, "params": {}, "rtt_ns": rtt_ns,
        "forward": [{"kind": "delay", "ns": rtt_ns / 2}, {"kind": "link", "link": 0}],
        "back": [{"kind": "delay", "ns": rtt_ns - rtt_ns / 2}],
        "start_ns": 0, "stop_ns": plan.duration_ns, "size_bytes": null, "max_rate_bps": null,
    });
    serde_json::from_value(flow).expect("a flow")
}

/// Loses this share of a flow's data at random, 10^-9.
pub fn lose(flow: &mut Flow, ppb: u64) {
    if ppb > 0 {
        flow.forward.insert(0, Stage::Loss(Loss::Random(Share::of(ppb))));
    }
}

/// Varies the delay of a flow's data.
pub fn vary(flow: &mut Flow, jitter: Jitter) {
    for stage in &mut flow.forward {
        if let Stage::Delay(delay) = stage {
            delay.jitter = Some(jitter);
        }
    }
}

/// Any plan of one to five flows over two seconds.
pub fn any_plan() -> impl Strategy<Value = Plan> {
    let flows = prop::collection::vec(any_flow(2 * S), 1..=5);
    let link = (100_000u64..50_000_000, 0u64..200_000, any::<bool>(), 1514u64..30_000);
    (any::<u64>(), link, any_host(), flows).prop_map(|(seed, link, host, flows)| {
        let (rate_bps, limit, in_packets, burst_bytes) = link;
        let mut plan = plain(rate_bps, limit, 2 * S);
        plan.seed = seed;
        plan.links[0].burst_bytes = burst_bytes;
        if in_packets {
            let limit = Limit::Packets(1 + limit / 1514);
            plan.links[0].qdisc = Qdisc::Fifo(fifo::Config { limit, head_drop: false });
        }
        (plan.host, plan.flows) = (host, flows);
        plan.sample_ns = 10 * MS;
        plan
    })
}

prop_compose! {
    fn any_host()(
        hz in prop::sample::select(vec![100, 250, 1000]),
        fq in any::<bool>(),
        switches in any::<[bool; 7]>(),
        nic in prop::sample::select(vec![Nic::Physical, Nic::Virtual]),
        ecn in prop::sample::select(vec![EcnMode::Off, EcnMode::Classic, EcnMode::Accurate]),
        rcvbuf_bytes in prop_oneof![Just(0u64), 10_000u64..1_000_000],
        sndbuf_bytes in prop_oneof![Just(0u64), 10_000u64..1_000_000],
        initial_window in prop_oneof![2 => Just(10u32), 1 => 1u32..100],
    ) -> Host {
        let [tso, gro, delayed_ack, nodelay, slow_start_after_idle, shared_receiver, shared_processor] =
            switches;
        let qdisc = if fq { HostQdisc::Fq } else { HostQdisc::Pfifo };
        let host = plain(1, 1, 1).host;
        Host {
            hz,
            qdisc,
            tso,
            nic,
            gro,
            ecn,
            rcvbuf_bytes,
            sndbuf_bytes,
            delayed_ack,
            nodelay,
            slow_start_after_idle,
            shared_receiver,
            shared_processor,
            initial_window,
            ..host
        }
    }
}

fn any_receiver() -> impl Strategy<Value = Receiver> {
    prop_oneof![
        (2..20u32).prop_map(|pieces| Receiver::AckDivision { pieces }),
        (0..50u32).prop_map(|ahead| Receiver::OptimisticAcks { ahead }),
        (1..20u32).prop_map(|copies| Receiver::DupackSpoofing { copies }),
    ]
}

prop_compose! {
    fn any_flow(duration_ns: u64)(
        cca in prop::sample::select(cca::Module::all().iter().map(cca::Module::name).collect::<Vec<_>>()),
        rtt_ns in prop_oneof![Just(0u64), 1_000u64..MS, MS..200 * MS],
        loss_ppb in prop_oneof![3 => Just(0u64), 3 => 0u64..20_000_000, 1 => 0u64..500_000_000],
        jitter in prop::option::of((0u64..20 * MS, any::<bool>())),
        start_ns in 0u64..duration_ns / 2,
        length_ns in 1u64..duration_ns,
        size_bytes in prop::option::of(prop_oneof![1u64..10_000, 10_000u64..2_000_000]),
        max_rate_bps in prop::option::weighted(0.2, 10_000u64..20_000_000),
        own in prop::option::of((any::<bool>(), any::<bool>(), any::<bool>(), 10_000u64..1_000_000)),
        receiver in prop::option::weighted(0.3, any_receiver()),
    ) -> Flow {
        let mut flow = greedy(&plain(1, 1, 1), cca, rtt_ns);
        if let Some((spread_ns, reorder)) = jitter {
            let spread = Span::from_ns(spread_ns);
            vary(&mut flow, Jitter { spread, reorder, ..Jitter::default() });
        }
        lose(&mut flow, loss_ppb);
        Flow {
            start_ns,
            stop_ns: (start_ns + length_ns).min(duration_ns),
            size_bytes,
            max_rate_bps,
            host: own.map_or(FlowHost::default(), |(is_virtual, tso, asks, buffer)| FlowHost {
                hz: Some(250),
                nic: Some(if is_virtual { Nic::Virtual } else { Nic::Physical }),
                tso: Some(tso),
                ecn: asks.then_some(EcnMode::Classic),
                rcvbuf_bytes: Some(buffer),
                sndbuf_bytes: Some(buffer),
                ..FlowHost::default()
            }),
            receiver,
            ..flow
        }
    }
}
