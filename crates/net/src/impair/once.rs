//! What may befall a packet by one draw: a copy, damage, a place at the front (`netem duplicate`, `corrupt`
//! and `reorder`; `netem_enqueue`, net/sched/sch_netem.c).

use super::{assert_share, Share};
use crate::correlated::{share_of_u32, CorrelatedRng};
use crate::rng::Rng;
use crate::settings::{settings, SHARES};

/// Some packets are sent twice, back to back; a copy is not copied again.
#[derive(Debug)]
pub struct Duplication {
    threshold: u32,
    rng: CorrelatedRng,
}

impl Duplication {
    /// Duplicates this share of the packets.
    ///
    /// # Panics
    /// If the share or its correlation is above one.
    pub fn new(share: Share, rng: Rng) -> Duplication {
        assert_share("duplication", share.rate);
        let rng = CorrelatedRng::new(share.correlation, rng);
        Duplication { threshold: share_of_u32(share.rate), rng }
    }

    /// Whether the next packet is sent twice.
    #[inline]
    pub fn is_duplicated(&mut self) -> bool {
        self.rng.happens(self.threshold)
    }
}

/// Bytes of an Ethernet header that no host checks: the source address, behind that of the destination.
const UNCHECKED: std::ops::Range<u64> = 6..12;

/// One bit of some packets is wrong. They travel and use the links as others do, and the receiver, whose
/// checksum does not match, drops them: count them there, apart from losses. It does no harm in the source address of
/// their Ethernet header.
#[derive(Debug)]
pub struct Corruption {
    threshold: u32,
    rng: CorrelatedRng,
}

impl Corruption {
    /// A wrong bit for this share of the packets.
    ///
    /// # Panics
    /// If the share or its correlation is above one.
    pub fn new(share: Share, rng: Rng) -> Corruption {
        assert_share("corruption", share.rate);
        let rng = CorrelatedRng::new(share.correlation, rng);
        Corruption { threshold: share_of_u32(share.rate), rng }
    }

    /// Whether a bit of the next packet is wrong.
    #[inline]
    pub fn is_corrupted(&mut self) -> bool {
        self.rng.happens(self.threshold)
    }

    /// Whether the wrong bit, in the first `head` bytes, is where the receiver notices it.
    pub fn is_noticed(&mut self, head: u64) -> bool {
        !UNCHECKED.contains(&self.rng.uniform().below(head.max(1)))
    }
}

settings! {
    /// Packets that skip the delay and so overtake others (`netem reorder`).
    pub struct ReorderingConfig for "reorder" {
        /// Share of those that may.
        share "ppb": u64 [SHARES, Share];
        /// Each n-th packet may.
        // At least n - 1 packets are delayed between two that skip the delay
        gap "gap": u32 [1..=1 << 31] = 1;
        /// netem's correlation with the previous packet's draw.
        correlation "correlation_ppb": u64 [SHARES, Share] = 0;
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
    /// No packet was delayed yet.
    ///
    /// # Panics
    /// If the gap is zero or a share above one.
    pub fn new(config: ReorderingConfig, rng: Rng) -> Reordering {
        assert!(config.gap > 0, "the gap is at least 1");
        assert_share("reordering", config.share);
        let rng = CorrelatedRng::new(config.correlation, rng);
        let threshold = share_of_u32(config.share);
        Reordering { gap: config.gap, threshold, counter: 0, rng }
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

    fn reordering(gap: u32, share: u64) -> Reordering {
        Reordering::new(ReorderingConfig { gap, share, correlation: 0 }, rng())
    }

    #[test]
    fn a_share_of_the_packets_is_duplicated_or_damaged() {
        let mut twice = Duplication::new(Share::of(CERTAIN / 50), rng());
        let mut damaged = Corruption::new(Share::of(CERTAIN / 50), rng());
        let twice = (0..100_000).filter(|_| twice.is_duplicated()).count();
        let damaged = (0..100_000).filter(|_| damaged.is_corrupted()).count();
        assert!((1_850..2_150).contains(&twice), "{twice}");
        assert!((1_850..2_150).contains(&damaged), "{damaged}");
    }

    #[test]
    fn each_packet_behind_a_gap_skips_the_delay() {
        let mut fifth = reordering(5, CERTAIN);
        let skipped: Vec<u32> = (0..20).filter(|_| fifth.skips_delay()).collect();
        assert_eq!(skipped, [4, 9, 14, 19]);
    }

    #[test]
    fn with_a_gap_of_one_the_share_alone_decides() {
        let mut some = reordering(1, CERTAIN / 4);
        let skipped = (0..100_000).filter(|_| some.skips_delay()).count();
        assert!((24_300..25_700).contains(&skipped), "{skipped}");
    }

    #[test]
    fn behind_a_gap_of_n_a_share_waits_for_its_turn() {
        let mut some = reordering(5, CERTAIN / 4);
        let skipped = (0..100_000).filter(|_| some.skips_delay()).count();
        // Four that are delayed anyway, then four tries in the mean.
        assert!((12_100..12_900).contains(&skipped), "{skipped}, expected 12500");
    }
}
