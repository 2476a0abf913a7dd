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

/// How a delay varies around its mean; a delay below zero is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// MEAN - SPREAD + U(0, 2 SPREAD), as `netem delay MEAN SPREAD` without a table (`tabledist`,
    /// net/sched/sch_netem.c).
    Uniform,
    /// Normal with standard deviation SPREAD, as `netem delay MEAN SPREAD distribution normal`: the sum
    /// of twelve uniform draws, cut at six deviations (netem's table ends at about four).
    Gaussian,
}

/// Random variation of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// Its shape.
    pub distribution: Distribution,
    /// Half the width of a uniform distribution, the standard deviation of a Gaussian one.
    pub spread: Span,
    /// Whether a packet may overtake an earlier one (netem without a rate does).
    pub reorder: bool,
}

impl Jitter {
    /// Draws a deviation from the mean, ns.
    fn deviation_ns(&self, rng: &mut Rng) -> i64 {
        let spread = self.spread.as_ns();
        if spread == 0 {
            return 0;
        }
        match self.distribution {
            Distribution::Uniform => rng.below(2 * spread) as i64 - spread as i64,
            // The sum of twelve U(0, 1) has mean 6 and variance 1; integers, so that it is the same
            // everywhere.
            Distribution::Gaussian => {
                let sum: u64 = (0..12).map(|_| rng.below(spread)).sum();
                sum as i64 - 6 * spread as i64
            }
        }
    }
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
        let deviation = self.jitter.deviation_ns(&mut self.rng);
        let ns = self.mean.as_ns().saturating_add_signed(deviation);
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
        let jitter =
            Jitter { distribution: Distribution::Uniform, spread: Span::from_ms(10), reorder };
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
        let jitter = Jitter {
            distribution: Distribution::Uniform,
            spread: Span::from_ms(50),
            reorder: true,
        };
        let mut pipe = JitterPipe::new(Span::from_ms(1), jitter, Rng::stream(1, "test"));
        for _ in 0..50 {
            pipe.push(Time::from_ns(5), ());
        }
        assert!(pipe.next_wakeup().unwrap() >= Time::from_ns(5));
    }

    #[test]
    fn a_gaussian_has_the_mean_and_deviation_it_was_given() {
        let jitter = Jitter {
            distribution: Distribution::Gaussian,
            spread: Span::from_ms(1),
            reorder: true,
        };
        let mut rng = Rng::stream(1, "test");
        let draws: Vec<i64> = (0..20_000).map(|_| jitter.deviation_ns(&mut rng)).collect();
        let mean = draws.iter().sum::<i64>() / 20_000;
        let variance = draws.iter().map(|d| (d / 1000) * (d / 1000)).sum::<i64>() / 20_000;
        assert!(mean.abs() < 30_000, "{mean} ns");
        assert!((960_000..1_040_000).contains(&variance), "{variance} us^2");
        let outside = draws.iter().filter(|d| d.abs() > 2_000_000).count();
        assert!(
            (700..1_100).contains(&outside),
            "{outside} of 20000 beyond two deviations, expected 910"
        );
    }
}
