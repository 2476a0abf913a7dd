//! The ends of TCP in the [`crate::harness`], with an application if the test wants one.

pub use crate::harness::Verdict;
use crate::harness::{self, Ends, Path};
use cca::{Controller, Module};
use net::rng::Rng;
use net::{flags, Ack, Packet, TcpAck};
use std::ops::Deref;
use transport::app::{App, Workload, Write};
use transport::common::{Conn, SenderEvent, Stream};
pub use transport::tcp::MSS;
use transport::tcp::{EcnMode, Feedback, HostConfig, HostQdisc, Misconduct, Receiver, Sender};
use units::{Span, Time};

pub type Pair<'a> = harness::Pair<'a, TcpEnds>;

/// One data packet that the sender sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Time,
    pub seq: u32,
    /// 0 for the original, 1 for the first retransmission, ...
    pub copy: u32,
    /// ECN code point that it left with.
    pub ecn: u8,
    /// `net::flags`.
    pub flags: u8,
}

/// An ACK that the receiver sent. Dereferences to TCP's part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heard(pub Ack);

impl Deref for Heard {
    type Target = TcpAck;

    fn deref(&self) -> &TcpAck {
        self.0.tcp()
    }
}

/// How the pair is set.
pub struct Setup {
    pub cca: &'static str,
    pub config: HostConfig,
    /// Segments to transfer; `u32::MAX`: without end, 0: what the test or the application writes.
    pub segments: u32,
    /// The application, of a stream of 0 segments.
    pub app: Option<Workload>,
    /// Delay of each direction.
    pub one_way: Span,
    /// Time that the link takes for a packet.
    pub serialization: Span,
    pub ecn: EcnMode,
    /// Parameters of the controller that differ from their defaults.
    pub params: &'static [(&'static str, i64)],
    /// How the receiver breaks the rules.
    pub misconduct: Option<Misconduct>,
}

impl Default for Setup {
    /// Reno without bursts and without pacing over a round trip of 100 ms, 121 us a packet: 100 Mbit/s.
    fn default() -> Setup {
        let config = HostConfig {
            qdisc: HostQdisc::Pfifo,
            tso: false,
            rcvlowat: 1,
            ..HostConfig::default()
        };
        Setup {
            cca: "reno",
            config,
            segments: 1000,
            app: None,
            one_way: Span::from_ms(50),
            serialization: Span::from_us(121),
            ecn: EcnMode::Off,
            params: &[],
            misconduct: None,
        }
    }
}

/// See the module documentation.
pub struct TcpEnds {
    pub sender: Sender,
    pub receiver: Receiver,
    /// Payload of each segment as it was first sent.
    pub lens: Vec<u16>,
    copies: Vec<u32>,
    lost_syns: u32,
    app: Option<App>,
    is_app_started: bool,
    /// When the receiver had its connection, which can send requests from then on.
    opened_at: Time,
    /// When the request that has not arrived is sent again.
    again_at: Time,
}

impl TcpEnds {
    /// The application, with all that it wrote.
    pub fn app(&self) -> &App {
        self.app.as_ref().expect("an application")
    }

    fn write(&mut self, now: Time, write: Write) {
        self.sender.supply(now, write);
        if write == Write::Close {
            self.receiver.finish(self.sender.offered());
        }
    }

    fn next_of_app(&self) -> Time {
        let Some(app) = &self.app else { return Time::NEVER };
        let asks = app.next_request().map_or(self.again_at, |at| at.max(self.opened_at));
        app.next_write().unwrap_or(Time::NEVER).min(asks)
    }

    fn step_app(&mut self, now: Time, acks: &mut Vec<Ack>) {
        let Some(app) = &mut self.app else { return };
        if self.again_at == now {
            self.again_at = self.receiver.ask(now, acks);
        } else if app.next_request().is_some() {
            app.on_request_sent(now);
            self.again_at = self.receiver.ask(now, acks);
        } else if let Some(write) = app.on_wakeup(now) {
            self.write(now, write);
        }
    }
}

impl Ends for TcpEnds {
    type Sent = Sent;
    type Heard = Heard;
    type Known = ();

    fn start(&mut self, now: Time) -> bool {
        let is_closed = self.sender.conn() == Conn::Closed;
        if is_closed {
            self.sender.start(now);
        }
        is_closed
    }

    fn is_complete(&self) -> bool {
        self.sender.is_complete()
    }

    fn check_completion(&self) {
        assert!(self.receiver.is_complete(), "acknowledged and not received");
    }

    fn next_deadline(&self) -> Time {
        let timers = self.sender.next_deadline().min(self.receiver.next_deadline());
        timers.min(self.next_of_app())
    }

    fn on_timer(&mut self, now: Time, acks: &mut Vec<Ack>) {
        if self.next_of_app() == now {
            self.step_app(now, acks);
        } else {
            self.receiver.on_timer(now, acks);
            self.sender.on_timer(now);
        }
    }

    fn on_packet(&mut self, now: Time, packet: &Packet, acks: &mut Vec<Ack>) {
        self.receiver.on_packet(now, packet, acks);
    }

    fn on_ack(&mut self, now: Time, ack: &Ack, (): &()) {
        self.sender.on_ack(now, ack);
        if ack.is_request() && self.again_at.is_set() && self.sender.is_all_acknowledged() {
            self.again_at = Time::NEVER;
            self.app.as_mut().expect("an application").on_request(now);
        }
    }

