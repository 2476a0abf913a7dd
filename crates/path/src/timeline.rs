//! The event queue: one slot per source of events (a pipe's head, a host's timer), not one per packet.
//!
//! Some timers may be late: Linux gives them a slack, within which they fire with whichever other timer of
//! their processor fires, and so cost no interrupt of their own (`hrtimer_interrupt`, kernel/time/hrtimer.c).
//! All that is simulated runs on one processor, as hosts that are network namespaces may, unless a timer's
//! owner gives it no slack.
//!
//! Where many slots are scheduled ([`Timeline::for_many`]), only those that come up soon are sorted; the others wait in a
//! wheel ([`Wheel`]), which also tells what comes soon ([`Timeline::coming`]).
//!
//! Most events have one of a few slots, the links and the delays of all flows: they are kept apart ([`Timeline::keep_apart`]),
//! where the next of them is found with a comparison or two.

mod apart;
mod wheel;

#[cfg(test)]
mod tests;

use apart::Apart;
use net::fetch::fetch;
use units::{Span, Time};
use wheel::Wheel;

/// Low bits of a key that hold the slot.
const SLOT_BITS: u32 = 22;
/// Children of a node of the heap: their keys fill a cache line.
const ARITY: usize = 4;
/// Place of the heap's first key, so that the children of any node begin at a multiple of [`ARITY`].
const ROOT: usize = ARITY - 1;
/// Place of slots that are not scheduled; the key there stays [`EventKey::ABSENT`].
const NOWHERE: u32 = 0;
/// First place of slots that are kept apart, scheduled or not: after all of the heap, before those of the wheel.
const APART: u32 = 1 << 30;

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

/// What is known of a slot, in one place, because most is asked for together.
#[derive(Clone, Copy)]
struct Slot {
    /// When it comes up; [`Time::NEVER`] where it is not scheduled. Of slots that are kept apart nothing is told here.
    due: Time,
    /// Where its key is: in the heap, apart or on the wheel.
    place: u32,
    /// How much earlier than its time it may come up, ns.
    slack: u32,
}

impl Slot {
    const UNSCHEDULED: Slot = Slot { due: Time::NEVER, place: NOWHERE, slack: 0 };
}

/// A 4-ary heap whose entries can be moved: each slot is in it at most once.
pub struct Timeline {
    /// From [`ROOT`] to `end`; absent ones before and after, so that there are always four children to
    /// compare, or none.
    keys: Vec<EventKey>,
    end: usize,
    slots: Vec<Slot>,
    next_seq: u64,
    now: Time,
    /// When a timer fired last.
    fired: Time,
    apart: Apart,
    wheel: Wheel,
}

impl Timeline {
    /// An empty queue for slots `0..slots`.
    ///
    /// # Panics
    /// When there are 2^22 slots or more.
    pub fn new(slots: usize) -> Timeline {
        assert!(slots < 1 << SLOT_BITS, "{slots} sources of events are too many");
        Timeline {
            keys: vec![EventKey::ABSENT; (ROOT + slots.max(1)).next_multiple_of(ARITY)],
            end: ROOT,
            slots: vec![Slot::UNSCHEDULED; slots],
            next_seq: 0,
            now: Time::ZERO,
            fired: Time::ZERO,
            apart: Apart::default(),
            wheel: Wheel::default(),
        }
    }

    /// Keeps apart a slot that many events have and that is not scheduled. Only a few have room; nothing but time depends on it.
    pub fn keep_apart(&mut self, slot: u32) {
        let known = &mut self.slots[slot as usize];
        assert_eq!(known.place, NOWHERE, "slot {slot} is scheduled or apart");
        if let Some(place) = self.apart.admit() {
            known.place = APART + place as u32;
        }
    }

    /// From now on only what comes up soon is sorted, and what comes soon is told, unless there are a million slots or more.
    /// Before the first slot is set.
    pub fn for_many(&mut self) {
        assert_eq!(self.end, ROOT, "slots are scheduled");
        if self.slots.len() <= wheel::SLOTS_MAX {
            self.wheel = Wheel::new();
        }
    }

    /// Slots whose events come soon: one of those that come within some 10 us, one of those after them, and one of those after
    /// these. Called for each event or more often, it tells most of them; a hint, which decides nothing.
    #[inline]
    pub fn coming(&mut self) -> [Option<u32>; wheel::TOLD] {
        self.wheel.coming()
    }

    /// Asks for the memory of a slot that is set soon.
    pub fn fetch_slot(&self, slot: u32) {
        fetch(&self.slots[slot as usize]);
    }

    /// Schedules `slot` at `at`, wherever it was before.
    #[inline]
    pub fn set(&mut self, slot: u32, at: Time) {
        let turn = self.take_turn();
        self.set_in_turn(slot, at, turn);
    }

    /// The place in the order of events of the same time that the next one that is scheduled would have; one after it comes
    /// later. For [`Timeline::set_in_turn`].
    #[inline]
    pub fn take_turn(&mut self) -> u64 {
        let turn = self.next_seq;
        self.next_seq += 1;
        turn
    }

