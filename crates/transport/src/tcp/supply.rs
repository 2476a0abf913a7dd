//! What the application gives the sender: all at once, without end, or in pieces, and the segments that this is
//! cut into.
//!
//! What was written and not sent is cut into full segments and a last one with the rest, which the next
//! write fills. Once it was sent short, it is noted as such, and the next write begins a new segment.

use super::lengths::Lengths;
use crate::common::Stream;
use units::Divisor;

/// See the module documentation.
#[derive(Debug)]
pub struct Supply {
    /// What the application has supplied so far.
    stream: Stream,
    /// The application writes in pieces, and says when.
    pub by_writes: bool,
    /// More may come.
    pub is_open: bool,
    /// Segments left in the first unsent buffer of the write queue; 0: it is empty.
    front: u32,
    /// Sent segments that are short, or were last of a write.
    ends: Lengths,
    /// One past the last short segment sent (`snd_sml`); 0: none.
    short_end: u32,
    mss: u32,
    by_mss: Divisor,
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
            ends: Lengths::new(mss),
            short_end: 0,
            mss,
            by_mss: Divisor::new(u64::from(mss)),
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
        if seq + 1 == self.stream.segments {
            self.stream.last_len
        } else {
            self.ends.noted(seq).unwrap_or(self.mss)
        }
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
    pub fn begin_write(&mut self, una: u32, nxt: u32) -> bool {
        let Stream { segments, last_len } = self.stream;
        if segments != nxt {
            return false;
        }
        if segments > 0 && (last_len < self.mss || segments > una) {
            self.ends.note(segments - 1, last_len);
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

    /// From now on there is always something to send.
    pub fn set_greedy(&mut self) {
        self.stream = Stream { last_len: self.mss, ..Stream::GREEDY };
    }

    /// An application that wrote without end stops: what it had not sent yet it never wrote. Says whether it did.
    pub fn withdraw(&mut self, nxt: u32) -> bool {
        let is_greedy = self.stream.segments == u32::MAX;
        if is_greedy {
            self.stream = Stream { segments: nxt, last_len: self.mss };
        }
        is_greedy
    }

    /// Bytes of the last buffer of the write queue, of which full ones have `goal`; 0: the last one is full
    /// (`tcp_should_autocork`).
    pub fn tail(&self, pending: u64, goal: u64) -> u64 {
        let first =
            if self.front == 0 { goal } else { u64::from(self.front) * u64::from(self.mss) };
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
            self.front = full();
        }
        self.front
    }

    /// Takes `n` segments off the write queue; a send larger than the first buffer borrows from the
    /// next (`tcp_grow_skb`).
    #[inline]
    pub fn consume_front(&mut self, n: u32, full: impl FnOnce() -> u32) {
        self.front =
            if n <= self.front { self.front - n } else { full().saturating_sub(n - self.front) };
    }

    /// How many of the next `n` segments Nagle's rule lets go while some are outstanding: without the last one if
    /// that is short, may still be filled, and an earlier short one is not acknowledged (`tcp_nagle_check` with
    /// Minshall's modification).
    #[inline]
    pub fn nagle_limit(&self, n: u32, una: u32, nxt: u32) -> u32 {
        let is_short = nxt + n == self.stream.segments && self.stream.last_len < self.mss;
        let is_small_out = una < self.short_end && self.short_end <= nxt;
        n - u32::from(is_short && is_small_out)
    }

    /// Segments before `end` were sent (`tcp_minshall_update`).
    #[inline]
    pub fn note_short_send(&mut self, end: u32) {
        if self.by_writes && self.payload(end - 1) < self.mss {
            self.short_end = end;
        }
    }

    /// Whether a segment carries PSH: it ends what the application wrote.
    #[inline]
    pub fn ends_write(&self, seq: u32) -> bool {
        seq + 1 == self.stream.segments || self.ends.noted(seq).is_some()
    }

    /// Forgets the lengths of what is acknowledged and has left the host, whose queue begins with `lowest`, but for
    /// the last segment, which the next write may have to note.
    #[inline]
    pub fn forget(&mut self, una: u32, lowest: impl FnOnce() -> u32) {
        let una = una.min(self.stream.segments.saturating_sub(1));
        if self.ends.first().is_some_and(|seq| seq < una) {
            self.ends.forget_below(una.min(lowest()));
        }
    }

    /// Payload of the outstanding segments, bytes.
    pub fn bytes_in_flight(&self, una: u32, nxt: u32) -> u64 {
        u64::from(nxt - una) * u64::from(self.mss) - self.missing_in_flight(una, nxt)
    }

    /// First segment beyond a receive window of `window` bytes.
    #[inline]
    pub fn window_end(&self, una: u32, nxt: u32, window: u32) -> u32 {
        let window = u64::from(window) + self.missing_in_flight(una, nxt);
        una.saturating_add(self.by_mss.quotient(window) as u32)
    }

    /// Bytes by which the outstanding segments are shorter than full ones.
    #[inline]
    fn missing_in_flight(&self, una: u32, nxt: u32) -> u64 {
        self.ends.missing_before(nxt) - self.ends.missing_before(una)
    }

    /// Byte sequence number of a segment's start, as the controller sees it.
    #[inline]
    pub fn byte_seq(&self, seq: u32) -> u32 {
        let bytes = seq
            .wrapping_mul(self.mss)
            .wrapping_add(1)
            .wrapping_sub(self.ends.missing_before(seq) as u32);
        if seq == self.stream.segments {
            bytes.wrapping_sub(self.mss - self.stream.last_len)
        } else {
            bytes
        }
    }

    /// Byte sequence number of the end of segment `end - 1` in a rate sample. In a stream that was there from the
    /// start the last segment counts as full.
    #[inline]
    pub fn sampled_end(&self, end: u32) -> u32 {
        if self.by_writes {
            self.byte_seq(end)
        } else {
            end.wrapping_mul(self.mss).wrapping_add(1)
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

    /// 2500 bytes were written; full segments have 1000.
    fn written() -> Supply {
        let mut supply = Supply::new(Stream::EMPTY, 1000);
        assert!(supply.begin_write(0, 0));
        supply.set_pending(2500, 0);
        supply
    }

    #[test]
    fn a_write_is_cut_into_full_segments_and_a_rest_that_the_next_write_fills() {
        let mut supply = written();
        assert_eq!((supply.unsent(0), supply.payload(1), supply.payload(2)), (3, 1000, 500));
        assert!(!supply.begin_write(0, 0));
        supply.set_pending(supply.unsent_bytes(0) + 600, 0);
        assert_eq!((supply.unsent(0), supply.payload(2), supply.payload(3)), (4, 1000, 100));
    }

    #[test]
    fn a_segment_that_was_sent_short_stays_so_and_sequence_numbers_follow() {
        let mut supply = written();
        assert!(supply.begin_write(0, 3), "all three were sent");
        supply.set_pending(1000, 3);
        assert_eq!((supply.payload(2), supply.payload(3)), (500, 1000));
        assert_eq!((supply.byte_seq(3), supply.byte_seq(4)), (2501, 3501));
        assert_eq!(supply.bytes_in_flight(0, 3), 2500);
        // 2499 bytes end within segment 2, 2500 after it.
        assert_eq!((supply.window_end(0, 3, 2499), supply.window_end(0, 3, 2500)), (2, 3));
    }

    #[test]
    fn nagle_holds_a_short_segment_while_another_is_out() {
        let mut supply = written();
        assert_eq!(supply.nagle_limit(3, 0, 0), 3);
        supply.note_short_send(3);
        assert!(supply.begin_write(0, 3));
        supply.set_pending(1100, 3);
        assert_eq!(supply.nagle_limit(2, 0, 3), 1, "segment 2 is short and not acknowledged");
        assert_eq!(supply.nagle_limit(2, 3, 3), 2);
    }
}
