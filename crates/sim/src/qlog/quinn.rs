//! The packets of a flow of quinn, read from its datagrams: quinn tells how many are lost, not which.
//!
//! A packet is taken for lost when a later one of its space is acknowledged and it was sent long enough before that
//! (RFC 9002 section 6.1). Whatever of this an older packet has, it has more of it: the lost ones are the
//! oldest that are under way and older than one acknowledged.

use quinn_ends::packets::{packets, Space, WireFrame, WirePacket};
use quinn_ends::Sample;
use record::qlog::{QlogEvent, QlogFrame, QlogHeader, QlogMetrics, QlogPacket, QlogRaw};
use std::collections::BTreeSet;

/// ACK delays are sent in units of this, us: `ack_delay_exponent` is 3 unless a host says otherwise.
const DELAY_US: f64 = 8.0;

/// See the module documentation.
#[derive(Default)]
pub struct Packets {
    under_way: BTreeSet<(Space, u64)>,
    /// Numbers of the next packets, sent and received, by space.
    next_sent: [u64; 3],
    next_received: [u64; 3],
    /// Largest number acknowledged, by space.
    largest_acked: [Option<u64>; 3],
    /// Packets known as lost.
    lost: u64,
}

/// Its name in qlog.
pub fn space(space: Space) -> &'static str {
    match space {
        Space::Initial => "initial",
        Space::Handshake => "handshake",
        Space::Data => "application_data",
    }
}

impl Packets {
    /// A datagram of `len` bytes leaves the sender.
    pub fn sent(&mut self, head: &[u8], len: u16) -> Vec<QlogEvent<'static>> {
        let mut events = Vec::new();
        for packet in packets(head, len.into()) {
            let number = whole_number(&packet, &mut self.next_sent);
            if packet.space == Space::Handshake {
                self.forget(Space::Initial);
            }
            self.under_way.insert((packet.space, number));
            events.push(QlogEvent::PacketSent(described(&packet, number)));
        }
        events
    }

    /// A datagram of `len` bytes reaches the sender; also the packets that it acknowledges for the first time.
    pub fn received(
        &mut self,
        head: &[u8],
        len: u16,
    ) -> (Vec<QlogEvent<'static>>, Vec<(Space, u64)>) {
        let (mut events, mut acked) = (Vec::new(), Vec::new());
        for packet in packets(head, len.into()) {
            let number = whole_number(&packet, &mut self.next_received);
            for frame in &packet.frames {
                match frame {
                    WireFrame::Ack { ranges, .. } => {
                        self.acknowledge(packet.space, ranges, &mut acked);
                    }
                    WireFrame::HandshakeDone => self.forget(Space::Handshake),
                    _ => {}
                }
            }
            events.push(QlogEvent::PacketReceived(described(&packet, number)));
        }
        (events, acked)
    }

    /// The keys of a space and of those before it are thrown away: nobody waits for its packets (RFC 9001 section 4.9).
    fn forget(&mut self, last: Space) {
        self.under_way.retain(|one| one.0 > last);
    }

    fn acknowledge(&mut self, space: Space, ranges: &[(u64, u64)], acked: &mut Vec<(Space, u64)>) {
        for &(first, last) in ranges.iter().rev() {
            let known = self.under_way.range((space, first)..=(space, last));
            let known: Vec<_> = known.copied().collect();
            for one in known {
                self.under_way.remove(&one);
                acked.push(one);
            }
            let largest = &mut self.largest_acked[space as usize];
            *largest = (*largest).max(Some(last));
        }
    }

    /// The number of packets that quinn has declared lost so far.
    pub fn lost(&mut self, total: u64) -> Vec<QlogEvent<'static>> {
        let mut events = Vec::new();
        while self.lost < total {
            self.lost += 1;
            let is_older = |&&(space, number): &&(Space, u64)| {
                self.largest_acked[space as usize].is_some_and(|largest| number < largest)
            };
            let Some(&one) = self.under_way.iter().find(is_older) else { continue };
            self.under_way.remove(&one);
            let header = Some(header(one.0, one.1));
            events.push(QlogEvent::PacketLost { header, trigger: None });
        }
        events
    }
}

