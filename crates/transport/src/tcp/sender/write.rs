//! What the application does: writes, pauses, closes (`tcp_sendmsg_locked`, `tcp_push`, `tcp_skb_entail` in
//! net/ipv4/tcp.c; the restart after idle in tcp_output.c).

use super::super::limits::Limit;
use super::super::send_buffer::{Queued, SendBuffer};
use super::output::{buffer_segs, Push};
use super::Sender;
use crate::app::Write;
use crate::common::{Conn, LimitedBy};
use cca::{CaEvent, CaState};
use net::frame::SKB_OVERHEAD;
use units::{Span, Time};

/// A process that is woken runs after all packets of the instant were handled (softirqs come first).
const WAKEUP: Span = Span::from_ns(1);

impl Sender {
    /// The application writes, pauses or closes; only for a stream that began [`crate::common::Stream::EMPTY`]. Take
    /// what departs afterwards.
    pub fn supply(&mut self, now: Time, write: Write) {
        assert!(
            self.supply.by_writes && self.supply.is_open,
            "{write:?} to a stream that is closed"
        );
        self.sk.refresh(now);
        match write {
            Write::Bytes(bytes) => self.has_more(bytes),
            Write::Endless => self.has_more(u64::MAX),
            Write::Greedy => self.write_without_end(),
            Write::Pause => self.pause(),
            Write::Close => {
                self.withdraw();
                match &mut self.buffer {
                    Some(buffer) if buffer.next_write() > 0 => buffer.closes = true,
                    _ => self.supply.is_open = false,
                }
            }
        }
    }

    /// The application has this much more to write, and writes what fits.
    fn has_more(&mut self, bytes: u64) {
        match &mut self.buffer {
            Some(buffer) => {
                buffer.add(bytes);
                self.fill();
            }
            None => {
                self.write(bytes);
            }
        }
    }

    /// `tcp_sendmsg_locked`. Each buffer of the write queue that is full is pushed if much was written without PSH, or if it
    /// is the first; the first one is filled again from behind while parts of it are sent. A write ends early where the send
    /// buffer is full. Returns what was taken.
    fn write(&mut self, bytes: u64) -> u64 {
        assert!(bytes > 0, "an application writes at least one byte");
        self.host.is_application = true;
        self.check_app_limited();
        self.begin_write();
        let mut left = bytes;
        loop {
            let (nxt, goal) = (self.rtx.nxt(), self.goal());
            if self.is_full(goal) {
                break;
            }
            let room = self.buffers_free(goal) * goal;
            match self.supply.append_whole(left.min(room), goal, nxt, self.sk.max_window) {
                0 => left -= self.supply.append(left, goal, nxt, left == bytes),
                taken => left -= taken,
            }
            self.sync_write_seq();
            if left == 0 {
                break;
            }
            if self.conn != Conn::Established {
                continue;
            }
            if self.supply.is_push_due(nxt, self.sk.max_window) {
                self.supply.mark_push(nxt);
                self.push_pending_as(Push::Forced);
            } else if self.supply.is_one_buffer(nxt) {
                self.write_xmit(Push::One);
            }
        }
        self.supply.mark_push(self.rtx.nxt());
        if self.is_autocorked() {
            self.host.throttle();
        } else {
            self.push_if_established();
        }
        self.host.is_application = false;
        bytes - left
    }

    /// Writes follow each other while there is room. Then the application waits for some, unless it has written everything,
    /// after which it may close.
    pub(super) fn fill(&mut self) {
        while let Some(bytes) = self.next_write() {
            let taken = self.write(bytes);
            if let Some(buffer) = &mut self.buffer {
                buffer.on_written(taken);
            }
        }
        let queued = self.queued();
        let Some(buffer) = &mut self.buffer else { return };
        // It asks for room after its last write, too (`tcp_poll`).
        buffer.is_awaited = buffer.next_write() > 0 || !buffer.is_writable(queued);
        buffer.wakes_at = Time::NEVER;
        if buffer.closes && buffer.next_write() == 0 {
            self.supply.is_open = false;
        }
    }

    /// Bytes of the next write, if there is one and room for it.
    fn next_write(&self) -> Option<u64> {
        let buffer = self.buffer.filter(|buffer| buffer.next_write() > 0)?;
        buffer.is_writable(self.queued()).then(|| buffer.next_write())
    }

    /// `tcp_check_space`, after each send of new data and at the end of an ACK that let nothing out: the buffer grows with the
    /// window unless that is full, and where it has room, the application is woken.
    #[inline]
    pub(super) fn check_space(&mut self) {
        if self.is_writer_stopped() {
            self.make_space();
        }
    }

