//! The receiver's estimate of the sender's segments, by which it tells when two are there to be acknowledged
//! (`tcp_measure_rcv_mss`).

use super::super::config::MSS;

/// Estimate before the first segment (`TCP_MSS_DEFAULT`), bytes.
pub const INITIAL: u32 = 536;
/// TCP's header with timestamps, and without options, bytes.
const HEADER: u32 = 32;
const BARE_HEADER: u32 = 20;
/// Smallest segment that may be a full one (`TCP_MIN_MSS`), bytes.
const SMALLEST: u32 = 88;

/// See the module documentation.
#[derive(Debug)]
pub struct SegmentSize {
    bytes: u32,
    /// Length of the segment before, if it may have been full.
    last: u32,
}

/// What a segment told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The estimate may be another now; and the segment is larger than any before.
    pub is_changed: bool,
    pub is_larger: bool,
    /// It seems to end what the application wrote (`ICSK_ACK_PUSHED`).
    pub is_end: bool,
    /// It is shorter than the estimate, too: a second such end counts for more (`ICSK_ACK_PUSHED2`).
    pub is_short: bool,
}

impl Default for SegmentSize {
    fn default() -> Self {
        SegmentSize { bytes: INITIAL, last: 0 }
    }
}

impl SegmentSize {
    /// The estimate, bytes.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// A segment of `len` bytes arrived. Two equal short ones in a row are taken for full ones.
    #[inline]
    pub fn measure(&mut self, len: u32, is_pushed: bool) -> Measured {
        if len != self.bytes {
            return self.measure_other(len, is_pushed);
        }
        self.last = 0;
        Measured { is_end: is_pushed, ..Measured::default() }
    }

    /// The same for a segment that is not as long as the estimate.
    fn measure_other(&mut self, len: u32, is_pushed: bool) -> Measured {
        let last = std::mem::take(&mut self.last);
        if len > self.bytes {
            self.bytes = len.min(MSS);
            return Measured {
                is_changed: true,
                is_larger: true,
                is_end: is_pushed,
                is_short: false,
            };
        }
        let with_header = len + HEADER;
        let is_long = with_header >= INITIAL + BARE_HEADER;
        if is_long || (with_header >= SMALLEST + BARE_HEADER && !is_pushed) {
            self.last = len;
            if len == last {
                self.bytes = len;
                return Measured { is_changed: true, ..Measured::default() };
            }
        }
        Measured { is_end: true, is_short: true, ..Measured::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_segment_counts_until_two_equal_ones_are_shorter() {
        let mut size = SegmentSize::default();
        let seen = [(1448, 1448), (1000, 1448), (900, 1448), (900, 900), (1448, 1448)];
        for (len, bytes) in seen {
            size.measure(len, false);
            assert_eq!(size.bytes(), bytes, "after {len}");
        }
    }

    #[test]
    fn a_short_segment_ends_a_write_and_a_full_one_does_with_push() {
        let mut size = SegmentSize::default();
        let seen = [(1448, false, false), (1448, true, true), (300, false, true)];
        for (len, is_pushed, is_end) in seen {
            assert_eq!(size.measure(len, is_pushed).is_end, is_end, "{len}");
        }
    }
}
