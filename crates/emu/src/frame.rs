//! A real frame as links and queue disciplines see it: a few words, and where its bytes are.

use crate::header::{Ip, Tcp};
use net::frame::{ecn, PureAck, SKB_OVERHEAD};
use net::Frame;
use path::route::Traveller;
use units::{Bytes, Time};

/// What Ethernet would add: TUN devices hand over bare IP packets, but rates and buffers count the wire
/// as `tbf` does.
pub const ETHERNET_BYTES: u64 = 14;
const ECN_BITS: u8 = 3;

/// See the module documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealFrame {
    /// Its buffer in the [`Slab`](crate::slab::Slab).
    pub buffer: u32,
    flow: u32,
    hash: u32,
    hosts: (u32, u32),
    /// IP packet length.
    length: u16,
    /// DSCP and ECN as they shall be; the buffer has what the sender wrote until the frame leaves.
    pub tos: u8,
    is_damaged: bool,
    /// It carries data of the flow's connection.
    pub is_data: bool,
    /// When it came.
    pub entered: Time,
    ack: Option<PureAck>,
}

impl RealFrame {
    /// The frame in `buffer`, of a flow between these hosts.
    pub fn new(
        buffer: u32,
        bytes: &[u8],
        ip: &Ip,
        tcp: Option<&Tcp>,
        flow: u32,
        hosts: (u32, u32),
        now: Time,
    ) -> RealFrame {
        RealFrame {
            buffer,
            flow,
            hash: ip.flow_hash(bytes),
            hosts,
            length: ip.total,
            tos: ip.tos,
            is_damaged: false,
            is_data: tcp.is_some_and(|tcp| tcp.payload > 0),
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

    fn pure_ack(&self) -> Option<PureAck> {
        self.ack
    }
}

impl Traveller for RealFrame {
    const IS_HELD: bool = true;

    fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// The receiving host would find its checksum wrong and refuse it; so it is not handed over at all.
    fn damage(&mut self) {
        self.is_damaged = true;
    }
}
