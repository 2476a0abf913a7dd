//! What the sender's timer does and when it is armed: retransmission timeout (RFC 6298), tail loss
//! probe (RFC 8985 section 7), RACK's reordering timer; and validation of the window (RFC 7661 as
//! Linux does it).

use super::output::Push;
use super::rack::TIMEOUT_MIN_US;
use super::rtt::{RTO_INIT_US, RTO_MAX_US, RTO_MIN_US};
use super::rtx_queue::APP_LIMITED;
use super::sender::{Conn, Sender, SenderEvent};
use super::timer::Pending;
use cca::{CaEvent, CaState};

/// Retry after a retransmission that the host refused, ms (`TCP_RESOURCE_PROBE_INTERVAL`).
const RESOURCE_PROBE_MS: u64 = 500;

impl Sender {
    /// The timer fired.
    pub(super) fn on_xmit_timer(&mut self) {
        let Some(pending) = self.timer.pending() else { return };
        if self.conn == Conn::SynSent {
            self.syn_retries += 1;
            self.send_syn();
            return;
        }
        match pending {
            Pending::Reo => self.on_reo_timeout(),
            Pending::Tlp => self.send_loss_probe(),
            Pending::Rto => {
                self.timer.clear();
                self.on_rto();
            }
        }
    }

    /// `tcp_retransmit_timer`.
    fn on_rto(&mut self) {
        if self.sk.packets_out == 0 {
            return;
        }
        self.stats.rtos += 1;
        self.log(SenderEvent::Rto);
        self.enter_loss();
        self.sk.icsk_retransmits = self.sk.icsk_retransmits.saturating_add(1);
        let head = self.rtx.una();
        if self.is_in_host(head) {
            self.arm_rto(self.tick.from_us(RESOURCE_PROBE_MS * 1000));
            return;
        }
        self.send_again(head, 1);
        self.mark_retransmitted(head, 1);
        self.sk.icsk_backoff = self.sk.icsk_backoff.saturating_add(1);
        self.sk.icsk_rto = (self.sk.icsk_rto * 2).min(self.tick.from_us(RTO_MAX_US));
        self.timer.arm(Pending::Rto, self.tick.wheel(self.now, self.sk.icsk_rto));
    }

    /// Arms the retransmission timer `delay` ticks and the pacing backlog from now
    /// (`tcp_reset_xmit_timer`).
    pub(super) fn arm_rto(&mut self, delay: u32) {
        self.arm_with_backlog(Pending::Rto, delay);
    }

    fn arm_with_backlog(&mut self, what: Pending, delay: u32) {
        let backlog = self.sk.tcp_wstamp_ns.saturating_sub(self.sk.tcp_clock_cache);
        let delay = (delay + self.tick.from_ns(backlog)).min(self.tick.from_us(RTO_MAX_US));
        self.timer.arm(what, self.tick.wheel(self.now, delay));
    }

    /// `tcp_rearm_rto`.
    pub(super) fn rearm_rto(&mut self) {
        if self.sk.packets_out == 0 {
            self.timer.clear();
            return;
        }
        let mut delay = self.sk.icsk_rto;
        if matches!(self.timer.pending(), Some(Pending::Reo | Pending::Tlp)) {
            delay = self.tick.from_us(self.rto_delta_us().max(1) as u64);
        }
        self.arm_rto(delay);
    }

    /// Time until the RTO of the head expires, us (`tcp_rto_delta_us`).
    fn rto_delta_us(&self) -> i64 {
        let rto = self.tick.to_us(self.sk.icsk_rto) as i64;
        if self.rtx.is_empty() {
            return rto;
        }
        let sent = self.rtx.stamps(self.rtx.una()).tx_us;
        rto - i64::from(self.now_us().wrapping_sub(sent) as i32)
    }

