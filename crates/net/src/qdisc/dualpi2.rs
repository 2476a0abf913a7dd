//! `dualpi2`: two queues, one for L4S and one for classic traffic, that a PI controller couples
//! (RFC 9332; net/sched/sch_dualpi2.c of Linux 6.17, since 6.12 has none).
//!
//! The controller's probability `p` follows the longer of the two delays. Classic packets are dropped or
//! marked with `p^2`, L4S packets marked with `k p` and, above a step threshold, always. A weighted
//! round robin serves the L queue first and still leaves the C queue its share.
//!
//! Packets are single segments here, so that splitting super-packets has no subject; classification by
//! priority and filters is left out.

use super::{Cause, Outcome, Qdisc, Queued};
use crate::frame::{ecn, Frame};
use crate::rng::Rng;
use crate::settings::{settings, Setting, Unit, QUEUE_PACKETS, TIMES};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use units::{Bytes, Span, Time};

#[cfg(test)]
mod tests;

/// Above what the step of the L queue marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Step {
    /// Packets that have waited longer.
    Sojourn(Span),
    /// Packets that leave more than this many behind; not in a plan.
    #[serde(skip)]
    Packets(u64),
}

impl Setting for Step {
    const UNIT: Unit = Unit::Time;

    fn number(self) -> Option<i128> {
        match self {
            Step::Sojourn(span) => span.number(),
            Step::Packets(_) => None,
        }
    }
}

/// What goes into the L queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Classifier {
    /// ECT(1) and CE (RFC 9331, section 5.1; tc `l4s_ect`).
    #[default]
    L4s,
    /// Everything ECN-capable (tc `any_ect`).
    AnyEct,
}

settings! {
    /// The coupled queues of L4S (RFC 9332).
    // Defaults are the kernel's.
    pub struct Config for "dualpi2" {
        /// Packets in both queues.
        limit "limit_packets": u64 [QUEUE_PACKETS, Queue] = 10_000;
        /// Delay that the classic queue aims at.
        target "target_ns": Span [TIMES] = Span::from_ms(15);
        /// Time between two updates.
        tupdate "tupdate_ns": Span [TIMES] = Span::from_ms(16);
        /// Integral gain, 1/256 Hz (41: 0.16 Hz).
        alpha "alpha": u32 [GAINS] = 41;
        /// Proportional gain, 1/256 Hz (819: 3.2 Hz).
        beta "beta": u32 [GAINS] = 819;
        /// Coupling of the two queues' shares.
        // 2: equal windows at equal round-trip times
        coupling "coupling": u8 [1..=255] = 2;
        /// Delay of the low-latency queue above which it marks.
        step "step_ns": Step [TIMES] = Step::Sojourn(Span::from_ms(1));
        /// The step spares packets that found fewer packets than this in the low-latency queue.
        min_qlen_step "min_qlen_step": u64 [0..=1_000_000] = 0;
        /// Weight of the classic queue in percent.
        c_protection "c_protection_percent": u8 [0..=100] = 10;
        /// Drops from both queues once the low-latency queue would be marked always.
        // With `p^2`, ECN-capable or not. Otherwise `k p` stops at 1 and the queue grows to its limit
        drop_overload "drop_overload": bool = true;
        /// Decides when packets come instead of when they leave.
        drop_early "drop_early": bool = false;
    }
    given {
        /// Bytes of truesize in both queues; twice a full-sized packet for each of the limit unless given.
        memory_limit: Option<Bytes> = None;
        /// What goes into the L queue.
        classifier: Classifier = Classifier::L4s;
        /// Largest packet with its link header, bytes (`psched_mtu`).
        mtu: Bytes = Bytes::new(1514);
    }
}

/// Gains, 1/256 Hz.
const GAINS: RangeInclusive<i128> = 1..=i32::MAX as i128;

/// Shift between the gains that are set and those in use, in units of 256 and 64 ns.
const GAIN_SHIFT: u32 = 2;
/// Units of the gains in use, ns.
const GAIN_NS: u64 = 64;

/// The controller (`calculate_probability`). Probability 1 is 2^32 - 1.
#[derive(Debug)]
struct Pi2 {
    target_ns: i64,
    alpha: i64,
    beta: i64,
    coupling: u8,
    capped: bool,
    last_ns: i64,
    prob: u32,
}

impl Pi2 {
    fn new(config: &Config) -> Pi2 {
        let gain = |per_256_s: u32| {
            ((u64::from(per_256_s) * u64::from(u32::MAX)) >> GAIN_SHIFT) / 1_000_000_000
        };
        Pi2 {
            target_ns: config.target.as_ns() as i64,
            alpha: gain(config.alpha) as i64,
            beta: gain(config.beta) as i64,
            coupling: config.coupling.max(1),
            capped: !config.drop_overload,
            last_ns: 0,
            prob: 0,
        }
    }

