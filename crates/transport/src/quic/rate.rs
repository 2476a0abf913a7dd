//! Delivery-rate samples, as TCP takes them (`tcp_rate.c`; draft-cheng-iccrg-delivery-rate-estimation)
//! but by packet number: the packet sent last is the one with the largest number, and none has stamps
//! of two transmissions.

use super::sender::Sender;
use super::sent::{Sent, APP_LIMITED, RETRANS};
use cca::RateSample;

/// The sample that one ACK builds up.
#[derive(Default)]
pub(super) struct Sampler {
    pub(super) rs: RateSample,
    /// Number of the sampled packet.
    number: Option<u32>,
    prior_us: u32,
    /// `sk.lost` when it was sent.
    lost_at_send: u32,
}

impl Sender {
    /// Packet `number` was delivered (`tcp_rate_skb_delivered`).
    #[inline]
    pub(super) fn rate_delivered(&mut self, number: u32, packet: &Sent, sampler: &mut Sampler) {
        if sampler.number.is_some_and(|sampled| sampled > number) {
            return;
        }
        let s = &packet.stamps;
        sampler.number = Some(number);
        sampler.prior_us = s.delivered_us;
        sampler.lost_at_send = s.lost;
        let rs = &mut sampler.rs;
        rs.prior_delivered = s.delivered;
        rs.prior_delivered_ce = s.delivered_ce;
        rs.tx_in_flight = s.in_flight;
        rs.is_app_limited = packet.is(APP_LIMITED);
        rs.is_retrans = packet.is(RETRANS);
        rs.interval_us = i64::from(s.tx_us.wrapping_sub(s.first_tx_us) as i32).max(0);
        // The next sending interval begins where this packet left.
        let age_us = self.age_us(s.tx_us);
        self.sk.first_tx_mstamp = self.sk.tcp_mstamp - u64::from(age_us);
    }

    /// Finishes the sample (`tcp_rate_gen`).
    pub(super) fn rate_generate(&mut self, acked: u32, losses: u32, sampler: &mut Sampler) {
        let sk = &mut *self.sk;
        let rs = &mut sampler.rs;
        if sk.app_limited != 0 && sk.delivered.wrapping_sub(sk.app_limited) as i32 > 0 {
            sk.app_limited = 0;
        }
        if acked > 0 {
            sk.delivered_mstamp = sk.tcp_mstamp;
        }
        rs.acked_sacked = acked;
        rs.losses = losses as i32;
        let Some(number) = sampler.number else {
            rs.delivered = -1;
            rs.interval_us = -1;
            return;
        };
        let now_us = sk.tcp_mstamp as u32;
        rs.delivered = sk.delivered.wrapping_sub(rs.prior_delivered) as i32;
        rs.delivered_ce = sk.delivered_ce.wrapping_sub(rs.prior_delivered_ce) as i32;
        rs.lost = sk.lost.wrapping_sub(sampler.lost_at_send);
        rs.last_end_seq = (number + 1).wrapping_mul(sk.mss_cache).wrapping_add(1);
        let ack_us = (now_us.wrapping_sub(sampler.prior_us) as i32).max(0) as u32;
        rs.prior_mstamp = sk.tcp_mstamp.wrapping_sub(u64::from(ack_us));
        rs.snd_interval_us = rs.interval_us as u32;
        rs.rcv_interval_us = ack_us;
        rs.interval_us = rs.interval_us.max(i64::from(ack_us));
        if rs.interval_us < i64::from(sk.rtt_min.value()) {
            rs.interval_us = -1;
            return;
        }
        let faster = rs.delivered as u64 * u64::from(sk.rate_interval_us)
            >= u64::from(sk.rate_delivered) * rs.interval_us as u64;
        if !rs.is_app_limited || faster {
            sk.rate_delivered = rs.delivered as u32;
            sk.rate_interval_us = rs.interval_us as u32;
            sk.rate_app_limited = u8::from(rs.is_app_limited);
        }
    }
}
