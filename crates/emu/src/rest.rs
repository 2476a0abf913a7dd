//! Whether the loop has slept enough to wait without sleep.
//!
//! The kernel stops a thread with real-time priority that runs for 950 ms of a second, for the other 50 ms, even if the
//! processor then has nothing to do (`sched_rt_runtime_us`; seen with `sched_switch`: the idle thread runs, the loop is
//! ready). Work cannot be put off, waiting can: above a share of the time that is far enough from the kernel's, the
//! loop sleeps instead, also if most of that time was work.

use units::{Span, Time};

/// Parts in a hundred of the time up to which the loop is awake by its own choice.
const AWAKE_PERCENT: u64 = 85;
/// What it has slept before counts up to this much, for 51 ms awake: frames come in bursts. With it a second has at most
/// 858 ms, unless there is more work.
const CREDIT: Span = Span::from_ms(9);
/// The most sleep that is made up for: what a second should have had. The kernel forgets older ones.
const DEBT: Span = Span::from_ms(150);

/// See the module documentation.
#[derive(Debug)]
pub struct Rest {
    woke: Time,
    /// Sleep that is missing, less that was slept in advance; at most one of them is there.
    debt: Span,
    credit: Span,
}

impl Default for Rest {
    fn default() -> Rest {
        Rest { woke: Time::ZERO, debt: Span::ZERO, credit: CREDIT }
    }
}

impl Rest {
    /// Whether the loop may wait without sleep, after it was awake until now.
    pub fn is_enough(&mut self, now: Time) -> bool {
        let awake_ns = now.since(self.woke).as_ns();
        self.woke = now;
        self.owe(Span::from_ns(awake_ns * (100 - AWAKE_PERCENT) / AWAKE_PERCENT));
        self.debt == Span::ZERO
    }

    /// The loop has slept from the time that it last asked at until now.
    pub fn on_sleep(&mut self, now: Time) {
        let slept = now.since(self.woke);
        self.woke = now;
        let paid = slept.min(self.debt);
        self.debt = self.debt - paid;
        self.credit = (self.credit + (slept - paid)).min(CREDIT);
    }

    fn owe(&mut self, sleep: Span) {
        let paid = sleep.min(self.credit);
        self.credit = self.credit - paid;
        self.debt = (self.debt + (sleep - paid)).min(DEBT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_us(us: u64) -> Time {
        Time::from_ns(us * 1_000)
    }

    /// Turns of 10 us of which the first so many in a hundred are work; the loop spins or sleeps in the others. Returns
    /// the most time that a second has awake, ms.
    fn awake_ms_max(work_percent: u64) -> u64 {
        let (mut rest, mut slept_before) = (Rest::default(), vec![0]);
        for turn in 0..400_000_u64 {
            let (start, end) = (at_us(turn * 10), at_us(turn * 10 + 10));
            let sleeps = turn % 100 >= work_percent && !rest.is_enough(start);
            if sleeps {
                rest.on_sleep(end);
            }
            slept_before.push(slept_before[turn as usize] + u64::from(sleeps));
        }
        let seconds = slept_before.iter().zip(&slept_before[100_000..]);
        (seconds.map(|(before, after)| 100_000 - (after - before)).max().unwrap_or(0)) / 100
    }

    #[test]
    fn no_second_is_awake_for_longer_than_the_kernel_lets_it() {
        for (work_percent, most_ms) in [(0, 858), (30, 858), (60, 858), (84, 858), (90, 906)] {
            let awake_ms = awake_ms_max(work_percent);
            let is_so = (most_ms - 10..=most_ms).contains(&awake_ms);
            assert!(is_so, "{awake_ms} ms with {work_percent} % work");
        }
    }

    #[test]
    fn a_long_sleep_pays_for_no_more_than_a_short_time_awake() {
        let mut rest = Rest::default();
        assert!(!rest.is_enough(at_us(100_000)), "of 100 ms 15 should have been sleep");
        rest.on_sleep(at_us(1_000_000));
        assert!(rest.is_enough(at_us(1_050_000)));
        assert!(!rest.is_enough(at_us(1_055_000)));
    }
}
