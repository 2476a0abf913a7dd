//! netem's Markov chain of four states (`netem loss state P13 P31 P32 P23 P14`; Salsano, Ludovici and
//! Ordine 2009; `loss_4state`, net/sched/sch_netem.c).
//!
//! ```text
//!   isolated loss (4) <--p14-- gap, received (1) --p13--> burst, lost (3) --p32--> burst, received (2)
//!          \---------always--->      ^------------p31-----------/  ^-------p23---------/
//! ```

use super::{assert_share, CERTAIN};
use crate::rng::Rng;
use crate::settings::{settings, Refused, SHARES};

settings! {
    /// Four states (`netem loss state`; Salsano, Ludovici, Ordine and Giannuzzi 2012).
    pub struct FourStateConfig for "four_state" {
        /// Share of packets that begin a burst of losses.
        p13 "p13_ppb": u64 [SHARES, Share];
        /// Share that end it.
        // `tc`'s default is 1 - p13
        p31 "p31_ppb": u64 [SHARES, Share];
        /// Share that get through within it.
        p32 "p32_ppb": u64 [SHARES, Share] = 0;
        /// Share that fall back into it.
        p23 "p23_ppb": u64 [SHARES, Share] = CERTAIN;
        /// Share of single losses outside it.
        p14 "p14_ppb": u64 [SHARES, Share] = 0;
    }
    also FourStateConfig::check_sums;
}

impl FourStateConfig {
    /// What may leave one state is one share: the kernel's sums would overflow.
    fn check_sums(&self) -> Result<(), Refused> {
        for (key, sum) in [("p13_ppb", self.p13 + self.p14), ("p31_ppb", self.p31 + self.p32)] {
            if sum > CERTAIN {
                let other = if key == "p13_ppb" { "p14_ppb" } else { "p32_ppb" };
                return Err(Refused::new(key, sum, format!("at most 10^9 together with {other}")));
            }
        }
        Ok(())
    }
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
        assert_share("p23", config.p23);
        assert_share("p13 + p14", config.p13.saturating_add(config.p14));
        assert_share("p31 + p32", config.p31.saturating_add(config.p32));
        FourState { config, state: State::ReceivedInGap, rng }
    }

    /// Whether the next packet is lost: the state that it leads to decides, except that the packet
    /// after an isolated loss always passes.
    pub fn is_lost(&mut self) -> bool {
        let FourStateConfig { p13, p31, p32, p23, p14 } = self.config;
        let draw = self.rng.below(CERTAIN);
        self.state = match self.state {
            State::ReceivedInGap if draw < p14 => State::LostInGap,
            State::ReceivedInGap if draw < p14 + p13 => State::LostInBurst,
            State::ReceivedInGap => State::ReceivedInGap,
            State::ReceivedInBurst if draw < p23 => State::LostInBurst,
            State::ReceivedInBurst => State::ReceivedInBurst,
            State::LostInBurst if draw < p32 => State::ReceivedInBurst,
            State::LostInBurst if draw < p32 + p31 => State::ReceivedInGap,
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
            p13: p13 * PERCENT,
            p31: p31 * PERCENT,
            p32: p32 * PERCENT,
            p23: p23 * PERCENT,
            p14: p14 * PERCENT,
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
