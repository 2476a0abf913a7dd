//! The receiver's memory of out-of-order data: the ranges themselves, and the at most four that it
//! remembers to report, most recent first (`tcp_sack_new_ofo_skb`, `tcp_sack_maybe_coalesce`,
//! `tcp_sack_remove` in net/ipv4/tcp_input.c).

use super::memory::SEGMENTS_PER_BUFFER;
use net::fetch::fetch;

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
    /// It has joined the buffer of the segment before it (`tcp_ooo_try_coalesce`).
    pub has_joined: bool,
    /// It concerns a block that ACKs may not repeat: an ACK held back must go out before
    /// [`OutOfOrder::promote`].
    pub flush: bool,
    /// The remembered block that it extends.
    block: Option<usize>,
}

/// Segments that follow each other.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u32,
    /// One past the last of them.
    end: u32,
    /// Buffers that hold them, and segments in the last of these.
    buffers: u32,
    in_last: u32,
}

impl Range {
    fn of(seq: u32) -> Range {
        Range { start: seq, end: seq + 1, buffers: 1, in_last: 1 }
    }

    /// Takes the segment after the last one; says whether that has joined its buffer.
    fn push(&mut self) -> bool {
        self.end += 1;
        let joins = self.in_last < SEGMENTS_PER_BUFFER;
        if joins {
            self.in_last += 1;
        } else {
            (self.buffers, self.in_last) = (self.buffers + 1, 1);
        }
        joins
    }

    /// Takes the range that follows; buffers that are there already stay apart.
    fn append(&mut self, next: Range) {
        (self.end, self.in_last) = (next.end, next.in_last);
        self.buffers += next.buffers;
    }
}

/// See the module documentation.
#[derive(Debug, Default)]
pub struct OutOfOrder {
    /// Disjoint, ascending.
    ranges: Vec<Range>,
    /// Segments in them, and the buffers that hold these.
    held: u32,
    buffers: u32,
    sacks: [(u32, u32); NUM_SACKS],
    count: usize,
}

impl OutOfOrder {
    /// Asks for the memory of the first range.
    #[inline]
    pub fn fetch(&self) {
        self.ranges.first().into_iter().for_each(fetch);
    }

    /// Whether nothing is out of order.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Blocks to report, most recent first.
    pub fn sacks(&self) -> &[(u32, u32)] {
        &self.sacks[..self.count]
    }

    /// Stores segment `seq` and extends the block that it touches; [`OutOfOrder::promote`] must follow.
    pub fn store(&mut self, seq: u32) -> Stored {
        let at = self.ranges.partition_point(|range| range.end < seq);
        let is_duplicate =
            self.ranges.get(at).is_some_and(|range| range.start <= seq && seq < range.end);
        let has_joined = !is_duplicate && self.insert_at(at, seq);
        if !is_duplicate {
            self.held += 1;
            self.buffers += u32::from(!has_joined);
        }
        let block = self.extend(seq, seq + 1);
        let flush = block.unwrap_or(self.count) >= BLOCKS_EXPECTED;
        Stored { is_duplicate, has_joined, flush, block }
    }

    /// Makes the block of segment `seq` the most recent one.
    pub fn promote(&mut self, seq: u32, stored: Stored) {
        match stored.block {
            Some(i) => {
                self.sacks[..=i].rotate_right(1);
                self.coalesce();
            }
            None => {
                self.count = (self.count + 1).min(NUM_SACKS);
                self.sacks[..self.count].rotate_right(1);
                self.sacks[0] = (seq, seq + 1);
            }
        }
    }

    /// Inserts a segment where the range that it touches is, or comes to be; says whether it has joined a buffer.
    fn insert_at(&mut self, at: usize, seq: u32) -> bool {
        match self.ranges.get_mut(at) {
            Some(range) if range.end == seq => {
                let has_joined = range.push();
                if self.ranges.get(at + 1).is_some_and(|next| next.start == seq + 1) {
                    let next = self.ranges.remove(at + 1);
                    self.ranges[at].append(next);
                }
                return has_joined;
            }
            Some(range) if range.start == seq + 1 => {
                range.start = seq;
                range.buffers += 1;
            }
            _ => self.ranges.insert(at, Range::of(seq)),
        }
        false
    }

