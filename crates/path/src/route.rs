//! What a packet of one flow meets on its way, in order: delays, impairments, links.

use crate::counts::PacketCounts;
use crate::varied::Varied;
use net::delay::Pipe;
use net::impair::{AckThinning, Aggregation, Corruption, Duplication, Loss};
use net::qdisc::Outcome;
use net::{flags, Ack, Crossing, Frame, Packet};
use units::{Span, Time};

/// A packet that the engine can copy, and that can be damaged on its way.
pub trait PathPacket: Frame + Copy {
    /// Its content is kept elsewhere, by somebody who must hear of copies and of the end of each
    /// ([`Network::copied`](crate::network::Network::copied), [`Network::ended`](crate::network::Network::ended)).
    const IS_BUFFERED: bool = false;
    /// Whether it was corrupted.
    fn is_damaged(&self) -> bool;
    /// Corrupts it.
    fn damage(&mut self);
}

impl PathPacket for Packet {
    #[inline]
    fn is_damaged(&self) -> bool {
        self.flags & flags::DAMAGED != 0
    }
    fn damage(&mut self) {
        self.flags |= flags::DAMAGED;
    }
}

impl PathPacket for Ack {
    #[inline]
    fn is_damaged(&self) -> bool {
        self.is_damaged
    }
    fn damage(&mut self) {
        self.is_damaged = true;
    }
}

impl PathPacket for Crossing {
    #[inline]
    fn is_damaged(&self) -> bool {
        match self {
            Crossing::Data(packet) => packet.is_damaged(),
            Crossing::Ack(ack) => ack.is_damaged(),
            Crossing::Probe(probe) => probe.is_damaged,
        }
    }
    fn damage(&mut self) {
        match self {
            Crossing::Data(packet) => packet.damage(),
            Crossing::Ack(ack) => ack.damage(),
            Crossing::Probe(probe) => probe.is_damaged = true,
        }
    }
}

/// One part of a route, in a cache line of its own.
#[repr(align(64))]
pub enum Stage<P> {
    /// The other host: a packet that comes here has arrived.
    End,
    /// Constant delay.
    Delay(Delay<P>),
    /// Constant delay that other routes have, too.
    Line(OnLine),
    /// A link, by its number.
    Link(u32),
    /// Delay that varies, or has slots.
    Varied(Box<Varied<P>>),
    Loss(Box<Loss>),
    Duplicate(Box<Duplication>),
    Corrupt(Box<Corruption>),
    /// A network card that cuts super-packets into frames.
    Segment,
    /// Only each n-th acknowledgement of a row.
    ThinAcks(Box<AckThinning<P>>),
    /// Bursts.
    Aggregate(Box<Aggregation<P>>),
}

/// What a route has under way on a delay line ([`DelayLine`](crate::line::DelayLine)).
#[derive(Clone, Copy, Debug)]
pub struct OnLine {
    /// Number of the line.
    pub line: u32,
    /// Packets under way.
    pub under_way: u32,
    /// Turn of the first of them among events of the same time ([`Timeline::take_turn`](crate::timeline::Timeline::take_turn)).
    pub turn: u64,
    /// What is behind the line.
    pub behind: Behind,
}

/// What a packet comes to that leaves a delay line: known here, where the stage behind need not be looked at.
#[derive(Clone, Copy, Debug)]
pub enum Behind {
    /// The other host.
    End,
    /// A link, by its number.
    Link(u32),
    /// Any other stage.
    Stage,
}

impl Behind {
    /// What the stages that follow a line begin with.
    pub fn of<P>(stages: &[Stage<P>]) -> Behind {
        match stages.first() {
            None | Some(Stage::End) => Behind::End,
            Some(Stage::Link(link)) => Behind::Link(*link),
            Some(_) => Behind::Stage,
        }
    }
}

/// A pipe of constant delay.
pub struct Delay<P> {
    delay: Span,
    /// Extra delay of the first packet, while the other end's address is found out (ARP); packets after it
    /// wait with it.
    resolution: Span,
    /// When the youngest packet comes out, or came: kept here, where it is found without what is under way.
    last: Time,
    pipe: Pipe<P>,
}

