//! Reads the packets of a datagram (RFC 9000 sections 17 and 19), which the crypto without secrets leaves in the clear.
//! For logs: quinn itself does not tell what a packet carried.

use crate::config::CID_LEN;
use crate::crypto::TAG_LEN;

/// Type of the frame by which either end offers further connection IDs, and the token in it (RFC 9000 section 19.15).
const NEW_CONNECTION_ID: u64 = 0x18;
const RESET_TOKEN_LEN: usize = 16;

/// Where a packet's number belongs (RFC 9000 section 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    Initial,
    Handshake,
    Data,
}

/// A packet with its frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WirePacket {
    pub space: Space,
    /// Its number, as far as it is sent.
    pub number: u32,
    /// How many bits of the number are sent.
    pub number_bits: u32,
    /// Header, frames and tag, bytes.
    pub length: usize,
    pub frames: Vec<WireFrame>,
}

/// What a packet carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireFrame {
    /// This many bytes of it.
    Padding(usize),
    Ping,
    Ack {
        /// As it is sent: in units of 8 us.
        delay: u64,
        /// First and last number of each range, the largest range first.
        ranges: Vec<(u64, u64)>,
        /// ECT(0), ECT(1) and CE, where they are counted.
        ecn: Option<[u64; 3]>,
    },
    Crypto {
        offset: u64,
        length: u64,
    },
    Stream {
        id: u64,
        offset: u64,
        length: u64,
        is_last: bool,
    },
    HandshakeDone,
    /// Of this type; what comes after it in the packet is read only where it is NEW_CONNECTION_ID.
    Other(u64),
}

/// The packets of a datagram of `len` bytes that begins with `head`; the rest is zeros. Ends at the first that is none.
pub fn packets(head: &[u8], len: usize) -> Vec<WirePacket> {
    let mut bytes = Bytes { head, at: 0, end: len };
    let mut found = Vec::new();
    while bytes.at < len {
        let Some(packet) = packet(&mut bytes) else { break };
        found.push(packet);
        bytes.end = len;
    }
    found
}

fn packet(bytes: &mut Bytes<'_>) -> Option<WirePacket> {
    let start = bytes.at;
    let first = bytes.byte()?;
    let space = match (first & 0x80 != 0, first >> 4 & 3) {
        (false, _) => Space::Data,
        (true, 0) => Space::Initial,
        (true, 2) => Space::Handshake,
        // 0-RTT and Retry, which no run has.
        (true, _) => return None,
    };
    if space == Space::Data {
        bytes.skip(CID_LEN)?;
    } else {
        bytes.skip(4)?;
        for _ in 0..2 {
            let length = bytes.byte()?;
            bytes.skip(length.into())?;
        }
        if space == Space::Initial {
            let token = bytes.varint()?;
            bytes.skip(token as usize)?;
        }
        let rest = bytes.varint()? as usize;
        bytes.end = bytes.end.min(bytes.at.checked_add(rest)?);
    }
    let whole = bytes.end;
    let number_bytes = u32::from(first & 3) + 1;
    let mut number = 0;
    for _ in 0..number_bytes {
        number = number << 8 | u32::from(bytes.byte()?);
    }
    bytes.end = whole.checked_sub(TAG_LEN)?;
    let frames = frames(bytes);
    bytes.at = whole;
    Some(WirePacket { space, number, number_bits: 8 * number_bytes, length: whole - start, frames })
}

fn frames(bytes: &mut Bytes<'_>) -> Vec<WireFrame> {
    let mut found = Vec::new();
    while bytes.at < bytes.end {
        let Some(frame) = frame(bytes) else { break };
        let is_unread = matches!(frame, WireFrame::Other(kind) if kind != NEW_CONNECTION_ID);
        found.push(frame);
        if is_unread {
            break;
        }
    }
    found
}

fn frame(bytes: &mut Bytes<'_>) -> Option<WireFrame> {
    Some(match bytes.varint()? {
        0x00 => WireFrame::Padding(1 + bytes.skip_zeros()),
        0x01 => WireFrame::Ping,
        kind @ (0x02 | 0x03) => ack(bytes, kind == 3)?,
        0x06 => {
            let (offset, length) = (bytes.varint()?, bytes.varint()?);
            bytes.skip(length as usize)?;
            WireFrame::Crypto { offset, length }
        }
        kind @ 0x08..=0x0f => {
            let id = bytes.varint()?;
            let offset = if kind & 4 != 0 { bytes.varint()? } else { 0 };
            // Without a length it fills the packet.
            let left = (bytes.end - bytes.at) as u64;
            let length = if kind & 2 != 0 { bytes.varint()? } else { left };
            bytes.skip(length as usize)?;
            WireFrame::Stream { id, offset, length, is_last: kind & 1 != 0 }
        }
        NEW_CONNECTION_ID => {
            // Its number, and which ones it replaces.
            bytes.varint()?;
            bytes.varint()?;
            let length = bytes.byte()?;
            bytes.skip(usize::from(length) + RESET_TOKEN_LEN)?;
            WireFrame::Other(NEW_CONNECTION_ID)
        }
        0x1e => WireFrame::HandshakeDone,
        kind => WireFrame::Other(kind),
    })
}