    /// What is held of the segments before `next`, which arrived in order: the lowest range of it
    /// (`tcp_ofo_queue`, which reports it as a duplicate).
    #[inline]
    pub fn held_before(&self, next: u32) -> Option<(u32, u32)> {
        self.ranges.first().filter(|r| r.start < next).map(|r| (r.start, r.end.min(next)))
    }

    /// Segments held.
    #[inline]
    pub fn held(&self) -> u32 {
        self.held
    }

    /// Buffers that hold them, where each takes some segments that follow each other.
    #[inline]
    pub fn buffers(&self) -> u32 {
        self.buffers
    }

    /// `rcv_nxt` reached `next`: returns where the data in order now end.
    pub fn advance(&mut self, next: u32) -> u32 {
        let mut next = next;
        let covered = self.ranges.iter().take_while(|r| r.start <= next).count();
        for range in &self.ranges[..covered] {
            next = next.max(range.end);
            self.held -= range.end - range.start;
            self.buffers -= range.buffers;
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

    /// Extends the first remembered block that the range touches.
    fn extend(&mut self, start: u32, end: u32) -> Option<usize> {
        let i = self.sacks().iter().position(|b| start <= b.1 && b.0 <= end)?;
        let block = &mut self.sacks[i];
        block.0 = block.0.min(start);
        block.1 = block.1.max(end);
        Some(i)
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

    fn insert(o: &mut OutOfOrder, seq: u32) -> Stored {
        let stored = o.store(seq);
        o.promote(seq, stored);
        stored
    }

    #[test]
    fn blocks_are_reported_most_recent_first() {
        let mut o = OutOfOrder::default();
        for seq in [2, 4, 6, 3] {
            insert(&mut o, seq);
        }
        assert_eq!(o.sacks(), [(2, 5), (6, 7)]);
    }

    #[test]
    fn filling_the_hole_delivers_up_to_the_next_one() {
        let mut o = OutOfOrder::default();
        for seq in [2, 3, 5] {
            insert(&mut o, seq);
        }
        assert_eq!(o.advance(2), 4);
        assert_eq!(o.sacks(), [(5, 6)]);
        assert_eq!(o.advance(5), 6);
        assert!(o.is_empty() && o.sacks().is_empty() && o.held() == 0);
    }

    #[test]
    fn data_in_order_that_run_over_held_ones_are_duplicates_as_far_as_they_do() {
        let mut o = OutOfOrder::default();
        for seq in [2, 3, 4, 7] {
            insert(&mut o, seq);
        }
        assert_eq!((o.held_before(2), o.held_before(4), o.held()), (None, Some((2, 4)), 4));
        assert_eq!((o.advance(4), o.held()), (5, 1));
    }

    #[test]
    fn a_third_block_and_a_change_behind_the_second_are_reported_at_once() {
        let mut o = OutOfOrder::default();
        assert!(!insert(&mut o, 2).flush);
        assert!(!insert(&mut o, 4).flush);
        assert!(insert(&mut o, 6).flush);
        assert!(!insert(&mut o, 7).flush);
        assert!(!insert(&mut o, 3).flush);
        assert!(insert(&mut o, 9).flush);
    }

    #[test]
    fn a_segment_joins_the_buffer_before_it_until_that_is_full() {
        let mut o = OutOfOrder::default();
        let joined: Vec<bool> = (2..22).map(|seq| insert(&mut o, seq).has_joined).collect();
        assert_eq!(joined.iter().filter(|&&has_joined| has_joined).count(), 18, "{joined:?}");
        assert!(!joined[0] && !joined[17] && joined[18]);
        assert_eq!(o.buffers(), 2);
        // One that comes before others, or between them, leaves their buffers as they are.
        assert!(!insert(&mut o, 25).has_joined && !insert(&mut o, 24).has_joined);
        assert!(insert(&mut o, 22).has_joined && insert(&mut o, 23).has_joined);
        assert_eq!((o.buffers(), o.held()), (4, 24));
        // What follows is behind the last of them.
        assert!(insert(&mut o, 26).has_joined);
        assert_eq!((o.advance(2), o.buffers()), (27, 0));
    }

    #[test]
    fn a_segment_that_is_there_is_a_duplicate() {
        let mut o = OutOfOrder::default();
        insert(&mut o, 9);
        assert!(insert(&mut o, 9).is_duplicate);
        assert!(!insert(&mut o, 8).is_duplicate);
        assert!(insert(&mut o, 9).is_duplicate);
    }
}
