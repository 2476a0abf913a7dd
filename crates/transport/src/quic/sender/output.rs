//! What may be sent, and when: data lost first, then new data, as far as the window and the pacer let
//! it, and probes whatever they say.

use super::Sender;
use crate::common::clock::run_time;
use crate::common::{Conn, LimitedBy, Stamps};
use crate::quic::poll::Poll;
use crate::quic::sent::{Sent, APP_LIMITED, ECT, IN_FLIGHT, OWNER, RETRANS};
use cca::{CaEvent, CaState};
use net::{ecn, flags, quic, Packet};
use units::Time;

/// In `snd_cwnd_cnt`: it has what the window is beyond `snd_cwnd` less a half, 1/1024 (`CCA_CWND_EXACT`).
const CWND_EXACT: u32 = 1 << 31;

/// What a packet carries: a segment, sent before or not.
#[derive(Clone, Copy)]
struct Load {
    segment: u32,
    is_retrans: bool,
}

impl Sender {
    /// The Initial packet.
    pub(super) fn initial() -> Packet {
        Packet { flags: flags::QUIC | flags::SYN, ..Packet::default() }
    }

    /// The next packet that leaves now.
    pub(super) fn next_packet(&mut self) -> Option<Packet> {
        self.pacer.is_waiting = false;
        if let Some(load) = self.next_probe() {
            self.sk.stats.tlps += u32::from(self.config.rto_min == units::Span::ZERO);
            return Some(self.send(load));
        }
        let load = self.next_load();
        if load.is_some() && self.may_send() {
            self.take(load);
            return load.map(|load| self.send(load));
        }
        if load.is_none() {
            self.note_app_limited();
        }
        let by_window = !self.has_room();
        if std::mem::take(&mut self.sent_some) || by_window {
            self.validate_cwnd(by_window);
        }
        None
    }

    /// What is to be sent next, without taking it.
    fn next_load(&mut self) -> Option<Load> {
        while let Some(&segment) = self.pending.front() {
            if !self.delivered.contains(segment) {
                return Some(Load { segment, is_retrans: true });
            }
            self.pending.pop_front();
        }
        let segment = self.segment_nxt;
        (segment < self.stream.segments).then_some(Load { segment, is_retrans: false })
    }

    fn take(&mut self, load: Option<Load>) {
        match load {
            Some(Load { is_retrans: true, .. }) => {
                self.pending.pop_front();
            }
            Some(Load { is_retrans: false, .. }) => self.segment_nxt += 1,
            None => {}
        }
    }

    /// After a probe timeout: lost or new data if there is any, else the oldest packets' data again
    /// (RFC 9002 section 6.2.4).
    fn next_probe(&mut self) -> Option<Load> {
        let (left, end) = self.probes;
        if left == 0 || self.is_complete() {
            self.probes = (0, 0);
            return None;
        }
        self.probes.0 -= 1;
        if let Some(load) = self.next_load() {
            self.take(Some(load));
            return Some(load);
        }
        let oldest = (self.packets.una()..end).find(|&number| {
            let packet = self.packets.at(number);
            packet.is(IN_FLIGHT | OWNER) && !self.delivered.contains(packet.segment)
        });
        let number = oldest.or_else(|| self.oldest_in_flight(end))?;
        let packet = self.packets.at_mut(number);
        packet.flags &= !OWNER;
        Some(Load { segment: packet.segment, is_retrans: true })
    }

    /// Any data will do to ask for an acknowledgement when all outstanding data has another owner.
    fn oldest_in_flight(&mut self, end: u32) -> Option<u32> {
        let una = self.packets.una();
        let is_first = self.packets.next() == end;
        (is_first && una < end).then_some(una)
    }

    /// The unit that a window-based controller's window is kept in, bytes, where it is not the packet.
    #[inline]
    fn own_unit(&self) -> Option<u64> {
        let is_own = self.config.window_unit > 0 && !self.sk.has_cong_control();
        is_own.then_some(u64::from(self.config.window_unit))
    }

    /// What one of the window lets out, bytes.
    #[inline]
    fn window_unit(&self) -> u64 {
        self.own_unit().unwrap_or_else(|| self.part.of(1))
    }

