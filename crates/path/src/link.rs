//! A link of the run: its queue and rate, and what passed through it.

use crate::histogram::{Histogram, Place};
use crate::waiting::Waiting;
use net::fifo::{Fifo, Left, Verdict};
use net::frame::LinkHeader;
use net::link::trace_link::FULL_FRAME;
use net::link::{Link as _, Tbf, TraceLink};
use net::qdisc::any::AnyQdisc;
use net::qdisc::policer::Policer;
use net::qdisc::{Outcome, Qdisc};
use net::Frame;
use record::QueueDelay;
use units::{Bytes, Rate, Span, Time};

/// Counters since the start; bytes are wire bytes, and a super-packet counts its segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkStats {
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub dropped_packets: u64,
    pub dropped_bytes: u64,
    pub marked_packets: u64,
}

impl LinkStats {
    #[inline(always)]
    fn count_sent(&mut self, segments: u32, wire: Bytes) {
        self.sent_packets += u64::from(segments);
        self.sent_bytes += wire.get();
    }
}

/// What a plain link has to give, which stays where it lies until something else comes.
pub enum Leave<'a, P> {
    /// A packet, and its segments.
    Packet(&'a P, u32),
    /// Nothing before this time.
    Later(Time),
    /// Nothing until a packet comes.
    Never,
}

/// What is to be done with a link to which a packet came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing: it is woken when it wants to be.
    Nothing,
    /// Nothing leaves now; it wants to be woken at this time.
    Wake(Time),
    /// Something may leave at once, or was dropped.
    Run,
}

/// How packets wait, and what lets them go.
pub enum Queue<P> {
    /// Drop tail at a known rate: each departure is known when the packet arrives.
    Fifo(Box<Fifo<P>>),
    /// Any queue discipline behind a token bucket.
    Bucket(Box<Tbf<P, AnyQdisc<P>>>),
    /// Any queue discipline that delivery opportunities drain.
    Trace(Box<TraceLink<P, AnyQdisc<P>>>),
    /// A queue discipline that shapes by itself.
    Shaping(Box<AnyQdisc<P>>, Rate),
}

/// Calls the same method of whichever queue it is, the plain FIFO apart.
macro_rules! each {
    ($any:expr, $fifo:ident => $plain:expr, $queue:ident => $call:expr) => {
        match $any {
            Queue::Fifo($fifo) => $plain,
            Queue::Bucket($queue) => $call,
            Queue::Trace($queue) => $call,
            Queue::Shaping($queue, _) => $call,
        }
    };
}

/// See the module documentation.
pub struct Link<P> {
    pub queue: Queue<P>,
    pub policer: Option<Policer>,
    /// Its own header, which counters count.
    header: LinkHeader,
    pub stats: LinkStats,
    /// Time in the queue of the packets that left it.
    pub sojourn: Histogram,
    waiting: Waiting,
}

impl<P: Frame + Copy> Link<P> {
    /// A link whose queue counts Ethernet's header, or, a plain FIFO, the one that it has been given.
    pub fn new(queue: Queue<P>, policer: Option<Policer>) -> Self {
        let header = match &queue {
            Queue::Fifo(fifo) => fifo.header(),
            Queue::Bucket(_) | Queue::Trace(_) | Queue::Shaping(..) => LinkHeader::default(),
        };
        Link {
            queue,
            policer,
            header,
            stats: LinkStats::default(),
            sojourn: Histogram::default(),
            waiting: Waiting::default(),
        }
    }

