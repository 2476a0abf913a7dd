//! Hands segments to the host: stamps, counts and paces them (`__tcp_transmit_skb`, `__tcp_retransmit_skb` and
//! `tcp_update_skb_after_send` in net/ipv4/tcp_output.c).

use super::super::host_queue::Burst;
use super::super::rtt;
use super::super::rtx_queue::{APP_LIMITED, EVER_RETRANS, RETRANS};
use super::super::timer::Pending;
use super::output::{buffer_segs, Next};
use super::Sender;
use crate::common::clock::timestamp_ms;
use crate::common::Stamps;
use cca::CaEvent;
use net::frame::SKB_OVERHEAD;
use net::{ecn, flags};

/// Sends before this many data segments are not paced (`tcp_update_skb_after_send`).
const UNPACED_SEGS: u32 = 10;

impl Sender {
    /// Sends the next segments for the first time.
    pub(super) fn send_new(&mut self, next: Next) {
        let (seq, n) = (self.rtx.nxt(), next.segments);
        if let Some(len) = next.cut {
            self.supply.cut(seq, n, len);
        }
        self.transmit(seq, n, false);
        self.rtx.push(self.stamps(), n, self.app_limited_bit());
        let (sk, mss) = (&self.sk, self.config.mss);
        self.supply.consume_front(self.bytes_of(seq, n), || buffer_segs(sk, mss));
        self.supply.note_short_send(seq + n);
        self.sk.packets_out += n;
        self.sk.snd_nxt = self.supply.byte_seq(seq + n);
    }

    /// New data was sent while `prior` segments were out (`tcp_event_new_data_sent`).
    pub(super) fn rearm_after_send(&mut self, prior: u32) {
        if prior == 0 || self.timer.pending() == Some(Pending::Tlp) {
            self.rearm_rto();
        }
    }

    /// Payload of `n` segments from `seq` that are sent in one piece, of which only the last may be short.
    #[inline]
    pub(super) fn bytes_of(&self, seq: u32, n: u32) -> u32 {
        (n - 1) * self.config.mss + self.supply.payload(seq + n - 1)
    }

    /// Sends `n` segments from `seq` again (`__tcp_retransmit_skb`).
    pub(super) fn send_again(&mut self, seq: u32, n: u32) {
        self.sk.total_retrans = self.sk.total_retrans.wrapping_add(n);
        self.sk.stats.retrans_segs += u64::from(n);
        self.transmit(seq, n, true);
        let (stamps, bits) = (self.stamps(), self.app_limited_bit());
        self.rtx.resend(seq, n, stamps, bits);
    }

    /// Marks `n` segments from `seq` as retransmitted and in flight, and starts the episode's clock.
    pub(super) fn mark_retransmitted(&mut self, seq: u32, n: u32) {
        for i in seq..seq + n {
            let flags = self.rtx.flags(i);
            self.rtx.set_flags(i, flags | RETRANS | EVER_RETRANS);
        }
        self.sk.retrans_out += n;
        self.recovery.on_retransmit(n, timestamp_ms(self.last_edt_ns));
    }

    /// Hands one burst to the host (`__tcp_transmit_skb`, `tcp_update_skb_after_send`).
    fn transmit(&mut self, seq: u32, n: u32, is_retrans: bool) {
        let last = seq + n - 1;
        let bytes = self.bytes_of(seq, n);
        let prior_wstamp = self.sk.tcp_wstamp_ns;
        self.sk.tcp_wstamp_ns = prior_wstamp.max(self.sk.tcp_clock_cache);
        let edt = self.sk.tcp_wstamp_ns;
        if self.in_flight() == 0 {
            self.sk.cwnd_event(CaEvent::TxStart);
        }
        self.sk.lsndtime = self.sk.jiffies;
        self.sk.data_segs_out = self.sk.data_segs_out.wrapping_add(n);
        self.sk.stats.segs_sent += u64::from(n);
        self.sk.stats.bytes_sent += u64::from(bytes);
        self.sk.bytes_sent += u64::from(bytes);
        if is_retrans {
            self.sk.bytes_retrans += u64::from(bytes);
        }
        let needs_ecn = self.sk.controller().module().needs_ecn();
        let (ecn, cwr) = self.recovery.ecn.on_send(is_retrans, needs_ecn);
        let burst = Burst {
            seq,
            segments: n,
            flags: retrans_flag(is_retrans) | cwr,
            ecn,
            // Also on each burst of several, so that a receiver merges no further (`__tcp_transmit_skb`).
            push: n > 1 || self.supply.ends_write(last),
            probe: false,
            ts_val: timestamp_ms(edt),
            ts_ecr: self.peer_ts_val,
            truesize: SKB_OVERHEAD
                + if self.supply.by_writes { bytes } else { n * self.config.mss },
        };
        self.host.push(self.sk.now(), edt, burst);
        self.charge_pacing(bytes, edt - prior_wstamp);
        if self.sk.packets_out == 0 {
            self.sk.first_tx_mstamp = edt / 1000;
            self.sk.delivered_mstamp = edt / 1000;
        }
        self.last_edt_ns = edt;
    }

