//! The sending half of a connection: the data it keeps, and the events that drive it.

use super::clock::{host_ns, run_time, Tick};
use super::config::{HostConfig, HostQdisc};
use super::host_queue::{Burst, HostQueue};
use super::rack::Rack;
use super::rtt::Estimator;
use super::rtx_queue::RtxQueue;
use super::supply::Supply;
use super::timer::XmitTimer;
use cca::{CaState, Controller, TcpSock};
use net::{flags, Ack};
use units::{Span, Time};

/// Why a flow cannot send more right now is never stored; what it has to send is this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Segments the application has supplied; `u32::MAX` for a greedy flow.
    pub segments: u32,
    /// Payload of the last of them, bytes.
    pub last_len: u32,
}

impl Stream {
    /// Nothing yet: the application writes in pieces ([`Sender::supply`]).
    pub const EMPTY: Stream = Stream { segments: 0, last_len: 0 };
    /// A transfer without end.
    pub const GREEDY: Stream = Stream { segments: u32::MAX, last_len: 0 };

    /// A transfer of `bytes` (at least 1) in segments of `mss`.
    pub fn of_bytes(bytes: u64, mss: u32) -> Stream {
        assert!(bytes > 0, "a finite transfer has at least one byte");
        let segments = bytes.div_ceil(u64::from(mss));
        assert!(
            segments < u64::from(u32::MAX),
            "a flow is limited to 2^32 segments, got {bytes} B"
        );
        let last = bytes - (segments - 1) * u64::from(mss);
        Stream { segments: segments as u32, last_len: last as u32 }
    }
}

/// State of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conn {
    /// Not started.
    Closed,
    /// SYN sent.
    SynSent,
    /// Data may flow.
    Established,
    /// Closed by the application; nothing is sent any more.
    Stopped,
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included.
    pub segs_sent: u64,
    /// Of these, retransmissions.
    pub retrans_segs: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Segments delivered (cumulatively or selectively acknowledged).
    pub delivered: u64,
    /// Segments deemed lost, again lost ones included.
    pub lost: u64,
    /// Episodes of fast recovery.
    pub recoveries: u32,
    /// Retransmission timeouts.
    pub rtos: u32,
    /// Tail loss probes sent.
    pub tlps: u32,
    /// Reductions taken back.
    pub undos: u32,
    /// Acknowledgements received.
    pub acks_received: u64,
}

/// A change that the event table records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// The handshake completed.
    Established,
    /// The state of loss recovery changed.
    CaState(CaState),
    /// Segments were marked lost.
    Lost(u32),
    /// The retransmission timer expired.
    Rto,
    /// A tail loss probe was sent.
    Tlp,
    /// A reduction was taken back.
    Undo,
}

/// See the module documentation.
pub struct Sender {
    /// The socket as the controller sees it.
    pub sk: Box<TcpSock>,
    pub(super) ca: Controller,
    pub(super) config: HostConfig,
    pub(super) tick: Tick,
    pub(super) now: Time,
    pub(super) conn: Conn,
    pub(super) stream: Stream,
    pub(super) supply: Supply,
    /// Segments left in the first unsent buffer of the write queue.
    pub(super) front: u32,
    pub(super) rtx: RtxQueue,
    /// Sends (skbs) outstanding.
    pub(super) skbs_out: u32,
    pub(super) host: HostQueue,
    pub(super) pacing_timer: Time,
    pub(super) timer: XmitTimer,
    pub(super) rtt: Estimator,
    pub(super) rack: Rack,
    pub(super) reord_seen: u32,
    /// One past the highest SACKed segment.
    pub(super) high_sack: u32,
    pub(super) sack_cache: [(u32, u32); 4],
    pub(super) dsack_dups: u32,
    pub(super) high_seq: u32,
    pub(super) undo_marker: Option<u32>,
    pub(super) undo_retrans: i32,
    pub(super) prr_delivered: u32,
    pub(super) prr_out: u32,
    /// Timestamp of the first retransmission of the episode, ms.
    pub(super) retrans_stamp: Option<u32>,
    pub(super) frto: bool,
    pub(super) is_sack_reneg: bool,
    pub(super) tlp_high_seq: Option<u32>,
    pub(super) tlp_retrans: bool,
    pub(super) cwnd_usage_seq: u32,
    pub(super) snd_cwnd_used: u32,
    pub(super) ts_ecr: u32,
    /// Earliest departure time of the last transmission, host ns.
    pub(super) last_edt_ns: u64,
    pub(super) state: CaState,
    pub(super) peer_ts_val: u32,
    pub(super) syn_sent_at: Time,
    pub(super) syn_retries: u32,
    pub(super) last_rtt_us: u32,
    pub(super) ecn: super::ecn::SenderEcn,
    pub(super) stats: SenderStats,
    pub(super) events: Vec<SenderEvent>,
    pub(super) record_events: bool,
}

