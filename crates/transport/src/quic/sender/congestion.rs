//! Congestion events and what they do to the state that controllers see (RFC 9002 section 7.3).
//!
//! ```text
//!            loss                    three PTOs without an acknowledgement
//!   Open -----------> Recovery       any ----------------------------------> Loss
//!    |   CE marks                    Recovery, CWR, Loss: a packet sent after it began is
//!    +-----------> CWR               acknowledged, or all losses were spurious (Recovery): Open
//! ```
//!
//! The window falls to what the controller says at once, and one packet may leave beyond it; `Config::prr` has
//! packets leave by proportional rate reduction meanwhile. A loss of a packet sent before an event began belongs to that
//! event.

use super::Sender;
use crate::common::SenderEvent;
use crate::quic::episode::Undo;
use crate::quic::prr::Prr;
use crate::quic::rtt::Estimator;
use crate::quic::sent::Sent;
use cca::{CaEvent, CaState};

/// Minimum window of a controller that leaves it to the transport, packets (RFC 9002 section 7.2).
pub const MIN_WINDOW: u32 = 2;

impl Sender {
    /// Packets up to `largest` were acknowledged: an event ends when one sent after it began is.
    pub(super) fn on_progress(&mut self, largest: u32) {
        if self.state == CaState::Open || largest < self.high {
            return;
        }
        let reduced = matches!(self.state, CaState::Cwr | CaState::Recovery);
        if reduced && !self.sk.has_cong_control() {
            self.sk.cwnd_event(CaEvent::CompleteCwr);
        }
        self.extra = false;
        self.set_ca_state(CaState::Open);
    }

    /// Packet `number` was declared lost.
    pub(super) fn on_loss(&mut self, number: u32) {
        if number >= self.high {
            self.enter_recovery();
        }
        self.undo.losses += 1;
    }

    fn enter_recovery(&mut self) {
        self.sk.prior_ssthresh = self.sk.ssthresh_to_restore();
        self.reduce(self.config.undo);
        self.extra = !self.sk.has_cong_control() && !self.config.prr;
        self.sk.stats.recoveries += 1;
        self.set_ca_state(CaState::Recovery);
    }

    /// The network marked packets: as for a loss, but without undo.
    pub(super) fn enter_cwr(&mut self) {
        self.sk.prior_ssthresh = 0;
        self.reduce(false);
        self.set_ca_state(CaState::Cwr);
    }

    /// A controller asked for a reduction (`tcp_enter_cwr`).
    pub(super) fn grant_cwr(&mut self) {
        if self.sk.takes_cwr_request() && self.state == CaState::Open {
            self.enter_cwr();
        }
    }

    fn reduce(&mut self, may_undo: bool) {
        self.undo = Undo {
            is_armed: may_undo,
            losses: 0,
            began_us: self.sk.now_us(),
            prior_high: self.high,
        };
        self.set_high();
        self.prr = Prr::restart(self.prior_flight);
        self.sk.undo_marker = if may_undo { self.sk.snd_una } else { 0 };
        self.sk.snd_cwnd_cnt = 0;
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.sk.snd_ssthresh = self.sk.ssthresh();
        if !self.sk.has_cong_control() {
            let window = self.sk.snd_ssthresh.max(MIN_WINDOW);
            self.sk.snd_cwnd = window.min(self.sk.snd_cwnd);
            self.sk.snd_cwnd_stamp = self.sk.jiffies;
        }
    }

    fn set_high(&mut self) {
        self.high = self.packets.next();
        self.sk.high_seq = self.byte_seq(self.high);
    }

    /// Nothing sent for three PTOs arrived: the window falls to its minimum, as after a timeout of TCP
    /// (RFC 9002 section 7.6.2, `tcp_enter_loss`).
    pub(super) fn enter_loss(&mut self) {
        self.sk.stats.rtos += 1;
        self.sk.log(SenderEvent::Rto);
        self.undo.is_armed = false;
        self.sk.undo_marker = 0;
        self.sk.cwnd_event(CaEvent::Loss);
        self.sk.snd_cwnd = MIN_WINDOW;
        self.sk.snd_cwnd_cnt = 0;
        self.sk.snd_cwnd_stamp = self.sk.jiffies;
        self.rtt.restart_min();
        self.run.forget();
        self.set_high();
        self.set_ca_state(CaState::Loss);
    }

    /// A packet that was declared lost is acknowledged after all.
    pub(super) fn on_spurious_loss(&mut self, number: u32, packet: &Sent) {
        self.spurious += 1;
        self.run.forget();
        let behind = self.largest_acked.map_or(0, |largest| largest.saturating_sub(number));
        let age_us = self.sk.us_since(packet.stamps.tx_us);
        self.thresholds.on_spurious(behind, age_us, self.rtt.larger_us(&self.sk));
        self.sk.reordering = self.thresholds.packets();
        let of_event = number < self.high
            && packet.lost_us.wrapping_sub(self.undo.began_us) as i32 >= 0
            && self.undo.losses > 0;
        if !of_event {
            return;
        }
        self.undo.losses -= 1;
        if self.undo.losses == 0 && self.undo.is_armed {
            self.undo_reduction();
        }
    }

    /// All losses of the last event proved spurious: the reduction is undone.
    fn undo_reduction(&mut self) {
        self.undo.is_armed = false;
        self.sk.undo_marker = 0;
        self.sk.snd_cwnd = self.sk.undo_cwnd();
        self.sk.snd_ssthresh = self.sk.snd_ssthresh.max(self.sk.prior_ssthresh);
        self.sk.snd_cwnd_stamp = self.sk.jiffies;
        self.high = self.undo.prior_high;
        self.sk.stats.undos += 1;
        self.sk.log(SenderEvent::Undo);
        if self.state == CaState::Recovery {
            self.set_ca_state(CaState::Open);
        }
    }

    /// Time for which a lost packet is remembered, us: one PTO.
    pub(super) fn forget_packets(&mut self) {
        let keep_us = Estimator::pto_us(&self.sk, &self.config) as u32;
        let now_us = self.sk.now_us();
        self.owes_stop_waiting |= self.packets.forget(now_us, keep_us);
    }
}
