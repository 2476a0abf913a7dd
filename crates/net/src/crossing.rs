//! What a link carries where data and acknowledgements share it: the data of flows that go one way, the
//! acknowledgements of those that go the other, and probes.

use crate::frame::{ecn, spread, Frame, PureAck, SKB_OVERHEAD};
use crate::packet::{Ack, Packet};
use units::Bytes;

/// See the module documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// From a flow's sender.
    Data(Packet),
    /// From its receiver.
    Ack(Ack),
    /// A request, or an answer to one.
    Probe(Probe),
}

/// A probe on the wire, bytes: 56 of payload, as `ping` sends, with headers of 8 (UDP or ICMP), 20 and 14.
pub const PROBE_BYTES: u64 = 98;

/// A datagram that measures a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Index of its route: probes follow the flows.
    pub flow: u32,
    /// Number in its series.
    pub number: u32,
    /// It answers the request with this number.
    pub is_answer: bool,
    /// It was corrupted on its way.
    pub is_damaged: bool,
}

impl Frame for Probe {
    fn wire_bytes(&self) -> Bytes {
        Bytes::new(PROBE_BYTES)
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn flow_hash(&self) -> u32 {
        spread(if self.is_answer { !self.flow } else { self.flow })
    }

    /// Each series has two hosts of its own.
    fn hosts(&self) -> (u32, u32) {
        let (asks, answers) = (2 * self.flow + 1, 2 * self.flow + 2);
        if self.is_answer {
            (answers, asks)
        } else {
            (asks, answers)
        }
    }

    fn ecn(&self) -> u8 {
        ecn::NOT_ECT
    }

    fn mark_ce(&mut self) -> bool {
        false
    }

    fn truesize(&self) -> Bytes {
        Bytes::new(u64::from(SKB_OVERHEAD))
    }
}

/// Calls the same method of whichever it is.
macro_rules! each {
    ($crossing:expr, $one:ident => $call:expr) => {
        match $crossing {
            Crossing::Data($one) => $call,
            Crossing::Ack($one) => $call,
            Crossing::Probe($one) => $call,
        }
    };
}

impl Frame for Crossing {
    #[inline]
    fn wire_bytes(&self) -> Bytes {
        each!(self, one => Frame::wire_bytes(one))
    }

    #[inline]
    fn flow(&self) -> u32 {
        each!(self, one => Frame::flow(one))
    }

    #[inline]
    fn flow_hash(&self) -> u32 {
        each!(self, one => one.flow_hash())
    }

    #[inline]
    fn hosts(&self) -> (u32, u32) {
        each!(self, one => one.hosts())
    }

    #[inline]
    fn ecn(&self) -> u8 {
        each!(self, one => Frame::ecn(one))
    }

    #[inline]
    fn mark_ce(&mut self) -> bool {
        each!(self, one => one.mark_ce())
    }

    #[inline]
    fn truesize(&self) -> Bytes {
        each!(self, one => one.truesize())
    }

    fn head_bytes(&self) -> Bytes {
        each!(self, one => one.head_bytes())
    }

    #[inline]
    fn segments(&self) -> u32 {
        each!(self, one => Frame::segments(one))
    }

    fn frame(&self, i: u32) -> Crossing {
        match self {
            Crossing::Data(packet) => Crossing::Data(Frame::frame(packet, i)),
            Crossing::Ack(_) | Crossing::Probe(_) => *self,
        }
    }

    fn pure_ack(&self) -> Option<PureAck> {
        each!(self, one => one.pure_ack())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::TcpAck;

    #[test]
    fn data_and_acknowledgements_are_what_they_are_alone() {
        let packet = Packet { flow: 3, len: 2 * 1448, ..Packet::default() };
        let ack = Ack { flow: 4, ..TcpAck { ack: 7, n_sacks: 1, ..TcpAck::default() }.into() };
        let (data, acks) = (Crossing::Data(packet), Crossing::Ack(ack));
        assert_eq!((data.wire_bytes().get(), data.segments(), data.flow()), (3028, 2, 3));
        assert_eq!((acks.wire_bytes().get(), acks.segments(), acks.flow()), (78, 1, 4));
        assert_eq!(data.frame(1).head_bytes().get(), 66, "the headers");
        assert_eq!(acks.head_bytes(), acks.wire_bytes());
        assert_eq!((data.hosts(), acks.hosts()), (packet.hosts(), ack.hosts()));
        assert_eq!((data.pure_ack(), acks.pure_ack()), (None, ack.pure_ack()));
        assert_eq!(data.frame(1), Crossing::Data(Frame::frame(&packet, 1)));
    }
}
