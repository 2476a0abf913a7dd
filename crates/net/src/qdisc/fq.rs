//! `fq` as a forwarding discipline (net/sched/sch_fq.c): flows take turns by bytes, within three bands
//! of priority, and may be held to a rate each.
//!
//! Packets that come from another host have no socket and no departure time. (Between namespaces of one machine Linux
//! keeps the departure time since 5.18, and orders a flow's packets by it.) So a flow is a hash of 10 bits, the
//! horizon never matters, packets of a flow leave in the order in which they came, and the only pace is
//! `maxrate`. The kernel forgets flows that were idle for 3 s when it comes across them in a search;
//! here a flow keeps its credit. Its timer may be late by `timer_slack` (10 us); here it is on time.

use super::{Cause, Outcome, Qdisc, Queued};
use crate::frame::{spread, Frame};
use crate::lists::{List, Slab};
use crate::rng::Rng;
use crate::settings::{settings, DELAYS, QUANTA, QUEUE_PACKETS, RATES};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::{Bytes, Rate, Span, Time};

#[cfg(test)]
mod tests;

const BANDS: usize = 3;
/// Packets that the fast path holds at most while others wait (`fq_fastpath_check`).
const FAST_MAX: usize = 8;
/// No packet delays the next of its flow by more.
const DELAY_MAX_NS: u64 = 1_000_000_000;

settings! {
    /// Fair queueing (`sch_fq`), here for forwarded packets.
    // Defaults are the kernel's, for a link with 1514-byte packets.
    pub struct Config for "fq" {
        /// Packets of each band.
        limit "limit_packets": u64 [QUEUE_PACKETS, Queue] = 10_000;
        /// Packets that it holds of one flow.
        flow_limit "flow_limit_packets": u32 [1..=u32::MAX as i128, Queue] = 100;
        /// Wire bytes that a flow may send in its turn.
        quantum "quantum_bytes": u32 [QUANTA, Size] = 2 * 1514;
        /// Wire bytes that a new flow may send at first.
        initial_quantum "initial_quantum_bytes": u32 [QUANTA, Size] = 10 * 1514;
        /// Largest rate of a flow.
        maxrate "maxrate_bps": Option<Rate> [RATES] = None;
        /// Rate up to which every packet of a flow is paced.
        // Above it one in a quantum
        low_rate_threshold "low_rate_threshold_bps": Rate [RATES] = Rate::from_bps(550_000);
        /// Lateness above which every ECN-capable packet is marked.
        // The kernel's default, 2^32 - 1 us, is never
        ce_threshold "ce_threshold_ns": Option<Span> [DELAYS] = None;
        /// Bits of the hash that tell flows apart, as a mask; 0: one queue for all.
        // Of packets that no socket of this host owns (tc-fq(8))
        orphan_mask "orphan_mask": u32 [0..=65_535] = 1023;
    }
    given {
        /// A flow that was off the lists for longer starts with a quantum at least.
        refill_delay: Span = Span::from_ms(40);
        /// Ticks per second in which `refill_delay` is counted (`CONFIG_HZ`).
        hz: u32 = 250;
        /// Whether flows are held to `maxrate` at all (tc `pacing`).
        pacing: bool = true;
        /// Bytes added to the credit of the bands in each round (tc `weights`, at least 16384 each).
        band_quanta: [u32; 3] = [9 << 16, 3 << 16, 1 << 16];
    }
}

/// Band of a forwarded IPv4 packet: the type-of-service bits give its priority (`ip_forward`,
/// `ip_tos2prio`), the priority its band (`sch_default_prio2band`). Minimum delay goes first, maximum
/// throughput last.
const fn band(dscp: u8) -> usize {
    match dscp & 6 {
        4 => 0,
        2 => 2,
        _ => 1,
    }
}

/// Stands for "none" among the numbers of flows.
const NIL: u32 = u32::MAX;

/// Flows in the order of their turns.
#[derive(Debug)]
struct Turns {
    first: u32,
    last: u32,
}

/// Where a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On no list since this tick.
    Detached(u64),
    /// On a list of its band.
    Listed,
    /// Held until `next_packet`.
    Throttled,
}

#[derive(Debug)]
struct Flow {
    packets: List,
    len: u32,
    credit: i64,
    band: usize,
    place: Place,
    /// The next one on its list.
    next: u32,
    /// When its rate lets the next packet go; zero before the first that was paced.
    next_packet: Time,
}

#[derive(Debug)]
struct Band {
    new: Turns,
    old: Turns,
    credit: i64,
    quantum: i64,
    /// Packets of this band that wait in flows.
    len: u64,
}

