//! Where the buffers (`sk_buff`) of the write queue end: a send takes the first, or a part of it, and does not go on into
//! the next.
//!
//! What an application has written is in buffers as it filled them. Of a stream that is there from the start, or without end,
//! only the first ones are known, where a send has taken a part; the others are as an application would fill them.

use std::collections::VecDeque;

/// See the module documentation. Sizes are bytes of payload; that of a full buffer changes with the window and is said
/// with each call.
#[derive(Debug, Default)]
pub struct WriteQueue {
    /// Left in the first unsent buffer; 0: it is empty, or not known.
    front: u32,
    /// In the second; 0: there is none, or it is not known.
    second: u32,
    /// Those behind the second. Most queues never have any.
    behind: Option<Box<Behind>>,
}

/// Buffers of one size that follow each other.
#[derive(Clone, Copy, Debug)]
struct Run {
    len: u32,
    count: u32,
}

#[derive(Debug, Default)]
struct Behind {
    runs: VecDeque<Run>,
    /// Buffers in them, and their bytes.
    count: u64,
    bytes: u64,
}

impl Behind {
    fn push_front(&mut self, len: u32) {
        self.runs.push_front(Run { len, count: 1 });
        self.count += 1;
        self.bytes += u64::from(len);
    }

    fn push_back(&mut self, len: u32, count: u32) {
        match self.runs.back_mut() {
            Some(last) if last.len == len => last.count += count,
            _ => self.runs.push_back(Run { len, count }),
        }
        self.count += u64::from(count);
        self.bytes += u64::from(len) * u64::from(count);
    }

    /// Takes a buffer out of the run at this place.
    fn take(&mut self, place: usize) -> Option<u32> {
        let run = self.runs.get_mut(place)?;
        let len = run.len;
        run.count -= 1;
        if run.count == 0 {
            self.runs.remove(place);
        }
        self.count -= 1;
        self.bytes -= u64::from(len);
        Some(len)
    }

    fn pop_back(&mut self) -> Option<u32> {
        self.take(self.runs.len().checked_sub(1)?)
    }
}

impl WriteQueue {
    /// Everything was sent, or withdrawn.
    pub fn clear(&mut self) {
        (self.front, self.second) = (0, 0);
        if let Some(behind) = &mut self.behind {
            (behind.count, behind.bytes) = (0, 0);
            behind.runs.clear();
        }
    }

    /// Whether nothing is known to be in the first buffer.
    pub fn is_empty(&self) -> bool {
        self.front == 0
    }

    /// Whether all `pending` bytes are in the first buffer.
    pub fn is_one(&self, pending: u64) -> bool {
        pending <= u64::from(self.front)
    }

    /// Puts bytes of `bytes` into the last buffer until that has `goal`, or else into a new one. Returns what the last one had,
    /// 0 where a new one begins, and how many it took.
    pub fn append(&mut self, bytes: u64, goal: u64) -> (u64, u64) {
        let tail = self.tail(goal);
        let taken = bytes.min(goal - tail);
        if tail > 0 {
            self.pop_last();
        }
        self.push((tail + taken) as u32, 1);
        (tail, taken)
    }

    /// Puts `count` buffers of `len` bytes behind the others.
    pub fn push(&mut self, len: u32, mut count: u32) {
        if self.front == 0 {
            self.front = len;
            count -= 1;
        }
        let is_last =
            self.second == 0 && self.behind.as_ref().is_none_or(|behind| behind.count == 0);
        if count > 0 && is_last {
            self.second = len;
            count -= 1;
        }
        if count > 0 {
            self.behind.get_or_insert_default().push_back(len, count);
        }
    }

    /// What is in the last buffer, where that has less than `goal`; 0: it is full, or there is none.
    pub fn tail(&self, goal: u64) -> u64 {
        let last = match self.behind.as_ref().and_then(|behind| behind.runs.back()) {
            Some(last) => last.len,
            None if self.second > 0 => self.second,
            None => self.front,
        };
        if u64::from(last) < goal {
            last.into()
        } else {
            0
        }
    }

    fn pop_last(&mut self) {
        if self.behind.as_mut().and_then(|behind| behind.pop_back()).is_some() {
            return;
        }
        let last = if self.second > 0 { &mut self.second } else { &mut self.front };
        *last = 0;
    }

    /// How many buffers `pending` bytes are in, of which those that are not known have `goal`.
    pub fn count(&self, pending: u64, goal: u64) -> u64 {
        let (count, bytes) = self.behind.as_ref().map_or((0, 0), |b| (b.count, b.bytes));
        let known = count + u64::from(self.front > 0) + u64::from(self.second > 0);
        let bytes = bytes + u64::from(self.front) + u64::from(self.second);
        known + pending.saturating_sub(bytes).div_ceil(goal)
    }

