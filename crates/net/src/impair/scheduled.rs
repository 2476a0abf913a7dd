//! Losses that are planned: a share that changes in steps (1 is an outage), or packets by their number.

use super::{assert_share, CERTAIN};
use crate::rng::Rng;
use crate::schedule::Steps;
use units::Time;

/// Independent loss whose share follows steps.
#[derive(Debug)]
pub struct ScheduledLoss {
    steps: Steps<u64>,
    rng: Rng,
}

impl ScheduledLoss {
    /// Loses a packet with the share, in parts of 10^9, of the time at which it comes.
    ///
    /// # Panics
    /// If a share is above one.
    pub fn new(steps: Steps<u64>, rng: Rng) -> ScheduledLoss {
        steps.as_slice().iter().for_each(|&(_, ppb)| assert_share("loss", ppb));
        ScheduledLoss { steps, rng }
    }

    /// Whether a packet that comes at `now` is lost. Nothing is drawn where the outcome is certain.
    pub fn is_lost(&mut self, now: Time) -> bool {
        match self.steps.at(now).0 {
            0 => false,
            CERTAIN => true,
            ppb => self.rng.below(CERTAIN) < ppb,
        }
    }
}

/// Loses the packets whose numbers are listed; the first that comes is number 0.
#[derive(Debug)]
pub struct ListedLoss {
    /// Ascending, without repetition.
    numbers: Vec<u64>,
    /// Entries of `numbers` that have been passed.
    passed: usize,
    next: u64,
}

impl ListedLoss {
    /// Loses these packets; their order and repetitions do not matter.
    pub fn new(mut numbers: Vec<u64>) -> ListedLoss {
        numbers.sort_unstable();
        numbers.dedup();
        ListedLoss { numbers, passed: 0, next: 0 }
    }

    /// Whether the next packet is lost.
    pub fn is_lost(&mut self) -> bool {
        let lost = self.numbers.get(self.passed) == Some(&self.next);
        self.passed += usize::from(lost);
        self.next += 1;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    #[test]
    fn an_outage_loses_all_while_it_lasts_and_comes_again() {
        let at = |ms: u64| Time::from_ns(ms * 1_000_000);
        let steps = vec![(at(0), 0), (at(10), CERTAIN), (at(15), 0)];
        let steps = Steps::new(steps, Some(Span::from_ms(100))).unwrap();
        let mut loss = ScheduledLoss::new(steps, Rng::stream(1, "loss"));
        let lost: Vec<u64> = (0..200).filter(|&ms| loss.is_lost(at(ms))).collect();
        assert_eq!(lost, [10, 11, 12, 13, 14, 110, 111, 112, 113, 114]);
    }

    #[test]
    fn between_the_extremes_the_share_is_met() {
        let mut loss = ScheduledLoss::new(Steps::constant(CERTAIN / 4), Rng::stream(1, "loss"));
        let lost = (0..100_000).filter(|_| loss.is_lost(Time::ZERO)).count();
        assert!((24_300..25_700).contains(&lost), "{lost}");
    }

    #[test]
    fn listed_packets_are_lost_and_no_others() {
        let mut loss = ListedLoss::new(vec![7, 0, 3, 3]);
        let lost: Vec<u64> = (0..10).filter(|_| loss.is_lost()).collect();
        assert_eq!(lost, [0, 3, 7]);
    }
}
