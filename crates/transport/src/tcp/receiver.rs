//! The receiving half: what it acknowledges, when, and the window it offers (`tcp_data_queue`,
//! `__tcp_ack_snd_check`, `tcp_grow_window`, `tcp_rcv_space_adjust` in net/ipv4/tcp_input.c;
//! `tcp_send_delayed_ack`, `__tcp_select_window` in tcp_output.c).
//!
//! The application reads at once, whenever `rcvlowat` bytes are there.

use super::clock::{timestamp_ms, Tick};
use super::config::HostConfig;
use super::ecn::{Feedback, CE};
use super::ecn_receiver::{Reaction, ReceiverEcn};
use super::gro::{Gro, Run};
use super::lengths::Lengths;
use super::sack_blocks::OutOfOrder;
use super::window::Window;
use net::{flags, Ack, Packet};
use units::{Span, Time};

/// Segments acknowledged one by one at start (`TCP_MAX_QUICKACKS`).
const MAX_QUICKACKS: u32 = 16;
/// Least delay of an ACK, ms (`TCP_ATO_MIN`).
const ATO_MIN_MS: u64 = 40;
/// Longest delay of an ACK, ms (`TCP_DELACK_MAX`).
const DELACK_MAX_MS: u64 = 200;
/// Duplicate ACKs that go out at once before compression starts.
const FASTRETRANS_THRESH: u32 = 3;
/// Most ACKs that are held back (`sysctl_tcp_comp_sack_nr`).
const COMP_SACK_NR: u32 = 44;
/// Longest time an ACK is compressed (`sysctl_tcp_comp_sack_delay_ns`).
const COMP_SACK_DELAY: Span = Span::from_ms(1);
/// Slack of that timer (`sysctl_tcp_comp_sack_slack_ns`).
const COMP_SACK_SLACK: Span = Span::from_us(100);
/// A segment whose timestamp is further behind the last one in sequence is an old duplicate to PAWS
/// (`TCP_PAWS_WINDOW`, RFC 7323 section 5): while retransmissions fill the left edge, segments that a
/// jittery path delivers late are thrown away.
const PAWS_WINDOW_MS: i32 = 1;

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiverStats {
    /// Payload bytes handed to the application.
    pub delivered_bytes: u64,
    /// Data packets that arrived.
    pub packets: u64,
    /// Data packets that PAWS threw away.
    pub paws_rejected: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Packets that arrived CE-marked.
    pub ce_packets: u64,
}

/// See the module documentation.
pub struct Receiver {
    config: HostConfig,
    tick: Tick,
    /// Segments of the stream; `u32::MAX` until that is known.
    total: u32,
    last_len: u32,
    /// Short segments that arrived before the end.
    lengths: Lengths,
    rcv_nxt: u32,
    /// `rcv_nxt` of the last ACK sent.
    rcv_wup: u32,
    ooo: OutOfOrder,
    dsack: Option<(u32, u32)>,
    ts_recent: u32,
    window: Window,
    gro: Gro,
    /// Quick ACKs left; bit 0 is set anew by each packet that grows the window.
    quick: u32,
    ato_ms: u64,
    last_data: Option<Time>,
    delack_at: Time,
    delack_is_set: bool,
    ack_now: bool,
    /// Since the last ACK a segment came that was short or carried PSH (`ICSK_ACK_PUSHED`).
    pushed: bool,
    /// What the application has read, bytes.
    copied: u64,
    dup_acks: u32,
    dup_acks_at: u32,
    compressed: u32,
    compress_at: Time,
    /// RTT seen during the handshake, us; it bounds delays like the sender's srtt would.
    srtt_us: u64,
    rcv_rtt_us: u64,
    last_ts_ecr: u32,
    synack_at: Time,
    ecn: ReceiverEcn,
    syn_seen: bool,
    established: bool,
    stats: ReceiverStats,
}

