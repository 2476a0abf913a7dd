//! The token bucket of `tbf` (`tbf_dequeue`, net/sched/sch_tbf.c): a packet leaves once the bucket holds its
//! transmission time.

use crate::schedule::Schedule;
use units::{Bytes, Rate, Span, Time};

/// Bytes of a full frame, whose transmission time is the one that is mostly asked for.
const FULL_FRAME: Bytes = Bytes::new(1514);
/// Bit-nanoseconds of a byte: what a rate in bit/s yields in a second is that many times its bytes.
const BIT_NS_PER_BYTE: u128 = 8_000_000_000;

/// The rate at which wire bytes leave.
#[derive(Clone, Debug)]
pub enum LinkRate {
    /// It stays.
    Constant(Rate),
    /// It follows a schedule.
    Scheduled(Schedule),
}

/// Tokens as of the time when the last packet left.
#[derive(Debug)]
pub(crate) struct Bucket {
    depth: Bytes,
    filled: Time,
    tokens: Tokens,
}

/// Tokens in the unit that the rate asks for.
#[derive(Debug)]
enum Tokens {
    /// Nanoseconds of transmission time; a full frame takes `frame`.
    Constant { rate: Rate, depth: Span, held: Span, frame: Span },
    /// Bit-nanoseconds, since a byte's transmission time varies.
    Scheduled { schedule: Schedule, depth: u128, held: u128 },
}

fn bit_ns(len: Bytes) -> u128 {
    u128::from(len.get()) * BIT_NS_PER_BYTE
}

/// The time that a packet takes at a constant rate.
#[inline]
fn cost(rate: Rate, frame: Span, len: Bytes) -> Span {
    if len == FULL_FRAME {
        frame
    } else {
        rate.serialization_time(len)
    }
}

impl Bucket {
    /// A full bucket that holds the tokens of `depth` bytes.
    ///
    /// # Panics
    /// If a constant rate is zero.
    pub fn new(rate: LinkRate, depth: Bytes) -> Bucket {
        let tokens = match rate {
            LinkRate::Constant(rate) => {
                let full = rate.serialization_time(depth);
                let frame = rate.serialization_time(FULL_FRAME);
                Tokens::Constant { rate, depth: full, held: full, frame }
            }
            LinkRate::Scheduled(schedule) => {
                let full = bit_ns(depth);
                Tokens::Scheduled { schedule, depth: full, held: full }
            }
        };
        Bucket { depth, filled: Time::ZERO, tokens }
    }

    /// When there are tokens for `len` bytes, at `now` or later.
    pub fn ready(&self, now: Time, len: Bytes) -> Time {
        match &self.tokens {
            Tokens::Constant { rate, depth, held, frame } => {
                let full = (*held + now.since(self.filled)).min(*depth);
                now + (cost(*rate, *frame, len).max(full) - full)
            }
            Tokens::Scheduled { schedule, depth, held } => {
                let full = (held + schedule.bit_ns(self.filled, now)).min(*depth);
                schedule.after(now, bit_ns(len).saturating_sub(full))
            }
        }
    }

    /// Takes the tokens of `len` bytes at `now`, a time at which they are there.
    pub fn spend(&mut self, now: Time, len: Bytes) {
        match &mut self.tokens {
            Tokens::Constant { rate, depth, held, frame } => {
                let full = (*held + now.since(self.filled)).min(*depth);
                *held = full - cost(*rate, *frame, len);
            }
            Tokens::Scheduled { schedule, depth, held } => {
                let full = (*held + schedule.bit_ns(self.filled, now)).min(*depth);
                *held = full - bit_ns(len);
            }
        }
        self.filled = now;
    }

    /// Takes all tokens at `now`, the time for which a packet waited: what came in the rest of the nanosecond
    /// to which that time is rounded up does not count.
    pub fn empty(&mut self, now: Time) {
        match &mut self.tokens {
            Tokens::Constant { held, .. } => *held = Span::ZERO,
            Tokens::Scheduled { held, .. } => *held = 0,
        }
        self.filled = now;
    }

    /// Takes the tokens of `len` bytes as soon as they are there, at `from` or later; returns when.
    #[inline]
    pub fn take(&mut self, from: Time, len: Bytes) -> Time {
        match &mut self.tokens {
            Tokens::Constant { rate, depth, held, frame } => {
                let cost = cost(*rate, *frame, len);
                // Behind another packet no tokens have come.
                let full = match from == self.filled {
                    true => *held,
                    false => (*held + from.since(self.filled)).min(*depth),
                };
                let most = full.max(cost);
                *held = most - cost;
                self.filled = from + (most - full);
            }
            Tokens::Scheduled { .. } => {
                let ready = self.ready(from, len);
                if ready > from {
                    self.empty(ready);
                } else {
                    self.spend(from, len);
                }
            }
        }
        self.filled
    }

    /// When the tokens were counted last: when the last packet left, or leaves.
    #[inline]
    pub fn filled(&self) -> Time {
        self.filled
    }

    /// What the bucket holds at most, wire bytes: no larger packet passes.
    #[inline]
    pub fn depth(&self) -> Bytes {
        self.depth
    }

    /// Wire bytes that can leave between two times: what the rate yields, and what a full bucket holds.
    pub fn capacity(&self, from: Time, to: Time) -> Bytes {
        let yielded = match &self.tokens {
            Tokens::Constant { rate, .. } => rate.bytes_in(to.since(from)),
            Tokens::Scheduled { schedule, .. } => {
                Bytes::new((schedule.bit_ns(from, to) / BIT_NS_PER_BYTE) as u64)
            }
        };
        yielded + self.depth
    }
}
