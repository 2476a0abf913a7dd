//! What an ACK that is out of the ordinary does to the state of recovery (`tcp_fastretrans_alert` and what it calls).

use super::super::ack_state::{flag, AckState, Rexmit};
use super::super::rtx_queue::RtxQueue;
use super::super::timer::{Pending, XmitTimer};
use super::frto::{Evidence, Verdict};
use super::scoreboard::Tagged;
use super::tlp::Answer;
use super::{Recovery, State};
use crate::common::Socket;
use cca::{CaEvent, CaState};
use net::TcpAck;

impl Recovery {
    /// Reads the SACK blocks; says whether segments from `st.reord` on show reordering.
    pub fn tag(
        &mut self,
        sk: &mut Socket,
        rtx: &mut RtxQueue,
        ack: &TcpAck,
        st: &mut AckState,
    ) -> bool {
        self.scoreboard.tag(
            ack,
            &mut Tagged {
                sk,
                rtx,
                rack: &mut self.rack,
                undo: &mut self.undo,
                st,
                high_seq: self.high_seq,
                probe_end: self.probe.map(|probe| probe.end),
            },
        );
        self.ca_state() != CaState::Loss || self.undo.is_armed()
    }

    /// Whether F-RTO may ask for new data with the next ACK.
    #[inline]
    pub fn may_ask_for_new_data(&self) -> bool {
        matches!(self.state, State::Loss(_))
    }

    /// `tcp_fastretrans_alert`.
    pub fn alert(
        &mut self,
        sk: &mut Socket,
        rtx: &mut RtxQueue,
        timer: &mut XmitTimer,
        st: &mut AckState,
    ) {
        let ece = st.has(flag::ECE);
        if ece {
            sk.prior_ssthresh = 0;
        }
        if check_reneging(sk, timer, st) {
            return;
        }
        if self.state == State::Open {
            self.undo.forget_stamp();
        } else if rtx.una() >= self.high_seq {
            self.leave_when_acked(sk, rtx);
        }
        let proceeds = match self.state {
            State::Recovery(_) => self.stay_in_recovery(sk, rtx, timer, st),
            State::Loss(_) => self.stay_in_loss(sk, rtx, timer, st),
            State::Open | State::Disorder | State::Cwr(_) => true,
        };
        if !proceeds {
            return;
        }
        let is_in_recovery = matches!(self.state, State::Recovery(_));
        if is_in_recovery || self.open_or_recover(sk, rtx, timer, st, ece) {
            st.rexmit = Rexmit::Lost;
        }
    }

    /// CWR and Recovery end when everything sent before them is acknowledged.
    fn leave_when_acked(&mut self, sk: &mut Socket, rtx: &RtxQueue) {
        match self.state {
            State::Cwr(_) if rtx.una() != self.high_seq => {
                self.end_reduction(sk);
                self.set_state(sk, State::Open);
            }
            State::Recovery(_) => {
                self.try_undo_recovery(sk);
                self.end_reduction(sk);
            }
            State::Cwr(_) | State::Loss(_) | State::Open | State::Disorder => {}
        }
    }

    /// In Recovery; false when this ACK needs nothing more.
    fn stay_in_recovery(
        &mut self,
        sk: &mut Socket,
        rtx: &mut RtxQueue,
        timer: &mut XmitTimer,
        st: &mut AckState,
    ) -> bool {
        if st.has(flag::SND_UNA_ADVANCED) && self.try_undo_partial(sk, rtx, st) {
            return false;
        }
        if self.try_undo_dsack(sk) {
            self.try_to_open(sk, rtx, st);
        }
        self.identify_losses(sk, rtx, timer, st);
        if matches!(self.state, State::Recovery(_)) {
            return true;
        }
        if sk.lost_out == 0 {
            return false;
        }
        self.enter_recovery(sk, rtx, st.has(flag::ECE));
        true
    }

    /// In Loss; false when this ACK needs nothing more.
    fn stay_in_loss(
        &mut self,
        sk: &mut Socket,
        rtx: &mut RtxQueue,
        timer: &mut XmitTimer,
        st: &mut AckState,
    ) -> bool {
        self.process_loss(sk, rtx, st);
        self.identify_losses(sk, rtx, timer, st);
        self.state == State::Open || st.has(flag::LOST_RETRANS)
    }

    /// Outside Recovery: enter it when something is lost, else find the right lesser state; false in
    /// the latter case.
    fn open_or_recover(
        &mut self,
        sk: &mut Socket,
        rtx: &mut RtxQueue,
        timer: &mut XmitTimer,
        st: &mut AckState,
        ece: bool,
    ) -> bool {
        if self.ca_state() <= CaState::Disorder {
            self.try_undo_dsack(sk);
        }
        self.identify_losses(sk, rtx, timer, st);
        if sk.lost_out == 0 {
            self.try_to_open(sk, rtx, st);
            return false;
        }
        self.enter_recovery(sk, rtx, ece);
        true
    }

    fn identify_losses(
        &mut self,
        sk: &mut Socket,
        rtx: &mut RtxQueue,
        timer: &mut XmitTimer,
        st: &mut AckState,
    ) {
        if rtx.is_empty() {
            return;
        }
        let prior_retrans = sk.retrans_out;
        if self.rack.on_ack(sk, rtx, timer, self.state.ca_state()) {
            st.flag &= !flag::SET_XMIT_TIMER;
        }
        if prior_retrans > sk.retrans_out {
            st.flag |= flag::LOST_RETRANS;
        }
    }

