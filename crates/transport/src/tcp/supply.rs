//! What the application gives the sender: all at once, without end, or in pieces, and the segments that this is
//! cut into.
//!
//! What was written and not sent is cut into full segments and a last one with the rest, which the next
//! write fills. Once it was sent short, it is noted as such, and the next write begins a new segment. A segment that the
//! receive window cuts is noted likewise; what it lacks moves on to the next.

use super::lengths::Lengths;
use crate::common::Stream;
use std::collections::VecDeque;

/// See the module documentation.
#[derive(Debug)]
pub struct Supply {
    /// What the application has supplied so far.
    stream: Stream,
    /// The application writes in pieces, and says when.
    pub by_writes: bool,
    /// More may come.
    pub is_open: bool,
    /// Bytes left in the first unsent buffer of the write queue; 0: it is empty.
    front: u64,
    /// Sent segments that are short.
    lengths: Lengths,
    /// Bytes of the stream before each place that PSH marks, ascending; without the end of what is written.
    marks: VecDeque<u64>,
    /// Bytes that were written when PSH was set last (`pushed_seq`).
    pushed: u64,
    /// One past the last short segment sent (`snd_sml`); 0: none.
    short_end: u32,
    mss: u32,
}

impl Supply {
    /// A stream in segments of `mss` bytes.
    pub fn new(mut stream: Stream, mss: u32) -> Supply {
        let by_writes = stream.segments == 0;
        if by_writes {
            stream.last_len = mss;
        }
        Supply {
            stream,
            by_writes,
            is_open: by_writes || stream.segments == u32::MAX,
            front: 0,
            lengths: Lengths::new(mss),
            marks: VecDeque::new(),
            pushed: 0,
            short_end: 0,
            mss,
        }
    }

    /// What the application has supplied so far.
    #[inline]
    pub fn stream(&self) -> Stream {
        self.stream
    }

    /// Payload bytes of a segment that has been sent and not yet acknowledged, or just departed.
    #[inline]
    pub fn payload(&self, seq: u32) -> u32 {
        let is_last = seq + 1 == self.stream.segments;
        let full = if is_last { self.stream.last_len } else { self.mss };
        self.lengths.noted(seq).unwrap_or(full)
    }

    /// Segments that were never sent, of which `nxt` is the first.
    #[inline]
    pub fn unsent(&self, nxt: u32) -> u32 {
        self.stream.segments - nxt
    }

    /// Bytes that were written and not sent.
    pub fn unsent_bytes(&self, nxt: u32) -> u64 {
        match self.unsent(nxt) {
            0 => 0,
            n => u64::from(n - 1) * u64::from(self.mss) + u64::from(self.stream.last_len),
        }
    }

    /// Opens the tail of the write queue. When everything was sent, a new buffer begins; says whether it does.
    pub fn begin_write(&mut self, nxt: u32) -> bool {
        let Stream { segments, last_len } = self.stream;
        if segments != nxt {
            return false;
        }
        if segments > 0 {
            let end = self.bytes_before(segments);
            if last_len < self.mss {
                self.lengths.note(segments - 1, last_len);
                self.stream.last_len = self.mss;
            }
            self.mark(end);
        }
        self.front = 0;
        true
    }

    /// `pending` bytes are written and not sent.
    pub fn set_pending(&mut self, pending: u64, nxt: u32) {
        let mss = u64::from(self.mss);
        let segments = u64::from(nxt) + pending.div_ceil(mss);
        assert!(segments < u64::from(u32::MAX), "a flow is limited to 2^32 segments");
        let last_len = (pending - (pending.div_ceil(mss) - 1) * mss) as u32;
        self.stream = Stream { segments: segments as u32, last_len };
    }

