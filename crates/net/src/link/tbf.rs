//! A token bucket in front of which any queue discipline waits (net/sched/sch_tbf.c).
//!
//! Tokens are nanoseconds of transmission time. As in the kernel the shaper asks for the next packet as
//! soon as the last one left, and holds it until there are tokens: an AQM decides on a packet when the
//! one before it leaves, and the packet that is held can be neither dropped nor overtaken. tbf itself
//! checks no limit; the child's counts.

use super::{timer_of, Link};
use crate::frame::Frame;
use crate::qdisc::{Cause, Outcome, Qdisc, Queued};
use crate::schedule::Schedule;
use units::{Bytes, Rate, Span, Time};

/// How it is set.
#[derive(Clone, Debug)]
pub struct Config {
    /// Rate at which wire bytes leave in the long run.
    pub rate: Course,
    /// Depth of the bucket; no packet larger than this passes.
    pub burst: Bytes,
    /// Bounds the rate at which a burst leaves.
    pub peak: Option<Peak>,
}

/// What the rate does.
#[derive(Clone, Debug)]
pub enum Course {
    /// It stays.
    Constant(Rate),
    /// It follows a schedule.
    Scheduled(Schedule),
}

/// tbf's `peakrate` and `mtu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Above the rate, where that is constant.
    pub rate: Rate,
    /// Depth of its bucket; no packet larger than this passes.
    pub mtu: Bytes,
}

/// Bit-nanoseconds of a byte: what a rate in bit/s yields in a second is that many times its bytes.
const BIT_NS_PER_BYTE: u128 = 8_000_000_000;

/// Tokens as of some time that the shaper keeps, in the unit that the rate asks for.
#[derive(Debug)]
enum Bucket {
    /// Nanoseconds of transmission time.
    Constant { rate: Rate, depth: Span, tokens: Span },
    /// Bit-nanoseconds, since a byte's transmission time varies.
    Scheduled { schedule: Schedule, depth: u128, tokens: u128 },
}

impl Bucket {
    fn constant(rate: Rate, depth: Bytes) -> Bucket {
        let depth = rate.serialization_time(depth);
        Bucket::Constant { rate, depth, tokens: depth }
    }

    fn scheduled(schedule: Schedule, depth: Bytes) -> Bucket {
        let depth = u128::from(depth.get()) * BIT_NS_PER_BYTE;
        Bucket::Scheduled { schedule, depth, tokens: depth }
    }

    /// When there are tokens for `len` bytes, at `now` or later; the tokens are those of `filled`.
    fn ready(&self, filled: Time, now: Time, len: Bytes) -> Time {
        match self {
            Bucket::Constant { rate, depth, tokens } => {
                let tokens = (*tokens + now.since(filled)).min(*depth);
                now + (rate.serialization_time(len).max(tokens) - tokens)
            }
            Bucket::Scheduled { schedule, depth, tokens } => {
                let tokens = (tokens + schedule.bit_ns(filled, now)).min(*depth);
                let cost = u128::from(len.get()) * BIT_NS_PER_BYTE;
                schedule.after(now, cost.saturating_sub(tokens))
            }
        }
    }

    /// Takes the last tokens: the packet waited for them, and what came in the rest of the nanosecond to
    /// which that time is rounded up does not count (nor in [`crate::fifo`]).
    fn empty(&mut self) {
        match self {
            Bucket::Constant { tokens, .. } => *tokens = Span::ZERO,
            Bucket::Scheduled { tokens, .. } => *tokens = 0,
        }
    }

    /// Takes the tokens of `len` bytes at `now`, a time at which they are there.
    fn spend(&mut self, filled: Time, now: Time, len: Bytes) {
        match self {
            Bucket::Constant { rate, depth, tokens } => {
                let full = (*tokens + now.since(filled)).min(*depth);
                *tokens = full - rate.serialization_time(len);
            }
            Bucket::Scheduled { schedule, depth, tokens } => {
                let full = (*tokens + schedule.bit_ns(filled, now)).min(*depth);
                *tokens = full - u128::from(len.get()) * BIT_NS_PER_BYTE;
            }
        }
    }

    /// From when on time counts for the peak's bucket: time beyond what fills the bucket of the rate does
    /// not (`tbf_dequeue` cuts it before it adds it to either).
    fn counted_from(&self, filled: Time, now: Time) -> Time {
        match self {
            Bucket::Constant { depth, .. } => {
                filled.max(Time::from_ns(now.as_ns().saturating_sub(depth.as_ns())))
            }
            Bucket::Scheduled { .. } => filled,
        }
    }
}

