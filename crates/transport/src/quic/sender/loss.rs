//! Loss detection (RFC 9002 section 6): by later packets, by time, by probes, and persistent congestion.

use super::Sender;
use crate::common::{Conn, LossTrigger, SenderEvent};
use crate::quic::rtt::Estimator;
use crate::quic::sent::{APP_LIMITED, IN_FLIGHT, LOST, OWNER};
use cca::LostBurst;
use units::{Span, Time};

/// Probes of a probe timeout (RFC 9002 section 6.2.4: one or two).
const PROBES: u32 = 2;
/// Doublings of the probe timeout that are made; 2^16 PTOs are hours.
const BACKOFF_MAX: u32 = 16;
/// Packets that a retransmission timeout takes out of flight (Zhang's `kMaxFastRetransNum`).
const RTO_PACKETS: u32 = 2;

impl Sender {
    /// Declares packets lost that were sent before an acknowledged one, by number or by age.
    pub(super) fn detect_lost(&mut self) {
        self.timer.loss_at = Time::NEVER;
        let Some(largest) = self.largest_acked else { return };
        let delay_us = self.thresholds.age_us(self.rtt.larger_us(&self.sk));
        let mut lost = 0;
        let mut is_persistent = false;
        for number in self.packets.una()..largest {
            let packet = *self.packets.at(number);
            if !packet.is(IN_FLIGHT) {
                continue;
            }
            let age_us = self.sk.us_since(packet.stamps.tx_us);
            let is_far = largest - number >= self.thresholds.packets();
            if is_far || age_us >= delay_us {
                let why = if is_far { LossTrigger::Reordering } else { LossTrigger::Time };
                self.sk.log_packet(SenderEvent::PacketLost(number, why));
                is_persistent |= self.mark_lost(number);
                lost += 1;
            } else {
                let wait = u64::from(delay_us - age_us);
                let at = self.clock_reaches((self.sk.tcp_mstamp + wait) * 1_000);
                self.timer.loss_at = self.timer.loss_at.min(at);
            }
        }
        if lost > 0 {
            self.packets.advance();
            self.sk.log(SenderEvent::Lost(lost));
        }
        if is_persistent {
            self.enter_loss();
        }
    }

    /// Packet `number` is lost; true when that makes the congestion persistent.
    fn mark_lost(&mut self, number: u32) -> bool {
        let now_us = self.sk.now_us();
        let packet = self.packets.at_mut(number);
        let before = *packet;
        packet.flags = packet.flags & !(IN_FLIGHT | OWNER) | LOST;
        packet.lost_us = now_us;
        self.leave_flight(number, &before);
        let parts = self.cut.parts(before.segment);
        self.sk.lost = self.sk.lost.wrapping_add(parts);
        self.sk.stats.lost += 1;
        if before.is(OWNER) && !self.delivered.contains(before.segment) {
            self.pending.push_back(before.segment);
        }
        self.sk.skb_marked_lost(|| LostBurst {
            segs: parts,
            tx_in_flight: before.stamps.in_flight,
            lost_at_send: before.stamps.lost,
            delivered_at_send: before.stamps.delivered,
            is_app_limited: before.is(APP_LIMITED),
        });
        self.on_loss(number);
        self.is_persistent(number, before.stamps.tx_us)
    }

    /// Whether the run of losses that ends with this packet is long enough. Packets from before the
    /// first RTT sample do not count (RFC 9002 section 7.6.2), nor any where there are no probes.
    fn is_persistent(&mut self, number: u32, tx_us: u32) -> bool {
        if self.config.rto_min > Span::ZERO {
            return false;
        }
        let Some(first_us) = self.rtt.first_at_us else { return false };
        if (tx_us.wrapping_sub(first_us as u32) as i32) < 0 {
            return false;
        }
        let lasted_us = self.run.extend(number, tx_us);
        u64::from(lasted_us) > Estimator::persistent_us(&self.sk, &self.config)
    }