    /// `tcp_process_loss`.
    fn process_loss(&mut self, sk: &mut Socket, rtx: &mut RtxQueue, st: &mut AckState) {
        let is_recovered = rtx.una() >= self.high_seq;
        let una_advanced = st.has(flag::SND_UNA_ADVANCED);
        if una_advanced && self.undo.may_undo(sk.rcv_tsecr) {
            self.undo_loss(sk, rtx);
            return;
        }
        let State::Loss(frto) = &mut self.state else { unreachable!("only in Loss") };
        let verdict = frto.judge(Evidence {
            orig_acked: st.has(flag::ORIG_SACK_ACKED),
            has_sent_new: rtx.nxt() > self.high_seq,
            is_duplicate: st.has(flag::DATA_SACKED) || st.is_dupack,
            is_partial: una_advanced && !is_recovered,
            can_send_new: st.can_send_new,
        });
        match verdict {
            Verdict::Spurious => self.undo_loss(sk, rtx),
            Verdict::SendNew => st.rexmit = Rexmit::New,
            Verdict::Nothing if is_recovered => self.try_undo_recovery(sk),
            Verdict::Nothing => st.rexmit = Rexmit::Lost,
        }
    }

    /// The timeout was spurious (`tcp_try_undo_loss`).
    fn undo_loss(&mut self, sk: &mut Socket, rtx: &mut RtxQueue) {
        self.undo_losses(sk, rtx);
        sk.icsk_retransmits = 0;
        self.set_state(sk, State::Open);
        self.scoreboard.is_reneged = false;
    }

    /// Everything from before the reduction is acknowledged (`tcp_try_undo_recovery`).
    fn try_undo_recovery(&mut self, sk: &mut Socket) {
        if self.undo.may_undo(sk.rcv_tsecr) {
            self.undo_reduction(sk);
        } else {
            self.rack.on_recovery();
        }
        self.set_state(sk, State::Open);
        self.scoreboard.is_reneged = false;
    }

    /// All retransmissions were reported as duplicates (`tcp_try_undo_dsack`).
    fn try_undo_dsack(&mut self, sk: &mut Socket) -> bool {
        if !self.undo.is_all_duplicate() {
            return false;
        }
        self.rack.keep_window();
        self.undo_reduction(sk);
        true
    }

    /// A partial ACK answers an original transmission (`tcp_try_undo_partial`); true when nothing is to be sent
    /// until what was sent again is acknowledged, too.
    fn try_undo_partial(&mut self, sk: &mut Socket, rtx: &mut RtxQueue, st: &AckState) -> bool {
        if !self.undo.is_armed() || !self.undo.is_packet_delayed(sk.rcv_tsecr) {
            return false;
        }
        self.scoreboard.check_reordering(sk, rtx, st.prior_una, |_, _| st.missing_from_una);
        if sk.retrans_out > 0 {
            return true;
        }
        if !Self::any_retrans_done(sk, rtx) {
            self.undo.forget_stamp();
        }
        self.undo_losses(sk, rtx);
        self.try_keep_open(sk, rtx);
        false
    }

    /// `tcp_try_to_open`.
    fn try_to_open(&mut self, sk: &mut Socket, rtx: &RtxQueue, st: &AckState) {
        if !Self::any_retrans_done(sk, rtx) {
            self.undo.forget_stamp();
        }
        if st.has(flag::ECE) {
            self.enter_cwr(sk, rtx);
        }
        if !matches!(self.state, State::Cwr(_)) {
            self.try_keep_open(sk, rtx);
        }
    }

    /// Whether an ACK for everything before `ack` answers the tail loss probe (`tcp_process_tlp_ack`), with what
    /// Google's v3 tree tells its controllers.
    #[inline]
    pub fn on_probe_ack(&mut self, sk: &mut Socket, rtx: &RtxQueue, ack: u32, st: &mut AckState) {
        let Some(probe) = self.probe else { return };
        match probe.answer(ack, st) {
            Answer::None => {}
            Answer::Done => self.probe = None,
            Answer::Repaired => {
                sk.cwnd_event(CaEvent::TlpRecovery);
                let prr = self.begin_reduction(sk, rtx);
                self.set_state(sk, State::Cwr(prr));
                self.end_reduction(sk);
                self.try_keep_open(sk, rtx);
            }
            Answer::MayBeProbe => st.sampler.rs.is_acking_tlp_retrans_seq = true,
        }
    }
}

/// The head of the queue is SACKed but not acknowledged: give the receiver a little time, then
/// time out (`tcp_check_sack_reneging`).
fn check_reneging(sk: &Socket, timer: &mut XmitTimer, st: &mut AckState) -> bool {
    let both = flag::SACK_RENEGING | flag::SND_UNA_ADVANCED;
    if st.flag & both != both {
        return false;
    }
    let tick = sk.tick();
    let delay = tick.from_us(u64::from(sk.srtt_us >> 4)).max(tick.from_us(10_000));
    timer.arm(Pending::Rto, sk.wheel(delay));
    st.flag &= !flag::SET_XMIT_TIMER;
    true
}
