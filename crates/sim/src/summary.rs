//! The figures of a run, taken from its flows and links.

use crate::flow::{Flow, Life};
use net::Packet;
use path::link::Link;
use path::summary::percentile;
pub use path::summary::{FlowSummary, LinkSummary, Summary};
use units::Time;

pub(crate) fn summary(
    flows: &[Flow],
    links: &[Link<Packet>],
    end: Time,
    delivered: u64,
    events: u64,
) -> Summary {
    Summary::new(
        warnings(flows, links),
        (end, delivered, events),
        links.iter().map(|link| LinkSummary::new(link, end)).collect(),
        flows.iter().map(|flow| flow_summary(flow, end)).collect(),
    )
}

fn flow_summary(flow: &Flow, end: Time) -> FlowSummary {
    let (stop, completed) = match flow.life {
        Life::Ended { at, completed } => (at, completed),
        Life::Waiting | Life::Running => (end, false),
    };
    let active = stop.since(flow.start).as_secs_f64();
    let stats = flow.ends.stats();
    let mut srtt = flow.srtt_samples.clone();
    let mean = (!srtt.is_empty())
        .then(|| srtt.iter().map(|&s| f64::from(s)).sum::<f64>() / srtt.len() as f64 / 1e3);
    FlowSummary {
        cca: flow.ends.controller().module().name().to_string(),
        rtt_ms: flow.rtt_ms,
        goodput_mbps: if active > 0.0 { flow.goodput_bytes() as f64 * 8e-6 / active } else { 0.0 },
        share: 0.0,
        retrans_rate: stats.retrans_segs as f64 / stats.segs_sent.max(1) as f64,
        srtt_mean_ms: mean,
        srtt_p95_ms: percentile(&mut srtt, 95).map(|s| f64::from(s) / 1e3),
        owd_mean_ms: flow.one_way.mean_us().map(|us| us / 1e3),
        owd_p95_ms: flow.one_way.quantile_us(950).map(|us| f64::from(us) / 1e3),
        fct_s: completed.then_some(active),
        packets_sent: stats.segs_sent,
    }
}

/// What a reader of the figures must know.
fn warnings(flows: &[Flow], links: &[Link<Packet>]) -> Vec<String> {
    let mut out: Vec<String> = links.iter().filter_map(Link::warning).collect();
    for (i, flow) in flows.iter().enumerate() {
        if flow.established.is_none() {
            out.push(format!("flow {i} never connected: its figures are zero"));
        } else if flow.size.is_some() && !matches!(flow.life, Life::Ended { completed: true, .. }) {
            out.push(format!("flow {i} did not complete its transfer within the run"));
        }
    }
    out
}
