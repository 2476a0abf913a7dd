//! How QUIC uses the simulator's packets: what it adds on the wire, and the content of an ACK frame.
//!
//! The header and frames are those of Zhang's simplified QUIC (SoonyangZhang/DrainQueueCongestion,
//! `proto_framer.cc`): flags and packet number, STREAM, STOP_WAITING and ACK frames, no encryption. Its
//! packet numbers and offsets take as few bytes as the value needs ([`compact_frame_bytes`]); here they take four
//! unless a flow asks for that.

/// Link, IPv4 and UDP header: 14 + 20 + 8 bytes on the wire.
pub const DATAGRAM_BYTES: u64 = 42;
/// QUIC header: flags and packet number.
const HEADER_BYTES: u64 = 1 + 4;
/// STREAM frame besides its data: type, stream, offset; the length is that of the rest of the datagram.
const STREAM_BYTES: u64 = 1 + 1 + 4;
/// Header and STREAM frame of a data packet besides its payload.
pub const FRAME_BYTES: u64 = HEADER_BYTES + STREAM_BYTES;
/// What a data packet has on the wire besides its payload.
pub const DATA_BYTES: u64 = DATAGRAM_BYTES + FRAME_BYTES;
/// The same of a compact packet, with a number of two bytes and an offset of four: those of 256 to 65,535 packets, from
/// 16 MiB to 4 GiB.
pub const COMPACT_FRAME_BYTES: u64 = FRAME_BYTES - 2;
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

/// Header and STREAM frame where packet number and offset take as few bytes as they need (`AppendPacketHeader`,
/// `GetStreamOffsetSize`): numbers count from 1 there, an offset of 0 takes no byte, and others take two at least.
pub fn compact_frame_bytes(number: u32, offset: u64) -> u64 {
    let of_offset = if offset == 0 { 0 } else { bytes_of(offset).max(2) };
    1 + number_bytes(number) + 1 + 1 + of_offset
}

/// STOP_WAITING frame of such a packet: the distance is as long as the packet's number.
pub const fn compact_stop_waiting_bytes(number: u32) -> u64 {
    1 + number_bytes(number)
}

const fn number_bytes(number: u32) -> u64 {
    match bytes_of(number as u64 + 1) {
        5 => 4,
        bytes => bytes,
    }
}

/// Bytes that a value above 0 needs.
const fn bytes_of(value: u64) -> u64 {
    (value.ilog2() / 8 + 1) as u64
}

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
    fn compact_headers_take_the_bytes_that_their_values_need() {
        let sizes =
            [(0, 0), (1, 1400), (254, 1400), (255, 1400), (65_534, 70_000), (65_535, 20_000_000)];
        assert_eq!(
            sizes.map(|(number, offset)| compact_frame_bytes(number, offset)),
            [4, 6, 6, 7, 8, 10]
        );
        assert_eq!(compact_frame_bytes(u32::MAX, 5_000_000_000), 12);
        assert_eq!([0, 300].map(compact_stop_waiting_bytes), [2, 3]);
        for (bytes, expected) in [(4, 1046), (9, 1051), (11, 1053), (13, 1055)] {
            let packet = Packet { len: 1000, ..Packet::quic(400, 3, 390).with_frame_bytes(bytes) };
            assert_eq!(packet.wire_bytes().get(), expected);
            assert_eq!((packet.seq, packet.segment(), packet.lowest_awaited()), (400, 3, 390));
        }
        let again = Packet { len: 200, ..Packet::quic(400, 3, 390).with_frame_bytes(9) };
        let again = Packet { flags: again.flags | flags::STOP_WAITING, ..again };
        assert_eq!(again.wire_bytes().get(), 42 + 9 + 3 + 200);
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
