//! The state machine of loss recovery (net/ipv4/tcp_input.c):
//!
//! ```text
//!            SACK/dup                  lost                      timeout
//!   Open ---------------> Disorder ---------> Recovery   any -------------> Loss
//!    |  ECE                  | ECE               ^          una >= high_seq or undone: Open
//!    +------> CWR <----------+       lost        |
//!              +---------------------------------+
//! ```
//!
//! This file has the states and how each is entered and left; [`alert`] says which of that an ACK calls for. The
//! rules are values that know nothing of the machine: [`Rack`] finds losses, [`Scoreboard`] reads SACK blocks,
//! [`Undo`] and [`Frto`] tell that nothing was lost, [`Prr`] shrinks the window, [`Probe`] is the tail loss probe.

mod alert;
mod frto;
mod marks;
mod prr;
pub mod rack;
pub mod scoreboard;
mod tlp;
mod undo;

pub use frto::Frto;
pub use prr::Prr;
pub use tlp::Probe;

use super::ecn::SenderEcn;
use super::rtx_queue::{RtxQueue, EVER_RETRANS, SACKED};
use crate::common::{SenderEvent, Socket};
use cca::{CaEvent, CaState};
use marks::{mark_lost, unmark_lost};
use rack::{Rack, REORDERING};
use scoreboard::Scoreboard;
use undo::Undo;

/// State of loss recovery, with what only that state has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is wrong.
    Open,
    /// Something was SACKed or duplicated.
    Disorder,
    /// The window falls because the network marked packets, or the controller asked for it.
    Cwr(Prr),
    /// Fast recovery.
    Recovery(Prr),
    /// After a retransmission timeout.
    Loss(Frto),
}

impl State {
    #[inline]
    fn ca_state(&self) -> CaState {
        match self {
            State::Open => CaState::Open,
            State::Disorder => CaState::Disorder,
            State::Cwr(_) => CaState::Cwr,
            State::Recovery(_) => CaState::Recovery,
            State::Loss(_) => CaState::Loss,
        }
    }
}

/// See the module documentation.
pub struct Recovery {
    state: State,
    /// Next segment to send when the state began: the state ends when everything before it is acknowledged.
    high_seq: u32,
    undo: Undo,
    /// The tail loss probe that is out.
    probe: Option<Probe>,
    pub rack: Rack,
    pub scoreboard: Scoreboard,
    /// Congestion that the network reports, and the answer to it.
    pub ecn: SenderEcn,
}

impl Recovery {
    /// The state of a new connection.
    pub fn new() -> Recovery {
        Recovery {
            state: State::Open,
            high_seq: 0,
            undo: Undo::default(),
            probe: None,
            rack: Rack::default(),
            scoreboard: Scoreboard::default(),
            ecn: SenderEcn::default(),
        }
    }

    /// The state, without its data.
    #[inline]
    pub fn ca_state(&self) -> CaState {
        self.state.ca_state()
    }

    /// Next segment to send when the state began.
    #[inline]
    pub fn high_seq(&self) -> u32 {
        self.high_seq
    }

    /// Whether a tail loss probe is out.
    #[inline]
    pub fn is_probing(&self) -> bool {
        self.probe.is_some()
    }

    /// Whether PRR shrinks the window.
    #[inline]
    pub fn is_reducing(&self) -> bool {
        matches!(self.state, State::Cwr(_) | State::Recovery(_))
    }

    /// `tcp_current_ssthresh`.
    pub fn current_ssthresh(&self, sk: &Socket) -> u32 {
        if self.is_reducing() {
            sk.snd_ssthresh
        } else {
            sk.ssthresh_to_restore()
        }
    }

    /// `n` segments were sent, new or again.
    #[inline]
    pub fn on_send(&mut self, n: u32) {
        if let State::Cwr(prr) | State::Recovery(prr) = &mut self.state {
            prr.on_send(n);
        }
    }

    /// `n` segments were marked as sent again; the first of them carried timestamp `at_ms`.
    pub fn on_retransmit(&mut self, n: u32, at_ms: u32) {
        self.undo.on_retransmit(n, at_ms);
    }

