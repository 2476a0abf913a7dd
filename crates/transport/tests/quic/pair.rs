//! The ends of QUIC in the [`crate::harness`]. At every step it is checked that the sender has learned what the ranges
//! of the ACK frames say and nothing else, and that the application got each segment once and in order.

pub use crate::harness::Verdict;
use crate::harness::{self, Ends, Path};
use cca::{Controller, Module};
use net::quic::AckFrame;
use net::{flags, Ack, Packet};
use std::collections::{BTreeMap, BTreeSet};
use transport::common::{Conn, SenderEvent, Stream};
use transport::quic::sent::{ACKED, IN_FLIGHT};
use transport::quic::{Config, Receiver, Sender};
use units::{Span, Time};

pub type Pair<'a> = harness::Pair<'a, QuicEnds>;

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

/// How the pair is set.
pub struct Setup {
    pub cca: &'static str,
    pub config: Config,
    /// Segments to transfer; `u32::MAX`: without end.
    pub segments: u32,
    /// Delay of each direction.
    pub one_way: Span,
    /// Time that the link takes for a packet.
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

impl Setup {
    /// Sender and receiver.
    pub fn ends(&self) -> (Sender, Receiver) {
        let module = Module::find(self.cca).expect("a controller");
        let controller = Controller::new(module, &BTreeMap::new()).expect("defaults are valid");
        let stream = match self.segments {
            u32::MAX => Stream::GREEDY,
            n => Stream { segments: n, last_len: 1 },
        };
        let receiver = Receiver::new(self.config, stream.segments, stream.last_len);
        (Sender::new(controller, self.config, stream, 1), receiver)
    }
}

/// See the module documentation.
pub struct QuicEnds {
    pub sender: Sender,
    pub receiver: Receiver,
    /// Bytes of the whole transfer.
    bytes: u64,
    sent: u32,
    /// Packet numbers that some delivered ACK frame reported.
    reported: Vec<bool>,
    /// Segments in packets that the receiver took.
    arrived: BTreeSet<u32>,
    next_segment: u32,
}

impl Ends for QuicEnds {
    type Sent = Sent;
    type Heard = Ack;
    /// The ranges that an ACK frame reports.
    type Known = Vec<(u32, u32)>;

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
        assert_eq!(self.receiver.stats().delivered_bytes, self.bytes);
        assert!(!self.sender.next_deadline().is_set(), "a timer runs after the end");
    }

    fn next_deadline(&self) -> Time {
        self.sender.next_deadline().min(self.receiver.next_deadline())
    }

    fn on_timer(&mut self, now: Time, acks: &mut Vec<Ack>) {
        self.receiver.on_timer(now, acks);
        self.sender.on_timer(now);
    }

    fn on_packet(&mut self, now: Time, packet: &Packet, acks: &mut Vec<Ack>) {
        let before = *self.receiver.stats();
        self.receiver.on_packet(now, packet, acks);
        if packet.flags & flags::SYN == 0 && self.receiver.stats().duplicates == before.duplicates {
            let is_new = self.arrived.insert(packet.ts_val);
            assert_eq!(is_new, self.receiver.stats().redundant == before.redundant);
        }
        while self.arrived.contains(&self.next_segment) {
            self.next_segment += 1;
        }
        assert_eq!(self.receiver.rcv_nxt(), self.next_segment, "the first gap of what arrived");
    }

    fn on_ack(&mut self, now: Time, ack: &Ack, ranges: &Vec<(u32, u32)>) {
        self.sender.on_ack(now, ack, self.receiver.arrivals_mut());
        let Some(frame) = ack.frame() else { return };
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

    fn heard(ack: &Ack) -> Ack {
        *ack
    }

    fn known(&self) -> Vec<(u32, u32)> {
        self.receiver.ranges().iter().collect()
    }

    fn depart(&mut self, now: Time) -> Option<Vec<Packet>> {
        Some(vec![self.sender.depart(now)?])
    }

    fn sent(&mut self, now: Time, packet: &Packet) -> Option<Sent> {
        assert_ne!(packet.flags & flags::QUIC, 0);
        if packet.flags & flags::SYN != 0 {
            return None;
        }
        assert_eq!(packet.seq, self.sent, "numbers are used once, in order");
        self.sent += 1;
        Some(Sent {
            at: now,
            number: packet.seq,
            segment: packet.ts_val,
            stop_waiting: (packet.flags & flags::STOP_WAITING != 0)
                .then(|| packet.lowest_awaited()),
            is_retrans: packet.flags & flags::RETRANS != 0,
        })
    }

    fn take_events(&mut self) -> Vec<SenderEvent> {
        self.sender.sk.take_events().collect()
    }

    fn in_flight(&self) -> u32 {
        self.sender.in_flight()
    }

    fn check(&self, now: Time) {
        let (sk, packets) = (&self.sender.sk, self.sender.packets());
        assert!(sk.snd_cwnd >= 1, "at {now:?}: no window");
        let numbers = packets.base()..packets.next();
        let in_flight = numbers.filter(|&n| packets.at(n).is(IN_FLIGHT)).count();
        assert_eq!(in_flight, sk.packets_out as usize, "at {now:?}");
        let (una, nxt) = self.sender.window();
        let received = self.receiver.rcv_nxt();
        assert!(una <= received && received <= nxt, "{una} <= {received} <= {nxt}");
    }
}

impl<'a> Pair<'a> {
    /// A pair that has not started; `judge` decides about each data packet.
    pub fn new(setup: Setup, judge: impl FnMut(Sent) -> Verdict + 'a) -> Pair<'a> {
        let (mut sender, receiver) = setup.ends();
        sender.sk.set_record_events();
        let ends = QuicEnds {
            sender,
            receiver,
            bytes: setup.config.cut().offset(setup.segments - 1) + 1,
            sent: 0,
            reported: Vec::new(),
            arrived: BTreeSet::new(),
            next_segment: 0,
        };
        let Setup { one_way, serialization, buffer, .. } = setup;
        let path = Path { one_way, serialization, buffer, loses_after_link: false };
        Pair::over(path, ends, judge)
    }

    /// The packets that carried `segment`.
    pub fn carriers(&self, segment: u32) -> Vec<Sent> {
        self.sent.iter().filter(|sent| sent.segment == segment).copied().collect()
    }

    /// When an event happened first.
    pub fn time_of(&self, event: SenderEvent) -> Time {
        self.events.iter().find(|e| e.1 == event).map_or(Time::NEVER, |e| e.0)
    }

    /// The ACK frames sent, with their times.
    pub fn frames(&self) -> Vec<(Time, AckFrame)> {
        self.acks.iter().filter_map(|(at, ack)| Some((*at, *ack.frame()?))).collect()
    }
}
