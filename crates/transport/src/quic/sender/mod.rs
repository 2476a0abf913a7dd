//! The sending half of a connection: the data it keeps, and the events that drive it.

mod ack;
mod congestion;
mod loss;
mod output;

use super::arrivals::Arrivals;
use super::config::Config;
use super::cut::{Cut, PartSize};
use super::delivered::Delivered;
use super::ecn::EcnCounts;
use super::episode::{LossRun, Undo};
use super::pacer::Pacer;
use super::poll::Poll;
use super::prr::Prr;
use super::rtt::Estimator;
use super::sent::{Sent, SentPackets, RETRANS};
use super::thresholds::Thresholds;
use super::timer::Timer;
use crate::common::clock::{run_time, Tick};
use crate::common::{Conn, SenderEvent, SenderStats, Socket, Stream};
use cca::{AckSample, CaState, Controller, TcpSock};
use net::{quic, Ack, Packet};
use std::collections::VecDeque;
use units::{Span, Time};

/// Bytes of packets since the start; they wrap.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    sent: u32,
    acked: u32,
}

/// See the module documentation.
pub struct Sender {
    /// The socket as the controller sees it. Its sequence numbers are packet numbers times the payload:
    /// what is lost counts as gone, so a round of `snd_una` to `snd_nxt` ends as in TCP.
    pub sk: Socket,
    config: Config,
    cut: Cut,
    /// Bytes that one of a window stands for, stream data and frame.
    part: PartSize,
    conn: Conn,
    stream: Stream,
    /// Next segment of the stream that was never sent.
    segment_nxt: u32,
    delivered: Delivered,
    /// Segments whose owner was lost, oldest loss first.
    pending: VecDeque<u32>,
    packets: SentPackets,
    largest_acked: Option<u32>,
    state: CaState,
    /// Losses of packets below this number belong to a congestion event that was answered.
    high: u32,
    undo: Undo,
    /// One packet may leave beyond the window when recovery begins (RFC 9002 section 7.3.2).
    extra: bool,
    prr: Prr,
    /// Bytes sent until and with the packet acknowledged last; wraps.
    sent_at_acked: u32,
    /// Bytes sent and acknowledged; both wrap.
    bytes: Totals,
    /// Bytes in flight, and before the ACK that is processed.
    flight: u64,
    prior_flight: u64,
    run: LossRun,
    rtt: Estimator,
    thresholds: Thresholds,
    last_rtt_us: u32,
    timer: Timer,
    /// Probes still to be sent for the last probe timeout, for packets below the number.
    probes: (u32, u32),
    pacer: Pacer,
    poll: Option<Poll>,
    /// A STOP_WAITING frame has something new to say.
    owes_stop_waiting: bool,
    /// The Initial packet is to be sent.
    owes_initial: bool,
    /// Something was sent since the window was last validated.
    sent_some: bool,
    usage_end: u32,
    ecn: EcnCounts,
    spurious: u64,
}

impl Sender {
    /// A sender that has not started. `seed` seeds the controller's random numbers.
    pub fn new(ca: Controller, config: Config, stream: Stream, seed: u64) -> Sender {
        let ecn = EcnCounts::new(config.ecn || ca.module().needs_ecn());
        Sender {
            sk: Socket::new(socket(&config), ca, Tick::new(config.hz), seed),
            config,
            cut: config.cut(),
            part: config.cut().part_size(config.frame_bytes()),
            conn: Conn::Closed,
            stream,
            segment_nxt: 0,
            delivered: Delivered::default(),
            pending: VecDeque::new(),
            packets: SentPackets::default(),
            largest_acked: None,
            state: CaState::Open,
            high: 0,
            undo: Undo::default(),
            extra: false,
            prr: Prr::default(),
            sent_at_acked: 0,
            bytes: Totals::default(),
            flight: 0,
            prior_flight: 0,
            run: LossRun::default(),
            rtt: Estimator::default(),
            thresholds: Thresholds::new(&config),
            last_rtt_us: 0,
            timer: Timer::default(),
            probes: (0, 0),
            pacer: Pacer::default(),
            poll: Poll::every(config.poll, config.clock_offset),
            owes_stop_waiting: false,
            owes_initial: false,
            sent_some: false,
            usage_end: 0,
            ecn,
            spurious: 0,
        }
    }

