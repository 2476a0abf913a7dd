//! A drop-tail FIFO behind a token bucket: Linux's `tbf` with its default `bfifo` child (or `pfifo`).
//!
//! At a constant rate the departure of a packet is known when it arrives, so the queue is a ring of
//! (departure time, packet with its arrival) and needs no timer of its own. Arithmetic is `tbf_dequeue`'s
//! (net/sched/sch_tbf.c): tokens are nanoseconds of transmission time, at most `burst`; a packet
//! leaves once the bucket holds its transmission time.
//!
//! Without a bucket it is a serial line, ns-3's `PointToPointNetDevice`: a packet takes its transmission time, the one
//! on the line is not in the queue, and a packet is dropped unless [`MTU`] bytes are free, however small it is (the
//! device stops its queue, and the layer above drops what comes to a stopped queue without a discipline).

use crate::bucket::{Bucket, LinkRate};
use crate::frame::{Frame, LinkHeader};
pub use crate::qdisc::fifo::Limit;
use crate::qdisc::{Cause, Queued};
use crate::ring::Ring;
use units::{Bytes, Time};

/// Bytes that a queue in front of a serial line has room for when it takes a packet.
const MTU: u64 = 1500;

/// How it is set.
#[derive(Clone, Debug)]
pub struct Config {
    /// Rate at which wire bytes leave.
    pub rate: LinkRate,
    /// Depth of the token bucket (tbf's `burst`), no packet larger than which passes; 0: a serial line.
    pub burst: Bytes,
    /// Drop-tail limit.
    pub limit: Limit,
    /// The link's own header, which rate and limit count.
    pub header: LinkHeader,
}

/// What becomes of a packet that is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is queued and leaves at this time.
    Queued(Time),
    /// It is refused: the queue is full, or the bucket never holds as much.
    Dropped(Cause),
}

/// A packet that left: when, and what was queued, which stays where it lies until something else comes.
pub struct Left<'a, P> {
    /// Departure.
    pub at: Time,
    /// The packet with its arrival.
    pub queued: &'a Queued<P>,
    /// Its length on the link.
    pub wire: Bytes,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Fifo<P> {
    limit: Limit,
    header: LinkHeader,
    bucket: Bucket,
    /// Packets with their departures.
    queue: Ring<(Time, Queued<P>)>,
    backlog: u64,
}

impl<P: Frame + Copy> Fifo<P> {
    /// An empty queue with a full bucket.
    pub fn new(config: Config) -> Self {
        let bucket = Bucket::new(config.rate, config.burst);
        let Config { limit, header, .. } = config;
        Fifo { limit, header, bucket, queue: Ring::default(), backlog: 0 }
    }