/// The whole number of a packet, which is sent cut off: the one nearest to what is next (RFC 9000 appendix A.3).
fn whole_number(packet: &WirePacket, next: &mut [u64; 3]) -> u64 {
    let next = &mut next[packet.space as usize];
    let window = 1 << packet.number_bits;
    let mut number = *next & !(window - 1) | u64::from(packet.number);
    if number + window / 2 <= *next {
        number += window;
    } else if number > *next + window / 2 && number >= window {
        number -= window;
    }
    *next = (*next).max(number + 1);
    number
}

/// What quinn tells of window and path, to the byte.
pub fn metrics(sample: &Sample) -> QlogMetrics {
    let ms = |us: Option<u32>| us.map(|us| f64::from(us) / 1e3);
    QlogMetrics {
        min_rtt: ms(sample.min_rtt_us()),
        smoothed_rtt: ms(sample.srtt_us()),
        latest_rtt: ms(sample.rtt_us()),
        congestion_window: Some(sample.cwnd),
        bytes_in_flight: Some(sample.seen.in_flight),
        ssthresh: sample.ssthresh,
        packets_in_flight: Some(sample.in_flight().into()),
        pacing_rate: sample.pacing_bps,
        ..QlogMetrics::default()
    }
}

fn header(space: Space, number: u64) -> QlogHeader {
    let packet_type = match space {
        Space::Initial => "initial",
        Space::Handshake => "handshake",
        Space::Data => "1RTT",
    };
    QlogHeader { packet_type, packet_number: Some(number) }
}

fn described(packet: &WirePacket, number: u64) -> QlogPacket {
    QlogPacket {
        header: header(packet.space, number),
        raw: QlogRaw { length: Some(packet.length as u64), payload_length: None },
        frames: packet.frames.iter().map(frame).collect(),
    }
}

fn frame(frame: &WireFrame) -> QlogFrame {
    let raw = |length: u64| QlogRaw { length: None, payload_length: Some(length) };
    match frame {
        WireFrame::Padding(_) => QlogFrame::Padding,
        WireFrame::Ping => QlogFrame::Ping,
        WireFrame::Ack { delay, ranges, ecn } => QlogFrame::Ack {
            ack_delay: *delay as f64 * DELAY_US / 1e3,
            acked_ranges: Some(ranges.iter().map(|&(first, last)| [first, last]).collect()),
            ect0: ecn.map(|counts| counts[0]),
            ect1: ecn.map(|counts| counts[1]),
            ce: ecn.map(|counts| counts[2]),
        },
        &WireFrame::Crypto { offset, length } => QlogFrame::Crypto { offset, raw: raw(length) },
        &WireFrame::Stream { id, offset, length, is_last } => {
            QlogFrame::Stream { stream_id: id, offset, raw: raw(length), fin: Some(is_last) }
        }
        WireFrame::HandshakeDone => QlogFrame::HandshakeDone,
        &WireFrame::Other(kind) => QlogFrame::Unknown { frame_type_bytes: kind },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(events: &[QlogEvent<'_>]) -> Vec<u64> {
        let number = |event: &QlogEvent<'_>| match event {
            QlogEvent::PacketLost { header, .. } => header.as_ref().and_then(|h| h.packet_number),
            QlogEvent::PacketSent(packet) => packet.header.packet_number,
            _ => None,
        };
        events.iter().filter_map(number).collect()
    }

    /// A packet of data with a number of one byte and a PING.
    fn ping(number: u8) -> [u8; 11] {
        [0x40, 1, 1, 1, 1, 0, 0, 0, 1, number, 0x01]
    }

    #[test]
    fn numbers_go_on_where_their_byte_wraps() {
        let mut seen = Packets::default();
        for number in 0..600_u64 {
            assert_eq!(numbers(&seen.sent(&ping(number as u8), 27)), [number]);
        }
    }

    #[test]
    fn the_lost_ones_are_the_oldest_before_one_acknowledged() {
        let mut seen = Packets::default();
        for number in 0..10 {
            seen.sent(&ping(number), 27);
        }
        // Largest 5, and no number before it.
        let ack = [0x40, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0x02, 5, 0, 0, 0];
        let (_, acked) = seen.received(&ack, 31);
        assert_eq!(acked, [(Space::Data, 5)]);
        assert_eq!(numbers(&seen.lost(3)), [0, 1, 2]);
        assert!(seen.lost(3).is_empty(), "these are known");
        assert_eq!(numbers(&seen.lost(9)), [3, 4], "what is later than 5 cannot be lost yet");
    }
}
