//! Lengths of the segments of a stream that an application wrote in pieces, or that the receive window cut: all are full
//! except those noted here. A stream of full segments has no notes and costs nothing.

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Note {
    seq: u32,
    /// Payload of the segment, bytes.
    len: u32,
    /// Bytes by which this and all earlier segments of the stream are shorter than full ones.
    missing: u64,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Lengths {
    mss: u32,
    /// Ascending; none below `from`.
    notes: VecDeque<Note>,
    /// Lengths of segments below this one are forgotten.
    from: u32,
    /// Bytes by which these segments are shorter than full ones.
    base: u64,
}

impl Lengths {
    /// A stream of full segments.
    pub fn new(mss: u32) -> Lengths {
        Lengths { mss, notes: VecDeque::new(), from: 0, base: 0 }
    }

    /// Notes that segment `seq` has `len` bytes, unless its length is known or forgotten.
    pub fn note(&mut self, seq: u32, len: u32) {
        let at = self.notes.partition_point(|note| note.seq < seq);
        if seq < self.from || self.notes.get(at).is_some_and(|note| note.seq == seq) {
            return;
        }
        let lacks = u64::from(self.mss - len);
        let before = if at == 0 { self.base } else { self.notes[at - 1].missing };
        for later in self.notes.range_mut(at..) {
            later.missing += lacks;
        }
        self.notes.insert(at, Note { seq, len, missing: before + lacks });
    }

    /// Length of a noted segment.
    #[inline]
    pub fn noted(&self, seq: u32) -> Option<u32> {
        if self.notes.is_empty() {
            return None;
        }
        let at = self.notes.partition_point(|note| note.seq < seq);
        self.notes.get(at).filter(|note| note.seq == seq).map(|note| note.len)
    }

    /// Whether all segments that are not forgotten are full.
    #[inline]
    pub fn are_full(&self) -> bool {
        self.notes.is_empty()
    }

    /// Bytes by which the segments before `seq` are shorter than full ones; `seq` must not be forgotten.
    #[inline(always)]
    pub fn missing_before(&self, seq: u32) -> u64 {
        if self.notes.is_empty() {
            return self.base;
        }
        self.missing_by_notes(seq)
    }

    #[cold]
    fn missing_by_notes(&self, seq: u32) -> u64 {
        match self.notes.partition_point(|note| note.seq < seq) {
            0 => self.base,
            at => self.notes[at - 1].missing,
        }
    }

    /// Whether the lengths of the segments before `seq` are forgotten, and that of the one after them is, too.
    #[inline]
    pub fn is_forgotten(&self, seq: u32) -> bool {
        seq < self.from
    }

    /// Forgets the lengths of the segments below `seq`.
    #[inline]
    pub fn forget_below(&mut self, seq: u32) {
        self.from = self.from.max(seq);
        while self.notes.front().is_some_and(|note| note.seq < seq) {
            self.base = self.notes.pop_front().map_or(self.base, |note| note.missing);
        }
    }

    /// First noted segment.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        self.notes.front().map(|note| note.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_add_up_in_whatever_order_the_notes_come() {
        let lens = [1448, 100, 1448, 700, 1, 1448];
        for order in [[1, 3, 4], [4, 3, 1], [3, 1, 4]] {
            let mut lengths = Lengths::new(1448);
            for seq in order {
                lengths.note(seq, lens[seq as usize]);
                lengths.note(seq, 5);
            }
            for seq in 0..=6 {
                let bytes: u32 = lens[..seq as usize].iter().sum();
                assert_eq!(u64::from(seq) * 1448 - lengths.missing_before(seq), u64::from(bytes));
            }
            lengths.forget_below(4);
            lengths.note(1, 9);
            assert_eq!(lengths.missing_before(6), 6 * 1448 - 5145);
            assert_eq!(
                (lengths.noted(3), lengths.noted(4), lengths.first()),
                (None, Some(1), Some(4))
            );
        }
    }
}
