//! The pacer (RFC 9002 section 7.7).

use units::Time;

/// Spaces packets by the pacing rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacer {
    /// Packets that may still leave unpaced.
    pub tokens: u32,
    /// The pacer alone holds the next packet back, until `sk.tcp_wstamp_ns`.
    pub is_waiting: bool,
    pub wakes_at: Time,
}

impl Pacer {
    #[inline]
    pub fn wakes_at(&self) -> Time {
        if self.is_waiting {
            self.wakes_at
        } else {
            Time::NEVER
        }
    }
}