    /// Appends `bytes` that are written to the tail of the write queue, at most as many as its last buffer takes, of
    /// which full ones have `goal`; returns how many it took (`tcp_sendmsg_locked`). PSH of that buffer goes with its end,
    /// unless a write begins.
    pub fn append(&mut self, bytes: u64, goal: u64, nxt: u32, begins: bool) -> u64 {
        let pending = self.unsent_bytes(nxt);
        self.front = if self.front == 0 { goal } else { self.front }.min(pending);
        let tail = self.tail(pending, goal);
        let taken = bytes.min(goal.saturating_sub(tail));
        let end = self.bytes_before(nxt) + pending;
        if tail > 0 && self.marks.back() == Some(&end) {
            self.marks.pop_back();
            if !begins {
                self.marks.push_back(end + taken);
            }
        }
        if pending == self.front && (tail > 0 || pending == 0) {
            self.front += taken;
        }
        self.set_pending(pending + taken, nxt);
        taken
    }

    /// Whether all that is written and not sent is in one buffer.
    pub fn is_one_buffer(&self, nxt: u32) -> bool {
        self.unsent_bytes(nxt) <= self.front
    }

    /// Whether more than half of the largest receive window was written since PSH was set (`forced_push`).
    pub fn is_push_due(&self, nxt: u32, max_window: u32) -> bool {
        self.written(nxt) > self.pushed + u64::from(max_window / 2)
    }

    /// Sets PSH at the end of what is written (`tcp_mark_push`).
    pub fn mark_push(&mut self, nxt: u32) {
        self.pushed = self.written(nxt);
        self.mark(self.pushed);
    }

    /// Sets PSH `bytes` beyond segment `nxt`, at the end of a probe of the window (`tcp_write_wakeup`).
    pub fn mark_push_at(&mut self, nxt: u32, bytes: u64) {
        let end = self.bytes_before(nxt) + bytes;
        self.pushed = self.pushed.max(self.written(nxt).min(end));
        let at = self.marks.partition_point(|&mark| mark < end);
        if self.marks.get(at) != Some(&end) {
            self.marks.insert(at, end);
        }
    }

    fn mark(&mut self, end: u64) {
        if self.marks.back().is_none_or(|&last| last < end) {
            self.marks.push_back(end);
        }
    }

    /// Bytes of the stream so far.
    pub fn written(&self, nxt: u32) -> u64 {
        self.bytes_before(nxt) + self.unsent_bytes(nxt)
    }

    /// From now on there is always something to send.
    pub fn set_greedy(&mut self) {
        self.stream = Stream { last_len: self.mss, ..Stream::GREEDY };
    }

    /// An application that wrote without end stops: what it had not sent yet it never wrote. Says whether it did.
    pub fn withdraw(&mut self, nxt: u32) -> bool {
        let is_greedy = self.stream.segments == u32::MAX;
        if is_greedy {
            self.front = 0;
            self.stream = Stream { segments: nxt, last_len: self.mss };
        }
        is_greedy
    }

    /// Bytes of the last buffer of the write queue, of which full ones have `goal`; 0: the last one is full
    /// (`tcp_should_autocork`).
    pub fn tail(&self, pending: u64, goal: u64) -> u64 {
        let first = if self.front == 0 { goal } else { self.front };
        if pending <= first {
            pending % goal
        } else {
            (pending - first) % goal
        }
    }

    /// Segments in the first unsent buffer: the application fills buffers of `full` segments.
    #[inline]
    pub fn front_len(&mut self, full: impl FnOnce() -> u32) -> u32 {
        if self.front == 0 {
            self.front = u64::from(full()) * u64::from(self.mss);
        }
        self.front.div_ceil(u64::from(self.mss)) as u32
    }

    /// Takes `bytes` off the write queue; a send larger than the first buffer borrows from the next (`tcp_grow_skb`).
    #[inline]
    pub fn consume_front(&mut self, bytes: u32, full: impl FnOnce() -> u32) {
        let bytes = u64::from(bytes);
        self.front = if bytes <= self.front {
            self.front - bytes
        } else {
            (u64::from(full()) * u64::from(self.mss)).saturating_sub(bytes - self.front)
        };
    }