/// The packet that goes next.
#[derive(Debug)]
struct Parked<P> {
    ready: Time,
    /// It waits for the rate, and then leaves with its last tokens.
    takes_last: bool,
    head: Queued<P>,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Tbf<P, Q> {
    child: Q,
    rate: Bucket,
    peak: Option<Bucket>,
    /// The largest packet that passes.
    largest: Bytes,
    /// The time of the buckets' tokens: when the last packet left.
    filled: Time,
    parked: Option<Parked<P>>,
    timers_ran: Option<Time>,
}

impl<P: Frame, Q: Qdisc<P>> Tbf<P, Q> {
    /// A shaper with full buckets and the queue in front of it.
    ///
    /// # Panics
    /// If a constant rate is zero, or not below the peak rate.
    pub fn new(config: Config, child: Q) -> Self {
        let peak = config.peak;
        if let (Course::Constant(rate), Some(peak)) = (&config.rate, peak) {
            assert!(peak.rate > *rate, "the peak rate is above {rate}, got {}", peak.rate);
        }
        let rate = match config.rate {
            Course::Constant(rate) => Bucket::constant(rate, config.burst),
            Course::Scheduled(schedule) => Bucket::scheduled(schedule, config.burst),
        };
        Tbf {
            child,
            rate,
            peak: peak.map(|peak| Bucket::constant(peak.rate, peak.mtu)),
            largest: peak.map_or(config.burst, |peak| peak.mtu.min(config.burst)),
            filled: Time::ZERO,
            parked: None,
            timers_ran: None,
        }
    }

    /// The queue in front of the shaper.
    pub fn child(&self) -> &Q {
        &self.child
    }

    /// Asks the child for the packet that goes next, if none is held.
    fn park(&mut self, now: Time, outcome: &mut Outcome<P>) {
        if self.parked.is_some() || self.child.is_empty() {
            return;
        }
        let Some(head) = self.child.dequeue(now, outcome) else { return };
        let len = head.packet.wire_bytes();
        let paid = self.rate.ready(self.filled, now, len);
        let mut ready = paid;
        if let Some(peak) = &self.peak {
            let from = self.rate.counted_from(self.filled, now);
            ready = ready.max(peak.ready(from, now, len));
        }
        let takes_last = paid == ready && paid > now;
        self.parked = Some(Parked { ready, takes_last, head });
    }

    /// Takes the tokens of a packet that leaves at `now`.
    fn spend(&mut self, now: Time, parked: &Parked<P>) {
        let len = parked.head.packet.wire_bytes();
        if let Some(peak) = &mut self.peak {
            peak.spend(self.rate.counted_from(self.filled, now), now, len);
        }
        if parked.takes_last && now == parked.ready {
            self.rate.empty();
        } else {
            self.rate.spend(self.filled, now, len);
        }
        self.filled = now;
    }
}

impl<P: Frame, Q: Qdisc<P>> Qdisc<P> for Tbf<P, Q> {
    fn enqueue(&mut self, now: Time, packet: P, outcome: &mut Outcome<P>) {
        if packet.wire_bytes() > self.largest {
            outcome.drop(packet, Cause::TooLarge);
            return;
        }
        self.child.enqueue(now, packet, outcome);
        self.park(now, outcome);
    }

    fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        self.park(now, outcome);
        let parked = self.parked.take_if(|parked| parked.ready <= now)?;
        self.spend(now, &parked);
        self.park(now, outcome);
        Some(parked.head)
    }

    fn next_wakeup(&self) -> Option<Time> {
        match &self.parked {
            Some(parked) => {
                let timer = timer_of(&self.child, self.timers_ran);
                Some(timer.map_or(parked.ready, |at| at.min(parked.ready)))
            }
            None => self.child.next_wakeup(),
        }
    }

    fn on_timer(&mut self, now: Time) {
        self.timers_ran = Some(now);
        self.child.on_timer(now);
    }

    fn backlog(&self) -> Bytes {
        let parked = self.parked.as_ref().map_or(Bytes::ZERO, |p| p.head.packet.wire_bytes());
        self.child.backlog() + parked
    }

    fn len(&self) -> usize {
        self.child.len() + usize::from(self.parked.is_some())
    }

    fn head_since(&self) -> Option<Time> {
        self.parked.as_ref().map(|p| p.head.since).or_else(|| self.child.head_since())
    }

    fn for_each(&self, each: &mut dyn FnMut(&P)) {
        self.parked.iter().for_each(|p| each(&p.head.packet));
        self.child.for_each(each);
    }
}

