//! The receiving half: puts the stream together and says what arrived, and when (RFC 9000 section 13.2).
//!
//! An ACK leaves for every `ack_every` packets, after `max_ack_delay` at the latest, and at once when a
//! packet arrives out of order, opens a gap or is marked by the network.

use super::arrivals::Arrivals;
use super::config::Config;
use super::delivered::Delivered;
use super::ranges::Ranges;
use net::quic::AckFrame;
use net::{ecn, flags, Ack, Packet};
use units::Time;

/// An ACK frame counts its delay in units of 8 us (RFC 9000 section 18.2, `ack_delay_exponent` 3).
const DELAY_UNIT_US: u64 = 8;

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiverStats {
    /// Stream bytes handed to the application, in order.
    pub delivered_bytes: u64,
    /// Packets that arrived, Initial packets not included.
    pub packets: u64,
    /// Packets among them whose number had arrived before.
    pub duplicates: u64,
    /// New packets among them whose data had been delivered before.
    pub redundant: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Packets that arrived CE-marked.
    pub ce_packets: u64,
}

/// See the module documentation.
pub struct Receiver {
    config: Config,
    total: u32,
    last_len: u32,
    delivered: Delivered,
    ranges: Ranges,
    arrivals: Arrivals,
    /// Packet number after the largest that arrived, and when that one did.
    expected: u32,
    largest_at: Time,
    unacked: u32,
    ack_at: Time,
    /// Packets with ECT(0), ECT(1), CE.
    ecn: [u32; 3],
    stats: ReceiverStats,
}

impl Receiver {
    /// A receiver for a stream of `segments` segments, the last with `last_len` bytes.
    pub fn new(config: Config, segments: u32, last_len: u32) -> Receiver {
        assert!(config.ack_every > 0, "an ACK for every 0 packets is none");
        Receiver {
            config,
            total: segments,
            last_len,
            delivered: Delivered::default(),
            ranges: Ranges::default(),
            arrivals: Arrivals::default(),
            expected: 0,
            largest_at: Time::ZERO,
            unacked: 0,
            ack_at: Time::NEVER,
            ecn: [0; 3],
            stats: ReceiverStats::default(),
        }
    }

    /// A packet arrives; acknowledgements that it causes are appended to `out`.
    pub fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Vec<Ack>) {
        if packet.flags & flags::SYN != 0 {
            out.push(Ack::initial());
            return;
        }
        self.stats.packets += 1;
        if packet.flags & flags::STOP_WAITING != 0 {
            self.ranges.stop_waiting(packet.lowest_awaited());
        }
        if !self.ranges.insert(packet.seq) {
            self.stats.duplicates += 1;
            return;
        }
        self.arrivals.push(packet.seq);
        let in_order = packet.seq == self.expected;
        if packet.seq >= self.expected {
            self.expected = packet.seq + 1;
            self.largest_at = now;
        }
        self.count_ecn(packet.ecn);
        self.store(packet.segment());
        self.schedule(now, !in_order || packet.ecn == ecn::CE, out);
    }

    fn count_ecn(&mut self, mark: u8) {
        match mark {
            ecn::ECT0 => self.ecn[0] += 1,
            ecn::ECT1 => self.ecn[1] += 1,
            ecn::CE => {
                self.ecn[2] += 1;
                self.stats.ce_packets += 1;
            }
            _ => {}
        }
    }

    fn store(&mut self, segment: u32) {
        if !self.delivered.insert(segment) {
            self.stats.redundant += 1;
        }
        let (next, cut) = (self.delivered.next(), self.config.cut());
        let is_complete = next == self.total;
        let short = if is_complete { cut.len(next - 1) - self.last_len } else { 0 };
        self.stats.delivered_bytes = cut.offset(next) - u64::from(short);
    }

    fn schedule(&mut self, now: Time, at_once: bool, out: &mut Vec<Ack>) {
        self.unacked += 1;
        if at_once || self.unacked >= self.config.ack_every {
            self.send_ack(now, out);
        } else if !self.ack_at.is_set() {
            self.ack_at = now + self.config.max_ack_delay;
        }
    }

    fn send_ack(&mut self, now: Time, out: &mut Vec<Ack>) {
        self.ack_at = Time::NEVER;
        self.unacked = 0;
        let Some((smallest, largest)) = self.ranges.ends() else { return };
        let delay_us = now.since(self.largest_at).as_us() / DELAY_UNIT_US * DELAY_UNIT_US;
        let frame = AckFrame {
            largest,
            smallest,
            ranges: self.ranges.len() as u8,
            reported: self.arrivals.end(),
            delay_us: delay_us as u32,
            ecn: self.ecn,
        };
        self.stats.acks_sent += 1;
        out.push(frame.into());
    }

    /// Earliest time at which [`Receiver::on_timer`] has something to do.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.ack_at
    }

    /// Runs the timer if it is due.
    pub fn on_timer(&mut self, now: Time, out: &mut Vec<Ack>) {
        if self.ack_at <= now {
            self.send_ack(now, out);
        }
    }

    /// The log of arrivals, for [`super::Sender::on_ack`].
    #[inline]
    pub fn arrivals_mut(&mut self) -> &mut Arrivals {
        &mut self.arrivals
    }

    /// The packet numbers that an ACK frame reports now.
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// Next segment of the stream that the application waits for.
    pub fn rcv_nxt(&self) -> u32 {
        self.delivered.next()
    }

    /// Counters since the start.
    pub fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// Whether the whole of a finite stream arrived.
    pub fn is_complete(&self) -> bool {
        self.delivered.next() == self.total
    }
}
