//! Virtual time: instants and the spans between them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Time(u64);

/// A length of time in nanoseconds, never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than every event: "no deadline".
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `ns` nanoseconds after the start.
    #[inline]
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns)
    }
    /// Nanoseconds since the start.
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0
    }
    /// Whole microseconds since the start, truncated (the unit of `tcp_mstamp`).
    #[inline]
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000
    }
    /// Seconds as a float, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// The span since `earlier`, zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
    /// Whether this is a real deadline.
    #[inline]
    pub const fn is_set(self) -> bool {
        self.0 != u64::MAX
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A span of `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Span {
        Span(ns)
    }
    /// A span of `us` microseconds.
    #[inline]
    pub const fn from_us(us: u64) -> Span {
        Span(us * 1_000)
    }
    /// A span of `ms` milliseconds.
    #[inline]
    pub const fn from_ms(ms: u64) -> Span {
        Span(ms * 1_000_000)
    }
    /// Length in nanoseconds.
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0
    }
    /// Length in whole microseconds, truncated.
    #[inline]
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000
    }
    /// Length in seconds as a float, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Half of the span, rounded down.
    #[inline]
    pub const fn half(self) -> Span {
        Span(self.0 / 2)
    }
}

/// Simulated machines booted this long before a run starts, because Linux code takes zero stamps for "unset", and a queue of
/// CoDel that has never signalled for one that did so at zero. A multiple of every tick.
pub const BOOT: Span = Span::from_ms(1_000_000);

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, other: Span) -> Span {
        debug_assert!(self.0 >= other.0, "span would be negative: {self:?} - {other:?}");
        Span(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, n: u64) -> Span {
        Span(self.0 * n)
    }
}

fn write_ns(f: &mut fmt::Formatter<'_>, ns: u64) -> fmt::Result {
    match ns {
        0 => write!(f, "0s"),
        n if n % 1_000_000_000 == 0 => write!(f, "{}s", n / 1_000_000_000),
        n if n % 1_000_000 == 0 => write!(f, "{}ms", n / 1_000_000),
        n if n % 1_000 == 0 => write!(f, "{}us", n / 1_000),
        n => write!(f, "{n}ns"),
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_set() {
            write_ns(f, self.0)
        } else {
            write!(f, "never")
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ns(f, self.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_in_the_largest_whole_unit() {
        assert_eq!(Time::from_ns(2_000_000_000).to_string(), "2s");
        assert_eq!(Span::from_ms(20).to_string(), "20ms");
        assert_eq!(Span::from_ns(1_001).to_string(), "1001ns");
        assert_eq!(Time::NEVER.to_string(), "never");
    }

    #[test]
    fn a_deadline_plus_a_span_never_wraps() {
        assert_eq!(Time::NEVER + Span::from_ms(1), Time::NEVER);
    }

    #[test]
    fn since_is_zero_for_a_later_time() {
        assert_eq!(Time::from_ns(5).since(Time::from_ns(7)), Span::ZERO);
    }
}
