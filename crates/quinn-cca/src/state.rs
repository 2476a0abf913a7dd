//! A socket with its controller, driven by what quinn tells: packets sent, acknowledged, lost or marked.
//!
//! ```text
//!            loss                    persistent congestion
//!   Open -----------> Recovery       any -----------------> Loss
//!    |   CE mark                     Recovery, CWR, Loss: a packet sent after it began is acknowledged: Open
//!    +-----------> CWR
//! ```
//!
//! The window falls to the controller's threshold at once (RFC 9002 section 7.3.2). Nothing is undone: quinn does not
//! tell that a loss was spurious.

use crate::flight::{self, Flight, Sent};
use cca::{minmax_running_min, AckSample, CaEvent, CaState, Controller, LostBurst, TcpSock, BOOT};
use std::time::Instant;

/// Minimum window of a controller that leaves it to the transport, packets (RFC 9002 section 7.2).
const MIN_WINDOW: u32 = 2;
/// Window at the start unless another is asked for, packets (RFC 9002 section 7.2).
pub const INITIAL_WINDOW: u32 = 10;
/// The kernel's flags of an acknowledgement of data (`FLAG_DATA_ACKED`, `FLAG_SND_UNA_ADVANCED`).
const DATA_ACKED: i32 = 0x04 | 0x400;
/// Time over which the minimum RTT is taken, s (`tcp_min_rtt_wlen`).
const MIN_RTT_S: u32 = 300;
/// Least retransmission timeout that controllers see, us (`TCP_RTO_MIN`).
const RTO_MIN_US: u64 = 200_000;
const NS_PER_S: u64 = 1_000_000_000;

/// What the acknowledgements of one batch add up to.
#[derive(Debug, Default)]
struct Batch {
    acked: u32,
    /// Of these, sent after the last congestion event began.
    acked_after: u32,
    in_flight: u32,
    last: Option<Sent>,
}

/// See the module documentation.
#[derive(Debug)]
pub struct State {
    pub ca: Controller,
    pub sk: Box<TcpSock>,
    flight: Flight,
    epoch: Instant,
    ca_state: CaState,
    /// Packets sent at this time or before belong to a congestion event that was answered, ns.
    answered_ns: Option<u64>,
    batch: Batch,
    /// Packets lost since the last acknowledgement.
    losses: u32,
    /// Packets were marked since then.
    is_marked: bool,
}

impl State {
    /// `window` is that of the start, packets.
    pub fn new(ca: Controller, hz: u32, seed: u64, now: Instant, mtu: u16, window: u32) -> State {
        let mut sk = TcpSock::new();
        ca.attach(&mut sk, hz, seed);
        sk.mss_cache = mtu.into();
        sk.sk_gso_max_size = mtu.into();
        sk.sk_gso_max_segs = 1;
        sk.sk_pacing_shift = 31;
        sk.sk_pacing_status = cca::SK_PACING_NEEDED;
        sk.snd_wnd = 1 << 30;
        sk.max_window = 1 << 30;
        sk.snd_cwnd = window;
        // Linux counts the SYN as delivered: 0 means "no sample" to controllers.
        sk.delivered = 1;
        let mut state = State {
            ca,
            sk,
            flight: Flight::default(),
            epoch: now,
            ca_state: CaState::Open,
            answered_ns: None,
            batch: Batch::default(),
            losses: 0,
            is_marked: false,
        };
        state.refresh(now);
        state.sk.delivered_mstamp = state.sk.tcp_mstamp;
        state.sk.first_tx_mstamp = state.sk.tcp_mstamp;
        state.sk.snd_cwnd_stamp = state.sk.jiffies;
        state.sync();
        state.ca.init(&mut state.sk);
        state
    }

    /// Bytes that quinn may have in flight. It sends while a full packet more stays *below* the window; one byte more
    /// makes that as many packets as the controller means.
    pub fn window(&self) -> u64 {
        u64::from(self.sk.snd_cwnd) * u64::from(self.sk.mss_cache) + 1
    }

    /// The pacing rate of a controller that sets one, bit/s.
    pub fn pacing_bps(&self) -> Option<u64> {
        let is_set = self.ca.has_cong_control() && self.sk.sk_pacing_rate != cca::UNLIMITED_RATE;
        is_set.then(|| self.sk.sk_pacing_rate.saturating_mul(8))
    }

    pub fn on_mtu(&mut self, mtu: u16) {
        self.sk.mss_cache = mtu.into();
    }