    /// Limits the pacing rate, payload bytes per second. Call before [`Sender::start`].
    pub fn set_max_pacing_rate(&mut self, bytes_per_s: u64) {
        self.sk.set_max_pacing_rate(bytes_per_s);
        self.sk.sk_pacing_status = cca::SK_PACING_NEEDED;
    }

    /// Opens the connection: [`Sender::depart`] has the Initial packet, or data without a handshake.
    pub fn start(&mut self, now: Time) {
        assert_eq!(self.conn, Conn::Closed, "started twice");
        self.refresh(now);
        if self.config.handshake {
            self.conn = Conn::SynSent;
            self.owes_initial = true;
            self.arm_handshake();
        } else {
            self.establish();
        }
    }

    /// The application closes: nothing is sent any more, timers are cleared, the controller lets go of the socket.
    pub fn stop(&mut self) {
        if self.conn == Conn::Established {
            self.sk.release();
        }
        self.conn = Conn::Stopped;
        self.timer = Timer::default();
        self.pacer.is_waiting = false;
    }

    /// An acknowledgement arrives; `arrivals` is the receiver's log, of which it takes what the frame
    /// reports. [`Sender::depart`] must follow.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, arrivals: &mut Arrivals) {
        self.refresh(now);
        match self.conn {
            Conn::SynSent if ack.is_syn() => self.on_handshake(),
            Conn::Established if ack.is_syn() => {}
            Conn::Established => self.process_ack(ack, arrivals),
            Conn::Closed | Conn::SynSent | Conn::Stopped => {}
        }
    }

    /// Earliest time at which [`Sender::on_timer`] or [`Sender::depart`] has something to do.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.timer.fires_at().min(self.pacer.wakes_at())
    }

    /// Runs the timer if it is due. [`Sender::depart`] must follow.
    pub fn on_timer(&mut self, now: Time) {
        if self.timer.fires_at() <= now {
            self.refresh(now);
            self.on_loss_timer();
        }
    }

    /// Takes the next packet that leaves at `now`: call it after every event until it returns `None`.
    /// The packet's `flow` is the caller's to set.
    pub fn depart(&mut self, now: Time) -> Option<Packet> {
        self.refresh(now);
        match self.conn {
            Conn::SynSent if std::mem::take(&mut self.owes_initial) => Some(Sender::initial()),
            Conn::Established => self.next_packet(),
            Conn::Closed | Conn::SynSent | Conn::Stopped => None,
        }
    }

    /// Whether every byte of a finite transfer is acknowledged.
    pub fn is_complete(&self) -> bool {
        self.delivered.next() == self.stream.segments
    }

    /// State of the connection.
    pub fn conn(&self) -> Conn {
        self.conn
    }

    /// Counters since the start.
    pub fn stats(&self) -> &SenderStats {
        &self.sk.stats
    }

    /// Packets declared lost and acknowledged later.
    pub fn spurious_losses(&self) -> u64 {
        self.spurious
    }

    /// Last round-trip time, us; 0 before the first.
    pub fn last_rtt_us(&self) -> u32 {
        self.last_rtt_us
    }

    /// First segment of the stream that is not known to be delivered, and the next one never sent.
    pub fn window(&self) -> (u32, u32) {
        (self.delivered.next(), self.segment_nxt)
    }

    /// What is remembered of the packets sent.
    pub fn packets(&self) -> &SentPackets {
        &self.packets
    }

    /// Payload bytes of a segment.
    #[inline]
    pub fn payload(&self, segment: u32) -> u32 {
        if segment + 1 == self.stream.segments {
            self.stream.last_len
        } else {
            self.cut.len(segment)
        }
    }

    /// Packets in flight, or parts of them.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.sk.packets_out
    }

    /// Where a segment begins in the stream, bytes.
    pub fn offset(&self, segment: u32) -> u64 {
        self.cut.offset(segment)
    }

    /// A packet is no longer in flight.
    fn leave_flight(&mut self, number: u32, packet: &Sent) {
        self.sk.packets_out -= self.cut.parts(packet.segment);
        self.flight -= self.packet_bytes(number, packet.segment, packet.is(RETRANS));
    }

    /// Brings the clocks to `now`; the one that stamps and rates are taken with counts in `config.clock`.
    #[inline]
    fn refresh(&mut self, now: Time) {
        self.sk.refresh(now);
        let tick = self.config.clock.as_ns();
        if tick > 0 {
            self.sk.tcp_clock_cache -= self.sk.tcp_clock_cache % tick;
            self.sk.tcp_mstamp = self.sk.tcp_clock_cache / 1_000;
        }
    }

    /// When the sender's clock has reached a time of it, ns.
    pub(super) fn clock_reaches(&self, host_ns: u64) -> Time {
        run_time(host_ns.next_multiple_of(self.config.clock.as_ns().max(1)))
    }

    /// What a packet counts for where windows and flights are in bytes: its stream data and frames.
    #[inline]
    pub(super) fn packet_bytes(&self, number: u32, segment: u32, is_retrans: bool) -> u64 {
        let payload = u64::from(self.payload(segment));
        if !self.config.compact {
            return payload + quic::FRAME_BYTES;
        }
        let stop_waiting = if is_retrans { quic::compact_stop_waiting_bytes(number) } else { 0 };
        payload + quic::compact_frame_bytes(number, self.cut.offset(segment)) + stop_waiting
    }

    /// The handshake is over, or there is none: the controller starts.
    fn establish(&mut self) {
        self.conn = Conn::Established;
        self.timer = Timer::default();
        // Linux counts the SYN as delivered: 0 means "no sample" to controllers.
        self.sk.delivered = 1;
        self.sk.delivered_mstamp = self.sk.tcp_mstamp;
        self.sk.first_tx_mstamp = self.sk.tcp_mstamp;
        self.sk.ecn_flags = if self.ecn.is_on { cca::TCP_ECN_OK } else { 0 };
        self.sk.snd_cwnd = self.config.initial_window;
        self.sk.snd_cwnd_stamp = self.sk.jiffies;
        self.sync_seq();
        self.set_rto();
        self.sk.init();
        if self.config.initial_sample {
            self.tell_initial_rtt();
        }
        if !self.sk.has_cong_control() {
            self.update_pacing_rate();
        }
        self.sk.log(SenderEvent::Established);
    }

    /// The assumed RTT is the first sample.
    fn tell_initial_rtt(&mut self) {
        let rtt_us = self.config.initial_rtt.as_us() as u32;
        self.rtt.sample(&mut self.sk, rtt_us, Span::ZERO, &self.config);
        self.sk.pkts_acked(&AckSample { pkts_acked: 0, rtt_us: rtt_us as i32, in_flight: 0 });
    }

    /// Sequence number of a packet's start, as the controller sees it.
    #[inline]
    fn byte_seq(&self, number: u32) -> u32 {
        number.wrapping_mul(self.sk.mss_cache).wrapping_add(1)
    }

    /// The controller's view of the sequence space. Data that waits to be sent lies beyond `snd_nxt`.
    fn sync_seq(&mut self) {
        self.sk.snd_una = self.byte_seq(self.packets.una());
        self.sk.snd_nxt = self.byte_seq(self.packets.next());
        let waits = !self.pending.is_empty() || self.segment_nxt < self.stream.segments;
        let ahead = if waits { 2 * self.sk.mss_cache } else { 0 };
        self.sk.write_seq = self.sk.snd_nxt.wrapping_add(ahead);
    }

    fn set_rto(&mut self) {
        self.sk.icsk_rto = self.sk.tick().from_us(Estimator::pto_us(&self.sk, &self.config));
    }

    fn set_ca_state(&mut self, state: CaState) {
        self.sk.set_ca_state(state);
        self.state = state;
    }
}

/// The socket of a connection that has not started.
fn socket(config: &Config) -> Box<TcpSock> {
    let mut sk = TcpSock::new();
    sk.mss_cache = config.cut().mean();
    // One packet a send: bursts sized by the pacing rate have nothing to do with this host.
    sk.sk_gso_max_size = sk.mss_cache;
    sk.sk_gso_max_segs = 1;
    sk.sk_pacing_shift = 31;
    sk.sk_pacing_status = if config.pacing { cca::SK_PACING_NEEDED } else { cca::SK_PACING_NONE };
    sk.snd_wnd = 1 << 30;
    sk.max_window = 1 << 30;
    sk.reordering = config.packet_threshold;
    sk
}
