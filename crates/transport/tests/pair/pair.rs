//! A sender and a receiver with a pipe of constant delay each way between them, whose fate for each data
//! packet the test decides. Data leaves the pipe one packet after the other, 121 us each (100 Mbit/s):
//! packets that arrive at one instant would be reordered in RACK's eyes when their ACKs send at one.

use cca::{Controller, Module};
use net::rng::Rng;
use net::{flags, Ack, Frame, Packet, TcpAck};
use std::collections::BTreeMap;
use transport::app::{App, Workload, Write};
use transport::common::{Conn, SenderEvent, Stream};
use transport::tcp::{Burst, EcnMode, Feedback, HostConfig, HostQdisc, Receiver, Sender};
use units::{Span, Time};

pub const MSS: u32 = 1448;

/// What the pipe does with a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    /// Delivered this much later than usual.
    Delay(Span),
    /// Marked by a router.
    Mark,
}

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

enum Item {
    Data(Packet),
    Ack(Ack),
    Request,
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
    /// Time that the pipe's link takes for a packet.
    pub serialization: Span,
    pub ecn: EcnMode,
    /// Parameters of the controller that differ from their defaults.
    pub params: &'static [(&'static str, i64)],
}

impl Default for Setup {
    /// Reno without bursts and without pacing over a round trip of 100 ms.
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
        }
    }
}

/// See the module documentation.
pub struct Pair<'a> {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    /// Every data packet sent, in order.
    pub sent: Vec<Sent>,
    /// Every ACK sent, with its time.
    pub acks: Vec<(Time, TcpAck)>,
    pub events: Vec<(Time, SenderEvent)>,
    /// Most segments in flight at any time.
    pub max_in_flight: u32,
    one_way: Span,
    serialization: Span,
    pipe: BTreeMap<(Time, u64), Item>,
    pushed: u64,
    link_free_at: Time,
    copies: Vec<u32>,
    lost_syns: u32,
    /// Payload of each segment as it was first sent.
    pub lens: Vec<u16>,
    app: Option<App>,
    is_app_started: bool,
    fate: Box<dyn FnMut(Sent) -> Fate + 'a>,
    on_ack: Box<dyn FnMut(&mut Ack) -> Fate + 'a>,
}

impl<'a> Pair<'a> {
    /// A pair that has not started; `fate` decides about each data packet.
    pub fn new(setup: Setup, fate: impl FnMut(Sent) -> Fate + 'a) -> Pair<'a> {
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
        sender.set_record_events();
        Pair {
            sender,
            receiver: Receiver::new(setup.config, stream.segments, stream.last_len, feedback),
            now: Time::ZERO,
            sent: Vec::new(),
            acks: Vec::new(),
            events: Vec::new(),
            max_in_flight: 0,
            one_way: setup.one_way,
            serialization: setup.serialization,
            pipe: BTreeMap::new(),
            pushed: 0,
            link_free_at: Time::ZERO,
            copies: Vec::new(),
            lost_syns: 0,
            lens: Vec::new(),
            app: setup.app.map(|workload| App::new(workload, Rng::stream(1, "app"))),
            is_app_started: false,
            fate: Box::new(fate),
            on_ack: Box::new(|_| Fate::Deliver),
        }
    }

    /// Changes each ACK before it reaches the sender, if it does.
    pub fn with_acks(mut self, on_ack: impl FnMut(&mut Ack) -> Fate + 'a) -> Pair<'a> {
        self.on_ack = Box::new(on_ack);
        self
    }

    /// Loses the first SYN.
    pub fn losing_the_first_syn(mut self) -> Pair<'a> {
        self.lost_syns = 1;
        self
    }

    /// Runs until the transfer is complete; fails when that takes longer than `limit_s` of the pair's time.
    pub fn drive(mut self, limit_s: u64) -> Pair<'a> {
        self.drive_until(Time::ZERO + Span::from_ms(limit_s * 1000), |p| p.sender.is_complete());
        let (una, nxt) = self.sender.window();
        assert!(self.sender.is_complete(), "not complete after {limit_s} s: {una}..{nxt} is out");
        assert!(self.receiver.is_complete(), "acknowledged and not received");
        self
    }

