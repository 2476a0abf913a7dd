//! What the application gives the sender: all at once, without end, or in pieces, and the segments that this is
//! cut into.
//!
//! What was written and not sent is cut into full segments and a last one with the rest, which the next
//! write fills. Once it was sent short, it is noted as such, and the next write begins a new segment. A segment that the
//! receive window cuts is noted likewise; what it lacks moves on to the next.

use super::lengths::Lengths;
use super::push_marks::PushMarks;
use super::write_queue::WriteQueue;
use crate::common::Stream;

/// See the module documentation.
#[derive(Debug)]
pub struct Supply {
    /// What the application has supplied so far.
    stream: Stream,
    /// The application writes in pieces, and says when.
    pub by_writes: bool,
    /// More may come.
    pub is_open: bool,
    /// What was not sent, in buffers.
    buffers: WriteQueue,
    /// Sent segments that are short.
    lengths: Lengths,
    /// Where PSH was set, of a stream that is written in pieces.
    marks: PushMarks,
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
            buffers: WriteQueue::default(),
            lengths: Lengths::new(mss),
            marks: PushMarks::default(),
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
            self.marks.mark(end);
        }
        self.buffers.clear();
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
        let (tail, taken) = self.buffers.append(bytes, goal);
        let end = self.bytes_before(nxt) + pending;
        if tail > 0 {
            self.marks.grow(end, (!begins).then_some(end + taken));
        }
        self.set_pending(pending + taken, nxt);
        taken
    }

    /// Appends whole buffers of `goal` bytes, up to `bytes`, behind others that are full, as far as that sends nothing: PSH is
    /// not due. Returns how much it took: what as many calls of [`Supply::append`] would.
    pub fn append_whole(&mut self, bytes: u64, goal: u64, nxt: u32, max_window: u32) -> u64 {
        if self.buffers.is_empty() || self.tail(goal) > 0 {
            return 0;
        }
        let silent = (self.pushed() + u64::from(max_window / 2)).saturating_sub(self.written(nxt));
        let count = bytes.min(silent) / goal;
        if count > 0 {
            self.buffers.push(goal as u32, count as u32);
            self.set_pending(self.unsent_bytes(nxt) + count * goal, nxt);
        }
        count * goal
    }

    /// Whether all that is written and not sent is in one buffer.
    pub fn is_one_buffer(&self, nxt: u32) -> bool {
        self.buffers.is_one(self.unsent_bytes(nxt))
    }

    /// Bytes that were written when PSH was set last: all, unless a write is under way.
    #[inline]
    pub fn pushed(&self) -> u64 {
        self.marks.pushed()
    }

    /// Whether more than half of the largest receive window was written since PSH was set (`forced_push`).
    pub fn is_push_due(&self, nxt: u32, max_window: u32) -> bool {
        self.written(nxt) > self.pushed() + u64::from(max_window / 2)
    }

    /// Sets PSH at the end of what is written (`tcp_mark_push`).
    pub fn mark_push(&mut self, nxt: u32) {
        self.marks.push(self.written(nxt));
    }

    /// Sets PSH `bytes` beyond segment `nxt`, at the end of a probe of the window (`tcp_write_wakeup`).
    pub fn mark_push_at(&mut self, nxt: u32, bytes: u64) {
        let end = self.bytes_before(nxt) + bytes;
        self.marks.push_within(end, self.written(nxt));
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
            self.buffers.clear();
            self.stream = Stream { segments: nxt, last_len: self.mss };
        }
        is_greedy
    }

    /// Bytes of the last buffer of the write queue, of which full ones have `goal`; 0: the last one is full
    /// (`tcp_should_autocork`).
    pub fn tail(&self, goal: u64) -> u64 {
        self.buffers.tail(goal)
    }

    /// Buffers of the write queue, of which full ones have `goal`, while `pending` bytes are in it.
    pub fn buffers(&self, pending: u64, goal: u64) -> u64 {
        self.buffers.count(pending, goal)
    }

    /// Segments in the first unsent buffer: the application fills buffers of `full` segments.
    #[inline]
    pub fn front_len(&mut self, full: impl FnOnce() -> u32) -> u32 {
        let mss = u64::from(self.mss);
        self.buffers.front(|| u64::from(full()) * mss).div_ceil(mss) as u32
    }

    /// Whether the first unsent buffer is known to have this many bytes or more.
    #[inline]
    pub fn has_front(&self, bytes: u64) -> bool {
        self.buffers.has_front(bytes)
    }

    /// The first unsent buffer is filled up from the next to at most `most` segments, and its PSH goes with its end
    /// (`tcp_grow_skb`). Returns its bytes.
    #[inline]
    pub fn grow_front(&mut self, nxt: u32, most: u32, full: impl Fn() -> u32) -> u64 {
        let mss = u64::from(self.mss);
        let pending = self.unsent_bytes(nxt);
        let most = u64::from(most) * mss;
        let (front, grown) = self.buffers.grow(most, pending, || u64::from(full()) * mss);
        if front < grown && !self.marks.is_empty() {
            let start = self.bytes_before(nxt);
            self.marks.stretch(start + front, start + grown);
        }
        grown
    }

    /// Takes `bytes` off the write queue; a send larger than the first buffer borrows from the next (`tcp_grow_skb`).
    #[inline]
    pub fn consume_front(&mut self, bytes: u32, full: impl FnOnce() -> u32) {
        let mss = u64::from(self.mss);
        self.buffers.consume(u64::from(bytes), || u64::from(full()) * mss);
    }

    /// A send of `bytes` was cut off the first buffer, and then had to wait: it is the first buffer from now on.
    #[inline]
    pub fn split_front(&mut self, bytes: u64) {
        self.buffers.split(bytes);
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
            !self.marks.is_empty() && self.marks.has(self.bytes_before(seq + 1))
        } else {
            seq + 1 == self.stream.segments
        }
    }

    /// Asks for the memory of the first mark.
    #[inline]
    pub fn fetch(&self) {
        self.marks.fetch();
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
            self.marks.forget_before(self.bytes_before(una));
        }
    }

    /// Payload of the outstanding segments, bytes.
    #[inline]
    pub fn bytes_in_flight(&self, una: u32, nxt: u32) -> u64 {
        if self.lengths.are_full() && nxt != self.stream.segments {
            return u64::from(nxt - una) * u64::from(self.mss);
        }
        self.bytes_before(nxt) - self.bytes_before(una)
    }

    /// Bytes by which the segments from `first` to `end` are shorter than full ones.
    #[inline]
    pub fn missing(&self, first: u32, end: u32) -> u64 {
        u64::from(end - first) * u64::from(self.mss) - self.bytes_in_flight(first, end)
    }

    /// Bytes of the stream before a segment.
    #[inline(always)]
    fn bytes_before(&self, seq: u32) -> u64 {
        let bytes = u64::from(seq) * u64::from(self.mss) - self.lengths.missing_before(seq);
        if seq == self.stream.segments {
            self.bytes_before_end(bytes)
        } else {
            bytes
        }
    }

    /// The same for the end of the stream, before which there would be `bytes` if its last segment were full.
    #[cold]
    fn bytes_before_end(&self, bytes: u64) -> u64 {
        if self.lengths.noted(self.stream.segments.wrapping_sub(1)).is_none() {
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

    /// Whether `write_seq` is the end of what was written, and not some way beyond what was sent.
    #[inline]
    pub fn has_write_end(&self) -> bool {
        self.by_writes && self.stream.segments < u32::MAX
    }

    /// `write_seq` while `snd_nxt` is sent. A stream that is there from the start has more to send for as long as
    /// it runs, as far as a controller can tell.
    #[inline]
    pub fn write_seq(&self, snd_nxt: u32) -> u32 {
        if self.has_write_end() {
            self.byte_seq(self.stream.segments)
        } else {
            snd_nxt.wrapping_add(self.mss * 2)
        }
    }
}

#[cfg(test)]
mod tests;
