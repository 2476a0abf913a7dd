//! Which segments of a stream have been delivered: everything before `next`, and a bit for each one
//! beyond. The receiver puts the stream together with it, the sender knows by it what it need not send
//! again.

/// See the module documentation.
#[derive(Debug)]
pub struct Delivered {
    next: u32,
    /// Ring of bits for `next..next + 64 * words.len()`; the length is a power of two.
    words: Vec<u64>,
}

impl Default for Delivered {
    fn default() -> Self {
        Delivered { next: 0, words: vec![0; 4] }
    }
}

impl Delivered {
    /// First segment that has not been delivered.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Whether `segment` has been delivered.
    #[inline]
    pub fn contains(&self, segment: u32) -> bool {
        if segment < self.next {
            return true;
        }
        let (word, bit) = self.place(segment);
        u64::from(segment - self.next) < self.room() && self.words[word] & bit != 0
    }

    /// Notes the delivery of `segment`; false when it was known.
    pub fn insert(&mut self, segment: u32) -> bool {
        if self.contains(segment) {
            return false;
        }
        while u64::from(segment - self.next) >= self.room() {
            self.grow();
        }
        let (word, bit) = self.place(segment);
        self.words[word] |= bit;
        self.advance();
        true
    }

    fn advance(&mut self) {
        loop {
            let (word, bit) = self.place(self.next);
            if self.words[word] & bit == 0 {
                return;
            }
            self.words[word] &= !bit;
            self.next += 1;
        }
    }

    #[inline]
    fn room(&self) -> u64 {
        64 * self.words.len() as u64
    }

    #[inline]
    fn place(&self, segment: u32) -> (usize, u64) {
        ((segment / 64) as usize & (self.words.len() - 1), 1 << (segment % 64))
    }

    fn grow(&mut self) {
        let mut larger = Delivered { next: self.next, words: vec![0; 2 * self.words.len()] };
        for segment in self.next..(u64::from(self.next) + self.room()).min(1 << 32) as u32 {
            if self.contains(segment) {
                let (word, bit) = larger.place(segment);
                larger.words[word] |= bit;
            }
        }
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_ring_is_used_again_and_again() {
        let mut delivered = Delivered::default();
        for segment in (0..10_000).step_by(2) {
            assert!(delivered.insert(segment + 1));
            assert!(delivered.insert(segment));
            assert_eq!(delivered.next(), segment + 2);
        }
        assert_eq!(delivered.words.len(), 4);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_is_a_set_that_knows_its_first_gap(segments in prop::collection::vec(0..900u32, 0..900)) {
            let (mut delivered, mut set) = (Delivered::default(), BTreeSet::new());
            for segment in segments {
                prop_assert_eq!(delivered.insert(segment), set.insert(segment));
                let gap = (0..).find(|n| !set.contains(n)).unwrap_or(0);
                prop_assert_eq!(delivered.next(), gap);
            }
            for segment in 0..1000 {
                prop_assert_eq!(delivered.contains(segment), set.contains(&segment));
            }
        }
    }
}
