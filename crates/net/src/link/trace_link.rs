//! A link that delivers by the opportunities of a Mahimahi trace (`LinkQueue::rationalize`,
//! src/frontend/link_queue.cc).
//!
//! An opportunity carries this many bytes. Packets share it as long as it lasts; one that is larger than
//! what is left takes the rest from the next, and leaves with its last byte. What an opportunity
//! cannot use because nothing waits is lost. One at the very time at which a packet comes is over.
//!
//! Mahimahi's opportunity is 1504 bytes: the largest IP packet and 4 bytes of its TUN device. Lengths on
//! our wire count 14 bytes of Ethernet in their place, so it is [`FULL_FRAME`] here, and as
//! there a full-sized packet takes one opportunity exactly.

use super::{timer_of, Link};
use crate::frame::Frame;
use crate::qdisc::{Outcome, Qdisc, Queued};
use crate::trace::Opportunities;
use std::collections::VecDeque;
use units::{Bytes, Time};

/// A 1500-byte IP packet on the wire.
pub const FULL_FRAME: Bytes = Bytes::new(1514);

/// See the module documentation.
#[derive(Debug)]
pub struct TraceLink<P, Q> {
    child: Q,
    opportunities: Opportunities,
    /// The next opportunity.
    next: Option<Time>,
    /// Wire bytes of one.
    size: u64,
    /// The packet of which a part has left, and how many bytes have not.
    in_transit: Option<(Queued<P>, u64)>,
    /// Packets that have left and were not taken yet, each with its time.
    left: VecDeque<(Time, Queued<P>)>,
    timers_ran: Option<Time>,
}

impl<P: Frame, Q: Qdisc<P>> TraceLink<P, Q> {
    /// A link whose opportunities carry `size` wire bytes each, with the queue in front of it.
    ///
    /// # Panics
    /// If opportunities carry nothing.
    pub fn new(opportunities: impl Into<Opportunities>, size: Bytes, child: Q) -> Self {
        assert!(size > Bytes::ZERO, "an opportunity carries a byte or more");
        let mut opportunities = opportunities.into();
        let next = opportunities.next_time();
        TraceLink {
            child,
            opportunities,
            next,
            size: size.get(),
            in_transit: None,
            left: VecDeque::new(),
            timers_ran: None,
        }
    }

    /// The queue in front of the link.
    pub fn child(&self) -> &Q {
        &self.child
    }

    /// Where the opportunities come from; it knows whether the trace could be read to its end.
    pub fn opportunities(&self) -> &Opportunities {
        &self.opportunities
    }

    /// Uses or wastes every opportunity up to `now`.
    fn advance(&mut self, now: Time, outcome: &mut Outcome<P>) {
        while let Some(at) = self.next.filter(|&at| at <= now) {
            self.deliver(at, outcome);
            self.next = self.opportunities.next_time();
        }
    }

    /// Uses one opportunity.
    fn deliver(&mut self, at: Time, outcome: &mut Outcome<P>) {
        let mut room = self.size;
        while room > 0 {
            let Some((packet, bytes)) = self.take(at, outcome) else { return };
            if bytes > room {
                self.in_transit = Some((packet, bytes - room));
                return;
            }
            room -= bytes;
            self.left.push_back((at, packet));
        }
    }

    /// The packet that goes next and its bytes. An empty queue is not asked.
    fn take(&mut self, at: Time, outcome: &mut Outcome<P>) -> Option<(Queued<P>, u64)> {
        if let Some(rest) = self.in_transit.take() {
            return Some(rest);
        }
        if self.child.is_empty() {
            return None;
        }
        let packet = self.child.dequeue(at, outcome)?;
        let bytes = packet.packet.wire_bytes().get();
        Some((packet, bytes))
    }

    fn in_hand(&self) -> impl Iterator<Item = &P> {
        let left = self.left.iter().map(|(_, q)| &q.packet);
        left.chain(self.in_transit.iter().map(|(q, _)| &q.packet))
    }
}

impl<P: Frame, Q: Qdisc<P>> Qdisc<P> for TraceLink<P, Q> {
    fn enqueue(&mut self, now: Time, packet: P, outcome: &mut Outcome<P>) {
        self.advance(now, outcome);
        self.child.enqueue(now, packet, outcome);
    }

    fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        self.advance(now, outcome);
        self.left.pop_front().map(|(_, packet)| packet)
    }

    fn next_wakeup(&self) -> Option<Time> {
        if let Some(&(at, _)) = self.left.front() {
            return Some(at);
        }
        let waits = self.in_transit.is_some() || !self.child.is_empty();
        let opportunity = self.next.filter(|_| waits);
        opportunity.into_iter().chain(timer_of(&self.child, self.timers_ran)).min()
    }

    fn on_timer(&mut self, now: Time) {
        self.timers_ran = Some(now);
        self.child.on_timer(now);
    }

    /// The packet in transit counts in full, and so do those that nobody took yet.
    fn backlog(&self) -> Bytes {
        self.in_hand().fold(self.child.backlog(), |sum, p| sum + p.wire_bytes())
    }

    fn len(&self) -> usize {
        self.in_hand().count() + self.child.len()
    }

    fn head_since(&self) -> Option<Time> {
        self.in_transit.as_ref().map(|(head, _)| head.since).or_else(|| self.child.head_since())
    }

    fn for_each(&self, each: &mut dyn FnMut(&P)) {
        self.in_hand().for_each(&mut *each);
        self.child.for_each(each);
    }
}