impl<P: Copy> Delay<P> {
    pub fn new(delay: Span) -> Self {
        Delay { delay, resolution: Span::ZERO, last: Time::ZERO, pipe: Pipe::default() }
    }

    /// The delay, where it is that of all packets, the first one included.
    pub fn plain(&self) -> Option<Span> {
        (self.resolution == Span::ZERO).then_some(self.delay)
    }

    /// The same, where the first packet waits for the other end's address.
    #[must_use]
    pub fn after_resolution(self, resolution: Span) -> Self {
        Delay { resolution, ..self }
    }

    /// A packet comes; when it goes on if it is the only one.
    #[inline]
    pub fn take(&mut self, now: Time, packet: P) -> Option<Time> {
        let at = now + self.delay + std::mem::take(&mut self.resolution);
        let at = at.max(self.last);
        self.last = at;
        let is_first = self.pipe.is_empty();
        self.pipe.push(at, packet);
        is_first.then_some(at)
    }
}

/// What became of a packet at a stage.
pub enum Verdict {
    Forward,
    /// It goes on two times.
    Duplicate,
    /// It goes on as frames, of which the first may be damaged.
    Cut {
        damages: bool,
        /// The others come to the stage again (`netem_enqueue` queues them a second time).
        again: bool,
    },
    Drop,
    /// It has arrived.
    Arrive,
    /// It is held; when the stage wants to be woken, where that has changed.
    Hold(Option<Time>),
    Link(u32),
}

/// What a stage has to give.
pub enum Release<P> {
    Packet(P),
    /// Nothing before this time.
    Later(Time),
    /// Nothing until a packet comes.
    Never,
}

impl<P: PathPacket> Stage<P> {
    /// A packet comes; what the stage drops in its place is left in `outcome`.
    #[inline]
    pub fn take(&mut self, now: Time, packet: &mut P, outcome: &mut Outcome<P>) -> Verdict {
        match self {
            Stage::Delay(delay) => Verdict::Hold(delay.take(now, *packet)),
            Stage::Link(link) => Verdict::Link(*link),
            Stage::End => Verdict::Arrive,
            _ => self.impair(now, packet, outcome),
        }
    }

    fn impair(&mut self, now: Time, packet: &mut P, outcome: &mut Outcome<P>) -> Verdict {
        let head = self.next_wakeup();
        match self {
            Stage::Loss(loss) => {
                return if loss.is_lost(now) { Verdict::Drop } else { Verdict::Forward };
            }
            Stage::Duplicate(duplication) => {
                return if duplication.is_duplicated() {
                    Verdict::Duplicate
                } else {
                    Verdict::Forward
                };
            }
            Stage::Corrupt(corruption) => {
                if corruption.is_corrupted() {
                    let damages = corruption.is_noticed(packet.frame(0).head_bytes().get());
                    if packet.segments() > 1 {
                        return Verdict::Cut { damages, again: true };
                    }
                    if damages {
                        packet.damage();
                    }
                }
                return Verdict::Forward;
            }
            Stage::Segment if packet.segments() > 1 => {
                return Verdict::Cut { damages: false, again: false };
            }
            Stage::Segment => return Verdict::Forward,
            Stage::Varied(varied) => varied.push(now, *packet),
            Stage::ThinAcks(thinning) => thinning.push(now, *packet, outcome),
            Stage::Aggregate(aggregation) => aggregation.push(now, *packet),
            Stage::End | Stage::Delay(_) | Stage::Line(_) | Stage::Link(_) => {
                unreachable!("the network or `take` does that")
            }
        }
        let next = self.next_wakeup();
        Verdict::Hold(next.filter(|_| next != head).map(|at| at.max(now)))
    }

