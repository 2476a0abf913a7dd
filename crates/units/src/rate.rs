//! Amounts of data and the rates at which they move.

use crate::Span;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Rate(u64);

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Bytes(u64);

impl Rate {
    /// A rate of `bps` bits per second.
    #[inline]
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }
    /// Bits per second.
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Time to put `size` on the wire, rounded up to a nanosecond so that a link is never faster
    /// than its rate.
    ///
    /// # Panics
    /// If the rate is zero.
    #[inline]
    pub const fn serialization_time(self, size: Bytes) -> Span {
        assert!(self.0 > 0, "a link of rate 0 never sends");
        let bits_ns = size.0 as u128 * 8_000_000_000;
        Span::from_ns(bits_ns.div_ceil(self.0 as u128) as u64)
    }
    /// What fits into `span`, truncated to whole bytes.
    #[inline]
    pub const fn bytes_in(self, span: Span) -> Bytes {
        Bytes((self.0 as u128 * span.as_ns() as u128 / 8_000_000_000) as u64)
    }
}

impl Bytes {
    /// No data.
    pub const ZERO: Bytes = Bytes(0);

    /// `n` bytes.
    #[inline]
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }
    /// The number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        debug_assert!(self.0 >= other.0, "bytes would be negative: {self:?} - {other:?}");
        Bytes(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Bytes) {
        *self = *self - other;
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n >= 1_000_000_000 && n % 1_000_000_000 == 0 => {
                write!(f, "{}Gbps", n / 1_000_000_000)
            }
            n if n >= 1_000_000 && n % 1_000_000 == 0 => write!(f, "{}Mbps", n / 1_000_000),
            n if n >= 1_000 && n % 1_000 == 0 => write!(f, "{}kbps", n / 1_000),
            n => write!(f, "{n}bps"),
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.0)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_segment_takes_twelve_microseconds_at_a_gigabit() {
        assert_eq!(
            Rate::from_bps(1_000_000_000).serialization_time(Bytes::new(1514)),
            Span::from_ns(12_112)
        );
    }

    #[test]
    fn serialization_rounds_up_so_that_a_link_never_exceeds_its_rate() {
        assert_eq!(
            Rate::from_bps(3_000_000_000).serialization_time(Bytes::new(1)),
            Span::from_ns(3)
        );
    }

    #[test]
    fn a_bdp_is_rate_times_rtt() {
        assert_eq!(
            Rate::from_bps(1_000_000_000).bytes_in(Span::from_ms(20)),
            Bytes::new(2_500_000)
        );
    }
}
