//! A token bucket in front of which any queue discipline waits (net/sched/sch_tbf.c).
//!
//! As in the kernel the shaper asks for the next packet as soon as the last one left, and holds it until there are
//! tokens: an AQM decides on a packet when the one before it leaves, and the packet that is held can be neither dropped
//! nor overtaken. The child still counts it ([`Qdisc::shaper_holds`]). A child that can show its next packet
//! ([`Qdisc::peek`]) keeps that packet until it leaves, and a FIFO with head drop may drop it. tbf itself checks no
//! limit; the child's counts.

use super::{timer_of, Link};
use crate::bucket::{Bucket, LinkRate};
use crate::frame::Frame;
use crate::qdisc::{Cause, Next, Outcome, Qdisc, Queued};
use units::{Bytes, Time};

/// The packet that goes next.
#[derive(Debug)]
struct Parked<P> {
    ready: Time,
    /// It waits for the rate, and then leaves with its last tokens.
    takes_last: bool,
    /// Its bytes on the wire.
    bytes: Bytes,
    /// `None`: it stays in the child until it leaves.
    head: Option<Queued<P>>,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Tbf<P, Q> {
    child: Q,
    bucket: Bucket,
    parked: Option<Parked<P>>,
    /// The child has timers.
    child_wakes: bool,
    timers_ran: Option<Time>,
}

impl<P: Frame, Q: Qdisc<P>> Tbf<P, Q> {
    /// A shaper with a full bucket of `burst` and the queue in front of it. No packet larger than `burst` passes.
    ///
    /// # Panics
    /// If a constant rate is zero.
    pub fn new(rate: LinkRate, burst: Bytes, child: Q) -> Self {
        let (child_wakes, bucket) = (child.wakes(), Bucket::new(rate, burst));
        Tbf { child, bucket, parked: None, child_wakes, timers_ran: None }
    }

    /// The queue in front of the shaper.
    pub fn child(&self) -> &Q {
        &self.child
    }

    /// The largest packet that passes.
    pub fn largest(&self) -> Bytes {
        self.bucket.depth()
    }

    /// When it wants to be woken, if its next packet has to wait: nothing leaves at `now`.
    #[inline]
    pub fn waits_until(&self, now: Time) -> Option<Time> {
        let parked = self.parked.as_ref().filter(|parked| parked.ready > now)?;
        Some(self.wakes_for(parked))
    }

    /// When it wants to be woken while this packet is next.
    #[inline]
    fn wakes_for(&self, parked: &Parked<P>) -> Time {
        if !self.child_wakes {
            return parked.ready;
        }
        let timer = timer_of(&self.child, self.timers_ran);
        timer.map_or(parked.ready, |at| at.min(parked.ready))
    }

    /// Asks the child for the packet that goes next, if none is held.
    #[inline]
    pub fn park(&mut self, now: Time, outcome: &mut Outcome<P>) {
        if self.parked.is_none() {
            self.take_next(now, outcome);
        }
    }

    #[inline(never)]
    fn take_next(&mut self, now: Time, outcome: &mut Outcome<P>) {
        let Some(next) = self.child.peek(now, outcome) else { return };
        let (head, bytes) = match next {
            Next::InQueue(bytes) => (None, bytes),
            Next::Taken(head, bytes) => (Some(head), bytes),
        };
        let ready = self.bucket.ready(now, bytes);
        self.parked = Some(Parked { ready, takes_last: ready > now, bytes, head });
    }

    /// The packet that goes next leaves if its tokens are there. What follows it has to be asked for ([`Tbf::park`]).
    #[inline]
    pub fn leave(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        let parked = self.parked.as_mut().filter(|parked| parked.ready <= now)?;
        if parked.takes_last && now == parked.ready {
            self.bucket.empty(now);
        } else {
            self.bucket.spend(now, parked.bytes);
        }
        let head = parked.head.take();
        self.parked = None;
        head.or_else(|| self.child.dequeue(now, outcome))
    }

