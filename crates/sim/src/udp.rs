//! Both ends of a flow of UDP: what the application writes leaves at once, a message a datagram, and the receiver counts what
//! comes. Nothing answers, so that no loss and no mark changes what is sent.

use cca::TcpSock;
use net::frame::ecn;
use net::Packet;
use path::plan::CodePoint;
use std::collections::VecDeque;
use transport::app::Write;
use transport::common::SenderStats;

/// See the module documentation.
pub struct Udp {
    ecn: u8,
    /// Lengths of the datagrams that leave next.
    due: VecDeque<u16>,
    pub is_open: bool,
    /// Of `delivered` the datagrams that arrived, copies not counted.
    pub stats: SenderStats,
    /// Payload that arrived, each byte once.
    pub delivered_bytes: u64,
    /// A bit for each datagram that was sent: whether it arrived.
    arrived: Vec<u64>,
    /// A socket that has no window and no estimate, for who asks every flow for its socket.
    pub sk: Box<TcpSock>,
}

impl Udp {
    pub fn new(code_point: CodePoint) -> Udp {
        Udp {
            ecn: match code_point {
                CodePoint::NotEct => ecn::NOT_ECT,
                CodePoint::Ect0 => ecn::ECT0,
                CodePoint::Ect1 => ecn::ECT1,
            },
            due: VecDeque::new(),
            is_open: false,
            stats: SenderStats::default(),
            delivered_bytes: 0,
            arrived: Vec::new(),
            sk: TcpSock::new(),
        }
    }

    /// The application writes.
    ///
    /// # Panics
    /// When it writes anything but a message of one datagram, which the plan refuses.
    pub fn supply(&mut self, write: Write) {
        let Write::Bytes(bytes) = write else { panic!("UDP carries messages, got {write:?}") };
        self.due
            .push_back(u16::try_from(bytes).expect("the plan has checked what a datagram holds"));
    }

    pub fn depart(&mut self) -> Option<Packet> {
        let len = self.due.pop_front()?;
        let number = self.stats.segs_sent as u32;
        self.stats.segs_sent += 1;
        self.stats.bytes_sent += u64::from(len);
        if number.is_multiple_of(u64::BITS) {
            self.arrived.push(0);
        }
        Some(Packet { ecn: self.ecn, ..Packet::datagram(number, 0, len) })
    }

    /// A datagram comes; of copies the first counts.
    pub fn on_packet(&mut self, packet: &Packet) {
        let (word, bit) = ((packet.seq / u64::BITS) as usize, 1 << (packet.seq % u64::BITS));
        if self.arrived[word] & bit == 0 {
            self.arrived[word] |= bit;
            self.stats.delivered += 1;
            self.delivered_bytes += u64::from(packet.len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_datagram_and_of_copies_the_first_counts() {
        let mut udp = Udp::new(CodePoint::Ect1);
        (0..100).for_each(|i| udp.supply(Write::Bytes(1000 + i)));
        let sent: Vec<Packet> = std::iter::from_fn(|| udp.depart()).collect();
        assert_eq!((sent.len(), sent[99].len, sent[99].ecn), (100, 1099, ecn::ECT1));
        assert_eq!(sent[99].wire_bytes().get(), 1099 + 42);
        for packet in [&sent[99], &sent[0], &sent[99]] {
            udp.on_packet(packet);
        }
        assert_eq!((udp.stats.delivered, udp.delivered_bytes), (2, 2099));
        assert_eq!((udp.stats.segs_sent, udp.stats.bytes_sent), (100, 100_000 + 99 * 50));
    }
}
