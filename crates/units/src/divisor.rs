//! Division by a number that stays the same, as a multiplication: several times faster than the
//! processor's division, of which a packet would otherwise cost a dozen.

/// A divisor and its reciprocal, 2^(64 + shift) / divisor rounded up. Quotients of numbers below 2^63 are
/// exact (Granlund and Montgomery, "Division by invariant integers using multiplication", theorem 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    divisor: u64,
    reciprocal: u64,
    shift: u32,
}

impl Divisor {
    /// Numbers must be below this.
    const LIMIT: u64 = 1 << 63;

    /// Divides by `divisor`.
    ///
    /// # Panics
    /// Unless it is at least 2 and below 2^63.
    pub fn new(divisor: u64) -> Divisor {
        assert!((2..Self::LIMIT).contains(&divisor), "no reciprocal of {divisor}");
        // One less for a power of two, whose reciprocal would else need a bit more.
        let shift = (divisor - 1).ilog2();
        let reciprocal = (1u128 << (64 + shift)).div_ceil(u128::from(divisor)) as u64;
        Divisor { divisor, reciprocal, shift }
    }

    /// The divisor.
    #[inline]
    pub fn get(self) -> u64 {
        self.divisor
    }

    /// `number / divisor`, rounded down.
    #[inline]
    pub fn quotient(self, number: u64) -> u64 {
        debug_assert!(number < Self::LIMIT, "{number} is too large for a reciprocal");
        let product = u128::from(number) * u128::from(self.reciprocal);
        (product >> 64) as u64 >> self.shift
    }

    /// The same, rounded up; `number + divisor` must be below the limit.
    #[inline]
    pub fn quotient_up(self, number: u64) -> u64 {
        self.quotient(number + self.divisor - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact_up_to_the_limit() {
        let powers = (1..63).map(|k| 1u64 << k);
        let near = powers.flat_map(|p| [p - 1, p, p + 1]).filter(|&d| d >= 2);
        for d in near.chain([3, 1448, 1_000_000, 3_333_333, 4_000_000, 1_000_000_000]) {
            let divisor = Divisor::new(d);
            let last = (Divisor::LIMIT - 1) / d * d;
            for n in [0, 1, d - 1, d, d + 1, last / 2, last - 1, last, Divisor::LIMIT - 1] {
                assert_eq!(divisor.quotient(n), n / d, "{n} / {d}");
            }
            for n in [0, 1, d - 1, d].map(|n| n.min(Divisor::LIMIT - d)) {
                assert_eq!(divisor.quotient_up(n), n.div_ceil(d), "{n} / {d}");
            }
        }
    }
}