impl Receiver {
    /// A receiver for a stream of `segments` segments, the last with `last_len` bytes, that reports
    /// marks as `feedback` says ([`Feedback::of`]). A stream that is written in pieces has 0 segments
    /// here, and ends by [`Receiver::finish`].
    pub fn new(
        config: HostConfig,
        segments: u32,
        last_len: u32,
        feedback: impl Into<Feedback>,
    ) -> Receiver {
        let is_open = segments == 0;
        Receiver {
            config,
            tick: Tick::new(config.hz),
            total: if is_open { u32::MAX } else { segments },
            last_len: if is_open { config.mss } else { last_len },
            lengths: Lengths::new(config.mss),
            rcv_nxt: 0,
            rcv_wup: 0,
            ooo: OutOfOrder::default(),
            dsack: None,
            ts_recent: 0,
            window: Window::new(&config),
            gro: Gro::default(),
            quick: 0,
            ato_ms: 0,
            last_data: None,
            delack_at: Time::NEVER,
            delack_is_set: false,
            ack_now: false,
            pushed: false,
            copied: 0,
            dup_acks: 0,
            dup_acks_at: 0,
            compressed: 0,
            compress_at: Time::NEVER,
            srtt_us: 0,
            rcv_rtt_us: 0,
            last_ts_ecr: 0,
            synack_at: Time::ZERO,
            ecn: ReceiverEcn::new(feedback.into()),
            syn_seen: false,
            established: false,
            stats: ReceiverStats::default(),
        }
    }

