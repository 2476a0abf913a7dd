//! When a packet counts as lost: its distance from the largest acknowledged one, and its age.
//!
//! RFC 9002 has 3 packets and 9/8 of an RTT, and leaves it to senders to adapt both (sections 6.1.1 and 6.1.2: schemes
//! as RACK's have proven useful in TCP; they may experiment). The scheme here is that of google/quiche
//! (`GeneralLossAlgorithm::SpuriousLossDetected`): each loss that proves spurious raises both to what would have spared
//! that packet. Neither falls again while the connection lasts.

use super::config::Config;
use super::rtt::GRANULARITY_US;

/// The age beyond an RTT, as a shift of it: an eighth (kTimeThreshold = 9/8).
const SHIFT: u32 = 3;

/// The thresholds of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    packets: u32,
    shift: u32,
    is_adaptive: bool,
}

impl Thresholds {
    /// Those of a connection that has not seen a spurious loss.
    pub fn new(config: &Config) -> Thresholds {
        Thresholds {
            packets: config.packet_threshold,
            shift: SHIFT,
            is_adaptive: config.adaptive_thresholds,
        }
    }

    /// How many packets later one must have been acknowledged.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Age at which a packet counts as lost once a later one was acknowledged, us.
    #[inline]
    pub fn age_us(&self, rtt_us: u32) -> u32 {
        let age = u64::from(rtt_us) + u64::from(rtt_us >> self.shift);
        age.max(GRANULARITY_US).min(u64::from(u32::MAX)) as u32
    }

    /// A packet that was declared lost was acknowledged: `behind` packets after the largest one, at this age. The age
    /// is at most two RTTs: later, a probe has been sent already.
    pub fn on_spurious(&mut self, behind: u32, age_us: u32, rtt_us: u32) {
        if !self.is_adaptive {
            return;
        }
        self.packets = self.packets.max(behind.saturating_add(1));
        while self.shift > 0 && self.age_us(rtt_us) < age_us {
            self.shift -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adaptive() -> Thresholds {
        Thresholds::new(&Config { adaptive_thresholds: true, ..Config::default() })
    }

    #[test]
    fn at_first_they_are_rfc_9002s() {
        let t = adaptive();
        assert_eq!((t.packets(), t.age_us(80_000), t.age_us(5)), (3, 90_000, 1_000));
    }

    #[test]
    fn a_spurious_loss_raises_them_to_what_would_have_spared_it() {
        let mut t = adaptive();
        t.on_spurious(9, 95_000, 80_000);
        assert_eq!((t.packets(), t.age_us(80_000)), (10, 100_000));
        t.on_spurious(2, 85_000, 80_000);
        assert_eq!((t.packets(), t.age_us(80_000)), (10, 100_000), "they do not fall");
        t.on_spurious(20, 900_000, 80_000);
        assert_eq!((t.packets(), t.age_us(80_000)), (21, 160_000), "two RTTs at most");
    }

    #[test]
    fn without_the_option_they_stay() {
        let mut t = Thresholds::new(&Config::default());
        t.on_spurious(9, 95_000, 80_000);
        assert_eq!((t.packets(), t.age_us(80_000)), (3, 90_000));
    }
}
