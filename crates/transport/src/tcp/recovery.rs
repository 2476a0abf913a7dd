//! The state machine of loss recovery: Open, Disorder, CWR, Recovery, Loss
//! (`tcp_fastretrans_alert` and what it calls in net/ipv4/tcp_input.c), proportional rate reduction
//! (RFC 6937 with Linux's 6.x rules), undo (Eifel by timestamps, DSACK) and F-RTO (RFC 5682).
//!
//! ```text
//!            SACK/dup                  lost                      timeout
//!   Open ---------------> Disorder ---------> Recovery   any -------------> Loss
//!    |  ECE                  | ECE               ^          una >= high_seq or undone: Open
//!    +------> CWR <----------+       lost        |
//!              +---------------------------------+
//! ```

use super::ack::{flag, AckState, Rexmit};
use super::output::{Push, UNMARK_LOST};
use super::rtx_queue::{EVER_RETRANS, LOST, RETRANS, SACKED, SKB_START};
use super::sender::{Sender, SenderEvent};
use super::timer::Pending;
use cca::{CaEvent, CaState};

impl Sender {
    /// `tcp_fastretrans_alert`.
    pub(super) fn fastretrans_alert(&mut self, st: &mut AckState) {
        let ece = st.flag & flag::ECE != 0;
        if ece {
            self.sk.prior_ssthresh = 0;
        }
        if self.check_reneging(st) {
            return;
        }
        if self.ca_state() == CaState::Open {
            self.retrans_stamp = None;
        } else if self.rtx.una() >= self.high_seq {
            self.leave_when_acked();
        }
        let proceed = match self.ca_state() {
            CaState::Recovery => self.stay_in_recovery(st),
            CaState::Loss => self.stay_in_loss(st),
            CaState::Open | CaState::Disorder | CaState::Cwr => true,
        };
        if !proceed {
            return;
        }
        if self.ca_state() != CaState::Recovery && !self.open_or_recover(st, ece) {
            return;
        }
        st.rexmit = Rexmit::Lost;
    }

    /// CWR and Recovery end when everything sent before them is acknowledged.
    fn leave_when_acked(&mut self) {
        match self.ca_state() {
            CaState::Cwr if self.rtx.una() != self.high_seq => {
                self.end_cwnd_reduction();
                self.set_ca_state(CaState::Open);
            }
            CaState::Recovery => {
                self.try_undo_recovery();
                self.end_cwnd_reduction();
            }
            CaState::Cwr | CaState::Loss | CaState::Open | CaState::Disorder => {}
        }
    }

    /// In Recovery; false when this ACK needs nothing more.
    fn stay_in_recovery(&mut self, st: &mut AckState) -> bool {
        if st.flag & flag::SND_UNA_ADVANCED != 0 && self.try_undo_partial(st.prior_una) {
            return false;
        }
        if self.try_undo_dsack() {
            self.try_to_open(st);
        }
        self.identify_losses(st);
        if self.ca_state() == CaState::Recovery {
            return true;
        }
        if self.sk.lost_out == 0 {
            return false;
        }
        self.enter_recovery(st.flag & flag::ECE != 0);
        true
    }

    /// In Loss; false when this ACK needs nothing more.
    fn stay_in_loss(&mut self, st: &mut AckState) -> bool {
        self.process_loss(st);
        self.identify_losses(st);
        self.ca_state() == CaState::Open || st.flag & flag::LOST_RETRANS != 0
    }

    /// Outside Recovery: enter it when something is lost, else find the right lesser state; false in
    /// the latter case.
    fn open_or_recover(&mut self, st: &mut AckState, ece: bool) -> bool {
        if self.ca_state() <= CaState::Disorder {
            self.try_undo_dsack();
        }
        self.identify_losses(st);
        if self.sk.lost_out == 0 {
            self.try_to_open(st);
            return false;
        }
        self.enter_recovery(ece);
        true
    }

    fn identify_losses(&mut self, st: &mut AckState) {
        if self.rtx.is_empty() {
            return;
        }
        let prior_retrans = self.sk.retrans_out;
        if self.rack_mark_lost() {
            st.flag &= !flag::SET_XMIT_TIMER;
        }
        if prior_retrans > self.sk.retrans_out {
            st.flag |= flag::LOST_RETRANS;
        }
    }

    /// The head of the queue is SACKed but not acknowledged: give the receiver a little time, then
    /// time out (`tcp_check_sack_reneging`).
    fn check_reneging(&mut self, st: &mut AckState) -> bool {
        let both = flag::SACK_RENEGING | flag::SND_UNA_ADVANCED;
        if st.flag & both != both {
            return false;
        }
        let delay =
            self.tick.from_us(u64::from(self.sk.srtt_us >> 4)).max(self.tick.from_us(10_000));
        self.timer.arm(Pending::Rto, self.tick.wheel(self.now, delay));
        st.flag &= !flag::SET_XMIT_TIMER;
        true
    }