fn ack(bytes: &mut Bytes<'_>, has_ecn: bool) -> Option<WireFrame> {
    let (largest, delay, more) = (bytes.varint()?, bytes.varint()?, bytes.varint()?);
    let mut smallest = largest.checked_sub(bytes.varint()?)?;
    let mut ranges = vec![(smallest, largest)];
    for _ in 0..more {
        let (gap, length) = (bytes.varint()?, bytes.varint()?);
        let last = smallest.checked_sub(gap.checked_add(2)?)?;
        smallest = last.checked_sub(length)?;
        ranges.push((smallest, last));
    }
    let mut counts = || Some([bytes.varint()?, bytes.varint()?, bytes.varint()?]);
    let ecn = if has_ecn { Some(counts()?) } else { None };
    Some(WireFrame::Ack { delay, ranges, ecn })
}

/// A place in a datagram, before `end`.
struct Bytes<'a> {
    head: &'a [u8],
    at: usize,
    end: usize,
}

impl Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        if self.at >= self.end {
            return None;
        }
        self.at += 1;
        Some(self.head.get(self.at - 1).copied().unwrap_or(0))
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.at = self.at.checked_add(count).filter(|&at| at <= self.end)?;
        Some(())
    }

    fn skip_zeros(&mut self) -> usize {
        let start = self.at;
        let rest = self.head.get(start..self.end.min(self.head.len())).unwrap_or_default();
        // Behind the head all are zeros.
        let first = rest.iter().position(|&byte| byte != 0);
        self.at = first.map_or(self.end, |count| start + count);
        self.at - start
    }

    /// RFC 9000 section 16.
    fn varint(&mut self) -> Option<u64> {
        let first = self.byte()?;
        let mut value = u64::from(first & 0x3f);
        for _ in 1..1 << (first >> 6) {
            value = value << 8 | u64::from(self.byte()?);
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_length_numbers_are_those_of_rfc_9000_appendix_a_1() {
        let cases: [(&[u8], u64); 4] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ];
        for (head, value) in cases {
            assert_eq!(Bytes { head, at: 0, end: head.len() }.varint(), Some(value));
        }
    }

    /// A short header with a number of two bytes.
    fn short(frames: &[u8]) -> Vec<u8> {
        [&[0x41, 1, 1, 1, 1, 0, 0, 0, 1, 0x12, 0x34], frames].concat()
    }

    #[test]
    fn a_stream_frame_without_a_length_fills_its_packet_but_for_the_tag() {
        // STREAM with an offset: stream 2, byte 1000.
        let read = packets(&short(&[0x0c, 0x02, 0x43, 0xe8]), 1200);
        let stream =
            WireFrame::Stream { id: 2, offset: 1000, length: 1200 - 15 - 16, is_last: false };
        let (space, frames) = (Space::Data, vec![stream]);
        let wanted = WirePacket { space, number: 0x1234, number_bits: 16, length: 1200, frames };
        assert_eq!(read, [wanted]);
    }

    #[test]
    fn ranges_of_an_ack_count_down_from_the_largest() {
        // Largest 20, delay 5, one more range, first range of 3 numbers; gap of 1: 16 and 17 missing; 14 to 15.
        let ack = [0x03, 20, 5, 1, 2, 1, 1, 7, 0, 1];
        let read = packets(&short(&ack), 11 + ack.len() + TAG_LEN);
        let ranges = vec![(18, 20), (14, 15)];
        assert_eq!(read[0].frames, [WireFrame::Ack { delay: 5, ranges, ecn: Some([7, 0, 1]) }]);
    }

    #[test]
    fn several_packets_in_a_datagram_and_padding_are_told_apart() {
        let long = |kind: u8, token: &[u8], length: u8| {
            [&[0xc0 | kind << 4, 0, 0, 0, 1, 0, 0][..], token, &[length, 9, 0x01]].concat()
        };
        // One byte of number, a PING, a byte of padding, and the tag.
        let (mut first, second) = (long(0, &[0], 19), long(2, &[], 0));
        first.extend([0; 17]);
        let head = [first.clone(), second].concat();
        let read = packets(&head, first.len() + 8);
        assert_eq!(read.len(), 1, "a length of nothing has no number");
        assert_eq!((read[0].space, read[0].number, read[0].length), (Space::Initial, 9, 28));
        assert_eq!(read[0].frames, [WireFrame::Ping, WireFrame::Padding(1)]);
    }

    #[test]
    fn data_behind_a_new_connection_id_are_read_and_behind_an_unknown_frame_not() {
        let offer = [&[0x18, 1, 0, 4, 9, 9, 9, 9][..], &[7; 16]].concat();
        let head = short(&[&offer[..], &[0x1e, 0x1c, 0x01]].concat());
        let wanted = [WireFrame::Other(0x18), WireFrame::HandshakeDone, WireFrame::Other(0x1c)];
        assert_eq!(packets(&head, 200)[0].frames, wanted);
    }

    #[test]
    fn what_ends_too_early_is_no_packet() {
        assert!(packets(&[0x41, 1, 1], 3).is_empty());
        assert_eq!(packets(&short(&[0x06, 0]), 29)[0].frames, []);
    }
}
