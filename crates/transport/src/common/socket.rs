//! The socket as its controller sees it (`struct tcp_sock`), with that controller, the host's clock, and what is
//! counted and recorded of it.

use super::clock::{host_ns, Tick};
use super::stats::{SenderEvent, SenderStats};
use cca::{
    minmax_running_min, AckSample, Agent, CaEvent, CaInfo, CaState, Controller, LostBurst,
    RateSample, TcpSock,
};
use std::ops::{Deref, DerefMut};
use units::Time;

/// Time over which the minimum RTT is taken, s (`tcp_min_rtt_wlen`; RFC 9002 leaves it open).
pub const MIN_RTT_S: u32 = 300;

/// See the module documentation. Dereferences to the part that the controller sees, which lies in it, so that a flow is
/// in one place of memory.
pub struct Socket {
    seen: TcpSock,
    ca: Controller,
    tick: Tick,
    now: Time,
    /// Counters since the start.
    pub stats: SenderStats,
    /// What happened since [`Socket::take_events`], where that is recorded.
    events: Vec<SenderEvent>,
    records_events: bool,
    /// Events of single packets are kept too.
    records_packets: bool,
    /// The controller ran, or the stack changed what it goes by, since its state was asked for.
    ca_ran: bool,
    /// Its state when that was asked for last.
    ca_state_told: Option<u32>,
}

impl Deref for Socket {
    type Target = TcpSock;

    #[inline]
    fn deref(&self) -> &TcpSock {
        &self.seen
    }
}

impl DerefMut for Socket {
    #[inline]
    fn deref_mut(&mut self) -> &mut TcpSock {
        &mut self.seen
    }
}

impl Socket {
    /// `seen`, prepared for its controller; `seed` seeds the controller's random numbers.
    pub fn new(mut seen: Box<TcpSock>, ca: Controller, tick: Tick, seed: u64) -> Socket {
        ca.attach(&mut seen, tick.hz(), seed);
        Socket {
            seen: *seen,
            ca,
            tick,
            now: Time::ZERO,
            stats: SenderStats::default(),
            events: Vec::new(),
            records_events: false,
            records_packets: false,
            ca_ran: true,
            ca_state_told: None,
        }
    }

    /// Brings the clocks to `now` (`tcp_mstamp_refresh`).
    #[inline]
    pub fn refresh(&mut self, now: Time) {
        self.now = now;
        let ns = host_ns(now);
        self.seen.tcp_clock_cache = ns;
        self.seen.tcp_mstamp = ns / 1_000;
        self.seen.jiffies = self.tick.jiffies(now);
    }

    /// Time of the last [`Socket::refresh`].
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The host's tick.
    #[inline]
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// When a timer of the wheel armed now for `delay` ticks fires.
    #[inline]
    pub fn wheel(&self, delay: u32) -> Time {
        self.tick.wheel_at(self.seen.jiffies, delay)
    }

    /// Microsecond clock truncated to the width of the stamps.
    #[inline]
    pub fn now_us(&self) -> u32 {
        self.seen.tcp_mstamp as u32
    }

    /// Time since a stamp, us; 0 for one in the future (`tcp_stamp_us_delta`): a departure time may be.
    #[inline]
    pub fn us_since(&self, stamp_us: u32) -> u32 {
        (self.now_us().wrapping_sub(stamp_us) as i32).max(0) as u32
    }

    /// A truncated stamp near now, in full.
    #[inline]
    pub fn full_us(&self, stamp_us: u32) -> u64 {
        let age = self.now_us().wrapping_sub(stamp_us) as i32;
        self.seen.tcp_mstamp.wrapping_add_signed(-i64::from(age))
    }

    /// Minimum RTT of the last 300 s, us (`tcp_min_rtt`); `u32::MAX` before the first sample.
    #[inline]
    pub fn min_rtt_us(&self) -> u32 {
        self.seen.rtt_min.s[0].v
    }

    /// Takes a sample into that minimum.
    pub fn take_min_rtt(&mut self, rtt_us: u32) {
        let seen = &mut self.seen;
        minmax_running_min(&mut seen.rtt_min, MIN_RTT_S * seen.hz, seen.jiffies, rtt_us);
    }

    /// Slow-start threshold to go back to if a reduction that begins now proves needless: at least 3/4 of the
    /// window (`tcp_current_ssthresh` outside reductions).
    #[inline]
    pub fn ssthresh_to_restore(&self) -> u32 {
        self.seen.snd_ssthresh.max(self.seen.snd_cwnd / 2 + self.seen.snd_cwnd / 4)
    }

    /// Was the window the limit (`tcp_cwnd_validate`)? Sticky for one round, which ends before `round_end`; packets
    /// before `nxt` were sent, before `una` acknowledged.
    #[inline]
    pub fn validate_cwnd(&mut self, round_end: &mut u32, una: u32, nxt: u32, is_limited: bool) {
        let seen = &mut self.seen;
        if una >= *round_end
            || is_limited
            || (seen.is_cwnd_limited == 0 && seen.packets_out > seen.max_packets_out)
        {
            seen.is_cwnd_limited = u8::from(is_limited);
            seen.max_packets_out = seen.packets_out;
            seen.cwnd_usage_seq = seen.snd_nxt;
            *round_end = nxt;
        }
    }

