//! The event queue: one slot per source of events (a pipe's head, a host's timer), not one per packet.

use units::Time;

/// Total order of the run: earlier time first; ties in the order they were scheduled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct EventKey {
    at: Time,
    seq: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    key: EventKey,
    slot: u32,
}

const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

/// A 4-ary heap whose entries can be moved: each slot is in it at most once.
pub struct Timeline {
    heap: Vec<Entry>,
    place: Vec<u32>,
    next_seq: u64,
    now: Time,
}

impl Timeline {
    /// An empty queue for slots `0..slots`.
    pub fn new(slots: usize) -> Timeline {
        Timeline {
            heap: Vec::with_capacity(slots),
            place: vec![ABSENT; slots],
            next_seq: 0,
            now: Time::ZERO,
        }
    }

    /// Schedules `slot` at `at`, wherever it was before.
    #[inline]
    pub fn set(&mut self, slot: u32, at: Time) {
        assert!(at >= self.now, "event scheduled in the past: {at:?} < {:?}", self.now);
        let key = EventKey { at, seq: self.next_seq };
        self.next_seq += 1;
        match self.place[slot as usize] {
            ABSENT => {
                self.heap.push(Entry { key, slot });
                self.rise(self.heap.len() - 1);
            }
            i => {
                let earlier = key < self.heap[i as usize].key;
                self.heap[i as usize].key = key;
                if earlier {
                    self.rise(i as usize);
                } else {
                    self.sink(i as usize);
                }
            }
        }
    }

    /// Schedules `slot` at `at` unless it comes up earlier anyway: for deadlines that mostly move away,
    /// whose owner checks when woken whether it is due.
    #[inline]
    pub fn set_if_earlier(&mut self, slot: u32, at: Time) {
        let i = self.place[slot as usize];
        if at.is_set() && (i == ABSENT || at < self.heap[i as usize].key.at) {
            self.set(slot, at);
        }
    }

    /// Goes to the next event, which stays scheduled until it is set or cleared.
    #[inline]
    pub fn advance(&mut self) -> Option<(Time, u32)> {
        let first = self.heap.first()?;
        self.now = first.key.at;
        Some((first.key.at, first.slot))
    }

    /// When the next event is, without going there.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        self.heap.first().map(|first| first.key.at)
    }

    /// Takes `slot` out.
    #[inline]
    pub fn clear(&mut self, slot: u32) {
        let i = self.place[slot as usize];
        if i == ABSENT {
            return;
        }
        self.place[slot as usize] = ABSENT;
        let last = self.heap.len() - 1;
        let moved = self.heap[last];
        self.heap.pop();
        if i as usize != last {
            self.heap[i as usize] = moved;
            self.place[moved.slot as usize] = i;
            self.sink(i as usize);
            self.rise(self.place[moved.slot as usize] as usize);
        }
    }

    fn rise(&mut self, mut i: usize) {
        let entry = self.heap[i];
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if self.heap[parent].key <= entry.key {
                break;
            }
            self.heap[i] = self.heap[parent];
            self.place[self.heap[i].slot as usize] = i as u32;
            i = parent;
        }
        self.heap[i] = entry;
        self.place[entry.slot as usize] = i as u32;
    }

    fn sink(&mut self, mut i: usize) {
        let entry = self.heap[i];
        loop {
            let first = i * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let end = (first + ARITY).min(self.heap.len());
            let mut least = first;
            for child in first + 1..end {
                if self.heap[child].key < self.heap[least].key {
                    least = child;
                }
            }
            if entry.key <= self.heap[least].key {
                break;
            }
            self.heap[i] = self.heap[least];
            self.place[self.heap[i].slot as usize] = i as u32;
            i = least;
        }
        self.heap[i] = entry;
        self.place[entry.slot as usize] = i as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(t: &mut Timeline) -> Vec<(u64, u32)> {
        let mut out = Vec::new();
        while let Some((at, slot)) = t.advance() {
            t.clear(slot);
            out.push((at.as_ns(), slot));
        }
        out
    }

    #[test]
    fn ties_run_in_the_order_they_were_scheduled() {
        let mut t = Timeline::new(4);
        for slot in [2, 0, 3, 1] {
            t.set(slot, Time::from_ns(7));
        }
        assert_eq!(drain(&mut t), [(7, 2), (7, 0), (7, 3), (7, 1)]);
    }

    #[test]
    fn moved_and_cleared_slots_come_out_in_order() {
        let mut t = Timeline::new(200);
        let mut x = 12345u64;
        let mut expected = vec![0; 200];
        for _ in 0..10 {
            for slot in 0..200u32 {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                expected[slot as usize] = x >> 40;
                t.set(slot, Time::from_ns(x >> 40));
            }
        }
        for slot in (0..200).step_by(3) {
            t.clear(slot);
        }
        let out = drain(&mut t);
        assert!(out.is_sorted_by_key(|e| e.0));
        assert_eq!(out.len(), 133);
        assert!(out.iter().all(|&(at, slot)| at == expected[slot as usize] && slot % 3 != 0));
    }

    #[test]
    fn a_later_deadline_leaves_the_slot_where_it_is() {
        let mut t = Timeline::new(1);
        t.set_if_earlier(0, Time::from_ns(5));
        t.set_if_earlier(0, Time::from_ns(9));
        assert_eq!(t.advance(), Some((Time::from_ns(5), 0)));
        t.set_if_earlier(0, Time::NEVER);
        assert_eq!(t.advance(), Some((Time::from_ns(5), 0)));
    }

    #[test]
    #[should_panic(expected = "scheduled in the past")]
    fn scheduling_in_the_past_is_a_bug() {
        let mut t = Timeline::new(2);
        t.set(0, Time::from_ns(5));
        t.advance();
        t.set(1, Time::from_ns(4));
    }
}
