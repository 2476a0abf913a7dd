//! Delivery-rate samples (net/ipv4/tcp_rate.c; draft-cheng-iccrg-delivery-rate-estimation).

use super::rack::sent_after;
use super::rtx_queue::{APP_LIMITED, EVER_RETRANS, RETRANS, SACKED, SAMPLED};
use super::sender::Sender;
use cca::RateSample;

/// The sample that one ACK builds up.
#[derive(Default)]
pub(super) struct Sampler {
    pub(super) rs: RateSample,
    /// A segment with stamps was delivered.
    found: bool,
    last_end_seq: u32,
    prior_us: u32,
    /// `tp->lost` when the sampled segment was sent.
    lost_at_send: u32,
}

impl Sampler {
    /// `prior_delivered` once something was sampled.
    pub(super) fn prior_delivered(&self) -> Option<u32> {
        self.found.then_some(self.rs.prior_delivered)
    }
}

impl Sender {
    /// A segment was (s)acked: the most recently sent one defines the sample
    /// (`tcp_rate_skb_delivered`).
    #[inline]
    pub(super) fn rate_delivered(&mut self, seq: u32, flags: u8, sampler: &mut Sampler) {
        if flags & SAMPLED != 0 {
            return;
        }
        let s = *self.rtx.stamps(seq);
        let newest = self.sk.first_tx_mstamp as u32;
        if !sampler.found || sent_after(s.tx_us, newest, seq + 1, sampler.last_end_seq) {
            sampler.found = true;
            sampler.last_end_seq = seq + 1;
            sampler.prior_us = s.delivered_us;
            sampler.lost_at_send = s.lost;
            sampler.rs.prior_delivered = s.delivered;
            sampler.rs.prior_delivered_ce = s.delivered_ce;
            sampler.rs.tx_in_flight = s.in_flight;
            sampler.rs.is_app_limited = flags & APP_LIMITED != 0;
            sampler.rs.is_retrans = flags & (EVER_RETRANS | RETRANS) != 0;
            self.sk.first_tx_mstamp = self.full_us(s.tx_us);
            sampler.rs.interval_us = i64::from(s.tx_us.wrapping_sub(s.first_tx_us) as i32).max(0);
        }
        if flags & SACKED != 0 {
            self.rtx.set_flags(seq, flags | SAMPLED);
        }
    }

    /// Finishes the sample (`tcp_rate_gen`).
    pub(super) fn rate_generate(
        &mut self,
        acked: u32,
        losses: i32,
        was_reneg: bool,
        sampler: &mut Sampler,
    ) {
        let last_end_seq = self.sampled_end(sampler);
        let sk = &mut *self.sk;
        let rs = &mut sampler.rs;
        if sk.app_limited != 0 && sk.delivered.wrapping_sub(sk.app_limited) as i32 > 0 {
            sk.app_limited = 0;
        }
        if acked > 0 {
            sk.delivered_mstamp = sk.tcp_mstamp;
        }
        rs.acked_sacked = acked;
        rs.losses = losses;
        if !sampler.found || was_reneg {
            rs.delivered = -1;
            rs.interval_us = -1;
            return;
        }
        rs.delivered = sk.delivered.wrapping_sub(rs.prior_delivered) as i32;
        rs.delivered_ce = sk.delivered_ce.wrapping_sub(rs.prior_delivered_ce) as i32;
        rs.lost = sk.lost.wrapping_sub(sampler.lost_at_send);
        rs.last_end_seq = last_end_seq;
        let ack_us = ((sk.tcp_mstamp as u32).wrapping_sub(sampler.prior_us) as i32).max(0) as u32;
        rs.prior_mstamp = sk.tcp_mstamp.wrapping_sub(u64::from(ack_us));
        rs.snd_interval_us = rs.interval_us as u32;
        rs.rcv_interval_us = ack_us;
        rs.interval_us = rs.interval_us.max(i64::from(ack_us));
        if rs.interval_us < i64::from(sk.rtt_min.s[0].v) {
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

    /// Byte sequence number of the end of the sampled segment. In a stream that was there from the start
    /// the last segment counts as full.
    fn sampled_end(&self, sampler: &Sampler) -> u32 {
        if self.supply.by_writes {
            self.byte_seq(sampler.last_end_seq)
        } else {
            sampler.last_end_seq.wrapping_mul(self.config.mss).wrapping_add(1)
        }
    }
}
