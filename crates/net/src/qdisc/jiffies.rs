//! Timers that the kernel counts in jiffies (kernel/time/timer.c). Its timer wheel never fires early,
//! so it fires late: a timer set in a tick for n ticks later runs n + 1 ticks later, and one for long
//! at the next multiple of 8 or more. What sets its timer again whenever it runs has that period.

use units::{Span, Time};

/// log2 of how much coarser each level of the wheel is than the one below (`LVL_CLK_SHIFT`).
const LEVEL_SHIFT: u32 = 3;
/// Ticks that the finest level covers (`LVL_SIZE` - 1).
const FINEST: u64 = 63;
/// Levels of the wheel (`LVL_DEPTH` with `HZ` > 100).
const LEVELS: u32 = 9;

/// The kernel's tick; the first began at time zero.
#[derive(Clone, Copy, Debug)]
pub struct Jiffies {
    hz: u64,
}

impl Jiffies {
    /// Ticks of 1/`hz` s.
    ///
    /// # Panics
    /// When `hz` is not within 1 to 10000.
    pub fn new(hz: u32) -> Self {
        assert!((1..=10_000).contains(&hz), "hz must be within 1 to 10000, got {hz}");
        Jiffies { hz: u64::from(hz) }
    }

    /// Ticks in half a second (`HZ / 2`).
    pub const fn half_second(self) -> u64 {
        self.hz / 2
    }

    /// Ticks that cover a span (`usecs_to_jiffies`).
    pub const fn covering(self, span: Span) -> u64 {
        (span.as_us() * self.hz).div_ceil(1_000_000)
    }

    /// When a timer fires that is set at `now` for `ticks` later (`calc_wheel_index`, seen from a
    /// tick whose timers are being run).
    pub fn expiry(self, now: Time, ticks: u64) -> Time {
        let now = u128::from(now.as_ns()) * u128::from(self.hz) / 1_000_000_000;
        let expires = now as u64 + ticks;
        let ahead = ticks.saturating_sub(1);
        let starts = |level: u32| FINEST << (LEVEL_SHIFT * (level - 1));
        let level = (1..LEVELS).take_while(|&level| ahead >= starts(level)).count() as u32;
        let shift = LEVEL_SHIFT * level;
        let fires = ((expires >> shift) + 1) << shift;
        Time::from_ns((u128::from(fires) * 1_000_000_000).div_ceil(u128::from(self.hz)) as u64)
    }
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
}
