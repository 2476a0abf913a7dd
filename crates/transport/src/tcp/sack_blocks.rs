//! The receiver's memory of out-of-order data: the ranges themselves, and the at most four that it
//! remembers to report, most recent first (`tcp_sack_new_ofo_skb`, `tcp_sack_maybe_coalesce`,
//! `tcp_sack_remove` in net/ipv4/tcp_input.c).

/// Blocks remembered (`TCP_NUM_SACKS`).
const NUM_SACKS: usize = 4;
/// Blocks that a later ACK is expected to repeat (`TCP_SACK_BLOCKS_EXPECTED`): a change beyond them is
/// reported at once.
const BLOCKS_EXPECTED: usize = 2;

/// What became of a segment beyond the next expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// It was there already.
    pub is_duplicate: bool,
    /// The change is in a block that ACKs may not repeat: a compressed ACK must go out now.
    pub flush: bool,
}

/// See the module documentation.
#[derive(Debug, Default)]
pub struct OutOfOrder {
    /// Disjoint half-open ranges, ascending.
    ranges: Vec<(u32, u32)>,
    sacks: [(u32, u32); NUM_SACKS],
    count: usize,
}

impl OutOfOrder {
    /// Whether nothing is out of order.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Blocks to report, most recent first.
    pub fn sacks(&self) -> &[(u32, u32)] {
        &self.sacks[..self.count]
    }

    /// Stores segment `seq`.
    pub fn insert(&mut self, seq: u32) -> Stored {
        let at = self.ranges.partition_point(|&(_, end)| end < seq);
        let is_duplicate = self.ranges.get(at).is_some_and(|&(start, end)| start <= seq && seq < end);
        if !is_duplicate {
            self.insert_at(at, seq);
        }
        Stored { is_duplicate, flush: self.remember(seq, seq + 1) }
    }

    fn insert_at(&mut self, at: usize, seq: u32) {
        match self.ranges.get_mut(at) {
            Some(range) if range.1 == seq => {
                range.1 = seq + 1;
                if self.ranges.get(at + 1).is_some_and(|next| next.0 == seq + 1) {
                    self.ranges[at].1 = self.ranges[at + 1].1;
                    self.ranges.remove(at + 1);
                }
            }
            Some(range) if range.0 == seq + 1 => range.0 = seq,
            _ => self.ranges.insert(at, (seq, seq + 1)),
        }
    }

    /// `rcv_nxt` reached `next`: returns where the data in order now end.
    pub fn advance(&mut self, next: u32) -> u32 {
        let mut next = next;
        let covered = self.ranges.iter().take_while(|r| r.0 <= next).count();
        for &(_, end) in &self.ranges[..covered] {
            next = next.max(end);
        }
        self.ranges.drain(..covered);
        if self.ranges.is_empty() {
            self.count = 0;
        } else {
            self.forget_below(next);
        }
        next
    }

    fn forget_below(&mut self, next: u32) {
        let mut kept = 0;
        for i in 0..self.count {
            if self.sacks[i].0 >= next {
                self.sacks[kept] = self.sacks[i];
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// Puts a range in front of the remembered blocks; true when the change needs reporting at once.
    fn remember(&mut self, start: u32, end: u32) -> bool {
        for i in 0..self.count {
            let block = &mut self.sacks[i];
            if start <= block.1 && block.0 <= end {
                block.0 = block.0.min(start);
                block.1 = block.1.max(end);
                self.sacks[..=i].rotate_right(1);
                self.coalesce();
                return i >= BLOCKS_EXPECTED;
            }
        }
        let flush = self.count >= BLOCKS_EXPECTED;
        self.count = (self.count + 1).min(NUM_SACKS);
        self.sacks[..self.count].rotate_right(1);
        self.sacks[0] = (start, end);
        flush
    }

    /// Merges blocks that the first one has grown into.
    fn coalesce(&mut self) {
        let mut i = 1;
        while i < self.count {
            let (start, end) = self.sacks[i];
            let first = &mut self.sacks[0];
            if start <= first.1 && first.0 <= end {
                first.0 = first.0.min(start);
                first.1 = first.1.max(end);
                self.sacks[i..self.count].rotate_left(1);
                self.count -= 1;
            } else {
                i += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_reported_most_recent_first() {
        let mut o = OutOfOrder::default();
        for seq in [2, 4, 6, 3] {
            o.insert(seq);
        }
        assert_eq!(o.sacks(), [(2, 5), (6, 7)]);
    }

    #[test]
    fn filling_the_hole_delivers_up_to_the_next_one() {
        let mut o = OutOfOrder::default();
        for seq in [2, 3, 5] {
            o.insert(seq);
        }
        assert_eq!(o.advance(2), 4);
        assert_eq!(o.sacks(), [(5, 6)]);
        assert_eq!(o.advance(5), 6);
        assert!(o.is_empty() && o.sacks().is_empty());
    }

    #[test]
    fn a_third_block_and_a_change_behind_the_second_are_reported_at_once() {
        let mut o = OutOfOrder::default();
        assert!(!o.insert(2).flush);
        assert!(!o.insert(4).flush);
        assert!(o.insert(6).flush);
        assert!(!o.insert(7).flush);
        assert!(o.insert(3).flush);
    }

    #[test]
    fn a_segment_that_is_there_is_a_duplicate() {
        let mut o = OutOfOrder::default();
        o.insert(9);
        assert!(o.insert(9).is_duplicate);
        assert!(!o.insert(8).is_duplicate);
        assert!(o.insert(9).is_duplicate);
    }
}