impl Sender {
    /// A sender that has not started. `seed` seeds the controller's random numbers.
    pub fn new(ca: Controller, config: HostConfig, mut stream: Stream, seed: u64) -> Sender {
        let supply = Supply::new(&stream, config.mss);
        if supply.by_writes {
            stream.last_len = config.mss;
        }
        let mut sk = TcpSock::new();
        sk.mss_cache = config.mss;
        sk.sk_gso_max_size = super::output::GSO_MAX_BYTES;
        sk.sk_gso_max_segs = if config.tso { 65_535 } else { 1 };
        sk.sk_pacing_shift = 10;
        sk.sk_pacing_rate = u64::MAX;
        sk.sk_max_pacing_rate = u64::MAX;
        sk.sk_pacing_status = match config.qdisc {
            HostQdisc::Fq => cca::SK_PACING_FQ,
            HostQdisc::Pfifo => cca::SK_PACING_NONE,
        };
        sk.reordering = super::rack::REORDERING;
        sk.app_limited = u32::MAX;
        ca.attach(&mut sk, config.hz, seed);
        Sender {
            sk,
            ca,
            config,
            tick: Tick::new(config.hz),
            now: Time::ZERO,
            conn: Conn::Closed,
            stream,
            supply,
            front: 0,
            rtx: RtxQueue::new(),
            skbs_out: 0,
            host: HostQueue::new(config.qdisc),
            pacing_timer: Time::NEVER,
            timer: XmitTimer::default(),
            rtt: Estimator::default(),
            rack: Rack::default(),
            reord_seen: 0,
            high_sack: 0,
            sack_cache: [(0, 0); 4],
            dsack_dups: 0,
            high_seq: 0,
            undo_marker: None,
            undo_retrans: 0,
            prr_delivered: 0,
            prr_out: 0,
            retrans_stamp: None,
            frto: false,
            is_sack_reneg: false,
            tlp_high_seq: None,
            tlp_retrans: false,
            cwnd_usage_seq: 0,
            snd_cwnd_used: 0,
            ts_ecr: 0,
            last_edt_ns: 0,
            state: CaState::Open,
            peer_ts_val: 0,
            syn_sent_at: Time::ZERO,
            syn_retries: 0,
            last_rtt_us: 0,
            ecn: super::ecn::SenderEcn::default(),
            stats: SenderStats::default(),
            events: Vec::new(),
            record_events: false,
        }
    }

    /// Limits the pacing rate (`SO_MAX_PACING_RATE`, fq's maxrate), payload bytes per second. Call
    /// before [`Sender::start`].
    pub fn set_max_pacing_rate(&mut self, bytes_per_s: u64) {
        self.sk.sk_max_pacing_rate = bytes_per_s;
        self.sk.sk_pacing_rate = self.sk.sk_pacing_rate.min(bytes_per_s);
        if self.config.qdisc == HostQdisc::Pfifo {
            self.sk.sk_pacing_status = cca::SK_PACING_NEEDED;
        }
    }

    /// Keeps the events of [`Sender::take_events`].
    pub fn set_record_events(&mut self) {
        self.record_events = true;
    }

    /// Opens the connection: a SYN leaves the host.
    pub fn start(&mut self, now: Time) {
        assert_eq!(self.conn, Conn::Closed, "started twice");
        self.refresh(now);
        self.conn = Conn::SynSent;
        self.send_syn();
    }

    /// The application closes: nothing is sent any more, timers are cleared.
    pub fn stop(&mut self) {
        self.conn = Conn::Stopped;
        self.timer.clear();
        self.pacing_timer = Time::NEVER;
    }

    /// An acknowledgement arrives.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.refresh(now);
        self.peer_ts_val = ack.ts_val;
        match self.conn {
            Conn::SynSent if ack.syn => self.establish(ack),
            Conn::Established if ack.syn => {}
            Conn::Established => {
                self.stats.acks_received += 1;
                self.process_ack(ack);
                self.forget_lengths();
                self.push_pending();
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
        let timer = self.timer.fires_at().min(self.pacing_timer);
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
            self.refresh(now);
            self.pacing_timer = Time::NEVER;
            self.resume_sending();
        }
        if self.timer.fires_at() <= now {
            self.refresh(now);
            self.on_xmit_timer();
        }
    }

