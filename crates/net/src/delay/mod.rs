//! Pipes that hold packets for some time: constant delay (a ring with one pending event, its head), and
//! delay that follows steps or varies at random, with or without reordering; and slots in which packets leave.

pub mod jitter;
mod jitter_pipe;
mod slots;
mod table;

pub use jitter::{Distribution, Jitter};
pub use jitter_pipe::{Delay, JitterPipe};
pub use slots::{SlotConfig, Slots};

use crate::fetch::fetch;
use crate::ring::Ring;
use units::Time;

/// A pipe that keeps the order; delays may differ as long as arrivals do not overtake.
#[derive(Debug)]
pub struct Pipe<T> {
    ring: Ring<(Time, T)>,
}

impl<T> Default for Pipe<T> {
    fn default() -> Self {
        Pipe { ring: Ring::default() }
    }
}

impl<T: Copy> Pipe<T> {
    /// Puts `item` in; it comes out at `at`, which is never before an earlier item's time.
    #[inline]
    pub fn push(&mut self, at: Time, item: T) {
        debug_assert!(self.ring.back().is_none_or(|&(last, _)| last <= at), "pipe out of order");
        self.ring.push_back((at, item));
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

    /// Takes off the head, which there is.
    #[inline(always)]
    pub fn drop_head(&mut self) {
        self.ring.drop_front();
    }

    /// The head, and when it comes out.
    #[inline]
    pub fn head(&self) -> Option<&(Time, T)> {
        self.ring.front()
    }

    /// The `k`-th item, and when it comes out.
    #[inline]
    pub fn get(&self, k: usize) -> Option<&(Time, T)> {
        self.ring.get(k)
    }

    /// Moves the `from`-th item to place `to`, which is no further back: for items that come out at the same time.
    pub fn bring_forward(&mut self, from: usize, to: usize) {
        debug_assert_eq!(
            self.ring.get(from).map(|item| item.0),
            self.ring.get(to).map(|item| item.0),
            "pipe out of order"
        );
        self.ring.bring_forward(from, to);
    }

    /// Asks for the memory of the head ([`fetch`]).
    #[inline]
    pub fn fetch_head(&self) {
        if let Some(head) = self.ring.front() {
            fetch(head);
        }
    }

    /// Items inside, in the order in which they come out.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        self.ring.iter().map(|(_, item)| item)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }
}
