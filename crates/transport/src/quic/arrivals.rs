//! The log of packet numbers in the order of their arrival, which receiver and sender share: an ACK
//! frame says up to where it reports. What the sender has learned is taken off, so that in steady state
//! the log is as long as what is on its way back.

use std::collections::VecDeque;

/// See the module documentation.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// Position of the first number kept, counted from the start of the connection; wraps.
    first: u32,
    numbers: VecDeque<u32>,
}

impl Arrivals {
    /// A packet arrived.
    #[inline]
    pub fn push(&mut self, number: u32) {
        self.numbers.push_back(number);
    }

    /// Position after the last arrival.
    #[inline]
    pub fn end(&self) -> u32 {
        self.first.wrapping_add(self.numbers.len() as u32)
    }

    /// Whether a frame that reports up to `reported` says anything that was not taken yet.
    #[inline]
    pub fn is_news(&self, reported: u32) -> bool {
        (reported.wrapping_sub(self.first) as i32) > 0
    }

    /// Takes the next arrival before `reported`.
    #[inline]
    pub fn take(&mut self, reported: u32) -> Option<u32> {
        if !self.is_news(reported) {
            return None;
        }
        let number = self.numbers.pop_front()?;
        self.first = self.first.wrapping_add(1);
        Some(number)
    }

    /// Arrivals that the sender has not learned of.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether the sender knows of every arrival.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_frame_is_made_up_for_by_the_next_and_an_old_one_says_nothing() {
        let mut log = Arrivals { first: u32::MAX - 1, ..Arrivals::default() };
        (0..4).for_each(|n| log.push(n));
        let end = log.end();
        assert_eq!(end, 2, "positions wrap");
        log.push(9);
        let taken: Vec<u32> = std::iter::from_fn(|| log.take(end)).collect();
        assert_eq!(taken, [0, 1, 2, 3]);
        assert!(!log.is_news(u32::MAX));
        assert_eq!((log.len(), log.take(log.end())), (1, Some(9)));
    }
}
