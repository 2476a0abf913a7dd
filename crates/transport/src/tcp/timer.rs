//! The one timer of a sender that serves as retransmission timer, tail loss probe and RACK's
//! reordering timer (`icsk_retransmit_timer`): arming one replaces the other.

use units::Time;

/// What the timer is armed for (`icsk_pending`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Retransmission timeout (or SYN retransmission).
    Rto,
    /// Tail loss probe.
    Tlp,
    /// RACK waits for reordered segments.
    Reo,
    /// Probe of a receive window that takes nothing.
    Window,
}

/// See the module documentation.
#[derive(Clone, Copy, Debug, Default)]
pub struct XmitTimer {
    armed: Option<(Pending, Time)>,
}

impl XmitTimer {
    /// Arms it.
    #[inline]
    pub fn arm(&mut self, what: Pending, at: Time) {
        self.armed = Some((what, at));
    }

    /// Disarms it.
    pub fn clear(&mut self) {
        self.armed = None;
    }

    /// What it is armed for.
    #[inline]
    pub fn pending(&self) -> Option<Pending> {
        self.armed.map(|(what, _)| what)
    }

    /// When it fires.
    #[inline]
    pub fn fires_at(&self) -> Time {
        self.armed.map_or(Time::NEVER, |(_, at)| at)
    }
}
