//! What links, impairments and queue disciplines must know of a packet. The simulator's packets are a
//! few words, the emulator's hold real frames; parts are generic over this trait, so both are judged
//! by the same code.

use units::Bytes;

/// ECN code points of the IP header (RFC 3168, section 5).
pub mod ecn {
    /// Sets CE in a code point that is ECN-capable or marked already, and tells whether it was
    /// (`INET_ECN_set_ce`).
    #[inline]
    pub fn mark(code_point: &mut u8) -> bool {
        let capable = *code_point != NOT_ECT;
        if capable {
            *code_point = CE;
        }
        capable
    }

    /// The transport does not understand ECN.
    pub const NOT_ECT: u8 = 0;
    /// ECN-capable; the code point of L4S (RFC 9331).
    pub const ECT1: u8 = 1;
    /// ECN-capable, the classic code point.
    pub const ECT0: u8 = 2;
    /// Congestion experienced.
    pub const CE: u8 = 3;
}

/// Memory of a buffer of TCP besides its payload, bytes: `SKB_TRUESIZE` of a small-head skb (256 usable, 256 for `sk_buff`,
/// 320 for `skb_shared_info`; `tcp_stream_alloc_skb`, x86-64), as SO_MEMINFO of a running kernel says. A kernel with drivers
/// of wireless networks, whose headers are longer, has 960.
pub const SKB_OVERHEAD: u32 = 832;

/// The link layer's header in [`Frame::wire_bytes`]: Ethernet's.
pub const ETHERNET_HEADER: u64 = 14;

/// The header that a link has of its own: what is in front of the IP packet on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkHeader {
    /// What it has more than Ethernet's, bytes.
    beyond: i64,
}

impl LinkHeader {
    /// A header of so many bytes.
    pub const fn of(bytes: u64) -> LinkHeader {
        LinkHeader { beyond: bytes as i64 - ETHERNET_HEADER as i64 }
    }

    /// Length of a packet on that link; each frame of a super-packet has a header.
    #[inline]
    pub fn wire_bytes<P: Frame>(self, packet: &P) -> Bytes {
        let ethernet = packet.wire_bytes();
        if self.beyond == 0 {
            return ethernet;
        }
        let more = self.beyond * i64::from(packet.segments());
        Bytes::new(ethernet.get().saturating_add_signed(more))
    }
}

/// See the module documentation.
pub trait Frame {
    /// Length that rates and queues count: the wire, link header included (`qdisc_pkt_len`); of a super-packet that of
    /// its frames together (`qdisc_pkt_len_init`).
    fn wire_bytes(&self) -> Bytes;

    /// The flow that it belongs to, a small number: statistics are kept by it.
    fn flow(&self) -> u32;

    /// Hash of the transport addresses, the same for every packet of a flow and uniform over 32 bits.
    fn flow_hash(&self) -> u32;

    /// Numbers of the source and the destination host (`cake`'s isolation).
    fn hosts(&self) -> (u32, u32);

    /// `ecn::*`.
    fn ecn(&self) -> u8;

    /// Sets CE where the packet is ECN-capable or marked already, and tells whether it was
    /// (`INET_ECN_set_ce`).
    fn mark_ce(&mut self) -> bool;

    /// Differentiated services code point, 0 to 63.
    fn dscp(&self) -> u8 {
        0
    }

    /// Sets the code point to 0 and leaves the ECN bits (`cake`'s `wash`). A packet without one has
    /// nothing to do.
    fn clear_dscp(&mut self) {}

    /// Memory that the packet occupies in the kernel (`skb->truesize`): what `fq_codel`'s and `cake`'s
    /// memory limits count.
    fn truesize(&self) -> Bytes;

    /// Bytes of its first buffer, among which netem chooses the bit that it inverts (`skb_headlen`): all of it, but of data
    /// of TCP the headers only.
    fn head_bytes(&self) -> Bytes {
        self.wire_bytes()
    }

    /// Frames that it is on a wire: more than one for a super-packet, which is one item until something cuts it.
    #[inline]
    fn segments(&self) -> u32 {
        1
    }

    /// The `i`-th of these frames.
    fn frame(&self, _i: u32) -> Self
    where
        Self: Copy,
    {
        *self
    }

    /// What an ACK filter needs, where the packet is an acknowledgement without data.
    fn pure_ack(&self) -> Option<PureAck> {
        None
    }
}

/// The part of an acknowledgement without data that `cake`'s ACK filter compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PureAck {
    /// Cumulative acknowledgement.
    pub ack: u32,
    /// Timestamp value, ms.
    pub ts_val: u32,
    /// ECE and CWR as bits 0 and 1, AccECN's third counter bit as bit 2.
    pub ecn_flags: u8,
    /// The first block reports a duplicate.
    pub is_dsack: bool,
    /// Selective acknowledgements, half-open ranges; only the first `n_sacks` count.
    pub sacks: [(u32, u32); 3],
    /// Number of valid entries in `sacks`.
    pub n_sacks: u8,
}

/// Spreads a small number over 32 bits: the finaliser of MurmurHash3, a bijection.
#[inline]
pub const fn spread(number: u32) -> u32 {
    let mut x = number.wrapping_add(0x9e37_79b9);
    x ^= x >> 16;
    x = x.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 13;
    x = x.wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// The bucket of a hash among `buckets`, perturbed so that runs with different seeds collide elsewhere
/// (`reciprocal_scale`, include/linux/kernel.h: the high bits decide).
#[inline]
pub const fn bucket(hash: u32, perturbation: u32, buckets: u32) -> u32 {
    ((spread(hash ^ perturbation) as u64 * buckets as u64) >> 32) as u32
}