    /// A packet arrives; acknowledgements that it causes are appended to `out`.
    pub fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Vec<Ack>) {
        if packet.flags & flags::SYN != 0 {
            self.on_syn(now, packet, out);
            return;
        }
        self.establish(now);
        if packet.len == 0 {
            return;
        }
        self.stats.packets += 1;
        self.note_length(packet);
        let run = Run::single(packet, self.config.mss);
        if self.config.gro {
            if let Some(ended) = self.gro.offer(now, run) {
                self.on_run(now, &ended, out);
            }
            if self.gro_is_over(packet) {
                self.flush_gro(now, out);
            }
        } else {
            self.on_run(now, &run, out);
        }
    }

    /// The last segment of the stream is not held.
    fn gro_is_over(&self, packet: &Packet) -> bool {
        packet.seq + 1 == self.total || packet.flags & flags::PUSH != 0
    }

    /// Remembers how long a short segment is.
    fn note_length(&mut self, packet: &Packet) {
        let len = u32::from(packet.len);
        let is_last = packet.seq + 1 == self.total && len == self.last_len;
        if len < self.config.mss && packet.seq >= self.rcv_wup && !is_last {
            self.lengths.note(packet.seq, len);
        }
    }

    fn flush_gro(&mut self, now: Time, out: &mut Vec<Ack>) {
        if let Some(run) = self.gro.flush() {
            self.on_run(now, &run, out);
        }
    }

    /// One or more consecutive segments come up from the network card.
    fn on_run(&mut self, now: Time, run: &Run, out: &mut Vec<Ack>) {
        let packet = &run.first;
        let behind = self.ts_recent.wrapping_sub(packet.ts_val) as i32;
        if behind > PAWS_WINDOW_MS {
            self.reject(now, run, out);
            return;
        }
        // A duplicate of what was acknowledged does not get as far as the timestamp (`tcp_sequence`).
        let end = packet.seq + run.count;
        if packet.seq <= self.rcv_wup && end >= self.rcv_wup && behind <= 0 {
            self.ts_recent = packet.ts_val;
        }
        self.measure_rtt(now, packet);
        if packet.flags & flags::CWR != 0 {
            self.ecn.accept_cwr();
            self.ack_now = true;
        }
        if packet.seq == self.rcv_nxt {
            self.on_in_order(now, run, out);
        } else if packet.seq < self.rcv_nxt {
            self.on_old(now, run, out);
        } else {
            self.on_out_of_order(now, run, out);
        }
    }

    /// Earliest time at which [`Receiver::on_timer`] has something to do.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        let delack = if self.delack_is_set { self.delack_at } else { Time::NEVER };
        delack.min(self.compress_at).min(self.gro.flush_at())
    }

    /// Runs the timers that are due.
    pub fn on_timer(&mut self, now: Time, out: &mut Vec<Ack>) {
        if self.gro.flush_at() <= now {
            self.flush_gro(now, out);
        }
        if self.compress_at <= now {
            self.compress_at = Time::NEVER;
            if self.compressed > 0 {
                self.send_ack(now, out);
            }
        }
        if self.delack_is_set && self.delack_at <= now {
            self.ato_ms = (self.ato_ms * 2).min(DELACK_MAX_MS);
            self.send_ack(now, out);
        }
    }

    /// Next segment expected.
    pub fn rcv_nxt(&self) -> u32 {
        self.rcv_nxt
    }

    /// Counters since the start.
    pub fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// The application at the other end closed after `segments` segments (what a FIN tells).
    pub fn finish(&mut self, segments: u32) {
        self.total = segments;
    }

    /// Whether the whole of a finite stream arrived.
    pub fn is_complete(&self) -> bool {
        self.rcv_nxt == self.total
    }

    fn on_syn(&mut self, now: Time, packet: &Packet, out: &mut Vec<Ack>) {
        if self.established {
            return;
        }
        if !self.syn_seen && packet.flags & flags::RETRANS != 0 {
            self.ecn.fall_back();
        }
        self.syn_seen = true;
        self.ts_recent = packet.ts_val;
        self.synack_at = now;
        let mut ack = Ack {
            window: self.window.on_syn(),
            ts_ecr: packet.ts_val,
            ts_val: timestamp_ms(super::clock::host_ns(now)),
            syn: true,
            ..Ack::default()
        };
        self.ecn.on_syn_ack(&mut ack);
        out.push(ack);
    }

    /// The handshake ends with the first packet after the SYN.
    fn establish(&mut self, now: Time) {
        if self.established {
            return;
        }
        self.established = true;
        self.srtt_us = now.since(self.synack_at).as_us();
        self.window.establish(now);
    }

    fn bytes_up_to(&self, seq: u32) -> u64 {
        let full = u64::from(seq) * u64::from(self.config.mss);
        let bytes = full - self.lengths.missing_before(seq);
        if seq == self.total {
            bytes - u64::from(self.config.mss - self.last_len)
        } else {
            bytes
        }
    }

    fn on_in_order(&mut self, now: Time, run: &Run, out: &mut Vec<Ack>) {
        self.on_data(now, run, out);
        let had_hole = !self.ooo.is_empty();
        self.rcv_nxt += run.count;
        if had_hole {
            self.rcv_nxt = self.ooo.advance(self.rcv_nxt);
            self.ack_now |= self.ooo.is_empty();
        }
        self.pushed |= run.pushed;
        // A reader who empties the buffer behind a push acknowledges that at once (`tcp_cleanup_rbuf`).
        if self.read(now) && self.pushed {
            self.send_ack(now, out);
        } else {
            self.check_ack(now, out);
        }
    }

    /// PAWS: the segments are dropped and answered at once (`tcp_send_dupack`).
    fn reject(&mut self, now: Time, run: &Run, out: &mut Vec<Ack>) {
        self.stats.paws_rejected += u64::from(run.count);
        if run.first.seq < self.rcv_nxt {
            let end = run.first.seq + run.count;
            self.enter_quickack(MAX_QUICKACKS);
            self.dsack = Some((run.first.seq, end.min(self.rcv_nxt)));
        }
        self.send_ack(now, out);
    }

    /// What was received before is reported as a duplicate; a run may still bring something new.
    fn on_old(&mut self, now: Time, run: &Run, out: &mut Vec<Ack>) {
        let end = run.first.seq + run.count;
        self.enter_quickack(MAX_QUICKACKS);
        self.dsack = Some((run.first.seq, end.min(self.rcv_nxt)));
        if end > self.rcv_nxt {
            self.rcv_nxt = self.ooo.advance(end);
            self.read(now);
        }
        self.send_ack(now, out);
    }

    fn on_out_of_order(&mut self, now: Time, run: &Run, out: &mut Vec<Ack>) {
        self.check_ce(now, run, self.rcv_nxt, out);
        let mut flushed = false;
        for seq in run.first.seq..run.first.seq + run.count {
            let stored = self.ooo.store(seq);
            if stored.flush && self.compressed > 0 {
                flushed = true;
                self.send_ack(now, out);
            }
            self.ooo.promote(seq, stored);
            if stored.is_duplicate {
                self.dsack = Some((seq, seq + 1));
            } else {
                self.grow_window();
            }
        }
        // The ACK that went out was the one this segment had scheduled; its own block waits.
        if !flushed {
            self.check_ack(now, out);
        }
    }

    /// `tcp_event_data_recv`: the delayed-ACK engine learns the spacing of the data.
    fn on_data(&mut self, now: Time, run: &Run, out: &mut Vec<Ack>) {
        match self.last_data {
            None => {
                self.incr_quickack(MAX_QUICKACKS);
                self.ato_ms = ATO_MIN_MS;
            }
            Some(last) => {
                let gap = now.since(last).as_ns() / 1_000_000;
                if gap <= ATO_MIN_MS / 2 {
                    self.ato_ms = self.ato_ms / 2 + ATO_MIN_MS / 2;
                } else if gap < self.ato_ms {
                    self.ato_ms = (self.ato_ms / 2 + gap).min(self.rto_ms()).min(DELACK_MAX_MS);
                } else if gap > self.rto_ms() {
                    self.incr_quickack(MAX_QUICKACKS);
                }
            }
        }
        self.last_data = Some(now);
        self.check_ce(now, run, self.rcv_nxt + run.count, out);
        if run.first.len >= 128 {
            self.grow_window();
        }
    }

    fn rto_ms(&self) -> u64 {
        self.srtt_us / 1000 + 200
    }

    /// `tcp_ecn_check_ce`; `next` is expected once the run is in place.
    fn check_ce(&mut self, now: Time, run: &Run, next: u32, out: &mut Vec<Ack>) {
        if !self.ecn.is_on() {
            return;
        }
        if run.first.ecn == CE {
            self.stats.ce_packets += u64::from(run.count);
        }
        match self.ecn.on_data(run.first.ecn, run.count, next) {
            Reaction::None => {}
            Reaction::Quick => self.enter_quickack(2),
            Reaction::Now => self.ack_now = true,
            Reaction::Changed { next: prior, ece } => {
                if self.delack_is_set {
                    self.send_prior_ack(now, (prior, ece), next, out);
                }
                self.ack_now = true;
            }
        }
    }

    /// The delayed ACK of what came before the CE mark changed. It offers the window of what is here
    /// now, and leaves quick ACKs and the timer alone (`__tcp_send_ack` with an old `rcv_nxt`).
    fn send_prior_ack(&mut self, now: Time, prior: (u32, bool), next: u32, out: &mut Vec<Ack>) {
        self.compressed = 0;
        self.compress_at = Time::NEVER;
        let window = self.window.offer(self.bytes_up_to(next));
        self.rcv_wup = next;
        let ack = self.acknowledge(now, prior.0, window);
        out.push(Ack { ece: prior.1, ..ack });
    }

    fn incr_quickack(&mut self, most: u32) {
        let by_window = self.window.offered() / (2 * u64::from(self.config.mss));
        let quick = if by_window == 0 { 2 } else { by_window.min(u64::from(most)) as u32 };
        self.quick = self.quick.max(quick);
    }

    fn enter_quickack(&mut self, most: u32) {
        self.incr_quickack(most);
        self.ato_ms = ATO_MIN_MS;
    }

    /// `__tcp_ack_snd_check`.
    fn check_ack(&mut self, now: Time, out: &mut Vec<Ack>) {
        let unacked = self.bytes_up_to(self.rcv_nxt) - self.bytes_up_to(self.rcv_wup);
        if unacked > u64::from(self.config.mss)
            || self.quick > 0
            || self.ack_now
            || !self.config.delayed_ack
        {
            self.send_ack(now, out);
        } else if self.ooo.is_empty() {
            self.delay_ack(now, out);
        } else {
            self.compress_ack(now, out);
        }
    }

    /// `tcp_send_delayed_ack`.
    fn delay_ack(&mut self, now: Time, out: &mut Vec<Ack>) {
        let mut delay_ms = self.ato_ms;
        if delay_ms > ATO_MIN_MS {
            let rtt_ms = (self.srtt_us / 1000).max(ATO_MIN_MS);
            delay_ms = delay_ms.min(500).min(if self.srtt_us > 0 { rtt_ms } else { u64::MAX });
        }
        let delay_ms = delay_ms.min(DELACK_MAX_MS - 1);
        let at = self.tick.wheel(now, self.tick.from_us(delay_ms * 1000));
        if self.delack_is_set {
            if self.delack_at <= now + Span::from_ms(self.ato_ms / 4) {
                self.send_ack(now, out);
                return;
            }
            self.delack_at = self.delack_at.min(at);
        } else {
            self.delack_is_set = true;
            self.delack_at = at;
        }
    }

    /// Duplicate ACKs after the first three at one `rcv_nxt` are merged for up to 1 ms or 5 % of the RTT.
    fn compress_ack(&mut self, now: Time, out: &mut Vec<Ack>) {
        if self.compressed >= COMP_SACK_NR {
            self.send_ack(now, out);
            return;
        }
        if self.dup_acks_at != self.rcv_nxt {
            self.dup_acks_at = self.rcv_nxt;
            self.dup_acks = 0;
        }
        if self.dup_acks < FASTRETRANS_THRESH {
            self.dup_acks += 1;
            self.send_ack(now, out);
            return;
        }
        self.compressed += 1;
        if self.compress_at.is_set() {
            return;
        }
        let mut rtt_us = self.rcv_rtt_us;
        if self.srtt_us > 0 && self.srtt_us < rtt_us {
            rtt_us = self.srtt_us;
        }
        let delay = COMP_SACK_DELAY.min(Span::from_ns(rtt_us * 1000 / 20));
        self.compress_at = now + delay + COMP_SACK_SLACK;
    }

    fn send_ack(&mut self, now: Time, out: &mut Vec<Ack>) {
        self.compressed = 0;
        self.compress_at = Time::NEVER;
        self.delack_is_set = false;
        self.ack_now = false;
        self.pushed = false;
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato_ms = ATO_MIN_MS;
            }
        }
        let window = self.window.offer(self.bytes_up_to(self.rcv_nxt));
        self.rcv_wup = self.rcv_nxt;
        self.lengths.forget_below(self.rcv_wup);
        let ack = self.acknowledge(now, self.rcv_nxt, window);
        out.push(ack);
    }

    /// An ACK for everything before `next`.
    fn acknowledge(&mut self, now: Time, next: u32, window: u32) -> Ack {
        let mut ack = Ack {
            ack: next,
            window,
            ts_ecr: self.ts_recent,
            ts_val: timestamp_ms(super::clock::host_ns(now)),
            ..Ack::default()
        };
        self.ecn.on_ack(&mut ack);
        let dsack = self.dsack.take();
        ack.is_dsack = dsack.is_some();
        for block in dsack.into_iter().chain(self.ooo.sacks().iter().copied()).take(3) {
            ack.sacks[ack.n_sacks as usize] = block;
            ack.n_sacks += 1;
        }
        self.stats.acks_sent += 1;
        ack
    }

    /// Each packet that makes the window grow is acknowledged at once.
    fn grow_window(&mut self) {
        if self.window.grow() {
            self.quick |= 1;
        }
    }

    /// The application is woken when enough is there, or the end, and reads everything in order. Whether it was.
    fn read(&mut self, now: Time) -> bool {
        let have = self.bytes_up_to(self.rcv_nxt);
        self.stats.delivered_bytes = have;
        let is_woken = have - self.copied >= u64::from(self.config.rcvlowat) || self.is_complete();
        if is_woken {
            self.copied = have;
        }
        let rtt_us = if self.rcv_rtt_us == 0 { self.srtt_us } else { self.rcv_rtt_us };
        self.window.on_read(now, have, rtt_us);
        is_woken
    }

    /// RTT from timestamps of full-sized packets (`tcp_rcv_rtt_measure_ts`).
    fn measure_rtt(&mut self, now: Time, packet: &Packet) {
        if packet.ts_ecr == self.last_ts_ecr || u32::from(packet.len) < self.config.mss {
            return;
        }
        self.last_ts_ecr = packet.ts_ecr;
        let now_ms = timestamp_ms(super::clock::host_ns(now));
        let sample = u64::from(now_ms.wrapping_sub(packet.ts_ecr)) * 1000;
        if sample == 0 {
            return;
        }
        if self.rcv_rtt_us == 0 || sample < self.rcv_rtt_us {
            self.rcv_rtt_us = sample;
        } else {
            self.rcv_rtt_us = self.rcv_rtt_us - self.rcv_rtt_us / 8 + sample / 8;
        }
    }
}