    /// Runs for `span`.
    pub fn drive_for(mut self, span: Span) -> Pair<'a> {
        let end = self.now + span;
        self.drive_until(end, |_| false);
        self
    }

    fn drive_until(&mut self, end: Time, done: impl Fn(&Pair<'_>) -> bool) {
        if self.sender.conn() == Conn::Closed {
            self.sender.start(self.now);
            self.depart();
        }
        while !done(self) {
            let arrival = self.pipe.first_key_value().map_or(Time::NEVER, |(k, _)| k.0);
            let timers = self.sender.next_deadline().min(self.receiver.next_deadline());
            let app = self.next_of_app();
            let next = arrival.min(timers).min(app);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if app == next && arrival > next {
                self.step_app();
            } else {
                self.step(arrival);
            }
            self.tell_app();
        }
    }

    /// One arrival if one is due, otherwise the timers.
    fn step(&mut self, arrival: Time) {
        let now = self.now;
        let mut acks = Vec::new();
        if arrival == now {
            let item = self.pipe.pop_first().map(|(_, item)| item);
            match item.expect("an item is due") {
                Item::Data(packet) => self.receiver.on_packet(now, &packet, &mut acks),
                Item::Ack(ack) => self.sender.on_ack(now, &ack),
                Item::Request => self.app.as_mut().expect("it asked").on_request(now),
            }
        } else {
            self.receiver.on_timer(now, &mut acks);
            self.sender.on_timer(now);
        }
        for mut ack in acks {
            self.acks.push((now, *ack.tcp()));
            let at = now + self.one_way;
            match (self.on_ack)(&mut ack) {
                Fate::Deliver | Fate::Mark => self.push(at, Item::Ack(ack)),
                Fate::Delay(more) => self.push(at + more, Item::Ack(ack)),
                Fate::Drop => {}
            }
        }
        self.depart();
        self.check();
    }

    /// The application, with all that it wrote.
    pub fn app(&self) -> &App {
        self.app.as_ref().expect("an application")
    }

    /// The test writes, as an application would.
    pub fn supply(&mut self, write: Write) {
        self.sender.supply(self.now, write);
        if write == Write::Close {
            self.receiver.finish(self.sender.stream().segments);
        }
        self.depart();
        self.check();
    }

    fn next_of_app(&self) -> Time {
        let Some(app) = &self.app else { return Time::NEVER };
        let never = Time::NEVER;
        app.next_write().unwrap_or(never).min(app.next_request().unwrap_or(never))
    }

    fn step_app(&mut self) {
        let now = self.now;
        let Some(app) = &mut self.app else { return };
        if app.next_request().is_some() {
            app.on_request_sent(now);
            self.push(now + self.one_way, Item::Request);
        } else if let Some(write) = app.on_wakeup(now) {
            self.supply(write);
        }
    }

    /// The application learns that the connection is open, and what arrived.
    fn tell_app(&mut self) {
        let Some(app) = &mut self.app else { return };
        if !self.is_app_started && self.sender.conn() == Conn::Established {
            self.is_app_started = true;
            app.start(self.now);
        }
        app.on_delivered(self.now, self.receiver.stats().delivered_bytes);
    }

    fn push(&mut self, at: Time, item: Item) {
        self.pipe.insert((at, self.pushed), item);
        self.pushed += 1;
    }

    fn depart(&mut self) {
        while let Some(burst) = self.sender.depart(self.now) {
            for i in 0..burst.segments.max(1) {
                self.send(&burst, i);
            }
        }
        let events = self.sender.take_events().map(|e| (self.now, e));
        self.events.extend(events);
    }

    fn send(&mut self, burst: &Burst, i: u32) {
        let is_data = burst.segments > 0;
        let seq = burst.seq + i;
        let is_last = i + 1 == burst.segments;
        let mut packet = Packet {
            flow: 0,
            seq,
            ts_val: burst.ts_val,
            ts_ecr: burst.ts_ecr,
            len: if is_data { self.sender.payload(seq) as u16 } else { 0 },
            flags: burst.flags & if i == 0 { !0 } else { !flags::CWR }
                | if burst.push && is_last { flags::PUSH } else { 0 },
            ecn: burst.ecn,
            ..Packet::default()
        };
        let mut at = self.now.max(self.link_free_at) + self.one_way;
        if is_data {
            self.link_free_at = self.now.max(self.link_free_at) + self.serialization;
            at += self.serialization;
            match self.fate_of(&packet) {
                Fate::Deliver => {}
                Fate::Drop => return,
                Fate::Delay(more) => at += more,
                Fate::Mark => {
                    packet.mark_ce();
                }
            }
        }
        if burst.flags & flags::SYN != 0 && self.lost_syns > 0 {
            self.lost_syns -= 1;
            return;
        }
        self.push(at, Item::Data(packet));
    }

    fn fate_of(&mut self, packet: &Packet) -> Fate {
        let seq = packet.seq;
        self.copies.resize(self.copies.len().max(seq as usize + 1), 0);
        let copy = self.copies[seq as usize];
        if copy == 0 {
            assert_eq!(self.lens.len(), seq as usize);
            self.lens.push(packet.len);
        }
        assert_eq!(self.lens[seq as usize], packet.len, "segment {seq} changed its length");
        self.copies[seq as usize] += 1;
        let sent = Sent { at: self.now, seq, copy, ecn: packet.ecn, flags: packet.flags };
        self.sent.push(sent);
        (self.fate)(sent)
    }

    /// What holds at every instant.
    fn check(&mut self) {
        let sk = &*self.sender.sk;
        assert!(sk.snd_cwnd >= 1, "at {:?}: no window", self.now);
        assert!(sk.sacked_out + sk.lost_out <= sk.packets_out, "at {:?}: {sk:?}", self.now);
        assert!(sk.retrans_out == 0 || sk.packets_out > 0, "at {:?}: {sk:?}", self.now);
        let (una, nxt) = self.sender.window();
        assert_eq!(nxt - una, sk.packets_out, "at {:?}", self.now);
        let received = self.receiver.rcv_nxt();
        assert!(una <= received && received <= nxt, "{una} <= {received} <= {nxt}");
        self.max_in_flight = self.max_in_flight.max(self.sender.in_flight());
    }

    /// Times at which `seq` was sent, ms.
    pub fn sent_ms(&self, seq: u32) -> Vec<u64> {
        self.sent.iter().filter(|s| s.seq == seq).map(|s| s.at.as_ns() / 1_000_000).collect()
    }

    /// How often an event happened.
    pub fn count(&self, event: SenderEvent) -> usize {
        self.events.iter().filter(|e| e.1 == event).count()
    }
}
