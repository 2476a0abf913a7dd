//! The figures of a run that most callers want without opening its tables. Floats, for reports only;
//! definitions are those of `docs/metrics.md`.

use crate::link::Link;
use net::Frame;
use serde::Serialize;
use units::Time;

/// See the module documentation.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Reasons not to trust the run.
    pub warnings: Vec<String>,
    /// Length of the run, ns.
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
    /// Of a run that ended at `end`, with the bottleneck first among the links; shares and Jain's index
    /// follow from the flows' goodputs.
    pub fn new(
        warnings: Vec<String>,
        (end, packets_delivered, events): (Time, u64, u64),
        mut links: Vec<LinkSummary>,
        mut flows: Vec<FlowSummary>,
    ) -> Summary {
        let total: f64 = flows.iter().map(|f| f.goodput_mbps).sum();
        let squares: f64 = flows.iter().map(|f| f.goodput_mbps * f.goodput_mbps).sum();
        for flow in &mut flows {
            flow.share = if total > 0.0 { flow.goodput_mbps / total } else { 0.0 };
        }
        Summary {
            warnings,
            sim_ns: end.as_ns(),
            packets_delivered,
            events,
            link: links.remove(0),
            links,
            jain: if squares > 0.0 { total * total / (flows.len() as f64 * squares) } else { 0.0 },
            flows,
        }
    }
}

impl LinkSummary {
    /// What passed through `link` until `end`.
    pub fn new<P: Frame + Copy>(link: &Link<P>, end: Time) -> LinkSummary {
        let (stats, seconds) = (link.stats, end.as_secs_f64());
        let capacity = link.capacity(end) as f64;
        let rate = capacity / seconds;
        let p95 = percentile(&mut link.backlog_samples.clone(), 95).unwrap_or(0);
        let quantile =
            |per_mille| link.sojourn.quantile_us(per_mille).map(|us| f64::from(us) / 1e3);
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
}

/// The value at rank `n * p / 100` (nearest rank, from 0) of unsorted values.
pub fn percentile<T: Ord + Copy>(values: &mut [T], p: usize) -> Option<T> {
    if values.is_empty() {
        return None;
    }
    let rank = (values.len() * p / 100).min(values.len() - 1);
    Some(*values.select_nth_unstable(rank).1)
}
