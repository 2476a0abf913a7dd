//! The sender's one timer: for the next loss by age, else for a probe.

use units::Time;

/// The sender's timer, and what it is set from.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    pub at: Time,
    /// When the next packet counts as lost by its age.
    pub loss_at: Time,
    /// Probe timeouts in a row.
    pub backoff: u32,
    /// When the last packet was sent.
    pub last_sent: Time,
    /// When the retransmission timeout was last put off: something was acknowledged or retransmitted, or sent with
    /// nothing in flight.
    pub heard_at: Time,
    /// When the Initial packet was sent, while it is the only one.
    pub initial_sent_at: Option<Time>,
}

impl Default for Timer {
    fn default() -> Self {
        Timer {
            at: Time::NEVER,
            loss_at: Time::NEVER,
            backoff: 0,
            last_sent: Time::ZERO,
            heard_at: Time::ZERO,
            initial_sent_at: None,
        }
    }
}

impl Timer {
    #[inline]
    pub fn fires_at(&self) -> Time {
        self.at
    }
}