    /// The timer fired.
    pub(super) fn on_loss_timer(&mut self) {
        if self.conn == Conn::SynSent {
            self.timer.backoff += 1;
            self.owes_initial = true;
            self.arm_handshake();
            return;
        }
        if self.timer.loss_at.is_set() {
            self.detect_lost();
            self.sync_seq();
            if !self.sk.has_cong_control() {
                self.update_pacing_rate();
            }
        } else if self.config.rto_min > Span::ZERO {
            self.on_retransmission_timeout();
        } else {
            self.on_probe_timeout();
        }
        self.forget_packets();
        self.set_timer();
    }

    fn on_probe_timeout(&mut self) {
        self.timer.backoff += 1;
        // Until a probe is sent, the timer counts from here.
        self.timer.last_sent = self.sk.now();
        self.probes = (PROBES, self.packets.next());
        self.sk.icsk_backoff = self.timer.backoff.min(255) as u8;
        self.sk.icsk_retransmits = self.sk.icsk_backoff;
        self.sk.log(SenderEvent::Tlp);
    }

    /// The retransmission timeout of Zhang's sender (`SendPacketManager::FastRetransmit`): the data of the two oldest
    /// packets are to be sent again, one packet leaves whatever window and pacer say, and the controller hears nothing.
    fn on_retransmission_timeout(&mut self) {
        self.timer.heard_at = self.sk.now();
        let (una, next) = (self.packets.una(), self.packets.next());
        let now_us = self.sk.now_us();
        let mut taken = 0;
        for number in una..next {
            let packet = self.packets.at_mut(number);
            if taken == RTO_PACKETS || !packet.is(IN_FLIGHT) {
                continue;
            }
            let before = *packet;
            packet.flags = packet.flags & !(IN_FLIGHT | OWNER) | LOST;
            packet.lost_us = now_us;
            self.leave_flight(number, &before);
            self.sk.log_packet(SenderEvent::PacketLost(number, LossTrigger::Timeout));
            taken += 1;
            if before.is(OWNER) && !self.delivered.contains(before.segment) {
                self.pending.push_back(before.segment);
            }
        }
        self.packets.advance();
        self.sync_seq();
        self.probes = (1, next);
        self.sk.stats.rtos += 1;
        self.sk.log(SenderEvent::Rto);
    }

    /// Something was acknowledged.
    pub(super) fn reset_backoff(&mut self) {
        self.timer.backoff = 0;
        self.sk.icsk_backoff = 0;
        self.sk.icsk_retransmits = 0;
    }

    /// Arms the timer: for the next loss by age if there is one, else for a probe.
    pub(super) fn set_timer(&mut self) {
        let at = if self.sk.packets_out == 0 || self.is_complete() {
            Time::NEVER
        } else if self.timer.loss_at.is_set() {
            self.timer.loss_at
        } else if self.config.rto_min > Span::ZERO {
            let rto = Span::from_us(Estimator::timeout_us(&self.sk, &self.config));
            self.timer.heard_at + rto.max(self.config.rto_min)
        } else {
            let pto_us = Estimator::pto_us(&self.sk, &self.config);
            self.timer.last_sent + self.backed_off(pto_us)
        };
        self.timer.at = at.max(self.sk.now());
    }

    /// The Initial packet leaves now and is sent again after a probe timeout.
    pub(super) fn arm_handshake(&mut self) {
        let is_first = self.timer.backoff == 0;
        // After a retransmission nobody knows which packet is answered.
        self.timer.initial_sent_at = is_first.then_some(self.sk.now());
        let timeout_us = Estimator::timeout_us(&self.sk, &self.config);
        self.timer.at = self.sk.now() + self.backed_off(timeout_us);
    }

    fn backed_off(&self, us: u64) -> Span {
        Span::from_us(us << self.timer.backoff.min(BACKOFF_MAX))
    }
}
