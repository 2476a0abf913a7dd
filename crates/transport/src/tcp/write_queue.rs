//! Where the buffers (`sk_buff`) of the write queue end: a send takes the first, or a part of it, and does not go on into
//! the next.
//!
//! All buffers are as the application fills them, but for the first two, of which a send may have taken a part.

/// See the module documentation. Sizes are bytes of payload; that of a full buffer changes with the window and is said
/// with each call.
#[derive(Debug, Default)]
pub struct WriteQueue {
    /// Left in the first unsent buffer; 0: it is empty.
    front: u64,
    /// In the second, where it was split off the first; 0: it is like all others.
    second: u64,
}

impl WriteQueue {
    /// Everything was sent, or withdrawn.
    pub fn clear(&mut self) {
        *self = WriteQueue::default();
    }

    /// Whether nothing is known to be in the first buffer.
    pub fn is_empty(&self) -> bool {
        self.front == 0
    }

    /// Whether all `pending` bytes are in the first buffer.
    pub fn is_one(&self, pending: u64) -> bool {
        pending <= self.front
    }

    /// Puts bytes of `bytes` behind the `pending` ones that are there, until the last buffer has `goal`. Returns what that
    /// buffer had, and how many it took.
    pub fn append(&mut self, bytes: u64, pending: u64, goal: u64) -> (u64, u64) {
        self.front = if self.front == 0 { goal } else { self.front }.min(pending);
        let tail = self.tail(pending, goal);
        let taken = bytes.min(goal.saturating_sub(tail));
        if pending == self.front && (tail > 0 || pending == 0) {
            self.front += taken;
        } else if tail > 0 && pending == self.front + self.second {
            self.second += taken;
        }
        (tail, taken)
    }

    /// What is in the last buffer of `pending` bytes; 0: it is full.
    pub fn tail(&self, pending: u64, goal: u64) -> u64 {
        let (first, second) = self.first_two(goal);
        if pending <= first {
            pending % goal
        } else if pending <= first + second {
            (pending - first) % goal
        } else {
            (pending - first - second) % goal
        }
    }

    /// How many buffers `pending` bytes are in.
    pub fn count(&self, pending: u64, goal: u64) -> u64 {
        let (first, second) = self.first_two(goal);
        u64::from(pending > 0)
            + u64::from(pending > first)
            + pending.saturating_sub(first + second).div_ceil(goal)
    }

    fn first_two(&self, goal: u64) -> (u64, u64) {
        let or_full = |bytes| if bytes == 0 { goal } else { bytes };
        (or_full(self.front), or_full(self.second))
    }

    /// What is in the first buffer, which is a full one where nothing is known.
    #[inline]
    pub fn front(&mut self, full: impl FnOnce() -> u64) -> u64 {
        if self.front == 0 {
            self.front = full();
        }
        self.front
    }

    /// Whether the first buffer is known to have this many bytes or more.
    #[inline]
    pub fn has_front(&self, bytes: u64) -> bool {
        self.front >= bytes
    }

    /// `bytes` are sent; a send larger than the first buffer borrows from the next (`tcp_grow_skb`).
    #[inline]
    pub fn consume(&mut self, bytes: u64, full: impl FnOnce() -> u64) {
        if bytes < self.front {
            self.front -= bytes;
            return;
        }
        let next = if self.second > 0 || bytes == self.front { self.second } else { full() };
        self.front = next.saturating_sub(bytes - self.front);
        self.second = 0;
    }

    /// Fills the first buffer up from the next, of `pending` bytes, to at most `most`. Returns what it had, and what it has
    /// (`tcp_grow_skb`, which takes from one buffer only).
    #[inline]
    pub fn grow(&mut self, most: u64, pending: u64, full: impl Fn() -> u64) -> (u64, u64) {
        let front = self.front(&full).min(pending);
        if front >= most || front == pending {
            return (front, front);
        }
        let next = if self.second > 0 { self.second } else { full() }.min(pending - front);
        let taken = next.min(most - front);
        self.front = front + taken;
        self.second = next - taken;
        (front, self.front)
    }

    /// The first buffer has `bytes` from now on: the rest was cut off it (`tso_fragment`). A rest that was cut off before
    /// stays as it is.
    #[inline]
    pub fn split(&mut self, bytes: u64) {
        if bytes < self.front && self.second == 0 {
            self.second = self.front - bytes;
            self.front = bytes;
        }
    }
}