    /// The window, bytes. A controller that keeps it in parts of its unit says the exact one (`cca_set_exact_cwnd`).
    #[inline]
    pub(super) fn window_bytes(&self) -> u64 {
        let cwnd = u64::from(self.sk.snd_cwnd);
        let whole = self.own_unit().map_or_else(|| self.part.of(cwnd), |unit| cwnd * unit);
        match self.sk.snd_cwnd_cnt {
            count if count & CWND_EXACT != 0 => {
                let unit = self.window_unit();
                whole + u64::from(count & 1023) * unit / 1024 - unit / 2
            }
            _ => whole,
        }
    }

    /// Whether the window leaves room for a packet.
    #[inline]
    fn has_room(&self) -> bool {
        self.flight < self.window_bytes()
    }

    /// Whether the window lets a packet out; while it is being reduced, whether proportional rate reduction does.
    #[inline]
    fn fits(&self) -> bool {
        if !self.prr_reduces() {
            return self.has_room();
        }
        self.prr.may_send(self.window_bytes(), self.flight, self.window_unit())
    }

    /// The beginning of the tick in which an alarm is due: it goes off then.
    fn tick_of(&self, due_ns: u64) -> u64 {
        due_ns - due_ns % self.config.clock.as_ns().max(1)
    }

    /// Whether a window-based controller's window is being reduced, by proportional rate reduction.
    #[inline]
    pub(super) fn prr_reduces(&self) -> bool {
        self.config.prr
            && matches!(self.state, CaState::Cwr | CaState::Recovery)
            && !self.sk.has_cong_control()
    }

    /// What limits the sender at present; `None` before it is established. Its streams have neither a receive window nor
    /// a send buffer.
    pub fn limited_by(&mut self) -> Option<LimitedBy> {
        if self.conn != Conn::Established {
            return None;
        }
        Some(if self.state >= CaState::Recovery {
            LimitedBy::Recovery
        } else if self.next_load().is_none() {
            LimitedBy::Application
        } else if self.has_room() && self.sk.tcp_wstamp_ns > self.sk.tcp_clock_cache {
            LimitedBy::Pacing
        } else {
            LimitedBy::Cwnd
        })
    }

    /// Window and pacer.
    fn may_send(&mut self) -> bool {
        if let Some(poll) = self.poll {
            return self.may_send_when_polled(poll);
        }
        let fits = self.fits();
        if !fits && !self.extra {
            return false;
        }
        let paced = self.sk.sk_pacing_status != cca::SK_PACING_NONE;
        let due_ns = self.sk.tcp_wstamp_ns;
        if paced && due_ns > self.sk.tcp_clock_cache + self.config.clock.as_ns() {
            self.pacer.is_waiting = true;
            self.pacer.wakes_at = run_time(self.tick_of(due_ns)) + self.config.clock_offset;
            return false;
        }
        if !fits {
            self.extra = false;
        }
        true
    }

    /// Window and pacer of a sender that is polled: one packet a poll, and one more, whatever the window says, when the
    /// pacer's alarm goes off (`ProtoCon::CanWrite`, `ProtoCon::OnCanWrite`).
    fn may_send_when_polled(&mut self, mut poll: Poll) -> bool {
        let now = self.sk.now();
        let due_ns = self.sk.tcp_wstamp_ns;
        let is_free = self.pacer.tokens > 0 || self.sk.packets_out == 0;
        let wait = if let Some(at) = poll.alarm {
            poll.alarm = (now < at).then_some(at);
            poll.alarm
        } else if !self.fits() {
            return false;
        } else if now < poll.next_free(now) {
            Some(poll.next_free(now))
        } else if !is_free && due_ns > self.sk.tcp_clock_cache + self.config.clock.as_ns() {
            poll.alarm = Some(poll.at_or_after(run_time(self.tick_of(due_ns))));
            poll.alarm
        } else {
            poll.take(now);
            None
        };
        self.poll = Some(poll);
        self.pacer.is_waiting = wait.is_some();
        self.pacer.wakes_at = wait.unwrap_or(Time::NEVER);
        wait.is_none()
    }

