//! Virtual time as quinn's `Instant`, which is that of the standard library.

use std::time::{Duration, Instant};
use units::Time;

/// An arbitrary instant that stands for the start of a run: quinn only takes differences.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    #[allow(
        clippy::disallowed_methods,
        reason = "an Instant can only be had from the machine; only differences to it are used"
    )]
    pub fn new() -> Clock {
        Clock(Instant::now())
    }

    pub fn instant(self, at: Time) -> Instant {
        self.0 + Duration::from_nanos(at.as_ns())
    }

    pub fn time(self, at: Instant) -> Time {
        Time::from_ns(at.saturating_duration_since(self.0).as_nanos() as u64)
    }
}
