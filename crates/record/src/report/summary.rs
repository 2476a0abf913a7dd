//! The figures of a run that most callers want without opening its tables. Floats, for reports only;
//! definitions are those of `docs/metrics.md`.

use super::totals::{percentile, ratio, Delays, FlowTotals, LinkTotals, RunTotals};
use super::warnings;
use serde::Serialize;

/// Part of a run at its begin and at its end that a flow may miss and still count in Jain's index.
const JAIN_MARGIN: f64 = 0.1;

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
    /// Jain's index of the goodputs of the flows that were active all the time, its first and last tenth
    /// apart; `None` when several flows ran and fewer than two of them were.
    pub jain: Option<f64>,
    /// How many flows it counts.
    pub jain_flows: usize,
    /// The flows, in the order of the plan.
    pub flows: Vec<FlowSummary>,
}

/// A link over the whole run.
#[derive(Debug, Serialize)]
pub struct LinkSummary {
    /// Wire bytes through the link over what its rate, schedule or trace allowed, its token bucket included.
    pub utilization: f64,
    /// Time average of how long the packet at the head of the queue has waited, ms.
    pub queue_mean_ms: f64,
    /// What that does not exceed in half of the time, ms.
    pub queue_p50_ms: f64,
    /// What it does not exceed in 95 % of the time, ms.
    pub queue_p95_ms: f64,
    /// What it does not exceed in 99 % of the time, ms.
    pub queue_p99_ms: f64,
    /// Mean time that packets spent in the queue, ms; `None` when none left it.
    pub sojourn_mean_ms: Option<f64>,
    /// Its median, ms.
    pub sojourn_p50_ms: Option<f64>,
    /// Its 95th percentile, ms.
    pub sojourn_p95_ms: Option<f64>,
    /// Its 99th percentile, ms.
    pub sojourn_p99_ms: Option<f64>,
    /// Packets dropped by the queue.
    pub drops: u64,
    /// Packets marked CE.
    pub marks: u64,
    /// Packets dropped, of those dropped and those that left.
    pub drop_rate: f64,
}

/// One flow over its own active time.
#[derive(Debug, Serialize)]
pub struct FlowSummary {
    /// What it is called; flows of one `[[flow]]` table share it.
    pub name: String,
    /// `tcp`, `quic`, `quinn` or `udp`.
    pub transport: String,
    /// Number of its `[[flow]]` table.
    pub table: u32,
    /// Controller.
    pub cca: String,
    /// Propagation RTT, ms.
    pub rtt_ms: f64,
    /// Application bytes over the flow's active time, Mbit/s.
    pub goodput_mbps: f64,
    /// Application bytes, each once.
    pub goodput_bytes: u64,
    /// Of the application bytes of all flows.
    pub share: f64,
    /// Retransmitted over sent segments; `None` of UDP.
    pub retrans_rate: Option<f64>,
    /// Mean of the smoothed RTT at sample times, ms.
    pub srtt_mean_ms: Option<f64>,
    /// Its 95th percentile, ms.
    pub srtt_p95_ms: Option<f64>,
    /// Mean time from the sender's interface to the receiver, ms.
    pub owd_mean_ms: Option<f64>,
    /// Its 95th percentile, ms.
    pub owd_p95_ms: Option<f64>,
    /// Its 99th percentile, ms.
    pub owd_p99_ms: Option<f64>,
    /// Completion time of a finite transfer, from opening to the last byte's arrival, s.
    pub fct_s: Option<f64>,
    /// Data segments sent, retransmissions included.
    pub packets_sent: u64,
}

impl RunTotals {
    /// The summary, with the warnings that follow from the totals.
    ///
    /// # Panics
    /// Without a link.
    pub fn summary(&self) -> Summary {
        let mut links: Vec<_> = self.links.iter().map(LinkTotals::summary).collect();
        let found = [warnings::of_flows(&self.flows), warnings::of_links(&self.links)].concat();
        let all: u64 = self.flows.iter().map(|flow| flow.goodput_bytes).sum();
        let (jain, jain_flows) = self.jain();
        Summary {
            warnings: self.warnings.iter().cloned().chain(found).collect(),
            sim_ns: self.end_ns,
            packets_delivered: self.packets_delivered,
            events: self.events,
            link: links.remove(0),
            links,
            jain,
            jain_flows,
            flows: self.flows.iter().map(|flow| flow.summary(all)).collect(),
        }
    }

