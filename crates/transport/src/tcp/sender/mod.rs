//! The sending half of a connection: what it keeps, and the events that drive it.
//!
//! The files of this folder are one value's methods, by what happens: [`ack`] when an acknowledgement arrives,
//! [`paws`] when that is too old, [`timers`] when a timer fires, [`write`] when the application writes; [`output`] says what
//! may be sent, and [`transmit`] sends it. They call each other.
//! What they decide by is in values of their own, which know nothing of the sender: [`Recovery`], [`RtxQueue`],
//! [`Supply`], [`HostQueue`], [`XmitTimer`].

mod ack;
mod output;
mod paws;
mod timers;
mod transmit;
mod write;

use super::config::HostConfig;
use super::cwnd_use::CwndUse;
use super::host_queue::{Burst, HostQueue};
use super::limits::{LimitedTime, Limits};
use super::recovery::{rack, Recovery};
use super::rtt::Estimator;
use super::rtx_queue::RtxQueue;
use super::send_buffer::SendBuffer;
use super::supply::Supply;
use super::timer::XmitTimer;
use crate::common::clock::{run_time, Tick};
use crate::common::{Conn, SenderStats, Socket, Stream};
use cca::{Controller, TcpSock};
use net::host::HostQdisc;
use net::Ack;
use units::{Span, Time};

/// See the module documentation.
#[repr(align(64))] // a cache line
pub struct Sender {
    /// The socket as the controller sees it.
    pub sk: Socket,
    config: HostConfig,
    conn: Conn,
    syn: Syn,
    supply: Supply,
    /// What its application has to write goes through it; `None`: everything that is written is taken at once.
    buffer: Option<SendBuffer>,
    rtx: RtxQueue,
    recovery: Recovery,
    rtt: Estimator,
    last_rtt_us: u32,
    cwnd_use: CwndUse,
    limits: Limits,
    timer: XmitTimer,
    host: HostQueue,
    pacing_timer: Time,
    /// Earliest departure time of the last transmission, host ns.
    last_edt_ns: u64,
    /// The peer's newest timestamp, which is echoed (`ts_recent`).
    peer_ts_val: u32,
    /// The tick in which something that was out of place was answered last.
    answered: Option<u32>,
    /// A segment that is acknowledged in part, and how many bytes of it.
    part: (u32, u32),
}

/// The SYN that was sent last.
#[derive(Clone, Copy, Debug, Default)]
struct Syn {
    sent_at: Time,
    /// Timestamp of the first, ms.
    first_ts_val: u32,
    /// SYNs sent before it.
    retries: u32,
    /// It is a SYN-ACK.
    is_answer: bool,
}

impl Sender {
    /// A sender that has not started. `seed` seeds the controller's random numbers.
    pub fn new(ca: Controller, config: HostConfig, stream: Stream, seed: u64) -> Sender {
        let buffer = (config.write > 0).then(|| {
            let mut buffer = SendBuffer::new(config.write, config.sndbuf);
            buffer.add(stream.bytes(config.mss));
            buffer.closes = stream != Stream::EMPTY;
            buffer
        });
        let stream = if buffer.is_some() { Stream::EMPTY } else { stream };
        Sender {
            sk: Socket::new(
                socket(&config),
                ca,
                Tick::new(config.hz).ahead(config.up_earlier.0),
                seed,
            ),
            config,
            conn: Conn::Closed,
            syn: Syn::default(),
            supply: Supply::new(stream, config.mss),
            buffer,
            rtx: RtxQueue::new(),
            recovery: Recovery::new(),
            rtt: Estimator::default(),
            last_rtt_us: 0,
            cwnd_use: CwndUse::default(),
            limits: Limits::default(),
            timer: XmitTimer::default(),
            host: HostQueue::new(&config),
            pacing_timer: Time::NEVER,
            last_edt_ns: 0,
            peer_ts_val: 0,
            answered: None,
            part: (0, 0),
        }
    }

    /// Limits the pacing rate (`SO_MAX_PACING_RATE`, fq's maxrate), payload bytes per second. Call
    /// before [`Sender::start`].
    pub fn set_max_pacing_rate(&mut self, bytes_per_s: u64) {
        self.sk.set_max_pacing_rate(bytes_per_s);
        if self.config.qdisc != HostQdisc::Fq {
            self.sk.sk_pacing_status = cca::SK_PACING_NEEDED;
        }
    }

