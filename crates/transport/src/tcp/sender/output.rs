//! What may be sent, when, and in pieces of what size (`tcp_write_xmit` and what it calls in
//! net/ipv4/tcp_output.c).

use super::super::ack_state::Rexmit;
use super::super::cwnd_use::Usage;
use super::super::limits::Limit;
use super::super::timer::Pending;
use super::Sender;
use crate::common::{Conn, Socket};
use cca::CaState;
use net::frame::SKB_OVERHEAD;

/// log2 us of the RTT at which the autosized burst loses half its RTT term
/// (`sysctl_tcp_tso_rtt_log`).
const TSO_RTT_LOG: u32 = 9;
/// Sends are not held back when the last one was longer ago than this, ns.
const DEFER_RECENT_NS: i64 = 1_000_000;

/// Who asks for transmission.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Push {
    /// ACK processing, a timer or the application.
    Window,
    /// The application, in the midst of a long write; Nagle's rule does not hold it.
    Forced,
    /// The same: one send, not deferred (`tcp_push_one`).
    One,
    /// Tail loss probe: one send, whatever the window says.
    Probe,
}

/// What is sent next.
#[derive(Clone, Copy)]
pub(super) struct Next {
    /// Segments.
    pub segments: u32,
    /// The receive window or the buffer ends this many bytes into the last of them.
    pub cut: Option<u32>,
}

/// What stopped `write_xmit` from sending.
#[derive(Default)]
struct Limited {
    by_cwnd: bool,
    by_receive_window: bool,
}

impl Sender {
    /// `tcp_push_pending_frames`; says whether anything was sent.
    #[inline]
    pub(super) fn push_pending(&mut self) -> bool {
        self.push_pending_as(Push::Window)
    }

    /// The same, on behalf of `push`. What waits while nothing is out waits for the window, which is probed
    /// (`tcp_check_probe_timer`).
    #[inline]
    pub(super) fn push_pending_as(&mut self, push: Push) -> bool {
        if self.unsent() == 0 {
            return false;
        }
        let has_sent = self.write_xmit(push);
        if self.sk.packets_out == 0 && self.timer.pending().is_none() && self.unsent() > 0 {
            self.arm_first_window_probe();
        }
        has_sent
    }

    /// After the host queue freed memory or the pacing timer fired (`tcp_tsq_write`).
    pub(super) fn resume_sending(&mut self) {
        if self.conn != Conn::Established {
            return;
        }
        if self.sk.lost_out > self.sk.retrans_out && self.sk.snd_cwnd > self.in_flight() {
            self.retransmit_queue();
        }
        self.push_pending();
    }

    /// Largest burst now, segments (`tcp_tso_segs`).
    pub(super) fn tso_segs(&mut self) -> u32 {
        if let Some(segs) = self.sk.tso_segs() {
            return segs.min(u32::from(self.sk.sk_gso_max_segs));
        }
        let min_segs = self.sk.min_tso_segs().unwrap_or(self.config.min_tso_segs);
        let sk = &self.sk;
        let mut bytes = sk.sk_pacing_rate >> sk.sk_pacing_shift;
        let halvings = sk.min_rtt_us() >> TSO_RTT_LOG;
        if halvings < u32::BITS {
            bytes = bytes.saturating_add(u64::from(sk.sk_gso_max_size >> halvings));
        }
        let bytes = bytes.min(u64::from(sk.sk_gso_max_size)) as u32;
        (bytes / sk.mss_cache).max(min_segs).min(u32::from(sk.sk_gso_max_segs))
    }

