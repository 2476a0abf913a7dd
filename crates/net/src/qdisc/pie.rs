//! Proportional integral controller enhanced (RFC 8033; net/sched/sch_pie.c): one queue, from which
//! packets are dropped as they come, with a probability that a timer moves.

mod control;

use super::jiffies::Jiffies;
use super::{Cause, Outcome, Qdisc, Queued};
use crate::frame::Frame;
use crate::rng::Rng;
use crate::settings::{settings, QUEUE_PACKETS, TIMES};
use control::{span_ticks, Parameters, State, ONE};
use std::collections::VecDeque;
use units::{Bytes, Span, Time};

settings! {
    /// Proportional integral controller, enhanced (RFC 8033).
    // Defaults are those of `pie_params_init`.
    pub struct Config for "pie" {
        /// Packets that it holds.
        limit "limit_packets": u64 [QUEUE_PACKETS, Queue] = 1000;
        /// Delay that it aims at.
        // RFC 8033, section 4.2
        target "target_ns": Span [TIMES] = Span::from_ms(15);
        /// Time between two updates of the share dropped.
        // The kernel rounds it up to ticks, and its timer wheel prolongs it by one
        tupdate "tupdate_ns": Span [TIMES] = Span::from_ms(15);
        /// Weight of the delay's distance from `target`, in 1/16 per second.
        alpha "alpha": u32 [0..=32] = 2;
        /// Weight of the delay's growth, in 1/16 per second.
        beta "beta": u32 [0..=32] = 20;
        /// Marks ECN-capable packets instead of dropping them, while the share is small.
        ecn "ecn": bool = false;
        /// Share in percent up to which `ecn` marks.
        // RFC 8033, section 5.1
        ecn_limit "ecn_limit_percent": u32 [0..=100] = 10;
        /// Scales the share with a packet's length.
        // Up to an MTU: RFC 8033, section 5.3
        bytemode "bytemode": bool = false;
        /// Takes the delay from a measured drain rate instead of the time that packets waited.
        // RFC 8033, section 5.2
        dq_rate_estimator "dq_rate_estimator": bool = false;
    }
    given {
        /// Longest packet, bytes on the wire: what finds less than two of these is not dropped (`psched_mtu`).
        /// What is not within 1 to 2^20 becomes the nearest of these.
        mtu: Bytes = Bytes::new(1514);
        /// The kernel's ticks a second, which the timer counts in: 1 to 10000.
        hz: u32 = 1000;
    }
}

/// See the module documentation.
#[derive(Debug)]
pub struct Pie<P> {
    limit: u64,
    ecn: bool,
    /// Probability up to which it marks.
    ecn_most: u64,
    parameters: Parameters,
    state: State,
    jiffies: Jiffies,
    /// Ticks between updates.
    period: u64,
    updates_at: Option<Time>,
    queue: VecDeque<Queued<P>>,
    backlog: u64,
    /// Bytes of the packet that a shaper holds.
    at_shaper: u64,
    rng: Rng,
}

impl<P: Frame> Pie<P> {
    /// An empty queue, set up at time zero; the first update is half a second later.
    ///
    /// # Panics
    /// When `hz` is not within 1 to 10000.
    pub fn new(config: Config, rng: Rng) -> Self {
        Pie::with_ticks(config, Jiffies::new(config.hz), rng)
    }

    /// An empty queue of a testbed that was [set up before](Jiffies::set_up_before): its updates go on.
    ///
    /// # Panics
    /// When `hz` is not within 1 to 10000.
    pub fn set_up_before(config: Config, mut rng: Rng) -> Self {
        let jiffies = Jiffies::new(config.hz).set_up_before(&mut rng);
        Pie::with_ticks(config, jiffies, rng)
    }

    fn with_ticks(config: Config, jiffies: Jiffies, rng: Rng) -> Self {
        let mut pie = Pie {
            limit: config.limit,
            ecn: config.ecn,
            ecn_most: (u128::from(ONE) * u128::from(config.ecn_limit) / 100) as u64,
            parameters: Parameters {
                target: span_ticks(config.target),
                alpha: u64::from(config.alpha),
                beta: u64::from(config.beta),
                mtu: config.mtu.get().clamp(1, 1 << 20),
                bytemode: config.bytemode,
                dq_rate_estimator: config.dq_rate_estimator,
            },
            state: State::default(),
            jiffies,
            period: jiffies.covering(config.tupdate),
            updates_at: None,
            queue: VecDeque::new(),
            backlog: 0,
            at_shaper: 0,
            rng,
        };
        pie.updates_at = jiffies.first(pie.period, || pie.state.update(&pie.parameters, 0));
        pie
    }

    /// Whether a packet may be queued, marked or not.
    fn admits(&mut self, packet: &mut P, outcome: &mut Outcome<P>) -> bool {
        let len = packet.wire_bytes().get();
        let backlog = self.backlog + self.at_shaper;
        if !self.state.drops_early(&self.parameters, backlog, len, &mut self.rng) {
            return true;
        }
        let marks = self.ecn && self.state.probability <= self.ecn_most;
        marks && outcome.mark(packet, Cause::Aqm)
    }
}

impl<P: Frame> Qdisc<P> for Pie<P> {
    fn enqueue(&mut self, now: Time, mut packet: P, outcome: &mut Outcome<P>) {
        let waiting = self.queue.len() as u64 + u64::from(self.at_shaper > 0);
        let cause = if waiting >= self.limit {
            Cause::Overflow
        } else if self.admits(&mut packet, outcome) {
            self.backlog += packet.wire_bytes().get();
            self.queue.push_back(Queued { since: now, packet });
            return;
        } else {
            Cause::Aqm
        };
        self.state.accumulated = 0;
        outcome.drop(packet, cause);
    }

    fn dequeue(&mut self, now: Time, _outcome: &mut Outcome<P>) -> Option<Queued<P>> {
        let head = self.queue.pop_front()?;
        let len = head.packet.wire_bytes().get();
        self.backlog -= len;
        self.state.on_dequeue(&self.parameters, now, head.since, len, self.backlog);
        Some(head)
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.updates_at
    }

    fn on_timer(&mut self, now: Time) {
        if self.updates_at.is_some_and(|at| at <= now) {
            self.state.update(&self.parameters, self.backlog + self.at_shaper);
            self.updates_at = (self.period > 0).then(|| self.jiffies.expiry(now, self.period));
        }
    }

    fn backlog(&self) -> Bytes {
        Bytes::new(self.backlog)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn shaper_holds(&mut self, bytes: Bytes) {
        self.at_shaper = bytes.get();
    }

    fn head_since(&self) -> Option<Time> {
        self.queue.front().map(|head| head.since)
    }

    fn for_each(&self, each: &mut dyn FnMut(&P)) {
        self.queue.iter().for_each(|q| each(&q.packet));
    }
}

#[cfg(test)]
mod tests;
