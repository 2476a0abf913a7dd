//! A ring of values that are copied: what a queue on the path of every packet is made of.
//!
//! Its room is a power of two, so that a place is found with a mask instead of a comparison, and each end is one number that
//! only grows. It never gives room back, so nothing is allocated once it has been as full as it gets.

use crate::fetch::fetch;
use std::mem::MaybeUninit;

/// Room that the first value makes.
const ROOM_FIRST: usize = 4;

/// See the module documentation.
#[derive(Debug)]
pub struct Ring<T> {
    /// As many as there is room for, a power of two or none. Those from `taken` to `put` have values.
    slots: Box<[MaybeUninit<T>]>,
    /// One less than the number of slots: what leaves of a number the place of its slot.
    mask: usize,
    /// Values that were taken from the front.
    taken: usize,
    /// Values that were put in at the back.
    put: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { slots: Box::default(), mask: 0, taken: 0, put: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Adds to the back.
    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        // `grow` is not given the value, so that the compiler can write its fields into the slot as they are made. A value that
        // is written elsewhere first is copied in pieces of another size, and such a copy waits until the fields are stored.
        if self.len() == self.slots.len() {
            self.grow();
        }
        let i = self.place(self.put);
        // SAFETY: there is room for it, so that `place` is one of the slots.
        unsafe { self.slots.get_unchecked_mut(i).write(value) };
        self.put = self.put.wrapping_add(1);
    }

    /// Takes from the front.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        self.take_front().copied()
    }

    /// The same, where the value lies: so that it is copied once, in one piece.
    #[inline(always)]
    pub fn take_front(&mut self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        let i = self.place(self.taken);
        self.taken = self.taken.wrapping_add(1);
        // SAFETY: there was a value, and so there are slots, of which `place` is the one where it is.
        Some(unsafe { self.slots.get_unchecked(i).assume_init_ref() })
    }

    /// Takes off the value at the front, which there is.
    #[inline(always)]
    pub fn drop_front(&mut self) {
        assert!(!self.is_empty(), "nothing is at the front");
        self.taken = self.taken.wrapping_add(1);
    }

    /// The value at the front.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        let i = self.place(self.taken);
        // SAFETY: there is a value, and so there are slots, of which `place` is the one where it is.
        Some(unsafe { self.slots.get_unchecked(i).assume_init_ref() })
    }

    /// The value at the back.
    #[inline(always)]
    pub fn back(&self) -> Option<&T> {
        self.get(self.len().wrapping_sub(1))
    }

    /// The `k`-th value from the front.
    #[inline(always)]
    pub fn get(&self, k: usize) -> Option<&T> {
        if k >= self.len() {
            return None;
        }
        let i = self.place(self.taken.wrapping_add(k));
        // SAFETY: there is a value, and so there are slots, of which `place` is the one where it is.
        Some(unsafe { self.slots.get_unchecked(i).assume_init_ref() })
    }

    /// Moves the `from`-th value from the front to place `to`, which is no further back; those between move back by one.
    ///
    /// # Panics
    /// When there are no `from + 1` values, or `to` is further back.
    pub fn bring_forward(&mut self, from: usize, to: usize) {
        assert!(to <= from && from < self.len(), "{from} to {to} of {}", self.len());
        for k in (to..from).rev() {
            let (a, b) = (self.taken.wrapping_add(k), self.taken.wrapping_add(k + 1));
            let (a, b) = (self.place(a), self.place(b));
            self.slots.swap(a, b);
        }
    }

    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.put.wrapping_sub(self.taken)
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.put == self.taken
    }

    /// Asks for the memory of the value at the front, or of the next one where there is none.
    #[inline]
    pub fn fetch(&self) {
        self.slots.get(self.place(self.taken)).into_iter().for_each(fetch);
    }

    /// The values from the front to the back.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).filter_map(|k| self.get(k))
    }

    /// Where the value is that was put in after `number` others: below the number of slots, a power of two, where there are any.
    #[inline(always)]
    fn place(&self, number: usize) -> usize {
        number & self.mask
    }

    /// Makes twice the room.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let room = (2 * self.slots.len()).max(ROOM_FIRST);
        let mut slots = Vec::with_capacity(room);
        slots.extend(self.iter().map(|&value| MaybeUninit::new(value)));
        slots.resize(room, MaybeUninit::uninit());
        (self.put, self.taken) = (self.len(), 0);
        (self.slots, self.mask) = (slots.into(), room - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::collections::VecDeque;

    #[test]
    fn it_behaves_as_a_queue() {
        let mut rng = Rng::stream(1, "ring");
        let (mut ring, mut model) = (Ring::default(), VecDeque::new());
        for _ in 0..20_000 {
            let value = rng.next_u64();
            match rng.below(9) {
                0..=3 => {
                    ring.push_back(value);
                    model.push_back(value);
                }
                4..=5 => assert_eq!(ring.pop_front(), model.pop_front()),
                6 if !model.is_empty() => {
                    ring.drop_front();
                    model.pop_front();
                }
                _ if !model.is_empty() => {
                    let from = rng.below(model.len() as u64) as usize;
                    let to = rng.below(from as u64 + 1) as usize;
                    ring.bring_forward(from, to);
                    let moved = model.remove(from).unwrap();
                    model.insert(to, moved);
                }
                _ => {}
            }
            let k = rng.below(20) as usize;
            assert_eq!((ring.front(), ring.back()), (model.front(), model.back()));
            assert_eq!((ring.get(k), ring.len()), (model.get(k), model.len()));
            assert_eq!(ring.is_empty(), model.is_empty());
            assert!(ring.iter().eq(&model));
        }
    }

    #[test]
    fn the_ends_go_on_beyond_the_largest_number() {
        let mut ring = Ring {
            slots: vec![MaybeUninit::uninit(); 4].into(),
            mask: 3,
            taken: usize::MAX - 1,
            put: usize::MAX - 1,
        };
        (1..=7).for_each(|value| ring.push_back(value));
        assert_eq!(ring.iter().copied().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((ring.pop_front(), ring.back()), (Some(1), Some(&7)));
    }
}