    /// Sends new data as far as window, pacing and the host queue allow. There is one copy of it for all that lets data out, because
    /// the code that a packet runs is as large as a processor's first cache of instructions. Says whether anything was sent.
    #[inline(never)]
    pub(super) fn write_xmit(&mut self, push: Push) -> bool {
        let max_segs = self.tso_segs();
        let mut limited = Limited::default();
        let mut sent = 0;
        self.limits.start(Limit::Busy, self.sk.jiffies);
        // The loss probe that is scheduled below replaces whatever a send arms.
        let schedules_probe = push != Push::Probe && self.may_probe();
        while let Some(next) = self.next_send(push, max_segs, &mut limited) {
            let prior = self.sk.packets_out;
            self.send_new(next);
            if !schedules_probe {
                self.rearm_after_send(prior);
            }
            self.check_space();
            sent += next.segments;
            if matches!(push, Push::One | Push::Probe) {
                break;
            }
        }
        self.note_receive_window(limited.by_receive_window);
        limited.by_cwnd |= self.in_flight() >= self.sk.snd_cwnd;
        if sent > 0 || limited.by_cwnd {
            self.validate_cwnd(limited.by_cwnd);
        }
        if sent > 0 {
            self.recovery.on_send(sent);
            if push != Push::Probe {
                self.schedule_loss_probe(false);
            }
        }
        sent > 0
    }

    /// Notes whether the receive window was the limit.
    #[inline]
    fn note_receive_window(&mut self, is_limit: bool) {
        if is_limit {
            self.limits.start(Limit::ReceiveWindow, self.sk.jiffies);
        } else {
            self.limits.stop(Limit::ReceiveWindow, self.sk.jiffies);
        }
    }

    /// Notes whether the window was the limit, and shrinks one that was left unused.
    fn validate_cwnd(&mut self, is_cwnd_limited: bool) {
        let (una, nxt) = self.window();
        let usage = self.cwnd_use.validate(&mut self.sk, una, nxt, is_cwnd_limited);
        if usage != Usage::Full && self.unsent() == 0 && self.is_writer_stopped() {
            self.limits.start(Limit::SendBuffer, self.sk.jiffies);
        }
        if usage != Usage::Idle || !self.config.slow_start_after_idle || self.sk.has_cong_control()
        {
            return;
        }
        // A writer that waits for buffer space is not what limits the flow; the receive window may be.
        if self.recovery.ca_state() == CaState::Open && !self.is_writer_waiting() {
            let ssthresh = self.recovery.current_ssthresh(&self.sk);
            let least = self.config.initial_window;
            self.cwnd_use.give_up_unused(&mut self.sk, ssthresh, least);
        }
        self.sk.snd_cwnd_stamp = self.sk.jiffies;
    }

    /// The next send, or `None` with the reason noted.
    fn next_send(&mut self, push: Push, max_segs: u32, limited: &mut Limited) -> Option<Next> {
        let unsent = self.unsent();
        if unsent == 0 || self.is_paced_out() {
            return None;
        }
        let free = self.sk.snd_cwnd.saturating_sub(self.in_flight());
        let quota = match self.cwnd_quota(free) {
            0 if push == Push::Probe => 1,
            0 => return None,
            quota => quota,
        };
        let quota = quota.min(max_segs);
        if quota == max_segs && unsent > quota && self.is_burst_held(quota) {
            return None;
        }
        let (sk, mss) = (&self.sk, self.config.mss);
        let bytes = self.supply.grow_front(self.rtx.nxt(), quota, || buffer_segs(sk, mss));
        let len = unsent.min(bytes.div_ceil(u64::from(mss)) as u32);
        let window = self.window_left();
        if window < u64::from(mss) && window < self.supply.bytes_of_next(self.rtx.nxt(), 1) {
            limited.by_receive_window = true;
            return None;
        }
        let defers = matches!(push, Push::Window | Push::Forced);
        if len > 1 && defers && self.should_defer(len, max_segs, (free, window), limited) {
            return None;
        }
        let next = self.split(quota.min(len), len, bytes, window, push);
        if next.segments == 0 {
            return None;
        }
        let bytes = self.supply.bytes_of_next(self.rtx.nxt(), next.segments);
        if self.is_queue_full(bytes, 0) {
            self.supply.split_front(bytes);
            return None;
        }
        Some(next)
    }

