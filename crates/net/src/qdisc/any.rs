//! Any queue discipline, chosen when a path is set up: one branch a call instead of an indirect one.

use super::cake::{self, Cake};
use super::codel::{self, Codel};
use super::dualpi2::{self, Dualpi2};
use super::fifo::{self, Fifo, Limit};
use super::fq::{self, Fq};
use super::fq_codel::{self, FqCodel};
use super::pie::{self, Pie};
use super::red::{self, Red};
use super::{Next, Outcome, Qdisc, Queued};
use crate::frame::Frame;
use crate::rng::Rng;
use crate::settings::{Refused, Settings};
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

/// How a queue discipline is set, as a plan holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Config {
    Fifo(fifo::Config),
    Codel(codel::Config),
    FqCodel(fq_codel::Config),
    Red(red::Config),
    Pie(pie::Config),
    /// With a bandwidth it shapes by itself.
    Cake(cake::Config),
    #[serde(rename = "dualpi2")]
    Dualpi2(dualpi2::Config),
    Fq(fq::Config),
}

/// Calls the same method of the settings of whichever discipline it is.
macro_rules! each_config {
    ($any:expr, $config:ident => $call:expr) => {
        match $any {
            Config::Fifo($config) => $call,
            Config::Codel($config) => $call,
            Config::FqCodel($config) => $call,
            Config::Red($config) => $call,
            Config::Pie($config) => $call,
            Config::Cake($config) => $call,
            Config::Dualpi2($config) => $call,
            Config::Fq($config) => $call,
        }
    };
}

impl Config {
    /// Refuses settings out of range.
    ///
    /// # Errors
    /// The first that is.
    pub fn check(&self) -> Result<(), Refused> {
        each_config!(self, config => config.check())
    }

    /// The limit of the queue; `None` where memory alone limits it.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Config::Fifo(config) => Some(config.limit),
            Config::Codel(config) => Some(Limit::Packets(config.limit)),
            Config::FqCodel(config) => Some(Limit::Packets(config.limit)),
            Config::Red(config) => Some(Limit::Bytes(config.limit)),
            Config::Pie(config) => Some(Limit::Packets(config.limit)),
            Config::Cake(_) => None,
            Config::Dualpi2(config) => Some(Limit::Packets(config.limit)),
            Config::Fq(config) => Some(Limit::Packets(config.limit)),
        }
    }

    /// The limit of its memory, where it has one of its own.
    pub fn memory_limit(&self) -> Option<Bytes> {
        match self {
            Config::FqCodel(config) => Some(config.memory_limit),
            Config::Cake(config) => config.memory_limit,
            Config::Fifo(_) | Config::Codel(_) | Config::Red(_) => None,
            Config::Pie(_) | Config::Dualpi2(_) | Config::Fq(_) => None,
        }
    }

    /// An empty queue of a testbed that was set up a second before time zero, whose timers run. `hz` are the kernel's
    /// ticks per second; each discipline draws from `rng` only.
    ///
    /// # Errors
    /// Where settings contradict each other.
    pub fn build<P: Frame>(self, hz: u32, mut rng: Rng) -> Result<AnyQdisc<P>, Refused> {
        Ok(match self {
            Config::Fifo(config) => AnyQdisc::Fifo(Fifo::new(config)),
            Config::Codel(config) => AnyQdisc::Codel(Codel::new(config)),
            Config::FqCodel(config) => {
                let perturbation = (rng.next_u64() >> 32) as u32;
                let config = fq_codel::Config { perturbation, ..config };
                AnyQdisc::FqCodel(Box::new(FqCodel::new(config)))
            }
            Config::Red(config) => {
                let made = Red::set_up_before(red::Config { hz, ..config }, rng);
                let refused = |e| Refused::new("", e, "settings that tc accepts");
                AnyQdisc::Red(Box::new(made.map_err(refused)?))
            }
            Config::Pie(config) => {
                AnyQdisc::Pie(Box::new(Pie::set_up_before(pie::Config { hz, ..config }, rng)))
            }
            Config::Cake(config) => AnyQdisc::Cake(Box::new(Cake::new(config, rng))),
            Config::Dualpi2(config) => {
                AnyQdisc::Dualpi2(Box::new(Dualpi2::set_up_before(config, rng)))
            }
            Config::Fq(config) => AnyQdisc::Fq(Box::new(Fq::new(fq::Config { hz, ..config }, rng))),
        })
    }
}

/// See the module documentation.
#[derive(Debug)]
pub enum AnyQdisc<P> {
    /// Drop tail or head.
    Fifo(Fifo<P>),
    /// RFC 8289.
    Codel(Codel<P>),
    /// RFC 8290.
    FqCodel(Box<FqCodel<P>>),
    /// Random early detection.
    Red(Box<Red<P>>),
    /// RFC 8033.
    Pie(Box<Pie<P>>),
    /// RFC 9332.
    Dualpi2(Box<Dualpi2<P>>),
    /// Fair queueing with pacing.
    Fq(Box<Fq<P>>),
    /// CAKE.
    Cake(Box<Cake<P>>),
}

/// Calls the same method of whichever discipline it is.
macro_rules! each {
    ($any:expr, $queue:ident => $call:expr) => {
        match $any {
            AnyQdisc::Fifo($queue) => $call,
            AnyQdisc::Codel($queue) => $call,
            AnyQdisc::FqCodel($queue) => $call,
            AnyQdisc::Red($queue) => $call,
            AnyQdisc::Pie($queue) => $call,
            AnyQdisc::Dualpi2($queue) => $call,
            AnyQdisc::Fq($queue) => $call,
            AnyQdisc::Cake($queue) => $call,
        }
    };
}

impl<P> AnyQdisc<P> {
    /// Whether it cuts super-packets before it queues them (`cake`'s `split-gso`, and DualPI2's, which are the
    /// defaults).
    pub fn cuts(&self) -> bool {
        matches!(self, AnyQdisc::Cake(_) | AnyQdisc::Dualpi2(_))
    }
}

impl<P: Frame> Qdisc<P> for AnyQdisc<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: P, outcome: &mut Outcome<P>) {
        each!(self, queue => queue.enqueue(now, packet, outcome));
    }

    #[inline]
    fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        each!(self, queue => queue.dequeue(now, outcome))
    }

    #[inline]
    fn next_wakeup(&self) -> Option<Time> {
        each!(self, queue => queue.next_wakeup())
    }

    fn wakes(&self) -> bool {
        each!(self, queue => queue.wakes())
    }

    #[inline]
    fn on_timer(&mut self, now: Time) {
        each!(self, queue => queue.on_timer(now));
    }

    #[inline]
    fn backlog(&self) -> Bytes {
        each!(self, queue => queue.backlog())
    }

    #[inline]
    fn len(&self) -> usize {
        each!(self, queue => queue.len())
    }

    #[inline]
    fn peek(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Next<P>> {
        each!(self, queue => queue.peek(now, outcome))
    }

    #[inline]
    fn shaper_holds(&mut self, bytes: Bytes) {
        each!(self, queue => queue.shaper_holds(bytes));
    }

    fn head_since(&self) -> Option<Time> {
        each!(self, queue => queue.head_since())
    }

    fn for_each(&self, each_packet: &mut dyn FnMut(&P)) {
        each!(self, queue => queue.for_each(each_packet));
    }
}
