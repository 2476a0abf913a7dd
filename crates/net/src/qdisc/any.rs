//! Any queue discipline, chosen when a path is set up: one branch a call instead of an indirect one.

use super::cake::Cake;
use super::codel::Codel;
use super::dualpi2::Dualpi2;
use super::fifo::Fifo;
use super::fq::Fq;
use super::fq_codel::FqCodel;
use super::pie::Pie;
use super::red::Red;
use super::{Outcome, Qdisc, Queued};
use crate::frame::Frame;
use units::{Bytes, Time};

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

    fn head_since(&self) -> Option<Time> {
        each!(self, queue => queue.head_since())
    }

    fn for_each(&self, each_packet: &mut dyn FnMut(&P)) {
        each!(self, queue => queue.for_each(each_packet));
    }
}