    /// How much of the first buffer of the write queue, `len` segments or `front` bytes, may leave when `most` segments may:
    /// as many bytes as the receive window takes, whole segments if Nagle's rule holds the rest (`tcp_mss_split_point`,
    /// `tcp_nagle_test`).
    #[inline]
    fn split(&self, most: u32, len: u32, front: u64, window: u64, push: Push) -> Next {
        let (nxt, mss) = (self.rtx.nxt(), u64::from(self.config.mss));
        let bytes = self.supply.bytes_of_next(nxt, most);
        let holds = !self.config.nodelay && push == Push::Window;
        if window < bytes {
            let (whole, rest) = ((window / mss) as u32, (window % mss) as u32);
            if rest == 0 || (holds && self.is_nagle_holding()) {
                return Next { segments: whole, cut: None };
            }
            return Next { segments: whole + 1, cut: Some(rest) };
        }
        if front < bytes {
            // The buffer ends within a segment, where the window cut an earlier send.
            return Next { segments: most, cut: Some((front - u64::from(most - 1) * mss) as u32) };
        }
        // The rest of a longer buffer is no obstacle, because what leaves is whole segments.
        let is_short = most == len && bytes < u64::from(most) * mss;
        let held = u32::from(is_short && holds && self.is_nagle_holding());
        Next { segments: most - held, cut: None }
    }

    /// Whether Nagle's rule holds a short segment (`tcp_nagle_check`).
    fn is_nagle_holding(&self) -> bool {
        self.sk.packets_out > 0 && self.supply.is_short_out(self.rtx.una(), self.rtx.nxt())
    }

    /// `tcp_cwnd_test`: of the segments that the window has `free`, at most half a window in one go.
    #[inline]
    fn cwnd_quota(&self, free: u32) -> u32 {
        free.min((self.sk.snd_cwnd / 2).max(1))
    }

    /// Whether TCP's own pacing holds the next packet; arms its timer if so (`tcp_pacing_check`).
    pub(super) fn is_paced_out(&mut self) -> bool {
        if self.sk.sk_pacing_status != cca::SK_PACING_NEEDED
            || self.sk.tcp_wstamp_ns <= self.sk.tcp_clock_cache
        {
            return false;
        }
        if !self.pacing_timer.is_set() {
            self.pacing_timer = self.wstamp_time();
        }
        true
    }

    /// Whether a largest burst, of `n` segments, which the congestion window takes and after which more waits, is held by the
    /// host queue alone. [`Sender::next_send`] comes to the same by way of all that may end or defer a burst; most calls end
    /// here, after a send or with an acknowledgement.
    #[inline]
    fn is_burst_held(&mut self, n: u32) -> bool {
        let bytes = u64::from(n) * u64::from(self.config.mss);
        let is_held = self.is_above_limit(bytes, 0)
            && self.supply.has_front(bytes)
            && self.window_left() >= bytes;
        if is_held {
            self.host.throttle();
            self.supply.split_front(bytes);
        }
        is_held
    }

    /// `tcp_small_queue_check` for a send of `bytes`; a `factor` of 1 doubles the limit (retransmits).
    pub(super) fn is_queue_full(&mut self, bytes: u64, factor: u32) -> bool {
        let is_full = self.is_above_limit(bytes, factor);
        if is_full {
            self.host.throttle();
        }
        is_full
    }

    /// Whether the host holds more data of this socket than it may before a send of `bytes`.
    #[inline]
    fn is_above_limit(&self, bytes: u64, factor: u32) -> bool {
        let sk = &*self.sk;
        let truesize = bytes + u64::from(SKB_OVERHEAD);
        let mut limit = (2 * truesize).max(sk.sk_pacing_rate >> sk.sk_pacing_shift);
        if sk.sk_pacing_status == cca::SK_PACING_NONE {
            limit = limit.min(1 << 20);
        }
        self.host.wmem_alloc() > limit << factor && self.rtx.buffers() > 1
    }

