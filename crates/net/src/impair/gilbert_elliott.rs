//! Loss in bursts by two states (Gilbert 1960, Elliott 1963), as `netem loss gemodel P R 1-H 1-K`
//! (`loss_gilb_ell`, net/sched/sch_netem.c).
//!
//! ```text
//!            p
//!   good ---------> bad        lost with 1 - k in good,
//!        <---------            with 1 - h in bad
//!            r
//! ```

use super::{assert_share, CERTAIN};
use crate::rng::Rng;
use crate::settings::{settings, SHARES};

settings! {
    /// Two states (`netem loss gemodel`; Gilbert 1960, Elliott 1963).
    pub struct GilbertElliottConfig for "gilbert_elliott" {
        /// Share of packets that change from the good to the bad state.
        p "p_ppb": u64 [SHARES, Share];
        /// Share of packets that change back.
        // A burst lasts 1/r packets in the mean; `tc`'s default is 1 - p
        r "r_ppb": u64 [SHARES, Share];
        /// Share lost in the bad state (1 - h).
        bad_loss "bad_loss_ppb": u64 [SHARES, Share] = CERTAIN;
        /// Share lost in the good state (1 - k).
        good_loss "good_loss_ppb": u64 [SHARES, Share] = 0;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    Bad,
}

/// See the module documentation.
#[derive(Debug)]
pub struct GilbertElliott {
    config: GilbertElliottConfig,
    state: State,
    rng: Rng,
}

impl GilbertElliott {
    /// A channel in its good state.
    ///
    /// # Panics
    /// If a share is above one.
    pub fn new(config: GilbertElliottConfig, rng: Rng) -> GilbertElliott {
        assert_share("p", config.p);
        assert_share("r", config.r);
        assert_share("1-h", config.bad_loss);
        assert_share("1-k", config.good_loss);
        GilbertElliott { config, state: State::Good, rng }
    }

    /// Whether the next packet is lost. The state moves first, but the loss is drawn by the old one.
    pub fn is_lost(&mut self) -> bool {
        let GilbertElliottConfig { p, r, bad_loss, good_loss } = self.config;
        let (leave, next, loss) = match self.state {
            State::Good => (p, State::Bad, good_loss),
            State::Bad => (r, State::Good, bad_loss),
        };
        if self.rng.below(CERTAIN) < leave {
            self.state = next;
        }
        self.rng.below(CERTAIN) < loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERCENT: u64 = 10_000_000;

    fn lost(p: u64, r: u64, bad: u64, good: u64, packets: usize) -> Vec<bool> {
        let config = GilbertElliottConfig {
            p: p * PERCENT,
            r: r * PERCENT,
            bad_loss: bad * PERCENT,
            good_loss: good * PERCENT,
        };
        let mut channel = GilbertElliott::new(config, Rng::stream(11, "loss"));
        (0..packets).map(|_| channel.is_lost()).collect()
    }

    #[test]
    fn the_old_state_decides_on_the_packet_that_changes_it() {
        // Moving at every packet, losing all in bad: the first is good still, then they alternate.
        assert_eq!(lost(100, 100, 100, 0, 5), [false, true, false, true, false]);
    }

    #[test]
    fn the_share_lost_and_the_length_of_bursts_are_those_of_the_chain() {
        let lost = lost(1, 20, 100, 0, 400_000);
        let n = lost.iter().filter(|&&l| l).count();
        // p / (p + r) = 1/21 of the packets, in bursts of 1/r = 5.
        assert!((18_100..20_000).contains(&n), "{n} lost, expected 19048");
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count();
        assert!((480..520).contains(&(n * 100 / bursts)), "{n} in {bursts} bursts");
    }

    #[test]
    fn the_good_state_loses_its_own_share() {
        let n = lost(0, 100, 100, 3, 100_000).iter().filter(|&&l| l).count();
        assert!((2_800..3_200).contains(&n), "{n}");
    }
}
