//! Random loss with a fixed probability: independent, or as correlated as netem makes it.

use super::{assert_share, Share};
use crate::correlated::{share_of_u32, CorrelatedRng};
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

/// `netem loss P% CORRELATION%`: random loss whose draws resemble their predecessors. The kernel's
/// draws crowd around one half, so that below 50 % less is lost than was asked.
#[derive(Debug)]
pub struct CorrelatedLoss {
    threshold: u32,
    rng: CorrelatedRng,
}

impl CorrelatedLoss {
    /// Loses a packet with this nominal probability.
    ///
    /// # Panics
    /// If the share or its correlation is above one.
    pub fn new(share: Share, rng: Rng) -> CorrelatedLoss {
        assert_share("loss", share.rate);
        let rng = CorrelatedRng::new(share.correlation, rng);
        CorrelatedLoss { threshold: share_of_u32(share.rate), rng }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn is_lost(&mut self) -> bool {
        self.rng.happens(self.threshold)
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

    /// Losses of 100 000 packets, and how many of them follow another.
    fn lost(ppb: u64, correlation_ppb: u64) -> (usize, usize) {
        let share = Share { rate: ppb, correlation: correlation_ppb };
        let mut loss = CorrelatedLoss::new(share, Rng::stream(3, "loss"));
        let lost: Vec<bool> = (0..100_000).map(|_| loss.is_lost()).collect();
        let pairs = lost.windows(2).filter(|w| w[0] && w[1]).count();
        (lost.iter().filter(|&&l| l).count(), pairs)
    }

    #[test]
    fn correlated_loss_comes_in_runs_and_falls_short_of_its_nominal_rate() {
        let (plain, plain_pairs) = lost(250_000_000, 0);
        assert!((24_500..25_500).contains(&plain), "{plain}");
        assert!((5_900..6_600).contains(&plain_pairs), "{plain_pairs}");
        // At a correlation of one half a draw is the sum of u_n / 2^n over all n from 1, whose
        // distribution is the Fabius function; its value at 1/4 is 5/72.
        let (few, runs) = lost(250_000_000, 500_000_000);
        assert!((6_600..7_300).contains(&few), "{few}, expected 6944");
        // Independent, few^2 / n of them would follow another.
        assert!(runs > 3 * few * few / 100_000, "{runs} of {few} follow another");
    }
}