    /// What is in the first buffer, which is a full one where nothing is known.
    #[inline]
    pub fn front(&mut self, full: impl FnOnce() -> u64) -> u64 {
        if self.front == 0 {
            self.front = full() as u32;
        }
        self.front.into()
    }

    /// Whether the first buffer is known to have this many bytes or more.
    #[inline]
    pub fn has_front(&self, bytes: u64) -> bool {
        u64::from(self.front) >= bytes
    }

    /// `bytes` are sent; a send larger than the first buffer borrows from the next (`tcp_grow_skb`).
    #[inline]
    pub fn consume(&mut self, bytes: u64, full: impl FnOnce() -> u64) {
        let bytes = bytes as u32;
        if bytes < self.front {
            self.front -= bytes;
            return;
        }
        let borrowed = bytes - self.front;
        let next = self.take_second();
        let next = next.unwrap_or_else(|| if borrowed == 0 { 0 } else { full() as u32 });
        self.front = next.saturating_sub(borrowed);
        if self.front == 0 {
            self.front = self.take_second().unwrap_or(0);
        }
    }

    /// Takes out the second buffer, if it is known.
    #[inline]
    fn take_second(&mut self) -> Option<u32> {
        match std::mem::take(&mut self.second) {
            0 => self.behind.as_mut().and_then(|behind| behind.take(0)),
            second => Some(second),
        }
    }

    /// Fills the first buffer up from the next, of `pending` bytes, to at most `most`. Returns what it had, and what it has
    /// (`tcp_grow_skb`, which takes from one buffer only).
    #[inline]
    pub fn grow(&mut self, most: u64, pending: u64, full: impl Fn() -> u64) -> (u64, u64) {
        let front = self.front(&full).min(pending);
        if front >= most || front == pending {
            return (front, front);
        }
        let next = self.take_second().map_or_else(full, u64::from).min(pending - front);
        let taken = next.min(most - front);
        (self.front, self.second) = ((front + taken) as u32, (next - taken) as u32);
        (front, front + taken)
    }

    /// The first buffer has `bytes` from now on: the rest was cut off it (`tso_fragment`).
    #[inline]
    pub fn split(&mut self, bytes: u64) {
        let bytes = bytes as u32;
        if bytes >= self.front {
            return;
        }
        if self.second > 0 {
            self.behind.get_or_insert_default().push_front(self.second);
        }
        self.second = self.front - bytes;
        self.front = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in each buffer.
    fn taken_apart(queue: &mut WriteQueue) -> Vec<u64> {
        let mut all = Vec::new();
        while !queue.is_empty() {
            let front = queue.front(|| 0);
            all.push(front);
            queue.consume(front, || 0);
        }
        all
    }

    fn write(queue: &mut WriteQueue, mut bytes: u64, goal: u64) {
        while bytes > 0 {
            bytes -= queue.append(bytes, goal).1;
        }
    }

    #[test]
    fn buffers_are_as_large_as_they_were_filled_when_the_goal_changes() {
        let mut queue = WriteQueue::default();
        write(&mut queue, 2 * 22 + 10, 22);
        assert_eq!((queue.count(54, 22), queue.tail(22), queue.tail(45)), (3, 10, 10));
        // The last one is filled up to what a full one has now; those before stay as they are.
        write(&mut queue, 68, 45);
        assert_eq!((queue.count(122, 45), queue.tail(45)), (4, 33));
        assert_eq!(taken_apart(&mut queue), [22, 22, 45, 33]);
    }

    #[test]
    fn a_send_takes_from_the_first_and_what_it_borrows_from_the_next() {
        let mut queue = WriteQueue::default();
        queue.push(10, 4);
        queue.consume(7, || 0);
        assert_eq!(queue.grow(5, 33, || 0), (3, 5));
        assert_eq!(queue.count(33, 10), 4);
        queue.consume(5, || 0);
        assert_eq!(taken_apart(&mut queue), [8, 10, 10]);
    }

    #[test]
    fn what_is_cut_off_the_first_is_a_buffer_of_its_own() {
        let mut queue = WriteQueue::default();
        queue.push(10, 2);
        queue.split(7);
        queue.split(4);
        queue.split(4);
        assert_eq!(queue.count(20, 10), 4);
        assert_eq!(taken_apart(&mut queue), [4, 3, 3, 10]);
    }

    #[test]
    fn of_a_stream_that_is_there_from_the_start_all_buffers_are_full_ones() {
        let mut queue = WriteQueue::default();
        assert_eq!((queue.count(100, 30), queue.grow(20, 100, || 30)), (4, (30, 30)));
        queue.consume(20, || 30);
        assert_eq!((queue.grow(20, 80, || 30), queue.count(80, 30)), ((10, 20), 4));
        queue.consume(20, || 30);
        assert_eq!(queue.front(|| 30), 20);
    }
}
