//! RACK: a segment is lost when one sent sufficiently later was delivered (net/ipv4/tcp_recovery.c,
//! RFC 8985).

use super::rtx_queue::{APP_LIMITED, LOST, RETRANS, SACKED, SAMPLED, SKB_START};
use super::sender::{Sender, SenderEvent};
use super::timer::Pending;
use cca::{CaState, LostBurst};

/// Reordering that is tolerated before it is seen (`sysctl_tcp_reordering`), segments.
pub const REORDERING: u32 = 3;
/// Recoveries for which a widened reordering window is kept (`TCP_RACK_RECOVERY_THRESH`).
const RECOVERY_THRESH: u8 = 16;
/// Added to each wait, us (`TCP_TIMEOUT_MIN_US`).
pub const TIMEOUT_MIN_US: u32 = 2_000;

/// What RACK remembers of the most recently sent segment that was delivered.
#[derive(Clone, Copy, Debug)]
pub struct Rack {
    /// When it was sent, us.
    mstamp: u32,
    /// Segment after it.
    end_seq: u32,
    /// Something was delivered since the last detection.
    pub(super) advanced: bool,
    /// A duplicate was reported that reordering explains.
    pub(super) dsack_seen: bool,
    last_delivered: u32,
    reo_wnd_steps: u8,
    pub(super) reo_wnd_persist: u8,
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
pub(super) fn sent_after(t1: u32, t2: u32, seq1: u32, seq2: u32) -> bool {
    (t1.wrapping_sub(t2) as i32) > 0 || (t1 == t2 && seq1 > seq2)
}

impl Sender {
    /// A segment was delivered (`tcp_rack_advance`).
    #[inline]
    pub(super) fn rack_advance(&mut self, flags: u8, end_seq: u32, tx_us: u32) {
        let rtt_us = self.us_since(tx_us);
        if flags & super::rtx_queue::EVER_RETRANS != 0 && rtt_us < self.min_rtt_us() {
            return;
        }
        self.sk.rack_rtt_us = rtt_us;
        let rack = &mut self.rack;
        rack.advanced = true;
        if sent_after(tx_us, rack.mstamp, end_seq, rack.end_seq) {
            rack.mstamp = tx_us;
            rack.end_seq = end_seq;
        }
    }

    /// Adapts the reordering window to reported duplicates (`tcp_rack_update_reo_wnd`).
    pub(super) fn rack_update_reo_wnd(&mut self, prior_delivered: Option<u32>) {
        let Some(prior_delivered) = prior_delivered else { return };
        let rack = &mut self.rack;
        if (prior_delivered.wrapping_sub(rack.last_delivered) as i32) < 0 {
            rack.dsack_seen = false;
        }
        if rack.dsack_seen {
            rack.reo_wnd_steps = rack.reo_wnd_steps.saturating_add(1);
            rack.dsack_seen = false;
            rack.last_delivered = self.sk.delivered;
            rack.reo_wnd_persist = RECOVERY_THRESH;
        } else if rack.reo_wnd_persist == 0 {
            rack.reo_wnd_steps = 1;
        }
    }

    fn reo_wnd_us(&self) -> u32 {
        if self.reord_seen == 0
            && (self.ca_state() >= CaState::Recovery || self.sk.sacked_out >= self.sk.reordering)
        {
            return 0;
        }
        let steps = u32::from(self.rack.reo_wnd_steps);
        (self.min_rtt_us() / 4).saturating_mul(steps).min(self.sk.srtt_us >> 3)
    }

    /// Time left before `seq` counts as lost, us; not positive when it is.
    pub(super) fn rack_remaining_us(&self, seq: u32, reo_wnd_us: u32) -> i32 {
        let age = self.us_since(self.rtx.stamps(seq).tx_us);
        (self.sk.rack_rtt_us + reo_wnd_us).wrapping_sub(age) as i32
    }

