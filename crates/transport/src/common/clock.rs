//! The clocks of a Linux host: nanoseconds, microseconds, the jiffy tick and the timer wheel.

use units::{Divisor, Span, Time};

pub use units::BOOT;

/// The tick that jiffies-based rules count in.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    hz: u32,
    ns: Divisor,
    /// Time that the host has been up when the run begins.
    up: Span,
}

impl Tick {
    /// A tick of 1/`hz` seconds (1 to 1000, as the kernel's HZ).
    pub fn new(hz: u32) -> Tick {
        assert!((1..=1000).contains(&hz), "HZ must be 1 to 1000, got {hz}");
        Tick { hz, ns: Divisor::new(1_000_000_000 / u64::from(hz)), up: BOOT }
    }

    /// The tick of a host that booted this much earlier: its ticks, and the coarser ones of its timer wheel, come at other
    /// times.
    pub fn ahead(self, by: Span) -> Tick {
        Tick { up: BOOT + by, ..self }
    }

    /// Ticks per second.
    pub fn hz(self) -> u32 {
        self.hz
    }

    /// `jiffies` at `now`.
    #[inline]
    pub fn jiffies(self, now: Time) -> u32 {
        self.ns.quotient((now + self.up).as_ns()) as u32
    }

    /// `usecs_to_jiffies`: rounds up.
    #[inline]
    pub fn from_us(self, us: u64) -> u32 {
        self.ns.quotient_up(us * 1_000) as u32
    }

    /// `jiffies_to_usecs`.
    #[inline]
    pub fn to_us(self, jiffies: u32) -> u64 {
        u64::from(jiffies) * self.ns.get() / 1_000
    }

    /// `nsecs_to_jiffies`: rounds down.
    #[inline]
    pub fn from_ns(self, ns: u64) -> u32 {
        self.ns.quotient(ns) as u32
    }

    /// When a timer of the wheel armed now for `delay` ticks fires (`calc_index`, kernel/time/timer.c):
    /// the further away, the coarser the bucket, always rounded up past the expiry.
    pub fn wheel(self, now: Time, delay: u32) -> Time {
        self.wheel_at(self.jiffies(now), delay)
    }

    /// The same armed at this tick; a run ends long before their number has more than 32 bits.
    #[inline]
    pub fn wheel_at(self, armed: u32, delay: u32) -> Time {
        let expiry = u64::from(armed) + u64::from(delay);
        let shift = match delay {
            0..=62 => 0,
            63..=503 => 3,
            504..=4031 => 6,
            4032..=32255 => 9,
            _ => 12,
        };
        let tick = ((expiry >> shift) + 1) << shift;
        Time::from_ns(tick * self.ns.get() - self.up.as_ns())
    }
}

/// `tcp_clock_ns` of the host.
#[inline]
pub fn host_ns(now: Time) -> u64 {
    (now + BOOT).as_ns()
}

/// Back from a host clock value to the time of the run; never before its start.
#[inline]
pub fn run_time(host_ns: u64) -> Time {
    Time::from_ns(host_ns.saturating_sub(BOOT.as_ns()))
}

/// The clock of the timestamp option: milliseconds.
#[inline]
pub fn timestamp_ms(host_ns: u64) -> u32 {
    (host_ns / 1_000_000) as u32
}

/// How long ago, in ms, a packet was sent whose timestamp is echoed now (`tcp_rtt_tsopt_us`). None of a time that has not come
/// yet: a timeout sends without regard to pacing, and the timestamp is that of the paced time.
#[inline]
pub fn since_echo_ms(now_ms: u32, ts_ecr: u32) -> Option<u32> {
    const LONGEST_MS: u32 = i32::MAX as u32 / 1000;
    Some(now_ms.wrapping_sub(ts_ecr)).filter(|&ms| ms < LONGEST_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_of_the_future_tells_no_time() {
        assert_eq!(since_echo_ms(5, 2), Some(3));
        assert_eq!(since_echo_ms(2, u32::MAX), Some(3), "over the wrap");
        assert_eq!(since_echo_ms(2, 2), Some(0));
        assert_eq!(since_echo_ms(2, 3), None);
    }

    fn fires_after_ms(delay: u32, armed_at_ms: u64) -> u64 {
        let now = Time::ZERO + Span::from_ms(armed_at_ms);
        Tick::new(1000).wheel(now, delay).since(now).as_ns() / 1_000_000
    }

    #[test]
    fn a_short_timer_fires_one_tick_after_its_expiry() {
        assert_eq!(fires_after_ms(40, 0), 41);
    }

    #[test]
    fn an_rto_of_203_ticks_fires_after_204_to_211() {
        let fires: Vec<_> = (0..8).map(|at| fires_after_ms(203, at)).collect();
        assert!(fires.iter().all(|f| (204..=211).contains(f)), "{fires:?}");
        assert!(fires.iter().min() != fires.iter().max());
    }

    #[test]
    fn hosts_that_booted_at_other_times_have_their_ticks_apart() {
        let (now, tick) = (Time::ZERO + Span::from_us(300), Tick::new(1000));
        let other = tick.ahead(Span::from_us(34_900));
        assert_eq!(other.jiffies(now) - tick.jiffies(now), 35);
        let fires = |tick: Tick, delay| tick.wheel(now, delay).since(Time::ZERO).as_ns() / 1_000;
        assert_eq!((fires(tick, 40), fires(other, 40)), (41_000, 41_100));
        // From 504 ticks on the wheel counts in units of 64.
        assert_eq!((fires(tick, 600), fires(other, 600)), (640_000, 605_100));
    }

    #[test]
    fn microseconds_round_up_to_ticks_and_nanoseconds_down() {
        assert_eq!(Tick::new(250).from_us(4_001), 2);
        assert_eq!(Tick::new(250).from_ns(7_999_999), 1);
    }
}
