//! PIE's controller (RFC 8033, sections 4 and 5; net/sched/sch_pie.c): a probability that follows the
//! queue's delay, and the draw by it.
//!
//! Integers are the kernel's: time in ticks of 64 ns, probabilities in 2^-56 of 64 bits that wrap.

use crate::rng::Rng;
use units::{Span, Time};

/// Probability 1 (`MAX_PROB`).
pub(super) const ONE: u64 = u64::MAX >> 8;
/// `PSCHED_TICKS_PER_SEC`.
const TICKS_PER_SECOND: u64 = 15_625_000;
/// Bytes over which the drain rate is measured (`QUEUE_THRESHOLD`).
const CYCLE: u64 = 16_384;
/// Burst allowance, 150 ms (RFC 8033, section 4.4).
const MAX_BURST: u64 = ticks(150_000_000);
/// Delay from which on the probability rises by 2 % more, 250 ms.
const HIGH_DELAY: u64 = ticks(250_000_000);

/// What the controller is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    /// Ticks.
    pub target: u64,
    /// Sixteenths.
    pub alpha: u64,
    /// Sixteenths.
    pub beta: u64,
    /// Bytes.
    pub mtu: u64,
    pub bytemode: bool,
    pub dq_rate_estimator: bool,
}

/// What it remembers (`struct pie_vars`).
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// Ticks that the packet sent last had waited, or 0 when it left nothing behind.
    delay: u64,
    /// The same at the last update.
    old_delay: u64,
    /// Ticks for which nothing more is dropped.
    burst: u64,
    /// Of the last packet sent, or of the start of the rate's cycle; ticks.
    stamp: Option<u64>,
    /// In 2^-56; it may exceed 1.
    pub probability: u64,
    /// Sum of the probability over packets since the last drop.
    pub accumulated: u64,
    /// Bytes sent in the rate's cycle.
    cycle: Option<u64>,
    /// Drain rate, bytes a tick times 2^8.
    rate: u32,
}

impl Default for State {
    fn default() -> Self {
        State {
            delay: 0,
            old_delay: 0,
            burst: MAX_BURST,
            stamp: None,
            probability: 0,
            accumulated: 0,
            cycle: None,
            rate: 0,
        }
    }
}

impl State {
    /// Whether a packet of `len` bytes is to be dropped that finds `backlog` bytes
    /// (`pie_drop_early`). The draw is held between 0.85 and 8.5 drops' worth of probability, so that
    /// drops neither cluster nor stay away (RFC 8033, section 5.4).
    pub fn drops_early(&mut self, p: &Parameters, backlog: u64, len: u64, rng: &mut Rng) -> bool {
        let is_calm = self.delay < p.target / 2 && self.probability < ONE / 5;
        if self.burst > 0 || is_calm || backlog < 2 * p.mtu {
            return false;
        }
        let probability = if p.bytemode && len <= p.mtu {
            len * (self.probability / p.mtu)
        } else {
            self.probability
        };
        self.accumulated =
            if probability == 0 { 0 } else { self.accumulated.wrapping_add(probability) };
        if self.accumulated < ONE / 100 * 85 {
            return false;
        }
        if self.accumulated >= ONE / 2 * 17 {
            return true;
        }
        let is_drawn = rng.next_u64() >> 8 < probability;
        if is_drawn {
            self.accumulated = 0;
        }
        is_drawn
    }

    /// A packet that came at `since` leaves `backlog` bytes behind (`pie_process_dequeue`).
    pub fn on_dequeue(&mut self, p: &Parameters, now: Time, since: Time, len: u64, backlog: u64) {
        let now = ticks(now.as_ns());
        let elapsed = if p.dq_rate_estimator {
            self.measure_rate(now, len, backlog)
        } else {
            self.delay = if backlog > 0 { now - ticks(since.as_ns()) } else { 0 };
            self.stamp.replace(now).map_or(0, |last| now - last)
        };
        // The kernel keeps the difference in 32 bits.
        self.burst = self.burst.saturating_sub(u64::from(elapsed as u32));
    }

