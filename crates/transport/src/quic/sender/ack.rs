//! What one acknowledgement does (RFC 9002 appendix A.7), and what the controller hears of it, in the
//! order in which TCP tells it.

use super::{Sender, Totals};
use crate::common::rate::Sampler;
use crate::common::SenderEvent;
use crate::quic::arrivals::Arrivals;
use crate::quic::cut::PartSize;
use crate::quic::rtt::{Estimator, GRANULARITY_US};
use crate::quic::sent::{Sent, ACKED, APP_LIMITED, ECT, IN_FLIGHT, LOST, RETRANS};
use cca::{AckSample, CaState, RateSample};
use net::quic::AckFrame;
use net::Ack;
use units::Span;

/// Bits of `cong_control`'s flag, with the numbers of the kernel (net/ipv4/tcp_input.c).
const FLAG_DATA_ACKED: i32 = 0x04;
const FLAG_SND_UNA_ADVANCED: i32 = 0x400;

/// What the processing of one ACK builds up.
#[derive(Default)]
struct AckState {
    sampler: Sampler,
    /// Packets newly acknowledged, and what they count.
    packets: u32,
    acked: u32,
    /// Those among them sent after the last congestion event began, and what they count.
    packets_after: u32,
    acked_after: u32,
    /// Those among them sent with an ECN code point.
    acked_ect: u32,
    /// Largest number among them.
    largest: u32,
    /// Newly reported CE marks.
    ce: u32,
    /// Bytes acknowledged.
    bytes: u64,
    /// Bytes sent in the sample's sending interval, and acknowledged in that of the ACKs.
    sample: Totals,
}

/// The lower of sending rate and ACK rate, each over its own interval (`BandwidthSampler::OnPacketAcknowledgedInner`):
/// the interval in which as many packets
/// (or parts of packets) of the mean size have this rate.
fn count_sent(rs: &mut RateSample, sample: Totals, part: PartSize) {
    if rs.delivered <= 0 || rs.rcv_interval_us == 0 {
        return;
    }
    let delivered = part.of(rs.delivered as u64);
    let interval = |us: u32, bytes: u32| u64::from(us) * delivered / u64::from(bytes.max(1));
    let sending = interval(rs.snd_interval_us, sample.sent);
    rs.interval_us = sending.max(interval(rs.rcv_interval_us, sample.acked)) as i64;
}

impl Sender {
    /// The server's Initial packet: the first RTT sample.
    pub(super) fn on_handshake(&mut self) {
        if let Some(sent_at) = self.timer.initial_sent_at {
            let rtt_us = self.sk.now().since(sent_at).as_us() as u32;
            self.rtt.sample(&mut self.sk, rtt_us, Span::ZERO, &self.config);
            self.last_rtt_us = rtt_us;
        }
        self.establish();
    }

    pub(super) fn process_ack(&mut self, ack: &Ack, arrivals: &mut Arrivals) {
        self.sk.stats.acks_received += 1;
        let Some(frame) = ack.frame() else { return };
        if !arrivals.is_news(frame.reported) {
            return;
        }
        let mut st = AckState::default();
        st.sampler.rs.prior_in_flight = self.in_flight();
        self.prior_flight = self.flight;
        let prior_lost = self.sk.lost;
        let prior_una = self.packets.una();
        self.take_arrivals(frame, arrivals, &mut st);
        if st.acked == 0 {
            return;
        }
        self.packets.advance();
        self.sync_seq();
        self.sample_rtt(frame, &mut st);
        self.largest_acked = self.largest_acked.max(Some(st.largest));
        self.count_ecn(frame, &mut st);
        self.tell_delivery(&st);
        self.on_progress(st.largest);
        if st.ce > 0 && st.largest >= self.high {
            self.enter_cwr();
        }
        self.detect_lost();
        self.count_for_prr(&st);
        self.sync_seq();
        let losses = self.sk.lost.wrapping_sub(prior_lost);
        st.sampler.rs.is_ece = st.ce > 0;
        let (mss, acked) = (self.sk.mss_cache, (st.acked, losses as i32));
        st.sampler.finish(&mut self.sk, acked, false, |number| {
            (number + 1).wrapping_mul(mss).wrapping_add(1)
        });
        if self.config.counts_sent {
            count_sent(&mut st.sampler.rs, st.sample, self.part);
        }
        self.cong_control(&st, prior_una);
        self.reset_backoff();
        self.timer.heard_at = self.sk.now();
        self.forget_packets();
        self.set_timer();
    }