    /// `tcp_process_loss`.
    fn process_loss(&mut self, st: &mut AckState) {
        let recovered = self.rtx.una() >= self.high_seq;
        if st.flag & flag::SND_UNA_ADVANCED != 0 && self.try_undo_loss(false) {
            return;
        }
        if self.frto && self.process_frto(st, recovered) {
            return;
        }
        if recovered {
            self.try_undo_recovery();
            return;
        }
        st.rexmit = Rexmit::Lost;
    }

    /// F-RTO: was the timeout spurious? True when this ACK's reaction is decided.
    fn process_frto(&mut self, st: &mut AckState, recovered: bool) -> bool {
        if st.flag & flag::ORIG_SACK_ACKED != 0 && self.try_undo_loss(true) {
            return true;
        }
        if self.rtx.nxt() > self.high_seq {
            if st.flag & flag::DATA_SACKED != 0 || st.is_dupack {
                self.frto = false;
            }
        } else if st.flag & flag::SND_UNA_ADVANCED != 0 && !recovered {
            self.set_high_seq();
            if self.unsent() > 0 && self.window_end() > self.rtx.nxt() {
                st.rexmit = Rexmit::New;
                return true;
            }
            self.frto = false;
        }
        false
    }

    fn set_high_seq(&mut self) {
        self.high_seq = self.rtx.nxt();
        self.sk.high_seq = self.byte_seq(self.high_seq);
    }

    /// What is left to undo when nothing was retransmitted, or everything arrived twice.
    fn may_undo(&self) -> bool {
        self.undo_marker.is_some() && (self.undo_retrans == 0 || self.is_packet_delayed())
    }

    /// The ACK answers an original transmission (`tcp_packet_delayed`).
    fn is_packet_delayed(&self) -> bool {
        match self.retrans_stamp {
            Some(stamp) => (self.ts_ecr.wrapping_sub(stamp) as i32) < 0,
            None => true,
        }
    }

    fn any_retrans_done(&self) -> bool {
        self.sk.retrans_out > 0
            || (!self.rtx.is_empty() && self.rtx.flags(self.rtx.una()) & EVER_RETRANS != 0)
    }

    fn try_undo_recovery(&mut self) {
        if self.may_undo() {
            self.undo_cwnd_reduction(false);
        } else if self.rack.reo_wnd_persist > 0 {
            self.rack.reo_wnd_persist -= 1;
        }
        self.set_ca_state(CaState::Open);
        self.is_sack_reneg = false;
    }

    /// All retransmissions were reported as duplicates.
    fn try_undo_dsack(&mut self) -> bool {
        if self.undo_marker.is_none() || self.undo_retrans != 0 {
            return false;
        }
        self.rack.reo_wnd_persist = 16.min(self.rack.reo_wnd_persist + 1);
        self.undo_cwnd_reduction(false);
        true
    }

    fn try_undo_partial(&mut self, prior_una: u32) -> bool {
        if self.undo_marker.is_none() || !self.is_packet_delayed() {
            return false;
        }
        self.check_reordering(prior_una);
        if self.sk.retrans_out > 0 {
            return true;
        }
        if !self.any_retrans_done() {
            self.retrans_stamp = None;
        }
        self.undo_cwnd_reduction(true);
        self.try_keep_open();
        false
    }

    fn try_undo_loss(&mut self, by_frto: bool) -> bool {
        if !by_frto && !self.may_undo() {
            return false;
        }
        self.undo_cwnd_reduction(true);
        self.sk.icsk_retransmits = 0;
        self.set_ca_state(CaState::Open);
        self.is_sack_reneg = false;
        true
    }

    fn undo_cwnd_reduction(&mut self, unmark_lost: bool) {
        if unmark_lost {
            for seq in self.rtx.una()..self.rtx.nxt() {
                let flags = self.rtx.flags(seq);
                if flags & LOST != 0 {
                    self.rtx.set_flags(seq, flags & UNMARK_LOST);
                }
            }
            self.sk.lost_out = 0;
        }
        if self.sk.prior_ssthresh > 0 {
            self.sk.snd_cwnd = self.ca.undo_cwnd(&mut self.sk);
            if self.sk.prior_ssthresh > self.sk.snd_ssthresh {
                self.sk.snd_ssthresh = self.sk.prior_ssthresh;
                self.ecn.withdraw_cwr();
            }
        }
        self.sk.snd_cwnd_stamp = self.sk.jiffies;
        self.set_undo_marker(None);
        self.rack.advanced = true;
        self.stats.undos += 1;
        self.log(SenderEvent::Undo);
    }

