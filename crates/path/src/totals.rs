//! What links and flows counted, in the form that results are made from ([`record::report`]).

use crate::counts::PacketCounts;
use crate::histogram::Histogram;
use crate::link::Link;
use crate::plan::Flow;
use net::Frame;
use record::{Delays, FlowTotals, LinkTotals, QueueRow};
use units::Time;

impl<P: Frame + Copy> Link<P> {
    /// What passed through until `end`.
    pub fn totals(&self, end: Time) -> LinkTotals {
        LinkTotals {
            sent_packets: self.stats.sent_packets,
            sent_bytes: self.stats.sent_bytes,
            dropped_packets: self.stats.dropped_packets,
            marked_packets: self.stats.marked_packets,
            capacity_bytes: self.capacity(end),
            queue: self.queue_delay(end),
            sojourn: self.sojourn.delays(),
        }
    }

    /// The row of link `number` at a sample time.
    pub fn row(&self, now: Time, number: i32) -> QueueRow {
        let stats = self.stats;
        QueueRow {
            t_us: now.as_us() as i64,
            link: number,
            backlog_bytes: self.backlog().get() as i64,
            backlog_packets: self.len() as i64,
            sojourn_us: self.sojourn_at(now).as_us() as i64,
            sent_bytes: stats.sent_bytes as i64,
            sent_packets: stats.sent_packets as i64,
            dropped_packets: stats.dropped_packets as i64,
            dropped_bytes: stats.dropped_bytes as i64,
            marked_packets: stats.marked_packets as i64,
            sojourn_integral_us2: Some(self.sojourn_integral_us2(now) as i64),
        }
    }
}

impl Histogram {
    /// Mean and percentiles; `None` when nothing was counted.
    pub fn delays(&self) -> Option<Delays> {
        let total = self.total();
        Some(Delays {
            mean_us: self.mean_of(total)?,
            p50_us: self.quantile_of(total, 500)?,
            p95_us: self.quantile_of(total, 950)?,
            p99_us: self.quantile_of(total, 990)?,
        })
    }
}

impl Flow {
    /// What the plan says of a flow, and the path of its packets; the rest is at its default.
    pub fn totals(&self, counts: &PacketCounts) -> FlowTotals {
        FlowTotals {
            name: self.label().to_string(),
            table: self.table,
            transport: self.transport.name().to_string(),
            cca: self.cca.clone(),
            rtt_ns: self.rtt_ns,
            planned_ns: self.start_ns,
            size_bytes: self.size_bytes,
            queue_drops: counts.queue_drops(),
            random_drops: counts.lost,
            ecn_marks: counts.marked,
            aqm_drops: counts.aqm,
            policed_drops: counts.policed,
            damaged: counts.damaged,
            duplicated: counts.duplicated,
            ..FlowTotals::default()
        }
    }
}
