//! Acknowledgements that are older than one that came before them (PAWS, RFC 7323, section 5; `tcp_validate_incoming` in
//! net/ipv4/tcp_input.c): where packets overtake each other on the way up.

use super::super::ack_state::AckState;
use super::Sender;
use net::TcpAck;

/// A timestamp may be this much older than the newest, ms (`TCP_PAWS_WINDOW`).
const WINDOW_MS: i32 = 1;
/// Answers to what is out of place are this much apart, ms (`sysctl_tcp_invalid_ratelimit`).
const APART_MS: u32 = 500;

impl Sender {
    /// Whether an acknowledgement is discarded unread, because it is old by its timestamp (`tcp_paws_discard`). One that
    /// acknowledges what is acknowledged and does not open the window may be old by 1.2 RTO: it is a duplicate that was
    /// overtaken (`tcp_disordered_ack`).
    #[inline]
    pub(super) fn is_discarded(&self, ack: &TcpAck) -> bool {
        let age_ms = self.peer_ts_val.wrapping_sub(ack.ts_val) as i32;
        age_ms > WINDOW_MS && !self.is_disordered(ack, age_ms)
    }

    #[cold]
    fn is_disordered(&self, ack: &TcpAck, age_ms: i32) -> bool {
        let opens_window = ack.window > self.sk.snd_wnd || ack.window == 0;
        let rto_ms = self.sk.tick().to_us(self.sk.icsk_rto) / 1000;
        ack.ack == self.rtx.una() && !opens_window && age_ms as u64 <= rto_ms * 12 / 10
    }

    /// Notes the timestamp, unless it is older than the newest (`tcp_replace_ts_recent`).
    #[inline]
    pub(super) fn note_timestamp(&mut self, ack: &TcpAck, st: &mut AckState) {
        let newer_ms = ack.ts_val.wrapping_sub(self.peer_ts_val) as i32;
        st.is_newer = newer_ms > 0;
        if st.is_newer {
            self.peer_ts_val = ack.ts_val;
        }
    }

    /// What is out of place is answered with an ACK, half a second after the last such answer at the earliest
    /// (`tcp_send_dupack`, `tcp_send_challenge_ack`, `tcp_oow_rate_limited`): a SYN-ACK that comes again, because the ACK of
    /// the first was lost, or what was discarded.
    #[cold]
    pub(super) fn answer_misplaced(&mut self) {
        let now = self.sk.jiffies;
        let apart = self.sk.tick().from_us(u64::from(APART_MS) * 1000);
        if self.answered.is_some_and(|before| now.wrapping_sub(before) < apart) {
            return;
        }
        self.answered = Some(now);
        self.send_bare_ack();
    }
}
