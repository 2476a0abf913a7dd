//! What travels: data-direction packets and acknowledgements, a few words each.
//!
//! Sequence numbers count full-sized segments, not bytes: every segment but the last of a finite
//! transfer carries one MSS, so a byte sequence number is `seq * mss`. The fields are described as TCP
//! uses them; what QUIC puts into those of a data packet is said where it differs ([`Packet::quic`]).

use crate::frame::{ecn, spread, Frame, PureAck, SKB_OVERHEAD};
use crate::quic::{self, AckFrame};
use units::Bytes;

/// Payload of a full segment of TCP, bytes: an MTU of 1500 less the headers of IPv4 and of TCP with timestamps.
pub const MSS: u32 = 1448;
/// Most full segments in an IP packet of 64 kB.
pub const SEGMENTS_MAX: u32 = 45;
/// Link, IPv4 and TCP header with timestamps: 14 + 20 + 32 bytes on the wire.
pub const HEADER_BYTES: u64 = 66;
/// A SYN carries MSS, SACK-permitted, timestamps and window scale: 14 + 20 + 40 bytes.
pub const SYN_BYTES: u64 = 74;

/// One packet from sender to receiver: a frame, or a super-packet, which holds several full segments of TCP (the last
/// may be short) until something cuts it (generic segmentation offload). Aligned so that it is copied in the words that it was written in:
/// otherwise the processor waits for the writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(align(8))]
pub struct Packet {
    /// Index of the flow in the plan.
    pub flow: u32,
    /// Segment number (0 is the first data segment), of a super-packet its first. QUIC: packet number.
    pub seq: u32,
    /// TCP timestamp value, milliseconds of the sender's clock; of QUIC see [`Packet::segment`].
    pub ts_val: u32,
    /// TCP timestamp echo, milliseconds of the receiver's clock; of QUIC see [`Packet::lowest_awaited`].
    pub ts_ecr: u32,
    /// Payload bytes; 0 for a SYN or a pure ACK, more than [`MSS`] for a super-packet.
    pub len: u16,
    /// `flags::*`.
    pub flags: u8,
    /// ECN code point of the IP header, `ecn::*`.
    pub ecn: u8,
    /// When it left the sender, microseconds modulo 2^32; the engine's.
    pub sent_us: u32,
}

/// Bits of [`Packet::ts_ecr`] of QUIC that say how long header and STREAM frame are.
const FRAME_BITS: u32 = 4;

/// Bits of [`Packet::flags`].
pub mod flags {
    /// Connection set-up.
    pub const SYN: u8 = 1;
    /// The application asked for delivery (PSH).
    pub const PUSH: u8 = 2;
    /// The segment was sent before.
    pub const RETRANS: u8 = 4;
    /// The flow's receiver is on a host of its own.
    pub const OWN_RECEIVER: u8 = 64;
    /// It was corrupted on its way: the receiving host's checksum will refuse it.
    pub const DAMAGED: u8 = 128;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 8;
    /// A packet of QUIC.
    pub const QUIC: u8 = 16;
    /// With `QUIC`: a datagram of a real implementation, whose content is kept elsewhere, or one of plain UDP.
    pub const DATAGRAM: u8 = CWR;
    /// It has a STOP_WAITING frame: packet numbers below [`Packet::lowest_awaited`](super::Packet::lowest_awaited) will not be asked for any more.
    pub const STOP_WAITING: u8 = 32;
}

impl Packet {
    /// A data packet of QUIC, which has no timestamps: their words carry the number of its segment of the stream, and
    /// the lowest packet number that the sender still waits for, as the distance to it above [`FRAME_BITS`] bits that say
    /// how much shorter than [`quic::FRAME_BYTES`] its header and STREAM frame are.
    #[inline]
    pub fn quic(number: u32, segment: u32, lowest_awaited: u32) -> Packet {
        Packet {
            seq: number,
            ts_val: segment,
            ts_ecr: {
                let distance = number - lowest_awaited;
                assert!(distance >> (32 - FRAME_BITS) == 0, "{distance} packets are remembered");
                distance << FRAME_BITS
            },
            flags: flags::QUIC,
            ..Packet::default()
        }
    }