    /// Counts what is sent while much waits, and after a cycle takes an eighth of its rate into the
    /// average; tells how long the cycle was.
    fn measure_rate(&mut self, now: u64, len: u64, backlog: u64) -> u64 {
        if backlog >= CYCLE && self.cycle.is_none() {
            (self.stamp, self.cycle) = (Some(now), Some(0));
        }
        let Some(sent) = &mut self.cycle else { return 0 };
        *sent += len;
        let elapsed = self.stamp.map_or(0, |start| now - start) as u32;
        if *sent < CYCLE || elapsed == 0 {
            return 0;
        }
        let rate = (*sent << 8) as u32 / elapsed;
        self.rate = if self.rate == 0 { rate } else { self.rate - (self.rate >> 3) + (rate >> 3) };
        if backlog < CYCLE {
            self.cycle = None;
        } else {
            (self.stamp, self.cycle) = (Some(now), Some(0));
        }
        u64::from(elapsed)
    }

    /// The periodic update while `backlog` bytes wait (`pie_calculate_probability`).
    pub fn update(&mut self, p: &Parameters, backlog: u64) {
        if p.dq_rate_estimator {
            self.old_delay = self.delay;
            // 32 bits that wrap, in the kernel.
            self.delay = u64::from(((backlog << 8) as u32).checked_div(self.rate).unwrap_or(0));
        }
        let is_measured = self.delay > 0 || backlog == 0;
        let is_whole = self.add(self.change(p));
        if self.delay == 0 && self.old_delay == 0 && is_measured && is_whole {
            self.probability -= self.probability / 64;
        }
        let is_idle = self.delay < p.target / 2
            && self.old_delay < p.target / 2
            && self.probability == 0
            && (!p.dq_rate_estimator || self.rate > 0);
        if is_idle {
            *self = State { delay: self.delay, old_delay: self.old_delay, ..State::default() };
        }
        if !p.dq_rate_estimator {
            self.old_delay = self.delay;
        }
    }

    /// By how much the probability is to change (RFC 8033, sections 4.2 and 5.5).
    fn change(&self, p: &Parameters) -> i64 {
        let (alpha, beta) = self.gains(p);
        let error = alpha.wrapping_mul(self.delay.wrapping_sub(p.target));
        let growth = beta.wrapping_mul(self.delay.wrapping_sub(self.old_delay));
        let mut change = error.wrapping_add(growth) as i64;
        if change > (ONE / 50) as i64 && self.probability >= ONE / 10 {
            change = (ONE / 100 * 2) as i64;
        }
        if self.delay > HIGH_DELAY {
            change = change.wrapping_add((ONE / 50) as i64);
        }
        change
    }

    /// Gains a tick of delay, smaller for small probabilities: a half below 10 %, and a quarter more
    /// for each of 1 %, 0.1 %, ... 0.0001 % that the probability is below.
    fn gains(&self, p: &Parameters) -> (u64, u64) {
        let unit = ONE / TICKS_PER_SECOND;
        let shift = match (1..=6).take_while(|&n| self.probability < ONE / 10u64.pow(n)).count() {
            0 => 0,
            magnitude => 2 * magnitude - 1,
        };
        (((p.alpha * unit) >> 4) >> shift, ((p.beta * unit) >> 4) >> shift)
    }

    /// Adds to the probability, which stays at 0 below and, where 64 bits do not hold it, becomes 1;
    /// tells whether they did. There is no other bound above.
    fn add(&mut self, change: i64) -> bool {
        let old = self.probability;
        let new = old.wrapping_add(change as u64);
        let is_whole = change <= 0 || new >= old;
        self.probability = if !is_whole {
            ONE
        } else if change <= 0 && new > old {
            0
        } else {
            new
        };
        is_whole
    }
}

const fn ticks(ns: u64) -> u64 {
    ns >> 6
}

/// A span in ticks; users give microseconds, as `tc` does.
pub(super) const fn span_ticks(span: Span) -> u64 {
    ticks(span.as_us() * 1000)
}

#[cfg(test)]
mod tests;
