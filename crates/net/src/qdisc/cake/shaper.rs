//! The shaper: when the next packet may leave (`cake_set_rate`, `cake_advance_shaper` and the gate of
//! `cake_dequeue`, net/sched/sch_cake.c). There is no bucket and no burst: lateness is caught up
//! because the times are only ever added to.

use units::{Span, Time};

/// Fixed point of the time per byte at most.
const SHIFT_MAX: u32 = 34;
/// Slower rates are raised to this, byte/s.
const RATE_MIN: u64 = 64;

/// Time per byte: `ns / 2^shift`. Zero is an unlimited rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TimePerByte {
    ns: u64,
    shift: u32,
}

impl TimePerByte {
    /// Of a rate in byte/s; 0 is unlimited.
    pub fn of(bytes_per_s: u64) -> TimePerByte {
        if bytes_per_s == 0 {
            return TimePerByte::default();
        }
        let mut shift = SHIFT_MAX;
        let mut ns = (1_000_000_000 << SHIFT_MAX) / bytes_per_s.max(RATE_MIN);
        while ns >> SHIFT_MAX != 0 {
            ns >>= 1;
            shift -= 1;
        }
        TimePerByte { ns, shift }
    }

    /// Whether it shapes at all.
    #[inline]
    pub fn is_limited(self) -> bool {
        self.ns != 0
    }

    /// What this many bytes take. `ns` is below 2^34, so anything below 2^30 bytes fits.
    #[inline]
    pub fn span(self, bytes: u64) -> Span {
        Span::from_ns((bytes * self.ns) >> self.shift)
    }
}

/// The gate for all tins.
#[derive(Debug)]
pub(super) struct Shaper {
    rate: TimePerByte,
    /// When the link is free at the rate.
    next: Time,
    /// When it is at 2/3 of the rate, not counting what was dropped.
    failsafe: Time,
}

impl Shaper {
    pub fn new(rate: TimePerByte) -> Shaper {
        Shaper { rate, next: Time::ZERO, failsafe: Time::ZERO }
    }

    #[inline]
    pub fn is_limited(&self) -> bool {
        self.rate.is_limited()
    }

    /// Until when nothing may leave; both gates must be shut. Dropped packets shut only one, so that
    /// drops alone never take more than a third of the rate.
    #[inline]
    pub fn blocked(&self, now: Time) -> Option<Time> {
        (self.next > now && self.failsafe > now).then(|| self.next.min(self.failsafe))
    }

    /// A packet came and nothing waits: time that passed unused is lost.
    #[inline]
    pub fn wake(&mut self, now: Time) {
        if self.next < now {
            self.next = now;
            self.failsafe = now;
        }
    }

    /// Charges a packet of this many (adjusted) bytes that was sent, or dropped in ingress mode.
    #[inline]
    pub fn charge(&mut self, bytes: u64, dropped: bool) {
        let span = self.rate.span(bytes);
        self.next += span;
        if !dropped {
            self.failsafe += span + span.half();
        }
    }
}

/// Where a tin is in the schedule that its share of the rate gives it.
#[derive(Debug)]
pub(super) struct Schedule {
    rate: TimePerByte,
    /// When it has used its share.
    pub next: Time,
}

impl Schedule {
    pub fn new(rate: TimePerByte) -> Schedule {
        Schedule { rate, next: Time::ZERO }
    }

    /// A packet came and nothing waits in the tin.
    #[inline]
    pub fn wake(&mut self, now: Time) {
        self.next = self.next.max(now);
    }

    /// Charges a packet: the tin may be late, but never more than one packet early.
    #[inline]
    pub fn charge(&mut self, now: Time, bytes: u64) {
        let span = self.rate.span(bytes);
        if self.next < now {
            self.next += span;
        } else if self.next < now + span {
            self.next = now + span;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time::from_ns(n * 1_000)
    }

    #[test]
    fn time_per_byte_has_thirty_four_significant_bits() {
        // 10 Mbit/s: 800 ns a byte = 1000 * 2^34 / 1.25 halved ten times to fit 34 bits.
        let rate = TimePerByte::of(1_250_000);
        assert_eq!((rate.ns, rate.shift), (800 << 24, 24));
        assert_eq!(rate.span(1514), Span::from_ns(1514 * 800));
        // 7 byte/s counts as 64: 15625000 ns a byte.
        assert_eq!(TimePerByte::of(7).span(4), Span::from_ns(4 * 15_625_000));
        // 10^9 / 3 byte/s: 3 ns a byte to 34 bits.
        assert_eq!(TimePerByte::of(333_333_333).span(1000), Span::from_ns(3000));
    }

    #[test]
    fn at_ten_megabit_a_packet_leaves_every_1211_microseconds() {
        let mut shaper = Shaper::new(TimePerByte::of(1_250_000));
        shaper.wake(us(500));
        assert_eq!(shaper.blocked(us(500)), None);
        shaper.charge(1514, false);
        assert_eq!(shaper.blocked(us(500)), Some(Time::from_ns(500_000 + 1_211_200)));
        // The second leaves 300 us late, and the third is not later for it.
        shaper.charge(1514, false);
        assert_eq!(shaper.blocked(us(2_012)), Some(Time::from_ns(500_000 + 2 * 1_211_200)));
    }

    #[test]
    fn drops_alone_leave_two_thirds_of_the_rate() {
        // 1000 bytes take 800 us. A drop shuts only the first gate; the second opens 1200 us after
        // each packet sent, 2/3 of the rate.
        let mut shaper = Shaper::new(TimePerByte::of(1_250_000));
        for sent in 0..5 {
            assert_eq!(shaper.blocked(us(1_200 * sent)), None);
            for _ in 0..3 {
                shaper.charge(1000, true);
            }
            assert_eq!(shaper.blocked(us(1_200 * sent)), None);
            shaper.charge(1000, false);
            assert_eq!(shaper.blocked(us(1_200 * sent)), Some(us(1_200 * (sent + 1))));
        }
    }

    #[test]
    fn time_unused_while_nothing_waited_is_lost() {
        let mut shaper = Shaper::new(TimePerByte::of(1_250_000));
        shaper.charge(1000, false);
        shaper.wake(us(5_000));
        shaper.charge(1000, false);
        assert_eq!(shaper.blocked(us(5_000)), Some(us(5_800)));
    }

    #[test]
    fn a_tin_catches_up_when_late_and_waits_one_packet_at_most_when_early() {
        let mut tin = Schedule::new(TimePerByte::of(1_250_000));
        tin.wake(us(1_000));
        tin.charge(us(1_000), 1000);
        assert_eq!(tin.next, us(1_800));
        // Early: one packet's time from now on.
        tin.charge(us(1_400), 1000);
        assert_eq!(tin.next, us(2_200));
        // So early that it stays.
        tin.charge(us(1_400), 1000);
        assert_eq!(tin.next, us(2_200));
        // Late: from its own schedule on.
        tin.charge(us(9_000), 1000);
        assert_eq!(tin.next, us(3_000));
    }
}