    /// A tail loss probe left, after which `probe.end` is the next segment to send.
    pub fn on_probe_sent(&mut self, probe: Probe) {
        self.probe = Some(probe);
    }

    /// The new data that F-RTO asked for could not be sent.
    pub fn on_no_new_data(&mut self) {
        if let State::Loss(frto) = &mut self.state {
            *frto = Frto::Lost;
        }
    }

    /// PRR's window after an ACK; false where the state does not reduce it.
    #[inline]
    pub fn reduce(&mut self, sk: &mut Socket, acked: i32, losses: i32, una_advanced: bool) -> bool {
        match &mut self.state {
            State::Cwr(prr) | State::Recovery(prr) => {
                prr.reduce(sk, acked, losses, una_advanced);
                true
            }
            State::Open | State::Disorder | State::Loss(_) => false,
        }
    }

    fn set_state(&mut self, sk: &mut Socket, state: State) {
        sk.set_ca_state(state.ca_state());
        self.state = state;
    }

    fn set_high_seq(&mut self, sk: &mut Socket, rtx: &RtxQueue) {
        self.high_seq = rtx.nxt();
        sk.high_seq = sk.snd_nxt;
    }

    fn any_retrans_done(sk: &Socket, rtx: &RtxQueue) -> bool {
        sk.retrans_out > 0 || (!rtx.is_empty() && rtx.flags(rtx.una()) & EVER_RETRANS != 0)
    }

    fn begin_undo(&mut self, sk: &mut Socket, rtx: &RtxQueue) {
        let is_probe_retrans = self.probe.is_some_and(|probe| probe.is_retrans);
        self.undo.begin(sk, rtx.una(), is_probe_retrans);
    }

    /// The controller sets the threshold that PRR goes to (`tcp_init_cwnd_reduction`).
    fn begin_reduction(&mut self, sk: &mut Socket, rtx: &RtxQueue) -> Prr {
        self.set_high_seq(sk, rtx);
        self.probe = None;
        sk.snd_cwnd_cnt = 0;
        sk.prior_cwnd = sk.snd_cwnd;
        sk.snd_ssthresh = sk.ssthresh();
        self.ecn.queue_cwr();
        Prr::default()
    }

    /// `tcp_end_cwnd_reduction`.
    fn end_reduction(&mut self, sk: &mut Socket) {
        if sk.has_cong_control() {
            return;
        }
        let is_cwr = matches!(self.state, State::Cwr(_));
        if sk.snd_ssthresh < cca::INFINITE_SSTHRESH && (is_cwr || self.undo.is_armed()) {
            sk.snd_cwnd = sk.snd_ssthresh;
            sk.snd_cwnd_stamp = sk.jiffies;
        }
        sk.cwnd_event(CaEvent::CompleteCwr);
    }

    /// Explicit congestion: reduce once per window, without undo (`tcp_enter_cwr`).
    fn enter_cwr(&mut self, sk: &mut Socket, rtx: &RtxQueue) {
        sk.prior_ssthresh = 0;
        if self.ca_state() < CaState::Cwr {
            self.undo.clear(sk);
            let prr = self.begin_reduction(sk, rtx);
            self.set_state(sk, State::Cwr(prr));
        }
    }

    /// A loaded module may have asked for a reduction (`tcp_enter_cwr`).
    #[inline]
    pub fn grant_cwr(&mut self, sk: &mut Socket, rtx: &RtxQueue) {
        if sk.takes_cwr_request() {
            self.enter_cwr(sk, rtx);
        }
    }

    /// Loss was found without a timeout; `ece` when the ACK reports marks, too (`tcp_enter_recovery`).
    pub fn enter_recovery(&mut self, sk: &mut Socket, rtx: &RtxQueue, ece: bool) {
        if !Self::any_retrans_done(sk, rtx) {
            self.undo.forget_stamp();
        }
        sk.prior_ssthresh = 0;
        self.begin_undo(sk, rtx);
        let prr = match self.state {
            State::Cwr(prr) | State::Recovery(prr) => prr,
            State::Open | State::Disorder | State::Loss(_) => {
                if !ece {
                    sk.prior_ssthresh = sk.ssthresh_to_restore();
                }
                self.begin_reduction(sk, rtx)
            }
        };
        sk.stats.recoveries += 1;
        self.set_state(sk, State::Recovery(prr));
    }

