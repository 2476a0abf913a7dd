//! Fair queueing with CoDel (RFC 8290; net/sched/sch_fq_codel.c): packets are hashed into buckets,
//! each with a queue and a CoDel of its own; buckets take turns by deficit round robin, those that
//! had nothing waiting first.

use super::codel::control_law::{Parameters, Source, State};
use super::{Cause, Outcome, Qdisc, Queued, LOOKED_AT};
use crate::frame::{bucket, Frame};
use crate::lists::{List, Slab};
use crate::settings::{settings, DELAYS, MEMORY, QUANTA, QUEUE_PACKETS, TIMES};
use units::{Bytes, Span, Time};

settings! {
    /// Fair queueing with CoDel (RFC 8290).
    // Defaults are those of `fq_codel_init`.
    pub struct Config for "fq_codel" {
        /// Packets that it holds; beyond, the fattest queue loses some.
        limit "limit_packets": u64 [QUEUE_PACKETS, Queue] = 10_240;
        /// Queues that flows are hashed to.
        flows "flows": u32 [1..=65_536] = 1024;
        /// Wire bytes that a queue may send in its turn.
        quantum "quantum_bytes": Bytes [QUANTA] = Bytes::new(1514);
        /// Standing delay that is acceptable.
        target "target_ns": Span [TIMES] = Span::from_ms(5);
        /// For how long the delay must stand before a packet is dropped.
        interval "interval_ns": Span [TIMES] = Span::from_ms(100);
        /// Memory that packets may take, as Linux counts it (`truesize`).
        memory_limit "memory_limit_bytes": Bytes [MEMORY, Memory] = Bytes::new(32 << 20);
        /// Packets that an overflow drops at most.
        drop_batch "drop_batch": u32 [1..=1 << 31] = 64;
        /// Marks ECN-capable packets instead of dropping them.
        ecn "ecn": bool = true;
        /// Time in the queue above which every ECN-capable packet is marked, whatever `ecn` says.
        ce_threshold "ce_threshold_ns": Option<Span> [DELAYS] = None;
        /// With a mask: only packets whose DS byte under the mask is this are marked.
        ce_threshold_selector "ce_threshold_selector": u8 [0..=255] = 0;
        /// Mask of the selector; 0 for every packet.
        ce_threshold_mask "ce_threshold_mask": u8 [0..=255] = 0;
    }
    given {
        /// While at most this remains in all queues together, no packet is late, in bytes on the wire
        /// (`psched_mtu`).
        mtu: Bytes = Bytes::new(1514);
        /// Makes flows collide elsewhere, instead of the kernel's hash secret.
        perturbation: u32 = 0;
    }
}

/// See the module documentation.
#[derive(Debug)]
pub struct FqCodel<P> {
    config: Config,
    parameters: Parameters,
    flows: Vec<Flow>,
    /// Bytes in each bucket, apart from the rest so that the fattest is found in 4 kB.
    backlogs: Vec<u64>,
    held: Held<P>,
    /// Buckets that had nothing waiting.
    new: Turns,
    old: Turns,
    /// A shaper holds a packet that it took.
    is_one_at_shaper: bool,
}

/// A bucket.
#[derive(Debug, Default)]
struct Flow {
    queue: List,
    /// Bytes that it may still send before its turn ends.
    deficit: i64,
    /// It is in `new` or `old`.
    has_turn: bool,
    /// The bucket after it there.
    next: u32,
    codel: State,
}

/// Buckets in the order of their turns, chained through `Flow::next`.
#[derive(Debug, Default)]
struct Turns {
    first: u32,
    last: u32,
    len: u32,
}

impl Turns {
    #[inline]
    fn push(&mut self, flows: &mut [Flow], i: u32) {
        if self.len == 0 {
            self.first = i;
        } else {
            flows[self.last as usize].next = i;
        }
        self.last = i;
        self.len += 1;
    }

