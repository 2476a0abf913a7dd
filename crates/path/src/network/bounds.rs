//! What a network may come to before it makes no more copies of packets. Each part that duplicates them multiplies what
//! those before it made, all in one step: that is too late to be looked at when the step is over.

use units::Time;

/// Copies between two looks at the bounds, because a look sums over the routes.
pub(super) const COPIES_PER_LOOK: u64 = 1 << 10;

/// See the module documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Packets that the network holds.
    pub packets: u64,
    /// Copies per second that has begun.
    pub copies_per_s: u64,
}

impl Bounds {
    /// None at all.
    pub const NONE: Bounds = Bounds { packets: u64::MAX, copies_per_s: u64::MAX };
}

/// A bound that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    Packets,
    Copies,
}

/// The copies so far, held against the bounds.
#[derive(Debug)]
pub(super) struct Copies {
    bounds: Bounds,
    made: u64,
    /// How many there are when the bounds are looked at next.
    next_look: u64,
    pub(super) excess: Option<Excess>,
}

impl Copies {
    pub(super) fn within(bounds: Bounds) -> Copies {
        Copies { bounds, made: 0, next_look: COPIES_PER_LOOK, excess: None }
    }

    /// Counts one more; whether it may be made without a look.
    #[inline]
    pub(super) fn count(&mut self) -> bool {
        self.made += 1;
        self.made < self.next_look
    }

    /// Looks at the bounds where the network holds this many packets; whether one more copy may be made.
    #[cold]
    pub(super) fn look(&mut self, now: Time, held: u64) -> bool {
        let seconds = now.as_ns() / 1_000_000_000 + 1;
        if held > self.bounds.packets {
            self.excess = self.excess.or(Some(Excess::Packets));
        } else if self.made > self.bounds.copies_per_s.saturating_mul(seconds) {
            self.excess = self.excess.or(Some(Excess::Copies));
        }
        if self.excess.is_none() {
            self.next_look = self.made + COPIES_PER_LOOK;
        }
        self.excess.is_none()
    }
}