    /// The retransmission timer expired (`tcp_enter_loss`).
    pub fn enter_loss(&mut self, sk: &mut Socket, rtx: &mut RtxQueue) {
        let state = self.ca_state();
        self.mark_timed_out(sk, rtx);
        if state <= CaState::Disorder
            || self.high_seq <= rtx.una()
            || (state == CaState::Loss && sk.icsk_retransmits == 0)
        {
            sk.prior_ssthresh = self.current_ssthresh(sk);
            sk.prior_cwnd = sk.snd_cwnd;
            sk.snd_ssthresh = sk.ssthresh();
            sk.cwnd_event(CaEvent::Loss);
            self.begin_undo(sk, rtx);
        }
        sk.snd_cwnd = sk.packets_in_flight() + 1;
        sk.snd_cwnd_cnt = 0;
        sk.snd_cwnd_stamp = sk.jiffies;
        if state <= CaState::Disorder && sk.sacked_out >= REORDERING {
            sk.reordering = sk.reordering.min(REORDERING);
        }
        let asks = state < CaState::Recovery || sk.icsk_retransmits > 0;
        self.set_state(sk, State::Loss(if asks { Frto::Undecided } else { Frto::Lost }));
        self.set_high_seq(sk, rtx);
        self.probe = None;
        self.ecn.queue_cwr();
    }

    /// Marks the head and everything older than RACK's RTT as lost; a SACKed head means that the
    /// receiver reneged, and all SACK marks go.
    fn mark_timed_out(&mut self, sk: &mut Socket, rtx: &mut RtxQueue) {
        let head = rtx.una();
        let lost_before = sk.lost;
        let is_reneged = !rtx.is_empty() && rtx.flags(head) & SACKED != 0;
        if is_reneged {
            self.scoreboard.forget(sk, rtx);
        }
        let mut seq = head;
        while seq < rtx.nxt() {
            let n = rtx.burst_at(seq);
            let is_old = || rack::remaining_us(sk, rtx.stamps(seq).tx_us, 0) <= 0;
            if is_reneged || seq == head || is_old() {
                mark_lost(sk, rtx, seq, n);
            }
            seq += n;
        }
        let lost = sk.lost.wrapping_sub(lost_before);
        if lost > 0 {
            sk.log(SenderEvent::Lost(lost));
        }
    }

    /// Open, or Disorder while something is out of order (`tcp_try_keep_open`).
    fn try_keep_open(&mut self, sk: &mut Socket, rtx: &RtxQueue) {
        let left_out = sk.sacked_out + sk.lost_out;
        let is_disordered = left_out > 0 || Self::any_retrans_done(sk, rtx);
        let state = if is_disordered { State::Disorder } else { State::Open };
        if self.state != state {
            self.set_state(sk, state);
            self.set_high_seq(sk, rtx);
        }
    }

    /// The window and threshold from before the reduction come back (`tcp_undo_cwnd_reduction`).
    fn undo_reduction(&mut self, sk: &mut Socket) {
        if sk.prior_ssthresh > 0 {
            sk.snd_cwnd = sk.undo_cwnd();
            if sk.prior_ssthresh > sk.snd_ssthresh {
                sk.snd_ssthresh = sk.prior_ssthresh;
                self.ecn.withdraw_cwr();
            }
        }
        sk.snd_cwnd_stamp = sk.jiffies;
        self.undo.clear(sk);
        self.rack.look_again();
        sk.stats.undos += 1;
        sk.log(SenderEvent::Undo);
    }

    /// The same, and no segment counts as lost any more.
    fn undo_losses(&mut self, sk: &mut Socket, rtx: &mut RtxQueue) {
        unmark_lost(sk, rtx);
        self.undo_reduction(sk);
    }
}
