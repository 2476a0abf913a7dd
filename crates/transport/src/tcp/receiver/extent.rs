//! How many bytes the segments of the stream have, and where it ends.

use super::super::lengths::Lengths;
use net::Packet;

/// See the module documentation.
#[derive(Debug)]
pub struct Extent {
    /// Bytes of the stream; `u64::MAX` until that is known.
    total: u64,
    /// Short segments that arrived.
    lengths: Lengths,
    mss: u32,
}

impl Extent {
    /// A stream of `segments` segments, the last with `last_len` bytes and all others with `mss`, unless the sender cuts
    /// some where the receive window ends; with 0 segments the application writes in pieces, until
    /// [`Extent::finish`].
    pub fn new(segments: u32, last_len: u32, mss: u32) -> Extent {
        let is_open = segments == 0 || segments == u32::MAX;
        let full = u64::from(segments.saturating_sub(1)) * u64::from(mss);
        Extent {
            total: if is_open { u64::MAX } else { full + u64::from(last_len) },
            lengths: Lengths::new(mss),
            mss,
        }
    }

    /// The application at the other end closed after `bytes` bytes.
    pub fn finish(&mut self, bytes: u64) {
        self.total = bytes;
    }

    /// So many bytes, or as many as the stream has.
    pub fn up_to_end(&self, bytes: u64) -> u64 {
        bytes.min(self.total)
    }

    /// Whether `bytes` bytes in order are all that there are.
    #[inline]
    pub fn is_whole(&self, bytes: u64) -> bool {
        bytes == self.total
    }

    /// Whether the stream ends before `seq`. A place before what was acknowledged is not its end.
    #[inline]
    pub fn is_end(&self, seq: u32) -> bool {
        self.total != u64::MAX
            && !self.lengths.is_forgotten(seq)
            && self.bytes_up_to(seq) == self.total
    }

    /// Remembers how long a short segment is; those before `acknowledged` are known.
    #[inline]
    pub fn note(&mut self, packet: &Packet, acknowledged: u32) {
        let len = u32::from(packet.len);
        if len < self.mss && packet.seq >= acknowledged {
            self.lengths.note(packet.seq, len);
        }
    }

    /// Forgets the lengths of the segments before `seq`, except for their sum.
    #[inline]
    pub fn forget_below(&mut self, seq: u32) {
        self.lengths.forget_below(seq);
    }

    /// Payload of the segments before `seq`, bytes; `seq` must not be forgotten.
    #[inline]
    pub fn bytes_up_to(&self, seq: u32) -> u64 {
        debug_assert!(!self.lengths.is_forgotten(seq), "segment {seq} is forgotten");
        u64::from(seq) * u64::from(self.mss) - self.lengths.missing_before(seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(seq: u32, len: u16) -> Packet {
        Packet { seq, len, ..Packet::default() }
    }

    #[test]
    fn a_stream_ends_with_its_bytes_in_however_many_segments() {
        let mut extent = Extent::new(3, 200, 1000);
        [packet(1, 700), packet(2, 500)].iter().for_each(|p| extent.note(p, 0));
        assert_eq!([0, 1, 2, 3].map(|seq| extent.bytes_up_to(seq)), [0, 1000, 1700, 2200]);
        assert!(extent.is_end(3) && !extent.is_end(2));
    }

    #[test]
    fn short_segments_of_an_open_stream_count_what_they_have() {
        let mut extent = Extent::new(0, 0, 1000);
        [packet(0, 1000), packet(1, 10), packet(2, 1000)].iter().for_each(|p| extent.note(p, 0));
        extent.forget_below(2);
        extent.finish(2010);
        assert!(extent.is_end(3) && !extent.is_end(2));
        assert_eq!(extent.bytes_up_to(3), 2010);
    }

    #[test]
    fn a_late_copy_of_what_was_acknowledged_does_not_end_the_stream() {
        let mut extent = Extent::new(0, 0, 1000);
        (0..4).for_each(|seq| extent.note(&packet(seq, 10), 0));
        extent.forget_below(4);
        extent.finish(40);
        assert!(extent.is_end(4) && !(0..4).any(|seq| extent.is_end(seq)));
    }
}
