//! A sender and a receiver with a link and a constant delay each way between them, whose treatment of each data packet
//! the test decides; TCP and QUIC each say what their ends are ([`Ends`]). Data leaves the link one packet after the
//! other: packets that arrive at one instant would be reordered in RACK's eyes when their ACKs send at one.

use net::{Ack, Frame, Packet};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use transport::common::SenderEvent;
use units::{Span, Time};

/// What the path does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Deliver,
    Drop,
    /// Delivered this much later than usual.
    Delay(Span),
    /// Marked by a router.
    Mark,
    /// Delivered, and delivered again this much later.
    Twice(Span),
}

impl Verdict {
    /// How much later than usual the copies arrive.
    fn delays(self) -> impl Iterator<Item = Span> {
        let (first, second) = match self {
            Verdict::Deliver | Verdict::Mark => (Some(Span::ZERO), None),
            Verdict::Delay(late) => (Some(late), None),
            Verdict::Twice(late) => (Some(Span::ZERO), Some(late)),
            Verdict::Drop => (None, None),
        };
        first.into_iter().chain(second)
    }
}

/// The path.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Delay of each direction.
    pub one_way: Span,
    /// Time that the link takes for a packet.
    pub serialization: Span,
    /// Packets that wait for the link at most.
    pub buffer: u64,
    /// Packets are lost after they have crossed the link, otherwise before.
    pub loses_after_link: bool,
}

/// Two hosts. An implementation checks in each call what must hold.
pub trait Ends {
    /// What a test learns of a data packet that was sent.
    type Sent: Copy;
    /// What a test learns of an acknowledgement.
    type Heard: Copy;
    /// What the receiver knows when it acknowledges.
    type Known: Clone;

    /// Opens the connection; false when that was done before.
    fn start(&mut self, now: Time) -> bool;
    fn is_complete(&self) -> bool;
    /// Fails unless everything arrived.
    fn check_completion(&self);
    /// When a host or the application has something to do.
    fn next_deadline(&self) -> Time;
    fn on_timer(&mut self, now: Time, acks: &mut Vec<Ack>);
    fn on_packet(&mut self, now: Time, packet: &Packet, acks: &mut Vec<Ack>);
    fn on_ack(&mut self, now: Time, ack: &Ack, known: &Self::Known);
    /// Something has arrived, or a timer has run.
    fn after_event(&mut self, _now: Time) {}
    fn heard(ack: &Ack) -> Self::Heard;
    fn known(&self) -> Self::Known;
    /// The packets that leave next, at once.
    fn depart(&mut self, now: Time) -> Option<Vec<Packet>>;
    /// What the test learns of `packet`; `None`: it carries no data, and passes.
    fn sent(&mut self, now: Time, packet: &Packet) -> Option<Self::Sent>;
    /// Whether a packet without data is lost.
    fn loses(&mut self, _packet: &Packet) -> bool {
        false
    }
    fn take_events(&mut self) -> Vec<SenderEvent>;
    fn in_flight(&self) -> u32;
    /// Fails unless what holds at every instant does.
    fn check(&self, now: Time);
}

enum Item<K> {
    Data(Packet),
    Ack(Ack, K),
}

/// See the module documentation. Dereferences to its ends.
pub struct Pair<'a, E: Ends> {
    pub ends: E,
    pub now: Time,
    /// Every data packet sent, in order.
    pub sent: Vec<E::Sent>,
    /// Every ACK sent, with its time.
    pub acks: Vec<(Time, E::Heard)>,
    pub events: Vec<(Time, SenderEvent)>,
    /// Most packets in flight at any time.
    pub max_in_flight: u32,
    path: Path,
    under_way: BTreeMap<(Time, u64), Item<E::Known>>,
    pushed: u64,
    link_free_at: Time,
    judge: Box<dyn FnMut(E::Sent) -> Verdict + 'a>,
    judge_ack: Box<dyn FnMut(&mut Ack) -> Verdict + 'a>,
}

impl<E: Ends> Deref for Pair<'_, E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.ends
    }
}

impl<E: Ends> DerefMut for Pair<'_, E> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.ends
    }
}