    /// Of QUIC: the same with a header and STREAM frame of so many bytes.
    #[must_use]
    pub fn with_frame_bytes(self, bytes: u64) -> Packet {
        let shorter = quic::FRAME_BYTES as i32 - bytes as i32;
        let mask = (1 << FRAME_BITS) - 1;
        Packet { ts_ecr: self.ts_ecr & !mask | (shorter as u32 & mask), ..self }
    }

    /// Of QUIC: how much shorter than usual its header and STREAM frame are, bytes.
    #[inline]
    const fn shorter(&self) -> i64 {
        ((self.ts_ecr << (32 - FRAME_BITS)) as i32 >> (32 - FRAME_BITS)) as i64
    }

    /// A datagram of `len` bytes: of a real implementation of QUIC, where `number` and `generation` say where its content
    /// is, or one of plain UDP with its number.
    #[inline]
    pub fn datagram(number: u32, generation: u32, len: u16) -> Packet {
        let flags = flags::QUIC | flags::DATAGRAM;
        Packet { seq: number, ts_val: generation, len, flags, ..Packet::default() }
    }

    /// Whether it is one of [`Packet::datagram`].
    #[inline]
    pub const fn is_datagram(&self) -> bool {
        let both = flags::QUIC | flags::DATAGRAM;
        self.flags & both == both
    }

    /// Of QUIC: the segment of the stream that it carries.
    #[inline]
    pub fn segment(&self) -> u32 {
        debug_assert!(self.flags & flags::QUIC != 0, "a segment of {self:?}");
        self.ts_val
    }

    /// Of QUIC: what a STOP_WAITING frame says; packet numbers below it will not be asked for any more.
    #[inline]
    pub fn lowest_awaited(&self) -> u32 {
        debug_assert!(self.flags & flags::QUIC != 0, "a STOP_WAITING frame of {self:?}");
        self.seq - (self.ts_ecr >> FRAME_BITS)
    }

    /// Length on the wire, link header included (what `tbf` and buffers count).
    #[inline(always)]
    pub const fn wire_bytes(&self) -> Bytes {
        if self.flags & (flags::QUIC | flags::SYN) == 0 && self.len as u32 <= MSS {
            Bytes::new(HEADER_BYTES + self.len as u64)
        } else {
            self.other_wire_bytes()
        }
    }

    /// The same of what is not one segment of TCP.
    #[inline(never)]
    const fn other_wire_bytes(&self) -> Bytes {
        if self.flags & flags::QUIC != 0 {
            Bytes::new(self.quic_bytes())
        } else if self.flags & flags::SYN != 0 {
            Bytes::new(SYN_BYTES)
        } else {
            Bytes::new(HEADER_BYTES * self.segments() as u64 + self.len as u64)
        }
    }

    /// Segments that it holds: 1 unless it is a super-packet.
    #[inline]
    pub const fn segments(&self) -> u32 {
        let len = self.len as u32;
        if len <= MSS || self.is_datagram() {
            1
        } else {
            len.div_ceil(MSS)
        }
    }

    /// The `i`-th frame that a super-packet is cut into (`tcp_gso_segment`, net/ipv4/tcp_offload.c): CWR is on the first
    /// one only, PSH on the last.
    fn frame(&self, i: u32) -> Packet {
        let first = if i == 0 { 0 } else { flags::CWR };
        let last = if i + 1 == self.segments() { 0 } else { flags::PUSH };
        let len = (u32::from(self.len) - i * MSS).min(MSS) as u16;
        Packet { seq: self.seq + i, len, flags: self.flags & !first & !last, ..*self }
    }

    const fn quic_bytes(&self) -> u64 {
        if self.is_datagram() {
            return quic::DATAGRAM_BYTES + self.len as u64;
        }
        if self.flags & flags::SYN != 0 {
            return quic::INITIAL_BYTES;
        }
        let has_frame = (self.flags & flags::STOP_WAITING != 0) as u64;
        let shorter = self.shorter();
        let frame = match shorter {
            0 => quic::STOP_WAITING_BYTES,
            _ => quic::compact_stop_waiting_bytes(self.seq),
        };
        (quic::DATA_BYTES + self.len as u64 + has_frame * frame).saturating_add_signed(-shorter)
    }
}

impl Frame for Packet {
    #[inline]
    fn wire_bytes(&self) -> Bytes {
        Packet::wire_bytes(self)
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }

