//! Proportional integral controller enhanced (RFC 8033; net/sched/sch_pie.c): one queue, from which
//! packets are dropped as they come, with a probability that a timer moves.

mod control;

use super::jiffies::Jiffies;
use super::{Cause, Outcome, Qdisc, Queued};
use crate::frame::Frame;
use crate::rng::Rng;
use control::{span_ticks, Parameters, State, ONE};
use std::collections::VecDeque;
use units::{Bytes, Span, Time};

/// How it is set; defaults are those of `pie_params_init`.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Packets that it holds; what comes beyond is dropped. Default 1000, from 0.
    pub limit: u64,
    /// Delay that the controller aims at. Default 15 ms, in microseconds (RFC 8033, section 4.2).
    pub target: Span,
    /// Time between two updates of the probability, which the kernel rounds up to ticks and its timer
    /// wheel prolongs by one. Default 15 ms, in microseconds; 0 updates once only.
    pub tupdate: Span,
    /// Weight of the delay's distance from target, in 1/16 of a probability a second. Default 2
    /// (0.125), 0 to 32.
    pub alpha: u32,
    /// Weight of the delay's growth since the last update, in 1/16 of a probability a second. Default
    /// 20 (1.25), 0 to 32.
    pub beta: u32,
    /// Marks ECN-capable packets instead of dropping them, where the probability is small. Default
    /// off.
    pub ecn: bool,
    /// Probability up to which `ecn` marks, in percent; above it drops. Default 10, 0 to 100 (RFC
    /// 8033, section 5.1).
    pub ecn_limit: u32,
    /// Scales the probability with a packet's length, up to an MTU. Default off (RFC 8033, section
    /// 5.3).
    pub bytemode: bool,
    /// Takes the delay from the backlog and a measured drain rate (RFC 8033, section 5.2) instead of
    /// the time that packets waited. Default off.
    pub dq_rate_estimator: bool,
    /// Longest packet, bytes on the wire; what finds less than two of these is not dropped. Default
    /// 1514 (`psched_mtu`), 1 to 2^20; what is outside becomes the nearest of these.
    pub mtu: Bytes,
    /// The kernel's ticks a second, which the timer counts in. Default 1000, 1 to 10000.
    pub hz: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            limit: 1000,
            target: Span::from_ms(15),
            tupdate: Span::from_ms(15),
            alpha: 2,
            beta: 20,
            ecn: false,
            ecn_limit: 10,
            bytemode: false,
            dq_rate_estimator: false,
            mtu: Bytes::new(1514),
            hz: 1000,
        }
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
    rng: Rng,
}

impl<P: Frame> Pie<P> {
    /// An empty queue, set up at time zero; the first update is half a second later.
    ///
    /// # Panics
    /// When `hz` is not within 1 to 10000.
    pub fn new(config: Config, rng: Rng) -> Self {
        let jiffies = Jiffies::new(config.hz);
        Pie {
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
            updates_at: Some(jiffies.expiry(Time::ZERO, jiffies.half_second())),
            queue: VecDeque::new(),
            backlog: 0,
            rng,
        }
    }

    /// Whether a packet may be queued, marked or not.
    fn admits(&mut self, packet: &mut P, outcome: &mut Outcome<P>) -> bool {
        let len = packet.wire_bytes().get();
        if !self.state.drops_early(&self.parameters, self.backlog, len, &mut self.rng) {
            return true;
        }
        let marks = self.ecn && self.state.probability <= self.ecn_most;
        marks && outcome.mark(packet, Cause::Aqm)
    }
}

impl<P: Frame> Qdisc<P> for Pie<P> {
    fn enqueue(&mut self, now: Time, mut packet: P, outcome: &mut Outcome<P>) {
        let cause = if self.queue.len() as u64 >= self.limit {
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
            self.state.update(&self.parameters, self.backlog);
            self.updates_at = (self.period > 0).then(|| self.jiffies.expiry(now, self.period));
        }
    }

    fn backlog(&self) -> Bytes {
        Bytes::new(self.backlog)
    }

    fn len(&self) -> usize {
        self.queue.len()
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
