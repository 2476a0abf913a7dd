//! Losses that are planned: a share that changes in steps (1 is an outage), a share of what comes in windows of time, or of
//! the first packets in each, or packets by their number.

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

/// A window of time in which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossWindow {
    /// From then on.
    pub from: Time,
    /// Until before then.
    pub to: Time,
    /// This share, in parts of 10^9.
    pub ppb: u64,
    /// Of so many packets, the first that come; `None`: of all.
    pub packets: Option<u64>,
}

/// Loses packets that come in windows of time.
#[derive(Debug)]
pub struct WindowedLoss {
    /// Ascending, without overlap.
    windows: Vec<LossWindow>,
    /// Windows that are over.
    passed: usize,
    /// Packets that came in the one at hand.
    come: u64,
    rng: Rng,
}

impl WindowedLoss {
    /// Loses packets in these windows, which are in the order of time and do not overlap.
    ///
    /// # Panics
    /// If a share is above one.
    pub fn new(windows: Vec<LossWindow>, rng: Rng) -> WindowedLoss {
        windows.iter().for_each(|window| assert_share("loss", window.ppb));
        WindowedLoss { windows, passed: 0, come: 0, rng }
    }

    /// Whether a packet that comes at `now` is lost. Nothing is drawn where the outcome is certain.
    pub fn is_lost(&mut self, now: Time) -> bool {
        while self.windows.get(self.passed).is_some_and(|window| window.to <= now) {
            self.passed += 1;
            self.come = 0;
        }
        let Some(window) = self.windows.get(self.passed).filter(|window| window.from <= now) else {
            return false;
        };
        self.come += 1;
        if window.packets.is_some_and(|most| self.come > most) {
            return false;
        }
        match window.ppb {
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
    fn windows_lose_a_share_of_all_or_of_the_first_packets_in_them() {
        let at = |ms: u64| Time::from_ns(ms * 1_000_000);
        let window =
            |from, to, ppb, packets| LossWindow { from: at(from), to: at(to), ppb, packets };
        let windows = vec![
            window(10, 13, CERTAIN, None),
            window(13, 20, CERTAIN, Some(2)),
            window(30, 40, 0, None),
            window(100, 10_100, CERTAIN / 4, None),
        ];
        let mut loss = WindowedLoss::new(windows, Rng::stream(1, "loss"));
        let lost: Vec<u64> = (0..100).filter(|&ms| loss.is_lost(at(ms))).collect();
        assert_eq!(lost, [10, 11, 12, 13, 14]);
        let lost = (100..11_000).filter(|&ms| loss.is_lost(at(ms))).count();
        assert!((2_350..2_650).contains(&lost), "{lost}");
    }

    #[test]
    fn listed_packets_are_lost_and_no_others() {
        let mut loss = ListedLoss::new(vec![7, 0, 3, 3]);
        let lost: Vec<u64> = (0..10).filter(|_| loss.is_lost()).collect();
        assert_eq!(lost, [0, 3, 7]);
    }
}