    /// The buckets in order.
    fn iter<'a>(&self, flows: &'a [Flow]) -> impl Iterator<Item = &'a Flow> {
        let mut at = self.first;
        (0..self.len).map(move |_| {
            let flow = &flows[at as usize];
            at = flow.next;
            flow
        })
    }

    /// Takes the first, which there must be.
    #[inline]
    fn pop(&mut self, flows: &[Flow]) -> u32 {
        let first = self.first;
        self.first = flows[first as usize].next;
        self.len -= 1;
        first
    }
}

/// The packets of all buckets, and their sums.
#[derive(Debug)]
struct Held<P> {
    packets: Slab<Queued<P>>,
    len: usize,
    backlog: u64,
    memory: u64,
}

impl<P: Frame> Held<P> {
    /// Takes a packet of that many bytes into a bucket.
    #[inline]
    fn push(&mut self, queue: &mut List, queued: Queued<P>, bytes: u64) {
        self.len += 1;
        self.backlog += bytes;
        self.memory += queued.packet.truesize().get();
        self.packets.push_back(queue, queued);
    }

    /// The oldest packet of a bucket, and its bytes.
    #[inline]
    fn pop(&mut self, queue: &mut List) -> Option<(Queued<P>, u64)> {
        let packet = &self.packets.front(queue)?.packet;
        let (bytes, truesize) = (packet.wire_bytes().get(), packet.truesize().get());
        self.len -= 1;
        self.backlog -= bytes;
        self.memory -= truesize;
        Some((self.packets.pop_front(queue)?, bytes))
    }
}

/// What CoDel drains: one bucket, but the backlog of all, which is what the kernel compares with the
/// MTU.
struct Drain<'a, P> {
    held: &'a mut Held<P>,
    queue: &'a mut List,
    queue_bytes: &'a mut u64,
    /// Bytes of the packet last taken.
    taken_bytes: u64,
}

impl<P: Frame> Source<P> for Drain<'_, P> {
    #[inline]
    fn head(&self) -> Option<(Time, u64)> {
        let head = self.held.packets.front(self.queue)?;
        Some((head.since, self.held.backlog - head.packet.wire_bytes().get()))
    }

    #[inline]
    fn take(&mut self) -> Option<Queued<P>> {
        let (head, bytes) = self.held.pop(self.queue)?;
        *self.queue_bytes -= bytes;
        self.taken_bytes = bytes;
        Some(head)
    }
}

impl<P: Frame> FqCodel<P> {
    /// Empty queues.
    ///
    /// # Panics
    /// When `flows` is not within 1 to 65536.
    pub fn new(mut config: Config) -> Self {
        assert!(
            (1..=65_536).contains(&config.flows),
            "flows must be within 1 to 65536, got {}",
            config.flows
        );
        let (minimum, most) = (*QUANTA.start() as u64, *QUANTA.end() as u64);
        config.quantum = config.quantum.clamp(Bytes::new(minimum), Bytes::new(most));
        let parameters = Parameters::new(config.target, config.interval, config.mtu)
            .with_ecn(config.ecn)
            .with_ce_threshold(
                config.ce_threshold,
                config.ce_threshold_selector,
                config.ce_threshold_mask,
            );
        FqCodel {
            config,
            parameters,
            flows: (0..config.flows).map(|_| Flow::default()).collect(),
            backlogs: vec![0; config.flows as usize],
            held: Held { packets: Slab::default(), len: 0, backlog: 0, memory: 0 },
            new: Turns::default(),
            old: Turns::default(),
            is_one_at_shaper: false,
        }
    }