impl<'a, E: Ends> Pair<'a, E> {
    /// A pair that has not started; `judge` decides about each data packet.
    pub fn over(path: Path, ends: E, judge: impl FnMut(E::Sent) -> Verdict + 'a) -> Pair<'a, E> {
        Pair {
            ends,
            now: Time::ZERO,
            sent: Vec::new(),
            acks: Vec::new(),
            events: Vec::new(),
            max_in_flight: 0,
            path,
            under_way: BTreeMap::new(),
            pushed: 0,
            link_free_at: Time::ZERO,
            judge: Box::new(judge),
            judge_ack: Box::new(|_| Verdict::Deliver),
        }
    }

    /// Decides about each ACK before it reaches the sender, and may change it.
    pub fn with_acks(mut self, judge: impl FnMut(&mut Ack) -> Verdict + 'a) -> Pair<'a, E> {
        self.judge_ack = Box::new(judge);
        self
    }

    /// Runs until the transfer is complete; fails when that takes longer than `limit_s` of the pair's time.
    pub fn drive(mut self, limit_s: u64) -> Pair<'a, E> {
        self.drive_until(Time::ZERO + Span::from_ms(limit_s * 1000), E::is_complete);
        assert!(self.ends.is_complete(), "not complete after {limit_s} s");
        self.ends.check_completion();
        self
    }

    /// Runs for `span`.
    pub fn drive_for(mut self, span: Span) -> Pair<'a, E> {
        let end = self.now + span;
        self.drive_until(end, |_| false);
        self
    }

    fn drive_until(&mut self, end: Time, done: impl Fn(&E) -> bool) {
        if self.ends.start(self.now) {
            self.depart();
        }
        while !done(&self.ends) {
            let arrival = self.under_way.first_key_value().map_or(Time::NEVER, |(k, _)| k.0);
            let next = arrival.min(self.ends.next_deadline());
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
            match self.under_way.pop_first().expect("an item is due").1 {
                Item::Data(packet) => self.ends.on_packet(now, &packet, &mut acks),
                Item::Ack(ack, known) => self.ends.on_ack(now, &ack, &known),
            }
        } else {
            self.ends.on_timer(now, &mut acks);
        }
        for mut ack in acks {
            self.acks.push((now, E::heard(&ack)));
            for late in (self.judge_ack)(&mut ack).delays() {
                let known = self.ends.known();
                self.push(now + self.path.one_way + late, Item::Ack(ack, known));
            }
        }
        self.depart();
        self.ends.after_event(now);
    }

    fn push(&mut self, at: Time, item: Item<E::Known>) {
        self.under_way.insert((at, self.pushed), item);
        self.pushed += 1;
    }

    /// Puts what leaves the sender on its way.
    pub fn depart(&mut self) {
        while let Some(packets) = self.ends.depart(self.now) {
            packets.into_iter().for_each(|packet| self.send(packet));
        }
        let events = self.ends.take_events().into_iter().map(|event| (self.now, event));
        self.events.extend(events);
        self.ends.check(self.now);
        self.max_in_flight = self.max_in_flight.max(self.ends.in_flight());
    }

    fn send(&mut self, mut packet: Packet) {
        let start = self.now.max(self.link_free_at);
        let Some(sent) = self.ends.sent(self.now, &packet) else {
            if !self.ends.loses(&packet) {
                self.push(start + self.path.one_way, Item::Data(packet));
            }
            return;
        };
        self.sent.push(sent);
        let verdict = (self.judge)(sent);
        let waiting = start.since(self.now).as_ns() / self.path.serialization.as_ns().max(1);
        let is_lost_before = verdict == Verdict::Drop && !self.path.loses_after_link;
        if is_lost_before || waiting > self.path.buffer {
            return;
        }
        if verdict == Verdict::Mark {
            packet.mark_ce();
        }
        self.link_free_at = start + self.path.serialization;
        for late in verdict.delays() {
            self.push(self.link_free_at + self.path.one_way + late, Item::Data(packet));
        }
    }

    /// How often an event happened.
    pub fn count(&self, event: SenderEvent) -> usize {
        self.events.iter().filter(|e| e.1 == event).count()
    }
}