    /// When the next held packet goes on.
    fn next_wakeup(&self) -> Option<Time> {
        match self {
            Stage::Delay(delay) => delay.pipe.next_wakeup(),
            Stage::Varied(varied) => varied.next_wakeup(),
            Stage::ThinAcks(thinning) => thinning.next_wakeup(),
            Stage::Aggregate(aggregation) => aggregation.next_wakeup(),
            Stage::End | Stage::Line(_) | Stage::Link(_) | Stage::Segment => None,
            Stage::Loss(_) | Stage::Duplicate(_) | Stage::Corrupt(_) => None,
        }
    }

    /// The packet that goes on next, and when, where that is known cheaply.
    #[inline]
    pub fn head(&self) -> Option<&(Time, P)> {
        match self {
            Stage::Delay(delay) => delay.pipe.head(),
            _ => None,
        }
    }

    /// Asks for the memory of the packet that goes on next.
    #[inline]
    pub fn fetch_head(&self) {
        if let Stage::Delay(delay) = self {
            delay.pipe.fetch_head();
        }
    }

    /// Takes a held packet that goes on by `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Release<P> {
        let (packet, next) = match self {
            Stage::Delay(delay) => (delay.pipe.pop(now), delay.pipe.next_wakeup()),
            _ => (self.pop_any(now), self.next_wakeup()),
        };
        match (packet, next) {
            (Some(packet), _) => Release::Packet(packet),
            (None, Some(at)) => Release::Later(at.max(now)),
            (None, None) => Release::Never,
        }
    }

    fn pop_any(&mut self, now: Time) -> Option<P> {
        match self {
            Stage::Delay(delay) => delay.pipe.pop(now),
            Stage::Varied(varied) => varied.pop(now),
            Stage::ThinAcks(thinning) => thinning.pop(now),
            Stage::Aggregate(aggregation) => aggregation.pop(now),
            Stage::End | Stage::Line(_) | Stage::Link(_) | Stage::Segment => None,
            Stage::Loss(_) | Stage::Duplicate(_) | Stage::Corrupt(_) => None,
        }
    }

    /// Calls `each` for every packet that is held, in no particular order.
    pub fn for_each(&self, each: &mut dyn FnMut(&P)) {
        match self {
            Stage::Delay(delay) => delay.pipe.items().for_each(each),
            Stage::Varied(varied) => varied.items().for_each(each),
            Stage::ThinAcks(thinning) => thinning.items().for_each(each),
            Stage::Aggregate(aggregation) => aggregation.items().for_each(each),
            Stage::End | Stage::Line(_) | Stage::Link(_) | Stage::Segment => {}
            Stage::Loss(_) | Stage::Duplicate(_) | Stage::Corrupt(_) => {}
        }
    }
}

/// A flow's way in one direction. It meets each link at most once. What each packet asks for is in one cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Route {
    /// Its first stage, by the place among those of all routes; the others follow, up to [`Stage::End`].
    pub first: u32,
    /// The first link on it, with the place of the stage after it; most routes have no other.
    link: Option<(u32, u32)>,
    /// The link after which nothing comes but the other host.
    last: Option<u32>,
    pub counts: PacketCounts,
    /// The links after the first one.
    others: Vec<(u32, u32)>,
}

const _: () = assert!(std::mem::offset_of!(Route, counts.delivered) < 64);

impl Route {
    /// A route of these stages, the first of which is at `first` among those of all routes.
    pub fn new<P>(first: u32, stages: &[Stage<P>]) -> Route {
        let number = |stage: &Stage<P>| match stage {
            Stage::Link(link) => Some(*link),
            _ => None,
        };
        let after = first + 1..;
        let mut links = after.zip(stages).filter_map(|(at, s)| number(s).map(|link| (link, at)));
        let link = links.next();
        let last = stages.last().and_then(number);
        Route { first, link, others: links.collect(), last, counts: PacketCounts::default() }
    }

    /// Whether a packet that leaves this link has arrived.
    #[inline]
    pub fn ends_after(&self, link: u32) -> bool {
        self.last == Some(link)
    }

    /// The place of the stage after a link.
    #[inline]
    pub fn place_after(&self, link: u32) -> u32 {
        match self.link {
            Some((first, place)) if first == link => place,
            _ => self.place_after_other(link),
        }
    }

