//! How QUIC uses the simulator's packets: what it adds on the wire, and the content of an ACK frame.
//!
//! The header and frames are those of Zhang's simplified QUIC (SoonyangZhang/DrainQueueCongestion,
//! `proto_framer.cc`): flags and packet number, STREAM, STOP_WAITING and ACK frames, no encryption. Its
//! packet numbers and offsets take as few bytes as the value needs; here they always take four.

/// Link, IPv4 and UDP header: 14 + 20 + 8 bytes on the wire.
pub const DATAGRAM_BYTES: u64 = 42;
/// QUIC header: flags and packet number.
const HEADER_BYTES: u64 = 1 + 4;
/// STREAM frame besides its data: type, stream, offset; the length is that of the rest of the datagram.
const STREAM_BYTES: u64 = 1 + 1 + 4;
/// What a data packet has on the wire besides its payload.
pub const DATA_BYTES: u64 = DATAGRAM_BYTES + HEADER_BYTES + STREAM_BYTES;
/// STOP_WAITING frame: type and the distance to the lowest packet number still of interest.
pub const STOP_WAITING_BYTES: u64 = 1 + 4;
/// A datagram with an Initial packet, padded (RFC 9000 section 14.1).
pub const INITIAL_BYTES: u64 = DATAGRAM_BYTES + 1200;
/// A packet with an ACK frame of one range: type, largest, delay, number of ranges, length.
const ACK_BYTES: u64 = DATAGRAM_BYTES + HEADER_BYTES + 1 + 4 + 2 + 1 + 2;
/// Each further range of an ACK frame: gap and length.
const RANGE_BYTES: u64 = 1 + 2;
/// The three ECN counts, there once a packet with an ECN code point arrived (RFC 9000 section 19.3.2).
const ECN_BYTES: u64 = 3 * 4;

/// Most ranges in an ACK frame: Zhang's framer counts them in one byte.
pub const RANGES_MAX: usize = 255;

/// Content of an ACK frame.
///
/// The ranges themselves do not travel. Receiver and sender share a log of the packet numbers in the
/// order of their arrival; the frame says how far it reports, and that equals a frame with all ranges
/// from `smallest` to `largest`, however many frames were lost before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AckFrame {
    /// Largest packet number received.
    pub largest: u32,
    /// First packet number of the oldest range.
    pub smallest: u32,
    /// Number of ranges, 1 to [`RANGES_MAX`].
    pub ranges: u8,
    /// End of what it reports of the log of arrivals, counted from the start of the connection; wraps.
    pub reported: u32,
    /// Time between the arrival of `largest` and this frame, us.
    pub delay_us: u32,
    /// Packets received with ECT(0), ECT(1), CE.
    pub ecn: [u32; 3],
}

impl AckFrame {
    /// Length on the wire of the packet that carries it.
    #[inline]
    pub fn wire_bytes(&self) -> u64 {
        let ecn = if self.ecn == [0; 3] { 0 } else { ECN_BYTES };
        ACK_BYTES + RANGE_BYTES * u64::from(self.ranges - 1) + ecn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{flags, Ack, Frame, Packet};

    #[test]
    fn ranges_and_ecn_counts_lengthen_an_acknowledgement() {
        let mut frame = AckFrame { ranges: 1, ..AckFrame::default() };
        assert_eq!(Ack::from(frame).wire_bytes().get(), 57);
        frame.ranges = 3;
        assert_eq!(Ack::from(frame).wire_bytes().get(), 57 + 2 * 3);
        frame.ecn[2] = 1;
        assert_eq!(Ack::from(frame).wire_bytes().get(), 57 + 2 * 3 + 12);
        assert_eq!(Ack::from(frame).pure_ack(), None, "no filter sees into QUIC");
    }

    #[test]
    fn a_data_packet_has_53_bytes_of_headers_and_a_retransmission_5_more() {
        let mut packet = Packet { len: 1000, flags: flags::QUIC, ..Packet::default() };
        assert_eq!(packet.wire_bytes().get(), 1053);
        packet.flags |= flags::RETRANS | flags::STOP_WAITING;
        assert_eq!(packet.wire_bytes().get(), 1058);
        packet.flags = flags::QUIC | flags::SYN;
        assert_eq!(packet.wire_bytes().get(), 1242);
    }
}
