//! RACK: a segment is lost when one sent sufficiently later was delivered (net/ipv4/tcp_recovery.c,
//! RFC 8985).

use super::super::rtx_queue::{RtxQueue, EVER_RETRANS, LOST, RETRANS};
use super::super::timer::{Pending, XmitTimer};
use super::marks::mark_lost;
use crate::common::{SenderEvent, Socket};
use cca::CaState;

/// Reordering that is tolerated before it is seen (`sysctl_tcp_reordering`), segments.
pub const REORDERING: u32 = 3;
/// Recoveries for which a widened reordering window is kept (`TCP_RACK_RECOVERY_THRESH`).
const RECOVERY_THRESH: u8 = 16;
/// Added to each wait, us (`TCP_TIMEOUT_MIN_US`).
pub const TIMEOUT_MIN_US: u32 = 2_000;

/// What RACK remembers of the segment sent last among those that were delivered, and its reordering window.
#[derive(Clone, Copy, Debug)]
pub struct Rack {
    /// When it was sent, us.
    mstamp: u32,
    /// Segment after it.
    end_seq: u32,
    /// Something was delivered, or the marks changed, since the last detection.
    advanced: bool,
    /// A duplicate was reported that reordering explains.
    dsack_seen: bool,
    last_delivered: u32,
    reo_wnd_steps: u8,
    reo_wnd_persist: u8,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            mstamp: 0,
            end_seq: 0,
            advanced: false,
            dsack_seen: false,
            last_delivered: 0,
            reo_wnd_steps: 1,
            reo_wnd_persist: 0,
        }
    }
}

/// `tcp_skb_sent_after`: later, or at the same time with a higher sequence number.
#[inline]
pub fn sent_after(t1: u32, t2: u32, seq1: u32, seq2: u32) -> bool {
    (t1.wrapping_sub(t2) as i32) > 0 || (t1 == t2 && seq1 > seq2)
}

impl Rack {
    /// The segment before `end_seq`, sent last at `tx_us`, was delivered (`tcp_rack_advance`).
    #[inline]
    pub fn advance(&mut self, sk: &mut Socket, flags: u8, end_seq: u32, tx_us: u32) {
        let rtt_us = sk.us_since(tx_us);
        if flags & EVER_RETRANS != 0 && rtt_us < sk.min_rtt_us() {
            return;
        }
        sk.rack_rtt_us = rtt_us;
        self.advanced = true;
        if sent_after(tx_us, self.mstamp, end_seq, self.end_seq) {
            self.mstamp = tx_us;
            self.end_seq = end_seq;
        }
    }

    /// Marks that were taken back are looked at again with the next ACK.
    pub fn look_again(&mut self) {
        self.advanced = true;
    }

    /// A DSACK reports a duplicate that reordering explains.
    pub fn on_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// A recovery proved needless: the widened window is kept for one more.
    pub fn keep_window(&mut self) {
        self.reo_wnd_persist = RECOVERY_THRESH.min(self.reo_wnd_persist + 1);
    }

    /// A recovery ended and was needed.
    pub fn on_recovery(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
    }

    /// Adapts the reordering window to reported duplicates (`tcp_rack_update_reo_wnd`). `delivered` is the count
    /// now, `prior_delivered` that at the send of the segment which defines the rate sample.
    #[inline]
    pub fn update_reo_wnd(&mut self, delivered: u32, prior_delivered: Option<u32>) {
        let Some(prior_delivered) = prior_delivered else { return };
        if (prior_delivered.wrapping_sub(self.last_delivered) as i32) < 0 {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.reo_wnd_steps = self.reo_wnd_steps.saturating_add(1);
            self.dsack_seen = false;
            self.last_delivered = delivered;
            self.reo_wnd_persist = RECOVERY_THRESH;
        } else if self.reo_wnd_persist == 0 {
            self.reo_wnd_steps = 1;
        }
    }

    fn reo_wnd_us(&self, sk: &Socket, state: CaState) -> u32 {
        if sk.reord_seen == 0 && (state >= CaState::Recovery || sk.sacked_out >= sk.reordering) {
            return 0;
        }
        let steps = u32::from(self.reo_wnd_steps);
        (sk.min_rtt_us() / 4).saturating_mul(steps).min(sk.srtt_us >> 3)
    }

    /// Marks what is lost; returns the longest wait for what may only be reordered, us
    /// (`tcp_rack_detect_loss`).
    pub fn detect_loss(&self, sk: &mut Socket, rtx: &mut RtxQueue, state: CaState) -> u32 {
        let reo_wnd = self.reo_wnd_us(sk, state);
        let mut wait = 0;
        let lost_before = sk.lost;
        let mut cursor = rtx.oldest();
        while let Some(seq) = cursor {
            let last = seq + rtx.burst_at(seq) - 1;
            cursor = rtx.sent_after(seq);
            let flags = rtx.flags(seq);
            if flags & (LOST | RETRANS) == LOST {
                continue;
            }
            let tx_us = rtx.stamps(seq).tx_us;
            if !sent_after(self.mstamp, tx_us, self.end_seq, last + 1) {
                break;
            }
            let remaining = remaining_us(sk, tx_us, reo_wnd);
            if remaining <= 0 {
                cursor = rtx.sent_after(last);
                mark_lost(sk, rtx, seq, last + 1 - seq);
                (seq..=last).for_each(|seq| rtx.unlink(seq));
            } else {
                wait = wait.max(remaining as u32);
            }
        }
        let lost = sk.lost.wrapping_sub(lost_before);
        if lost > 0 {
            sk.log(SenderEvent::Lost(lost));
        }
        wait
    }

    /// After an ACK: marks what is lost, and arms the reordering timer for what may be; says whether it is armed
    /// (`tcp_rack_mark_lost`).
    pub fn on_ack(
        &mut self,
        sk: &mut Socket,
        rtx: &mut RtxQueue,
        timer: &mut XmitTimer,
        state: CaState,
    ) -> bool {
        if !std::mem::take(&mut self.advanced) {
            return false;
        }
        let wait = self.detect_loss(sk, rtx, state);
        if wait > 0 {
            let delay = sk.tick().from_us(u64::from(wait + TIMEOUT_MIN_US)).min(sk.icsk_rto);
            timer.arm(Pending::Reo, sk.wheel(delay));
        }
        wait > 0
    }
}

/// Time left before a segment sent at `tx_us` counts as lost, us; not positive when it is.
#[inline]
pub fn remaining_us(sk: &Socket, tx_us: u32, reo_wnd_us: u32) -> i32 {
    (sk.rack_rtt_us + reo_wnd_us).wrapping_sub(sk.us_since(tx_us)) as i32
}
