//! Real time: nanoseconds since the start of a run, waiting, and how well the loop kept its times.

use path::histogram::Histogram;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{clock_gettime, ClockId, Timespec};
use std::num::NonZeroU64;
use units::{Span, Time};

/// An event that is later than this has missed its deadline.
pub const LATE: Span = Span::from_ms(1);

/// The time of a run.
pub trait Clock {
    fn now(&self) -> Time;

    /// Sleeps until `at`, or less: a signal ends a sleep.
    fn sleep_until(&self, at: Time);

    /// Lets a moment pass without sleep.
    fn spin(&self);
}

/// `CLOCK_MONOTONIC`, counted from the start of a run.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    zero_ns: u64,
}

fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl MonotonicClock {
    /// A clock that reaches zero in `ahead`; until then it shows zero.
    pub fn starting_in(ahead: Span) -> MonotonicClock {
        MonotonicClock { zero_ns: read_ns(ClockId::Monotonic) + ahead.as_ns() }
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Time {
        Time::from_ns(read_ns(ClockId::Monotonic).saturating_sub(self.zero_ns))
    }

    fn sleep_until(&self, at: Time) {
        let ns = self.zero_ns.saturating_add(at.as_ns());
        let until =
            Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        // An interrupted sleep is a short one, which callers expect.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &until);
    }

    #[inline]
    fn spin(&self) {
        std::hint::spin_loop();
    }
}

/// Processor time that this thread has used.
pub fn thread_cpu() -> Span {
    Span::from_ns(read_ns(ClockId::ThreadCPUTime))
}

/// Gives this thread real-time priority if the process may set it, and timers that the kernel does not round; returns
/// whether it has the priority.
pub fn set_realtime_priority() -> bool {
    // Without it timers are up to 50 us later.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    // SAFETY: all zero is a value of this struct, which has more fields with musl; the call concerns this thread only.
    unsafe {
        let mut priority: libc::sched_param = std::mem::zeroed();
        priority.sched_priority = 10;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &priority) == 0
    }
}

/// How well the loop kept its times.
#[derive(Clone, Debug, Default)]
pub struct LoopStats {
    /// How late events were.
    pub lateness: Histogram,
    pub lateness_max: Span,
    /// Events later than [`LATE`].
    pub missed: u64,
    pub events: u64,
    /// Frames that a device refused.
    pub refused: u64,
    /// Processor time of the loop.
    pub cpu: Span,
    /// The part of it that was spent waiting without sleep.
    pub spun: Span,
    /// Whether the loop had real-time priority.
    pub is_realtime: bool,
}

impl LoopStats {
    /// Counts an event that ran `late`.
    #[inline]
    pub fn on_event(&mut self, late: Span) {
        self.events += 1;
        self.lateness.add_span(late, 1);
        self.lateness_max = self.lateness_max.max(late);
        self.missed += u64::from(late > LATE);
    }

    /// The 99th percentile of the lateness.
    pub fn lateness_p99(&self) -> Span {
        Span::from_us(self.lateness.quantile_us(990).unwrap_or(0).into())
    }
}
