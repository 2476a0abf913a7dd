//! Random early detection (Floyd and Jacobson 1993; net/sched/sch_red.c, include/net/red.h): drops or
//! marks with a probability that rises with the average queue.
//!
//! The queue counts as idle from a dequeue that finds nothing on, as in the kernel: whoever drives it
//! asks once more after the last packet.

mod average;
mod law;

use super::fifo::{self, Fifo};
use super::jiffies::Jiffies;
use super::{Cause, Next, Outcome, Qdisc, Queued};
use crate::frame::Frame;
use crate::rng::Rng;
use crate::settings::{settings, RATES, SHARES};
use law::{Law, Verdict};
use std::fmt;
use std::ops::RangeInclusive;
use units::{Bytes, Rate, Time};

settings! {
    /// Random early detection (Floyd and Jacobson 1993; `tc red`).
    // Defaults are those of `tc` (tc/q_red.c of iproute2), which keeps sizes in 32 bits.
    pub struct Config for "red" {
        /// Bytes on the wire that it holds.
        // `tc` has no default
        limit "limit_bytes": Bytes [SIZES, Queue];
        /// Average queue below which nothing is dropped; a third of `max` unless given.
        min "min_bytes": Option<Bytes> [0..=*SIZES.end(), Queue] = None;
        /// Average queue from which on everything is; a quarter of `limit`, or three times `min`, unless given.
        max "max_bytes": Option<Bytes> [0..=*SIZES.end(), Queue] = None;
        /// Share dropped where the average is at `max`.
        // tc's 2 %
        probability "probability_ppb": u32 [SHARES, Share] = 20_000_000;
        /// Packets of a burst that the average does not follow; (2 min + max) / (3 avpkt) unless given.
        burst "burst_packets": Option<u64> [0..=*SIZES.end(), Packets] = None;
        /// Size of an average packet.
        // tc-red(8) calls this a good value; `tc` has no default
        avpkt "avpkt_bytes": Bytes [1..=65_535] = Bytes::new(1000);
        /// Rate by which the average decays while the queue is idle; tc's default, not the link's rate.
        bandwidth "bandwidth_bps": Rate [RATES] = Rate::from_bps(10_000_000);
        /// Marks ECN-capable packets instead of dropping them.
        ecn "ecn": bool = false;
        /// Drops, not marks, where the average is at `max` or above.
        harddrop "harddrop": bool = false;
        /// With `ecn`: queues what cannot be marked.
        nodrop "nodrop": bool = false;
        /// Moves `probability` so that the average stays between `min` and `max` (Floyd, Gummadi and Shenker 2001).
        // `red_adaptative_algo`: between 1 and 50 %, for an average in the middle fifth
        adaptive "adaptive": bool = false;
        /// From `max` to twice `max` the share rises to 1, instead of being 1 (Floyd 2000; Linux has no such rule).
        gentle "gentle": bool = false;
    }
    given {
        /// The kernel's ticks a second, which `adaptive` counts in: 1 to 10000.
        hz: u32 = 1000;
    }
}

/// Sizes in bytes: `tc` keeps them in 32 bits.
const SIZES: RangeInclusive<i128> = 1..=u32::MAX as i128;

impl Config {
    /// The defaults with a limit.
    pub fn new(limit: Bytes) -> Self {
        Config { limit, ..Config::default() }
    }

    /// `probability` in 2^-32, as the kernel counts it.
    fn probability_q32(&self) -> u32 {
        (u64::from(self.probability) * u64::from(u32::MAX) / 1_000_000_000) as u32
    }
}

/// Why `tc` or the kernel refuses a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// An average packet has no bytes.
    NoPacket,
    /// A size in bytes or a burst in packets is not below 2^32.
    TooLarge {
        /// Bytes or packets.
        value: u64,
    },
    /// `max` is not above `min`.
    Thresholds {
        /// Bytes.
        min: u64,
        /// Bytes.
        max: u64,
    },
    /// The thresholds and the weight of the average do not fit 32 bits together.
    ThresholdsTooLarge {
        /// Bytes.
        max: u64,
    },
    /// A burst must be able to fill the queue to `min`.
    BurstTooSmall {
        /// Packets.
        burst: u64,
        /// Packets that would do.
        minimum: u64,
    },
    /// No weight averages over this many packets.
    BurstTooLarge {
        /// Packets.
        burst: u64,
    },
    /// The probability a byte is less than 2^-31.
    ProbabilityTooSmall {
        /// In 2^-32.
        minimum: u64,
    },
    /// Idle times do not fit the table.
    BandwidthTooSmall,
    /// `nodrop` means nothing without `ecn`.
    NodropWithoutEcn,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Invalid::NoPacket => write!(f, "avpkt must be at least 1 byte"),
            Invalid::TooLarge { value } => {
                write!(f, "sizes and burst must be below 2^32, got {value}")
            }
            Invalid::Thresholds { min, max } => {
                write!(f, "max must be above min ({min} bytes), got {max}")
            }
            Invalid::ThresholdsTooLarge { max } => {
                write!(f, "max times the packets averaged over must be below 2^31, max is {max}")
            }
            Invalid::BurstTooSmall { burst, minimum } => {
                write!(f, "burst must be at least {minimum} packets, got {burst}")
            }
            Invalid::BurstTooLarge { burst } => write!(f, "burst is too large, got {burst}"),
            Invalid::ProbabilityTooSmall { minimum } => {
                write!(f, "probability must be at least {minimum} / 2^32 for these thresholds")
            }
            Invalid::BandwidthTooSmall => write!(f, "bandwidth is too small for avpkt"),
            Invalid::NodropWithoutEcn => write!(f, "nodrop is for use with ecn only"),
        }
    }
}

