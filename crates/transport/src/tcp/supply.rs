//! What the application gives the sender: all at once, without end, or in pieces
//! (`tcp_sendmsg_locked`, `tcp_push`, `tcp_skb_entail` in net/ipv4/tcp.c; Nagle's rule and the restart
//! after idle in tcp_output.c).
//!
//! What was written and not sent is cut into full segments and a last one with the rest, which the next
//! write fills. Once it was sent short, it is noted as such, and the next write begins a new segment.

use super::lengths::Lengths;
use super::output::{Push, SKB_OVERHEAD};
use super::sender::{Conn, Sender, Stream};
use crate::app::Write;
use cca::CaEvent;
use units::{Divisor, Time};

/// Initial and restart window, segments (RFC 6928).
const INIT_CWND: u32 = 10;

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Supply {
    /// The application writes in pieces, and says when.
    pub(super) by_writes: bool,
    /// More may come.
    pub(super) is_open: bool,
    /// Sent segments that are short, or were last of a write.
    pub(super) ends: Lengths,
    /// One past the last short segment sent (`snd_sml`); 0: none.
    short_end: u32,
    mss: Divisor,
}

impl Supply {
    pub(super) fn new(stream: &Stream, mss: u32) -> Supply {
        let by_writes = stream.segments == 0;
        Supply {
            by_writes,
            is_open: by_writes || stream.segments == u32::MAX,
            ends: Lengths::new(mss),
            short_end: 0,
            mss: Divisor::new(u64::from(mss)),
        }
    }
}

impl Sender {
    /// The application writes, pauses or closes; only for a stream that began [`Stream::EMPTY`]. Take
    /// what departs afterwards.
    pub fn supply(&mut self, now: Time, write: Write) {
        assert!(
            self.supply.by_writes && self.supply.is_open,
            "{write:?} to a stream that is closed"
        );
        self.refresh(now);
        match write {
            Write::Bytes(bytes) => self.write(bytes),
            Write::Greedy => self.write_without_end(),
            Write::Pause => self.withdraw(),
            Write::Close => {
                self.withdraw();
                self.supply.is_open = false;
                self.push_if_established();
            }
        }
    }

    /// What the application has supplied so far; final once it closed.
    pub fn stream(&self) -> Stream {
        self.stream
    }

    /// Payload bytes of a segment that has been sent and not yet acknowledged, or just departed.
    #[inline]
    pub fn payload(&self, seq: u32) -> u32 {
        if seq + 1 == self.stream.segments {
            self.stream.last_len
        } else {
            self.supply.ends.noted(seq).unwrap_or(self.config.mss)
        }
    }

    /// `tcp_sendmsg_locked`, with a buffer that takes everything.
    fn write(&mut self, bytes: u64) {
        assert!(bytes > 0, "an application writes at least one byte");
        self.check_app_limited();
        let pending = self.begin_write() + bytes;
        let mss = u64::from(self.config.mss);
        let segments = u64::from(self.rtx.nxt()) + pending.div_ceil(mss);
        assert!(segments < u64::from(u32::MAX), "a flow is limited to 2^32 segments");
        self.stream.last_len = (pending - (pending.div_ceil(mss) - 1) * mss) as u32;
        self.stream.segments = segments as u32;
        self.sync_write_seq();
        if self.is_autocorked(pending) {
            self.host.throttle();
        } else {
            self.push_if_established();
        }
    }

    /// From now on there is always something to send.
    fn write_without_end(&mut self) {
        self.check_app_limited();
        self.begin_write();
        self.stream = Stream { last_len: self.config.mss, ..Stream::GREEDY };
        self.sync_write_seq();
        self.push_if_established();
    }

    /// An application that wrote without end stops: what it had not sent yet it never wrote.
    fn withdraw(&mut self) {
        if self.stream.segments == u32::MAX {
            self.stream = Stream { segments: self.rtx.nxt(), last_len: self.config.mss };
            self.sync_write_seq();
        }
    }

    /// Opens the tail of the write queue and returns the bytes in it. When everything was sent, a new
    /// buffer begins, which may find the connection idle.
    fn begin_write(&mut self) -> u64 {
        let Stream { segments, last_len } = self.stream;
        match segments - self.rtx.nxt() {
            0 => {
                let is_kept = last_len < self.config.mss || segments > self.rtx.una();
                if segments > 0 && is_kept {
                    self.supply.ends.note(segments - 1, last_len);
                }
                self.front = 0;
                self.check_idle();
                0
            }
            unsent => u64::from(unsent - 1) * u64::from(self.config.mss) + u64::from(last_len),
        }
    }

    fn push_if_established(&mut self) {
        if self.conn == Conn::Established {
            self.push_pending();
        }
    }

    /// `tcp_rate_check_app_limited`: the application left a gap between sends.
    fn check_app_limited(&mut self) {
        let unsent = u64::from(self.sk.write_seq.wrapping_sub(self.sk.snd_nxt));
        let in_flight = self.in_flight();
        if self.conn == Conn::Established
            && unsent < u64::from(self.config.mss)
            && self.host.wmem_alloc() <= u64::from(SKB_OVERHEAD)
            && in_flight < self.sk.snd_cwnd
            && self.sk.lost_out <= self.sk.retrans_out
        {
            self.sk.app_limited = self.sk.delivered.wrapping_add(in_flight).max(1);
        }
    }

