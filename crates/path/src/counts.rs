//! What became of the packets of a flow.

use net::qdisc::Cause;

/// Packets of a flow by what became of them, a super-packet as many as it has segments: `sent + duplicated` is the sum of the others and what is
/// still under way. Marks are counted beside.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PacketCounts {
    pub sent: u64,
    /// Reached the other host, damaged ones not counted.
    pub delivered: u64,
    pub duplicated: u64,
    pub damaged: u64,
    /// Taken by random loss.
    pub lost: u64,
    /// Dropped by a queue discipline or policer, by cause.
    pub overflow: u64,
    pub aqm: u64,
    pub policed: u64,
    pub superseded: u64,
    /// Marked CE (not an end).
    pub marked: u64,
}

impl PacketCounts {
    /// Dropped at a link, whatever the cause.
    pub fn queue_drops(&self) -> u64 {
        self.overflow + self.aqm + self.policed + self.superseded
    }

    pub(crate) fn ended(&self) -> u64 {
        self.delivered + self.damaged + self.lost + self.queue_drops()
    }

    pub(crate) fn drop_by(&mut self, cause: Cause, segments: u64) {
        *match cause {
            Cause::Overflow | Cause::TooLarge => &mut self.overflow,
            Cause::Aqm | Cause::Threshold => &mut self.aqm,
            Cause::Policed => &mut self.policed,
            Cause::Superseded => &mut self.superseded,
        } += segments;
    }
}
