//! netem's correlated random numbers (`get_crandom`, net/sched/sch_netem.c), and its probabilities.

use crate::rng::Rng;

/// Parts in 10^9 as netem's share of 2^32 - 1, rounded as `tc` does.
pub const fn share_of_u32(ppb: u64) -> u32 {
    ((ppb as u128 * u32::MAX as u128 + 500_000_000) / 1_000_000_000) as u32
}

/// A stream of 32-bit numbers, each a mean of a fresh one and the last, weighted by the correlation.
///
/// The weighting narrows the spread around the middle: at a correlation of 25 % a nominal loss of 1 %
/// is in truth far less. So it is in the kernel.
#[derive(Clone, Debug)]
pub struct CorrelatedRng {
    rng: Rng,
    /// Weight of the last number, of 2^32 - 1.
    rho: u32,
    last: u32,
}

impl CorrelatedRng {
    /// A stream with a correlation of `ppb` / 10^9. Without correlation it takes one draw of `rng` a
    /// number and none before the first.
    ///
    /// # Panics
    /// If the correlation is above one.
    pub fn new(ppb: u64, mut rng: Rng) -> CorrelatedRng {
        assert!(ppb <= 1_000_000_000, "correlation must be at most 10^9 ppb, got {ppb}");
        let rho = share_of_u32(ppb);
        let last = if rho > 0 { high(&mut rng) } else { 0 };
        CorrelatedRng { rng, rho, last }
    }

    /// The next number, uniform over 32 bits where there is no correlation.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        let value = high(&mut self.rng);
        if self.rho == 0 {
            return value;
        }
        let rho = u64::from(self.rho) + 1;
        // The weights add up to 2^32 and both numbers are below it: the sum stays below 2^64.
        let sum = u64::from(value) * ((1 << 32) - rho) + u64::from(self.last) * rho;
        self.last = (sum >> 32) as u32;
        self.last
    }

    /// Whether an event whose share is `threshold` of 2^32 - 1 happens; without a draw if it never does.
    #[inline]
    pub fn happens(&mut self, threshold: u32) -> bool {
        threshold > 0 && threshold >= self.next_u32()
    }

    /// Whether there is any correlation.
    #[inline]
    pub fn is_correlated(&self) -> bool {
        self.rho > 0
    }

    /// The stream underneath.
    #[inline]
    pub fn uniform(&mut self) -> &mut Rng {
        &mut self.rng
    }
}

fn high(rng: &mut Rng) -> u32 {
    (rng.next_u64() >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(correlation_ppb: u64) -> Vec<i64> {
        let mut rng = CorrelatedRng::new(correlation_ppb, Rng::stream(5, "test"));
        (0..50_000).map(|_| i64::from(rng.next_u32() >> 12) - (1 << 19)).collect()
    }

    /// Correlation of neighbours, in per mille, and variance over that of a uniform number.
    fn moments(x: &[i64]) -> (i64, i64) {
        let n = x.len() as i64;
        let variance = x.iter().map(|v| v * v).sum::<i64>() / n;
        let covariance = x.windows(2).map(|w| w[0] * w[1]).sum::<i64>() / n;
        (1000 * covariance / variance, 1000 * variance / ((1 << 40) / 12))
    }

    #[test]
    fn neighbours_are_as_alike_as_was_asked() {
        for percent in [0, 25, 75] {
            let (alike, _) = moments(&numbers(percent * 10_000_000));
            assert!((alike - 10 * percent as i64).abs() < 20, "{percent} %: {alike} per mille");
        }
    }

    #[test]
    fn correlation_narrows_the_spread_as_in_the_kernel() {
        // An autoregression of weight w keeps (1 - w) / (1 + w) of the variance: 1/7 at 75 %.
        let (_, spread) = moments(&numbers(750_000_000));
        assert!((130..157).contains(&spread), "{spread} per mille");
    }

    #[test]
    fn a_share_is_rounded_to_the_nearest() {
        assert_eq!(share_of_u32(0), 0);
        assert_eq!(share_of_u32(1_000_000_000), u32::MAX);
        assert_eq!(share_of_u32(10_000_000), 42_949_673); // 1 % is 42 949 672.95
    }
}