    /// Takes the next burst that leaves the host by `now`. When none is left, whatever the small
    /// queue limit held back is sent on, so call it until it returns `None`.
    pub fn depart(&mut self, now: Time) -> Option<Burst> {
        loop {
            if let Some(burst) = self.host.pop(now) {
                return Some(burst);
            }
            if !self.host.complete() {
                return None;
            }
            self.refresh(now);
            self.resume_sending();
        }
    }

    /// Whether every byte of a finite transfer, or of one that the application closed, is acknowledged.
    pub fn is_complete(&self) -> bool {
        !self.supply.is_open && self.rtx.una() == self.stream.segments
    }

    /// State of the connection.
    pub fn conn(&self) -> Conn {
        self.conn
    }

    /// Counters since the start.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// The controller.
    pub fn controller(&self) -> &Controller {
        &self.ca
    }

    /// The controller's state, where it tells one.
    #[inline]
    pub fn controller_state(&mut self) -> Option<u32> {
        self.ca.state(&mut self.sk)
    }

    /// Last round-trip time that the controller saw, us; 0 before the first.
    pub fn last_rtt_us(&self) -> u32 {
        self.last_rtt_us
    }

    /// First unacknowledged segment and the next one to send.
    pub fn window(&self) -> (u32, u32) {
        (self.rtx.una(), self.rtx.nxt())
    }

    /// What happened since the last call, oldest first.
    pub fn take_events(&mut self) -> std::vec::Drain<'_, SenderEvent> {
        self.events.drain(..)
    }

    /// The recorded view of the next departure's flags.
    pub(super) fn data_flags(is_retrans: bool) -> u8 {
        if is_retrans {
            flags::RETRANS
        } else {
            0
        }
    }

    /// Brings the clocks of the socket to `now` (`tcp_mstamp_refresh`).
    #[inline]
    pub(super) fn refresh(&mut self, now: Time) {
        self.now = now;
        let ns = host_ns(now);
        self.sk.tcp_clock_cache = ns;
        self.sk.tcp_mstamp = ns / 1_000;
        self.sk.jiffies = self.tick.jiffies(now);
    }

    /// Microsecond clock truncated to the width of the stamps.
    #[inline]
    pub(super) fn now_us(&self) -> u32 {
        self.sk.tcp_mstamp as u32
    }

    /// Time since a stamp, us; 0 for one in the future (`tcp_stamp_us_delta`): a departure time may be.
    #[inline]
    pub(super) fn us_since(&self, stamp_us: u32) -> u32 {
        (self.now_us().wrapping_sub(stamp_us) as i32).max(0) as u32
    }

    /// A truncated stamp near now, in full.
    #[inline]
    pub(super) fn full_us(&self, stamp_us: u32) -> u64 {
        let age = self.now_us().wrapping_sub(stamp_us) as i32;
        self.sk.tcp_mstamp.wrapping_add_signed(-i64::from(age))
    }

    /// Segments in flight: sent, neither SACKed nor lost, or retransmitted.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        let sk = &*self.sk;
        sk.packets_out + sk.retrans_out - sk.sacked_out - sk.lost_out
    }

    #[inline]
    pub(super) fn ca_state(&self) -> CaState {
        self.state
    }

    pub(super) fn set_ca_state(&mut self, state: CaState) {
        self.ca.set_state(&mut self.sk, state);
        self.sk.icsk_ca_state = state as u8;
        self.state = state;
        self.log(SenderEvent::CaState(state));
    }

    #[inline]
    pub(super) fn log(&mut self, event: SenderEvent) {
        if self.record_events {
            self.events.push(event);
        }
    }

    /// `tcp_set_rto`: from the estimate, without backoff.
    pub(super) fn set_rto(&mut self) {
        self.sk.icsk_rto = self.tick.from_us(super::rtt::rto_us(&self.sk));
    }

    /// Least RTT of 300 s, us (`tcp_min_rtt`); `u32::MAX` before the first sample.
    #[inline]
    pub(super) fn min_rtt_us(&self) -> u32 {
        self.sk.rtt_min.s[0].v
    }

    /// When the socket's own pacing lets the next packet go.
    pub(super) fn wstamp_time(&self) -> Time {
        run_time(self.sk.tcp_wstamp_ns)
    }
}