    /// The application learns that the connection is open, and what arrived.
    fn after_event(&mut self, now: Time) {
        let Some(app) = &mut self.app else { return };
        if !self.is_app_started && self.sender.conn() == Conn::Established {
            self.is_app_started = true;
            app.start(now);
        }
        if self.receiver.is_established() {
            self.opened_at = self.opened_at.min(now);
        }
        app.on_delivered(now, self.receiver.received_bytes());
    }

    fn heard(ack: &Ack) -> Heard {
        Heard(*ack)
    }

    fn known(&self) {}

    fn depart(&mut self, now: Time) -> Option<Vec<Packet>> {
        let burst = self.sender.depart(now)?;
        let is_data = burst.segments > 0;
        let packet = |i| Packet {
            seq: burst.seq + i,
            ts_val: burst.ts_val,
            ts_ecr: burst.ts_ecr,
            len: if is_data { self.sender.payload(burst.seq + i) as u16 } else { 0 },
            flags: burst.flags & if i == 0 { !0 } else { !flags::CWR }
                | if burst.push && i + 1 == burst.segments { flags::PUSH } else { 0 },
            ecn: burst.ecn,
            ..Packet::default()
        };
        Some((0..burst.segments.max(1)).map(packet).collect())
    }

    fn sent(&mut self, now: Time, packet: &Packet) -> Option<Sent> {
        if packet.len == 0 {
            return None;
        }
        let seq = packet.seq;
        self.copies.resize(self.copies.len().max(seq as usize + 1), 0);
        let copy = self.copies[seq as usize];
        if copy == 0 {
            assert_eq!(self.lens.len(), seq as usize);
            self.lens.push(packet.len);
        }
        assert_eq!(self.lens[seq as usize], packet.len, "segment {seq} changed its length");
        self.copies[seq as usize] += 1;
        Some(Sent { at: now, seq, copy, ecn: packet.ecn, flags: packet.flags })
    }

    fn loses(&mut self, packet: &Packet) -> bool {
        let is_lost = packet.flags & flags::SYN != 0 && self.lost_syns > 0;
        self.lost_syns -= u32::from(is_lost);
        is_lost
    }

    fn take_events(&mut self) -> Vec<SenderEvent> {
        self.sender.sk.take_events().collect()
    }

    fn in_flight(&self) -> u32 {
        self.sender.in_flight()
    }

    fn check(&self, now: Time) {
        let sk = &self.sender.sk;
        assert!(sk.snd_cwnd >= 1, "at {now:?}: no window");
        assert!(sk.sacked_out + sk.lost_out <= sk.packets_out, "at {now:?}: {:?}", **sk);
        assert!(sk.retrans_out == 0 || sk.packets_out > 0, "at {now:?}: {:?}", **sk);
        let (una, nxt) = self.sender.window();
        assert_eq!(nxt - una, sk.packets_out, "at {now:?}");
        let (received, promised) = (self.receiver.rcv_nxt(), self.receiver.promised());
        assert!(una <= promised && received <= nxt, "{una} <= {promised}, {received} <= {nxt}");
    }
}

impl<'a> Pair<'a> {
    /// A pair that has not started; `judge` decides about each data packet.
    pub fn new(setup: Setup, judge: impl FnMut(Sent) -> Verdict + 'a) -> Pair<'a> {
        let module = Module::find(setup.cca).expect("a controller");
        let params = setup.params.iter().map(|&(name, value)| (name.to_string(), value)).collect();
        let controller = Controller::new(module, &params).expect("valid parameters");
        let feedback = Feedback::of(&controller, setup.ecn);
        let stream = match setup.segments {
            u32::MAX => Stream::GREEDY,
            0 => Stream::EMPTY,
            n => Stream { segments: n, last_len: MSS },
        };
        let mut sender = Sender::new(controller, setup.config, stream, 1);
        sender.sk.set_record_events();
        let ends = TcpEnds {
            sender,
            receiver: Receiver::new(setup.config, stream.segments, stream.last_len, feedback)
                .misbehaving(setup.misconduct, stream.segments),
            lens: Vec::new(),
            copies: Vec::new(),
            lost_syns: 0,
            app: setup.app.map(|workload| App::new(workload, Rng::stream(1, "app"))),
            is_app_started: false,
            opened_at: Time::NEVER,
            again_at: Time::NEVER,
        };
        let Setup { one_way, serialization, .. } = setup;
        let path = Path { one_way, serialization, buffer: u64::MAX, loses_after_link: true };
        Pair::over(path, ends, judge)
    }

    /// Loses the first SYN.
    pub fn losing_the_first_syn(mut self) -> Pair<'a> {
        self.lost_syns = 1;
        self
    }

    /// The test writes, as an application would.
    pub fn supply(&mut self, write: Write) {
        let now = self.now;
        self.write(now, write);
        self.depart();
    }

    /// Times at which `seq` was sent, ms.
    pub fn sent_ms(&self, seq: u32) -> Vec<u64> {
        self.sent.iter().filter(|s| s.seq == seq).map(|s| s.at.as_ns() / 1_000_000).collect()
    }
}
