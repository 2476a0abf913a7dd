//! The bytes of one captured frame: link, network and transport header, lengths and checksums.

use super::{
    PcapDatagram, PcapSegment, SynOptions, DATAGRAM_PORT, ETHERNET_LEN, ETHERTYPE_ARP,
    ETHERTYPE_IPV4, FLOWS_MAX, HEAD_LEN_MAX, RECEIVER_PORT, SACK_BLOCKS_MAX, SENDER_PORT_FIRST,
    WINDOW_SCALE_MAX,
};

use std::net::SocketAddrV4;

const IPV4_LEN: usize = 20;
const TCP_LEN: usize = 20;
const UDP_LEN: usize = 8;
/// Largest TCP options (RFC 9293: data offset of 15 words).
const OPTIONS_LEN_MAX: usize = 40;
/// What is stored of a frame at most.
pub const HEADERS_LEN_MAX: usize = ETHERNET_LEN + IPV4_LEN + TCP_LEN + OPTIONS_LEN_MAX;
const _: () = assert!(ETHERNET_LEN + IPV4_LEN + UDP_LEN + HEAD_LEN_MAX <= HEADERS_LEN_MAX);

/// Protocol numbers of the IP header.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// One end of a flow.
#[derive(Clone, Copy)]
struct End {
    flow: u32,
    is_sender: bool,
}

impl End {
    fn other(self) -> End {
        End { is_sender: !self.is_sender, ..self }
    }

    /// IPv4 address: 10, one bit for the end, the flow number plus one.
    fn address(self) -> [u8; 4] {
        let host = (self.flow + 1) & (FLOWS_MAX - 1) | if self.is_sender { 0 } else { FLOWS_MAX };
        (0x0a00_0000 | host).to_be_bytes()
    }

    /// Link address: locally administered, ends in the IP address.
    fn link_address(self) -> [u8; 6] {
        let [a, b, c, d] = self.address();
        [0x02, 0x00, a, b, c, d]
    }

    /// Port, where the receiver's is `receiver`.
    fn port(self, receiver: u16) -> u16 {
        if !self.is_sender {
            return receiver;
        }
        let dynamic = u32::from(u16::MAX - SENDER_PORT_FIRST) + 1;
        SENDER_PORT_FIRST + (self.flow % dynamic) as u16
    }
}

/// Addresses and ports of a flow's sender and receiver in a capture.
#[must_use]
pub fn ends(flow: u32, is_datagrams: bool) -> (SocketAddrV4, SocketAddrV4) {
    let receiver = if is_datagrams { DATAGRAM_PORT } else { RECEIVER_PORT };
    let end = |is_sender| {
        let end = End { flow, is_sender };
        SocketAddrV4::new(end.address().into(), end.port(receiver))
    };
    (end(true), end(false))
}

/// The stored bytes of one frame, network byte order.
pub struct Frame {
    buffer: [u8; HEADERS_LEN_MAX],
    len: usize,
}

impl Frame {
    const IP: usize = ETHERNET_LEN;
    const BODY: usize = ETHERNET_LEN + IPV4_LEN;

    /// A TCP segment, without its payload.
    pub fn tcp(segment: &PcapSegment<'_>, window: u16, id: u16) -> Frame {
        let from = End { flow: segment.flow, is_sender: segment.from_sender };
        let mut frame = Frame::empty();
        frame.ethernet(from.link_address(), from.other().link_address(), ETHERTYPE_IPV4);
        frame.ipv4(from, segment.ecn, TCP, id);
        frame.put_u16(from.port(RECEIVER_PORT));
        frame.put_u16(from.other().port(RECEIVER_PORT));
        frame.put_u32(segment.seq);
        frame.put_u32(segment.ack);
        frame.put_u16(segment.flags);
        frame.put_u16(window);
        frame.put_u32(0);
        match segment.syn {
            Some(syn) => frame.syn_options(segment, syn),
            None => frame.options(segment),
        }
        let header_len = frame.len - Self::BODY;
        debug_assert_eq!(header_len % 4, 0, "options are padded to words");
        frame.buffer[Self::BODY + 12] |= (header_len as u8 / 4) << 4;
        frame.close(segment.payload_len, TCP, Self::BODY + 16);
        frame
    }

    /// A UDP datagram with the head of its payload.
    pub fn udp(datagram: &PcapDatagram<'_>, id: u16) -> Frame {
        let from = End { flow: datagram.flow, is_sender: datagram.from_sender };
        let mut frame = Frame::empty();
        frame.ethernet(from.link_address(), from.other().link_address(), ETHERTYPE_IPV4);
        frame.ipv4(from, datagram.ecn, UDP, id);
        frame.put_u16(from.port(DATAGRAM_PORT));
        frame.put_u16(from.other().port(DATAGRAM_PORT));
        frame.put_u16((UDP_LEN as u32 + datagram.payload_len) as u16);
        frame.put_u16(0);
        frame.put(datagram.head);
        let left_out = datagram.payload_len - datagram.head.len() as u32;
        frame.close(left_out, UDP, Self::BODY + 6);
        frame
    }