    /// Jain's index, and of how many flows.
    fn jain(&self) -> (Option<f64>, usize) {
        let margin = self.end_ns as f64 * JAIN_MARGIN;
        let is_steady = |flow: &&FlowTotals| {
            flow.start_ns as f64 <= margin && flow.stop_ns as f64 >= self.end_ns as f64 - margin
        };
        let rates: Vec<f64> = match &self.flows[..] {
            [alone] => vec![alone.goodput_mbps()],
            several => several.iter().filter(is_steady).map(FlowTotals::goodput_mbps).collect(),
        };
        let is_defined = rates.len() > 1 || self.flows.len() == 1;
        (is_defined.then(|| jain(&rates)), rates.len())
    }
}

/// Jain's index (DEC-TR-301, 1984): 1 is equal, 1/n is one flow taking all, 0 is nobody getting anything.
fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|r| r * r).sum::<f64>());
    if squares > 0.0 {
        sum * sum / (rates.len() as f64 * squares)
    } else {
        0.0
    }
}

impl LinkTotals {
    /// The figures of a link.
    pub fn summary(&self) -> LinkSummary {
        let sojourn = |of: fn(&Delays) -> f64| self.sojourn.as_ref().map(|d| of(d) / 1e3);
        let offered = self.dropped_packets + self.sent_packets;
        LinkSummary {
            utilization: self.utilization(),
            queue_mean_ms: self.queue.mean_us / 1e3,
            queue_p50_ms: f64::from(self.queue.p50_us) / 1e3,
            queue_p95_ms: f64::from(self.queue.p95_us) / 1e3,
            queue_p99_ms: f64::from(self.queue.p99_us) / 1e3,
            sojourn_mean_ms: sojourn(|d| d.mean_us),
            sojourn_p50_ms: sojourn(|d| f64::from(d.p50_us)),
            sojourn_p95_ms: sojourn(|d| f64::from(d.p95_us)),
            sojourn_p99_ms: sojourn(|d| f64::from(d.p99_us)),
            drops: self.dropped_packets,
            marks: self.marked_packets,
            drop_rate: ratio(self.dropped_packets, offered),
        }
    }
}

impl FlowTotals {
    fn goodput_mbps(&self) -> f64 {
        let active = self.active_s();
        if active > 0.0 {
            self.goodput_bytes as f64 * 8e-6 / active
        } else {
            0.0
        }
    }