    fn place_after_other(&self, link: u32) -> u32 {
        let found = self.others.iter().find(|&&(l, _)| l == link);
        found.expect("a packet leaves a link that is on its route").1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::impair::{Share, ThinningConfig};
    use net::rng::Rng;

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// What is popped at `now`: numbers of the packets, and when the stage wants to be woken.
    fn drained(stage: &mut Stage<Packet>, now: Time) -> (Vec<u32>, Option<Time>) {
        let mut numbers = Vec::new();
        loop {
            match stage.pop(now) {
                Release::Packet(packet) => numbers.push(packet.seq),
                Release::Later(at) => return (numbers, Some(at)),
                Release::Never => return (numbers, None),
            }
        }
    }

    fn held<P: PathPacket>(stage: &Stage<P>) -> u32 {
        let mut count = 0;
        stage.for_each(&mut |_| count += 1);
        count
    }

    #[test]
    fn a_delay_asks_to_be_woken_for_its_first_packet_only() {
        let mut delay = Delay::new(Span::from_ms(10));
        assert_eq!(delay.take(at_ms(1), Packet { seq: 1, ..Packet::default() }), Some(at_ms(11)));
        assert_eq!(delay.take(at_ms(3), Packet { seq: 2, ..Packet::default() }), None);
        let mut stage = Stage::Delay(delay);
        assert_eq!(drained(&mut stage, at_ms(11)), (vec![1], Some(at_ms(13))));
        assert_eq!(drained(&mut stage, at_ms(13)), (vec![2], None));
        assert_eq!(held(&stage), 0);
    }

    #[test]
    fn packets_wait_with_the_one_that_waits_for_an_address() {
        let mut delay = Delay::new(Span::from_ms(10)).after_resolution(Span::from_ms(20));
        assert_eq!(delay.take(at_ms(0), Packet::default()), Some(at_ms(30)));
        assert_eq!(delay.take(at_ms(5), Packet::default()), None);
        let mut stage = Stage::Delay(delay);
        assert_eq!(drained(&mut stage, at_ms(30)).0.len(), 2);
    }

    #[test]
    fn stages_without_memory_hold_nothing() {
        let rng = || Rng::stream(1, "stage");
        let always = Share::of(1_000_000_000);
        let mut outcome = Outcome::default();
        let mut packet = Packet::default();
        let mut corrupt = Stage::Corrupt(Box::new(Corruption::new(always, rng())));
        assert!(matches!(corrupt.take(at_ms(1), &mut packet, &mut outcome), Verdict::Forward));
        assert!(packet.is_damaged());
        let mut duplicate = Stage::Duplicate(Box::new(Duplication::new(always, rng())));
        assert!(matches!(duplicate.take(at_ms(1), &mut packet, &mut outcome), Verdict::Duplicate));
        assert!(held(&corrupt) + held(&duplicate) == 0 && outcome.is_empty());
    }

    #[test]
    fn thinning_leaves_the_older_acknowledgement_as_a_drop() {
        let config = ThinningConfig { every: 3, hold: Span::from_ms(5) };
        let mut stage = Stage::ThinAcks(Box::new(AckThinning::new(config)));
        let mut outcome = Outcome::default();
        let ack = |number| Ack::from(net::TcpAck { ack: number, ..net::TcpAck::default() });
        for number in [1, 2] {
            let verdict = stage.take(at_ms(0), &mut ack(number), &mut outcome);
            assert!(matches!(verdict, Verdict::Hold(_)));
        }
        assert_eq!((held(&stage), outcome.drops.len()), (1, 1));
    }

    #[test]
    fn a_packet_goes_on_after_the_link_that_it_leaves() {
        let delay = || Stage::<Packet>::Delay(Delay::new(Span::from_ms(1)));
        let stages = [delay(), Stage::Link(4), delay(), delay(), Stage::Link(0)];
        let route = Route::new(10, &stages);
        assert_eq!((route.place_after(4), route.place_after(0)), (12, 15));
        assert_eq!((route.ends_after(4), route.ends_after(0)), (false, true));
    }
}