    /// `tcp_tso_should_defer`: wait for the next ACK so that the burst gets larger, while the congestion window has
    /// `free` segments left and the receive window takes `send_win` bytes?
    #[inline]
    fn should_defer(
        &self,
        len: u32,
        max_segs: u32,
        (free, send_win): (u32, u64),
        limited: &mut Limited,
    ) -> bool {
        let sk = &*self.sk;
        let since_send = sk.tcp_clock_cache.wrapping_sub(sk.tcp_wstamp_ns) as i64;
        if self.recovery.ca_state() >= CaState::Recovery || since_send - DEFER_RECENT_NS > 0 {
            return false;
        }
        let mss = u64::from(self.config.mss);
        let cong_win = u64::from(free) * mss;
        let limit = send_win.min(cong_win);
        if limit >= u64::from(max_segs) * mss {
            return false;
        }
        let len_bytes = self.supply.bytes_of_next(self.rtx.nxt(), len);
        let unsent = self.unsent();
        let usable = u64::from(sk.snd_wnd).min(u64::from(sk.snd_cwnd) * mss);
        if (len < unsent && limit >= len_bytes)
            || limit >= usable / u64::from(self.config.tso_win_divisor)
            || self.rtx.is_empty()
            || self.is_next_ack_far()
        {
            return false;
        }
        if limit <= len_bytes {
            limited.by_cwnd |= cong_win < send_win;
            limited.by_receive_window |= cong_win >= send_win;
            return true;
        }
        // No FIN tells that nothing will follow: the application closes once the other side has everything.
        true
    }

    /// Whether the ACK of the oldest segment is more than min(1 ms, srtt/2) away.
    fn is_next_ack_far(&self) -> bool {
        let srtt_ns = u64::from(self.sk.srtt_us) * 125;
        let age_ns =
            i64::from(self.sk.now_us().wrapping_sub(self.rtx.stamps(self.rtx.una()).tx_us) as i32)
                * 1000;
        let how_far = srtt_ns as i64 - age_ns;
        how_far > (srtt_ns / 2).min(1_000_000) as i64
    }

    /// How many of `n` segments from `seq` the receive window takes again; of one that has shrunk to less than a segment one,
    /// and the first outstanding one always, as a probe (`__tcp_retransmit_skb`).
    #[inline]
    pub(super) fn window_for_again(&self, seq: u32, n: u32) -> Option<u32> {
        let (una, mss) = (self.rtx.una(), u64::from(self.config.mss));
        let before = self.supply.bytes_in_flight(una, seq);
        let left = u64::from(self.sk.snd_wnd).saturating_sub(before);
        match left {
            0 if seq != una => None,
            0 => Some(1),
            left => Some(n.min(u32::try_from(left / mss).unwrap_or(u32::MAX).max(1))),
        }
    }

    /// What the state of recovery lets out after an ACK (`tcp_xmit_recovery`).
    pub(super) fn transmit_recovery(&mut self, rexmit: Rexmit) {
        match rexmit {
            Rexmit::None => return,
            Rexmit::New => {
                self.write_xmit(Push::Window);
                if self.rtx.nxt() > self.recovery.high_seq() {
                    return;
                }
                self.recovery.on_no_new_data();
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
            // Small queues reckon with the whole buffer, of which only a part may be sent.
            let whole = self.rtx.pending_run(seq, u32::MAX);
            if free == 0 || self.is_queue_full(self.bytes_of(seq, whole).into(), 1) {
                break;
            }
            if self.is_in_host(seq) {
                // It is tried again when that has left (`skb_still_in_host_queue`).
                self.host.throttle();
                break;
            }
            let n = whole.min(free).min(max_segs);
            let Some(n) = self.window_for_again(seq, n) else { return };
            self.send_again(seq, n);
            self.mark_retransmitted(seq, n);
            self.recovery.on_send(n);
            rearm |= seq == head && self.timer.pending() != Some(Pending::Reo);
        }
        if rearm {
            self.arm_rto(self.sk.icsk_rto);
        }
    }
}

/// Segments of a full buffer (`tcp_xmit_size_goal`): the largest burst, at most half the window.
pub(super) fn buffer_segs(sk: &Socket, mss: u32) -> u32 {
    let half = (sk.max_window / 2).max(mss);
    (sk.sk_gso_max_size.min(half) / mss).max(1).min(u32::from(sk.sk_gso_max_segs))
}