    /// `tcp_slow_start_after_idle_check`.
    fn check_idle(&mut self) {
        if !self.config.slow_start_after_idle
            || self.conn != Conn::Established
            || self.sk.packets_out > 0
            || self.ca.has_cong_control()
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
        self.ca.cwnd_event(&mut self.sk, CaEvent::CwndRestart);
        self.sk.snd_ssthresh = self.current_ssthresh();
        let sk = &mut *self.sk;
        let restart = INIT_CWND.min(sk.snd_cwnd);
        let rto = sk.icsk_rto as i32;
        let mut left = idle - rto;
        while left > 0 && sk.snd_cwnd > restart {
            sk.snd_cwnd >>= 1;
            left -= rto;
        }
        sk.snd_cwnd = sk.snd_cwnd.max(restart);
        sk.snd_cwnd_stamp = sk.jiffies;
        self.snd_cwnd_used = 0;
    }

    /// `tcp_should_autocork`: a buffer that is not full waits while earlier ones are in the host, whose
    /// departure sends it.
    fn is_autocorked(&self, pending: u64) -> bool {
        let mss = u64::from(self.config.mss);
        let goal = u64::from(self.buffer_segs()) * mss;
        let first = if self.front == 0 { goal } else { u64::from(self.front) * mss };
        let tail = if pending <= first { pending } else { (pending - first) % goal };
        tail > 0
            && tail < goal
            && !self.rtx.is_empty()
            && self.host.wmem_alloc() > tail + u64::from(SKB_OVERHEAD)
    }

    /// How many of the next `n` segments Nagle's rule lets go: without the last one if that is short, may
    /// still be filled, and an earlier short one is not acknowledged (`tcp_nagle_check` with Minshall's
    /// modification).
    #[inline]
    pub(super) fn nagle_limit(&self, push: Push, n: u32) -> u32 {
        if self.config.nodelay || push == Push::Probe || !self.supply.is_open {
            return n;
        }
        let is_short =
            self.rtx.nxt() + n == self.stream.segments && self.stream.last_len < self.config.mss;
        let short_end = self.supply.short_end;
        let is_small_out =
            self.rtx.una() < short_end && short_end <= self.rtx.nxt() && self.sk.packets_out > 0;
        n - u32::from(is_short && is_small_out)
    }

    /// Segments before `end` were sent (`tcp_minshall_update`).
    #[inline]
    pub(super) fn note_short_send(&mut self, end: u32) {
        if self.supply.by_writes && self.payload(end - 1) < self.config.mss {
            self.supply.short_end = end;
        }
    }

    /// Whether a segment carries PSH: it ends what the application wrote.
    #[inline]
    pub(super) fn ends_write(&self, seq: u32) -> bool {
        seq + 1 == self.stream.segments || self.supply.ends.noted(seq).is_some()
    }

    /// Forgets the lengths of what is acknowledged and has left the host, but for the last segment, which
    /// the next write may have to note.
    #[inline]
    pub(super) fn forget_lengths(&mut self) {
        let una = self.rtx.una().min(self.stream.segments.saturating_sub(1));
        if self.supply.ends.first().is_some_and(|seq| seq < una) {
            self.supply.ends.forget_below(una.min(self.host.lowest_seq()));
        }
    }

    /// Segments that the application has supplied and that were never sent.
    #[inline]
    pub(super) fn unsent(&self) -> u32 {
        let by_stream = self.stream.segments - self.rtx.nxt();
        if self.config.sndbuf == u64::MAX {
            return by_stream;
        }
        let mss = u64::from(self.config.mss);
        let held = u64::from(self.rtx.nxt() - self.rtx.una()) * mss - self.missing_in_flight();
        by_stream
            .min(u32::try_from(self.config.sndbuf.saturating_sub(held) / mss).unwrap_or(u32::MAX))
    }

    /// First segment beyond the receive window.
    #[inline]
    pub(super) fn window_end(&self) -> u32 {
        let window = u64::from(self.sk.snd_wnd) + self.missing_in_flight();
        self.rtx.una().saturating_add(self.supply.mss.quotient(window) as u32)
    }

    /// What the outstanding segments lack to full ones, bytes.
    #[inline]
    fn missing_in_flight(&self) -> u64 {
        let ends = &self.supply.ends;
        ends.missing_before(self.rtx.nxt()) - ends.missing_before(self.rtx.una())
    }

    /// Byte sequence number of a segment's start, as the controller sees it.
    #[inline]
    pub(super) fn byte_seq(&self, seq: u32) -> u32 {
        let bytes = seq
            .wrapping_mul(self.config.mss)
            .wrapping_add(1)
            .wrapping_sub(self.supply.ends.missing_before(seq) as u32);
        if seq == self.stream.segments {
            bytes.wrapping_sub(self.config.mss - self.stream.last_len)
        } else {
            bytes
        }
    }

    /// `write_seq` of a stream that is written in pieces. One that is there from the start has more to
    /// send for as long as it runs, as far as a controller can tell.
    pub(super) fn sync_write_seq(&mut self) {
        self.sk.write_seq = if self.supply.by_writes && self.stream.segments < u32::MAX {
            self.byte_seq(self.stream.segments)
        } else {
            self.sk.snd_nxt.wrapping_add(self.config.mss * 2)
        };
    }
}
