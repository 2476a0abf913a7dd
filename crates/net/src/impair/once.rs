//! What may befall a packet by one draw: a copy, damage, a place at the front (`netem duplicate`, `corrupt`
//! and `reorder`; `netem_enqueue`, net/sched/sch_netem.c).

use super::assert_share;
use crate::correlated::{share_of_u32, CorrelatedRng};
use crate::rng::Rng;

/// Some packets are sent twice, back to back; a copy is not copied again.
#[derive(Debug)]
pub struct Duplication {
    threshold: u32,
    rng: CorrelatedRng,
}

impl Duplication {
    /// Duplicates this share of the packets; both in parts of 10^9.
    ///
    /// # Panics
    /// If either is above one.
    pub fn new(ppb: u64, correlation_ppb: u64, rng: Rng) -> Duplication {
        assert_share("duplication", ppb);
        let rng = CorrelatedRng::new(correlation_ppb, rng);
        Duplication { threshold: share_of_u32(ppb), rng }
    }

    /// Whether the next packet is sent twice.
    #[inline]
    pub fn is_duplicated(&mut self) -> bool {
        self.rng.happens(self.threshold)
    }
}

/// Some packets are damaged. They travel and use the links as others do, and the receiver, whose
/// checksum does not match, drops them: count them there, apart from losses.
#[derive(Debug)]
pub struct Corruption {
    threshold: u32,
    rng: CorrelatedRng,
}

impl Corruption {
    /// Damages this share of the packets; both in parts of 10^9.
    ///
    /// # Panics
    /// If either is above one.
    pub fn new(ppb: u64, correlation_ppb: u64, rng: Rng) -> Corruption {
        assert_share("corruption", ppb);
        let rng = CorrelatedRng::new(correlation_ppb, rng);
        Corruption { threshold: share_of_u32(ppb), rng }
    }

    /// Whether the next packet is damaged.
    #[inline]
    pub fn is_corrupted(&mut self) -> bool {
        self.rng.happens(self.threshold)
    }
}

/// Some packets skip the delay, and so overtake those inside ([`JitterPipe::push_undelayed`]).
///
/// [`JitterPipe::push_undelayed`]: crate::delay::JitterPipe::push_undelayed
#[derive(Debug)]
pub struct Reordering {
    gap: u32,
    threshold: u32,
    counter: u32,
    rng: CorrelatedRng,
}

impl Reordering {
    /// At least `gap` - 1 packets are delayed between two that skip the delay; each one behind them skips
    /// it with this share, in parts of 10^9. `tc` takes 1 for the gap where only the share is given.
    ///
    /// # Panics
    /// If the gap is zero or a share above one.
    pub fn new(gap: u32, ppb: u64, correlation_ppb: u64, rng: Rng) -> Reordering {
        assert!(gap > 0, "the gap is at least 1");
        assert_share("reordering", ppb);
        let rng = CorrelatedRng::new(correlation_ppb, rng);
        Reordering { gap, threshold: share_of_u32(ppb), counter: 0, rng }
    }

    /// Whether the next packet skips the delay. Nothing is drawn within a gap.
    pub fn skips_delay(&mut self) -> bool {
        let delayed = self.counter < self.gap - 1 || self.threshold < self.rng.next_u32();
        self.counter = if delayed { self.counter.saturating_add(1) } else { 0 };
        !delayed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CERTAIN: u64 = 1_000_000_000;

    fn rng() -> Rng {
        Rng::stream(2, "test")
    }

    #[test]
    fn a_share_of_the_packets_is_duplicated_or_damaged() {
        let mut twice = Duplication::new(CERTAIN / 50, 0, rng());
        let mut damaged = Corruption::new(CERTAIN / 50, 0, rng());
        let twice = (0..100_000).filter(|_| twice.is_duplicated()).count();
        let damaged = (0..100_000).filter(|_| damaged.is_corrupted()).count();
        assert!((1_850..2_150).contains(&twice), "{twice}");
        assert!((1_850..2_150).contains(&damaged), "{damaged}");
    }

    #[test]
    fn each_packet_behind_a_gap_skips_the_delay() {
        let mut fifth = Reordering::new(5, CERTAIN, 0, rng());
        let skipped: Vec<u32> = (0..20).filter(|_| fifth.skips_delay()).collect();
        assert_eq!(skipped, [4, 9, 14, 19]);
    }

    #[test]
    fn with_a_gap_of_one_the_share_alone_decides() {
        let mut some = Reordering::new(1, CERTAIN / 4, 0, rng());
        let skipped = (0..100_000).filter(|_| some.skips_delay()).count();
        assert!((24_300..25_700).contains(&skipped), "{skipped}");
    }

    #[test]
    fn behind_a_gap_of_n_a_share_waits_for_its_turn() {
        let mut some = Reordering::new(5, CERTAIN / 4, 0, rng());
        let skipped = (0..100_000).filter(|_| some.skips_delay()).count();
        // Four that are delayed anyway, then four tries in the mean.
        assert!((12_100..12_900).contains(&skipped), "{skipped}, expected 12500");
    }
}
