//! Impairments that decide a packet's fate without holding it.

use crate::rng::Rng;

/// Independent random loss with a fixed probability, as `netem loss P%`.
#[derive(Debug)]
pub struct BernoulliLoss {
    threshold: u64,
    rng: Rng,
}

impl BernoulliLoss {
    /// Loses a packet with probability `ppb` / 10^9 (0 to 10^9).
    pub fn new(ppb: u64, rng: Rng) -> BernoulliLoss {
        assert!(ppb <= 1_000_000_000, "loss must be at most 10^9 ppb, got {ppb}");
        BernoulliLoss { threshold: ppb, rng }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn is_lost(&mut self) -> bool {
        self.threshold > 0 && self.rng.below(1_000_000_000) < self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_percent_loses_about_one_in_a_hundred() {
        let mut loss = BernoulliLoss::new(10_000_000, Rng::stream(3, "loss"));
        let lost = (0..100_000).filter(|_| loss.is_lost()).count();
        assert!((900..1100).contains(&lost), "{lost}");
    }

    #[test]
    fn zero_never_loses_and_one_always_does() {
        let mut never = BernoulliLoss::new(0, Rng::stream(3, "a"));
        let mut always = BernoulliLoss::new(1_000_000_000, Rng::stream(3, "b"));
        assert!((0..1000).all(|_| !never.is_lost() && always.is_lost()));
    }
}
