//! The receiving half: what it acknowledges and when, and the window it offers (`tcp_data_queue` in
//! net/ipv4/tcp_input.c, `__tcp_select_window` in tcp_output.c).
//!
//! What it decides by is in values of their own: [`AckPolicy`], [`Compression`], [`Timestamps`], [`Window`], [`SegmentSize`],
//! [`Memory`], [`OutOfOrder`], [`Extent`], [`ReceiverEcn`], [`Gro`]. The application reads when `rcvlowat`
//! bytes are there, after all packets of that instant.

mod ack_policy;
mod acks;
mod buffer;
mod compression;
mod ecn;
mod extent;
mod gro;
mod info;
mod memory;
mod misconduct;
mod requests;
mod sack_blocks;
mod segment_size;
mod timestamps;
mod tun;
mod window;

use super::config::{HostConfig, Release};
use super::ecn::Feedback;
use crate::common::clock::{host_ns, timestamp_ms, Tick};
use ack_policy::AckPolicy;
use compression::Compression;
use ecn::ReceiverEcn;
use extent::Extent;
use gro::{Gro, Run};
pub use info::{ReceiverInfo, ReceiverStats};
use memory::Memory;
use misconduct::Misbehaving;
pub use misconduct::Misconduct;
use net::{flags, Ack, AckKind, Packet, TcpAck};
use requests::Requests;
use sack_blocks::OutOfOrder;
use segment_size::{Measured, SegmentSize};
use timestamps::Timestamps;
use units::{Span, Time};
pub use window::window_scale;
use window::Window;

/// How often a SYN-ACK is sent again (`sysctl_tcp_synack_retries`).
const SYNACK_RETRIES: u8 = 5;