    /// Bytes of the next `n` segments, of which `nxt` is the first.
    #[inline]
    pub fn bytes_of_next(&self, nxt: u32, n: u32) -> u64 {
        let full = u64::from(n) * u64::from(self.mss);
        if nxt + n == self.stream.segments {
            full - u64::from(self.mss - self.stream.last_len)
        } else {
            full
        }
    }

    /// The `n`-th of the segments from `nxt`, which are about to be sent, has `len` bytes only; the rest of it comes
    /// next (`tso_fragment` at the end of the receive window).
    #[cold]
    pub fn cut(&mut self, nxt: u32, n: u32, len: u32) {
        let sent = u64::from(n - 1) * u64::from(self.mss) + u64::from(len);
        let pending = self.unsent_bytes(nxt) - sent;
        self.lengths.note(nxt + n - 1, len);
        if self.stream.segments < u32::MAX {
            self.set_pending(pending, nxt + n);
        }
    }

    /// Whether a short segment is out, after which Nagle's rule holds another one (`tcp_minshall_check`).
    #[inline]
    pub fn is_short_out(&self, una: u32, nxt: u32) -> bool {
        una < self.short_end && self.short_end <= nxt
    }

    /// Segments before `end` were sent (`tcp_minshall_update`).
    #[inline]
    pub fn note_short_send(&mut self, end: u32) {
        if self.payload(end - 1) < self.mss {
            self.short_end = end;
        }
    }

    /// Whether a segment carries PSH: it ends the stream or, of one that is written in pieces, a write.
    #[inline]
    pub fn ends_write(&self, seq: u32) -> bool {
        if self.by_writes {
            !self.marks.is_empty() && self.is_marked(seq + 1)
        } else {
            seq + 1 == self.stream.segments
        }
    }

    fn is_marked(&self, seq: u32) -> bool {
        let end = self.bytes_before(seq);
        let at = self.marks.partition_point(|&mark| mark < end);
        self.marks.get(at) == Some(&end)
    }

    /// Forgets the lengths and marks of what is acknowledged and has left the host, whose queue begins with `lowest`, but
    /// for the last segment, which the next write may have to note.
    #[inline]
    pub fn forget(&mut self, una: u32, lowest: impl FnOnce() -> u32) {
        let una = una.min(self.stream.segments.saturating_sub(1));
        if self.lengths.first().is_some_and(|seq| seq < una) {
            self.lengths.forget_below(una.min(lowest()));
        }
        if !self.marks.is_empty() {
            let acked = self.bytes_before(una);
            while self.marks.front().is_some_and(|&mark| mark < acked) {
                self.marks.pop_front();
            }
        }
    }

    /// Payload of the outstanding segments, bytes.
    #[inline]
    pub fn bytes_in_flight(&self, una: u32, nxt: u32) -> u64 {
        self.bytes_before(nxt) - self.bytes_before(una)
    }

    /// Bytes by which the segments from `first` to `end` are shorter than full ones.
    #[inline]
    pub fn missing(&self, first: u32, end: u32) -> u64 {
        u64::from(end - first) * u64::from(self.mss) - self.bytes_in_flight(first, end)
    }

    /// Bytes of the stream before a segment.
    #[inline]
    fn bytes_before(&self, seq: u32) -> u64 {
        let bytes = u64::from(seq) * u64::from(self.mss) - self.lengths.missing_before(seq);
        if seq == self.stream.segments && self.lengths.noted(seq.wrapping_sub(1)).is_none() {
            bytes - u64::from(self.mss - self.stream.last_len)
        } else {
            bytes
        }
    }

    /// Byte sequence number of a segment's start, as the controller sees it.
    #[inline]
    pub fn byte_seq(&self, seq: u32) -> u32 {
        (self.bytes_before(seq) as u32).wrapping_add(1)
    }