/// A packet and the band that it was counted in, which its flow may have left.
#[derive(Debug)]
struct Waiting<P> {
    queued: Queued<P>,
    band: usize,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Fq<P> {
    config: Config,
    packets: Slab<Waiting<P>>,
    flows: Vec<Flow>,
    bands: [Band; BANDS],
    /// Band that is served.
    current: usize,
    /// Packets that came while no flow had a turn to wait for: they go first.
    fast: VecDeque<Queued<P>>,
    /// Throttled flows, the earliest first, ties in the order in which they were throttled.
    throttled: BinaryHeap<Reverse<(Time, u64, u32)>>,
    throttlings: u64,
    /// Flows with packets, throttled ones too.
    busy: usize,
    len: usize,
    backlog: u64,
    wakeup: Option<Time>,
    salt: u32,
}

impl<P: Frame> Fq<P> {
    /// An empty one. `rng` perturbs the hash.
    pub fn new(config: Config, mut rng: Rng) -> Self {
        let flow = |_| Flow {
            packets: List::default(),
            len: 0,
            credit: i64::from(config.initial_quantum),
            band: 0,
            place: Place::Detached(u64::MAX),
            next: NIL,
            next_packet: Time::ZERO,
        };
        let none = || Turns { first: NIL, last: NIL };
        let band = |quantum| Band {
            new: none(),
            old: none(),
            credit: 0,
            quantum: i64::from(quantum),
            len: 0,
        };
        Fq {
            config,
            packets: Slab::default(),
            flows: (0..=config.orphan_mask).map(flow).collect(),
            bands: config.band_quanta.map(band),
            current: 0,
            fast: VecDeque::new(),
            throttled: BinaryHeap::new(),
            throttlings: 0,
            busy: 0,
            len: 0,
            backlog: 0,
            wakeup: None,
            salt: rng.next_u64() as u32,
        }
    }

    /// Whether a packet may pass by all flows: none of them could go now (`fq_fastpath_check`). Without
    /// `maxrate` none is ever throttled.
    fn is_fast(&self) -> bool {
        let idle = self.busy == 0 && self.fast.len() < FAST_MAX;
        self.config.maxrate.is_none() && idle
    }

    fn tick(&self, at: Time) -> u64 {
        (u128::from(at.as_ns()) * u128::from(self.config.hz) / 1_000_000_000) as u64
    }

    /// A detached flow gets a turn, and credit after a pause.
    fn attach(&mut self, now: Time, flow: usize, since: u64) {
        self.give_turn(flow, true);
        let delay = u128::from(self.config.refill_delay.as_ns()) * u128::from(self.config.hz);
        let delay = delay.div_ceil(1_000_000_000) as u64;
        if since != u64::MAX && self.tick(now) > since + delay {
            let quantum = i64::from(self.config.quantum);
            self.flows[flow].credit = self.flows[flow].credit.max(quantum);
        }
    }

    /// Puts a flow after the others of its band.
    fn give_turn(&mut self, flow: usize, new: bool) {
        let band = &mut self.bands[self.flows[flow].band];
        let turns = if new { &mut band.new } else { &mut band.old };
        let last = std::mem::replace(&mut turns.last, flow as u32);
        if turns.first == NIL {
            turns.first = flow as u32;
        } else {
            self.flows[last as usize].next = flow as u32;
        }
        self.flows[flow].next = NIL;
        self.flows[flow].place = Place::Listed;
    }

    /// The flow whose turn it is, and whether it is new. Bands take turns by their credit.
    fn next_flow(&mut self) -> Option<(usize, bool)> {
        let mut tried = 0;
        loop {
            let band = &self.bands[self.current];
            let is_new = band.new.first != NIL;
            let first = if is_new { band.new.first } else { band.old.first };
            if band.credit > 0 && first != NIL {
                return Some((first as usize, is_new));
            }
            tried += 1;
            if tried > BANDS {
                return None;
            }
            self.current = (self.current + 1) % BANDS;
            let band = &mut self.bands[self.current];
            band.credit = (band.credit + band.quantum).min(band.quantum);
            if band.credit <= 0 {
                tried = 0;
            }
        }
    }

    /// Takes the flow whose turn it was off its list.
    fn end_turn(&mut self, flow: usize, is_new: bool) {
        let band = &mut self.bands[self.current];
        let turns = if is_new { &mut band.new } else { &mut band.old };
        turns.first = self.flows[flow].next;
    }

    fn throttle(&mut self, flow: usize, until: Time) {
        self.flows[flow].next_packet = until;
        self.flows[flow].place = Place::Throttled;
        self.throttled.push(Reverse((until, self.throttlings, flow as u32)));
        self.throttlings += 1;
    }

    /// Throttled flows that are due get a turn (`fq_check_throttled`).
    fn release(&mut self, now: Time) {
        while let Some(Reverse((at, _, flow))) = self.throttled.peek() {
            if *at > now {
                return;
            }
            let flow = *flow as usize;
            self.throttled.pop();
            self.give_turn(flow, false);
        }
    }

