//! Events of the few slots that most events have. Each has its place, and all are looked at for the first one: which of them
//! that is cannot be guessed, so a processor is faster with comparisons only than with a sorted list.

use super::EventKey;

/// Slots that have room.
pub(super) const ROOM: usize = 8;

/// See the module documentation.
pub(super) struct Apart {
    /// By place; [`EventKey::ABSENT`] where the slot is not scheduled.
    keys: [EventKey; ROOM],
    admitted: usize,
}

impl Default for Apart {
    fn default() -> Apart {
        Apart { keys: [EventKey::ABSENT; ROOM], admitted: 0 }
    }
}

impl Apart {
    /// A place for a slot more, which has it from now on, if there is one.
    pub(super) fn admit(&mut self) -> Option<usize> {
        let place = self.admitted;
        (place < ROOM).then(|| {
            self.admitted += 1;
            place
        })
    }

    /// The first key, [`EventKey::ABSENT`] where there is none. Pairs are compared side by side, because each comparison
    /// would wait for the one before; most networks have no more than half of the room.
    #[inline(always)]
    pub(super) fn first(&self) -> EventKey {
        let [a, b, c, d, e, f, g, h] = self.keys;
        let first = earlier(earlier(a, b), earlier(c, d));
        match self.admitted {
            0..=4 => first,
            5..=6 => earlier(first, earlier(e, f)),
            _ => earlier(earlier(first, earlier(e, f)), earlier(g, h)),
        }
    }

    /// The slot at a place has this key from now on.
    #[inline(always)]
    pub(super) fn put(&mut self, place: usize, key: EventKey) {
        self.keys[place % ROOM] = key;
    }
}

#[inline(always)]
fn earlier(a: EventKey, b: EventKey) -> EventKey {
    if b < a {
        b
    } else {
        a
    }
}
