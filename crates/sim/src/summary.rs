//! The figures of a run that most callers want without opening its tables. Floats, for reports only;
//! definitions are those of `docs/metrics.md`.

use crate::flow::{Flow, Life};
use crate::link::Link;
use net::Packet;
use serde::Serialize;
use units::Time;

/// See the module documentation.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Reasons not to trust the run.
    pub warnings: Vec<String>,
    /// Simulated time, ns.
    pub sim_ns: u64,
    /// Data packets that reached a receiver.
    pub packets_delivered: u64,
    /// Events that the engine processed.
    pub events: u64,
    /// The bottleneck.
    pub link: LinkSummary,
    /// The other links, in the order of the plan.
    pub links: Vec<LinkSummary>,
    /// Jain's index of the flows' goodputs.
    pub jain: f64,
    /// The flows, in the order of the plan.
    pub flows: Vec<FlowSummary>,
}

/// A link over the whole run.
#[derive(Debug, Serialize)]
pub struct LinkSummary {
    /// Wire bytes through the link over what its rate, schedule or trace allowed.
    pub utilization: f64,
    /// Time average of the backlog over the rate, ms.
    pub queue_mean_ms: f64,
    /// 95th percentile of the backlog at sample times over the rate, ms.
    pub queue_p95_ms: f64,
    /// Median time that packets spent in the queue, ms; `None` when none left it.
    pub sojourn_p50_ms: Option<f64>,
    /// Its 95th percentile, ms.
    pub sojourn_p95_ms: Option<f64>,
    /// Its 99th percentile, ms.
    pub sojourn_p99_ms: Option<f64>,
    /// Packets dropped by the queue.
    pub drops: u64,
    /// Packets marked CE.
    pub marks: u64,
    /// Of all that left the queue.
    pub drop_rate: f64,
}

/// One flow over its own active time.
#[derive(Debug, Serialize)]
pub struct FlowSummary {
    /// Controller.
    pub cca: String,
    /// Propagation RTT, ms.
    pub rtt_ms: f64,
    /// Application bytes over the flow's active time, Mbit/s.
    pub goodput_mbps: f64,
    /// Of the sum of all goodputs.
    pub share: f64,
    /// Retransmitted over sent segments.
    pub retrans_rate: f64,
    /// Mean of the smoothed RTT at sample times, ms.
    pub srtt_mean_ms: Option<f64>,
    /// Its 95th percentile, ms.
    pub srtt_p95_ms: Option<f64>,
    /// Mean time from the sender's interface to the receiver, ms.
    pub owd_mean_ms: Option<f64>,
    /// Its 95th percentile, ms.
    pub owd_p95_ms: Option<f64>,
    /// Completion time of a finite transfer, from opening to the last byte's arrival, s.
    pub fct_s: Option<f64>,
    /// Data segments sent, retransmissions included.
    pub packets_sent: u64,
}

impl Summary {
    pub(crate) fn new(
        flows: &[Flow],
        links: &[Link<Packet>],
        end: Time,
        delivered: u64,
        events: u64,
    ) -> Summary {
        let mut rows_of_links: Vec<_> = links.iter().map(|link| link_summary(link, end)).collect();
        let mut rows: Vec<FlowSummary> = flows.iter().map(|f| flow_summary(f, end)).collect();
        let total: f64 = rows.iter().map(|f| f.goodput_mbps).sum();
        let squares: f64 = rows.iter().map(|f| f.goodput_mbps * f.goodput_mbps).sum();
        for row in &mut rows {
            row.share = if total > 0.0 { row.goodput_mbps / total } else { 0.0 };
        }
        Summary {
            warnings: warnings(flows, links),
            sim_ns: end.as_ns(),
            packets_delivered: delivered,
            events,
            link: rows_of_links.remove(0),
            links: rows_of_links,
            jain: if squares > 0.0 { total * total / (rows.len() as f64 * squares) } else { 0.0 },
            flows: rows,
        }
    }
}

fn link_summary(link: &Link<Packet>, end: Time) -> LinkSummary {
    let (stats, seconds) = (link.stats, end.as_secs_f64());
    let capacity = link.capacity(end) as f64;
    let rate = capacity / seconds;
    let p95 = percentile(&mut link.backlog_samples.clone(), 95).unwrap_or(0);
    let quantile = |per_mille| link.sojourn.quantile_us(per_mille).map(|us| f64::from(us) / 1e3);
    LinkSummary {
        utilization: stats.sent_bytes as f64 / capacity,
        queue_mean_ms: link.waited(end) as f64 / 1e6 / seconds / rate,
        queue_p95_ms: p95 as f64 * 1e3 / rate,
        sojourn_p50_ms: quantile(500),
        sojourn_p95_ms: quantile(950),
        sojourn_p99_ms: quantile(990),
        drops: stats.dropped_packets,
        marks: stats.marked_packets,
        drop_rate: stats.dropped_packets as f64 / stats.sent_packets.max(1) as f64,
    }
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

/// The value at rank `n * p / 100` (nearest rank, from 0) of unsorted values.
fn percentile<T: Ord + Copy>(values: &mut [T], p: usize) -> Option<T> {
    if values.is_empty() {
        return None;
    }
    let rank = (values.len() * p / 100).min(values.len() - 1);
    Some(*values.select_nth_unstable(rank).1)
}
