//! Events that do not come up soon, unsorted: a wheel of buckets, each of which has a short time of every turn.
//!
//! A heap of tens of thousands of entries costs a way through all its levels for each event, and each level is a load
//! that waits for the one before. On the wheel an entry is written once and read once, and what stands in the next buckets
//! is what comes soon.

use super::{EventKey, Slot};
use units::Time;

/// Time of a bucket, ns, as a power of two: some twenty events of ten thousand flows at 10 Gbit/s, the state of which is
/// small beside the cache of a processor's core.
const WIDTH: u64 = 1 << 13;
/// Buckets: a turn is 16.8 ms, of the order of the delays of a path; timers of 200 ms are passed over some ten times.
const BUCKETS: u64 = 1 << 11;
/// Bits of a place that hold the index in its bucket; the bucket is above them.
const INDEX_BITS: u32 = 31 - BUCKETS.ilog2();
/// The most slots that fit.
pub(super) const SLOTS_MAX: usize = 1 << INDEX_BITS;
/// Buckets after the one that is sorted whose slots are told.
pub(super) const TOLD: usize = 3;
/// The bit that tells places on the wheel from those in the heap.
const HERE: u32 = 1 << 31;

/// Whether a place is on the wheel.
#[inline]
pub(super) fn holds(place: u32) -> bool {
    place & HERE != 0
}

#[inline]
fn place(bucket: usize, index: usize) -> u32 {
    HERE | (bucket as u32) << INDEX_BITS | index as u32
}

#[inline]
fn parts(place: u32) -> (usize, usize) {
    let bucket = (place & !HERE) >> INDEX_BITS;
    (bucket as usize, (place & ((1 << INDEX_BITS) - 1)) as usize)
}

#[inline]
fn bucket(at: Time) -> usize {
    (at.as_ns() / WIDTH % BUCKETS) as usize
}

/// See the module documentation. Without buckets it takes nothing.
pub(super) struct Wheel {
    buckets: Vec<Vec<EventKey>>,
    /// What comes up until then is in the heap: the last instant of a bucket.
    sorted_until: Time,
    count: usize,
    /// How far each of the next buckets has been told.
    told: [usize; TOLD],
    /// Keys of the bucket that is sorted now that stay, because they have a later turn.
    passed: usize,
}

impl Default for Wheel {
    fn default() -> Wheel {
        Wheel {
            buckets: Vec::new(),
            sorted_until: Time::NEVER,
            count: 0,
            told: [0; TOLD],
            passed: 0,
        }
    }
}

impl Wheel {
    /// An empty wheel at the start of the run.
    pub(super) fn new() -> Wheel {
        let buckets = (0..BUCKETS).map(|_| Vec::new()).collect();
        Wheel { buckets, sorted_until: Time::from_ns(WIDTH - 1), ..Wheel::default() }
    }

    #[inline]
    pub(super) fn sorted_until(&self) -> Time {
        self.sorted_until
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Takes a key; returns its place.
    #[inline]
    pub(super) fn push(&mut self, key: EventKey) -> u32 {
        debug_assert!(key.at() > self.sorted_until, "{key:?} belongs into the heap");
        let bucket = bucket(key.at());
        let keys = &mut self.buckets[bucket];
        keys.push(key);
        self.count += 1;
        place(bucket, keys.len() - 1)
    }

    /// Takes out the key at a place.
    #[inline]
    pub(super) fn remove(&mut self, at: u32, slots: &mut [Slot]) {
        let (bucket, index) = parts(at);
        let keys = &mut self.buckets[bucket];
        keys.swap_remove(index);
        self.count -= 1;
        if let Some(moved) = keys.get(index) {
            slots[moved.slot() as usize].place = at;
        }
    }

    /// Goes on to the next bucket that has something for [`Wheel::pop`]; there must be one.
    pub(super) fn turn(&mut self) {
        (self.told, self.passed) = ([0; TOLD], 0);
        for _ in 0..BUCKETS {
            self.sorted_until = Time::from_ns(self.sorted_until.as_ns() + WIDTH);
            let keys = &self.buckets[bucket(self.sorted_until)];
            if keys.iter().any(|key| key.at() <= self.sorted_until) {
                return;
            }
        }
        // Nothing within a turn: on to the first of all.
        let first = self.buckets.iter().flatten().min().expect("the wheel is not empty");
        self.sorted_until = Time::from_ns(first.at().as_ns() | (WIDTH - 1));
    }

    /// Takes out a key that belongs into the heap now.
    pub(super) fn pop(&mut self, slots: &mut [Slot]) -> Option<EventKey> {
        let bucket = bucket(self.sorted_until);
        let keys = &self.buckets[bucket];
        // What is before has a later turn; the key that takes the place of one that is removed is looked at next.
        let later = keys[self.passed..].iter().take_while(|key| key.at() > self.sorted_until);
        self.passed += later.count();
        let key = *keys.get(self.passed)?;
        self.remove(place(bucket, self.passed), slots);
        Some(key)
    }

    /// A slot of each of the next buckets, each told once.
    #[inline]
    pub(super) fn coming(&mut self) -> [Option<u32>; TOLD] {
        std::array::from_fn(|i| {
            let until = self.sorted_until.as_ns().saturating_add((i as u64 + 1) * WIDTH);
            let told = &mut self.told[i];
            let key = self.buckets.get(bucket(Time::from_ns(until)))?.get(*told)?;
            *told += 1;
            (key.at().as_ns() <= until).then(|| key.slot())
        })
    }
}