    /// One period later, with the longer of the two queues' delays. The change is cut to 32 bits, as the
    /// kernel does.
    fn update(&mut self, delay: Span) {
        let delay_ns = delay.as_ns() as i64;
        let delta = (delay_ns - self.target_ns)
            .wrapping_mul(self.alpha)
            .wrapping_add((delay_ns - self.last_ns).wrapping_mul(self.beta));
        self.last_ns = delay_ns;
        let change = (delta.unsigned_abs() / GAIN_NS) as u32;
        self.prob = if delta > 0 {
            self.prob.saturating_add(change)
        } else {
            self.prob.saturating_sub(change)
        };
        if self.capped {
            self.prob = self.prob.min(u32::MAX / u32::from(self.coupling));
        }
    }

    /// `k p`, which may exceed 1: overload.
    fn coupled(&self) -> u64 {
        u64::from(self.prob) * u64::from(self.coupling)
    }
}

/// What waits: a packet, and what is known of it from its arrival.
#[derive(Debug)]
struct Entry<P> {
    queued: Queued<P>,
    /// ECN-capable.
    capable: bool,
    /// The step applies to it.
    step: bool,
}

/// One of the two queues.
#[derive(Debug)]
struct Queue<P> {
    entries: VecDeque<Entry<P>>,
}

impl<P> Queue<P> {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn delay(&self, now: Time) -> Span {
        self.entries.front().map_or(Span::ZERO, |head| now.since(head.queued.since))
    }
}

/// See the module documentation.
#[derive(Debug)]
pub struct Dualpi2<P> {
    config: Config,
    memory_limit: u64,
    l: Queue<P>,
    c: Queue<P>,
    pi2: Pi2,
    next_update: Time,
    /// Whose turn it is where both wait: the C queue's if positive. Bytes times percent.
    credit: i64,
    backlog: u64,
    /// Bytes of the packet that a shaper holds.
    at_shaper: u64,
    memory: u64,
    rng: Rng,
}

impl<P: Frame> Dualpi2<P> {
    /// Empty queues. `rng` decides whom the probabilities hit.
    ///
    /// # Panics
    /// When the C queue's weight exceeds 100 %.
    pub fn new(config: Config, rng: Rng) -> Self {
        let share = config.c_protection;
        assert!(share <= 100, "c_protection must be 0 to 100 %, got {share} %");
        let twice = config.limit.saturating_mul(2 * config.mtu.get()).min(u64::from(u32::MAX));
        let empty = || Queue { entries: VecDeque::new() };
        Dualpi2 {
            config,
            memory_limit: config.memory_limit.map_or(twice, Bytes::get),
            l: empty(),
            c: empty(),
            pi2: Pi2::new(&config),
            next_update: Time::ZERO + config.tupdate,
            credit: Self::initial_credit(&config),
            backlog: 0,
            at_shaper: 0,
            memory: 0,
            rng,
        }
    }

    /// Empty queues of a testbed that was set up before time zero: the time until the first update is drawn.
    ///
    /// # Panics
    /// When the C queue's weight exceeds 100 %.
    pub fn set_up_before(config: Config, mut rng: Rng) -> Self {
        let left = 1 + rng.below(config.tupdate.as_ns().max(1));
        let next_update = Time::ZERO + Span::from_ns(left);
        Dualpi2 { next_update, ..Dualpi2::new(config, rng) }
    }

    fn initial_credit(config: &Config) -> i64 {
        config.mtu.get() as i64 * (2 * i64::from(config.c_protection) - 100)
    }

    fn is_l4s(&self, packet: &P) -> bool {
        match self.config.classifier {
            Classifier::L4s => packet.ecn() & ecn::ECT1 != 0,
            Classifier::AnyEct => packet.ecn() != ecn::NOT_ECT,
        }
    }

    /// Takes the head of the queue whose turn it is; tells whether it is the L queue, and how the credit
    /// changes if the packet is sent (`dequeue_packet`).
    fn take(&mut self) -> Option<(Entry<P>, bool, i64)> {
        let (l, c) = (self.l.len() > 0, self.c.len() > 0);
        let from_l = l && (!c || self.credit <= 0);
        let queue = if from_l { &mut self.l } else { &mut self.c };
        let Some(entry) = queue.entries.pop_front() else {
            self.credit = Self::initial_credit(&self.config);
            return None;
        };
        let len = entry.queued.packet.wire_bytes().get();
        self.backlog -= len;
        self.memory -= entry.queued.packet.truesize().get();
        let weight = i64::from(self.config.c_protection);
        let change = match (from_l, l && c) {
            (_, false) => 0,
            (true, true) => weight * len as i64,
            (false, true) => -(100 - weight) * len as i64,
        };
        Some((entry, from_l, change))
    }