    /// Takes what the frame reports from the log; what its ranges leave out was not reported.
    fn take_arrivals(&mut self, frame: &AckFrame, arrivals: &mut Arrivals, st: &mut AckState) {
        while let Some(number) = arrivals.take(frame.reported) {
            let Some(packet) = self.packets.find(number) else { continue };
            if number < frame.smallest || packet.is(ACKED) {
                continue;
            }
            let before = *packet;
            packet.flags = packet.flags & !(IN_FLIGHT | LOST) | ACKED;
            self.on_packet_acked(number, &before, st);
        }
    }

    fn on_packet_acked(&mut self, number: u32, packet: &Sent, st: &mut AckState) {
        let bytes = self.packet_bytes(number, packet.segment, packet.is(RETRANS));
        if packet.is(IN_FLIGHT) {
            self.leave_flight(number, packet);
        } else {
            self.on_spurious_loss(number, packet);
        }
        self.sk.log_packet(SenderEvent::PacketAcked(number));
        self.delivered.insert(packet.segment);
        let parts = self.cut.parts(packet.segment);
        self.sk.delivered = self.sk.delivered.wrapping_add(parts);
        self.sk.stats.delivered += 1;
        self.sk.bytes_acked += u64::from(self.payload(packet.segment));
        self.bytes.acked = self.bytes.acked.wrapping_add(bytes as u32);
        st.bytes += bytes;
        st.packets += 1;
        st.acked += parts;
        if number >= self.high {
            st.packets_after += 1;
            st.acked_after += parts;
        }
        st.acked_ect += u32::from(packet.is(ECT));
        st.largest = st.largest.max(number);
        if st.sampler.last().is_none_or(|sampled| sampled <= number) {
            st.sampler.take(&mut self.sk, &packet.stamps, number);
            st.sampler.rs.is_app_limited = packet.is(APP_LIMITED);
            st.sampler.rs.is_retrans = packet.is(RETRANS);
            let Sent { sent, sent_at_acked, acked, .. } = *packet;
            st.sample.sent = sent.wrapping_sub(sent_at_acked);
            st.sample.acked = self.bytes.acked.wrapping_sub(acked);
            self.sent_at_acked = sent;
        }
    }

    /// The largest packet gives a sample when it is acknowledged for the first time (RFC 9002
    /// section 5.1). The controller gets it as measured, and so does the minimum RTT.
    fn sample_rtt(&mut self, frame: &AckFrame, st: &mut AckState) {
        st.sampler.rs.rtt_us = -1;
        if st.largest != frame.largest {
            return;
        }
        // Not forgotten: `take_arrivals` has just found it, and nothing is forgotten in between.
        let rtt_us = self.sk.us_since(self.packets.at(st.largest).stamps.tx_us);
        let delay = Span::from_us(u64::from(frame.delay_us));
        self.rtt.sample(&mut self.sk, rtt_us, delay, &self.config);
        self.set_rto();
        self.last_rtt_us = rtt_us;
        st.sampler.rs.rtt_us = i64::from(rtt_us);
        st.sampler.rs.is_ack_delayed = u64::from(frame.delay_us) >= GRANULARITY_US;
    }

    /// Counts newly reported marks. A path that loses the code point is not used with ECN any more
    /// (RFC 9000 section 13.4.2.1).
    fn count_ecn(&mut self, frame: &AckFrame, st: &mut AckState) {
        let prior = std::mem::replace(&mut self.ecn.reported, frame.ecn);
        if !self.ecn.is_on {
            return;
        }
        let [ect0, _, ce] = [0, 1, 2].map(|i| frame.ecn[i].wrapping_sub(prior[i]));
        if ect0.wrapping_add(ce) < st.acked_ect {
            self.ecn.is_on = false;
            self.sk.ecn_flags = 0;
            return;
        }
        st.ce = ce;
        self.sk.delivered_ce = self.sk.delivered_ce.wrapping_add(ce.min(st.acked));
    }

    /// Acknowledged packets of a reduction, those of the ACK that began it included.
    fn count_for_prr(&mut self, st: &AckState) {
        if self.prr_reduces() {
            self.prr.on_acked(st.packets, st.bytes);
        }
    }

