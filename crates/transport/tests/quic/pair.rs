//! A sender and a receiver with a link and a constant delay between them, whose fate for each packet the
//! test decides. At every step it is checked that the sender has learned what the ranges of the ACK
//! frames say and nothing else, and that the application got each segment once and in order.

use cca::{Controller, Module};
use net::quic::AckFrame;
use net::{flags, Ack, Packet};
use std::collections::{BTreeMap, BTreeSet};
use transport::common::{Conn, SenderEvent, Stream};
use transport::quic::sent::{ACKED, IN_FLIGHT};
use transport::quic::{Config, Receiver, Sender};
use units::{Span, Time};

/// What the pipe does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    /// Delivered this much later than usual.
    Delay(Span),
    /// Marked by a router.
    Mark,
    /// Delivered, and once more this much later.
    Twice(Span),
}

/// One data packet that the sender sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Time,
    pub number: u32,
    pub segment: u32,
    /// What STOP_WAITING said, if there was such a frame.
    pub stop_waiting: Option<u32>,
    pub is_retrans: bool,
}

enum Item {
    Data(Packet),
    /// An acknowledgement and the ranges that it reports.
    Ack(Ack, Vec<(u32, u32)>),
}

/// How the pair is set.
pub struct Setup {
    pub cca: &'static str,
    pub config: Config,
    /// Segments to transfer; `u32::MAX`: without end.
    pub segments: u32,
    /// Delay of each direction.
    pub one_way: Span,
    /// Time that the pipe's link takes for a packet.
    pub serialization: Span,
    /// Packets that wait for the link at most.
    pub buffer: u64,
}

