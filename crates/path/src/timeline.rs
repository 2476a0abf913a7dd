//! The event queue: one slot per source of events (a pipe's head, a host's timer), not one per packet.
//!
//! Some timers may be late: Linux gives them a slack, within which they fire with whichever other timer of
//! their processor fires, and so cost no interrupt of their own (`hrtimer_interrupt`, kernel/time/hrtimer.c).
//! All that is simulated runs on one processor, as hosts that are network namespaces may.

use units::{Span, Time};

/// Total order of the run: earlier time first, that at which a timer fires at the latest; ties in the
/// order they were scheduled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct EventKey {
    at: Time,
    seq: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    key: EventKey,
    slot: u32,
    /// How much earlier than its time it may come up, ns.
    slack: u32,
}

impl Entry {
    fn earliest(&self) -> Time {
        Time::from_ns(self.key.at.as_ns().saturating_sub(u64::from(self.slack)))
    }
}

const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

/// A 4-ary heap whose entries can be moved: each slot is in it at most once.
pub struct Timeline {
    heap: Vec<Entry>,
    place: Vec<u32>,
    next_seq: u64,
    now: Time,
    /// When a timer fired last.
    fired: Time,
}

impl Timeline {
    /// An empty queue for slots `0..slots`.
    pub fn new(slots: usize) -> Timeline {
        Timeline {
            heap: Vec::with_capacity(slots),
            place: vec![ABSENT; slots],
            next_seq: 0,
            now: Time::ZERO,
            fired: Time::ZERO,
        }
    }

    /// Schedules `slot` at `at`, wherever it was before.
    #[inline]
    pub fn set(&mut self, slot: u32, at: Time) {
        self.schedule(slot, at, 0);
    }

    #[inline]
    fn schedule(&mut self, slot: u32, at: Time, slack: u32) {
        assert!(at >= self.now, "event scheduled in the past: {at:?} < {:?}", self.now);
        let key = EventKey { at, seq: self.next_seq };
        self.next_seq += 1;
        match self.place[slot as usize] {
            ABSENT => {
                self.heap.push(Entry { key, slot, slack });
                self.rise(self.heap.len() - 1);
            }
            i => {
                let earlier = key < self.heap[i as usize].key;
                self.heap[i as usize] = Entry { key, slot, slack };
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
        self.set_with_slack_if_earlier(slot, at, Span::ZERO);
    }

    /// The same for a timer that from `slack` before `at` on fires with another, where none comes between.
    #[inline]
    pub fn set_with_slack_if_earlier(&mut self, slot: u32, at: Time, slack: Span) {
        let i = self.place[slot as usize];
        if at.is_set() && (i == ABSENT || at < self.heap[i as usize].key.at) {
            let slack = u32::try_from(slack.as_ns()).expect("a slack is below 4 s");
            self.schedule(slot, at, slack);
        }
    }

    /// A timer fired at this instant: those that may be late fire with it. The owner of an event says so,
    /// since a deadline that was moved comes up, too, and is none.
    #[inline]
    pub fn fire(&mut self) {
        self.fired = self.now;
    }

    /// Goes to the next event, which stays scheduled until it is set or cleared.
    #[inline]
    pub fn advance(&mut self) -> Option<(Time, u32)> {
        let at = self.next_at()?;
        self.now = at;
        Some((at, self.heap[0].slot))
    }

    /// When the next event is, without going there.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        let first = self.heap.first()?;
        let is_early = self.fired == self.now && first.earliest() <= self.now;
        Some(if is_early { self.now } else { first.key.at })
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

    /// Slots in the order in which they come up, each of which fires.
    fn fire_all(t: &mut Timeline) -> Vec<(u64, u32)> {
        let mut out = Vec::new();
        while let Some((at, slot)) = t.advance() {
            t.clear(slot);
            t.fire();
            out.push((at.as_ns(), slot));
        }
        out
    }

    /// Slot 0 fires at 30 ns at the latest, from 20 ns on with another.
    fn late(others: &[u64]) -> Timeline {
        let mut t = Timeline::new(4);
        t.set_with_slack_if_earlier(0, Time::from_ns(30), Span::from_ns(10));
        for (slot, &at) in (1..).zip(others) {
            t.set(slot, Time::from_ns(at));
        }
        t
    }

    #[test]
    fn a_timer_that_may_be_late_fires_with_the_last_that_fires_before_its_time() {
        assert_eq!(fire_all(&mut late(&[])), [(30, 0)]);
        assert_eq!(fire_all(&mut late(&[19, 31])), [(19, 1), (30, 0), (31, 2)]);
        assert_eq!(fire_all(&mut late(&[20])), [(20, 1), (20, 0)]);
        // At 21 ns the processor is woken for 25 ns anyway.
        assert_eq!(fire_all(&mut late(&[21, 25])), [(21, 1), (25, 2), (25, 0)]);
    }

    #[test]
    fn timers_that_may_be_late_fire_together() {
        let mut t = late(&[]);
        t.set_with_slack_if_earlier(1, Time::from_ns(38), Span::from_ns(10));
        t.set_with_slack_if_earlier(2, Time::from_ns(41), Span::from_ns(10));
        assert_eq!(fire_all(&mut t), [(30, 0), (30, 1), (41, 2)]);
    }

    #[test]
    fn a_deadline_that_is_none_wakes_no_timer_that_may_be_late() {
        assert_eq!(drain(&mut late(&[25])), [(25, 1), (30, 0)]);
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