    fn set_undo_marker(&mut self, marker: Option<u32>) {
        self.undo_marker = marker;
        self.sk.undo_marker = marker.map_or(0, |seq| self.byte_seq(seq));
    }

    pub(super) fn try_keep_open(&mut self) {
        let left_out = self.sk.sacked_out + self.sk.lost_out;
        let state =
            if left_out > 0 || self.any_retrans_done() { CaState::Disorder } else { CaState::Open };
        if self.ca_state() != state {
            self.set_ca_state(state);
            self.set_high_seq();
        }
    }

    fn try_to_open(&mut self, st: &AckState) {
        if !self.any_retrans_done() {
            self.retrans_stamp = None;
        }
        if st.flag & flag::ECE != 0 {
            self.enter_cwr();
        }
        if self.ca_state() != CaState::Cwr {
            self.try_keep_open();
        }
    }

    /// Explicit congestion: reduce once per window, without undo (`tcp_enter_cwr`).
    fn enter_cwr(&mut self) {
        self.sk.prior_ssthresh = 0;
        if self.ca_state() < CaState::Cwr {
            self.set_undo_marker(None);
            self.init_cwnd_reduction();
            self.set_ca_state(CaState::Cwr);
        }
    }

    /// A loaded module may have asked for a reduction (`tcp_enter_cwr`).
    #[inline]
    pub(super) fn grant_cwr(&mut self) {
        if std::mem::take(&mut self.sk.wants_cwr) != 0 {
            self.enter_cwr();
        }
    }

    fn init_undo(&mut self) {
        self.set_undo_marker(Some(self.rtx.una()));
        self.undo_retrans = self.sk.retrans_out as i32;
        if self.tlp_high_seq.is_some() && self.tlp_retrans {
            self.undo_retrans += 1;
        }
        if self.undo_retrans == 0 {
            self.undo_retrans = -1;
        }
    }

    /// Loss was found without a timeout.
    pub(super) fn enter_recovery(&mut self, ece: bool) {
        if !self.any_retrans_done() {
            self.retrans_stamp = None;
        }
        self.sk.prior_ssthresh = 0;
        self.init_undo();
        if !self.in_cwnd_reduction() {
            if !ece {
                self.sk.prior_ssthresh = self.current_ssthresh();
            }
            self.init_cwnd_reduction();
        }
        self.stats.recoveries += 1;
        self.set_ca_state(CaState::Recovery);
    }

    /// `tcp_current_ssthresh`.
    pub(super) fn current_ssthresh(&self) -> u32 {
        let sk = &*self.sk;
        if self.in_cwnd_reduction() {
            sk.snd_ssthresh
        } else {
            sk.snd_ssthresh.max(sk.snd_cwnd / 2 + sk.snd_cwnd / 4)
        }
    }

    #[inline]
    pub(super) fn in_cwnd_reduction(&self) -> bool {
        matches!(self.ca_state(), CaState::Cwr | CaState::Recovery)
    }

    pub(super) fn init_cwnd_reduction(&mut self) {
        self.set_high_seq();
        self.tlp_high_seq = None;
        self.sk.snd_cwnd_cnt = 0;
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.sk.snd_ssthresh = self.ca.ssthresh(&mut self.sk);
        self.ecn.queue_cwr();
    }

    /// Proportional rate reduction (`tcp_cwnd_reduction`).
    pub(super) fn cwnd_reduction(&mut self, delivered: i32, losses: i32, una_advanced: bool) {
        if delivered <= 0 || self.sk.prior_cwnd == 0 {
            return;
        }
        self.prr_delivered += delivered as u32;
        let in_flight = self.in_flight();
        let delta = self.sk.snd_ssthresh as i32 - in_flight as i32;
        let credit = self.prr_delivered as i32 - self.prr_out as i32;
        let mut send = if delta < 0 {
            let share = u64::from(self.sk.snd_ssthresh) * u64::from(self.prr_delivered);
            share.div_ceil(u64::from(self.sk.prior_cwnd)) as i32 - self.prr_out as i32
        } else {
            let slow_start = i32::from(una_advanced && losses == 0);
            delta.min(credit.max(delivered) + slow_start)
        };
        send = send.max(i32::from(self.prr_out == 0));
        self.sk.snd_cwnd = (in_flight as i32 + send) as u32;
    }