    fn tell_delivery(&mut self, st: &AckState) {
        let rs = &st.sampler.rs;
        let since = self.sk.delivered.wrapping_sub(rs.prior_delivered);
        let sample = AckSample {
            pkts_acked: st.acked,
            rtt_us: rs.rtt_us as i32,
            in_flight: self.sk.mss_cache.wrapping_mul(since),
        };
        self.sk.pkts_acked(&sample);
        let mut flags = cca::CA_ACK_WIN_UPDATE;
        if st.ce > 0 {
            flags |= cca::CA_ACK_SLOWPATH | cca::CA_ACK_ECE;
        }
        self.sk.in_ack_event(flags);
    }

    /// The controller sets window and pacing rate, or it grows the window and RFC 9002 section 7.7 says
    /// the rate.
    fn cong_control(&mut self, st: &AckState, prior_una: u32) {
        let ack_seq = self.sk.snd_una;
        if self.sk.has_cong_control() {
            let mut flag = FLAG_DATA_ACKED;
            if self.packets.una() > prior_una {
                flag |= FLAG_SND_UNA_ADVANCED;
            }
            if st.ce > 0 {
                flag |= cca::FLAG_ECE;
            }
            self.sk.cong_control(ack_seq, flag, &st.sampler.rs);
            return;
        }
        let reduces = matches!(self.state, CaState::Cwr | CaState::Recovery);
        if !reduces && st.acked_after > 0 {
            self.judge_use();
            // Slow start counts packets, whatever they carry (Chromium's `MaybeIncreaseCwnd`).
            let grows = self.sk.snd_cwnd < self.sk.snd_ssthresh;
            self.sk.cong_avoid(ack_seq, if grows { st.packets_after } else { st.acked_after });
            self.grant_cwr();
            self.sk.snd_cwnd_stamp = self.sk.jiffies;
        }
        self.update_pacing_rate();
    }

    /// Whether the window was used when this ACK arrived, by Chromium's rule (`IsCwndLimited`): up to three segments, or
    /// more than half of it in slow start.
    fn judge_use(&mut self) {
        if self.config.window_unit == 0 {
            return;
        }
        let (window, flight) = (self.window_bytes(), self.prior_flight);
        let grows = self.sk.snd_cwnd < self.sk.snd_ssthresh;
        let is_limited = flight + 3 * u64::from(self.config.window_unit) >= window
            || (grows && flight > window / 2);
        self.sk.is_cwnd_limited = u8::from(is_limited);
        self.sk.max_packets_out = 0;
    }

    /// 1.25 windows per smoothed RTT; Chromium's senders have two in slow start.
    pub(super) fn update_pacing_rate(&mut self) {
        let srtt_us = Estimator::smoothed_us(&self.sk, &self.config).max(1);
        let window = if self.config.window_unit == 0 {
            u64::from(self.sk.snd_cwnd) * u64::from(self.sk.mss_cache)
        } else {
            self.window_bytes()
        };
        let sk = &mut *self.sk;
        let doubles = self.config.prr && sk.snd_cwnd < sk.snd_ssthresh;
        let rate = window * if doubles { 2_000_000 } else { 1_250_000 } / srtt_us;
        sk.sk_pacing_rate = rate.min(sk.sk_max_pacing_rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quic::cut::Cut;

    fn interval_ms(snd: u32, rcv: u32, delivered: i32, sent: u32, acked: u32) -> i64 {
        let mut rs = RateSample {
            snd_interval_us: snd * 1_000,
            rcv_interval_us: rcv * 1_000,
            delivered,
            interval_us: -1,
            ..RateSample::default()
        };
        count_sent(&mut rs, Totals { sent, acked }, Cut::new(1000, 0).part_size(0));
        rs.interval_us / 1_000
    }

    #[test]
    fn a_sample_has_the_lower_of_sending_rate_and_ack_rate() {
        // 90 of 100 sent in 100 ms were delivered, in 95 ms and in 80 ms: 0.947 and 1 packet/ms.
        assert_eq!(interval_ms(100, 95, 90, 100_000, 90_000), 95);
        assert_eq!(interval_ms(100, 80, 90, 100_000, 90_000), 90);
    }

    #[test]
    fn a_sample_of_large_packets_has_the_rate_of_their_bytes() {
        // 100 packets of 1400 bytes in 100 ms are 1400 bytes/ms: as 100 of the mean size in 71 ms.
        assert_eq!(interval_ms(100, 100, 100, 140_000, 140_000), 71);
    }
}
