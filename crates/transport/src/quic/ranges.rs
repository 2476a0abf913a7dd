//! The packet numbers that a receiver remembers: ascending ranges above a floor. Below the floor it
//! cannot tell a new packet from a duplicate and takes none (RFC 9000 sections 12.3 and 13.2.3).

use net::quic::RANGES_MAX;
use std::collections::VecDeque;

/// See the module documentation.
#[derive(Debug)]
pub struct Ranges {
    /// Disjoint half-open ranges, ascending, never adjacent.
    ranges: VecDeque<(u32, u32)>,
    floor: u32,
}

impl Default for Ranges {
    fn default() -> Self {
        Ranges { ranges: VecDeque::with_capacity(RANGES_MAX + 1), floor: 0 }
    }
}

impl Ranges {
    /// Notes packet `number`; false when it was there or lies below the floor.
    pub fn insert(&mut self, number: u32) -> bool {
        if number < self.floor {
            return false;
        }
        // Packets come nearly in order: the search begins with the newest range.
        let mut at = self.ranges.len();
        while at > 0 && self.ranges[at - 1].0 > number {
            at -= 1;
        }
        let touches_lower = at > 0 && self.ranges[at - 1].1 >= number;
        if touches_lower && self.ranges[at - 1].1 > number {
            return false;
        }
        let touches_upper = at < self.ranges.len() && self.ranges[at].0 == number + 1;
        match (touches_lower, touches_upper) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 = number + 1,
            (false, true) => self.ranges[at].0 = number,
            (false, false) => self.ranges.insert(at, (number, number + 1)),
        }
        if self.ranges.len() > RANGES_MAX {
            self.forget_oldest();
        }
        true
    }

    fn forget_oldest(&mut self) {
        if let Some((_, end)) = self.ranges.pop_front() {
            self.floor = end;
        }
    }

    /// The sender asks for nothing below `floor` any more (STOP_WAITING).
    pub fn stop_waiting(&mut self, floor: u32) {
        self.floor = self.floor.max(floor);
        while self.ranges.front().is_some_and(|range| range.1 <= self.floor) {
            self.ranges.pop_front();
        }
        if let Some(range) = self.ranges.front_mut() {
            range.0 = range.0.max(self.floor);
        }
    }

    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// First and last packet number of all ranges.
    pub fn ends(&self) -> Option<(u32, u32)> {
        Some((self.ranges.front()?.0, self.ranges.back()?.1 - 1))
    }

    /// The ranges, ascending and half-open.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.ranges.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn stop_waiting_trims_and_refuses_what_lies_below() {
        let mut ranges = Ranges::default();
        [0, 1, 2, 5, 6, 9].iter().for_each(|&n| assert!(ranges.insert(n)));
        ranges.stop_waiting(6);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(6, 7), (9, 10)]);
        assert!(!ranges.insert(4), "below the floor");
        ranges.stop_waiting(3);
        assert!(!ranges.insert(4), "the floor does not sink");
    }

    #[test]
    fn the_oldest_of_more_than_255_ranges_is_forgotten() {
        let mut ranges = Ranges::default();
        (0..256).for_each(|n| assert!(ranges.insert(2 * n)));
        assert_eq!((ranges.len(), ranges.ends()), (255, Some((2, 510))));
        assert!(!ranges.insert(0), "it would look new");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn they_are_the_set_of_numbers(numbers in prop::collection::vec(0..400u32, 0..400)) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for number in numbers {
                prop_assert_eq!(ranges.insert(number), set.insert(number));
            }
            let all: Vec<u32> = ranges.iter().flat_map(|(start, end)| start..end).collect();
            prop_assert_eq!(all, set.into_iter().collect::<Vec<_>>());
            let apart = ranges.iter().zip(ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0);
            prop_assert!(apart, "{:?}", ranges);
        }
    }
}