    pub(super) fn end_cwnd_reduction(&mut self) {
        if self.ca.has_cong_control() {
            return;
        }
        if self.sk.snd_ssthresh < cca::INFINITE_SSTHRESH
            && (self.ca_state() == CaState::Cwr || self.undo_marker.is_some())
        {
            self.sk.snd_cwnd = self.sk.snd_ssthresh;
            self.sk.snd_cwnd_stamp = self.sk.jiffies;
        }
        self.ca.cwnd_event(&mut self.sk, CaEvent::CompleteCwr);
    }

    /// The retransmission timer expired (`tcp_enter_loss`).
    pub(super) fn enter_loss(&mut self) {
        let state = self.ca_state();
        self.timeout_mark_lost();
        if state <= CaState::Disorder
            || self.high_seq <= self.rtx.una()
            || (state == CaState::Loss && self.sk.icsk_retransmits == 0)
        {
            self.sk.prior_ssthresh = self.current_ssthresh();
            self.sk.prior_cwnd = self.sk.snd_cwnd;
            self.sk.snd_ssthresh = self.ca.ssthresh(&mut self.sk);
            self.ca.cwnd_event(&mut self.sk, CaEvent::Loss);
            self.init_undo();
        }
        self.sk.snd_cwnd = self.in_flight() + 1;
        self.sk.snd_cwnd_cnt = 0;
        self.sk.snd_cwnd_stamp = self.sk.jiffies;
        if state <= CaState::Disorder && self.sk.sacked_out >= super::rack::REORDERING {
            self.sk.reordering = self.sk.reordering.min(super::rack::REORDERING);
        }
        self.set_ca_state(CaState::Loss);
        self.set_high_seq();
        self.tlp_high_seq = None;
        self.ecn.queue_cwr();
        self.frto = state < CaState::Recovery || self.sk.icsk_retransmits > 0;
    }

    /// Marks the head and everything older than RACK's RTT as lost; a SACKed head means that the
    /// receiver reneged, and all SACK marks go.
    fn timeout_mark_lost(&mut self) {
        let head = self.rtx.una();
        let lost_before = self.sk.lost;
        let reneged = !self.rtx.is_empty() && self.rtx.flags(head) & SACKED != 0;
        if reneged {
            self.is_sack_reneg = true;
            self.forget_sacks();
        }
        let mut seq = head;
        while seq < self.rtx.nxt() {
            let n = self.burst_at(seq);
            if reneged || seq == head || self.rack_remaining_us(seq, 0) <= 0 {
                self.mark_lost(seq, n);
            }
            seq += n;
        }
        let lost = self.sk.lost.wrapping_sub(lost_before);
        if lost > 0 {
            self.log(SenderEvent::Lost(lost));
        }
    }

    /// `tcp_xmit_recovery`.
    pub(super) fn transmit_recovery(&mut self, rexmit: Rexmit) {
        match rexmit {
            Rexmit::None => return,
            Rexmit::New => {
                self.write_xmit(Push::Window);
                if self.rtx.nxt() > self.high_seq {
                    return;
                }
                self.frto = false;
            }
            Rexmit::Lost => {}
        }
        self.retransmit_queue();
    }

    /// Retransmits what is lost, lowest sequence first, as far as the window and the host queue allow
    /// (`tcp_xmit_retransmit_queue`).
    pub(super) fn retransmit_queue(&mut self) {
        if self.sk.packets_out == 0 {
            return;
        }
        let max_segs = self.tso_segs();
        let head = self.rtx.una();
        let mut rearm = false;
        while self.sk.retrans_out < self.sk.lost_out && !self.is_paced_out() {
            let free = self.sk.snd_cwnd.saturating_sub(self.in_flight());
            let Some(seq) = self.rtx.next_pending() else { break };
            let n = self.pending_run(seq, free.min(max_segs));
            if free == 0 || self.is_queue_full(n, 1) || self.is_in_host(seq) {
                break;
            }
            self.send_again(seq, n);
            self.mark_retransmitted(seq, n);
            if self.in_cwnd_reduction() {
                self.prr_out += n;
            }
            rearm |= seq == head && self.timer.pending() != Some(Pending::Reo);
        }
        if rearm {
            self.arm_rto(self.sk.icsk_rto);
        }
    }

    /// Pending segments from `seq` that were sent in one piece, at most `most`.
    fn pending_run(&self, seq: u32, most: u32) -> u32 {
        let mut n = 1;
        while n < most && seq + n < self.rtx.nxt() {
            let flags = self.rtx.flags(seq + n);
            if flags & SKB_START != 0 || flags & (LOST | RETRANS | SACKED) != LOST {
                break;
            }
            n += 1;
        }
        n
    }
}
