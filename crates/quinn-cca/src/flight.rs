//! What is remembered of the packets in flight, to take delivery-rate samples.
//!
//! quinn tells a controller when a packet was sent and how long it is, not which one was acknowledged. A packet
//! is found again by its send time; of several with the same time and length any one will do, since they were sent
//! with the same counts but for each other.

use cca::{RateSample, TcpSock};
use std::collections::VecDeque;

/// One packet, and what was known when it was sent (`struct tcp_skb_cb`'s `tx`; times in us of the socket's clock).
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it was sent, ns of the socket's clock: what it is found by.
    pub at_ns: u64,
    pub bytes: u64,
    pub first_tx_us: u64,
    pub delivered_us: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub lost: u32,
    /// In flight with it, packets.
    pub in_flight: u32,
    pub is_app_limited: bool,
    is_acked: bool,
}

/// See the module documentation.
#[derive(Debug, Default)]
pub struct Flight {
    sent: VecDeque<Sent>,
    packets: u32,
    bytes: u64,
}

impl Flight {
    /// Packets in flight.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// A packet leaves; the clocks of `sk` are those of now.
    pub fn push(&mut self, sk: &TcpSock, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
        self.sent.push_back(Sent {
            at_ns: sk.tcp_clock_cache,
            bytes,
            first_tx_us: sk.first_tx_mstamp,
            delivered_us: sk.delivered_mstamp,
            delivered: sk.delivered,
            delivered_ce: sk.delivered_ce,
            lost: sk.lost,
            in_flight: self.packets,
            is_app_limited: sk.app_limited != 0,
            is_acked: false,
        });
    }

    /// Takes the packet sent at `at_ns`; `None` when it is not known (it was declared lost before).
    pub fn acknowledge(&mut self, at_ns: u64, bytes: u64) -> Option<Sent> {
        let first = self.sent.partition_point(|packet| packet.at_ns < at_ns);
        let of_time = self.sent.range_mut(first..).take_while(|packet| packet.at_ns == at_ns);
        let found = of_time.into_iter().find(|packet| !packet.is_acked && packet.bytes == bytes)?;
        found.is_acked = true;
        let sent = *found;
        self.leave(sent.bytes);
        self.forget_acknowledged();
        Some(sent)
    }

    /// Takes the oldest packet in flight if it was sent at `until_ns` or before.
    pub fn take_oldest(&mut self, until_ns: u64) -> Option<Sent> {
        self.forget_acknowledged();
        let oldest = self.sent.front().copied().filter(|packet| packet.at_ns <= until_ns)?;
        self.sent.pop_front();
        self.leave(oldest.bytes);
        Some(oldest)
    }

    /// Forgets what quinn does not count as in flight: packets without data are never acknowledged to a controller,
    /// and those of a handshake that has ended are forgotten. quinn has `in_flight` bytes; older ones than what was
    /// just acknowledged go first.
    pub fn reconcile(&mut self, in_flight: u64, acked_ns: u64) {
        self.forget_acknowledged();
        while let Some(oldest) = self.sent.front() {
            if oldest.at_ns > acked_ns || self.bytes < in_flight + oldest.bytes {
                break;
            }
            self.take_oldest(acked_ns);
        }
    }

    fn leave(&mut self, bytes: u64) {
        self.packets -= 1;
        self.bytes -= bytes;
    }

    fn forget_acknowledged(&mut self) {
        while self.sent.front().is_some_and(|packet| packet.is_acked) {
            self.sent.pop_front();
        }
    }
}

/// The sample of one acknowledgement (`tcp_rate_gen`): of the packets that it delivers, `last` was sent last.
pub fn sample(sk: &TcpSock, last: &Sent, now_us: u64) -> RateSample {
    let sending_us = (last.at_ns / 1_000).saturating_sub(last.first_tx_us);
    let receiving_us = now_us.saturating_sub(last.delivered_us);
    let interval_us = sending_us.max(receiving_us) as i64;
    let min_rtt_us = i64::from(sk.rtt_min.value());
    RateSample {
        prior_mstamp: last.delivered_us,
        prior_delivered: last.delivered,
        prior_delivered_ce: last.delivered_ce,
        delivered: sk.delivered.wrapping_sub(last.delivered) as i32,
        delivered_ce: sk.delivered_ce.wrapping_sub(last.delivered_ce) as i32,
        // Shorter than the path: acknowledgements that came in a burst.
        interval_us: if interval_us < min_rtt_us { -1 } else { interval_us },
        snd_interval_us: sending_us as u32,
        rcv_interval_us: receiving_us as u32,
        rtt_us: (now_us - last.at_ns / 1_000) as i64,
        is_app_limited: last.is_app_limited,
        tx_in_flight: last.in_flight,
        lost: sk.lost.wrapping_sub(last.lost),
        ..RateSample::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Box<TcpSock> {
        let mut sk = TcpSock::new();
        sk.tcp_clock_cache = ns;
        sk
    }

    #[test]
    fn packets_of_one_time_are_told_apart_by_their_length() {
        let mut flight = Flight::default();
        flight.push(&at(5), 1200);
        flight.push(&at(5), 700);
        flight.push(&at(6), 1200);
        assert_eq!(flight.acknowledge(5, 700).unwrap().in_flight, 2);
        assert!(flight.acknowledge(5, 700).is_none(), "it is acknowledged once");
        assert_eq!(flight.packets(), 2);
        assert_eq!(flight.take_oldest(5).unwrap().bytes, 1200);
        assert!(flight.take_oldest(5).is_none(), "sent later");
        assert_eq!(flight.packets(), 1);
    }

    #[test]
    fn what_quinn_does_not_count_is_forgotten_up_to_what_was_acknowledged() {
        let mut flight = Flight::default();
        for (ns, bytes) in [(1, 40), (2, 1200), (3, 1200), (4, 1200)] {
            flight.push(&at(ns), bytes);
        }
        flight.acknowledge(2, 1200).unwrap();
        flight.reconcile(2400, 2);
        assert_eq!(flight.packets(), 2, "the packet of 40 bytes is gone");
        flight.reconcile(0, 3);
        assert_eq!(flight.packets(), 1, "that of time 4 is newer than the acknowledgement");
    }
}