impl Default for Setup {
    /// Reno without pacing over a round trip of 100 ms, 0.1 ms a packet: 80 Mbit/s.
    fn default() -> Setup {
        Setup {
            cca: "reno",
            config: Config { pacing: false, ..Config::default() },
            segments: 1000,
            one_way: Span::from_ms(50),
            serialization: Span::from_us(100),
            buffer: u64::MAX,
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
    /// Every acknowledgement sent, with its time.
    pub acks: Vec<(Time, Ack)>,
    pub events: Vec<(Time, SenderEvent)>,
    /// Most packets in flight at any time.
    pub max_in_flight: u32,
    setup: Setup,
    pipe: BTreeMap<(Time, u64), Item>,
    pushed: u64,
    link_free_at: Time,
    fate: Box<dyn FnMut(Sent) -> Fate + 'a>,
    on_ack: Box<dyn FnMut(&mut Ack) -> Fate + 'a>,
    /// Packet numbers that some delivered ACK frame reported.
    reported: Vec<bool>,
    /// Segments in packets that the receiver took.
    arrived: BTreeSet<u32>,
    next_segment: u32,
}

impl<'a> Pair<'a> {
    /// A pair that has not started; `fate` decides about each data packet.
    pub fn new(setup: Setup, fate: impl FnMut(Sent) -> Fate + 'a) -> Pair<'a> {
        let module = Module::find(setup.cca).expect("a controller");
        let controller = Controller::new(module, &BTreeMap::new()).expect("defaults are valid");
        let stream = match setup.segments {
            u32::MAX => Stream::GREEDY,
            n => Stream { segments: n, last_len: 1 },
        };
        let mut sender = Sender::new(controller, setup.config, stream, 1);
        sender.set_record_events();
        Pair {
            sender,
            receiver: Receiver::new(setup.config, stream.segments, stream.last_len),
            now: Time::ZERO,
            sent: Vec::new(),
            acks: Vec::new(),
            events: Vec::new(),
            max_in_flight: 0,
            setup,
            pipe: BTreeMap::new(),
            pushed: 0,
            link_free_at: Time::ZERO,
            fate: Box::new(fate),
            on_ack: Box::new(|_| Fate::Deliver),
            reported: Vec::new(),
            arrived: BTreeSet::new(),
            next_segment: 0,
        }
    }

    /// Changes each acknowledgement before it reaches the sender, if it does.
    pub fn with_acks(mut self, on_ack: impl FnMut(&mut Ack) -> Fate + 'a) -> Pair<'a> {
        self.on_ack = Box::new(on_ack);
        self
    }

    /// Runs until the transfer is complete; fails when that takes longer than `limit_s`.
    pub fn drive(mut self, limit_s: u64) -> Pair<'a> {
        self.drive_until(Time::ZERO + Span::from_ms(limit_s * 1000), |p| p.sender.is_complete());
        let (una, nxt) = self.sender.window();
        assert!(self.sender.is_complete(), "not complete after {limit_s} s: {una}..{nxt} is out");
        assert!(self.receiver.is_complete(), "acknowledged and not received");
        let last = u64::from(self.setup.segments - 1);
        let bytes = last * u64::from(self.setup.config.payload) + 1;
        assert_eq!(self.receiver.stats().delivered_bytes, bytes);
        assert!(!self.sender.next_deadline().is_set(), "a timer runs after the end");
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
            let next = arrival.min(timers);
            assert!(next >= self.now, "a deadline in the past: {next:?} < {:?}", self.now);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            self.step(arrival);
        }
    }

    /// One arrival if one is due, otherwise the timers.
    fn step(&mut self, arrival: Time) {
        let now = self.now;
        let mut acks = Vec::new();
        if arrival == now {
            let item = self.pipe.pop_first().map(|(_, item)| item);
            match item.expect("an item is due") {
                Item::Data(packet) => self.receive(&packet, &mut acks),
                Item::Ack(ack, ranges) => self.acknowledge(&ack, &ranges),
            }
        } else {
            self.receiver.on_timer(now, &mut acks);
            self.sender.on_timer(now);
        }
        for mut ack in acks {
            self.acks.push((now, ack));
            let ranges: Vec<_> = self.receiver.ranges().iter().collect();
            let at = now + self.setup.one_way;
            let (first, second) = delays((self.on_ack)(&mut ack));
            for late in first.into_iter().chain(second) {
                self.push(at + late, Item::Ack(ack, ranges.clone()));
            }
        }
        self.depart();
        self.check();
    }

    fn receive(&mut self, packet: &Packet, acks: &mut Vec<Ack>) {
        let before = *self.receiver.stats();
        self.receiver.on_packet(self.now, packet, acks);
        if packet.flags & flags::SYN == 0 && self.receiver.stats().duplicates == before.duplicates {
            let is_new = self.arrived.insert(packet.ts_val);
            assert_eq!(is_new, self.receiver.stats().redundant == before.redundant);
        }
        while self.arrived.contains(&self.next_segment) {
            self.next_segment += 1;
        }
        assert_eq!(self.receiver.rcv_nxt(), self.next_segment, "the first gap of what arrived");
    }

    fn acknowledge(&mut self, ack: &Ack, ranges: &[(u32, u32)]) {
        self.sender.on_ack(self.now, ack, self.receiver.arrivals_mut());
        if ack.syn {
            return;
        }
        let frame = ack.frame().expect("an ACK frame");
        assert_eq!(usize::from(frame.ranges), ranges.len());
        assert_eq!((frame.smallest, frame.largest + 1), (ranges[0].0, ranges[ranges.len() - 1].1));
        let packets = self.sender.packets();
        let base = packets.base();
        self.reported.resize(packets.next() as usize, false);
        for number in ranges.iter().flat_map(|&(start, end)| start.max(base)..end) {
            self.reported[number as usize] = true;
        }
        for number in base..packets.next() {
            let is_acked = packets.at(number).is(ACKED);
            assert_eq!(is_acked, self.reported[number as usize], "packet {number}");
        }
    }

    fn push(&mut self, at: Time, item: Item) {
        self.pipe.insert((at, self.pushed), item);
        self.pushed += 1;
    }

    fn depart(&mut self) {
        while let Some(packet) = self.sender.depart(self.now) {
            self.send(packet);
        }
        let events = self.sender.take_events().map(|e| (self.now, e));
        self.events.extend(events);
    }

    fn send(&mut self, mut packet: Packet) {
        assert_ne!(packet.flags & flags::QUIC, 0);
        let start = self.now.max(self.link_free_at);
        let mut at = start + self.setup.one_way;
        if packet.flags & flags::SYN != 0 {
            self.push(at, Item::Data(packet));
            return;
        }
        let sent = Sent {
            at: self.now,
            number: packet.seq,
            segment: packet.ts_val,
            stop_waiting: (packet.flags & flags::STOP_WAITING != 0).then_some(packet.ts_ecr),
            is_retrans: packet.flags & flags::RETRANS != 0,
        };
        assert_eq!(packet.seq as usize, self.sent.len(), "numbers are used once, in order");
        self.sent.push(sent);
        let fate = (self.fate)(sent);
        let waiting = start.since(self.now).as_ns() / self.setup.serialization.as_ns().max(1);
        if fate == Fate::Drop || waiting > self.setup.buffer {
            return;
        }
        if fate == Fate::Mark {
            packet.ecn = 3;
        }
        self.link_free_at = start + self.setup.serialization;
        at += self.setup.serialization;
        let (first, second) = delays(fate);
        for late in first.into_iter().chain(second) {
            self.push(at + late, Item::Data(packet));
        }
    }

    /// What holds at every instant.
    fn check(&mut self) {
        let (sk, packets) = (&*self.sender.sk, self.sender.packets());
        assert!(sk.snd_cwnd >= 1, "at {:?}: no window", self.now);
        let numbers = packets.base()..packets.next();
        let in_flight = numbers.filter(|&n| packets.at(n).is(IN_FLIGHT)).count();
        assert_eq!(in_flight, sk.packets_out as usize, "at {:?}", self.now);
        let (una, nxt) = self.sender.window();
        let received = self.receiver.rcv_nxt();
        assert!(una <= received && received <= nxt, "{una} <= {received} <= {nxt}");
        self.max_in_flight = self.max_in_flight.max(self.sender.in_flight());
    }

    /// The packets that carried `segment`.
    pub fn carriers(&self, segment: u32) -> Vec<Sent> {
        self.sent.iter().filter(|sent| sent.segment == segment).copied().collect()
    }

    /// When an event happened first.
    pub fn time_of(&self, event: SenderEvent) -> Time {
        self.events.iter().find(|e| e.1 == event).map_or(Time::NEVER, |e| e.0)
    }

    /// How often an event happened.
    pub fn count(&self, event: SenderEvent) -> usize {
        self.events.iter().filter(|e| e.1 == event).count()
    }

    /// The ACK frames sent, with their times.
    pub fn frames(&self) -> Vec<(Time, AckFrame)> {
        self.acks.iter().filter_map(|(at, ack)| Some((*at, *ack.frame()?))).collect()
    }
}

/// How late the copies come.
fn delays(fate: Fate) -> (Option<Span>, Option<Span>) {
    match fate {
        Fate::Deliver | Fate::Mark => (Some(Span::ZERO), None),
        Fate::Delay(late) => (Some(late), None),
        Fate::Twice(late) => (Some(Span::ZERO), Some(late)),
        Fate::Drop => (None, None),
    }
}
