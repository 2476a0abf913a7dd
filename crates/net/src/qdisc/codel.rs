//! CoDel on one queue (RFC 8289; net/sched/sch_codel.c).

pub mod control_law;

use super::{Cause, Outcome, Qdisc, Queued};
use crate::frame::Frame;
use crate::settings::{settings, DELAYS, QUEUE_PACKETS, TIMES};
use control_law::{Parameters, Source, State};
use std::collections::VecDeque;
use units::{Bytes, Span, Time};

settings! {
    /// CoDel (RFC 8289).
    pub struct Config for "codel" {
        /// Packets that it holds.
        // `DEFAULT_CODEL_LIMIT`
        limit "limit_packets": u64 [QUEUE_PACKETS, Queue] = 1000;
        /// Standing delay that is acceptable.
        // RFC 8289, section 4.4; whole microseconds as in `codel_params_init`
        target "target_ns": Span [TIMES] = Span::from_ms(5);
        /// For how long the delay must stand before a packet is dropped.
        // The worst usual RTT: RFC 8289, section 4.3; the clock holds 137 s
        interval "interval_ns": Span [TIMES] = Span::from_ms(100);
        /// Marks ECN-capable packets instead of dropping them.
        ecn "ecn": bool = false;
        /// Time in the queue above which every ECN-capable packet is marked, whatever `ecn` says.
        // `codel_dequeue`
        ce_threshold "ce_threshold_ns": Option<Span> [DELAYS] = None;
    }
    given {
        /// While at most this remains after a packet, it is not late, in bytes on the wire (`psched_mtu`).
        mtu: Bytes = Bytes::new(1514);
    }
}

/// See the module documentation.
#[derive(Debug)]
pub struct Codel<P> {
    limit: u64,
    parameters: Parameters,
    state: State,
    line: Line<P>,
    /// A shaper holds a packet that it took.
    is_one_at_shaper: bool,
}

#[derive(Debug)]
struct Line<P> {
    queue: VecDeque<Queued<P>>,
    backlog: u64,
}

impl<P: Frame> Source<P> for Line<P> {
    #[inline]
    fn head(&self) -> Option<(Time, u64)> {
        let head = self.queue.front()?;
        Some((head.since, self.backlog - head.packet.wire_bytes().get()))
    }

    #[inline]
    fn take(&mut self) -> Option<Queued<P>> {
        let head = self.queue.pop_front()?;
        self.backlog -= head.packet.wire_bytes().get();
        Some(head)
    }
}

impl<P: Frame> Codel<P> {
    /// An empty queue.
    pub fn new(config: Config) -> Self {
        Codel {
            limit: config.limit,
            parameters: Parameters::new(config.target, config.interval, config.mtu)
                .with_ecn(config.ecn)
                .with_ce_threshold(config.ce_threshold, 0, 0),
            state: State::default(),
            line: Line { queue: VecDeque::new(), backlog: 0 },
            is_one_at_shaper: false,
        }
    }
}