    /// Offers a packet; what is dropped or marked on the way is left in `outcome`.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, packet: &P, outcome: &mut Outcome<P>) -> Then {
        match &mut self.policer {
            None => self.admit(now, packet, outcome),
            Some(policer) => match policer.police(now, *packet, outcome) {
                Some(conforming) => self.admit(now, &conforming, outcome),
                None => Then::Run,
            },
        }
    }

    /// A packet that no policer has refused.
    #[inline(always)]
    fn admit(&mut self, now: Time, packet: &P, outcome: &mut Outcome<P>) -> Then {
        if packet.segments() > 1 && self.cuts(packet) {
            self.enqueue_frames(now, packet, outcome);
            return Then::Run;
        }
        self.queue_up(now, packet, outcome)
    }

    /// Whether a super-packet is cut before it is queued: a token bucket cuts one that it never holds (`tbf_segment`,
    /// net/sched/sch_tbf.c), and a link of delivery opportunities carries frames.
    #[cold]
    fn cuts(&self, packet: &P) -> bool {
        match &self.queue {
            Queue::Fifo(fifo) => self.header.wire_bytes(packet) > fifo.largest(),
            Queue::Bucket(tbf) => packet.wire_bytes() > tbf.largest() || tbf.child().cuts(),
            Queue::Shaping(qdisc, _) => qdisc.cuts(),
            Queue::Trace(_) => true,
        }
    }

    /// Each frame of a super-packet is queued, or dropped, by itself.
    #[cold]
    fn enqueue_frames(&mut self, now: Time, packet: &P, outcome: &mut Outcome<P>) {
        for i in 0..packet.segments() {
            self.queue_up(now, &packet.frame(i), outcome);
        }
    }

    #[inline(always)]
    fn queue_up(&mut self, now: Time, packet: &P, outcome: &mut Outcome<P>) -> Then {
        if let Queue::Fifo(fifo) = &mut self.queue {
            return match fifo.enqueue(now, packet) {
                Verdict::Queued(_) if fifo.len() == 1 => Then::Run,
                Verdict::Queued(_) => Then::Nothing,
                Verdict::Dropped(cause) => {
                    outcome.drop(*packet, cause);
                    Then::Run
                }
            };
        }
        self.enqueue_any(now, *packet, outcome)
    }

    #[inline(never)]
    fn enqueue_any(&mut self, now: Time, packet: P, outcome: &mut Outcome<P>) -> Then {
        if let Queue::Bucket(tbf) = &mut self.queue {
            tbf.enqueue(now, packet, outcome);
            return match tbf.waits_until(now) {
                Some(at) if outcome.is_empty() => Then::Wake(at),
                _ => Then::Run,
            };
        }
        each!(&mut self.queue, _fifo => (), queue => queue.enqueue(now, packet, outcome));
        self.waiting.on_changed(now, self.head_since());
        Then::Run
    }

    /// Whether a packet may come before the head until that leaves; a token bucket has taken it by then.
    #[inline]
    fn is_overtaken(&self) -> bool {
        match self.queue {
            Queue::Fifo(_) | Queue::Bucket(_) => false,
            Queue::Trace(_) | Queue::Shaping(..) => true,
        }
    }

    /// Whether each departure is known when the packet comes, so that there is no queue discipline to be run: [`Link::leave`]
    /// tells what [`Link::dequeue`] and [`Link::next_wakeup`] do.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        matches!(self.queue, Queue::Fifo(_))
    }

    /// The next packet of a plain link that has left by `now`, or when one leaves.
    #[inline(always)]
    pub fn leave(&mut self, now: Time) -> Leave<'_, P> {
        let Queue::Fifo(fifo) = &mut self.queue else { unreachable!("the link is plain") };
        match fifo.next_wakeup() {
            None => Leave::Never,
            Some(at) if at > now => Leave::Later(at),
            Some(_) => {
                let Left { at, queued, wire } = fifo.dequeue(now).expect("its head has left");
                let segments = queued.packet.segments();
                self.stats.count_sent(segments, wire);
                let age = at.since(queued.since);
                let place = Place::of_span(age);
                self.sojourn.add_at(place, segments);
                self.waiting.on_left_aged(at, age, place);
                Leave::Packet(&queued.packet, segments)
            }
        }
    }

    /// Has a token bucket ask for the packet that goes next, which it needs before each [`Link::dequeue`].
    #[inline]
    pub fn park(&mut self, now: Time, outcome: &mut Outcome<P>) {
        if let Queue::Bucket(tbf) = &mut self.queue {
            tbf.park(now, outcome);
        }
    }

    /// The next packet that has left by `now`.
    #[inline]
    pub fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<P> {
        let (left, queued) = match &mut self.queue {
            Queue::Fifo(fifo) => {
                let left = fifo.dequeue(now)?;
                (left.at, *left.queued)
            }
            Queue::Bucket(tbf) => (now, tbf.leave(now, outcome)?),
            Queue::Trace(queue) => (now, queue.dequeue(now, outcome)?),
            Queue::Shaping(queue, _) => (now, queue.dequeue(now, outcome)?),
        };
        let segments = queued.packet.segments();
        self.stats.count_sent(segments, self.header.wire_bytes(&queued.packet));
        let age = left.since(queued.since);
        let place = Place::of_span(age);
        self.sojourn.add_at(place, segments);
        if self.is_overtaken() {
            self.waiting.on_changed(left, self.head_since());
        } else {
            self.waiting.on_left_aged(left, age, place);
        }
        Some(queued.packet)
    }

    /// When it wants to be woken, if it is known that nothing leaves at `now`.
    #[inline]
    pub fn waits_until(&self, now: Time) -> Option<Time> {
        match &self.queue {
            Queue::Bucket(tbf) => tbf.waits_until(now),
            Queue::Fifo(_) | Queue::Trace(_) | Queue::Shaping(..) => None,
        }
    }

    /// When it wants to be woken.
    #[inline]
    pub fn next_wakeup(&self) -> Option<Time> {
        each!(&self.queue, fifo => fifo.next_wakeup(), queue => queue.next_wakeup())
    }

    /// Runs timers of the queue discipline that are due.
    #[inline]
    pub fn on_timer(&mut self, now: Time) {
        each!(&mut self.queue, _fifo => (), queue => queue.on_timer(now));
    }

    /// Notes a packet that was dropped.
    pub fn count_drop(&mut self, packet: &P) {
        self.stats.dropped_packets += u64::from(packet.segments());
        self.stats.dropped_bytes += self.header.wire_bytes(packet).get();
    }

    /// Notes a segment that was marked.
    pub fn count_mark(&mut self) {
        self.stats.marked_packets += 1;
    }

    /// Wire bytes waiting.
    pub fn backlog(&self) -> Bytes {
        each!(&self.queue, fifo => fifo.backlog(), queue => queue.backlog())
    }

    /// Packets waiting; a super-packet is one.
    pub fn len(&self) -> usize {
        each!(&self.queue, fifo => fifo.len(), queue => queue.len())
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `k`-th of the packets that wait, and when it leaves, where that is known.
    #[inline]
    pub fn leaving(&self, k: usize) -> Option<(Time, &P)> {
        each!(&self.queue, fifo => fifo.leaving(k), _queue => None)
    }

    /// How long the packet at the head of the queue has waited; zero when the queue is empty.
    pub fn sojourn_at(&self, now: Time) -> Span {
        self.head_since().map_or(Span::ZERO, |since| now.since(since))
    }

    /// The same integrated over time from the start to `now`, us^2, rounded down.
    pub fn sojourn_integral_us2(&self, now: Time) -> u64 {
        (self.waiting.twice_until(now, self.head_since()) / 2_000_000) as u64
    }

    fn head_since(&self) -> Option<Time> {
        each!(&self.queue, fifo => fifo.head_since(), queue => queue.head_since())
    }

    /// Calls `each` for every packet that waits.
    pub fn for_each(&self, each: &mut dyn FnMut(&P)) {
        each!(&self.queue, fifo => fifo.for_each(each), queue => queue.for_each(each));
    }

    /// Time average and quantile of the queueing delay up to `end`.
    pub fn queue_delay(&self, end: Time) -> QueueDelay {
        self.waiting.until(end, self.head_since())
    }

    /// Wire bytes that can leave from the start to `end`, that instant included.
    pub fn capacity(&self, end: Time) -> u64 {
        match &self.queue {
            Queue::Fifo(fifo) => fifo.capacity(end).get(),
            Queue::Bucket(link) => link.capacity_bytes(Time::ZERO, end),
            Queue::Trace(link) => link.capacity_bytes(Time::ZERO, end + Span::from_ns(1)),
            // It has no bucket: a packet leaves whole, and what follows waits for it.
            Queue::Shaping(_, rate) => (rate.bytes_in(end.since(Time::ZERO)) + FULL_FRAME).get(),
        }
    }

    /// A reason not to trust what this link did.
    pub fn warning(&self) -> Option<String> {
        match &self.queue {
            Queue::Trace(link) => link.opportunities().error().map(|e| format!("trace: {e}")),
            Queue::Fifo(_) | Queue::Bucket(_) | Queue::Shaping(..) => None,
        }
    }
}
