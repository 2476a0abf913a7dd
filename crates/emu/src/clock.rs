//! Real time: nanoseconds since a run began, and waiting for it.

use std::mem::MaybeUninit;
use units::{Span, Time};

/// The machine's steady clock, from a moment on.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero_ns: u64,
}

fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: room for the answer; both clocks that are asked exist in every Linux.
    let time = unsafe {
        let failed = libc::clock_gettime(clock, time.as_mut_ptr());
        assert_eq!(failed, 0, "clock_gettime({clock})");
        time.assume_init()
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Clock {
    /// A clock that will show zero in `ahead` from now; until then it shows zero too.
    pub fn starting_in(ahead: Span) -> Clock {
        Clock { zero_ns: read_ns(libc::CLOCK_MONOTONIC) + ahead.as_ns() }
    }

    /// What it shows.
    #[inline]
    pub fn now(&self) -> Time {
        Time::from_ns(read_ns(libc::CLOCK_MONOTONIC).saturating_sub(self.zero_ns))
    }

    /// Waits until it shows `at`; other threads run meanwhile.
    pub fn sleep_until(&self, at: Time) {
        let ns = self.zero_ns.saturating_add(at.as_ns());
        let until = libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: a time that is read only; an interrupted sleep is a short one, which callers expect.
        unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &until,
                std::ptr::null_mut(),
            );
        }
    }
}

/// Processor time that this thread has used.
pub fn thread_cpu() -> Span {
    Span::from_ns(read_ns(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// Before all ordinary threads where the process may, and with timers that are not rounded.
pub fn go_first() -> bool {
    let priority = libc::sched_param { sched_priority: 10 };
    // SAFETY: both calls concern this thread only and read what they are given.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &priority) == 0
    }
}
