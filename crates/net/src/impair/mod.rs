//! Impairments. The ones that decide a packet's fate do not hold it; those that hold packets
//! ([`AckThinning`], [`Aggregation`]) have `push`, `next_wakeup` and `pop`.
//!
//! Shares are in parts of 10^9 (ppb). netem's order, for who combines them: duplicate, lose, corrupt,
//! then delay or skip the delay (`netem_enqueue`, net/sched/sch_netem.c). A packet that is duplicated and
//! lost goes on once.

mod ack_thinning;
mod aggregation;
mod bernoulli;
mod four_state;
mod gilbert_elliott;
mod once;
mod scheduled;

pub use ack_thinning::{AckThinning, ThinningConfig};
pub use aggregation::{Aggregation, Filled, Periodic, Release};
pub use bernoulli::{BernoulliLoss, CorrelatedLoss};
pub use four_state::{FourState, FourStateConfig};
pub use gilbert_elliott::{GilbertElliott, GilbertElliottConfig};
pub use once::{Corruption, Duplication, Reordering, ReorderingConfig};
pub use scheduled::{ListedLoss, LossWindow, ScheduledLoss, WindowedLoss};

use crate::settings::{settings, SHARES};
use units::Time;

/// One in parts of 10^9.
const CERTAIN: u64 = 1_000_000_000;

/// Refuses what is no share.
fn assert_share(what: &str, ppb: u64) {
    assert!(ppb <= CERTAIN, "{what} must be at most 10^9 ppb, got {ppb}");
}

settings! {
    /// A share of the packets, with netem's correlation.
    pub struct Share for "share" {
        /// Share of the packets.
        rate "ppb": u64 [SHARES, Share];
        /// netem's correlation with the previous packet's draw.
        correlation "correlation_ppb": u64 [SHARES, Share] = 0;
    }
}

impl Share {
    /// A share without correlation, in parts of 10^9.
    pub fn of(rate: u64) -> Share {
        Share { rate, correlation: 0 }
    }
}

/// Any of the ways to lose packets.
#[derive(Debug)]
pub enum Loss {
    /// Independent.
    Bernoulli(BernoulliLoss),
    /// `netem loss random P C`.
    Correlated(CorrelatedLoss),
    /// `netem loss gemodel`.
    GilbertElliott(GilbertElliott),
    /// `netem loss state`.
    FourState(FourState),
    /// The share changes in steps.
    Scheduled(ScheduledLoss),
    /// Packets that come in windows of time.
    Windowed(WindowedLoss),
    /// Packets by their number.
    Listed(ListedLoss),
}

impl Loss {
    /// Whether the packet that comes at `now` is lost.
    #[inline]
    pub fn is_lost(&mut self, now: Time) -> bool {
        match self {
            Loss::Bernoulli(loss) => loss.is_lost(),
            Loss::Correlated(loss) => loss.is_lost(),
            Loss::GilbertElliott(loss) => loss.is_lost(),
            Loss::FourState(loss) => loss.is_lost(),
            Loss::Scheduled(loss) => loss.is_lost(now),
            Loss::Windowed(loss) => loss.is_lost(now),
            Loss::Listed(loss) => loss.is_lost(),
        }
    }
}
