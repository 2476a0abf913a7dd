//! The event queue: one slot per source of events (a pipe's head, a host's timer), not one per packet.
//!
//! Some timers may be late: Linux gives them a slack, within which they fire with whichever other timer of
//! their processor fires, and so cost no interrupt of their own (`hrtimer_interrupt`, kernel/time/hrtimer.c).
//! All that is simulated runs on one processor, as hosts that are network namespaces may, unless a timer's
//! owner gives it no slack.

use units::{Span, Time};

/// Low bits of a key that hold the slot.
const SLOT_BITS: u32 = 22;
/// Children of a node of the heap: their keys fill a cache line.
const ARITY: usize = 4;
/// Place of the heap's first key, so that the children of any node begin at a multiple of [`ARITY`].
const ROOT: usize = ARITY - 1;
/// Place of slots that are not scheduled; the key there stays [`EventKey::ABSENT`].
const NOWHERE: u32 = 0;

/// Total order of the run: earlier time first, that at which a timer fires at the latest; ties in the order
/// they were scheduled. Time, that order
/// and the slot, from the highest bits down, are one number, of which two are compared in two
/// instructions; the slot never decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct EventKey(u128);

impl EventKey {
    /// After all others.
    const ABSENT: EventKey = EventKey(u128::MAX);

    #[inline]
    fn new(at: Time, seq: u64, slot: u32) -> EventKey {
        EventKey(u128::from(at.as_ns()) << 64 | u128::from(seq << SLOT_BITS | u64::from(slot)))
    }

    /// [`Time::NEVER`] where it is absent.
    #[inline]
    fn at(self) -> Time {
        Time::from_ns((self.0 >> 64) as u64)
    }

    #[inline]
    fn slot(self) -> u32 {
        self.0 as u32 & ((1 << SLOT_BITS) - 1)
    }
}

/// A 4-ary heap whose entries can be moved: each slot is in it at most once.
pub struct Timeline {
    /// From [`ROOT`] to `end`; absent ones before and after, so that there are always four children to
    /// compare, or none.
    keys: Vec<EventKey>,
    end: usize,
    /// Where in `keys` each slot is.
    place: Vec<u32>,
    /// Of each slot, how much earlier than its time it may come up, ns.
    slacks: Vec<u32>,
    next_seq: u64,
    now: Time,
    /// When a timer fired last.
    fired: Time,
}

impl Timeline {
    /// An empty queue for slots `0..slots`.
    ///
    /// # Panics
    /// When there are more than 2^22 slots.
    pub fn new(slots: usize) -> Timeline {
        assert!(slots <= 1 << SLOT_BITS, "{slots} sources of events are too many");
        Timeline {
            keys: vec![EventKey::ABSENT; (ROOT + slots.max(1)).next_multiple_of(ARITY)],
            end: ROOT,
            place: vec![NOWHERE; slots],
            slacks: vec![0; slots],
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
        let key = EventKey::new(at, self.next_seq, slot);
        self.next_seq += 1;
        self.slacks[slot as usize] = slack;
        match self.place[slot as usize] {
            NOWHERE => {
                self.end += 1;
                self.rise(self.end - 1, key);
            }
            i if key < self.keys[i as usize] => self.rise(i as usize, key),
            i => self.sink(i as usize, key),
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
        if at < self.keys[self.place[slot as usize] as usize].at() {
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
        self.now = self.next_at()?;
        Some((self.now, self.keys[ROOT].slot()))
    }

    /// When the next event is, without going there.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        let first = self.keys[ROOT];
        if first == EventKey::ABSENT {
            return None;
        }
        let is_early = self.fired == self.now && self.earliest(first) <= self.now;
        Some(if is_early { self.now } else { first.at() })
    }

    /// When an event may come up at the earliest.
    #[inline]
    fn earliest(&self, key: EventKey) -> Time {
        let slack = self.slacks[key.slot() as usize];
        Time::from_ns(key.at().as_ns().saturating_sub(u64::from(slack)))
    }

    /// Takes `slot` out.
    #[inline]
    pub fn clear(&mut self, slot: u32) {
        let i = std::mem::replace(&mut self.place[slot as usize], NOWHERE) as usize;
        if i == NOWHERE as usize {
            return;
        }
        self.end -= 1;
        let last = std::mem::replace(&mut self.keys[self.end], EventKey::ABSENT);
        if i == self.end {
            return;
        }
        if i > ROOT && last < self.keys[parent(i)] {
            self.rise(i, last);
        } else {
            self.sink(i, last);
        }
    }

    #[inline]
    fn put(&mut self, i: usize, key: EventKey) {
        self.keys[i] = key;
        self.place[key.slot() as usize] = i as u32;
    }

    #[inline]
    fn children(&self, i: usize) -> Option<&[EventKey; ARITY]> {
        self.keys.get(first_child(i)..)?.first_chunk()
    }

    /// Puts `key` at `i` or, ahead of later ones, closer to the root.
    fn rise(&mut self, mut i: usize, key: EventKey) {
        while i > ROOT {
            let above = self.keys[parent(i)];
            if above <= key {
                break;
            }
            self.put(i, above);
            i = parent(i);
        }
        self.put(i, key);
    }

    /// Puts `key` at `i` or, after earlier ones, further from the root.
    fn sink(&mut self, mut i: usize, key: EventKey) {
        while let Some(children) = self.children(i) {
            let (mut least, mut below) = (0, children[0]);
            for (k, &child) in children.iter().enumerate().skip(1) {
                if child < below {
                    (least, below) = (k, child);
                }
            }
            if key <= below {
                break;
            }
            self.put(i, below);
            i = first_child(i) + least;
        }
        self.put(i, key);
    }
}

#[inline]
fn first_child(i: usize) -> usize {
    (i - ROOT + 1) * ARITY
}

#[inline]
fn parent(i: usize) -> usize {
    i / ARITY + ROOT - 1
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
