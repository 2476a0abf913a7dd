//! Which segments carry PSH, of a stream that the application writes in pieces.

use net::fetch::fetch;
use std::collections::VecDeque;

/// Places in the stream, as bytes before them.
#[derive(Debug, Default)]
pub struct PushMarks {
    /// What PSH marks, ascending; without the end of what is written.
    places: VecDeque<u64>,
    /// What was written when PSH was set last (`pushed_seq`).
    pushed: u64,
}

impl PushMarks {
    /// Asks for the memory of the first mark.
    #[inline]
    pub fn fetch(&self) {
        self.places.front().into_iter().for_each(fetch);
    }

    /// Whether nothing is marked.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What was written when PSH was set last.
    #[inline]
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Whether PSH is at this place.
    pub fn has(&self, place: u64) -> bool {
        match self.places.front() {
            Some(&first) if first < place => {
                let at = self.places.partition_point(|&mark| mark < place);
                self.places.get(at) == Some(&place)
            }
            first => first == Some(&place),
        }
    }

    /// A buffer ends here, behind all that is marked.
    pub fn mark(&mut self, place: u64) {
        if self.places.back().is_none_or(|&last| last < place) {
            self.places.push_back(place);
        }
    }

    /// PSH is set at the end of what is written (`tcp_mark_push`).
    pub fn push(&mut self, written: u64) {
        self.pushed = written;
        self.mark(written);
    }

    /// PSH is set at a place before the end of what is written.
    pub fn push_within(&mut self, place: u64, written: u64) {
        self.pushed = self.pushed.max(written.min(place));
        let at = self.places.partition_point(|&mark| mark < place);
        if self.places.get(at) != Some(&place) {
            self.places.insert(at, place);
        }
    }

    /// A buffer that ended at `from` ends at `to` from now on, if that is later: its PSH goes along.
    pub fn stretch(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let at = self.places.partition_point(|&mark| mark < from);
        if self.places.get(at) != Some(&from) {
            return;
        }
        self.places.remove(at);
        let at = self.places.partition_point(|&mark| mark < to);
        if self.places.get(at) != Some(&to) {
            self.places.insert(at, to);
        }
    }

    /// The last buffer, which ends at `end`, gets more: its PSH goes to `moved`, or is gone.
    pub fn grow(&mut self, end: u64, moved: Option<u64>) {
        if self.places.back() == Some(&end) {
            self.places.pop_back();
            self.places.extend(moved);
        }
    }

    /// Forgets what is acknowledged.
    pub fn forget_before(&mut self, acked: u64) {
        while self.places.front().is_some_and(|&mark| mark < acked) {
            self.places.pop_front();
        }
    }
}
