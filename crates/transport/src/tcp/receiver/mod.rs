//! The receiving half: what it acknowledges and when, and the window it offers (`tcp_data_queue` in
//! net/ipv4/tcp_input.c, `__tcp_select_window` in tcp_output.c).
//!
//! What it decides by is in values of their own: [`AckPolicy`], [`Compression`], [`Timestamps`], [`Window`],
//! [`OutOfOrder`], [`Extent`], [`ReceiverEcn`], [`Gro`]. The application reads at once, whenever `rcvlowat` bytes are there.

mod ack_policy;
mod compression;
mod ecn;
mod extent;
mod gro;
mod sack_blocks;
mod timestamps;
mod window;

use super::config::HostConfig;
use super::ecn::Feedback;
use crate::common::clock::{host_ns, timestamp_ms, Tick};
use ack_policy::{AckPolicy, MAX_QUICKACKS};
use compression::Compression;
use ecn::{Reaction, ReceiverEcn};
use extent::Extent;
use gro::{Gro, Run};
use net::frame::ecn::CE;
use net::{flags, Ack, Frame, Packet, TcpAck};
use sack_blocks::OutOfOrder;
use timestamps::Timestamps;
use units::Time;
use window::Window;

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiverStats {
    /// Payload bytes handed to the application.
    pub delivered_bytes: u64,
    /// Data segments that arrived.
    pub packets: u64,
    /// Data segments that PAWS dropped.
    pub paws_rejected: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Segments that arrived CE-marked.
    pub ce_packets: u64,
}

/// See the module documentation.
pub struct Receiver {
    config: HostConfig,
    tick: Tick,
    extent: Extent,
    /// Next segment expected.
    rcv_nxt: u32,
    /// `rcv_nxt` of the last ACK sent.
    rcv_wup: u32,
    ooo: OutOfOrder,
    /// A duplicate that the next ACK reports.
    dsack: Option<(u32, u32)>,
    timestamps: Timestamps,
    window: Window,
    gro: Gro,
    policy: AckPolicy,
    compression: Compression,
    /// What the application has read, bytes.
    copied: u64,
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
        Receiver {
            config,
            tick: Tick::new(config.hz),
            extent: Extent::new(segments, last_len, config.mss),
            rcv_nxt: 0,
            rcv_wup: 0,
            ooo: OutOfOrder::default(),
            dsack: None,
            timestamps: Timestamps::default(),
            window: Window::new(&config),
            gro: Gro::default(),
            policy: AckPolicy::new(config.mss),
            compression: Compression::default(),
            copied: 0,
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
        let run = Run::of(packet, self.config.mss);
        self.stats.packets += u64::from(run.count);
        if run.count > 1 {
            // GRO leaves a super-packet as it is.
            self.extent.note(&packet.frame(run.count - 1), self.rcv_wup);
            self.flush_gro(now, out);
            return self.on_run(now, &run, out);
        }
        self.extent.note(packet, self.rcv_wup);
        if self.config.gro {
            if let Some(ended) = self.gro.offer(now, run) {
                self.on_run(now, &ended, out);
            }
            // The end of the stream and PSH are not held back.
            if self.extent.is_end(packet.seq + 1) || packet.flags & flags::PUSH != 0 {
                self.flush_gro(now, out);
            }
        } else {
            self.on_run(now, &run, out);
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
        if self.timestamps.is_old(packet.ts_val) {
            self.reject(now, run, out);
            return;
        }
        // A duplicate of what was acknowledged gets no further (`tcp_sequence`).
        let end = packet.seq + run.count;
        if end < self.rcv_wup {
            return self.on_old(now, run, out);
        }
        if packet.seq <= self.rcv_wup {
            self.timestamps.on_left_edge(packet.ts_val);
        }
        if u32::from(packet.len) >= self.config.mss {
            self.timestamps.measure(now, packet.ts_ecr);
        }
        if packet.flags & flags::CWR != 0 {
            self.ecn.accept_cwr();
            self.policy.ack_now();
        }
        if end <= self.rcv_nxt {
            self.on_old(now, run, out);
        } else if packet.seq <= self.rcv_nxt {
            self.dsack = (packet.seq < self.rcv_nxt).then_some((packet.seq, self.rcv_nxt));
            self.on_in_order(now, run, out);
        } else {
            self.dsack = None;
            self.on_out_of_order(now, run, out);
        }
    }

    /// Earliest time at which [`Receiver::on_timer`] has something to do.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.policy.delayed_until().min(self.compression.ends_at()).min(self.gro.flush_at())
    }

