//! A real frame as links and queue disciplines see it: a few words, and the number of its buffer.

use crate::classify::Member;
use crate::header::{Ip, Tcp};
use net::frame::{ecn, PureAck, SKB_OVERHEAD};
use net::Frame;
use path::route::PathPacket;
use units::{Bytes, Time};

/// Ethernet's header: TUN devices have bare IP packets, but rates and buffers count it as `tbf` does.
pub const ETHERNET_BYTES: u64 = 14;
const ECN_BITS: u8 = 3;

/// See the module documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealFrame {
    /// Its buffer in the [`BufferPool`](crate::pool::BufferPool).
    pub buffer: u32,
    /// Number of the flow, or of the series of probes after all flows.
    flow: u32,
    /// It goes the way of the flow's data, or of the requests.
    pub goes_there: bool,
    hash: u32,
    hosts: (u32, u32),
    /// IP packet length.
    length: u16,
    /// TCP's data in it, bytes.
    payload: u16,
    /// DSCP and ECN after marking; the buffer keeps the sender's until the frame leaves.
    pub tos: u8,
    is_damaged: bool,
    /// It carries data of the flow's connection.
    pub is_data: bool,
    /// When it entered the path.
    pub entered: Time,
    ack: Option<PureAck>,
}

impl RealFrame {
    /// The frame in `buffer`, between these hosts.
    pub fn new(
        buffer: u32,
        bytes: &[u8],
        ip: &Ip,
        tcp: Option<&Tcp>,
        member: Member,
        hosts: (u32, u32),
        now: Time,
    ) -> RealFrame {
        RealFrame {
            buffer,
            flow: member.number,
            goes_there: member.goes_there,
            hash: ip.flow_hash(bytes),
            hosts,
            length: ip.total,
            payload: tcp.map_or(0, |tcp| tcp.payload as u16),
            tos: ip.tos,
            is_damaged: false,
            // Datagrams of quinn mostly do; what exactly is encrypted, elsewhere.
            is_data: tcp.map_or(member.goes_there, |tcp| tcp.payload > 0),
            entered: now,
            ack: tcp.and_then(|tcp| tcp.pure_ack(bytes)),
        }
    }
}

impl Frame for RealFrame {
    #[inline]
    fn wire_bytes(&self) -> Bytes {
        Bytes::new(u64::from(self.length) + ETHERNET_BYTES)
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }

    #[inline]
    fn flow_hash(&self) -> u32 {
        self.hash
    }

    #[inline]
    fn hosts(&self) -> (u32, u32) {
        self.hosts
    }

    #[inline]
    fn ecn(&self) -> u8 {
        self.tos & ECN_BITS
    }

    #[inline]
    fn mark_ce(&mut self) -> bool {
        let is_capable = self.ecn() != ecn::NOT_ECT;
        if is_capable {
            self.tos |= ecn::CE;
        }
        is_capable
    }

    #[inline]
    fn dscp(&self) -> u8 {
        self.tos >> 2
    }

    fn clear_dscp(&mut self) {
        self.tos &= ECN_BITS;
    }

    #[inline]
    fn truesize(&self) -> Bytes {
        Bytes::new(u64::from(SKB_OVERHEAD) + u64::from(self.length))
    }

    fn head_bytes(&self) -> Bytes {
        self.wire_bytes() - Bytes::new(self.payload.into())
    }

    fn pure_ack(&self) -> Option<PureAck> {
        self.ack
    }
}

impl PathPacket for RealFrame {
    const IS_BUFFERED: bool = true;

    fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// The receiving host would find a wrong checksum and drop it, so it is not handed over.
    fn damage(&mut self) {
        self.is_damaged = true;
    }
}