    /// Byte sequence number of the end of segment `end - 1` in a rate sample. In a stream that was there from the
    /// start the last segment counts as full.
    #[inline]
    pub fn sampled_end(&self, end: u32) -> u32 {
        if self.by_writes {
            self.byte_seq(end)
        } else {
            let missing = self.lengths.missing_before(end) as u32;
            end.wrapping_mul(self.mss).wrapping_add(1).wrapping_sub(missing)
        }
    }

    /// `write_seq` while `snd_nxt` is sent. A stream that is there from the start has more to send for as long as
    /// it runs, as far as a controller can tell.
    #[inline]
    pub fn write_seq(&self, snd_nxt: u32) -> u32 {
        if self.by_writes && self.stream.segments < u32::MAX {
            self.byte_seq(self.stream.segments)
        } else {
            snd_nxt.wrapping_add(self.mss * 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2500 bytes were written; full segments have 1000, full buffers 3000 bytes.
    fn written() -> Supply {
        let mut supply = Supply::new(Stream::EMPTY, 1000);
        assert!(supply.begin_write(0));
        assert_eq!(supply.append(2500, 3000, 0, true), 2500);
        supply
    }

    #[test]
    fn a_write_is_cut_into_full_segments_and_a_rest_that_the_next_write_fills() {
        let mut supply = written();
        assert_eq!((supply.unsent(0), supply.payload(1), supply.payload(2)), (3, 1000, 500));
        assert!(!supply.begin_write(0));
        assert_eq!((supply.append(600, 3000, 0, true), supply.is_one_buffer(0)), (500, true));
        assert_eq!((supply.append(100, 3000, 0, false), supply.is_one_buffer(0)), (100, false));
        assert_eq!((supply.unsent(0), supply.payload(2), supply.payload(3)), (4, 1000, 100));
        assert_eq!(supply.front_len(|| 3), 3);
    }

    #[test]
    fn a_segment_that_was_sent_short_stays_so_and_sequence_numbers_follow() {
        let mut supply = written();
        supply.consume_front(2500, || 3);
        assert!(supply.begin_write(3), "all three were sent");
        supply.set_pending(1000, 3);
        assert_eq!((supply.payload(2), supply.payload(3)), (500, 1000));
        assert_eq!((supply.byte_seq(3), supply.byte_seq(4)), (2501, 3501));
        assert_eq!(supply.bytes_in_flight(0, 3), 2500);
    }

    #[test]
    fn what_the_receive_window_cuts_off_a_segment_comes_next() {
        let mut supply = written();
        supply.cut(0, 2, 300);
        assert_eq!(
            (supply.payload(1), supply.unsent_bytes(2), supply.bytes_of_next(2, 2)),
            (300, 1200, 1200)
        );
        assert_eq!((supply.payload(2), supply.payload(3), supply.written(2)), (1000, 200, 2500));
    }

    #[test]
    fn nagle_holds_a_short_segment_while_another_is_out() {
        let mut supply = written();
        assert!(!supply.is_short_out(0, 0));
        supply.note_short_send(3);
        assert!(supply.is_short_out(0, 3), "segment 2 is short and not acknowledged");
        assert!(!supply.is_short_out(3, 3));
    }

    #[test]
    fn push_stays_at_the_end_of_a_full_buffer_and_goes_with_that_of_another() {
        for (goal, begins, marked) in
            [(3000, true, Some(2)), (4000, true, None), (4000, false, Some(3))]
        {
            let mut supply = written();
            supply.append(500, 3000, 0, false);
            supply.mark_push(0);
            supply.append(1000, goal, 0, begins);
            assert_eq!((0..4).find(|&seq| supply.ends_write(seq)), marked, "{goal} {begins}");
        }
    }

    #[test]
    fn half_a_window_without_push_forces_one() {
        let supply = written();
        assert!(supply.is_push_due(0, 4998) && !supply.is_push_due(0, 5000));
    }
}