    /// Runs the timers that are due.
    pub fn on_timer(&mut self, now: Time, out: &mut Vec<Ack>) {
        if self.gro.flush_at() <= now {
            self.flush_gro(now, out);
        }
        if self.compression.ends_at() <= now && self.compression.on_timeout() {
            self.send_ack(now, out);
        }
        if self.policy.delayed_until() <= now {
            self.policy.on_timeout();
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

    /// The application at the other end closed after `bytes` bytes (what a FIN tells).
    pub fn finish(&mut self, bytes: u64) {
        self.extent.finish(bytes);
    }

    /// Whether the whole of a finite stream arrived.
    pub fn is_complete(&self) -> bool {
        self.extent.is_end(self.rcv_nxt)
    }

    fn on_syn(&mut self, now: Time, packet: &Packet, out: &mut Vec<Ack>) {
        if self.established {
            return;
        }
        if !self.syn_seen && packet.flags & flags::RETRANS != 0 {
            self.ecn.fall_back();
        }
        self.syn_seen = true;
        self.timestamps.on_syn(now, packet.ts_val);
        let mut ack = TcpAck {
            window: self.window.on_syn(),
            ts_ecr: packet.ts_val,
            ts_val: timestamp_ms(host_ns(now)),
            ..TcpAck::default()
        };
        self.ecn.on_syn_ack(&mut ack);
        out.push(Ack { syn: true, ecn: self.ecn.codepoint(), ..ack.into() });
    }

    /// The handshake ends with the first packet after the SYN.
    fn establish(&mut self, now: Time) {
        if self.established {
            return;
        }
        self.established = true;
        self.timestamps.establish(now);
        self.policy.establish(now);
        self.window.establish(now);
    }

    fn on_in_order(&mut self, now: Time, run: &Run, out: &mut Vec<Ack>) {
        let end = run.first.seq + run.count;
        self.on_data(now, run, end, out);
        let had_hole = !self.ooo.is_empty();
        self.rcv_nxt = end;
        if had_hole {
            self.report_held(end);
            self.rcv_nxt = self.ooo.advance(end);
            if self.ooo.is_empty() {
                self.policy.ack_now();
            }
        }
        self.policy.pushed |= run.pushed;
        // A reader that empties the buffer after a push acknowledges that at once (`tcp_cleanup_rbuf`).
        if self.read(now) && self.policy.pushed {
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
            self.policy.enter_quick(MAX_QUICKACKS, self.window.offered());
            self.dsack = Some((run.first.seq, end.min(self.rcv_nxt)));
        }
        self.send_ack(now, out);
    }

    /// What was received before is reported as a duplicate.
    fn on_old(&mut self, now: Time, run: &Run, out: &mut Vec<Ack>) {
        self.policy.enter_quick(MAX_QUICKACKS, self.window.offered());
        self.dsack = Some((run.first.seq, run.first.seq + run.count));
        self.send_ack(now, out);
    }

    /// Data in order up to `next` ran over what was held: that is a duplicate, in one block with one before it that it
    /// touches (`tcp_dsack_extend`).
    fn report_held(&mut self, next: u32) {
        let Some(held) = self.ooo.held_before(next) else { return };
        self.dsack = Some(match self.dsack {
            None => held,
            Some((start, end)) if held.0 <= end => (start, end.max(held.1)),
            Some(separate) => separate,
        });
    }

    fn on_out_of_order(&mut self, now: Time, run: &Run, out: &mut Vec<Ack>) {
        self.check_ce(now, run, self.rcv_nxt, out);
        let mut flushed = false;
        for seq in run.first.seq..run.first.seq + run.count {
            let stored = self.ooo.store(seq);
            if stored.flush && self.compression.holds() {
                flushed = true;
                self.send_ack(now, out);
            }
            self.ooo.promote(seq, stored);
            if stored.is_duplicate {
                self.dsack = Some((seq, seq + 1));
            } else {
                // A segment that has joined no other is not charged yet.
                self.grow_window(-1);
            }
        }
        // The ACK that went out was the one this segment had scheduled; its own block waits.
        if !flushed {
            self.check_ack(now, out);
        }
    }

    /// `tcp_event_data_recv`.
    fn on_data(&mut self, now: Time, run: &Run, end: u32, out: &mut Vec<Ack>) {
        self.policy.on_data(now, self.window.offered(), self.timestamps.srtt_us());
        self.check_ce(now, run, end, out);
        if run.first.len >= 128 {
            self.grow_window(run.count.into());
        }
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
            Reaction::Quick => self.policy.enter_quick(2, self.window.offered()),
            Reaction::Now => self.policy.ack_now(),
            Reaction::Changed { next: prior, ece } => {
                if self.policy.delayed_until().is_set() {
                    self.send_prior_ack(now, (prior, ece), next, out);
                }
                self.policy.ack_now();
            }
        }
    }

    /// The delayed ACK of what came before the CE mark changed. It offers the window of what is here
    /// now, and leaves quick ACKs and the timer alone (`__tcp_send_ack` with an old `rcv_nxt`).
    fn send_prior_ack(&mut self, now: Time, prior: (u32, bool), next: u32, out: &mut Vec<Ack>) {
        self.compression.on_ack_sent();
        let window = self.window.offer(self.extent.bytes_up_to(next), self.ooo.held().into());
        self.rcv_wup = next;
        let ack = self.acknowledge(now, prior.0, window);
        let ack = TcpAck { ece: prior.1, ..ack };
        out.push(Ack { ecn: self.ecn.codepoint(), ..ack.into() });
    }

    /// `__tcp_ack_snd_check`.
    fn check_ack(&mut self, now: Time, out: &mut Vec<Ack>) {
        let unacked = self.extent.bytes_up_to(self.rcv_nxt) - self.extent.bytes_up_to(self.rcv_wup);
        let leaves = if self.policy.is_due(unacked) || !self.config.delayed_ack {
            true
        } else if self.ooo.is_empty() {
            self.policy.delay(now, self.tick, self.timestamps.srtt_us())
        } else {
            let rtt_us = self.timestamps.compression_rtt_us();
            self.compression.passes(now, self.rcv_nxt, rtt_us)
        };
        if leaves {
            self.send_ack(now, out);
        }
    }

    fn send_ack(&mut self, now: Time, out: &mut Vec<Ack>) {
        self.compression.on_ack_sent();
        let held = u64::from(self.ooo.held());
        if self.window.is_half_full(held) {
            self.policy.leave_quick();
        }
        self.policy.on_ack_sent();
        let window = self.window.offer(self.extent.bytes_up_to(self.rcv_nxt), held);
        self.rcv_wup = self.rcv_nxt;
        self.extent.forget_below(self.rcv_wup);
        let ack = self.acknowledge(now, self.rcv_nxt, window);
        out.push(Ack { ecn: self.ecn.codepoint(), ..ack.into() });
    }

    /// An ACK for everything before `next`.
    fn acknowledge(&mut self, now: Time, next: u32, window: u32) -> TcpAck {
        let mut ack = TcpAck {
            ack: next,
            window,
            ts_ecr: self.timestamps.recent(),
            ts_val: timestamp_ms(host_ns(now)),
            ..TcpAck::default()
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

    /// Each packet that makes the window grow is acknowledged at once. `arriving` segments are charged but not in order, or
    /// less are charged than are held.
    fn grow_window(&mut self, arriving: i64) {
        let unread = self.extent.bytes_up_to(self.rcv_nxt) - self.copied;
        let (held, mss) = (u64::from(self.ooo.held()), u64::from(self.config.mss));
        if self.window.grow(|| (held + unread / mss).saturating_add_signed(arriving)) {
            self.policy.on_window_growth();
        }
    }

    /// Wakes the application when `rcvlowat` bytes or the end of the stream are there, and lets it read everything in
    /// order; says whether it was woken.
    fn read(&mut self, now: Time) -> bool {
        let have = self.extent.bytes_up_to(self.rcv_nxt);
        self.stats.delivered_bytes = have;
        let is_woken = have - self.copied >= u64::from(self.config.rcvlowat) || self.is_complete();
        if is_woken {
            self.copied = have;
        }
        self.window.on_read(now, have, self.timestamps.read_rtt_us());
        is_woken
    }
}