    /// `tcp_set_xmit_timer`.
    pub(super) fn set_xmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }

    /// `tcp_schedule_loss_probe`; `advancing_rto` when the RTO would restart in full.
    pub(super) fn schedule_loss_probe(&mut self, advancing_rto: bool) -> bool {
        let state = self.ca_state();
        if self.sk.packets_out == 0 || !matches!(state, CaState::Open | CaState::Cwr) {
            return false;
        }
        let mut delay = if self.sk.srtt_us > 0 {
            let extra = if self.sk.packets_out == 1 { RTO_MIN_US } else { TIMEOUT_MIN_US };
            self.tick.from_us(u64::from((self.sk.srtt_us >> 2) + extra))
        } else {
            self.tick.from_us(RTO_INIT_US)
        };
        let until_rto = if advancing_rto {
            self.tick.to_us(self.sk.icsk_rto) as i64
        } else {
            self.rto_delta_us()
        };
        if until_rto > 0 {
            delay = delay.min(self.tick.from_us(until_rto as u64));
        }
        self.arm_with_backlog(Pending::Tlp, delay);
        true
    }

    /// `tcp_send_loss_probe`: new data if there is any, else the last segment again.
    fn send_loss_probe(&mut self) {
        if self.tlp_high_seq.is_some() || !self.try_loss_probe() {
            self.rearm_rto();
            return;
        }
        self.tlp_high_seq = Some(self.rtx.nxt());
        self.stats.tlps += 1;
        self.log(SenderEvent::Tlp);
        self.timer.clear();
        self.rearm_rto();
    }

    fn try_loss_probe(&mut self) -> bool {
        self.tlp_retrans = false;
        if self.unsent() > 0 && self.window_end() > self.rtx.nxt() {
            let prior = self.sk.packets_out;
            self.write_xmit(Push::Probe);
            return self.sk.packets_out > prior;
        }
        if self.rtx.is_empty() || self.is_in_host(self.rtx.nxt() - 1) {
            return false;
        }
        let last = self.rtx.nxt() - 1;
        let was_app_limited = self.rtx.flags(last) & APP_LIMITED != 0;
        self.sk.tlp_orig_data_app_limited = u8::from(was_app_limited);
        self.send_again(last, 1);
        self.tlp_retrans = true;
        true
    }

    /// `tcp_process_tlp_ack`, with what Google's v3 tree tells its controllers.
    pub(super) fn process_tlp_ack(&mut self, ack: u32, st: &mut super::ack::AckState) {
        use super::ack::flag;
        let Some(high) = self.tlp_high_seq else { return };
        if ack < high {
            return;
        }
        let progress = flag::SND_UNA_ADVANCED | flag::NOT_DUP | flag::DATA_SACKED;
        if !self.tlp_retrans || st.flag & flag::DSACK_TLP != 0 {
            self.tlp_high_seq = None;
        } else if ack > high {
            self.ca.cwnd_event(&mut self.sk, CaEvent::TlpRecovery);
            self.init_cwnd_reduction();
            self.set_ca_state(CaState::Cwr);
            self.end_cwnd_reduction();
            self.try_keep_open();
        } else if st.flag & progress == 0 {
            self.tlp_high_seq = None;
        } else {
            st.sampler.rs.is_acking_tlp_retrans_seq = true;
        }
    }

    /// `tcp_cwnd_validate`: was the window the limit? Sticky for one window.
    pub(super) fn validate_cwnd(&mut self, is_cwnd_limited: bool) {
        let packets_out = self.sk.packets_out;
        if self.rtx.una() >= self.cwnd_usage_seq
            || is_cwnd_limited
            || (self.sk.is_cwnd_limited == 0 && packets_out > self.sk.max_packets_out)
        {
            self.sk.is_cwnd_limited = u8::from(is_cwnd_limited);
            self.sk.max_packets_out = packets_out;
            self.cwnd_usage_seq = self.rtx.nxt();
            self.sk.cwnd_usage_seq = self.sk.snd_nxt;
        }
        let sk = &mut *self.sk;
        let in_slow_start = sk.snd_cwnd < sk.snd_ssthresh;
        if sk.is_cwnd_limited != 0 || (in_slow_start && sk.snd_cwnd < 2 * sk.max_packets_out) {
            self.snd_cwnd_used = 0;
            sk.snd_cwnd_stamp = sk.jiffies;
            return;
        }
        self.snd_cwnd_used = self.snd_cwnd_used.max(packets_out);
        let idle = sk.jiffies.wrapping_sub(sk.snd_cwnd_stamp) as i32;
        let may_decay = self.config.slow_start_after_idle && !self.ca.has_cong_control();
        if idle >= sk.icsk_rto as i32 && may_decay {
            self.cwnd_application_limited();
        }
    }

    /// The application left the window unused for an RTO.
    fn cwnd_application_limited(&mut self) {
        // A writer that waits for buffer space (SOCK_NOSPACE) is not what limits the flow.
        if self.ca_state() == CaState::Open && self.unsent() == 0 {
            let used = self.snd_cwnd_used.max(10);
            if used < self.sk.snd_cwnd {
                self.sk.snd_ssthresh = self.current_ssthresh();
                self.sk.snd_cwnd = (self.sk.snd_cwnd + used) / 2;
            }
            self.snd_cwnd_used = 0;
        }
        self.sk.snd_cwnd_stamp = self.sk.jiffies;
    }
}
