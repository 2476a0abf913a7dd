//! What a back end counted until the end of a run: plain integers, so that simulated packets, frames and
//! what `ss` and `tc` print all fit.

use crate::schema::FlowRow;
use serde::Deserialize;

/// Share of its capacity by which a link may seem to exceed it: times are rounded, and packets that cross the link at
/// the begin and the end count whole.
const ROUNDING: f64 = 0.01;

/// Mean and percentiles of times, us.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Delays {
    pub mean_us: f64,
    pub p50_us: u32,
    pub p95_us: u32,
    pub p99_us: u32,
}

/// How long the packet at the head of a queue had waited: mean over time, and what it did not exceed in 50, 95
/// and 99 % of the time; an empty queue counts as no wait.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct QueueDelay {
    pub mean_us: f64,
    pub p50_us: u32,
    pub p95_us: u32,
    pub p99_us: u32,
}

/// How long a sender was busy, and of that, waited for buffers of the hosts.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Waits {
    pub busy_us: u64,
    /// For room in the receiver's window.
    pub receive_us: u64,
    /// For room in the send buffer.
    pub send_us: u64,
}

/// One flow. What a back end cannot know stays at its default, which is 0 or `None`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct FlowTotals {
    pub name: String,
    pub table: u32,
    pub transport: String,
    pub cca: String,
    pub rtt_ns: u64,
    /// When it was to open.
    pub planned_ns: u64,
    /// When it opened, and when it ended: completion, its stop, or the end of the run.
    pub start_ns: u64,
    pub stop_ns: u64,
    pub established_ns: Option<u64>,
    pub is_completed: bool,
    pub size_bytes: Option<u64>,
    pub goodput_bytes: u64,
    pub segs_sent: u64,
    pub retrans_segs: u64,
    pub bytes_sent: u64,
    pub delivered_segs: u64,
    pub lost_segs: u64,
    pub queue_drops: u64,
    pub random_drops: u64,
    pub recoveries: u64,
    pub rtos: u64,
    pub tlps: u64,
    pub undos: u64,
    pub acks_sent: u64,
    pub min_rtt_us: Option<u64>,
    pub ecn_marks: u64,
    pub aqm_drops: u64,
    pub policed_drops: u64,
    pub damaged: u64,
    pub duplicated: u64,
    pub one_way: Option<Delays>,
    /// Smoothed RTT at each sample.
    pub srtt_us: Vec<u32>,
    pub waits: Option<Waits>,
    /// Why it never connected, where that is known.
    pub why: Option<String>,
}

/// One link.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct LinkTotals {
    pub sent_packets: u64,
    /// Wire bytes.
    pub sent_bytes: u64,
    pub dropped_packets: u64,
    pub marked_packets: u64,
    /// Wire bytes that could have left from the start to the end, with what its token bucket held at the start.
    pub capacity_bytes: u64,
    pub queue: QueueDelay,
    /// Time in the queue of the packets that left it; `None` where none did, or nobody knows.
    pub sojourn: Option<Delays>,
}

/// A run: its links, the bottleneck first, and its flows in the order of the plan.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct RunTotals {
    pub end_ns: u64,
    /// Data packets that reached a receiver.
    pub packets_delivered: u64,
    /// Events that the engine processed.
    pub events: u64,
    /// What the back end itself has to say; those that follow from the totals come after it.
    pub warnings: Vec<String>,
    pub links: Vec<LinkTotals>,
    pub flows: Vec<FlowTotals>,
}

impl LinkTotals {
    /// Bytes sent over capacity; up to [`ROUNDING`] above 1 counts as 1, and more is shown as it is.
    pub fn utilization(&self) -> f64 {
        let full = ratio(self.sent_bytes, self.capacity_bytes);
        if full > 1.0 + ROUNDING {
            full
        } else {
            full.min(1.0)
        }
    }
}

/// The transport that nothing acknowledges.
const UDP: &str = "udp";