    /// The head of a flow leaves.
    fn send(&mut self, now: Time, flow: usize, outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        let Waiting { mut queued, band } = self.packets.pop_front(&mut self.flows[flow].packets)?;
        let late = now.since(queued.since.max(self.flows[flow].next_packet));
        if self.config.ce_threshold.is_some_and(|most| late > most) {
            outcome.mark(&mut queued.packet, Cause::Threshold);
        }
        let len = queued.packet.wire_bytes().get();
        let state = &mut self.flows[flow];
        state.len -= 1;
        state.credit -= len as i64;
        self.busy -= usize::from(state.len == 0);
        self.bands[band].len -= 1;
        self.bands[self.current].credit -= len as i64;
        self.len -= 1;
        self.backlog -= len;
        self.pace(now, flow, len);
        Some(queued)
    }

    /// When the next packet of the flow may leave, after one of `len` bytes.
    fn pace(&mut self, now: Time, flow: usize, len: u64) {
        let Some(rate) = self.config.maxrate.filter(|_| self.config.pacing) else { return };
        let mut len = len;
        let flow = &mut self.flows[flow];
        let rate = rate.as_bps() / 8;
        if rate <= self.config.low_rate_threshold.as_bps() / 8 {
            flow.credit = 0;
        } else {
            len = len.max(u64::from(self.config.quantum));
            if flow.credit > 0 {
                return;
            }
        }
        let mut delay = (len * 1_000_000_000 / rate.max(1)).min(DELAY_MAX_NS);
        if flow.next_packet != Time::ZERO {
            delay -= (delay / 2).min(now.since(flow.next_packet).as_ns());
        }
        flow.next_packet = now + Span::from_ns(delay);
    }
}

impl<P: Frame> Qdisc<P> for Fq<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: P, outcome: &mut Outcome<P>) {
        let band = band(packet.dscp());
        let flow = (spread(packet.flow_hash() ^ self.salt) & self.config.orphan_mask) as usize;
        let is_fast = self.is_fast();
        if self.bands[band].len >= self.config.limit
            || (!is_fast && self.flows[flow].len >= self.config.flow_limit)
        {
            outcome.drop(packet, Cause::Overflow);
            return;
        }
        self.len += 1;
        self.backlog += packet.wire_bytes().get();
        let queued = Queued { since: now, packet };
        if is_fast {
            self.fast.push_back(queued);
            return;
        }
        // The kernel lists the flow before it takes the packet's band.
        if let Place::Detached(since) = self.flows[flow].place {
            self.attach(now, flow, since);
        }
        self.bands[band].len += 1;
        let state = &mut self.flows[flow];
        state.band = band;
        self.busy += usize::from(state.len == 0);
        state.len += 1;
        self.packets.push_back(&mut state.packets, Waiting { queued, band });
    }

    #[inline]
    fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        self.wakeup = None;
        if let Some(queued) = self.fast.pop_front() {
            self.len -= 1;
            self.backlog -= queued.packet.wire_bytes().get();
            return Some(queued);
        }
        if self.len == 0 {
            return None;
        }
        self.release(now);
        while let Some((flow, is_new)) = self.next_flow() {
            let state = &mut self.flows[flow];
            if state.credit <= 0 {
                state.credit += i64::from(self.config.quantum);
                self.end_turn(flow, is_new);
                self.give_turn(flow, false);
            } else if state.packets.is_empty() {
                self.end_turn(flow, is_new);
                if is_new {
                    self.give_turn(flow, false);
                } else {
                    self.flows[flow].place = Place::Detached(self.tick(now) | 1);
                }
            } else if now < state.next_packet {
                let until = state.next_packet;
                self.end_turn(flow, is_new);
                self.throttle(flow, until);
            } else {
                return self.send(now, flow, outcome);
            }
        }
        self.wakeup = self.throttled.peek().map(|Reverse((at, ..))| *at);
        None
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.wakeup
    }

    fn backlog(&self) -> Bytes {
        Bytes::new(self.backlog)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn head_since(&self) -> Option<Time> {
        if let Some(head) = self.fast.front() {
            return Some(head.since);
        }
        let first = |flow: u32| {
            let flow = self.flows.get(flow as usize)?;
            self.packets.front(&flow.packets).map(|head| head.queued.since)
        };
        let band = &self.bands[self.current];
        let bands = std::iter::once(band).chain(&self.bands);
        let listed = bands.flat_map(|band| [band.new.first, band.old.first]);
        let throttled = self.throttled.peek().map(|Reverse((.., flow))| *flow);
        listed.chain(throttled).find_map(first)
    }

    fn for_each(&self, each: &mut dyn FnMut(&P)) {
        self.fast.iter().for_each(|queued| each(&queued.packet));
        for flow in &self.flows {
            self.packets.iter(&flow.packets).for_each(|(_, w)| each(&w.queued.packet));
        }
    }
}