    /// Drops from the front of the fattest bucket, the first of equals, until half of it or
    /// `drop_batch` packets are gone (`fq_codel_drop`).
    #[cold]
    fn drop_from_fattest(&mut self, outcome: &mut Outcome<P>) {
        let (mut fattest, mut most) = (0, 0);
        for (i, &bytes) in self.backlogs.iter().enumerate() {
            if bytes > most {
                (fattest, most) = (i, bytes);
            }
        }
        let flow = &mut self.flows[fattest];
        let (mut dropped, mut dropped_bytes) = (0, 0);
        while let Some((head, bytes)) = self.held.pop(&mut flow.queue) {
            dropped += 1;
            dropped_bytes += bytes;
            outcome.drop(head.packet, Cause::Overflow);
            if dropped >= self.config.drop_batch || dropped_bytes >= most / 2 {
                break;
            }
        }
        flow.codel.add_signals(dropped);
        self.backlogs[fattest] -= dropped_bytes;
    }

    /// The bucket whose turn it is, and whether it is a new one. Those that used up their deficit
    /// go to the end of the old ones.
    #[inline]
    fn next_turn(&mut self) -> Option<(usize, bool)> {
        loop {
            let is_new = self.new.len > 0;
            let turns = if is_new { &mut self.new } else { &mut self.old };
            if turns.len == 0 {
                return None;
            }
            let flow = &mut self.flows[turns.first as usize];
            if flow.deficit > 0 {
                return Some((turns.first as usize, is_new));
            }
            flow.deficit += self.config.quantum.get() as i64;
            let i = turns.pop(&self.flows);
            self.old.push(&mut self.flows, i);
        }
    }

    /// The bucket whose turn it is is empty. A new one waits among the old ones once more, so that it
    /// cannot be new again at once and starve them.
    #[inline]
    fn retire(&mut self, is_new: bool) {
        let turns = if is_new { &mut self.new } else { &mut self.old };
        let i = turns.pop(&self.flows);
        if is_new && self.old.len > 0 {
            self.old.push(&mut self.flows, i);
        } else {
            self.flows[i as usize].has_turn = false;
        }
    }
}

impl<P: Frame> Qdisc<P> for FqCodel<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: P, outcome: &mut Outcome<P>) {
        let i = bucket(packet.flow_hash(), self.config.perturbation, self.config.flows);
        let flow = &mut self.flows[i as usize];
        let bytes = packet.wire_bytes().get();
        self.backlogs[i as usize] += bytes;
        self.held.push(&mut flow.queue, Queued { since: now, packet }, bytes);
        if !flow.has_turn {
            flow.has_turn = true;
            flow.deficit = self.config.quantum.get() as i64;
            self.new.push(&mut self.flows, i);
        }
        let fits = self.held.len as u64 + u64::from(self.is_one_at_shaper) <= self.config.limit
            && self.held.memory <= self.config.memory_limit.get();
        if !fits {
            self.drop_from_fattest(outcome);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        loop {
            let (i, is_new) = self.next_turn()?;
            let flow = &mut self.flows[i];
            let mut drain = Drain {
                held: &mut self.held,
                queue: &mut flow.queue,
                queue_bytes: &mut self.backlogs[i],
                taken_bytes: 0,
            };
            let head = flow.codel.dequeue(now, &self.parameters, &mut drain, outcome);
            if head.is_some() {
                flow.deficit -= drain.taken_bytes as i64;
                return head;
            }
            self.retire(is_new);
        }
    }

    fn backlog(&self) -> Bytes {
        Bytes::new(self.held.backlog)
    }

    fn len(&self) -> usize {
        self.held.len
    }

    fn wakes(&self) -> bool {
        false
    }

    #[inline]
    fn shaper_holds(&mut self, bytes: Bytes) {
        self.is_one_at_shaper = bytes > Bytes::ZERO;
    }

    fn head_since(&self) -> Option<Time> {
        let head = |flow: &Flow| self.held.packets.front(&flow.queue).map(|head| head.since);
        let turns = || self.new.iter(&self.flows).chain(self.old.iter(&self.flows));
        let ready = turns().take(LOOKED_AT).filter(|flow| flow.deficit > 0).find_map(head);
        ready.or_else(|| turns().find_map(head))
    }

    fn for_each(&self, each: &mut dyn FnMut(&P)) {
        self.held.packets.items().for_each(|q| each(&q.packet));
    }
}

#[cfg(test)]
mod tests;
