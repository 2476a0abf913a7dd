//! Events of the few slots that most events have: sorted, because there are few.

use super::EventKey;

/// Slots that have room.
const ROOM: usize = 8;

/// See the module documentation.
pub(super) struct Apart {
    /// Sorted; [`EventKey::ABSENT`] after the last, and at the end in any case.
    keys: [EventKey; ROOM + 1],
    admitted: usize,
}

impl Default for Apart {
    fn default() -> Apart {
        Apart { keys: [EventKey::ABSENT; ROOM + 1], admitted: 0 }
    }
}

impl Apart {
    /// Whether there is room for a slot more, which has it from now on.
    pub(super) fn admit(&mut self) -> bool {
        let has_room = self.admitted < ROOM;
        self.admitted += usize::from(has_room);
        has_room
    }

    /// The first key, [`EventKey::ABSENT`] where there is none.
    #[inline]
    pub(super) fn first(&self) -> EventKey {
        self.keys[0]
    }

    /// Where the key of a slot is, or the end.
    #[inline]
    fn find(&self, slot: u32) -> usize {
        let is_here = |key: &EventKey| *key == EventKey::ABSENT || key.slot() == slot;
        self.keys[..ROOM].iter().position(is_here).expect("as many slots as were admitted")
    }

    /// Puts in the key of a slot that was admitted, instead of the one that it had.
    #[inline]
    pub(super) fn put(&mut self, key: EventKey) {
        // Mostly it is the first, which came up just now.
        let mut i = if self.keys[0].slot() == key.slot() { 0 } else { self.find(key.slot()) };
        while i > 0 && key < self.keys[i - 1] {
            self.keys[i] = self.keys[i - 1];
            i -= 1;
        }
        while i < ROOM - 1 && self.keys[i + 1] < key {
            self.keys[i] = self.keys[i + 1];
            i += 1;
        }
        self.keys[i] = key;
    }

    /// Takes out the key of a slot, if it has one.
    #[inline]
    pub(super) fn take_out(&mut self, slot: u32) {
        let i = self.find(slot);
        self.keys.copy_within(i + 1.., i);
    }
}