    /// Forgets the packet that goes next if the child dropped it: the one in its place may be shorter.
    fn look_again(&mut self, now: Time, outcome: &mut Outcome<P>) {
        let next = self.child.peek(now, outcome);
        self.parked
            .take_if(|parked| !matches!(next, Some(Next::InQueue(bytes)) if bytes == parked.bytes));
    }

    /// The packet that it holds, not the child.
    fn held(&self) -> Option<&Queued<P>> {
        self.parked.as_ref()?.head.as_ref()
    }
}

impl<P: Frame, Q: Qdisc<P>> Qdisc<P> for Tbf<P, Q> {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: P, outcome: &mut Outcome<P>) {
        if packet.wire_bytes() > self.bucket.depth() {
            outcome.drop(packet, Cause::TooLarge);
            return;
        }
        self.child.enqueue(now, packet, outcome);
        if self.parked.as_ref().is_some_and(|parked| parked.head.is_none()) {
            self.look_again(now, outcome);
        }
        self.park(now, outcome);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        self.park(now, outcome);
        let head = self.leave(now, outcome);
        self.park(now, outcome);
        head
    }

    fn next_wakeup(&self) -> Option<Time> {
        match &self.parked {
            Some(parked) => Some(self.wakes_for(parked)),
            None => self.child.next_wakeup(),
        }
    }

    fn on_timer(&mut self, now: Time) {
        self.timers_ran = Some(now);
        self.child.on_timer(now);
    }

    fn backlog(&self) -> Bytes {
        let held = self.held().map_or(Bytes::ZERO, |head| head.packet.wire_bytes());
        self.child.backlog() + held
    }

    fn len(&self) -> usize {
        self.child.len() + usize::from(self.held().is_some())
    }

    fn head_since(&self) -> Option<Time> {
        self.held().map(|head| head.since).or_else(|| self.child.head_since())
    }

    fn for_each(&self, each: &mut dyn FnMut(&P)) {
        self.held().iter().for_each(|head| each(&head.packet));
        self.child.for_each(each);
    }
}