    #[inline]
    fn flow_hash(&self) -> u32 {
        spread(self.flow)
    }

    /// Every flow has a sender of its own; the receivers are on one host unless the packet says
    /// otherwise.
    #[inline]
    fn hosts(&self) -> (u32, u32) {
        let own = self.flags & flags::OWN_RECEIVER != 0;
        (2 * self.flow + 1, if own { 2 * self.flow + 2 } else { 0 })
    }

    #[inline]
    fn ecn(&self) -> u8 {
        self.ecn
    }

    #[inline]
    fn mark_ce(&mut self) -> bool {
        ecn::mark(&mut self.ecn)
    }

    #[inline]
    fn truesize(&self) -> Bytes {
        Bytes::new(u64::from(SKB_OVERHEAD) + u64::from(self.len))
    }

    fn head_bytes(&self) -> Bytes {
        let is_tcp = self.flags & flags::QUIC == 0;
        self.wire_bytes() - Bytes::new(if is_tcp { self.len.into() } else { 0 })
    }

    #[inline]
    fn segments(&self) -> u32 {
        Packet::segments(self)
    }

    fn frame(&self, i: u32) -> Packet {
        Packet::frame(self, i)
    }
}

/// One packet from receiver to sender, without data but for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Index of the flow in the plan; the engine's.
    pub flow: u32,
    /// ECN code point of the IP header, `ecn::*`.
    pub ecn: u8,
    /// It was corrupted on its way: the receiving host's checksum will refuse it.
    pub is_damaged: bool,
    /// What it is besides.
    pub kind: AckKind,
    /// What the transport says.
    pub body: AckBody,
}

/// What an acknowledgement is besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckKind {
    /// Nothing: no data, and no SYN.
    Pure,
    /// It answers the sender's first packet: the SYN-ACK, or the server's Initial packet.
    Syn,
    /// It carries a request of the application, [`REQUEST_BYTES`] of data. Of TCP only.
    Request,
}

/// An acknowledgement as its transport writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckBody {
    /// The header of TCP.
    Tcp(TcpAck),
    /// The ACK frame of QUIC; an Initial packet has none.
    Quic(Option<AckFrame>),
    /// A datagram of a real implementation of QUIC, as [`Packet::datagram`].
    Datagram {
        /// Where its content is.
        number: u32,
        /// Which use of that place.
        generation: u32,
        /// Its length, bytes.
        len: u16,
    },
}

/// Content of a TCP header that acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpAck {
    /// Next segment expected.
    pub ack: u32,
    /// Receive window in bytes.
    pub window: u32,
    /// Timestamp echo, milliseconds of the sender's clock.
    pub ts_ecr: u32,
    /// Timestamp value, milliseconds of the receiver's clock.
    pub ts_val: u32,
    /// Number of valid entries in `sacks`.
    pub n_sacks: u8,
    /// The first block reports a duplicate (RFC 2883).
    pub is_dsack: bool,
    /// ECN echo.
    pub ece: bool,
    /// Accurate ECN: the ACE field, AE, CWR and ECE as bits 2, 1 and 0 (RFC 9768); 0 without it.
    pub ace: u8,
    /// Half-open ranges of segments, most recent first. The end of a third one that does not count is
    /// [`TcpAck::part`].
    pub sacks: [(u32, u32); 3],
}

// They are copied at every step of the path.
const _: () = assert!(size_of::<Ack>() == 52 && size_of::<Packet>() == 24);

impl TcpAck {
    /// The SACK blocks, most recent first.
    #[inline]
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.sacks[..self.n_sacks as usize]
    }

    /// Bytes of the segment `ack` that are acknowledged: none but of a receiver that divides its acknowledgements.
    #[inline]
    pub fn part(&self) -> u32 {
        match self.n_sacks {
            0..=2 => self.sacks[2].1,
            _ => 0,
        }
    }

    /// The same acknowledging `bytes` of the segment `ack`, too.
    ///
    /// # Panics
    /// When it has three SACK blocks.
    #[must_use]
    pub fn with_part(mut self, bytes: u32) -> TcpAck {
        assert!(self.n_sacks < 3, "a part beside three SACK blocks");
        self.sacks[2].1 = bytes;
        self
    }

    /// The same for `cake` and others, which compare byte numbers: a short segment counts as a full one.
    fn in_bytes(&self) -> PureAck {
        let byte = |seq: u32| seq.wrapping_mul(MSS);
        PureAck {
            ack: byte(self.ack).wrapping_add(self.part()),
            ts_val: self.ts_val,
            ecn_flags: u8::from(self.ece) | self.ace,
            is_dsack: self.is_dsack,
            sacks: self.sacks.map(|(start, end)| (byte(start), byte(end))),
            n_sacks: self.n_sacks,
        }
    }
}

