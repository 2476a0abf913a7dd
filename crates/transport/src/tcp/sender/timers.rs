//! What the sender's timer does and when it is armed: retransmission timeout (RFC 6298), tail loss
//! probe (RFC 8985 section 7), RACK's reordering timer.

use super::super::recovery::rack::TIMEOUT_MIN_US;
use super::super::recovery::Probe;
use super::super::rtt::{RTO_INIT_US, RTO_MAX_US, RTO_MIN_US};
use super::super::rtx_queue::APP_LIMITED;
use super::super::timer::Pending;
use super::output::{buffer_segs, Next, Push};
use super::Sender;
use crate::common::{Conn, SenderEvent};
use cca::CaState;

/// Retry after a retransmission that the host refused, ms (`TCP_RESOURCE_PROBE_INTERVAL`).
const RESOURCE_PROBE_MS: u64 = 500;

/// `RTO_MAX_US` in seconds.
const RTO_MAX_S: u32 = (RTO_MAX_US / 1_000_000) as u32;

/// Probes of the window after which the time between them stays (`sysctl_tcp_retries2`).
const RETRIES: u8 = 15;

impl Sender {
    /// The timer fired.
    pub(super) fn on_xmit_timer(&mut self) {
        let Some(pending) = self.timer.pending() else { return };
        if self.conn == Conn::SynSent {
            self.syn.retries += 1;
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
            Pending::Window => {
                self.timer.clear();
                self.on_window_probe();
            }
        }
    }

    /// `tcp_retransmit_timer`.
    fn on_rto(&mut self) {
        if self.sk.packets_out == 0 {
            return;
        }
        self.sk.stats.rtos += 1;
        self.sk.log(SenderEvent::Rto);
        self.recovery.enter_loss(&mut self.sk, &mut self.rtx);
        // Into a window of zero it is a probe, and no sign of a dead peer.
        if self.sk.snd_wnd > 0 {
            self.sk.icsk_retransmits = self.sk.icsk_retransmits.saturating_add(1);
        }
        let head = self.rtx.una();
        if self.is_in_host(head) {
            self.arm_rto(self.sk.tick().from_us(RESOURCE_PROBE_MS * 1000));
            return;
        }
        self.send_again(head, 1);
        self.mark_retransmitted(head, 1);
        self.sk.icsk_backoff = self.sk.icsk_backoff.saturating_add(1);
        self.sk.icsk_rto = (self.sk.icsk_rto * 2).min(self.sk.tick().from_us(RTO_MAX_US));
        self.timer.arm(Pending::Rto, self.sk.wheel(self.sk.icsk_rto));
    }

    /// Nothing is out, and what waits does not fit into the receive window: as much of it as does, or an empty packet
    /// (`tcp_send_probe0`, `tcp_write_wakeup`).
    fn on_window_probe(&mut self) {
        if self.sk.packets_out > 0 || self.unsent() == 0 {
            return;
        }
        let (window, mss) = (self.window_left(), self.config.mss);
        if window == 0 {
            self.send_window_probe();
            self.sk.icsk_backoff = (self.sk.icsk_backoff + 1).min(RETRIES);
            return self.arm_window_probe();
        }
        let len = self.supply.bytes_of_next(self.rtx.nxt(), 1).min(u64::from(mss));
        let cut = (window < len).then_some(window as u32);
        self.supply.mark_push_at(self.rtx.nxt(), len.min(window));
        let prior = self.sk.packets_out;
        self.send_new(Next { segments: 1, cut });
        self.rearm_after_send(prior);
        self.sk.icsk_backoff = 0;
    }

    /// The next probe of the window: after the timeout, doubled for each that was sent and for each retransmission without
    /// a measured RTT since (`tcp_probe0_when`).
    fn arm_window_probe(&mut self) {
        self.arm_doubled_window_probe(u32::from(self.sk.icsk_backoff));
    }

    /// The first probe, which no backoff puts off (`tcp_check_probe_timer`).
    pub(super) fn arm_first_window_probe(&mut self) {
        self.arm_doubled_window_probe(0);
    }

    fn arm_doubled_window_probe(&mut self, doublings: u32) {
        let tick = self.sk.tick();
        let longest = u64::from(tick.from_us(RTO_MAX_US));
        let base = u64::from(self.sk.icsk_rto.max(tick.from_us(RTO_MIN_US.into())));
        let doublings = doublings.min((RTO_MAX_US / u64::from(RTO_MIN_US)).ilog2() + 1);
        self.arm_with_backlog(Pending::Window, (base << doublings).min(longest) as u32);
    }

    /// An ACK came while nothing was out: the window takes what waits, or is probed anew (`tcp_ack_probe`).
    pub(super) fn on_ack_while_probing(&mut self) {
        let unsent = self.unsent();
        if unsent == 0 {
            return;
        }
        let (sk, mss) = (&self.sk, self.config.mss);
        let front = self.supply.front_len(|| buffer_segs(sk, mss)).min(unsent);
        if self.supply.bytes_of_next(self.rtx.nxt(), front) <= self.window_left() {
            self.sk.icsk_backoff = 0;
            self.timer.clear();
        } else {
            self.arm_window_probe();
        }
    }