impl std::error::Error for Invalid {}

/// See the module documentation.
#[derive(Debug)]
pub struct Red<P> {
    config: Config,
    law: Law,
    child: Fifo<P>,
    jiffies: Jiffies,
    adapts_at: Option<Time>,
    rng: Rng,
}

impl<P: Frame> Red<P> {
    /// An empty queue that has been idle since time zero.
    ///
    /// # Errors
    /// When `tc` or the kernel refuse the configuration.
    ///
    /// # Panics
    /// When `hz` is not within 1 to 10000.
    pub fn new(config: Config, rng: Rng) -> Result<Self, Invalid> {
        Red::with_ticks(config, Jiffies::new(config.hz), rng)
    }

    /// An empty queue of a testbed that was [set up before](Jiffies::set_up_before): if it adapts, it has done so.
    ///
    /// # Errors
    /// When `tc` or the kernel refuse the configuration.
    ///
    /// # Panics
    /// When `hz` is not within 1 to 10000.
    pub fn set_up_before(config: Config, mut rng: Rng) -> Result<Self, Invalid> {
        let mut jiffies = Jiffies::new(config.hz);
        if config.adaptive {
            jiffies = jiffies.set_up_before(&mut rng);
        }
        Red::with_ticks(config, jiffies, rng)
    }

    fn with_ticks(config: Config, jiffies: Jiffies, rng: Rng) -> Result<Self, Invalid> {
        let limit = fifo::Limit::Bytes(config.limit);
        let mut law = Law::derive(&config)?;
        let mut adapts_at = None;
        if config.adaptive {
            adapts_at = jiffies.first(jiffies.half_second(), || law.adapt(Time::ZERO));
        }
        Ok(Red {
            config,
            law,
            child: Fifo::new(fifo::Config { limit, head_drop: false }),
            jiffies,
            adapts_at,
            rng,
        })
    }

    /// Marks a packet that is to be signalled, and tells whether it may be queued.
    fn may_stay(&self, verdict: Verdict, packet: &mut P, outcome: &mut Outcome<P>) -> bool {
        if !self.config.ecn || (verdict == Verdict::Hard && self.config.harddrop) {
            return false;
        }
        outcome.mark(packet, Cause::Aqm) || self.config.nodrop
    }
}

impl<P: Frame> Qdisc<P> for Red<P> {
    fn enqueue(&mut self, now: Time, mut packet: P, outcome: &mut Outcome<P>) {
        self.law.update(now, self.child.backlog().get());
        let verdict = self.law.verdict(&mut self.rng);
        if verdict == Verdict::Pass || self.may_stay(verdict, &mut packet, outcome) {
            self.child.enqueue(now, packet, outcome);
        } else {
            outcome.drop(packet, Cause::Aqm);
        }
    }

    fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        let head = self.child.dequeue(now, outcome);
        if head.is_none() {
            self.law.idle_since.get_or_insert(now);
        }
        head
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.adapts_at
    }

    fn on_timer(&mut self, now: Time) {
        if self.adapts_at.is_some_and(|at| at <= now) {
            self.law.adapt(now);
            self.adapts_at = Some(self.jiffies.expiry(now, self.jiffies.half_second()));
        }
    }

    fn backlog(&self) -> Bytes {
        self.child.backlog()
    }

    fn len(&self) -> usize {
        self.child.len()
    }

    fn peek(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Next<P>> {
        self.child.peek(now, outcome)
    }

    fn head_since(&self) -> Option<Time> {
        self.child.head_since()
    }

    fn for_each(&self, each: &mut dyn FnMut(&P)) {
        self.child.for_each(each);
    }
}

#[cfg(test)]
mod tests;