    /// The next departure: this one plus its length at the pacing rate, less credit for lateness.
    fn charge_pacing(&mut self, bytes: u32, late_ns: u64) {
        let sk = &mut *self.sk;
        let rate = sk.sk_pacing_rate;
        if sk.sk_pacing_status == cca::SK_PACING_NONE
            || rate == u64::MAX
            || rate == 0
            || sk.data_segs_out < UNPACED_SEGS
        {
            return;
        }
        let gap = u64::from(bytes) * 1_000_000_000 / rate;
        sk.tcp_wstamp_ns += gap - (gap / 2).min(late_ns);
    }

    /// What is stamped on a segment that leaves now; those in flight are the ones before it.
    fn stamps(&self) -> Stamps {
        Stamps::new(&self.sk, (self.last_edt_ns / 1000) as u32, self.in_flight())
    }

    fn app_limited_bit(&self) -> u8 {
        if self.sk.app_limited != 0 {
            APP_LIMITED
        } else {
            0
        }
    }

    /// An ACK of an old byte leaves, which asks for the window (`tcp_xmit_probe_skb`).
    pub(super) fn send_window_probe(&mut self) {
        let ecn = self.control_ecn();
        self.send_empty(Burst { seq: self.rtx.una(), probe: true, ecn, ..self.empty() });
    }

    /// A packet without data.
    fn empty(&self) -> Burst {
        Burst {
            seq: 0,
            segments: 0,
            flags: 0,
            ecn: 0,
            push: false,
            probe: false,
            ts_val: timestamp_ms(self.sk.tcp_clock_cache),
            ts_ecr: self.peer_ts_val,
            truesize: 0,
        }
    }

    fn send_empty(&mut self, burst: Burst) {
        self.host.push(self.sk.now(), self.sk.tcp_clock_cache, burst);
    }

    /// A SYN leaves; it is retransmitted after 1 s, four times linearly, then doubling.
    pub(super) fn send_syn(&mut self) {
        self.syn.sent_at = self.sk.now();
        if self.syn.retries == 0 {
            self.syn.first_ts_val = timestamp_ms(self.sk.tcp_clock_cache);
        }
        self.send_empty(Burst {
            flags: flags::SYN | retrans_flag(self.syn.retries > 0),
            ecn: self.syn_ecn(),
            ts_ecr: 0,
            truesize: SKB_OVERHEAD,
            ..self.empty()
        });
        let doublings = self.syn.retries.saturating_sub(4).min(6);
        let delay = self.sk.tick().from_us(rtt::RTO_INIT_US) << doublings;
        self.timer.arm(Pending::Rto, self.sk.wheel(delay));
    }

    /// The handshake's ACK, which leaves ahead of the first data.
    pub(super) fn send_handshake_ack(&mut self) {
        let ecn = self.control_ecn();
        self.send_empty(Burst { ecn, ..self.empty() });
    }

    /// An ACK without data leaves (`tcp_send_ack`).
    pub(super) fn send_bare_ack(&mut self) {
        let ecn = self.control_ecn();
        self.send_empty(Burst { seq: self.rtx.nxt(), ecn, ..self.empty() });
    }

    /// Code point of an ACK.
    fn control_ecn(&self) -> u8 {
        self.recovery.ecn.on_control(self.sk.controller().module().needs_ecn())
    }

    /// Code point of the SYN: ECN-capable only if the controller needs that (`tcp_ecn_send_syn`).
    fn syn_ecn(&self) -> u8 {
        let module = self.sk.controller().module();
        match (module.needs_l4s(), module.needs_ecn()) {
            (true, _) => ecn::ECT1,
            (false, true) => ecn::ECT0,
            (false, false) => ecn::NOT_ECT,
        }
    }

    /// Whether the last transmission of `seq` still waits in the host (`skb_still_in_host_queue`).
    pub(super) fn is_in_host(&self, seq: u32) -> bool {
        let tx_us = self.rtx.stamps(seq).tx_us;
        tx_us.wrapping_sub(self.sk.now_us()) as i32 > 0 && !self.host.is_empty()
    }
}

fn retrans_flag(is_retrans: bool) -> u8 {
    if is_retrans {
        flags::RETRANS
    } else {
        0
    }
}
