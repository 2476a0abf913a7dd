//! netem's Markov chain of four states (`netem loss state P13 P31 P32 P23 P14`; Salsano, Ludovici and
//! Ordine 2009; `loss_4state`, net/sched/sch_netem.c).
//!
//! ```text
//!   isolated loss (4) <--p14-- gap, received (1) --p13--> burst, lost (3) --p32--> burst, received (2)
//!          \---------always--->      ^------------p31-----------/  ^-------p23---------/
//! ```

use super::assert_share;
use crate::rng::Rng;

/// Shares in parts of 10^9, a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FourStateConfig {
    /// A burst begins.
    pub p13_ppb: u64,
    /// A burst ends (`tc`'s default 1 - p13).
    pub p31_ppb: u64,
    /// From loss to reception within a burst (`tc`'s default 0).
    pub p32_ppb: u64,
    /// From reception to loss within a burst (`tc`'s default 10^9).
    pub p23_ppb: u64,
    /// An isolated loss (`tc`'s default 0).
    pub p14_ppb: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    ReceivedInGap,
    ReceivedInBurst,
    LostInBurst,
    LostInGap,
}

/// See the module documentation.
#[derive(Debug)]
pub struct FourState {
    config: FourStateConfig,
    state: State,
    rng: Rng,
}

impl FourState {
    /// A channel in a gap between bursts.
    ///
    /// # Panics
    /// If a share is above one, or p13 + p14 or p31 + p32 is (the kernel's sums would overflow).
    pub fn new(config: FourStateConfig, rng: Rng) -> FourState {
        assert_share("p23", config.p23_ppb);
        assert_share("p13 + p14", config.p13_ppb.saturating_add(config.p14_ppb));
        assert_share("p31 + p32", config.p31_ppb.saturating_add(config.p32_ppb));
        FourState { config, state: State::ReceivedInGap, rng }
    }

    /// Whether the next packet is lost: the state that it leads to decides, except that the packet
    /// behind an isolated loss always passes.
    pub fn is_lost(&mut self) -> bool {
        let FourStateConfig { p13_ppb, p31_ppb, p32_ppb, p23_ppb, p14_ppb } = self.config;
        let draw = self.rng.below(super::CERTAIN);
        self.state = match self.state {
            State::ReceivedInGap if draw < p14_ppb => State::LostInGap,
            State::ReceivedInGap if draw < p14_ppb + p13_ppb => State::LostInBurst,
            State::ReceivedInGap => State::ReceivedInGap,
            State::ReceivedInBurst if draw < p23_ppb => State::LostInBurst,
            State::ReceivedInBurst => State::ReceivedInBurst,
            State::LostInBurst if draw < p32_ppb => State::ReceivedInBurst,
            State::LostInBurst if draw < p32_ppb + p31_ppb => State::ReceivedInGap,
            State::LostInBurst => State::LostInBurst,
            State::LostInGap => State::ReceivedInGap,
        };
        match self.state {
            State::LostInBurst | State::LostInGap => true,
            State::ReceivedInGap | State::ReceivedInBurst => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERCENT: u64 = 10_000_000;

    fn lost(p13: u64, p31: u64, p32: u64, p23: u64, p14: u64, packets: usize) -> Vec<bool> {
        let config = FourStateConfig {
            p13_ppb: p13 * PERCENT,
            p31_ppb: p31 * PERCENT,
            p32_ppb: p32 * PERCENT,
            p23_ppb: p23 * PERCENT,
            p14_ppb: p14 * PERCENT,
        };
        let mut channel = FourState::new(config, Rng::stream(11, "loss"));
        (0..packets).map(|_| channel.is_lost()).collect()
    }

    #[test]
    fn behind_an_isolated_loss_a_packet_always_passes() {
        assert_eq!(lost(0, 100, 0, 100, 100, 5), [true, false, true, false, true]);
    }

    #[test]
    fn within_a_burst_losses_and_receptions_alternate_as_told() {
        assert_eq!(lost(100, 0, 100, 100, 0, 5), [true, false, true, false, true]);
        assert_eq!(lost(100, 0, 0, 100, 0, 4), [true; 4]);
    }

    #[test]
    fn the_share_lost_is_that_of_the_stationary_chain() {
        let n = lost(2, 10, 30, 50, 1, 400_000).iter().filter(|&&l| l).count();
        // Weights: gap 1, isolated 0.01, burst lost p13/p31 = 0.2, burst received 0.2 p32/p23 = 0.12.
        let expected = 400_000 * 21 / 133;
        assert!(n.abs_diff(expected) < 2_500, "{n} lost, expected {expected}");
    }
}