    /// Opens the connection: a SYN leaves the host.
    pub fn start(&mut self, now: Time) {
        assert_eq!(self.conn, Conn::Closed, "started twice");
        self.sk.refresh(now);
        self.conn = Conn::SynSent;
        self.send_syn();
    }

    /// The other side opened the connection: a SYN-ACK leaves, and the ACK of it is the `syn` that is awaited.
    pub fn accept(&mut self, now: Time) {
        self.syn.is_answer = true;
        self.start(now);
    }

    /// The application closes: nothing is sent any more, timers are cleared, the controller lets go of the socket.
    pub fn stop(&mut self) {
        if self.conn == Conn::Established {
            self.sk.release();
        }
        self.conn = Conn::Stopped;
        self.timer.clear();
        self.pacing_timer = Time::NEVER;
    }

    /// An acknowledgement arrives.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.sk.refresh(now);
        let tcp = ack.tcp();
        match self.conn {
            Conn::SynSent if ack.is_syn() => {
                self.peer_ts_val = tcp.ts_val;
                self.establish(tcp);
            }
            Conn::Established if ack.is_syn() => self.answer_misplaced(),
            Conn::Established => {
                self.sk.stats.acks_received += 1;
                if self.is_discarded(tcp) {
                    return self.answer_misplaced();
                }
                if !self.process_ack(tcp) {
                    return;
                }
                self.supply.forget(self.rtx.una(), || self.host.lowest_seq());
                // A send has looked for room already.
                if !self.push_pending() {
                    self.check_space();
                }
            }
            Conn::Closed | Conn::SynSent | Conn::Stopped => {}
        }
    }

    /// Earliest time at which [`Sender::on_timer`] or [`Sender::depart`] has something to do.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.next_wakeup().0
    }

    /// The same, and how much earlier the host may be woken, because another timer fires.
    #[inline]
    pub fn next_wakeup(&self) -> (Time, Span) {
        let timer = self.timer.fires_at().min(self.pacing_timer).min(self.wakes_at());
        let (departure, slack) = self.host.next_departure();
        if departure <= timer {
            (departure, slack)
        } else {
            (timer, Span::ZERO)
        }
    }

    /// The watchdog of the host's queue discipline fires, at its time or within its slack.
    pub fn on_watchdog(&mut self, now: Time) {
        self.host.run(now);
    }

    /// Runs the timers that are due.
    pub fn on_timer(&mut self, now: Time) {
        if self.pacing_timer <= now {
            self.pacing_timer = Time::NEVER;
            self.resume(now);
        }
        if self.timer.fires_at() <= now {
            self.sk.refresh(now);
            self.on_xmit_timer();
        }
        if self.wakes_at() <= now {
            self.sk.refresh(now);
            self.fill();
        }
    }

    /// When the application goes on writing.
    #[inline]
    pub(super) fn wakes_at(&self) -> Time {
        self.buffer.map_or(Time::NEVER, |buffer| buffer.wakes_at)
    }

    /// Whether [`Sender::depart`] may have something to do.
    #[inline]
    pub fn may_depart(&self, now: Time) -> bool {
        self.host.has_work(now)
    }

    /// More ACKs come at this instant, or no more: what leaves meanwhile stays charged to the socket.
    pub fn set_followed(&mut self, is_followed: bool) {
        self.host.is_followed = is_followed;
    }

    /// Takes the next burst that leaves the host by `now`. When none is left, whatever the small
    /// queue limit held back is sent on, so call it until it returns `None`.
    #[inline]
    pub fn depart(&mut self, now: Time) -> Option<Burst> {
        loop {
            if let Some(burst) = self.host.pop(now) {
                return Some(burst);
            }
            if !self.host.complete() {
                return None;
            }
            self.resume(now);
        }
    }

    /// A function of its own, so that a burst that just leaves does not pay for it.
    #[inline(never)]
    fn resume(&mut self, now: Time) {
        self.sk.refresh(now);
        self.resume_sending();
    }

    /// Whether every byte of a finite transfer, or of one that the application closed, is acknowledged.
    pub fn is_complete(&self) -> bool {
        !self.supply.is_open && self.rtx.una() == self.supply.stream().segments
    }

    /// Whether every byte that was written is acknowledged.
    pub fn is_all_acknowledged(&self) -> bool {
        let left = self.buffer.map_or(0, |buffer| buffer.left());
        self.rtx.una() == self.rtx.nxt() && self.supply.unsent(self.rtx.nxt()) == 0 && left == 0
    }

    /// Asks for the memory that this value leads to and an acknowledgement needs.
    #[inline]
    pub fn fetch_queues(&self) {
        self.rtx.fetch();
        self.host.fetch();
        self.supply.fetch();
    }

    /// State of the connection.
    pub fn conn(&self) -> Conn {
        self.conn
    }

    /// What the application has supplied so far; final once it closed.
    pub fn stream(&self) -> Stream {
        self.supply.stream()
    }

    /// Payload that the application has supplied so far, bytes; of a finite stream all of it.
    pub fn written(&self) -> u64 {
        self.supply.written(self.rtx.nxt())
    }

    /// The same with what the application has yet to write, because the send buffer is full.
    pub fn offered(&self) -> u64 {
        self.written() + self.buffer.map_or(0, |buffer| buffer.left())
    }

    /// Payload bytes of a segment that has been sent and not yet acknowledged, or just departed.
    #[inline]
    pub fn payload(&self, seq: u32) -> u32 {
        self.supply.payload(seq)
    }

    /// Counters since the start.
    pub fn stats(&self) -> &SenderStats {
        &self.sk.stats
    }

    /// For how long it was busy until `now`, and of that held by a buffer of the hosts.
    pub fn limited_time(&self, now: Time) -> LimitedTime {
        let tick = self.sk.tick();
        self.limits.times(tick.jiffies(now), |ticks| tick.to_us(ticks))
    }

    /// Last round-trip time that the controller saw, us; 0 before the first.
    pub fn last_rtt_us(&self) -> u32 {
        self.last_rtt_us
    }

    /// First unacknowledged segment and the next one to send.
    pub fn window(&self) -> (u32, u32) {
        (self.rtx.una(), self.rtx.nxt())
    }

    /// Segments in flight: sent, neither SACKed nor lost, or retransmitted.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.sk.packets_in_flight()
    }

    /// `tcp_set_rto`: from the estimate, without backoff.
    fn set_rto(&mut self) {
        self.sk.icsk_rto = self.sk.tick().from_us(super::rtt::rto_us(&self.sk));
    }

    /// When the socket's own pacing lets the next packet go.
    fn wstamp_time(&self) -> Time {
        run_time(self.sk.tcp_wstamp_ns)
    }

    /// The controller's view of the sequence space.
    fn sync_seq(&mut self) {
        self.sk.snd_nxt = self.supply.byte_seq(self.rtx.nxt());
        self.sync_write_seq();
        self.sync_una();
    }

    /// What an ACK changes of it: neither what was sent nor, of a stream with an end, what was written.
    #[inline]
    fn sync_una(&mut self) {
        let una = self.supply.byte_seq(self.rtx.una()).wrapping_add(self.acked_part());
        let acked = una.wrapping_sub(self.sk.snd_una);
        self.sk.bytes_acked = self.sk.bytes_acked.wrapping_add_signed(i64::from(acked as i32));
        self.sk.snd_una = una;
        debug_assert_eq!(self.sk.snd_nxt, self.supply.byte_seq(self.rtx.nxt()));
        if !self.supply.has_write_end() {
            self.sync_write_seq();
        }
        debug_assert_eq!(self.sk.write_seq, self.supply.write_seq(self.sk.snd_nxt));
    }

    /// Bytes of the first unacknowledged segment that are acknowledged all the same.
    #[inline]
    pub(super) fn acked_part(&self) -> u32 {
        if self.part.0 == self.rtx.una() {
            self.part.1
        } else {
            0
        }
    }

    fn sync_write_seq(&mut self) {
        self.sk.write_seq = self.supply.write_seq(self.sk.snd_nxt);
    }
}

/// The socket of a connection that has not started.
fn socket(config: &HostConfig) -> Box<TcpSock> {
    let mut sk = TcpSock::new();
    sk.mss_cache = config.mss;
    sk.sk_gso_max_segs = if config.tso { 65_535 } else { 1 };
    sk.sk_pacing_status = match config.qdisc {
        HostQdisc::Fq => cca::SK_PACING_FQ,
        HostQdisc::Pfifo | HostQdisc::None => cca::SK_PACING_NONE,
    };
    sk.reordering = rack::REORDERING;
    sk.app_limited = u32::MAX;
    sk.rate_app_limited = 1;
    sk
}