/// See the module documentation.
#[repr(align(64))] // a cache line
pub struct Receiver {
    config: HostConfig,
    extent: Extent,
    /// Next segment expected.
    rcv_nxt: u32,
    /// `rcv_nxt` of the last ACK sent, and the bytes before it; those before `rcv_nxt` are what was delivered.
    rcv_wup: u32,
    acked_bytes: u64,
    ooo: OutOfOrder,
    /// A duplicate that the next ACK reports.
    dsack: Option<(u32, u32)>,
    timestamps: Timestamps,
    window: Window,
    segment: SegmentSize,
    memory: Memory,
    gro: Gro,
    policy: AckPolicy,
    compression: Compression,
    /// What the application has read, bytes, and the segment after it.
    copied: u64,
    read_seq: u32,
    /// With fewer bytes in order, and nothing out of order, there is room ([`Receiver::is_room_short`]).
    may_be_short_from: u64,
    /// It wakes when as many bytes are delivered.
    wakes_at: u64,
    /// When the application runs that was woken, and whether it has an ACK to send then.
    reads_at: Time,
    is_ack_left_to_reader: bool,
    ecn: ReceiverEcn,
    syn_seen: bool,
    established: bool,
    /// SYN-ACKs that were sent again because no answer came.
    synack_timeouts: u8,
    /// Where the application sends requests.
    requests: Option<Box<Requests>>,
    /// How it breaks the rules.
    misbehaving: Option<Box<Misbehaving>>,
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
        let extent = Extent::new(segments, last_len, config.mss);
        // No more than half of what the buffer may grow to (`tcp_set_rcvlowat`).
        let lowat = u64::from(config.rcvlowat).min(config.rcvbuf.1 / 2).max(1);
        let config = HostConfig { rcvlowat: lowat as u32, ..config };
        Receiver {
            config,
            wakes_at: extent.up_to_end(config.rcvlowat.into()),
            extent,
            rcv_nxt: 0,
            rcv_wup: 0,
            acked_bytes: 0,
            ooo: OutOfOrder::default(),
            dsack: None,
            timestamps: Timestamps::default(),
            window: Window::new(&config),
            segment: SegmentSize::default(),
            memory: Memory::new(config.device),
            gro: Gro::default(),
            policy: AckPolicy::new(Tick::new(config.hz).ahead(config.up_earlier.1)),
            compression: Compression::default(),
            copied: 0,
            read_seq: 0,
            may_be_short_from: 0,
            reads_at: Time::NEVER,
            is_ack_left_to_reader: false,
            ecn: ReceiverEcn::new(feedback.into()),
            syn_seen: false,
            established: false,
            synack_timeouts: 0,
            requests: None,
            misbehaving: None,
            stats: ReceiverStats::default(),
        }
    }

    /// A packet arrives; acknowledgements that it causes are appended to `out`.
    pub fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Vec<Ack>) {
        if (packet.len == 0 || !self.established) && !self.open(now, packet, out) {
            return;
        }
        if self.reads_at < now {
            self.read();
        }
        let count = packet.segments();
        self.stats.packets += u64::from(count);
        if count > 1 && self.misbehaving.is_some() {
            return self.take_singly(now, packet, out);
        }
        if self.config.gro || count > 1 {
            return self.merge(now, Run::of(packet, self.config.mss), out);
        }
        self.extent.note(packet, self.rcv_wup);
        debug_assert_eq!(self.stats.delivered_bytes, self.extent.bytes_up_to(self.rcv_nxt));
        self.on_run(now, Run::single(packet), out);
    }

    /// One or more consecutive segments come up from the network card. What is out of order or old is elsewhere, so that most
    /// packets pass through here, [`Receiver::on_in_order`] and [`Receiver::on_data`] without a call.
    #[inline(always)]
    fn on_run(&mut self, now: Time, run: Run, out: &mut Vec<Ack>) {
        let packet = run.first;
        if self.timestamps.is_old(packet.ts_val) {
            return self.reject(now, run, out);
        }
        // A duplicate of what was acknowledged gets no further (`tcp_sequence`).
        let end = packet.seq + run.count;
        if end < self.rcv_wup {
            return self.repeat_ack(now, run, out);
        }
        if packet.seq <= self.rcv_wup {
            self.timestamps.on_left_edge(packet.ts_val);
        }
        if self.timestamps.is_new_echo(packet.ts_ecr) {
            self.measure_rtt(now, packet);
        }
        if packet.flags & flags::CWR != 0 {
            self.ecn.accept_cwr();
            self.policy.ack_now();
        }
        self.policy.schedule();
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

    /// `tcp_rcv_rtt_measure_ts`.
    fn measure_rtt(&mut self, now: Time, packet: &Packet) {
        if u32::from(packet.len) >= self.segment.bytes() {
            let only_smaller = self.config.release == Release::Linux6_18 && self.unread() > 0;
            self.timestamps.measure(now, packet.ts_ecr, only_smaller);
        }
    }

    /// Earliest time at which [`Receiver::on_timer`] has something to do.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        let reads_at = if self.is_ack_left_to_reader { self.reads_at } else { Time::NEVER };
        let timers = self.policy.delayed_until().min(self.compression.ends_at());
        timers.min(self.gro.flush_at()).min(reads_at)
    }

    /// Runs the timers that are due.
    pub fn on_timer(&mut self, now: Time, out: &mut Vec<Ack>) {
        if !self.established {
            return self.on_synack_timer(now, out);
        }
        if self.reads_at <= now {
            self.read();
            if self.is_ack_of_reader_due() {
                self.send_ack(now, out);
            }
        }
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

    /// Asks for the memory of what is out of order.
    #[inline]
    pub fn fetch_out_of_order(&self) {
        self.ooo.fetch();
    }

    /// Whether the handshake is over here.
    pub fn is_established(&self) -> bool {
        self.established
    }

    /// Next segment expected.
    pub fn rcv_nxt(&self) -> u32 {
        self.rcv_nxt
    }

    /// Payload that has come for the application, bytes: in order, or of one that misbehaves as far as it came.
    #[inline]
    pub fn received_bytes(&self) -> u64 {
        self.stats.delivered_bytes - self.missing_bytes()
    }

    /// Counters since the start.
    pub fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// What `tcp_info` tells.
    pub fn info(&self) -> ReceiverInfo {
        ReceiverInfo {
            read_bytes: self.copied,
            ato_us: self.policy.ato_us(),
            segment_bytes: self.segment.bytes(),
            window_limit_bytes: self.window.limit(),
            window_bytes: self.window.offered(),
            space_bytes: self.window.space(),
            rtt_us: self.timestamps.rcv_rtt_us(),
            out_of_order: self.stats.out_of_order,
        }
    }

    /// The application at the other end closed after `bytes` bytes (what a FIN tells).
    pub fn finish(&mut self, bytes: u64) {
        self.extent.finish(bytes);
        self.set_wakes_at();
    }

    /// Whether the whole of a finite stream arrived.
    pub fn is_complete(&self) -> bool {
        self.extent.is_whole(self.received_bytes()) && self.has_all()
    }

    /// A packet of the handshake, or one without data, as a SYN is; says whether it has data.
    #[cold]
    fn open(&mut self, now: Time, packet: &Packet, out: &mut Vec<Ack>) -> bool {
        if packet.flags & flags::SYN != 0 {
            self.on_syn(now, packet, out);
            return false;
        }
        self.establish(now, packet.ts_ecr);
        packet.len > 0
    }

    fn on_syn(&mut self, now: Time, packet: &Packet, out: &mut Vec<Ack>) {
        if self.established {
            return;
        }
        if self.syn_seen {
            self.timestamps.on_syn_again();
        } else {
            if packet.flags & flags::RETRANS != 0 {
                self.ecn.fall_back();
            }
            self.syn_seen = true;
            self.timestamps.on_syn(now, packet.ts_val);
        }
        self.send_synack(now, out);
    }

    /// No packet has ended the handshake: the SYN-ACK, or the ACK of it, is lost (`reqsk_timer_handler`).
    #[cold]
    fn on_synack_timer(&mut self, now: Time, out: &mut Vec<Ack>) {
        if self.policy.delayed_until() > now {
            return;
        }
        if self.synack_timeouts == SYNACK_RETRIES {
            return self.policy.give_up();
        }
        self.synack_timeouts += 1;
        self.timestamps.on_syn_again();
        self.send_synack(now, out);
    }

    fn send_synack(&mut self, now: Time, out: &mut Vec<Ack>) {
        self.policy.await_handshake(now, self.synack_timeouts);
        let mut ack = TcpAck {
            window: self.window.on_syn(),
            ts_ecr: self.timestamps.recent(),
            ts_val: timestamp_ms(host_ns(now)),
            ..TcpAck::default()
        };
        self.ecn.on_syn_ack(&mut ack);
        out.push(Ack { kind: AckKind::Syn, ecn: self.ecn.codepoint(), ..ack.into() });
    }

    /// The handshake ends with the first packet after the SYN.
    fn establish(&mut self, now: Time, ts_ecr: u32) {
        if self.established {
            return;
        }
        self.established = true;
        self.timestamps.establish(now, ts_ecr);
        self.policy.establish(now);
        self.window.establish(now);
    }

    #[inline(always)]
    fn on_in_order(&mut self, now: Time, run: Run, out: &mut Vec<Ack>) {
        let end = run.first.seq + run.count;
        let bytes = self.extent.bytes_up_to(end);
        let (len, answers) = (bytes - self.stats.delivered_bytes, self.stats.acks_sent);
        self.memory.take_in_order((self.rcv_nxt, end), len, answers);
        self.on_data(now, run, (end, bytes), out);
        self.rcv_nxt = end;
        self.stats.delivered_bytes = bytes;
        let is_slow = !self.ooo.is_empty();
        if is_slow {
            self.fill_hole(end);
        }
        if self.is_reader_due() || is_slow && self.is_room_short() {
            self.wake_reader(now);
        }
        self.check_ack(now, out);
        // On the fast path the reader is woken after the ACK, which may have opened the window (`tcp_rcv_established`).
        if !is_slow && bytes >= self.may_be_short_from && self.is_room_short() {
            self.wake_reader(now);
        }
        if self.reads_at.is_set() {
            self.is_ack_left_to_reader = self.is_ack_of_reader_due();
        }
    }

    #[inline(always)]
    fn wake_reader(&mut self, now: Time) {
        if !self.reads_at.is_set() {
            self.reads_at = now + Span::from_ns(1);
        }
    }

    /// Data in order up to `end` may have reached what is held.
    #[inline(never)]
    fn fill_hole(&mut self, end: u32) {
        self.report_held(end);
        self.rcv_nxt = self.ooo.advance(end);
        self.memory.advance(self.rcv_nxt);
        self.stats.delivered_bytes = self.extent.bytes_up_to(self.rcv_nxt);
        if self.ooo.is_empty() {
            self.policy.ack_now();
        }
    }

    #[inline(never)]
    fn on_out_of_order(&mut self, now: Time, run: Run, out: &mut Vec<Ack>) {
        if self.misbehaving.is_some() && self.skip_to(run.first.seq) {
            return self.on_in_order(now, run, out);
        }
        let answers = self.stats.acks_sent;
        self.check_ce(now, run, self.rcv_nxt, out);
        self.measure(run);
        self.stats.out_of_order += u64::from(run.count);
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
                self.grow_window_out_of_order(run, seq, stored.has_joined, answers);
            }
        }
        // The ACK that went out was the one this segment had scheduled; its own block waits.
        if !flushed {
            self.check_ack(now, out);
        }
    }

    /// `tcp_event_data_recv`; the run is in order, and there are `bytes` bytes before its end.
    #[inline(always)]
    fn on_data(&mut self, now: Time, run: Run, (end, bytes): (u32, u64), out: &mut Vec<Ack>) {
        self.measure(run);
        self.timestamps.measure_by_window(now, bytes, self.window.offered());
        if self.requests.is_some() {
            self.note_answer(now);
        }
        self.policy.on_data(now, self.window.offered(), self.timestamps.rto_us());
        self.check_ce(now, run, end, out);
        if run.first.len >= 128 && self.window.may_grow(self.unread()) {
            self.grow_window_in_order(run, bytes);
        }
    }

    /// How large the sender's segments are, and whether the application that wrote them paused (`tcp_measure_rcv_mss`).
    #[inline(always)]
    fn measure(&mut self, run: Run) {
        if run.count > 1 {
            // A super-packet tells the size of its segments.
            if run.pushed {
                self.policy.on_end(false);
            }
            return self.measure_len(self.config.mss, false, run.count);
        }
        self.measure_len(run.first.len.into(), run.first.flags & flags::PUSH != 0, 1);
    }

    /// `count` segments of `len` bytes came in one packet.
    #[inline(always)]
    fn measure_len(&mut self, len: u32, is_pushed: bool, count: u32) {
        let Measured { is_larger, is_changed, is_end, is_short } =
            self.segment.measure(len, is_pushed);
        if is_end {
            self.policy.on_end(is_short);
        }
        if is_changed {
            self.set_segment(len, is_larger, count);
        }
    }

    /// A segment of `len` bytes changed the estimate, the larger one perhaps that of the memory that segments take, too:
    /// that is known from the whole packet, of `count` such segments.
    #[cold]
    fn set_segment(&mut self, len: u32, is_larger: bool, count: u32) {
        if is_larger {
            let memory = self.config.device.truesize_merged(len.into(), count.into());
            self.window.measure(u64::from(len) * u64::from(count), memory);
        }
        self.window.set_segment(self.segment.bytes());
        self.policy.set_segment(self.segment.bytes());
    }

    /// `tcp_ecn_check_ce`; `next` is expected once the run is in place.
    #[inline]
    fn check_ce(&mut self, now: Time, run: Run, next: u32, out: &mut Vec<Ack>) {
        if self.ecn.is_on() {
            self.take_ce(now, run, next, out);
        }
    }
}