    /// Schedules `slot` at `at` as if it had been when [`Timeline::take_turn`] told `turn`, which no other slot has.
    #[inline]
    pub fn set_in_turn(&mut self, slot: u32, at: Time, turn: u64) {
        assert!(at >= self.now, "event scheduled in the past: {at:?} < {:?}", self.now);
        let key = EventKey::new(at, turn, slot);
        match apart(self.slots[slot as usize].place) {
            Some(place) => self.apart.put(place, key),
            None => self.schedule(slot, key, 0),
        }
    }

    /// Schedules a slot that is not kept apart. One copy of the code instead of one in each place that sets a slot.
    #[inline(never)]
    fn schedule(&mut self, slot: u32, key: EventKey, slack: u32) {
        let at = key.at();
        let known = &mut self.slots[slot as usize];
        let place = known.place;
        (known.due, known.slack) = (at, slack);
        if at > self.wheel.sorted_until() || wheel::holds(place) {
            return self.schedule_on_wheel(slot, place, key);
        }
        match place {
            NOWHERE => {
                self.end += 1;
                self.rise(self.end - 1, key);
            }
            i if key < self.keys[i as usize] => self.rise(i as usize, key),
            i => self.sink(i as usize, key),
        }
    }

    /// The same where it was on the wheel, or will be.
    #[inline(never)]
    fn schedule_on_wheel(&mut self, slot: u32, place: u32, key: EventKey) {
        self.take_out(place);
        if key.at() > self.wheel.sorted_until() {
            self.slots[slot as usize].place = self.wheel.push(key);
            self.refill();
        } else {
            self.insert(key);
        }
    }

    /// Puts a new key into the heap.
    #[inline]
    fn insert(&mut self, key: EventKey) {
        self.end += 1;
        self.rise(self.end - 1, key);
    }

    /// Sorts what comes up next, where all that was sorted has come up: the heap is empty only when the wheel is.
    #[inline]
    fn refill(&mut self) {
        while self.end == ROOT && !self.wheel.is_empty() {
            self.turn();
        }
    }

    #[inline(never)]
    fn turn(&mut self) {
        self.wheel.turn();
        while let Some(key) = self.wheel.pop(&mut self.slots) {
            self.insert(key);
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
        if at < self.slots[slot as usize].due {
            assert!(at >= self.now, "event scheduled in the past: {at:?} < {:?}", self.now);
            let slack = u32::try_from(slack.as_ns()).expect("a slack is below 4 s");
            let key = EventKey::new(at, self.take_turn(), slot);
            self.schedule(slot, key, slack);
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
        let apart = self.apart.first();
        if apart < self.keys[ROOT] {
            // It has no slack.
            self.now = apart.at();
            return Some((self.now, apart.slot()));
        }
        let first = self.keys[ROOT];
        self.now = self.time_of(first)?;
        Some((self.now, first.slot()))
    }

    /// When the next event is, without going there.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        self.time_of(self.keys[ROOT].min(self.apart.first()))
    }

    /// When the first event comes up; `None` where there is none.
    #[inline]
    fn time_of(&self, first: EventKey) -> Option<Time> {
        if first == EventKey::ABSENT {
            return None;
        }
        let is_early = self.fired == self.now && self.earliest(first) <= self.now;
        Some(if is_early { self.now } else { first.at() })
    }

    /// When an event may come up at the earliest.
    #[inline]
    fn earliest(&self, key: EventKey) -> Time {
        let slack = self.slots[key.slot() as usize].slack;
        Time::from_ns(key.at().as_ns().saturating_sub(u64::from(slack)))
    }

    /// The event of `slot` has come up, and its owner sets it again before [`Timeline::let_go`], where it does: one move instead
    /// of taking it out and putting it in.
    #[inline]
    pub fn take_up(&mut self, slot: u32) {
        self.slots[slot as usize].due = Time::NEVER;
    }

    /// Takes `slot` out unless it was set since [`Timeline::take_up`].
    #[inline]
    pub fn let_go(&mut self, slot: u32) {
        if self.slots[slot as usize].due == Time::NEVER {
            self.clear(slot);
        }
    }

    /// Takes `slot` out.
    #[inline]
    pub fn clear(&mut self, slot: u32) {
        let known = &mut self.slots[slot as usize];
        let place = known.place;
        if let Some(place) = apart(place) {
            return self.apart.put(place, EventKey::ABSENT);
        }
        *known = Slot::UNSCHEDULED;
        self.take_out(place);
        self.refill();
    }

    /// Takes out the key at a place of the heap or of the wheel.
    #[inline]
    fn take_out(&mut self, place: u32) {
        if place == NOWHERE {
            return;
        }
        if wheel::holds(place) {
            return self.wheel.remove(place, &mut self.slots);
        }
        let i = place as usize;
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
        self.slots[key.slot() as usize].place = i as u32;
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

/// Which of the slots that are kept apart has this place.
#[inline(always)]
fn apart(place: u32) -> Option<usize> {
    let place = place.wrapping_sub(APART) as usize;
    (place < apart::ROOM).then_some(place)
}

#[inline]
fn first_child(i: usize) -> usize {
    (i - ROOT + 1) * ARITY
}

#[inline]
fn parent(i: usize) -> usize {
    i / ARITY + ROOT - 1
}
