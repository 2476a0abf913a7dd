//! How many bytes the segments of the stream have, and where it ends.

use super::super::lengths::Lengths;
use net::Packet;

/// See the module documentation.
#[derive(Debug)]
pub struct Extent {
    /// Segments of the stream; `u32::MAX` until that is known.
    total: u32,
    /// Payload of the last one, bytes.
    last_len: u32,
    /// Short segments that arrived before the end.
    lengths: Lengths,
    mss: u32,
}

impl Extent {
    /// A stream of `segments` segments, the last with `last_len` bytes and all others with `mss`; with 0 segments
    /// the application writes in pieces, until [`Extent::finish`].
    pub fn new(segments: u32, last_len: u32, mss: u32) -> Extent {
        let is_open = segments == 0;
        Extent {
            total: if is_open { u32::MAX } else { segments },
            last_len: if is_open { mss } else { last_len },
            lengths: Lengths::new(mss),
            mss,
        }
    }

    /// The application at the other end closed after `segments` segments.
    pub fn finish(&mut self, segments: u32) {
        self.total = segments;
    }

    /// Whether the stream ends before `seq`.
    #[inline]
    pub fn is_end(&self, seq: u32) -> bool {
        seq == self.total
    }

    /// Remembers how long a short segment is; those before `acknowledged` are known.
    #[inline]
    pub fn note(&mut self, packet: &Packet, acknowledged: u32) {
        let len = u32::from(packet.len);
        let is_last = self.is_end(packet.seq + 1) && len == self.last_len;
        if len < self.mss && packet.seq >= acknowledged && !is_last {
            self.lengths.note(packet.seq, len);
        }
    }

    /// Forgets the lengths of the segments before `seq`, except for their sum.
    #[inline]
    pub fn forget_below(&mut self, seq: u32) {
        self.lengths.forget_below(seq);
    }

    /// Payload of the segments before `seq`, bytes.
    #[inline]
    pub fn bytes_up_to(&self, seq: u32) -> u64 {
        let bytes = u64::from(seq) * u64::from(self.mss) - self.lengths.missing_before(seq);
        if self.is_end(seq) {
            bytes - u64::from(self.mss - self.last_len)
        } else {
            bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(seq: u32, len: u16) -> Packet {
        Packet { seq, len, ..Packet::default() }
    }

    #[test]
    fn the_last_segment_of_a_finite_stream_is_short_without_a_note() {
        let mut extent = Extent::new(3, 200, 1000);
        extent.note(&packet(2, 200), 0);
        assert_eq!([0, 1, 2, 3].map(|seq| extent.bytes_up_to(seq)), [0, 1000, 2000, 2200]);
    }

    #[test]
    fn short_segments_of_an_open_stream_count_what_they_have() {
        let mut extent = Extent::new(0, 0, 1000);
        [packet(0, 1000), packet(1, 10), packet(2, 1000)].iter().for_each(|p| extent.note(p, 0));
        extent.forget_below(2);
        extent.finish(3);
        assert!(extent.is_end(3) && !extent.is_end(2));
        assert_eq!(extent.bytes_up_to(3), 2010);
    }
}