impl<P: Frame, Q: Qdisc<P>> Link<P> for TraceLink<P, Q> {
    fn capacity_bytes(&self, from: Time, to: Time) -> u64 {
        let count = self.opportunities.before(to).saturating_sub(self.opportunities.before(from));
        count * self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::qdisc::fifo::{Config, Fifo, Limit};
    use crate::trace::Trace;

    type Queue = TraceLink<Packet, Fifo<Packet>>;

    fn link(size: u64, times_ms: &[u32]) -> Queue {
        let fifo = Fifo::new(Config { limit: Limit::Packets(4), head_drop: false });
        TraceLink::new(Trace::from_ms(times_ms.into()).unwrap(), Bytes::new(size), fifo)
    }

    /// A packet of this many wire bytes.
    fn packet(seq: u32, wire: u16) -> Packet {
        Packet { seq, len: wire - 66, ..Packet::default() }
    }

    fn ms(n: u64) -> Time {
        Time::from_ns(n * 1_000_000)
    }

    /// When (ms) which packet leaves, of some that all come at `at`.
    fn leave(mut link: Queue, at: Time, packets: &[Packet]) -> Vec<(u64, u32)> {
        let mut outcome = Outcome::default();
        packets.iter().for_each(|&p| link.enqueue(at, p, &mut outcome));
        let mut out = Vec::new();
        while let Some(at) = link.next_wakeup() {
            let left = link.dequeue(at, &mut outcome);
            out.extend(left.map(|q| (at.as_ns() / 1_000_000, q.packet.seq)));
        }
        assert_eq!((link.len(), link.backlog()), (0, Bytes::ZERO));
        out
    }

    #[test]
    fn two_packets_of_half_its_size_share_an_opportunity() {
        let packets = [packet(0, 750), packet(1, 750), packet(2, 750)];
        assert_eq!(leave(link(1500, &[1, 2, 9]), ms(0), &packets), [(1, 0), (1, 1), (2, 2)]);
    }

    #[test]
    fn a_packet_larger_than_the_rest_leaves_with_the_next_opportunity() {
        let packets = [packet(0, 1514), packet(1, 1480), packet(2, 100)];
        // 1500 of 1514; then 14 and 1480 and 6 of 100; then its other 94.
        assert_eq!(leave(link(1500, &[1, 2, 9]), ms(0), &packets), [(2, 0), (2, 1), (9, 2)]);
    }

    #[test]
    fn a_full_frame_takes_one_opportunity() {
        let packets = [packet(0, 1514), packet(1, 1514)];
        assert_eq!(leave(link(FULL_FRAME.get(), &[1, 2]), ms(0), &packets), [(1, 0), (2, 1)]);
    }

    #[test]
    fn a_large_packet_may_take_several_opportunities() {
        let packets = [packet(0, 1514), packet(1, 66)];
        // Six of 264 are 1584: 70 bytes are left for the other.
        let trace = [1, 2, 3, 4, 5, 6, 7];
        assert_eq!(leave(link(264, &trace), ms(0), &packets), [(6, 0), (6, 1)]);
    }

    #[test]
    fn opportunities_that_nobody_used_are_lost_also_one_at_the_time_of_arrival() {
        let trace = [1, 2, 3, 4, 4, 4, 7];
        assert_eq!(leave(link(1514, &trace), ms(4), &[packet(0, 1514)]), [(7, 0)]);
    }

    #[test]
    fn the_trace_repeats_with_the_period_of_its_last_time() {
        let packets = [0, 1, 2, 3].map(|i| packet(i, 1514));
        // Rounds at 0, 5, 10: opportunities at 2, 5; 7, 10; 12.
        assert_eq!(
            leave(link(1514, &[2, 5]), ms(5), &packets),
            [(7, 0), (10, 1), (12, 2), (15, 3)]
        );
    }

    #[test]
    fn the_child_decides_what_waits_and_the_packet_in_transit_is_counted() {
        let mut link = link(1000, &[1, 2, 9]);
        let mut outcome = Outcome::default();
        (0..5).for_each(|i| link.enqueue(ms(0), packet(i, 1514), &mut outcome));
        assert_eq!(outcome.drops.len(), 1);
        assert!(link.dequeue(ms(1), &mut outcome).is_none());
        assert_eq!((link.len(), link.child().len()), (4, 3));
        assert_eq!(link.backlog(), Bytes::new(4 * 1514));
        let mut seqs = Vec::new();
        link.for_each(&mut |p| seqs.push(p.seq));
        assert_eq!(seqs, [0, 1, 2, 3]);
    }

    #[test]
    fn an_idle_link_wants_no_wake_up() {
        assert_eq!(link(1514, &[1]).next_wakeup(), None);
    }

    #[test]
    fn capacity_is_what_the_opportunities_carry() {
        let link = link(1000, &[2, 5]);
        assert_eq!(link.capacity_bytes(ms(0), ms(2)), 0);
        assert_eq!(link.capacity_bytes(ms(2), ms(6)), 2_000);
        assert_eq!(link.capacity_bytes(ms(0), ms(1_001)), 400_000);
    }
}