    /// Marks what is lost; returns the longest wait for what may only be reordered, us
    /// (`tcp_rack_detect_loss`).
    fn rack_detect_loss(&mut self) -> u32 {
        let reo_wnd = self.reo_wnd_us();
        let mut wait = 0;
        let lost_before = self.sk.lost;
        let mut cursor = self.rtx.oldest();
        while let Some(seq) = cursor {
            let last = seq + self.burst_at(seq) - 1;
            cursor = self.rtx.sent_after(seq);
            let flags = self.rtx.flags(seq);
            if flags & (LOST | RETRANS) == LOST {
                continue;
            }
            let tx_us = self.rtx.stamps(seq).tx_us;
            if !sent_after(self.rack.mstamp, tx_us, self.rack.end_seq, last + 1) {
                break;
            }
            let remaining = self.rack_remaining_us(seq, reo_wnd);
            if remaining <= 0 {
                cursor = self.rtx.sent_after(last);
                self.mark_lost(seq, last + 1 - seq);
                (seq..=last).for_each(|seq| self.rtx.unlink(seq));
            } else {
                wait = wait.max(remaining as u32);
            }
        }
        let lost = self.sk.lost.wrapping_sub(lost_before);
        if lost > 0 {
            self.log(SenderEvent::Lost(lost));
        }
        wait
    }

    /// `tcp_rack_mark_lost`; true when the reordering timer was armed.
    pub(super) fn rack_mark_lost(&mut self) -> bool {
        if !std::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let wait = self.rack_detect_loss();
        if wait > 0 {
            let delay = self.tick.from_us(u64::from(wait + TIMEOUT_MIN_US)).min(self.sk.icsk_rto);
            self.timer.arm(Pending::Reo, self.tick.wheel(self.now, delay));
        }
        wait > 0
    }

    /// The reordering timer fired (`tcp_rack_reo_timeout`).
    pub(super) fn on_reo_timeout(&mut self) {
        let prior_in_flight = self.in_flight();
        let lost = self.sk.lost;
        self.rack_detect_loss();
        if prior_in_flight != self.in_flight() {
            if self.ca_state() != CaState::Recovery {
                self.enter_recovery(false);
                if !self.ca.has_cong_control() {
                    self.cwnd_reduction(1, self.sk.lost.wrapping_sub(lost) as i32, false);
                }
            }
            self.retransmit_queue();
        }
        if self.timer.pending() != Some(Pending::Rto) {
            self.rearm_rto();
        }
    }

    /// Segments from `seq` that are one buffer (`skb`) still: sent together, and alike since.
    pub(super) fn burst_at(&self, seq: u32) -> u32 {
        const ALIKE: u8 = LOST | RETRANS | SACKED;
        let flags = self.rtx.flags(seq) & ALIKE;
        let mut end = seq + 1;
        while end < self.rtx.nxt() && self.rtx.flags(end) & (SKB_START | ALIKE) == flags {
            end += 1;
        }
        end - seq
    }

    /// `tcp_mark_skb_lost` for a buffer of `n` segments; the controller is told of it as a whole.
    pub(super) fn mark_lost(&mut self, seq: u32, n: u32) {
        let flags = self.rtx.flags(seq);
        if flags & SACKED != 0 || flags & (LOST | RETRANS) == LOST {
            return;
        }
        if flags & LOST == 0 {
            self.sk.lost_out += n;
        } else {
            self.sk.retrans_out -= n;
        }
        for seq in seq..seq + n {
            let flags = self.rtx.flags(seq);
            let was_lost = flags & LOST != 0;
            self.rtx.set_flags(seq, if was_lost { flags & !RETRANS } else { flags | LOST });
        }
        self.sk.lost = self.sk.lost.wrapping_add(n);
        self.stats.lost += u64::from(n);
        if self.ca.wants_losses() {
            self.tell_lost(seq, n);
        }
    }

    /// What the burst was sent with; a segment whose stamps served a sample already has none.
    fn tell_lost(&mut self, seq: u32, n: u32) {
        let flags = self.rtx.flags(seq);
        let stamps = *self.rtx.stamps(seq + n - 1);
        let has_stamps = flags & SAMPLED == 0;
        let burst = LostBurst {
            segs: n,
            tx_in_flight: if has_stamps { stamps.in_flight } else { 0 },
            lost_at_send: stamps.lost,
            delivered_at_send: stamps.delivered,
            is_app_limited: flags & APP_LIMITED != 0,
        };
        self.ca.skb_marked_lost(&mut self.sk, &burst);
    }
}