impl FlowTotals {
    /// Whether its receiver acknowledges, so that its sender knows of losses and round-trip times.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.transport != UDP
    }

    /// Time between its opening and its end, s.
    pub fn active_s(&self) -> f64 {
        self.stop_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }

    /// The row of flow number `flow`.
    pub fn row(&self, flow: usize) -> FlowRow {
        let us = |ns: u64| (ns / 1000) as i64;
        let one_way = |of: fn(&Delays) -> u32| self.one_way.as_ref().map(|d| i64::from(of(d)));
        let known = |count: u64| self.is_acknowledged().then_some(count as i64);
        FlowRow {
            flow: flow as i32,
            name: self.name.clone(),
            table: self.table as i32,
            transport: self.transport.clone(),
            cca: self.cca.clone(),
            rtt_us: us(self.rtt_ns),
            start_us: us(self.start_ns),
            stop_us: us(self.stop_ns),
            established_us: self.established_ns.map(us),
            completed_us: self.is_completed.then(|| us(self.stop_ns)),
            size_bytes: self.size_bytes.map(|size| size as i64),
            goodput_bytes: self.goodput_bytes as i64,
            segs_sent: self.segs_sent as i64,
            retrans_segs: known(self.retrans_segs),
            bytes_sent: self.bytes_sent as i64,
            delivered_segs: self.delivered_segs as i64,
            lost_segs: known(self.lost_segs),
            queue_drops: self.queue_drops as i64,
            random_drops: self.random_drops as i64,
            recoveries: known(self.recoveries),
            rtos: known(self.rtos),
            tlps: known(self.tlps),
            undos: known(self.undos),
            acks_sent: known(self.acks_sent),
            min_rtt_us: self.min_rtt_us.map(|us| us as i64),
            ecn_marks: self.ecn_marks as i64,
            aqm_drops: self.aqm_drops as i64,
            policed_drops: self.policed_drops as i64,
            damaged: self.damaged as i64,
            duplicated: self.duplicated as i64,
            owd_mean_us: self.one_way.as_ref().map(|d| d.mean_us.round() as i64),
            owd_p50_us: one_way(|d| d.p50_us),
            owd_p95_us: one_way(|d| d.p95_us),
            owd_p99_us: one_way(|d| d.p99_us),
        }
    }
}

/// Percentile by linear interpolation between order statistics (Hyndman and Fan 1996, type 7), as all of
/// `docs/metrics.md`.
pub fn percentile(values: &mut [u32], p: usize) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let (below, rest) = (last * p / 100, last * p % 100);
    let (_, &mut low, above) = values.select_nth_unstable(below);
    let high = above.iter().min().map_or(low, |&next| next);
    Some(f64::from(low) + f64::from(high - low) * rest as f64 / 100.0)
}

/// A part of a whole; nothing of nothing is 0.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_interpolates_between_the_values_beside_it() {
        let mut many: Vec<u32> = (0..=100).rev().collect();
        for p in [0, 1, 50, 95, 99, 100] {
            assert_eq!(percentile(&mut many, p), Some(p as f64), "{p}");
        }
        assert_eq!(percentile(&mut [3, 1, 2], 50), Some(2.0));
        assert_eq!(percentile(&mut [30, 10, 20, 40], 95), Some(38.5));
        assert_eq!(percentile(&mut [7], 95), Some(7.0));
        assert_eq!(percentile(&mut [], 95), None);
    }

    #[test]
    fn a_row_has_microseconds_and_completes_when_it_stops() {
        let flow = FlowTotals {
            start_ns: 1_500,
            stop_ns: 9_000_999,
            is_completed: true,
            one_way: Some(Delays { mean_us: 10.6, p50_us: 10, p95_us: 11, p99_us: 12 }),
            ..FlowTotals::default()
        };
        let row = flow.row(7);
        assert_eq!((row.flow, row.start_us, row.stop_us), (7, 1, 9_000));
        assert_eq!(
            (row.completed_us, row.established_us, row.size_bytes),
            (Some(9_000), None, None)
        );
        assert_eq!((row.owd_mean_us, row.owd_p99_us), (Some(11), Some(12)));
    }
}
