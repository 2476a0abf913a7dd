//! How a stream is cut into the segments that packets carry, and what these count for.

use crate::common::Stream;

/// A packet carries up to `payload` bytes of what the application wrote at once, and nothing of its next write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    payload: u64,
    write: u64,
    /// Segments of one write.
    per_write: u64,
    /// What counts one in windows and flights, bytes; 0: a segment, whatever it has.
    part: u64,
}

/// Bytes of the packets of a write, and what they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSize {
    bytes: u64,
    parts: u64,
}

impl PartSize {
    /// Bytes of so many parts in the mean.
    #[inline]
    pub fn of(self, count: u64) -> u64 {
        match self.parts {
            1 => count * self.bytes,
            parts => count * self.bytes / parts,
        }
    }
}

impl Cut {
    /// Segments of `payload` bytes; writes of `write` bytes, or 0: one write of everything.
    pub fn new(payload: u32, write: u32) -> Cut {
        let payload = u64::from(payload);
        let write = if write == 0 { payload } else { u64::from(write) };
        Cut { payload, write, per_write: write.div_ceil(payload), part: 0 }
    }

    /// Counted in parts of so many bytes, as TCP counts the segments of a buffer; 0: in segments.
    pub fn in_parts(self, part: u32) -> Cut {
        Cut { part: u64::from(part), ..self }
    }

    /// What a segment counts.
    #[inline]
    pub fn parts(self, segment: u32) -> u32 {
        match self.part {
            0 => 1,
            part => u64::from(self.len(segment)).div_ceil(part) as u32,
        }
    }

    /// What a write counts.
    fn parts_per_write(self) -> u64 {
        (0..self.per_write).map(|segment| u64::from(self.parts(segment as u32))).sum()
    }

    /// What counts one, in the mean, where each segment has so many bytes more.
    pub fn part_size(self, more: u64) -> PartSize {
        PartSize { bytes: self.write + more * self.per_write, parts: self.parts_per_write() }
    }

    /// Bytes of a segment that is not the last of the stream.
    #[inline]
    pub fn len(self, segment: u32) -> u32 {
        (self.offset(segment + 1) - self.offset(segment)) as u32
    }

    /// Where a segment begins, bytes.
    #[inline]
    pub fn offset(self, segment: u32) -> u64 {
        let segment = u64::from(segment);
        segment / self.per_write * self.write + segment % self.per_write * self.payload
    }

    /// Mean bytes that count one: of a segment, or of a part.
    pub fn mean(self) -> u32 {
        self.part_size(0).of(1) as u32
    }

    /// A transfer of `bytes` (at least 1).
    pub fn stream(self, bytes: u64) -> Stream {
        assert!(bytes > 0, "a finite transfer has at least one byte");
        let before = (bytes - 1) / self.write;
        let rest = bytes - before * self.write;
        let segments = before * self.per_write + rest.div_ceil(self.payload);
        assert!(
            segments < u64::from(u32::MAX),
            "a flow is limited to 2^32 segments, got {bytes} B"
        );
        let last_len = bytes - self.offset(segments as u32 - 1);
        Stream { segments: segments as u32, last_len: last_len as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_of_3000_bytes_makes_two_full_packets_and_one_of_200() {
        let cut = Cut::new(1400, 3000);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|i| cut.len(i)), [1400, 1400, 200, 1400, 1400, 200]);
        assert_eq!(cut.offset(3), 3000);
        assert_eq!(cut.mean(), 1000);
    }

    #[test]
    fn a_packet_counts_the_parts_that_it_has() {
        let cut = Cut::new(1400, 3000).in_parts(200);
        assert_eq!([0, 1, 2, 3].map(|i| cut.parts(i)), [7, 7, 1, 7]);
        assert_eq!((cut.mean(), cut.part_size(9).of(1), cut.part_size(9).of(15)), (200, 201, 3027));
        let whole = Cut::new(1400, 3000);
        assert_eq!((whole.parts(0), whole.parts(2), whole.part_size(11).of(1)), (1, 1, 1011));
    }

    #[test]
    fn one_write_of_everything_makes_full_packets() {
        let cut = Cut::new(1000, 0);
        assert_eq!((cut.len(7), cut.offset(7), cut.mean()), (1000, 7000, 1000));
    }

    #[test]
    fn the_last_segment_of_a_transfer_has_the_rest() {
        assert_eq!(Cut::new(1000, 0).stream(2500), Stream { segments: 3, last_len: 500 });
        assert_eq!(Cut::new(1400, 3000).stream(6000), Stream { segments: 6, last_len: 200 });
        assert_eq!(Cut::new(1400, 3000).stream(6001), Stream { segments: 7, last_len: 1 });
    }
}