impl From<TcpAck> for Ack {
    #[inline]
    fn from(tcp: TcpAck) -> Ack {
        let body = AckBody::Tcp(tcp);
        Ack { flow: 0, ecn: ecn::NOT_ECT, is_damaged: false, kind: AckKind::Pure, body }
    }
}

impl From<AckFrame> for Ack {
    #[inline]
    fn from(frame: AckFrame) -> Ack {
        let body = AckBody::Quic(Some(frame));
        Ack { flow: 0, ecn: ecn::NOT_ECT, is_damaged: false, kind: AckKind::Pure, body }
    }
}

impl Ack {
    /// The server's Initial packet.
    pub fn initial() -> Ack {
        let body = AckBody::Quic(None);
        Ack { flow: 0, ecn: ecn::NOT_ECT, is_damaged: false, kind: AckKind::Syn, body }
    }

    /// The header of TCP.
    ///
    /// # Panics
    /// When it is QUIC's.
    #[inline]
    pub fn tcp(&self) -> &TcpAck {
        match &self.body {
            AckBody::Tcp(tcp) => tcp,
            other @ (AckBody::Quic(_) | AckBody::Datagram { .. }) => {
                panic!("QUIC's {other:?} as TCP's")
            }
        }
    }

    /// The ACK frame of QUIC, if it has one.
    #[inline]
    pub fn frame(&self) -> Option<&AckFrame> {
        match &self.body {
            AckBody::Quic(frame) => frame.as_ref(),
            AckBody::Tcp(_) | AckBody::Datagram { .. } => None,
        }
    }

    /// Whether it answers the sender's first packet.
    #[inline]
    pub fn is_syn(&self) -> bool {
        self.kind == AckKind::Syn
    }

    /// Whether it carries a request.
    #[inline]
    pub fn is_request(&self) -> bool {
        self.kind == AckKind::Request
    }
}

/// An acknowledgement without options but timestamps: 14 + 20 + 32 bytes on the wire.
const ACK_BYTES: u64 = HEADER_BYTES;
/// Data of a request.
pub const REQUEST_BYTES: u64 = 1;

impl Frame for Ack {
    #[inline]
    fn wire_bytes(&self) -> Bytes {
        Bytes::new(match &self.body {
            AckBody::Tcp(_) if self.is_syn() => SYN_BYTES,
            AckBody::Tcp(tcp) => {
                let data = if self.is_request() { REQUEST_BYTES } else { 0 };
                let sack = if tcp.n_sacks > 0 { 4 + 8 * u64::from(tcp.n_sacks) } else { 0 };
                ACK_BYTES + data + sack
            }
            AckBody::Quic(None) => quic::INITIAL_BYTES,
            AckBody::Quic(Some(frame)) => frame.wire_bytes(),
            AckBody::Datagram { len, .. } => quic::DATAGRAM_BYTES + u64::from(*len),
        })
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }

    #[inline]
    fn flow_hash(&self) -> u32 {
        spread(!self.flow)
    }

    #[inline]
    fn hosts(&self) -> (u32, u32) {
        (0, 2 * self.flow + 1)
    }

    #[inline]
    fn ecn(&self) -> u8 {
        self.ecn
    }

    #[inline]
    fn mark_ce(&mut self) -> bool {
        ecn::mark(&mut self.ecn)
    }

    #[inline]
    fn truesize(&self) -> Bytes {
        Bytes::new(u64::from(SKB_OVERHEAD))
    }

    fn pure_ack(&self) -> Option<PureAck> {
        match &self.body {
            AckBody::Tcp(tcp) if self.kind == AckKind::Pure => Some(tcp.in_bytes()),
            AckBody::Tcp(_) | AckBody::Quic(_) | AckBody::Datagram { .. } => None,
        }
    }
}
