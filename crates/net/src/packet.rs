//! What travels: data-direction packets and acknowledgements, a few words each.
//!
//! Sequence numbers count full-sized segments, not bytes: every segment but the last of a finite
//! transfer carries one MSS, so a byte sequence number is `seq * mss`.

use units::Bytes;

/// Link, IPv4 and TCP header with timestamps: 14 + 20 + 32 bytes on the wire.
pub const HEADER_BYTES: u64 = 66;
/// A SYN carries MSS, SACK-permitted, timestamps and window scale: 14 + 20 + 40 bytes.
pub const SYN_BYTES: u64 = 74;

/// One packet from sender to receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Index of the flow in the plan.
    pub flow: u32,
    /// Segment number (0 is the first data segment).
    pub seq: u32,
    /// TCP timestamp value, milliseconds of the sender's clock.
    pub ts_val: u32,
    /// TCP timestamp echo, milliseconds of the receiver's clock.
    pub ts_ecr: u32,
    /// Payload bytes; 0 for a SYN or a pure ACK.
    pub len: u16,
    /// `flags::*`.
    pub flags: u8,
    /// ECN code point of the IP header (0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE).
    pub ecn: u8,
}

/// Bits of [`Packet::flags`].
pub mod flags {
    /// Connection set-up.
    pub const SYN: u8 = 1;
    /// The application asked for delivery (PSH).
    pub const PUSH: u8 = 2;
    /// The segment was sent before.
    pub const RETRANS: u8 = 4;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 8;
}

impl Packet {
    /// Length on the wire, link header included (what `tbf` and buffers count).
    #[inline]
    pub const fn wire_bytes(&self) -> Bytes {
        if self.flags & flags::SYN != 0 {
            Bytes::new(SYN_BYTES)
        } else {
            Bytes::new(HEADER_BYTES + self.len as u64)
        }
    }
}

/// One acknowledgement from receiver to sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ack {
    /// Next segment expected.
    pub ack: u32,
    /// Receive window in bytes.
    pub window: u32,
    /// TCP timestamp echo, milliseconds of the sender's clock.
    pub ts_ecr: u32,
    /// TCP timestamp value, milliseconds of the receiver's clock.
    pub ts_val: u32,
    /// Number of valid entries in `sacks`.
    pub n_sacks: u8,
    /// The first block reports a duplicate (RFC 2883).
    pub is_dsack: bool,
    /// ECN echo.
    pub ece: bool,
    /// This is the SYN-ACK.
    pub syn: bool,
    /// Half-open ranges of segments, most recent first.
    pub sacks: [(u32, u32); 3],
}

impl Ack {
    /// The SACK blocks, most recent first.
    #[inline]
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.sacks[..self.n_sacks as usize]
    }
}
