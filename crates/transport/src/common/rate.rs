//! Delivery-rate samples (net/ipv4/tcp_rate.c; draft-cheng-iccrg-delivery-rate-estimation): what is stamped on each
//! packet when it is sent, and the sample that one ACK builds from it.

use super::socket::Socket;
use cca::RateSample;

/// Stamps taken at each (re)transmission; microseconds truncated to 32 bit.
#[derive(Clone, Copy, Default, Debug)]
pub struct Stamps {
    /// Earliest departure time of the last transmission (`skb->tstamp`), us.
    pub tx_us: u32,
    /// `tp->first_tx_mstamp` then, us.
    pub first_tx_us: u32,
    /// `tp->delivered_mstamp` then, us.
    pub delivered_us: u32,
    /// `tp->delivered` then, segments.
    pub delivered: u32,
    /// `tp->delivered_ce` then, segments.
    pub delivered_ce: u32,
    /// `tp->lost` then, segments (BBRv2's tree).
    pub lost: u32,
    /// Segments in flight just after the send, this one included, later ones of the same buffer not
    /// (BBRv2's tree; a buffer has that of its last segment, also when SACKs split it).
    pub in_flight: u32,
}

impl Stamps {
    /// Those of a packet that leaves at `tx_us` (`tcp_rate_skb_sent`).
    #[inline]
    pub fn new(sk: &Socket, tx_us: u32, in_flight: u32) -> Stamps {
        Stamps {
            tx_us,
            first_tx_us: sk.first_tx_mstamp as u32,
            delivered_us: sk.delivered_mstamp as u32,
            delivered: sk.delivered,
            delivered_ce: sk.delivered_ce,
            lost: sk.lost,
            in_flight,
        }
    }
}

/// The sample that one ACK builds. Of the packets that the ACK delivers, the one sent last defines it.
#[derive(Default)]
pub struct Sampler {
    /// What the controller gets.
    pub rs: RateSample,
    /// Number of the packet, or segment after it, that defines the sample so far.
    last: Option<u32>,
    prior_us: u32,
    /// `tp->lost` when that packet was sent.
    lost_at_send: u32,
}

impl Sampler {
    /// What [`Sampler::take`] was told of the packet that defines the sample; `None` before the first.
    #[inline]
    pub fn last(&self) -> Option<u32> {
        self.last
    }

    /// `tp->delivered` when the packet that defines the sample was sent.
    #[inline]
    pub fn prior_delivered(&self) -> Option<u32> {
        self.last.is_some().then_some(self.rs.prior_delivered)
    }

    /// A packet that was sent later than the one before is delivered (`tcp_rate_skb_delivered`).
    #[inline]
    pub fn take(&mut self, sk: &mut Socket, s: &Stamps, last: u32) {
        self.last = Some(last);
        self.prior_us = s.delivered_us;
        self.lost_at_send = s.lost;
        self.rs.prior_delivered = s.delivered;
        self.rs.prior_delivered_ce = s.delivered_ce;
        self.rs.tx_in_flight = s.in_flight;
        // The next sending interval begins where this packet left.
        sk.first_tx_mstamp = sk.full_us(s.tx_us);
        self.rs.interval_us = i64::from(s.tx_us.wrapping_sub(s.first_tx_us) as i32).max(0);
    }

    /// Finishes the sample of an ACK that delivered `acked` segments and showed `losses`
    /// (`tcp_rate_gen`). `end_seq` gives the byte sequence number of the end of the packet that defines it;
    /// one that `is_void` is marked as such.
    #[inline]
    pub fn finish(
        &mut self,
        sk: &mut Socket,
        (acked, losses): (u32, i32),
        is_void: bool,
        end_seq: impl FnOnce(u32) -> u32,
    ) {
        let rs = &mut self.rs;
        if sk.app_limited != 0 && sk.delivered.wrapping_sub(sk.app_limited) as i32 > 0 {
            sk.app_limited = 0;
        }
        if acked > 0 {
            sk.delivered_mstamp = sk.tcp_mstamp;
        }
        rs.acked_sacked = acked;
        rs.losses = losses;
        let Some(last) = self.last.filter(|_| !is_void) else {
            rs.delivered = -1;
            rs.interval_us = -1;
            return;
        };
        rs.delivered = sk.delivered.wrapping_sub(rs.prior_delivered) as i32;
        rs.delivered_ce = sk.delivered_ce.wrapping_sub(rs.prior_delivered_ce) as i32;
        rs.lost = sk.lost.wrapping_sub(self.lost_at_send);
        rs.last_end_seq = end_seq(last);
        let ack_us = sk.us_since(self.prior_us);
        rs.prior_mstamp = sk.tcp_mstamp.wrapping_sub(u64::from(ack_us));
        rs.snd_interval_us = rs.interval_us as u32;
        rs.rcv_interval_us = ack_us;
        rs.interval_us = rs.interval_us.max(i64::from(ack_us));
        if rs.interval_us < i64::from(sk.min_rtt_us()) {
            rs.interval_us = -1;
            return;
        }
        keep(sk, rs);
    }
}

/// Keeps the rate for `tcp_info`, unless the application limited it below the one kept.
#[inline]
fn keep(sk: &mut Socket, rs: &RateSample) {
    let is_faster = rs.delivered as u64 * u64::from(sk.rate_interval_us)
        >= u64::from(sk.rate_delivered) * rs.interval_us as u64;
    if !rs.is_app_limited || is_faster {
        sk.rate_delivered = rs.delivered as u32;
        sk.rate_interval_us = rs.interval_us as u32;
        sk.rate_app_limited = u8::from(rs.is_app_limited);
    }
}