    pub fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.refresh(now);
        if self.flight.packets() == 0 {
            // `tcp_rate_skb_sent`: the first packet of a flight restarts the intervals.
            self.sk.first_tx_mstamp = self.sk.tcp_mstamp;
            self.sk.delivered_mstamp = self.sk.tcp_mstamp;
            self.ca.cwnd_event(&mut self.sk, CaEvent::TxStart);
        }
        self.flight.push(&self.sk, bytes);
        self.sk.lsndtime = self.sk.jiffies;
        self.sk.data_segs_out = self.sk.data_segs_out.wrapping_add(1);
        self.sk.bytes_sent += bytes;
        self.sk.snd_nxt = self.sk.snd_nxt.wrapping_add(self.sk.mss_cache);
        self.sync();
    }

    /// One of the packets that an acknowledgement delivers.
    pub fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64) {
        if self.batch.acked == 0 {
            self.batch.in_flight = self.flight.packets();
        }
        let sent_ns = self.ns(sent);
        let Some(packet) = self.flight.acknowledge(sent_ns, bytes) else { return };
        self.refresh(now);
        self.sk.delivered = self.sk.delivered.wrapping_add(1);
        self.sk.bytes_acked += bytes;
        self.batch.acked += 1;
        let is_after = self.answered_ns.is_none_or(|answered| sent_ns > answered);
        self.batch.acked_after += u32::from(is_after);
        if self.batch.last.is_none_or(|last| last.at_ns <= packet.at_ns) {
            self.batch.last = Some(packet);
        }
    }

    /// That was all of the acknowledgement; quinn has `in_flight` bytes left.
    pub fn on_end_acks(&mut self, now: Instant, in_flight: u64, is_app_limited: bool) {
        let batch = std::mem::take(&mut self.batch);
        let Some(last) = batch.last else { return };
        self.refresh(now);
        self.flight.reconcile(in_flight, last.at_ns);
        self.sync();
        self.sample_rtt(&last);
        self.end_event(batch.acked_after);
        self.limit(&batch, is_app_limited);
        self.tell(&batch, &last);
    }

    /// Packets were lost, or (0 bytes) marked; the newest was sent at `sent`.
    pub fn on_congestion(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost: u64) {
        self.refresh(now);
        let sent_ns = self.ns(sent);
        self.lose(sent_ns, lost);
        if self.answered_ns.is_none_or(|answered| sent_ns > answered) {
            let state = if lost > 0 { CaState::Recovery } else { CaState::Cwr };
            self.reduce(state);
        }
        if lost == 0 {
            // quinn tells that packets were marked, and not how many.
            self.is_marked = true;
            self.sk.delivered_ce = self.sk.delivered_ce.wrapping_add(1);
        }
        if is_persistent {
            self.collapse();
        }
    }

    /// All packets up to the newest lost one that are not acknowledged are lost with it (RFC 9002 section 6.1: both
    /// thresholds grow with the age of a packet).
    fn lose(&mut self, newest_ns: u64, mut bytes: u64) {
        while bytes > 0 {
            let Some(packet) = self.flight.take_oldest(newest_ns) else { break };
            bytes = bytes.saturating_sub(packet.bytes);
            self.losses += 1;
            self.sk.lost = self.sk.lost.wrapping_add(1);
            if self.ca.wants_losses() {
                let burst = LostBurst {
                    segs: 1,
                    tx_in_flight: packet.in_flight,
                    lost_at_send: packet.lost,
                    delivered_at_send: packet.delivered,
                    is_app_limited: packet.is_app_limited,
                };
                self.ca.skb_marked_lost(&mut self.sk, &burst);
            }
        }
        self.sync();
    }

    fn reduce(&mut self, state: CaState) {
        self.begin_event();
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.sk.snd_ssthresh = self.ca.ssthresh(&mut self.sk);
        if !self.ca.has_cong_control() {
            let window = self.sk.snd_ssthresh.max(MIN_WINDOW);
            self.sk.snd_cwnd = window.min(self.sk.snd_cwnd);
            self.sk.snd_cwnd_stamp = self.sk.jiffies;
        }
        self.enter(state);
    }

    /// Persistent congestion (RFC 9002 section 7.6.2), to a controller as a retransmission timeout.
    fn collapse(&mut self) {
        self.begin_event();
        self.ca.cwnd_event(&mut self.sk, CaEvent::Loss);
        self.sk.snd_cwnd = MIN_WINDOW;
        self.sk.snd_cwnd_stamp = self.sk.jiffies;
        self.enter(CaState::Loss);
    }

    fn begin_event(&mut self) {
        self.answered_ns = Some(self.sk.tcp_clock_cache);
        self.sk.high_seq = self.sk.snd_nxt;
        self.sk.snd_cwnd_cnt = 0;
    }

    fn end_event(&mut self, acked_after: u32) {
        if self.ca_state == CaState::Open || acked_after == 0 {
            return;
        }
        let reduced = matches!(self.ca_state, CaState::Cwr | CaState::Recovery);
        if reduced && !self.ca.has_cong_control() {
            self.ca.cwnd_event(&mut self.sk, CaEvent::CompleteCwr);
        }
        self.enter(CaState::Open);
    }

    fn enter(&mut self, state: CaState) {
        self.ca.set_state(&mut self.sk, state);
        self.sk.icsk_ca_state = state as u8;
        self.ca_state = state;
    }

    /// Whether the window was the limit; a flow that its application limits does not grow it.
    fn limit(&mut self, batch: &Batch, is_app_limited: bool) {
        let sk = &mut *self.sk;
        sk.is_cwnd_limited = u8::from(!is_app_limited);
        sk.max_packets_out = batch.in_flight;
        // `tcp_rate_check_app_limited`, and its end (`tcp_rate_gen`).
        if is_app_limited {
            sk.app_limited = sk.delivered.wrapping_add(self.flight.packets()).max(1);
        } else if sk.app_limited != 0 && sk.delivered.wrapping_sub(sk.app_limited) as i32 > 0 {
            sk.app_limited = 0;
        }
    }

    /// The controller's hooks, in the order of the kernel (`tcp_ack`).
    fn tell(&mut self, batch: &Batch, last: &Sent) {
        let now_us = self.sk.tcp_mstamp;
        self.sk.first_tx_mstamp = last.at_ns / 1_000;
        self.sk.delivered_mstamp = now_us;
        let mut rs = flight::sample(&self.sk, last, now_us);
        rs.acked_sacked = batch.acked;
        rs.prior_in_flight = batch.in_flight;
        rs.losses = std::mem::take(&mut self.losses) as i32;
        rs.is_ece = std::mem::take(&mut self.is_marked);
        rs.last_end_seq = self.sk.snd_una;
        if rs.interval_us > 0 {
            self.sk.rate_delivered = rs.delivered as u32;
            self.sk.rate_interval_us = rs.interval_us as u32;
            self.sk.rate_app_limited = u8::from(rs.is_app_limited);
        }
        let in_flight = self.sk.mss_cache.wrapping_mul(rs.delivered as u32);
        let rtt_us = rs.rtt_us as i32;
        let sample = AckSample { pkts_acked: batch.acked, rtt_us, in_flight };
        self.ca.pkts_acked(&mut self.sk, &sample);
        let marked = if rs.is_ece { cca::CA_ACK_SLOWPATH | cca::CA_ACK_ECE } else { 0 };
        self.ca.in_ack_event(&mut self.sk, cca::CA_ACK_WIN_UPDATE | marked);
        let ack = self.sk.snd_una;
        if self.ca.has_cong_control() {
            let flag = DATA_ACKED | if rs.is_ece { cca::FLAG_ECE } else { 0 };
            self.ca.cong_control(&mut self.sk, ack, flag, &rs);
        } else if self.ca_state != CaState::Recovery
            && self.ca_state != CaState::Cwr
            && batch.acked_after > 0
        {
            self.ca.cong_avoid(&mut self.sk, ack, batch.acked_after);
        }
    }

    /// As measured: quinn subtracts the receiver's delay only from what it smooths itself.
    fn sample_rtt(&mut self, last: &Sent) {
        let sk = &mut *self.sk;
        let rtt_us = (sk.tcp_mstamp - last.at_ns / 1_000).clamp(1, 1 << 28) as u32;
        minmax_running_min(&mut sk.rtt_min, MIN_RTT_S * sk.hz, sk.jiffies, rtt_us);
        if sk.srtt_us == 0 {
            sk.srtt_us = rtt_us << 3;
            sk.mdev_us = rtt_us << 1;
        } else {
            let error = i64::from(rtt_us) - i64::from(sk.srtt_us >> 3);
            sk.srtt_us = (i64::from(sk.srtt_us) + error) as u32;
            let deviation = error.abs() - i64::from(sk.mdev_us >> 2);
            sk.mdev_us = (i64::from(sk.mdev_us) + deviation) as u32;
        }
        sk.rttvar_us = sk.mdev_us;
        let rto_us = u64::from(sk.srtt_us >> 3) + u64::from(sk.rttvar_us).max(RTO_MIN_US);
        sk.icsk_rto = (rto_us * u64::from(sk.hz) / 1_000_000).max(1) as u32;
    }

    /// The controller's view of the sequence space: a round of `snd_una` to `snd_nxt` ends as in TCP.
    fn sync(&mut self) {
        let packets = self.flight.packets();
        let sk = &mut *self.sk;
        sk.packets_out = packets;
        sk.snd_una = sk.snd_nxt.wrapping_sub(packets.wrapping_mul(sk.mss_cache));
        sk.write_seq = sk.snd_nxt.wrapping_add(2 * sk.mss_cache);
    }

    fn refresh(&mut self, now: Instant) {
        let ns = self.ns(now);
        let sk = &mut *self.sk;
        // Nothing else writes the clocks, and an acknowledgement of many packets asks for each.
        if ns == sk.tcp_clock_cache {
            return;
        }
        sk.tcp_clock_cache = ns;
        sk.tcp_mstamp = ns / 1_000;
        // Whole seconds and the rest: the product of nanoseconds and `hz` can exceed 64 bits.
        let (s, rest) = (ns / NS_PER_S, ns % NS_PER_S);
        sk.jiffies = (s * u64::from(sk.hz) + rest * u64::from(sk.hz) / NS_PER_S) as u32;
    }

    /// A time of quinn's on the socket's clock.
    fn ns(&self, at: Instant) -> u64 {
        BOOT.as_ns() + at.saturating_duration_since(self.epoch).as_nanos() as u64
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.ca.release(&mut self.sk);
    }
}