    /// Arms the retransmission timer `delay` ticks and the pacing backlog from now
    /// (`tcp_reset_xmit_timer`).
    pub(super) fn arm_rto(&mut self, delay: u32) {
        self.arm_with_backlog(Pending::Rto, delay);
    }

    fn arm_with_backlog(&mut self, what: Pending, delay: u32) {
        let backlog = self.sk.tcp_wstamp_ns.saturating_sub(self.sk.tcp_clock_cache);
        let backlog = if backlog > 0 { self.sk.tick().from_ns(backlog) } else { 0 };
        let mut delay = delay + backlog;
        if delay >= self.sk.tick().hz() * RTO_MAX_S {
            delay = delay.min(self.sk.tick().from_us(RTO_MAX_US));
        }
        self.timer.arm(what, self.sk.wheel(delay));
    }

    /// `tcp_rearm_rto`.
    pub(super) fn rearm_rto(&mut self) {
        if self.sk.packets_out == 0 {
            self.timer.clear();
            return;
        }
        let mut delay = self.sk.icsk_rto;
        if matches!(self.timer.pending(), Some(Pending::Reo | Pending::Tlp)) {
            delay = self.sk.tick().from_us(self.rto_delta_us().max(1) as u64);
        }
        self.arm_rto(delay);
    }

    /// Time until the RTO of the head expires, us (`tcp_rto_delta_us`).
    fn rto_delta_us(&self) -> i64 {
        let rto = self.sk.tick().to_us(self.sk.icsk_rto) as i64;
        if self.rtx.is_empty() {
            return rto;
        }
        let sent = self.rtx.stamps(self.rtx.una()).tx_us;
        rto - i64::from(self.sk.now_us().wrapping_sub(sent) as i32)
    }

    /// `tcp_set_xmit_timer`.
    pub(super) fn set_xmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }

    /// Whether a loss probe is scheduled while something is out.
    #[inline]
    pub(super) fn may_probe(&self) -> bool {
        let is_calm = matches!(self.recovery.ca_state(), CaState::Open | CaState::Cwr);
        is_calm && self.config.loss_probes
    }

    /// `tcp_schedule_loss_probe`; `advancing_rto` when the RTO would restart in full.
    pub(super) fn schedule_loss_probe(&mut self, advancing_rto: bool) -> bool {
        if self.sk.packets_out == 0 || !self.may_probe() {
            return false;
        }
        let mut delay_us = if self.sk.srtt_us > 0 {
            let extra = if self.sk.packets_out == 1 { RTO_MIN_US } else { TIMEOUT_MIN_US };
            u64::from((self.sk.srtt_us >> 2) + extra)
        } else {
            RTO_INIT_US
        };
        let tick = self.sk.tick();
        let delay = if advancing_rto {
            // Ticks there and back again are the same.
            let delay = tick.from_us(delay_us);
            if self.sk.icsk_rto > 0 {
                delay.min(self.sk.icsk_rto)
            } else {
                delay
            }
        } else {
            let until_rto = self.rto_delta_us();
            if until_rto > 0 {
                delay_us = delay_us.min(until_rto as u64);
            }
            tick.from_us(delay_us)
        };
        self.arm_with_backlog(Pending::Tlp, delay);
        true
    }

    /// `tcp_send_loss_probe`: new data if there is any, else the last segment again.
    fn send_loss_probe(&mut self) {
        let probe = if self.recovery.is_probing() { None } else { self.try_loss_probe() };
        let Some(is_retrans) = probe else { return self.rearm_rto() };
        self.recovery.on_probe_sent(Probe { end: self.rtx.nxt(), is_retrans });
        self.sk.stats.tlps += 1;
        self.sk.log(SenderEvent::Tlp);
        self.timer.clear();
        self.rearm_rto();
    }

    /// Sends a probe if it can; says whether that is a retransmission.
    fn try_loss_probe(&mut self) -> Option<bool> {
        if self.can_send_new() {
            let prior = self.sk.packets_out;
            self.write_xmit(Push::Probe);
            return (self.sk.packets_out > prior).then_some(false);
        }
        if self.rtx.is_empty() || self.is_in_host(self.rtx.nxt() - 1) {
            return None;
        }
        let last = self.rtx.nxt() - 1;
        self.window_for_again(last, 1)?;
        let was_app_limited = self.rtx.flags(last) & APP_LIMITED != 0;
        self.sk.tlp_orig_data_app_limited = u8::from(was_app_limited);
        self.send_again(last, 1);
        Some(true)
    }

    /// The reordering timer fired (`tcp_rack_reo_timeout`).
    fn on_reo_timeout(&mut self) {
        let (sk, rtx, recovery) = (&mut self.sk, &mut self.rtx, &mut self.recovery);
        let (prior_in_flight, lost) = (sk.packets_in_flight(), sk.lost);
        recovery.rack.detect_loss(sk, rtx, recovery.ca_state());
        if prior_in_flight != sk.packets_in_flight() {
            if recovery.ca_state() != CaState::Recovery {
                recovery.enter_recovery(sk, rtx, false);
                if !sk.has_cong_control() {
                    let losses = sk.lost.wrapping_sub(lost) as i32;
                    recovery.reduce(sk, 1, losses, false);
                }
            }
            self.retransmit_queue();
        }
        if self.timer.pending() != Some(Pending::Rto) {
            self.rearm_rto();
        }
    }
}