    /// An ARP request of a flow's sender, or its answer (RFC 826).
    pub fn arp(flow: u32, is_answer: bool) -> Frame {
        let from = End { flow, is_sender: !is_answer };
        let (to, unknown) = (from.other(), [0; 6]);
        let (on_link, target) =
            if is_answer { (to.link_address(), to.link_address()) } else { ([0xff; 6], unknown) };
        let mut frame = Frame::empty();
        frame.ethernet(from.link_address(), on_link, ETHERTYPE_ARP);
        frame.put_u16(1); // Ethernet
        frame.put_u16(ETHERTYPE_IPV4);
        frame.put(&[6, 4]);
        frame.put_u16(if is_answer { 2 } else { 1 });
        frame.put(&from.link_address());
        frame.put(&from.address());
        frame.put(&target);
        frame.put(&to.address());
        frame
    }

    /// What is stored.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    fn empty() -> Frame {
        Frame { buffer: [0; HEADERS_LEN_MAX], len: 0 }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.buffer[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn put_u16(&mut self, value: u16) {
        self.put(&value.to_be_bytes());
    }

    fn put_u32(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }

    fn ethernet(&mut self, from: [u8; 6], to: [u8; 6], ethertype: u16) {
        self.put(&to);
        self.put(&from);
        self.put_u16(ethertype);
    }

    /// Total length and checksum are filled in by [`Frame::close`].
    fn ipv4(&mut self, from: End, ecn: u8, protocol: u8, id: u16) {
        self.put(&[0x45, ecn & 3]);
        self.put_u16(0);
        self.put_u16(id);
        self.put_u16(0x4000); // do not fragment
        self.put(&[64, protocol]); // hops
        self.put_u16(0);
        self.put(&from.address());
        self.put(&from.other().address());
    }

    /// In the order and padding of Linux: MSS, SACK permitted, time stamps, window scale.
    fn syn_options(&mut self, segment: &PcapSegment<'_>, syn: SynOptions) {
        self.put(&[2, 4]);
        self.put_u16(syn.mss);
        self.put(&[4, 2, 8, 10]);
        self.put_u32(segment.ts_val);
        self.put_u32(segment.ts_ecr);
        self.put(&[1, 3, 3, syn.window_scale.min(WINDOW_SCALE_MAX)]);
    }

    fn options(&mut self, segment: &PcapSegment<'_>) {
        self.put(&[1, 1, 8, 10]);
        self.put_u32(segment.ts_val);
        self.put_u32(segment.ts_ecr);
        let blocks = segment.sack.len();
        assert!(blocks <= SACK_BLOCKS_MAX, "{blocks} SACK blocks, at most {SACK_BLOCKS_MAX} fit");
        if blocks > 0 {
            self.put(&[1, 1, 5, 2 + 8 * blocks as u8]);
            for &(left, right) in segment.sack {
                self.put_u32(left);
                self.put_u32(right);
            }
        }
    }

    /// Fills in the length of the IP packet, `left_out` bytes of which are not stored, and the checksums:
    /// the transport's, at `checksum_at`, counts what is left out as zeros.
    fn close(&mut self, left_out: u32, protocol: u8, checksum_at: usize) {
        let body_len = (self.len - Self::BODY) as u32 + left_out;
        let total_len = u16::try_from(body_len + IPV4_LEN as u32)
            .unwrap_or_else(|_| panic!("{left_out} bytes of payload exceed an IP packet"));
        self.set_u16(Self::IP + 2, total_len);
        let ip = checksum(sum(&self.buffer[Self::IP..Self::BODY]));
        self.set_u16(Self::IP + 10, ip);
        // Pseudo header: both addresses, the protocol and the length (RFC 9293 section 3.1).
        let addresses = sum(&self.buffer[Self::IP + 12..Self::BODY]);
        let pseudo = addresses + u32::from(protocol) + body_len;
        let body = checksum(pseudo + sum(&self.buffer[Self::BODY..self.len]));
        // In UDP zero means that there is none (RFC 768).
        let is_none = protocol == UDP && body == 0;
        self.set_u16(checksum_at, if is_none { u16::MAX } else { body });
    }

    fn set_u16(&mut self, at: usize, value: u16) {
        self.buffer[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }
}

/// Sum of the 16-bit words, the last filled up with zeros; at most 100 bytes cannot overflow.
fn sum(bytes: &[u8]) -> u32 {
    let word = |word: &[u8]| [word[0], word.get(1).copied().unwrap_or(0)];
    bytes.chunks(2).map(|bytes| u32::from(u16::from_be_bytes(word(bytes)))).sum()
}

/// One's complement of the folded sum (RFC 1071).
fn checksum(sum: u32) -> u16 {
    let folded = (sum >> 16) + (sum & 0xffff);
    !((folded >> 16) + (folded & 0xffff)) as u16
}