impl<P: Frame, Q: Qdisc<P>> Link<P> for Tbf<P, Q> {
    /// What the rate yields, and what a full bucket holds at `from`.
    fn capacity_bytes(&self, from: Time, to: Time) -> u64 {
        self.bucket.capacity(from, to).get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::qdisc::codel::{self, Codel};
    use crate::qdisc::dualpi2::{self, Dualpi2};
    use crate::qdisc::fifo::{Config as FifoConfig, Fifo, Limit};
    use crate::qdisc::fq_codel::{self, FqCodel};
    use crate::qdisc::pie::{self, Pie};
    use crate::qdisc::red::{self, Red};
    use crate::rng::Rng;
    use crate::schedule::Schedule;
    use units::{Rate, Span};

    fn fifo() -> Fifo<Packet> {
        Fifo::new(FifoConfig { limit: Limit::Packets(100), head_drop: false })
    }

    /// A full frame takes 1 ms.
    const RATE: Rate = Rate::from_bps(12_112_000);

    fn tbf(burst: u64) -> Tbf<Packet, Fifo<Packet>> {
        Tbf::new(LinkRate::Constant(RATE), Bytes::new(burst), fifo())
    }

    fn packet(seq: u32) -> Packet {
        Packet { seq, len: 1448, ..Packet::default() }
    }

    /// When `n` packets leave that come together, us.
    fn leave(tbf: &mut Tbf<Packet, Fifo<Packet>>, at: Time, n: u32) -> Vec<u64> {
        let mut outcome = Outcome::default();
        (0..n).for_each(|i| tbf.enqueue(at, packet(i), &mut outcome));
        let mut out = Vec::new();
        while let Some(at) = tbf.next_wakeup() {
            assert!(tbf.dequeue(at, &mut outcome).is_some());
            out.push(at.as_us());
        }
        out
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        let mut tbf = tbf(2 * 1514);
        assert_eq!(leave(&mut tbf, Time::ZERO, 4), [0, 0, 1_000, 2_000]);
        // The bucket is empty at 2 ms and holds both frames again at 4 ms, not more later on.
        let later = Time::from_ns(50_000_000);
        assert_eq!(leave(&mut tbf, later, 3), [50_000, 50_000, 51_000]);
    }

    #[test]
    fn a_packet_larger_than_the_bucket_is_dropped_with_its_cause() {
        let (mut tbf, mut outcome) = (tbf(1500), Outcome::default());
        tbf.enqueue(Time::ZERO, packet(0), &mut outcome);
        assert_eq!((outcome.drops, tbf.child.len()), (vec![(packet(0), Cause::TooLarge)], 0));
    }

    #[test]
    fn codel_is_asked_for_the_next_packet_when_the_last_one_leaves() {
        let codel = Codel::new(codel::Config::default());
        let mut tbf = Tbf::new(LinkRate::Constant(RATE), Bytes::new(1514), codel);
        let mut outcome = Outcome::default();
        (0..4).for_each(|i| tbf.enqueue(Time::ZERO, packet(i), &mut outcome));
        assert_eq!((tbf.child().len(), tbf.len()), (3, 4));
        assert!(tbf.dequeue(Time::ZERO, &mut outcome).is_some());
        assert_eq!((tbf.child().len(), tbf.len()), (2, 3));
        assert_eq!(tbf.backlog(), Bytes::new(3 * 1514));
        assert!(tbf.dequeue(Time::from_ns(999_999), &mut outcome).is_none());
        assert_eq!(tbf.child().len(), 2);
    }

    /// Of four packets behind one that left, how many wait when a queue of two has its say.
    fn waiting<Q: Qdisc<Packet>>(child: Q) -> usize {
        let mut tbf = Tbf::new(LinkRate::Constant(RATE), Bytes::new(1514), child);
        let mut outcome = Outcome::default();
        tbf.enqueue(Time::ZERO, packet(0), &mut outcome);
        assert!(tbf.dequeue(Time::ZERO, &mut outcome).is_some());
        (1..5).for_each(|i| tbf.enqueue(Time::ZERO, packet(i), &mut outcome));
        let waiting = tbf.len();
        assert_eq!(waiting + outcome.drops.len(), 4);
        // The one that waits for tokens leaves, and there is room again.
        assert!(tbf.dequeue(Time::from_ns(1_000_000), &mut outcome).is_some());
        tbf.enqueue(Time::from_ns(1_000_000), packet(5), &mut outcome);
        assert_eq!(tbf.len(), waiting);
        waiting
    }

    #[test]
    fn what_waits_for_tokens_counts_in_the_limit_of_its_queue() {
        let rng = || Rng::stream(1, "queue");
        assert_eq!(waiting(Codel::new(codel::Config { limit: 2, ..codel::Config::default() })), 2);
        let config = fq_codel::Config { limit: 2, ..fq_codel::Config::default() };
        assert_eq!(waiting(FqCodel::new(config)), 2);
        assert_eq!(waiting(Pie::new(pie::Config { limit: 2, ..pie::Config::default() }, rng())), 2);
        let config = dualpi2::Config { limit: 2, ..dualpi2::Config::default() };
        assert_eq!(waiting(Dualpi2::new(config, rng())), 2);
        let config = FifoConfig { limit: Limit::Packets(2), head_drop: true };
        assert_eq!(waiting(Fifo::new(config)), 2);
    }

    #[test]
    fn a_queue_of_fq_codel_that_is_empty_when_the_shaper_asks_begins_anew() {
        let child = FqCodel::new(fq_codel::Config::default());
        let mut tbf = Tbf::new(LinkRate::Constant(RATE), Bytes::new(1514), child);
        let mut outcome = Outcome::default();
        let of = |flow, seq| Packet { flow, ..packet(seq) };
        tbf.enqueue(Time::ZERO, of(0, 0), &mut outcome);
        assert!(tbf.dequeue(Time::ZERO, &mut outcome).is_some());
        // Its turn ended with that packet: flow 0 is as new as flow 1 now, and goes first.
        let later = Time::from_ns(50_000_000);
        for (flow, seq) in [(0, 1), (0, 2), (1, 3), (1, 4)] {
            tbf.enqueue(later, of(flow, seq), &mut outcome);
        }
        let mut left = Vec::new();
        while let Some(at) = tbf.next_wakeup() {
            left.extend(tbf.dequeue(at, &mut outcome).map(|queued| queued.packet.seq));
        }
        assert_eq!(left, [1, 3, 2, 4]);
    }

    #[test]
    fn what_red_averages_over_has_the_packet_that_waits_for_tokens() {
        let mut red = Red::new(red::Config::new(Bytes::new(60_000)), Rng::stream(1, "red"))
            .expect("tc accepts it");
        let mut outcome = Outcome::default();
        red.enqueue(Time::ZERO, packet(0), &mut outcome);
        let mut tbf = Tbf::new(LinkRate::Constant(RATE), Bytes::new(1514), red);
        (1..4).for_each(|i| tbf.enqueue(Time::ZERO, packet(i), &mut outcome));
        assert_eq!((tbf.child().len(), tbf.len()), (4, 4));
        assert_eq!(tbf.dequeue(Time::ZERO, &mut outcome).map(|left| left.packet.seq), Some(0));
        assert_eq!(tbf.next_wakeup(), Some(Time::from_ns(1_000_000)));
        assert_eq!((tbf.child().len(), tbf.len()), (3, 3));
        assert_eq!(tbf.backlog(), Bytes::new(3 * 1514));
    }

    #[test]
    fn a_fifo_with_head_drop_may_drop_the_packet_that_waits_for_tokens() {
        let config = FifoConfig { limit: Limit::Packets(2), head_drop: true };
        let mut tbf = Tbf::new(LinkRate::Constant(RATE), Bytes::new(1514), Fifo::new(config));
        let mut outcome = Outcome::default();
        tbf.enqueue(Time::ZERO, packet(0), &mut outcome);
        assert!(tbf.dequeue(Time::ZERO, &mut outcome).is_some());
        tbf.enqueue(Time::ZERO, packet(1), &mut outcome);
        tbf.enqueue(Time::ZERO, Packet { seq: 2, len: 691, ..Packet::default() }, &mut outcome);
        assert_eq!((tbf.len(), tbf.next_wakeup()), (2, Some(Time::from_ns(1_000_000))));
        tbf.enqueue(Time::ZERO, packet(3), &mut outcome);
        assert_eq!(outcome.drops.iter().map(|d| d.0.seq).collect::<Vec<_>>(), [1]);
        // The packet behind it has half its size, and waits for half its tokens.
        assert_eq!((tbf.len(), tbf.next_wakeup()), (2, Some(Time::from_ns(500_000))));
        assert_eq!(
            tbf.dequeue(Time::from_ns(500_000), &mut outcome).map(|left| left.packet.seq),
            Some(2)
        );
    }

    #[test]
    fn a_shaper_that_shapes_a_shaper_is_as_slow_as_the_slower() {
        let half = LinkRate::Constant(Rate::from_bps(RATE.as_bps() / 2));
        let mut outer = Tbf::new(half, Bytes::new(1514), tbf(1514));
        let mut outcome = Outcome::default();
        (0..4).for_each(|i| outer.enqueue(Time::ZERO, packet(i), &mut outcome));
        let (mut out, mut calls) = (Vec::new(), 0);
        while let Some(at) = outer.next_wakeup() {
            outer.on_timer(at);
            out.extend(outer.dequeue(at, &mut outcome).map(|_| at.as_us()));
            calls += 1;
            assert!(calls < 20, "woken without end at {at}");
        }
        assert_eq!(out, [0, 2_000, 4_000, 6_000]);
    }

    #[test]
    fn capacity_is_what_the_rate_yields_and_a_full_bucket() {
        let second = Time::from_ns(1_000_000_000);
        assert_eq!(tbf(1514).capacity_bytes(Time::ZERO, second), 1_515_514);
        let steps = vec![(Time::ZERO, RATE), (Time::from_ns(500_000_000), Rate::from_bps(0))];
        let schedule = Schedule::new(steps, Some(Span::from_ms(1_000)));
        let stepped = Tbf::new(LinkRate::Scheduled(schedule), Bytes::new(1514), fifo());
        assert_eq!(stepped.capacity_bytes(Time::ZERO, second), 758_514);
    }
}
