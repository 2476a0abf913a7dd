//! Pipes that hold packets for some time: constant delay (a ring with one pending event, its head)
//! and jittered delay with or without reordering.

use crate::rng::Rng;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::{Span, Time};

/// A pipe that keeps the order; delays may differ as long as arrivals do not overtake.
#[derive(Debug)]
pub struct Pipe<T> {
    ring: VecDeque<(Time, T)>,
}

impl<T> Default for Pipe<T> {
    fn default() -> Self {
        Pipe { ring: VecDeque::new() }
    }
}

impl<T> Pipe<T> {
    /// Puts `item` in; it comes out at `at`, which is never before an earlier item's time.
    #[inline]
    pub fn push(&mut self, at: Time, item: T) {
        debug_assert!(self.ring.back().is_none_or(|&(last, _)| last <= at), "pipe out of order");
        self.ring.push_back((at, item));
    }

    /// When the youngest item comes out; the start of the run if nothing is inside.
    #[inline]
    pub fn last_out(&self) -> Time {
        self.ring.back().map_or(Time::ZERO, |&(at, _)| at)
    }

    /// When the head comes out.
    #[inline]
    pub fn next_wakeup(&self) -> Option<Time> {
        self.ring.front().map(|&(at, _)| at)
    }

    /// Takes the head if it is out by `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<T> {
        match self.ring.front() {
            Some(&(at, _)) if at <= now => self.ring.pop_front().map(|(_, item)| item),
            _ => None,
        }
    }

    /// Items inside.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }
}

/// Uniform jitter around a mean delay, as `netem delay MEAN SPREAD` (net/sched/sch_netem.c,
/// `tabledist` without a table): the delay is MEAN - SPREAD + U(0, 2 SPREAD), not below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// Half the width of the distribution.
    pub spread: Span,
    /// Whether a packet may overtake an earlier one (netem without a rate does).
    pub reorder: bool,
}

/// A pipe whose delay varies from packet to packet.
#[derive(Debug)]
pub struct JitterPipe<T> {
    mean: Span,
    jitter: Jitter,
    rng: Rng,
    heap: BinaryHeap<Reverse<Entry<T>>>,
    pushed: u64,
    last_out: Time,
}

#[derive(Debug)]
struct Entry<T> {
    at: Time,
    seq: u64,
    item: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.seq) == (other.at, other.seq)
    }
}
impl<T> Eq for Entry<T> {}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
/// Earlier time first; ties in the order they were pushed.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.seq).cmp(&(other.at, other.seq))
    }
}

impl<T> JitterPipe<T> {
    /// A pipe of this mean delay.
    pub fn new(mean: Span, jitter: Jitter, rng: Rng) -> Self {
        JitterPipe { mean, jitter, rng, heap: BinaryHeap::new(), pushed: 0, last_out: Time::ZERO }
    }

    /// Puts `item` in at `now`.
    pub fn push(&mut self, now: Time, item: T) {
        let width = 2 * self.jitter.spread.as_ns();
        let draw = if width == 0 { 0 } else { self.rng.below(width) };
        let ns = (self.mean.as_ns() + draw).saturating_sub(self.jitter.spread.as_ns());
        let mut at = now + Span::from_ns(ns);
        if !self.jitter.reorder {
            at = at.max(self.last_out);
            self.last_out = at;
        }
        self.heap.push(Reverse(Entry { at, seq: self.pushed, item }));
        self.pushed += 1;
    }

    /// When the next item comes out.
    pub fn next_wakeup(&self) -> Option<Time> {
        self.heap.peek().map(|e| e.0.at)
    }

    /// Takes the next item if it is out by `now`.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        if self.next_wakeup()? > now {
            return None;
        }
        self.heap.pop().map(|e| e.0.item)
    }

    /// Items inside.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out_of(reorder: bool) -> Vec<u32> {
        let jitter = Jitter { spread: Span::from_ms(10), reorder };
        let mut pipe = JitterPipe::new(Span::from_ms(20), jitter, Rng::stream(1, "test"));
        for i in 0..100 {
            pipe.push(Time::from_ns(i * 1_000_000), i as u32);
        }
        std::iter::from_fn(|| pipe.pop(Time::NEVER)).collect()
    }

    #[test]
    fn jitter_reorders_unless_told_not_to() {
        assert!(!out_of(true).is_sorted());
        assert!(out_of(false).is_sorted());
    }

    #[test]
    fn a_delay_below_zero_is_zero() {
        let jitter = Jitter { spread: Span::from_ms(50), reorder: true };
        let mut pipe = JitterPipe::new(Span::from_ms(1), jitter, Rng::stream(1, "test"));
        for _ in 0..50 {
            pipe.push(Time::from_ns(5), ());
        }
        assert!(pipe.next_wakeup().unwrap() >= Time::from_ns(5));
    }
}
