//! Queue disciplines: what waits, what is dropped or marked, and who goes next. They are given `now`
//! and packets, and are asked for the next packet whenever the link may send one.
//!
//! Rules are those of Linux 6.12; each file names the kernel source or RFC that it follows.

pub mod any;
pub mod cake;
pub mod codel;
pub mod dualpi2;
pub mod fifo;
pub mod fq;
pub mod fq_codel;
mod jiffies;
pub mod pie;
pub mod policer;
pub mod red;
#[cfg(test)]
mod testing;

use crate::frame::Frame;
use units::{Bytes, Time};

/// A packet and when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued<P> {
    /// When it was enqueued, before which its sojourn does not count.
    pub since: Time,
    /// The packet.
    pub packet: P,
}

/// Why a queue discipline or link let a packet go, or marked it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A limit of packets, bytes or memory.
    Overflow,
    /// The AQM's decision (early drop, mark instead of a drop).
    Aqm,
    /// A threshold of immediate marking (`ce_threshold`, DualPI2's step).
    Threshold,
    /// No tokens at a policer.
    Policed,
    /// Larger than a token bucket ever holds.
    TooLarge,
    /// A newer acknowledgement made it superfluous (`cake`'s ACK filter).
    Superseded,
}

/// Queues of a fair-queueing discipline that are looked at for who goes next, which only reports ask.
const LOOKED_AT: usize = 16;

/// Collects what became of packets that were not passed on. One is reused for a whole run, so that
/// nothing is allocated for it in steady state.
#[derive(Debug)]
pub struct Outcome<P> {
    /// Packets dropped since it was last emptied, in order.
    pub drops: Vec<(P, Cause)>,
    /// Flows whose packets were marked, in order, once for each segment.
    pub marks: Vec<(u32, Cause)>,
}

impl<P> Default for Outcome<P> {
    fn default() -> Self {
        Outcome { drops: Vec::new(), marks: Vec::new() }
    }
}

impl<P: Frame> Outcome<P> {
    /// A packet is gone.
    #[inline]
    pub fn drop(&mut self, packet: P, cause: Cause) {
        self.drops.push((packet, cause));
    }

    /// Marks a packet CE where it can be, and tells whether it could.
    #[inline]
    pub fn mark(&mut self, packet: &mut P, cause: Cause) -> bool {
        let markable = packet.mark_ce();
        if markable {
            let mark = (packet.flow(), cause);
            self.marks.extend((0..packet.segments()).map(|_| mark));
        }
        markable
    }

    /// Whether nothing happened.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.drops.is_empty() && self.marks.is_empty()
    }
}

/// The packet that a shaper sends next, while it waits for tokens.
#[derive(Debug)]
pub enum Next<P> {
    /// It stays in the queue until it leaves (`qdisc_peek_head`); its bytes on the wire.
    InQueue(Bytes),
    /// The shaper has taken it (`qdisc_peek_dequeued`), with its bytes on the wire.
    Taken(Queued<P>, Bytes),
}

/// A queue discipline.
pub trait Qdisc<P: Frame> {
    /// Offers a packet. It, or others in its place, may be dropped or marked.
    fn enqueue(&mut self, now: Time, packet: P, outcome: &mut Outcome<P>);

    /// The next packet that may leave at `now`; others may be dropped on the way to it.
    fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Queued<P>>;

    /// When to call next although no packet came: when a held packet may leave (a discipline that
    /// shapes or paces), or a timer of its own runs out (PIE). `None` when it waits for packets or the
    /// link only. A call that comes early does no harm.
    fn next_wakeup(&self) -> Option<Time> {
        None
    }

    /// Whether [`Qdisc::next_wakeup`] is ever anything but `None`.
    fn wakes(&self) -> bool {
        true
    }

    /// Runs the timers that are due (PIE's probability); a discipline without any does nothing.
    fn on_timer(&mut self, _now: Time) {}

    /// Wire bytes waiting.
    fn backlog(&self) -> Bytes;

    /// Packets waiting; a super-packet is one (`qlen`).
    fn len(&self) -> usize;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asks for the packet that a shaper sends next, which has none. An empty queue is asked, too, after its last packet has
    /// left: one that has turns ends them (`fq_codel_dequeue`).
    #[inline]
    fn peek(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Next<P>> {
        self.shaper_holds(Bytes::ZERO);
        let head = self.dequeue(now, outcome)?;
        let bytes = head.packet.wire_bytes();
        self.shaper_holds(bytes);
        Some(Next::Taken(head, bytes))
    }

    /// A shaper holds a packet of this many wire bytes, which it took out as the next one; zero when it has left. It is
    /// still part of the queue (`qdisc_peek_dequeued`): limits and probabilities count it, `len` and `backlog` do not.
    fn shaper_holds(&mut self, _bytes: Bytes) {}

    /// When the packet came that goes next; `None` when nothing waits. Fair queueing decides who goes next
    /// when the link asks: until then it is the first of the flow whose turn it is.
    fn head_since(&self) -> Option<Time>;

    /// Calls `each` for every packet that waits, in no particular order (checks of conservation).
    fn for_each(&self, each: &mut dyn FnMut(&P));
}