    /// Offers a packet. Every packet whose departure is not later than `now` must have been taken.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, packet: &P) -> Verdict {
        let len = self.header.wire_bytes(packet);
        let (bytes, packets) = self.waiting();
        let admitted = match self.limit {
            Limit::Bytes(limit) if self.is_serial() => bytes + MTU <= limit.get(),
            Limit::Bytes(limit) => bytes + len.get() <= limit.get(),
            Limit::Packets(limit) => packets < limit,
        };
        if !admitted || (len > self.bucket.depth() && !self.is_serial()) {
            let cause = if admitted { Cause::TooLarge } else { Cause::Overflow };
            return Verdict::Dropped(cause);
        }
        // It follows the last one that came, which has left if nothing waits.
        let departure = self.bucket.take(self.bucket.filled().max(now), len);
        self.backlog += len.get();
        self.queue.push_back((departure, Queued { since: now, packet: *packet }));
        Verdict::Queued(departure)
    }

    /// A bucket without depth is a serial line.
    fn is_serial(&self) -> bool {
        self.bucket.depth() == Bytes::ZERO
    }

    /// What counts against the limit: of a serial line not the packet that is on it.
    #[inline]
    fn waiting(&self) -> (u64, u64) {
        let packets = self.queue.len() as u64;
        match self.queue.front() {
            Some((_, head)) if self.is_serial() => {
                (self.backlog - self.header.wire_bytes(&head.packet).get(), packets - 1)
            }
            _ => (self.backlog, packets),
        }
    }

    /// The link's own header.
    pub fn header(&self) -> LinkHeader {
        self.header
    }

    /// The largest packet that passes (tbf's `burst`).
    #[inline]
    pub fn largest(&self) -> Bytes {
        self.bucket.depth()
    }

    /// When the head leaves.
    #[inline]
    pub fn next_wakeup(&self) -> Option<Time> {
        self.queue.front().map(|&(at, _)| at)
    }

    /// Takes the head if it has left by `now`.
    #[inline(always)]
    pub fn dequeue(&mut self, now: Time) -> Option<Left<'_, P>> {
        if self.next_wakeup().is_none_or(|at| at > now) {
            return None;
        }
        let &(at, ref queued) = self.queue.take_front()?;
        let wire = self.header.wire_bytes(&queued.packet);
        self.backlog -= wire.get();
        Some(Left { at, queued, wire })
    }

    /// Wire bytes waiting.
    pub fn backlog(&self) -> Bytes {
        Bytes::new(self.backlog)
    }

    /// Packets waiting.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// When the head came.
    pub fn head_since(&self) -> Option<Time> {
        self.queue.front().map(|(_, head)| head.since)
    }

    /// Wire bytes that can leave from the start to `end`, with those that the bucket holds at the start.
    pub fn capacity(&self, end: Time) -> Bytes {
        self.bucket.capacity(Time::ZERO, end)
    }

    /// The `k`-th of the packets that wait, and when it leaves.
    #[inline]
    pub fn leaving(&self, k: usize) -> Option<(Time, &P)> {
        self.queue.get(k).map(|(at, queued)| (*at, &queued.packet))
    }

    /// Calls `each` for every packet that waits.
    pub fn for_each(&self, each: &mut dyn FnMut(&P)) {
        self.queue.iter().for_each(|(_, queued)| each(&queued.packet));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::schedule::Schedule;
    use units::{Rate, Span};

    /// A full frame takes exactly 1 ms.
    const RATE: Rate = Rate::from_bps(12_112_000);

    fn packet(seq: u32) -> Packet {
        Packet { flow: 0, seq, ts_val: 0, ts_ecr: 0, len: 1448, ..Packet::default() }
    }

    fn fifo(limit: Limit) -> Fifo<Packet> {
        Fifo::new(Config {
            rate: LinkRate::Constant(RATE),
            burst: Bytes::new(3028),
            limit,
            header: LinkHeader::default(),
        })
    }

    #[test]
    fn a_serial_line_takes_its_time_for_each_packet_and_counts_only_those_that_wait() {
        let line = Config {
            rate: LinkRate::Constant(RATE),
            burst: Bytes::ZERO,
            limit: Limit::Bytes(Bytes::new(1514 + 1500)),
            header: LinkHeader::default(),
        };
        let mut q = Fifo::new(line);
        let mut offer = |len| match q.enqueue(Time::ZERO, &Packet { len, ..packet(0) }) {
            Verdict::Queued(at) => Some(at.as_ns() / 1_000_000),
            Verdict::Dropped(_) => None,
        };
        // The first is on the line; when two wait, less than an MTU is free even for a small one.
        assert_eq!(
            [1448, 1448, 1448, 1448, 100].map(&mut offer),
            [Some(1), Some(2), Some(3), None, None]
        );
    }

    #[test]
    fn rate_and_limit_count_the_links_own_header() {
        // Without Ethernet's header 1500 bytes of 12.112 Mbit/s: 990.75 us each, and two of them are the limit.
        let mut q = Fifo::new(Config {
            rate: LinkRate::Constant(RATE),
            burst: Bytes::ZERO,
            limit: Limit::Bytes(Bytes::new(1500 + 1500)),
            header: LinkHeader::of(0),
        });
        let mut offer = || match q.enqueue(Time::ZERO, &packet(0)) {
            Verdict::Queued(at) => Some(at.as_us()),
            Verdict::Dropped(_) => None,
        };
        assert_eq!([(); 4].map(|()| offer()), [Some(990), Some(1981), Some(2972), None]);
        assert_eq!(q.backlog(), Bytes::new(4500));
        while q.dequeue(Time::from_ns(3_000_000)).is_some() {}
        assert_eq!(q.backlog(), Bytes::ZERO);
    }

    #[test]
    fn each_frame_of_a_super_packet_has_the_header() {
        let both = Packet { len: 2 * 1448, ..packet(0) };
        assert_eq!(LinkHeader::of(14).wire_bytes(&both), Bytes::new(2 * 1514));
        assert_eq!(LinkHeader::of(22).wire_bytes(&both), Bytes::new(2 * 1522));
    }

    #[test]
    fn the_bucket_lets_two_frames_through_and_then_paces() {
        let mut q = fifo(Limit::Packets(10));
        let at: Vec<_> = (0..4)
            .map(|i| match q.enqueue(Time::ZERO, &packet(i)) {
                Verdict::Queued(at) => at.as_ns() / 1_000_000,
                Verdict::Dropped(_) => panic!("not full"),
            })
            .collect();
        assert_eq!(at, [0, 0, 1, 2]);
    }

    #[test]
    fn a_byte_limit_counts_the_arriving_packet() {
        let mut q = fifo(Limit::Bytes(Bytes::new(2 * 1514)));
        assert!(matches!(q.enqueue(Time::ZERO, &packet(0)), Verdict::Queued(_)));
        assert!(matches!(q.enqueue(Time::ZERO, &packet(1)), Verdict::Queued(_)));
        assert_eq!(q.enqueue(Time::ZERO, &packet(2)), Verdict::Dropped(Cause::Overflow));
    }

    #[test]
    fn tokens_return_while_the_link_is_idle_up_to_the_burst() {
        let mut q = fifo(Limit::Packets(10));
        for i in 0..2 {
            q.enqueue(Time::ZERO, &packet(i));
        }
        while q.dequeue(Time::ZERO).is_some() {}
        let later = Time::ZERO + Span::from_ms(100);
        for expected in [100, 100, 101] {
            let Verdict::Queued(at) = q.enqueue(later, &packet(9)) else { panic!("not full") };
            assert_eq!(at.as_ns() / 1_000_000, expected);
        }
    }

    #[test]
    fn a_schedule_of_one_rate_is_that_rate() {
        let rate = LinkRate::Scheduled(Schedule::new(vec![(Time::ZERO, RATE)], None));
        let mut plain = fifo(Limit::Packets(10));
        let mut stepped = Fifo::new(Config {
            rate,
            burst: Bytes::new(3028),
            limit: Limit::Packets(10),
            header: LinkHeader::default(),
        });
        for i in 0..8 {
            let now = Time::from_ns(u64::from(i) * 700_000);
            while plain.dequeue(now).is_some() {}
            while stepped.dequeue(now).is_some() {}
            assert_eq!(plain.enqueue(now, &packet(i)), stepped.enqueue(now, &packet(i)));
        }
    }

    #[test]
    fn a_packet_larger_than_the_burst_never_passes() {
        let rate = LinkRate::Constant(Rate::from_bps(1_000_000));
        let mut q = Fifo::new(Config {
            rate,
            burst: Bytes::new(1000),
            limit: Limit::Packets(9),
            header: LinkHeader::default(),
        });
        assert_eq!(q.enqueue(Time::ZERO, &packet(0)), Verdict::Dropped(Cause::TooLarge));
    }
}