    /// Whether a packet must go; it may be marked instead. Nothing happens while less than two full
    /// packets wait beside it (`must_drop`).
    fn must_drop(&mut self, packet: &mut P, l4s: bool, outcome: &mut Outcome<P>) -> bool {
        if self.backlog + self.at_shaper < 2 * self.config.mtu.get() {
            return false;
        }
        let capable = packet.ecn() != ecn::NOT_ECT;
        let coupled = self.pi2.coupled();
        let overload = coupled > u64::from(u32::MAX);
        let hit = match (l4s, overload) {
            (false, _) => self.hits_classic(),
            (true, true) if self.config.drop_overload && self.hits_classic() => return true,
            (true, true) => true,
            (true, false) => self.roll(coupled as u32),
        };
        let drops = hit && (!capable || (!l4s && overload));
        if hit && !drops {
            outcome.mark(packet, Cause::Aqm);
        }
        drops
    }

    /// With `p^2`.
    fn hits_classic(&mut self) -> bool {
        let prob = self.pi2.prob;
        self.roll(prob) && self.roll(prob)
    }

    fn roll(&mut self, prob: u32) -> bool {
        (self.rng.next_u64() >> 32) as u32 <= prob
    }

    /// The step of the L queue; tells whether a packet must go because it cannot be marked
    /// (`do_step_aqm`).
    fn step_drops(&self, now: Time, entry: &mut Entry<P>, outcome: &mut Outcome<P>) -> bool {
        let above = match self.config.step {
            Step::Sojourn(threshold) => now.since(entry.queued.since) > threshold,
            Step::Packets(threshold) => self.l.len() as u64 > threshold,
        };
        if !entry.step || !above {
            return false;
        }
        if entry.capable {
            outcome.mark(&mut entry.queued.packet, Cause::Threshold);
        }
        !entry.capable
    }
}

impl<P: Frame> Qdisc<P> for Dualpi2<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, mut packet: P, outcome: &mut Outcome<P>) {
        let l4s = self.is_l4s(&packet);
        let capable = packet.ecn() != ecn::NOT_ECT;
        let memory = packet.truesize().get();
        let waiting = self.len() as u64 + u64::from(self.at_shaper > 0);
        if waiting >= self.config.limit || self.memory + memory > self.memory_limit {
            outcome.drop(packet, Cause::Overflow);
            return;
        }
        if self.config.drop_early && self.must_drop(&mut packet, l4s, outcome) {
            outcome.drop(packet, Cause::Aqm);
            return;
        }
        self.memory += memory;
        self.backlog += packet.wire_bytes().get();
        let step = l4s && self.l.len() as u64 >= self.config.min_qlen_step;
        let queue = if l4s { &mut self.l } else { &mut self.c };
        queue.entries.push_back(Entry { queued: Queued { since: now, packet }, capable, step });
    }

    #[inline]
    fn dequeue(&mut self, now: Time, outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        while let Some((mut entry, l4s, credit)) = self.take() {
            let packet = &mut entry.queued.packet;
            if !self.config.drop_early && self.must_drop(packet, l4s, outcome) {
                outcome.drop(entry.queued.packet, Cause::Aqm);
            } else if l4s && self.step_drops(now, &mut entry, outcome) {
                outcome.drop(entry.queued.packet, Cause::Threshold);
            } else {
                self.credit += credit;
                return Some(entry.queued);
            }
        }
        None
    }

    fn next_wakeup(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer(&mut self, now: Time) {
        if now >= self.next_update {
            self.pi2.update(self.l.delay(now).max(self.c.delay(now)));
            self.next_update = now + self.config.tupdate;
        }
    }

    fn backlog(&self) -> Bytes {
        Bytes::new(self.backlog)
    }

    fn len(&self) -> usize {
        self.l.len() + self.c.len()
    }

    fn shaper_holds(&mut self, bytes: Bytes) {
        self.at_shaper = bytes.get();
    }

    fn head_since(&self) -> Option<Time> {
        let (l, c) = (self.l.entries.front(), self.c.entries.front());
        let head = if self.credit <= 0 { l.or(c) } else { c.or(l) };
        head.map(|entry| entry.queued.since)
    }

    fn for_each(&self, each: &mut dyn FnMut(&P)) {
        let entries = self.l.entries.iter().chain(&self.c.entries);
        entries.for_each(|entry| each(&entry.queued.packet));
    }
}
