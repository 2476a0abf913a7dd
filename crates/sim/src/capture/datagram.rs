//! Packets of the simplified QUIC as UDP datagrams.
//!
//! They are not QUIC version 1 on the wire: nothing is encrypted, and an acknowledgement is shorter than
//! the shortest packet of version 1. So they begin with what the model knows, in the clear: flags as in a
//! short header, the packet number, and the frames of RFC 9000 (numbers of four bytes, as the model counts
//! them). `docs/results.md` has the table.

use crate::ends::Ends;
use crate::flow::Flow;
use net::quic::DATAGRAM_BYTES;
use net::{flags, Ack, AckBody, Frame, Packet};
use record::pcap::{PcapDatagram, PcapWriter, HEAD_LEN_MAX};
use units::{Bytes, Time};

/// First byte: fixed bit, packet number of four bytes.
const SHORT: u8 = 0x43;
/// First byte of what stands for an Initial packet, which has no frame but padding.
const INITIAL: u8 = 0x63;
/// Packet number and first padding of an Initial packet that a capture holds.
const PADDING: usize = HEAD_LEN_MAX - 1;
/// Frame types; STOP_WAITING is that of Google's QUIC.
const ACK: u8 = 0x02;
const ACK_WITH_ECN: u8 = 0x03;
const STOP_WAITING: u8 = 0x06;
/// With an offset, and with the rest of the datagram as data.
const STREAM: u8 = 0x0c;
/// The ACK frame's unit of time, us.
const DELAY_UNIT_US: u32 = 8;

/// A datagram to be written.
pub struct Datagram {
    from_sender: bool,
    payload_len: u32,
    head: [u8; HEAD_LEN_MAX],
    head_len: usize,
    ecn: u8,
}

/// A packet of the sender.
pub fn of_packet(flow: &Flow, packet: &Packet) -> Datagram {
    let mut made = Datagram::new(true, packet.wire_bytes(), packet.ecn);
    if let Ends::Quinn(quinn) = &flow.ends {
        made.put_head(quinn.head_of_packet(packet));
        return made;
    }
    if packet.is_datagram() {
        // Plain UDP, whose payload is zeros.
        return made;
    }
    if packet.flags & flags::SYN != 0 {
        made.put(&[INITIAL]);
        made.put(&[0; PADDING]);
        return made;
    }
    made.put(&[SHORT]);
    made.put(&packet.seq.to_be_bytes());
    if packet.flags & flags::STOP_WAITING != 0 {
        made.put(&[STOP_WAITING]);
        made.put(&packet.lowest_awaited().to_be_bytes());
    }
    let offset = flow.ends.offset(packet.segment());
    made.put(&[STREAM, 0]);
    made.put(&varint4(offset));
    made
}

/// An acknowledgement, or what stands for the server's Initial packet; `None`: it is TCP's.
pub fn of_ack(flow: &Flow, ack: &Ack) -> Option<Datagram> {
    let mut made = match ack.body {
        AckBody::Tcp(_) => return None,
        AckBody::Quic(_) | AckBody::Datagram { .. } => {
            Datagram::new(false, ack.wire_bytes(), ack.ecn)
        }
    };
    let frame = match (&ack.body, &flow.ends) {
        (AckBody::Quic(frame), _) => frame,
        (&AckBody::Datagram { number, generation, len }, Ends::Quinn(quinn)) => {
            made.put_head(quinn.head_of_answer((number, generation, len)));
            return Some(made);
        }
        (AckBody::Datagram { .. } | AckBody::Tcp(_), _) => return None,
    };
    let Some(frame) = frame else {
        made.put(&[INITIAL]);
        made.put(&[0; PADDING]);
        return Some(made);
    };
    // The model does not number acknowledgements.
    made.put(&[SHORT, 0, 0, 0, 0]);
    made.put(&[if frame.ecn == [0; 3] { ACK } else { ACK_WITH_ECN }]);
    made.put(&varint4(frame.largest.into()));
    let delay = (frame.delay_us / DELAY_UNIT_US).min(0x3fff) as u16;
    made.put(&(0x4000 | delay).to_be_bytes());
    made.put(&[frame.ranges - 1]);
    Some(made)
}

/// A number below 2^30 in four bytes (RFC 9000 section 16); larger ones wrap.
fn varint4(value: u64) -> [u8; 4] {
    (0x8000_0000 | (value as u32 & 0x3fff_ffff)).to_be_bytes()
}

impl Datagram {
    fn new(from_sender: bool, wire: Bytes, ecn: u8) -> Datagram {
        let payload_len = (wire.get() - DATAGRAM_BYTES) as u32;
        Datagram { from_sender, payload_len, head: [0; HEAD_LEN_MAX], head_len: 0, ecn }
    }

    /// As much of a real datagram as a capture holds; the rest of it is zeros or left out.
    fn put_head(&mut self, bytes: &[u8]) {
        let len = bytes.len().min(HEAD_LEN_MAX);
        self.put(&bytes[..len]);
    }

    fn put(&mut self, bytes: &[u8]) {
        self.head[self.head_len..self.head_len + bytes.len()].copy_from_slice(bytes);
        self.head_len += bytes.len();
    }

    /// Writes it, seen at `at`.
    pub fn write(&self, at: Time, flow: u32, pcap: &mut PcapWriter) {
        let Datagram { from_sender, payload_len, ecn, .. } = *self;
        let head = &self.head[..self.head_len];
        pcap.write_datagram(
            at.as_ns(),
            &PcapDatagram { flow, from_sender, payload_len, head, ecn },
        );
    }
}
