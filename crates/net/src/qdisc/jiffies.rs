//! Timers that the kernel counts in jiffies (kernel/time/timer.c). Its timer wheel never fires early,
//! so it fires late: a timer set in a tick for n ticks later runs n + 1 ticks later, and one for long
//! at the next multiple of 8 or more. What sets its timer again whenever it runs has that period.

use crate::rng::Rng;
use units::{Span, Time};

/// log2 of how much coarser each level of the wheel is than the one below (`LVL_CLK_SHIFT`).
const LEVEL_SHIFT: u32 = 3;
/// Ticks that the finest level covers (`LVL_SIZE` - 1).
const FINEST: u64 = 63;
/// Levels of the wheel (`LVL_DEPTH` with `HZ` > 100).
const LEVELS: u32 = 9;

/// The kernel's tick. A tick begins at time zero.
#[derive(Clone, Copy, Debug)]
pub struct Jiffies {
    hz: u64,
    /// Ticks before time zero, counted from when timers were set up.
    before: u64,
}

impl Jiffies {
    /// Ticks of 1/`hz` s.
    ///
    /// # Panics
    /// When `hz` is not within 1 to 10000.
    pub fn new(hz: u32) -> Self {
        assert!((1..=10_000).contains(&hz), "hz must be within 1 to 10000, got {hz}");
        Jiffies { hz: u64::from(hz), before: 0 }
    }

    /// Ticks counted from when a testbed was set up: a second and up to half of one, drawn, before time zero. Timers
    /// therefore have any phase.
    #[must_use]
    pub fn set_up_before(self, rng: &mut Rng) -> Self {
        Jiffies { before: self.hz + rng.below(self.half_second() + 1), ..self }
    }

    /// When a timer fires first from time zero on that was set at the set-up for half a second, and sets itself again
    /// for `period` ticks. `turn` is called for each time that it fired before; without a period it fires once.
    pub fn first(self, period: u64, mut turn: impl FnMut()) -> Option<Time> {
        let mut tick = fires(0, self.half_second());
        while tick < self.before {
            turn();
            if period == 0 {
                return None;
            }
            tick = fires(tick, period);
        }
        Some(self.begins(tick))
    }

    /// Ticks in half a second (`HZ / 2`).
    pub const fn half_second(self) -> u64 {
        self.hz / 2
    }

    /// Ticks that cover a span (`usecs_to_jiffies`).
    pub const fn covering(self, span: Span) -> u64 {
        (span.as_us() * self.hz).div_ceil(1_000_000)
    }

    /// When a timer fires that is set at `now` for `ticks` later.
    pub fn expiry(self, now: Time, ticks: u64) -> Time {
        let now = u128::from(now.as_ns()) * u128::from(self.hz) / 1_000_000_000;
        self.begins(fires(now as u64 + self.before, ticks))
    }

    /// When a tick from time zero on begins.
    fn begins(self, tick: u64) -> Time {
        Time::from_ns(
            (u128::from(tick - self.before) * 1_000_000_000).div_ceil(u128::from(self.hz)) as u64,
        )
    }
}

/// In which tick a timer fires that is set in tick `now` for `ticks` later (`calc_wheel_index`, seen from a tick whose
/// timers are being run).
fn fires(now: u64, ticks: u64) -> u64 {
    let expires = now + ticks;
    let ahead = ticks.saturating_sub(1);
    let starts = |level: u32| FINEST << (LEVEL_SHIFT * (level - 1));
    let level = (1..LEVELS).take_while(|&level| ahead >= starts(level)).count() as u32;
    let shift = LEVEL_SHIFT * level;
    ((expires >> shift) + 1) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn spans_are_rounded_up_to_ticks() {
        for (hz, ticks) in [(100, 2), (250, 4), (300, 5), (1000, 15)] {
            assert_eq!(Jiffies::new(hz).covering(Span::from_ms(15)), ticks, "{hz}");
        }
    }

    #[test]
    fn a_short_timer_fires_a_tick_late() {
        let jiffies = Jiffies::new(250);
        assert_eq!(jiffies.expiry(at_ms(40), 4), at_ms(60));
        // In the middle of a tick it is that tick that counts.
        assert_eq!(jiffies.expiry(at_ms(43), 4), at_ms(60));
        assert_eq!(Jiffies::new(1000).expiry(at_ms(40), 15), at_ms(56));
    }

    #[test]
    fn a_longer_timer_fires_at_the_next_multiple_of_its_level() {
        // 125 ticks of 4 ms to the next multiple of 8; 500 of 1 ms likewise.
        assert_eq!(Jiffies::new(250).expiry(Time::ZERO, 125), at_ms(512));
        assert_eq!(Jiffies::new(250).expiry(at_ms(512), 125), at_ms(1024));
        assert_eq!(Jiffies::new(1000).expiry(Time::ZERO, 500), at_ms(504));
        // The levels begin at 63 and 504 ticks.
        assert_eq!(Jiffies::new(1000).expiry(Time::ZERO, 63), at_ms(64));
        assert_eq!(Jiffies::new(1000).expiry(at_ms(1), 64), at_ms(72));
        assert_eq!(Jiffies::new(1000).expiry(Time::ZERO, 505), at_ms(512));
        assert_eq!(Jiffies::new(1000).expiry(Time::ZERO, 600), at_ms(640));
    }

    #[test]
    fn what_was_set_up_before_time_zero_fires_at_the_phase_that_it_has_by_then() {
        let mut phases = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let jiffies = Jiffies::new(1000).set_up_before(&mut Rng::stream(seed, "pie"));
            let before = jiffies.before;
            assert!((1000..=1500).contains(&before), "{before}");
            // 504 ms after the set-up, and then every 16.
            let mut fired = 0;
            let first = jiffies.first(15, || fired += 1).expect("it has a period");
            assert_eq!(first, at_ms(504 + 16 * fired - before));
            assert!(first < at_ms(16), "{first}");
            assert_eq!(jiffies.expiry(first, 15), first + Span::from_ms(16));
            phases.insert(first);
        }
        assert_eq!(phases.len(), 16);
    }

    #[test]
    fn a_timer_without_a_period_has_fired_by_time_zero() {
        let jiffies = Jiffies::new(1000).set_up_before(&mut Rng::stream(1, "pie"));
        let mut fired = 0;
        assert_eq!((jiffies.first(0, || fired += 1), fired), (None, 1));
        assert_eq!(Jiffies::new(1000).first(0, || ()), Some(at_ms(504)));
    }
}