    /// Whether the application waits for room in its send buffer (`SOCK_NOSPACE`); one without a buffer never does.
    #[inline]
    pub(super) fn is_writer_stopped(&self) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.is_awaited)
    }

    /// `tcp_new_space`.
    #[inline(never)]
    fn make_space(&mut self) {
        let Some(buffer) = &self.buffer else { return };
        if self.in_flight() < self.sk.snd_cwnd {
            self.sk.snd_cwnd_stamp = self.sk.jiffies;
            if buffer.is_outgrown(&self.sk) {
                self.expand_buffer();
            }
        }
        if !self.buffer.is_some_and(|buffer| buffer.has_third(self.queued_at_least())) {
            return;
        }
        let (queued, now) = (self.queued(), self.sk.now());
        if let Some(buffer) = self.buffer.as_mut().filter(|buffer| buffer.is_writable(queued)) {
            buffer.is_awaited = false;
            buffer.wakes_at = now + WAKEUP;
            self.limits.stop(Limit::SendBuffer, self.sk.jiffies);
        }
    }

    /// The same, where one without a buffer waits if what it has written takes more memory than a buffer has for this window.
    pub(super) fn is_writer_waiting(&mut self) -> bool {
        if self.buffer.is_some() || self.unsent() == 0 {
            return self.is_writer_stopped();
        }
        let windows = self.sk.sndbuf_expand();
        let mut buffer = SendBuffer::new(self.config.write, self.config.sndbuf);
        buffer.expand(&self.sk, windows);
        !buffer.is_free(self.queued())
    }

    /// `tcp_sndbuf_expand`. The controller says how many windows the buffer should hold.
    pub(super) fn expand_buffer(&mut self) {
        let windows = self.sk.sndbuf_expand();
        if let Some(buffer) = &mut self.buffer {
            buffer.expand(&self.sk, windows);
        }
    }

    /// Whether a write would have to begin a buffer of the write queue for which the send buffer has no memory.
    fn is_full(&self, goal: u64) -> bool {
        self.buffer
            .is_some_and(|buffer| self.supply.tail(goal) == 0 && !buffer.is_free(self.queued()))
    }

    /// Buffers of `goal` bytes that the send buffer has room to begin.
    fn buffers_free(&self, goal: u64) -> u64 {
        self.buffer.map_or(0, |buffer| {
            let memory = goal + u64::from(SKB_OVERHEAD);
            buffer.buffers_free(self.queued(), goal, memory)
        })
    }

    /// What was written and is not acknowledged.
    fn queued(&self) -> Queued {
        let (una, nxt) = self.window();
        let unsent = self.supply.unsent_bytes(nxt);
        let buffers = u64::from(self.rtx.buffers()) + self.supply.buffers(unsent, self.goal());
        let payload = self.supply.bytes_in_flight(una, nxt) + unsent;
        Queued { memory: payload + buffers * u64::from(SKB_OVERHEAD), unsent }
    }

    /// Its memory without what the buffers of the write queue take besides payload.
    #[inline]
    fn queued_at_least(&self) -> u64 {
        let payload = self.supply.pushed().saturating_sub(self.sk.bytes_acked);
        payload + u64::from(self.rtx.buffers()) * u64::from(SKB_OVERHEAD)
    }

    /// Payload of a full buffer of the write queue, bytes.
    fn goal(&self) -> u64 {
        u64::from(buffer_segs(&self.sk, self.config.mss)) * u64::from(self.config.mss)
    }

    /// From now on there is always something to send.
    fn write_without_end(&mut self) {
        if let Some(buffer) = &mut self.buffer {
            buffer.begin_endless();
            return self.fill();
        }
        self.check_app_limited();
        self.begin_write();
        self.supply.set_greedy();
        self.sync_write_seq();
        self.push_if_established();
    }

    /// The application stops writing; what is in the send buffer is still sent.
    fn pause(&mut self) {
        match &mut self.buffer {
            Some(buffer) => buffer.end(),
            None => self.withdraw(),
        }
    }

    fn withdraw(&mut self) {
        if self.supply.withdraw(self.rtx.nxt()) {
            self.sync_write_seq();
        }
    }

    /// What limits the sender at present; `None` before it is established, and while its application is about to write.
    pub fn limited_by(&self) -> Option<LimitedBy> {
        if self.conn != Conn::Established || self.wakes_at() != Time::NEVER {
            return None;
        }
        let is_cwnd_full = self.in_flight() >= self.sk.snd_cwnd;
        if self.recovery.ca_state() >= CaState::Recovery {
            return Some(LimitedBy::Recovery);
        }
        if self.unsent() == 0 {
            let is_waiting = self.is_writer_stopped() || self.supply.unsent(self.rtx.nxt()) > 0;
            return Some(match (is_waiting, is_cwnd_full) {
                (false, _) => LimitedBy::Application,
                (true, true) => LimitedBy::Cwnd,
                (true, false) => LimitedBy::SendBuffer,
            });
        }
        Some(if is_cwnd_full { LimitedBy::Cwnd } else { self.held_by() })
    }

    /// What holds data that the congestion window would take. What is neither paced nor held by a buffer waits for a larger
    /// burst, or for a whole segment.
    fn held_by(&self) -> LimitedBy {
        let is_due = self.sk.tcp_wstamp_ns <= self.sk.tcp_clock_cache;
        if self.limits.now() == Limit::ReceiveWindow || !self.is_in_window() {
            LimitedBy::ReceiveWindow
        } else if self.sk.sk_pacing_status == cca::SK_PACING_NEEDED && !is_due {
            LimitedBy::Pacing
        } else if self.host.is_throttled() {
            let is_paced = self.sk.sk_pacing_status == cca::SK_PACING_FQ;
            if is_paced {
                LimitedBy::Pacing
            } else {
                LimitedBy::HostQueue
            }
        } else if self.supply.unsent_bytes(self.rtx.nxt()) < u64::from(self.config.mss) {
            LimitedBy::Application
        } else {
            LimitedBy::Cwnd
        }
    }

    /// Opens the tail of the write queue. When everything was sent, a new buffer begins, which may find the connection
    /// idle.
    fn begin_write(&mut self) {
        if self.supply.begin_write(self.rtx.nxt()) {
            self.check_idle();
        }
    }

    fn push_if_established(&mut self) {
        if self.conn == Conn::Established {
            self.push_pending();
        }
    }

    /// `tcp_rate_check_app_limited`: the application left a gap between sends.
    fn check_app_limited(&mut self) {
        let unsent = self.sk.write_seq.wrapping_sub(self.sk.snd_nxt);
        let in_flight = self.in_flight();
        if self.conn == Conn::Established
            && unsent < self.config.mss
            && self.host.wmem_alloc() <= u64::from(SKB_OVERHEAD)
            && in_flight < self.sk.snd_cwnd
            && self.sk.lost_out <= self.sk.retrans_out
        {
            self.sk.app_limited = self.sk.delivered.wrapping_add(in_flight).max(1);
        }
    }

    /// `tcp_slow_start_after_idle_check`.
    #[inline]
    pub(super) fn check_idle(&mut self) {
        if self.sk.packets_out == 0 {
            self.check_idle_time();
        }
    }

    fn check_idle_time(&mut self) {
        if !self.config.slow_start_after_idle
            || self.conn != Conn::Established
            || self.sk.has_cong_control()
        {
            return;
        }
        let idle = self.sk.jiffies.wrapping_sub(self.sk.lsndtime) as i32;
        if idle > self.sk.icsk_rto as i32 {
            self.restart_cwnd(idle);
        }
    }

    /// `tcp_cwnd_restart`: half the window for each RTO of idle time, down to the restart window (RFC
    /// 5681, section 4.1; RFC 2861).
    fn restart_cwnd(&mut self, idle: i32) {
        self.sk.cwnd_event(CaEvent::CwndRestart);
        self.sk.snd_ssthresh = self.recovery.current_ssthresh(&self.sk);
        let sk = &mut self.sk;
        sk.note_own_cwnd();
        let restart = self.config.initial_window.min(sk.snd_cwnd);
        let rto = sk.icsk_rto as i32;
        let mut left = idle - rto;
        while left > 0 && sk.snd_cwnd > restart {
            sk.snd_cwnd >>= 1;
            left -= rto;
        }
        sk.snd_cwnd = sk.snd_cwnd.max(restart);
        sk.snd_cwnd_stamp = sk.jiffies;
        self.cwnd_use.restart();
    }

    /// `tcp_should_autocork`: a buffer that is not full waits while earlier ones are in the host, whose
    /// departure sends it.
    fn is_autocorked(&self) -> bool {
        let tail = self.supply.tail(self.goal());
        tail > 0 && !self.rtx.is_empty() && self.host.wmem_alloc() > tail + u64::from(SKB_OVERHEAD)
    }

    /// Segments that the application has supplied, that were never sent and that fit into the send buffer.
    #[inline]
    pub(super) fn unsent(&self) -> u32 {
        let unsent = self.supply.unsent(self.rtx.nxt());
        if self.config.sndbuf == u64::MAX || self.buffer.is_some() {
            unsent
        } else {
            unsent.min(self.segments_free())
        }
    }

    /// Segments that a send buffer of fixed size has room for.
    fn segments_free(&self) -> u32 {
        let (una, nxt) = self.window();
        let held = self.supply.bytes_in_flight(una, nxt);
        let free = self.config.sndbuf.saturating_sub(held) / u64::from(self.config.mss);
        u32::try_from(free).unwrap_or(u32::MAX)
    }

    /// Bytes of new data that the receive window takes.
    #[inline]
    pub(super) fn window_left(&self) -> u64 {
        let (una, nxt) = self.window();
        let end = u64::from(self.sk.snd_wnd) + u64::from(self.acked_part());
        end.saturating_sub(self.supply.bytes_in_flight(una, nxt))
    }

    /// Whether the receive window takes the next segment (`tcp_snd_wnd_test`).
    #[inline]
    pub(super) fn is_in_window(&self) -> bool {
        self.window_left() >= self.supply.bytes_of_next(self.rtx.nxt(), 1)
    }
}