impl<P: Frame, Q: Qdisc<P>> Link<P> for Tbf<P, Q> {
    /// What the rate yields, and what the bucket holds at `from`.
    fn capacity_bytes(&self, from: Time, to: Time) -> u64 {
        match &self.rate {
            Bucket::Constant { rate, depth, .. } => rate.bytes_in(to.since(from) + *depth).get(),
            Bucket::Scheduled { schedule, depth, .. } => {
                ((schedule.bit_ns(from, to) + depth) / BIT_NS_PER_BYTE) as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::qdisc::fifo::{Config as FifoConfig, Fifo, Limit};

    fn fifo() -> Fifo<Packet> {
        Fifo::new(FifoConfig { limit: Limit::Packets(100), head_drop: false })
    }

    /// A full frame takes 1 ms.
    const RATE: Rate = Rate::from_bps(12_112_000);

    fn tbf(burst: u64, peak: Option<Peak>) -> Tbf<Packet, Fifo<Packet>> {
        let config = Config { rate: Course::Constant(RATE), burst: Bytes::new(burst), peak };
        Tbf::new(config, fifo())
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
        let mut tbf = tbf(2 * 1514, None);
        assert_eq!(leave(&mut tbf, Time::ZERO, 4), [0, 0, 1_000, 2_000]);
        // The bucket is empty at 2 ms and holds both frames again at 4 ms, not more later on.
        let later = Time::from_ns(50_000_000);
        assert_eq!(leave(&mut tbf, later, 3), [50_000, 50_000, 51_000]);
    }

    #[test]
    fn with_a_peak_rate_the_burst_leaves_at_that() {
        // The peak's frame takes 0.25 ms; the burst of four lasts until the tokens of the rate, one
        // frame a millisecond, are used up: the fifth would leave at 1 ms, when one has come.
        let peak = Peak { rate: Rate::from_bps(4 * 12_112_000), mtu: Bytes::new(1514) };
        let mut tbf = tbf(4 * 1514, Some(peak));
        assert_eq!(leave(&mut tbf, Time::ZERO, 7), [0, 250, 500, 750, 1_000, 2_000, 3_000]);
    }

    #[test]
    fn a_packet_larger_than_either_bucket_is_dropped_with_its_cause() {
        let peak = Peak { rate: Rate::from_bps(100_000_000), mtu: Bytes::new(1500) };
        for mut tbf in [tbf(1500, None), tbf(9000, Some(peak))] {
            let mut outcome = Outcome::default();
            tbf.enqueue(Time::ZERO, packet(0), &mut outcome);
            assert_eq!(outcome.drops, [(packet(0), Cause::TooLarge)]);
            assert_eq!(tbf.len(), 0);
        }
    }

    #[test]
    fn the_next_packet_is_taken_from_the_child_when_the_last_one_leaves() {
        let mut tbf = tbf(1514, None);
        let mut outcome = Outcome::default();
        (0..4).for_each(|i| tbf.enqueue(Time::ZERO, packet(i), &mut outcome));
        assert_eq!((tbf.child().len(), tbf.len()), (3, 4));
        assert!(tbf.dequeue(Time::ZERO, &mut outcome).is_some());
        assert_eq!((tbf.child().len(), tbf.len()), (2, 3));
        assert_eq!(tbf.backlog(), Bytes::new(3 * 1514));
        assert!(tbf.dequeue(Time::from_ns(999_999), &mut outcome).is_none());
        assert_eq!(tbf.child().len(), 2);
    }

    #[test]
    fn the_parked_packet_survives_a_child_that_drops_its_head() {
        let config = FifoConfig { limit: Limit::Packets(1), head_drop: true };
        let rate = Config { rate: Course::Constant(RATE), burst: Bytes::new(1514), peak: None };
        let mut tbf = Tbf::new(rate, Fifo::new(config));
        let mut outcome = Outcome::default();
        (0..4).for_each(|i| tbf.enqueue(Time::ZERO, packet(i), &mut outcome));
        assert_eq!(outcome.drops.iter().map(|d| d.0.seq).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_shaper_that_shapes_a_shaper_is_as_slow_as_the_slower() {
        let half = Config {
            rate: Course::Constant(Rate::from_bps(RATE.as_bps() / 2)),
            burst: Bytes::new(1514),
            peak: None,
        };
        let mut outer = Tbf::new(half, tbf(1514, None));
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
        assert_eq!(tbf(1514, None).capacity_bytes(Time::ZERO, second), 1_515_514);
        let steps = vec![(Time::ZERO, RATE), (Time::from_ns(500_000_000), Rate::from_bps(0))];
        let schedule = Schedule::new(steps, Some(Span::from_ms(1_000)));
        let config =
            Config { rate: Course::Scheduled(schedule), burst: Bytes::new(1514), peak: None };
        assert_eq!(Tbf::new(config, fifo()).capacity_bytes(Time::ZERO, second), 758_514);
    }
}