    /// The figures of a flow, where all flows together got `all` bytes.
    fn summary(&self, all: u64) -> FlowSummary {
        let mut srtt = self.srtt_us.clone();
        let sum: f64 = srtt.iter().map(|&us| f64::from(us)).sum();
        let one_way = |of: fn(&Delays) -> f64| self.one_way.as_ref().map(|d| of(d) / 1e3);
        FlowSummary {
            name: self.name.clone(),
            transport: self.transport.clone(),
            table: self.table,
            cca: self.cca.clone(),
            rtt_ms: self.rtt_ns as f64 / 1e6,
            goodput_mbps: self.goodput_mbps(),
            goodput_bytes: self.goodput_bytes,
            share: ratio(self.goodput_bytes, all),
            retrans_rate: self.is_acknowledged().then(|| ratio(self.retrans_segs, self.segs_sent)),
            srtt_mean_ms: (!srtt.is_empty()).then(|| sum / srtt.len() as f64 / 1e3),
            srtt_p95_ms: percentile(&mut srtt, 95).map(|us| us / 1e3),
            owd_mean_ms: one_way(|d| d.mean_us),
            owd_p95_ms: one_way(|d| f64::from(d.p95_us)),
            owd_p99_ms: one_way(|d| f64::from(d.p99_us)),
            fct_s: self.is_completed.then(|| self.active_s()),
            packets_sent: self.segs_sent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::totals::QueueDelay;
    use super::*;

    const S: u64 = 1_000_000_000;

    /// A flow that opened and closed at these seconds and got this many megabytes.
    fn flow(start: u64, stop: u64, megabytes: u64) -> FlowTotals {
        FlowTotals {
            start_ns: start * S,
            stop_ns: stop * S,
            established_ns: Some(start * S),
            goodput_bytes: megabytes * 1_000_000,
            ..FlowTotals::default()
        }
    }

    fn run(flows: Vec<FlowTotals>) -> Summary {
        let links = vec![LinkTotals::default()];
        RunTotals { end_ns: 100 * S, links, flows, ..RunTotals::default() }.summary()
    }

    #[test]
    fn a_share_is_bytes_over_bytes_however_short_the_flows_are() {
        let ran = run(vec![flow(0, 100, 80), flow(50, 51, 10), flow(60, 61, 10)]);
        let shares: Vec<f64> = ran.flows.iter().map(|flow| flow.share).collect();
        assert_eq!(shares, [0.8, 0.1, 0.1]);
        assert!((ran.flows[1].goodput_mbps - 80.0).abs() < 1e-9);
        assert!(run(vec![flow(0, 100, 0)]).flows[0].share < 1e-9);
    }

    #[test]
    fn jains_index_counts_the_flows_that_were_there_all_the_time_but_a_tenth_at_either_end() {
        for (flows, jain, count) in [
            (vec![flow(0, 100, 30), flow(0, 100, 10)], Some(0.8), 2),
            (vec![flow(10, 100, 9), flow(0, 90, 9)], Some(1.0), 2),
            (vec![flow(0, 100, 30), flow(0, 100, 10), flow(11, 100, 50)], Some(0.8), 2),
            (vec![flow(0, 100, 30), flow(0, 100, 10), flow(0, 89, 50)], Some(0.8), 2),
            (vec![flow(0, 100, 30), flow(11, 100, 50)], None, 1),
            (vec![flow(50, 51, 1), flow(60, 61, 1)], None, 0),
            (vec![flow(50, 51, 1)], Some(1.0), 1),
            (vec![flow(0, 100, 0), flow(0, 100, 0)], Some(0.0), 2),
        ] {
            let ran = run(flows);
            let rounded = ran.jain.map(|index| (index * 1e9).round() / 1e9);
            assert_eq!((rounded, ran.jain_flows), (jain, count), "{:?}", ran.flows);
        }
    }

    #[test]
    fn a_link_that_sent_more_than_its_rate_allows_is_shown_as_it_is_and_warned_of() {
        let sent =
            |sent_bytes| LinkTotals { sent_bytes, capacity_bytes: 1000, ..LinkTotals::default() };
        let links = vec![sent(1010), sent(1120)];
        let ran = RunTotals { end_ns: S, links, ..RunTotals::default() }.summary();
        assert_eq!((ran.link.utilization, ran.links[0].utilization), (1.0, 1.12));
        assert_eq!(ran.warnings, ["link 1 sent 112 % of what its rate allows"]);
    }

    #[test]
    fn rounding_makes_no_rate_of_a_link_above_one() {
        let tiny = LinkTotals {
            sent_packets: 1,
            sent_bytes: 1514,
            dropped_packets: 9,
            capacity_bytes: 1500,
            queue: QueueDelay { mean_us: 1500.0, p50_us: 1250, p95_us: 2500, p99_us: 3500 },
            ..LinkTotals::default()
        };
        let of = tiny.summary();
        assert_eq!((of.utilization, of.drop_rate), (1.0, 0.9));
        assert_eq!(
            (of.queue_mean_ms, of.queue_p50_ms, of.queue_p95_ms, of.queue_p99_ms),
            (1.5, 1.25, 2.5, 3.5)
        );
        assert_eq!(of.sojourn_p50_ms, None);
        let idle = LinkTotals::default().summary();
        assert_eq!((idle.utilization, idle.drop_rate), (0.0, 0.0));
    }

    #[test]
    fn only_a_completed_transfer_has_a_completion_time() {
        let done = FlowTotals { is_completed: true, size_bytes: Some(1), ..flow(2, 5, 1) };
        let half = FlowTotals { size_bytes: Some(1), ..flow(2, 5, 1) };
        let times: Vec<_> = run(vec![done, half]).flows.iter().map(|flow| flow.fct_s).collect();
        assert_eq!(times, [Some(3.0), None]);
    }
}