impl<P: Frame> Qdisc<P> for Codel<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: P, outcome: &mut Outcome<P>) {
        if self.line.queue.len() as u64 + u64::from(self.is_one_at_shaper) >= self.limit {
            outcome.drop(packet, Cause::Overflow);
            return;
        }
        self.line.backlog += packet.wire_bytes().get();
        self.line.queue.push_back(Queued { since: now, packet });
    }

    #[inline]
    fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        self.state.dequeue(now, &self.parameters, &mut self.line, outcome)
    }

    fn backlog(&self) -> Bytes {
        Bytes::new(self.line.backlog)
    }

    fn len(&self) -> usize {
        self.line.queue.len()
    }

    fn wakes(&self) -> bool {
        false
    }

    #[inline]
    fn shaper_holds(&mut self, bytes: Bytes) {
        self.is_one_at_shaper = bytes > Bytes::ZERO;
    }

    fn head_since(&self) -> Option<Time> {
        self.line.queue.front().map(|head| head.since)
    }

    fn for_each(&self, each: &mut dyn FnMut(&P)) {
        self.line.queue.iter().for_each(|q| each(&q.packet));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecn;
    use crate::packet::Packet;

    /// A packet of 1514 bytes on the wire.
    fn packet(seq: u32, ecn: u8) -> Packet {
        Packet { seq, len: 1448, ecn, ..Packet::default() }
    }

    impl Line<Packet> {
        /// A queue of `n` full-sized packets that came at time zero.
        pub(super) fn of(n: u32) -> Self {
            let queue = (0..n).map(|seq| Queued { since: Time::ZERO, packet: packet(seq, 0) });
            Line { queue: queue.collect(), backlog: u64::from(n) * 1514 }
        }
    }

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// When a queue that always holds 10 ms, and gives up a packet each tick, drops; in ticks.
    fn drop_ticks(until: u64) -> Vec<u64> {
        let config = Config { limit: u64::MAX, ..Config::default() };
        let (mut codel, mut outcome) = (Codel::new(config), Outcome::default());
        let mut drops = vec![];
        for tick in 0..until {
            let now = Time::from_ns(tick << 10);
            codel.enqueue(now, packet(0, ecn::NOT_ECT), &mut outcome);
            if tick >= 10_000 {
                codel.dequeue(now, &mut outcome);
            }
            drops.extend(outcome.drops.drain(..).map(|_| tick));
        }
        drops
    }

    #[test]
    fn a_persistent_queue_is_signalled_at_the_times_of_the_kernels_roots() {
        let drops = drop_ticks(600_000);
        // Above target since tick 10000, an interval later, strictly.
        assert_eq!(drops[0], 10_000 + 97_656 + 1);
        // floor(97656 r / 65536) for r = 65535, 32769, 36864, 31968, 28935, 26481:
        // 100, 50.0, 56.3, 48.8, 44.2, 40.4 ms.
        let spacing: Vec<u64> = drops.windows(2).map(|w| w[1] - w[0]).collect();
        assert_eq!(spacing[..6], [97_654, 48_829, 54_931, 47_635, 43_116, 39_459]);
    }

    /// Fills with `n` packets at zero and has the delay seen to be high at 10 ms.
    fn late(config: Config, n: u32, ecn: u8) -> (Codel<Packet>, Outcome<Packet>) {
        let (mut codel, mut outcome) = (Codel::new(config), Outcome::default());
        for seq in 0..n {
            codel.enqueue(Time::ZERO, packet(seq, ecn), &mut outcome);
        }
        assert_eq!(codel.dequeue(at_ms(10), &mut outcome).map(|q| q.packet.seq), Some(0));
        (codel, outcome)
    }

    fn seqs(drops: &[(Packet, Cause)]) -> Vec<u32> {
        assert!(drops.iter().all(|d| d.1 == Cause::Aqm));
        drops.iter().map(|d| d.0.seq).collect()
    }

    #[test]
    fn all_drops_that_are_due_happen_at_one_dequeue() {
        let (mut codel, mut outcome) = late(Config::default(), 30, ecn::ECT0);
        assert_eq!(codel.dequeue(at_ms(111), &mut outcome).map(|q| q.packet.seq), Some(2));
        // Due at 211, 261, 317.3 and 366.0 ms.
        assert_eq!(codel.dequeue(at_ms(350), &mut outcome).map(|q| q.packet.seq), Some(6));
        assert_eq!(seqs(&outcome.drops), [1, 3, 4, 5]);
        assert!(outcome.marks.is_empty());
    }

    #[test]
    fn with_ecn_a_dequeue_marks_at_most_one_packet_and_drops_none() {
        let config = Config { ecn: true, ..Config::default() };
        let (mut codel, mut outcome) = late(config, 30, ecn::ECT0);
        for (seq, ms) in [(1, 111), (2, 350), (3, 350), (4, 350), (5, 350)] {
            let head = codel.dequeue(at_ms(ms), &mut outcome).map(|q| q.packet);
            let ecn = if seq < 5 { ecn::CE } else { ecn::ECT0 };
            assert_eq!(head, Some(packet(seq, ecn)));
        }
        assert_eq!(outcome.marks, [(0, Cause::Aqm); 4]);
        assert!(outcome.drops.is_empty());
    }

    #[test]
    fn what_cannot_be_marked_is_dropped() {
        let config = Config { ecn: true, ..Config::default() };
        let (mut codel, mut outcome) = late(config, 30, ecn::NOT_ECT);
        codel.dequeue(at_ms(111), &mut outcome);
        assert_eq!(seqs(&outcome.drops), [1]);
    }

    #[test]
    fn the_last_packets_are_not_dropped_however_late() {
        let (mut codel, mut outcome) = late(Config::default(), 3, ecn::NOT_ECT);
        // One packet remains after this one: an MTU, so this one is not late.
        assert_eq!(codel.dequeue(at_ms(500), &mut outcome).map(|q| q.packet.seq), Some(1));
        assert_eq!(codel.dequeue(at_ms(900), &mut outcome).map(|q| q.packet.seq), Some(2));
        assert_eq!(codel.dequeue(at_ms(901), &mut outcome), None);
        assert!(outcome.is_empty());
        assert_eq!((codel.len(), codel.backlog()), (0, Bytes::ZERO));
    }

    #[test]
    fn the_threshold_marks_without_ecn_and_strictly_above() {
        let threshold = Some(Span::from_us(242));
        let config = Config { ce_threshold: threshold, ..Config::default() };
        let (mut codel, mut outcome) = (Codel::new(config), Outcome::default());
        // 242 us are 236 ticks, so 237 ticks are above: 242.688 us.
        for (ns, marked) in [(241_664, false), (242_687, false), (242_688, true)] {
            codel.enqueue(Time::ZERO, packet(0, ecn::ECT1), &mut outcome);
            let head = codel.dequeue(Time::from_ns(ns), &mut outcome).map(|q| q.packet.ecn);
            assert_eq!(head == Some(ecn::CE), marked, "{ns} ns");
        }
        assert_eq!(outcome.marks, [(0, Cause::Threshold)]);
    }

    #[test]
    fn beyond_the_limit_what_comes_is_dropped() {
        let config = Config { limit: 2, ..Config::default() };
        let (mut codel, mut outcome) = (Codel::new(config), Outcome::default());
        for seq in 0..3 {
            codel.enqueue(Time::ZERO, packet(seq, ecn::ECT0), &mut outcome);
        }
        assert_eq!(outcome.drops, [(packet(2, ecn::ECT0), Cause::Overflow)]);
    }
}