    fn send(&mut self, load: Load) -> Packet {
        let sk = &mut self.sk;
        if sk.packets_out == 0 {
            sk.cwnd_event(CaEvent::TxStart);
            sk.first_tx_mstamp = sk.tcp_mstamp;
            sk.delivered_mstamp = sk.tcp_mstamp;
            self.timer.heard_at = sk.now();
            if self.state == CaState::Open {
                self.pacer.tokens = self.config.burst.min(sk.snd_cwnd);
            }
        }
        sk.lsndtime = sk.jiffies;
        sk.data_segs_out = sk.data_segs_out.wrapping_add(1);
        let next = self.packets.next();
        let bytes = self.packet_bytes(next, load.segment, load.is_retrans);
        self.bytes.sent = self.bytes.sent.wrapping_add(bytes as u32);
        if self.flight == 0 {
            self.sent_at_acked = self.bytes.sent;
        }
        self.flight += bytes;
        let sk = &mut self.sk;
        sk.packets_out += self.cut.parts(load.segment);
        sk.total_retrans = sk.total_retrans.wrapping_add(u32::from(load.is_retrans));
        let len = self.payload(load.segment);
        self.sk.stats.segs_sent += 1;
        self.sk.stats.bytes_sent += u64::from(len);
        self.sk.bytes_sent += u64::from(len);
        self.sk.stats.retrans_segs += u64::from(load.is_retrans);
        let number = self.remember(load);
        // Windows in bytes count frames, and so does the rate that is derived from them.
        self.charge(if self.own_unit().is_some() { bytes as u32 } else { len });
        if self.prr_reduces() {
            self.prr.on_sent(bytes);
        }
        self.timer.last_sent = self.sk.now();
        self.sent_some = true;
        self.sync_seq();
        self.set_timer();
        self.packet(number, load, len as u16)
    }

    fn remember(&mut self, load: Load) -> u32 {
        let sk = &self.sk;
        let stamps = Stamps::new(sk, sk.now_us(), sk.packets_out);
        let mut bits = IN_FLIGHT | OWNER;
        bits |= if load.is_retrans { RETRANS } else { 0 };
        bits |= if sk.app_limited != 0 { APP_LIMITED } else { 0 };
        bits |= if self.ecn.is_on { ECT } else { 0 };
        self.packets.push(Sent {
            stamps,
            segment: load.segment,
            sent: self.bytes.sent,
            sent_at_acked: self.sent_at_acked,
            acked: self.bytes.acked,
            lost_us: 0,
            flags: bits,
        })
    }

    /// A retransmission says what the receiver need not wait for any more, as in Zhang's transport; so
    /// does the next packet once a lost one was forgotten.
    fn packet(&mut self, number: u32, load: Load, len: u16) -> Packet {
        let mut packet = Packet::quic(number, load.segment, self.packets.base());
        if self.config.compact {
            let offset = self.cut.offset(load.segment);
            packet = packet.with_frame_bytes(quic::compact_frame_bytes(number, offset));
        }
        packet.len = len;
        packet.ecn = if self.ecn.is_on { ecn::ECT0 } else { ecn::NOT_ECT };
        if load.is_retrans {
            packet.flags |= flags::RETRANS;
        }
        if std::mem::take(&mut self.owes_stop_waiting) || load.is_retrans {
            packet.flags |= flags::STOP_WAITING;
        }
        packet
    }

    /// The next departure: a burst first, then one packet per its length at the pacing rate.
    fn charge(&mut self, len: u32) {
        if self.pacer.tokens > 0 {
            self.pacer.tokens -= 1;
            return;
        }
        let sk = &mut *self.sk;
        let rate = sk.sk_pacing_rate;
        if rate == cca::UNLIMITED_RATE || rate == 0 {
            return;
        }
        let gap_ns = u64::from(len) * 1_000_000_000 / rate;
        sk.tcp_wstamp_ns = sk.tcp_wstamp_ns.max(sk.tcp_clock_cache) + gap_ns;
    }

    /// There is room and nothing to send (`tcp_rate_check_app_limited`).
    fn note_app_limited(&mut self) {
        if self.has_room() {
            let sk = &mut *self.sk;
            sk.app_limited = sk.delivered.wrapping_add(sk.packets_out).max(1);
        }
    }

    /// Notes whether the window was the limit. Pacing does not make it unused (RFC 9002 section 7.8): it fills once
    /// a round trip.
    fn validate_cwnd(&mut self, is_limited: bool) {
        let (una, next) = (self.packets.una(), self.packets.next());
        self.sk.validate_cwnd(&mut self.usage_end, una, next, is_limited);
    }
}