    /// Limits the pacing rate (`SO_MAX_PACING_RATE`, fq's maxrate), payload bytes per second.
    pub fn set_max_pacing_rate(&mut self, bytes_per_s: u64) {
        self.seen.sk_max_pacing_rate = bytes_per_s;
        self.seen.sk_pacing_rate = self.seen.sk_pacing_rate.min(bytes_per_s);
    }

    /// The controller.
    pub fn controller(&self) -> &Controller {
        &self.ca
    }

    /// Whether the controller sets window and pacing rate itself.
    #[inline]
    pub fn has_cong_control(&self) -> bool {
        self.ca.has_cong_control()
    }

    /// The controller's state, where it tells one.
    #[inline]
    pub fn controller_state(&mut self) -> Option<u32> {
        if std::mem::take(&mut self.ca_ran) {
            self.ca_state_told = self.ca.state(&mut self.seen);
        }
        self.ca_state_told
    }

    /// Fills in the controller's estimates; `info` is empty.
    #[inline]
    pub fn controller_info(&mut self, info: &mut CaInfo) {
        self.ca.read_info(&mut self.seen, info);
    }

    /// Reads the controller's variables ([`Controller::read_variables`]).
    pub fn read_variables(&mut self, values: &mut [i64]) -> bool {
        self.ca.read_variables(&mut self.seen, values)
    }

    /// The flow as one whose controller asks ([`Controller::agent`]).
    #[inline]
    pub fn agent(&mut self) -> Option<Agent<'_>> {
        self.ca.agent(&mut self.seen)
    }

    /// The stack changed the window by itself: the controller's state may be another.
    #[inline]
    pub fn note_own_cwnd(&mut self) {
        self.ca_ran = true;
    }

    /// The state of loss recovery changes.
    pub fn set_ca_state(&mut self, state: CaState) {
        self.ca_ran = true;
        self.ca.set_state(&mut self.seen, state);
        self.seen.icsk_ca_state = state as u8;
        self.log(SenderEvent::CaState(state));
    }

    /// Tells the controller that `burst` was marked lost, where it wants to know; `burst` is made only then.
    #[inline]
    pub fn skb_marked_lost(&mut self, burst: impl FnOnce() -> LostBurst) {
        if self.ca.wants_losses() {
            self.ca_ran = true;
            self.ca.skb_marked_lost(&mut self.seen, &burst());
        }
    }

    /// Whether the controller has asked for a reduction since the last call.
    #[inline]
    pub fn takes_cwr_request(&mut self) -> bool {
        std::mem::take(&mut self.seen.wants_cwr) != 0
    }

    /// Keeps the events of [`Socket::take_events`].
    pub fn set_record_events(&mut self) {
        self.records_events = true;
    }

    /// Keeps the events of single packets, too.
    pub fn set_record_packets(&mut self) {
        self.records_events = true;
        self.records_packets = true;
    }

    /// Records what happened to a packet.
    #[inline]
    pub fn log_packet(&mut self, event: SenderEvent) {
        if self.records_packets {
            self.events.push(event);
        }
    }

    /// What happened since [`Socket::take_events`], oldest first.
    pub fn events(&self) -> &[SenderEvent] {
        &self.events
    }

    /// Records a change.
    #[inline]
    pub fn log(&mut self, event: SenderEvent) {
        if self.records_events {
            self.events.push(event);
        }
    }

    /// What happened since the last call, oldest first.
    pub fn take_events(&mut self) -> std::vec::Drain<'_, SenderEvent> {
        self.events.drain(..)
    }
}

/// The controller's hooks, called with this socket. Those that only tell how much to send or to buffer leave its state.
macro_rules! hooks {
    ($($ran:literal $hook:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?;)*) => {
        impl Socket {
            $(
                #[doc = concat!("[`Controller::", stringify!($hook), "`].")]
                #[inline]
                pub fn $hook(&mut self $(, $arg: $type)*) $(-> $out)? {
                    self.ca_ran |= $ran;
                    self.ca.$hook(&mut self.seen $(, $arg)*)
                }
            )*
        }
    };
}

hooks! {
    true init();
    true release();
    false sndbuf_expand() -> u32;
    true ssthresh() -> u32;
    true undo_cwnd() -> u32;
    true cwnd_event(event: CaEvent);
    true in_ack_event(flags: u32);
    true pkts_acked(sample: &AckSample);
    true cong_avoid(ack: u32, acked: u32);
    true cong_control(ack: u32, flag: i32, sample: &RateSample);
    false tso_segs() -> Option<u32>;
    false min_tso_segs() -> Option<u32>;
}
