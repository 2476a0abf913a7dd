//! A pipe whose delay varies from packet to packet.

use super::jitter::{Deviations, Jitter};
use crate::rng::Rng;
use crate::schedule::Steps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Span, Time};

/// The delay around which packets' delays vary.
#[derive(Clone, Debug)]
pub enum Delay {
    /// It stays.
    Constant(Span),
    /// It changes in steps; a packet gets the one of the time at which it comes.
    Steps(Steps<Span>),
}

impl Delay {
    /// The delay of a packet that comes at `now`.
    #[inline]
    pub fn at(&self, now: Time) -> Span {
        match self {
            Delay::Constant(delay) => *delay,
            Delay::Steps(steps) => steps.at(now).0,
        }
    }
}

impl From<Span> for Delay {
    fn from(delay: Span) -> Delay {
        Delay::Constant(delay)
    }
}

impl From<Steps<Span>> for Delay {
    fn from(steps: Steps<Span>) -> Delay {
        Delay::Steps(steps)
    }
}

/// A pipe whose delay varies from packet to packet.
#[derive(Debug)]
pub struct JitterPipe<T> {
    delay: Delay,
    deviations: Deviations,
    reorder: bool,
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
    /// A pipe of this delay, constant or in steps.
    ///
    /// # Panics
    /// As [`Deviations::new`].
    pub fn new(delay: impl Into<Delay>, jitter: Jitter, rng: Rng) -> Self {
        JitterPipe {
            delay: delay.into(),
            deviations: Deviations::new(jitter, rng),
            reorder: jitter.reorder,
            heap: BinaryHeap::new(),
            pushed: 0,
            last_out: Time::ZERO,
        }
    }

    /// Puts `item` in at `now`.
    pub fn push(&mut self, now: Time, item: T) {
        let deviation = self.deviations.next_ns();
        let ns = self.delay.at(now).as_ns().saturating_add_signed(deviation);
        let mut at = now + Span::from_ns(ns);
        if !self.reorder {
            at = at.max(self.last_out);
            self.last_out = at;
        }
        self.insert(at, item);
    }

    /// Puts `item` in at `now` without any delay: it overtakes all that is inside, whether or not jitter
    /// may (netem's `reorder`).
    pub fn push_undelayed(&mut self, now: Time, item: T) {
        self.insert(now, item);
    }

    fn insert(&mut self, at: Time, item: T) {
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

    /// Items inside, in no particular order.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        self.heap.iter().map(|e| &e.0.item)
    }

    /// How many there are.
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
        let jitter = Jitter { spread: Span::from_ms(10), reorder, ..Jitter::default() };
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
        let jitter = Jitter { spread: Span::from_ms(50), ..Jitter::default() };
        let mut pipe = JitterPipe::new(Span::from_ms(1), jitter, Rng::stream(1, "test"));
        for _ in 0..50 {
            pipe.push(Time::from_ns(5), ());
        }
        assert!(pipe.next_wakeup().unwrap() >= Time::from_ns(5));
    }

    fn ms(n: u64) -> Time {
        Time::from_ns(n * 1_000_000)
    }

    /// When packets sent every 10 ms come out of a path that shortens from 50 to 10 ms at 20 ms.
    fn over_a_shortened_path(reorder: bool) -> Vec<(u64, u64)> {
        let jitter = Jitter { reorder, ..Jitter::default() };
        let steps = Steps::new(vec![(ms(0), Span::from_ms(50)), (ms(20), Span::from_ms(10))], None);
        let mut pipe = JitterPipe::new(steps.unwrap(), jitter, Rng::stream(1, "test"));
        for i in 0..5 {
            pipe.push(ms(10 * i), i);
        }
        let mut out = Vec::new();
        while let Some(at) = pipe.next_wakeup() {
            let item = pipe.pop(at).expect("out at its time");
            out.push((item, at.as_ns() / 1_000_000));
        }
        out
    }

    #[test]
    fn a_shorter_path_keeps_the_order_unless_reordering_is_allowed() {
        assert_eq!(over_a_shortened_path(false), [(0, 50), (1, 60), (2, 60), (3, 60), (4, 60)]);
        assert_eq!(over_a_shortened_path(true), [(2, 30), (3, 40), (0, 50), (4, 50), (1, 60)]);
    }

    #[test]
    fn an_undelayed_packet_overtakes_all_and_delays_nobody() {
        let jitter = Jitter { reorder: false, ..Jitter::default() };
        let mut pipe = JitterPipe::new(Span::from_ms(10), jitter, Rng::stream(1, "test"));
        pipe.push(ms(0), 'a');
        pipe.push_undelayed(ms(5), 'b');
        assert_eq!((pipe.next_wakeup(), pipe.pop(ms(5))), (Some(ms(5)), Some('b')));
        assert_eq!((pipe.next_wakeup(), pipe.pop(ms(10))), (Some(ms(10)), Some('a')));
    }
}
