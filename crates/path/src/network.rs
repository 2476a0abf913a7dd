//! All that lies between the hosts in one direction: every flow's route, and the links
//! that routes share. Packets go in at the start of their flow's route and come out in `arrived`;
//! what happened to the others is counted by flow and cause.

use crate::counts::PacketCounts;
use crate::line::{self, DelayLine};
use crate::link::{Leave, Link, Then};
use crate::route::{Behind, PathPacket, Release, Route, Stage, Verdict};
use crate::timeline::Timeline;
use bounds::Copies;
use net::fetch::{fetch, fetch_line};
use net::qdisc::Outcome;
use net::ring::Ring;
use units::{Span, Time};

mod bounds;
#[cfg(test)]
mod tests;

pub use bounds::{Bounds, Excess};

/// What arrives this soon after a packet of its flow arrives with it: a process that a packet wakes runs a nanosecond later,
/// after all packets of the instant, and what it sends has left at that instant on Linux in virtual time.
const TOGETHER: Span = Span::from_ns(1);

/// Something that an event table wants to know; equal ones in a row are one with a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    Lost,
    Dropped,
    Marked,
}

/// See the module documentation. Counts are of segments: a super-packet is one item here, and counts as many as it holds.
pub struct Network<P> {
    pub links: Vec<Link<P>>,
    /// The stages of all routes, one route after the other, each with its [`Stage::End`]: the place of a stage here is
    /// that of its event slot after `base`.
    stages: Vec<Stage<P>>,
    routes: Vec<Route>,
    lines: Vec<DelayLine<P>>,
    /// Packets at the end of their route, to be taken by the engine.
    pub arrived: Ring<P>,
    /// Packets of which there is one copy more, and packets that will not arrive, to be taken by the engine
    /// in this order; only where [`PathPacket::IS_BUFFERED`].
    pub copied: Vec<P>,
    /// See `copied`.
    pub ended: Vec<P>,
    /// (flow, what, how many), of flows whose events are recorded.
    pub notices: Vec<(u32, Notice, u64)>,
    noticed: Vec<bool>,
    /// The flow of each stage.
    owners: Vec<u32>,
    /// Number of its first event slot.
    base: u32,
    /// First slot of the links.
    link_slots: u32,
    /// First slot of the lines.
    line_slots: u32,
    outcome: Outcome<P>,
    copies: Copies,
}

impl<P: PathPacket> Network<P> {
    /// A network whose event slots begin at `base`, and that gives notice of what happens to packets of the flows
    /// that are `noticed`.
    pub fn new(
        base: u32,
        links: Vec<Link<P>>,
        mut routes: Vec<Vec<Stage<P>>>,
        noticed: Vec<bool>,
    ) -> Self {
        let lines = line::shared(&mut routes);
        Network::assemble(base, links, lines, routes, noticed)
    }

    /// The same of routes whose stages refer to these lines.
    fn assemble(
        base: u32,
        links: Vec<Link<P>>,
        lines: Vec<DelayLine<P>>,
        routes: Vec<Vec<Stage<P>>>,
        noticed: Vec<bool>,
    ) -> Self {
        let mut all = Vec::new();
        let mut owners = Vec::new();
        let mut numbered = Vec::with_capacity(routes.len());
        for (flow, mut stages) in (0..).zip(routes) {
            numbered.push(Route::new(all.len() as u32, &stages));
            all.append(&mut stages);
            all.push(Stage::End);
            owners.resize(all.len(), flow);
        }
        let link_slots = base + all.len() as u32;
        let line_slots = link_slots + links.len() as u32;
        Network {
            links,
            lines,
            stages: all,
            routes: numbered,
            arrived: Ring::default(),
            copied: Vec::new(),
            ended: Vec::new(),
            notices: Vec::new(),
            noticed,
            owners,
            base,
            link_slots,
            line_slots,
            outcome: Outcome::default(),
            copies: Copies::within(Bounds::NONE),
        }
    }

    /// The same within these bounds.
    #[must_use]
    pub fn within(self, bounds: Bounds) -> Self {
        Network { copies: Copies::within(bounds), ..self }
    }

    /// The bound that was exceeded: from then on copies are left out, so that the step ends, and the run is to end.
    pub fn excess(&self) -> Option<Excess> {
        self.copies.excess
    }

    /// What became of the packets of each flow.
    pub fn fates(&self) -> Vec<PacketCounts> {
        self.routes.iter().map(|route| route.counts).collect()
    }

    /// Packets that were sent, or came twice, and are neither there nor gone.
    pub fn under_way(&self) -> u64 {
        let held = |counts: &PacketCounts| {
            (counts.sent + counts.duplicated).saturating_sub(counts.ended())
        };
        self.routes.iter().map(|route| held(&route.counts)).sum()
    }

    /// Event slots that it uses.
    pub fn slots(&self) -> u32 {
        (self.stages.len() + self.links.len() + self.lines.len()) as u32
    }

    /// Sets the timers that run from the start.
    pub fn start(&mut self, timeline: &mut Timeline) {
        let often = self.link_slots..self.base + self.slots();
        often.for_each(|slot| timeline.keep_apart(slot));
        for l in 0..self.links.len() as u32 {
            self.run_link(Time::ZERO, l, timeline);
        }
    }

    /// The stage of an event slot comes up soon: asks for its memory.
    pub fn fetch_stage(&self, slot: u32) {
        if let Some(stage) = self.stages.get((slot - self.base) as usize) {
            fetch(stage);
        }
    }

    /// The same, once that is there: asks for the packet that leaves the stage.
    pub fn fetch_head(&self, slot: u32) {
        if let Some(stage) = self.stages.get((slot - self.base) as usize) {
            stage.fetch_head();
        }
    }

    /// The packet that leaves the stage of an event slot next, and when.
    pub fn head(&self, slot: u32) -> Option<&(Time, P)> {
        self.stages.get((slot - self.base) as usize)?.head()
    }

    /// The flow whose stage has this event slot.
    pub fn owner(&self, slot: u32) -> Option<u32> {
        self.owners.get((slot - self.base) as usize).copied()
    }

    /// The event slot of a flow's first stage, unless most routes begin with lines, which have slots of their own.
    pub fn first_slot(&self, flow: usize) -> Option<u32> {
        self.lines.is_empty().then(|| self.base + self.routes[flow].first)
    }

    /// A packet of this flow leaves its host, or arrives, soon: asks for its route.
    pub fn fetch_route(&self, flow: usize) {
        fetch_line(&self.routes[flow]);
    }

    /// The same, once that is there: asks for the first stage.
    pub fn fetch_first_stage(&self, flow: usize) {
        fetch_line(&self.stages[self.routes[flow].first as usize]);
    }

    /// The `k`-th of the packets that wait for the link of an event slot, or are on its line, and when it leaves; `None` for a
    /// stage, too.
    pub fn leaving(&self, slot: u32, k: usize) -> Option<(Time, &P)> {
        if let Some(line) = slot.checked_sub(self.line_slots) {
            return self.lines[line as usize].get(k).map(|(at, packet)| (*at, packet));
        }
        let link = slot.checked_sub(self.link_slots)?;
        self.links[link as usize].leaving(k)
    }

    /// Whether an event slot is that of a line from which everything goes on to a link.
    pub fn leads_to_links(&self, slot: u32) -> bool {
        let line = slot.checked_sub(self.line_slots).and_then(|line| self.lines.get(line as usize));
        line.is_some_and(|line| line.leads_to_links)
    }

    /// A packet leaves that link or line soon: asks for the stage that it comes to, or for that of the line.
    pub fn fetch_behind(&self, slot: u32, flow: usize) {
        let route = &self.routes[flow];
        if let Some(line) = slot.checked_sub(self.line_slots) {
            fetch_line(&self.stages[(route.first + self.lines[line as usize].stage) as usize]);
        } else if !route.ends_after(slot - self.link_slots) {
            fetch(&self.stages[route.place_after(slot - self.link_slots) as usize]);
        }
    }

    /// The packet that leaves that link or line as the `k`-th from now: asks for its memory.
    pub fn fetch_leaving(&self, slot: u32, k: usize) {
        if let Some((_, packet)) = self.leaving(slot, k) {
            fetch(packet);
        }
    }

    /// A packet leaves its host.
    #[inline]
    pub fn send(&mut self, now: Time, packet: P, timeline: &mut Timeline) {
        timeline.fire();
        let route = &mut self.routes[packet.flow() as usize];
        route.counts.sent += u64::from(packet.segments());
        let first = route.first;
        self.pass(now, packet, first, timeline);
    }

    /// Packets of this flow leave its host together.
    #[inline]
    pub fn send_all(
        &mut self,
        now: Time,
        flow: usize,
        packets: impl ExactSizeIterator<Item = P>,
        timeline: &mut Timeline,
    ) {
        timeline.fire();
        let route = &mut self.routes[flow];
        let first = route.first;
        let Stage::Line(on) = &mut self.stages[first as usize] else {
            return packets.for_each(|packet| self.send(now, packet, timeline));
        };
        if on.under_way == 0 {
            on.turn = timeline.take_turn();
        }
        on.under_way += packets.len() as u32;
        let line = &mut self.lines[on.line as usize];
        for packet in packets {
            route.counts.sent += u64::from(packet.segments());
            if let Some(at) = line.push(now, packet) {
                timeline.set_in_turn(self.line_slots + on.line, at, on.turn);
            }
        }
    }

    /// An event slot of this direction comes up.
    #[inline]
    pub fn wake(&mut self, now: Time, slot: u32, timeline: &mut Timeline) {
        timeline.fire();
        if slot >= self.line_slots {
            return self.on_line(now, slot, timeline);
        }
        if slot < self.link_slots {
            return self.on_stage(now, slot, timeline);
        }
        let link = slot - self.link_slots;
        if self.links[link as usize].is_plain() {
            return self.run_plain(now, link, timeline);
        }
        self.links[link as usize].on_timer(now);
        self.run_link(now, link, timeline);
    }

    /// Packets held by a stage go on.
    #[inline]
    fn on_stage(&mut self, now: Time, slot: u32, timeline: &mut Timeline) {
        let place = slot - self.base;
        let ends = matches!(self.stages[place as usize + 1], Stage::End);
        let until = if ends { now + TOGETHER } else { now };
        loop {
            match self.stages[place as usize].pop(until) {
                Release::Packet(packet) => self.pass(now, packet, place + 1, timeline),
                Release::Later(at) => return timeline.set(slot, at),
                Release::Never => return timeline.clear(slot),
            }
        }
    }

    /// Packets of one flow that are under way on a line go on.
    #[inline]
    fn on_line(&mut self, now: Time, slot: u32, timeline: &mut Timeline) {
        let number = (slot - self.line_slots) as usize;
        let line = &self.lines[number];
        let Some((_, head)) = line.head() else { return timeline.clear(slot) };
        let flow = head.flow();
        let place = self.routes[flow as usize].first + line.stage;
        let Stage::Line(on) = &self.stages[place as usize] else {
            unreachable!("a packet is on a line of its route")
        };
        let left = match on.behind {
            Behind::Link(link) => self.line_to_link(now, number, flow, link, timeline),
            Behind::End => self.line_to_end(now, number, flow),
            Behind::Stage => self.line_to_stage(now, number, flow, place + 1, timeline),
        };
        if let Stage::Line(on) = &mut self.stages[place as usize] {
            on.under_way -= left;
            if on.under_way > 0 {
                on.turn = timeline.take_turn();
            }
        }
        self.arm_line(now, number, timeline);
    }

    /// Packets of this flow that come out of a line come to a link; returns how many.
    #[inline(always)]
    fn line_to_link(
        &mut self,
        now: Time,
        number: usize,
        flow: u32,
        link: u32,
        timeline: &mut Timeline,
    ) -> u32 {
        let mut left = 0;
        loop {
            let (line, to) = (&mut self.lines[number], &mut self.links[link as usize]);
            loop {
                let Some(packet) = line.next(now, flow) else { return left };
                let then = to.enqueue(now, packet, &mut self.outcome);
                line.drop_head();
                left += 1;
                match then {
                    Then::Nothing => {}
                    Then::Wake(at) => timeline.set(self.link_slots + link, at.max(now)),
                    Then::Run => break,
                }
            }
            self.run_link(now, link, timeline);
        }
    }

    /// The same where they have arrived, with what follows at once.
    #[inline(always)]
    fn line_to_end(&mut self, now: Time, number: usize, flow: u32) -> u32 {
        let (line, counts) = (&mut self.lines[number], &mut self.routes[flow as usize].counts);
        let mut left = 0;
        while let Some(packet) = line.next(now + TOGETHER, flow) {
            left += 1;
            arrive(packet, counts, &mut self.arrived, &mut self.ended);
            line.drop_head();
        }
        left
    }

    /// The same where they come to any other stage.
    fn line_to_stage(
        &mut self,
        now: Time,
        number: usize,
        flow: u32,
        place: u32,
        timeline: &mut Timeline,
    ) -> u32 {
        let mut left = 0;
        while let Some(&packet) = self.lines[number].next(now, flow) {
            self.lines[number].drop_head();
            left += 1;
            self.pass(now, packet, place, timeline);
        }
        left
    }

    /// A line says when it wants to be woken.
    #[inline]
    fn arm_line(&mut self, now: Time, number: usize, timeline: &mut Timeline) {
        let slot = self.line_slots + number as u32;
        let line = &mut self.lines[number];
        let (routes, stages, stage) = (&self.routes, &self.stages, line.stage);
        let turn = |flow: u32| match &stages[(routes[flow as usize].first + stage) as usize] {
            Stage::Line(on) => on.turn,
            _ => unreachable!("a packet is on a line of its route"),
        };
        line.settle(turn);
        match line.head() {
            Some((at, head)) => timeline.set_in_turn(slot, (*at).max(now), turn(head.flow())),
            None => timeline.clear(slot),
        }
    }

    /// A packet comes to the stage at `place`. What most routes are made of is met here, without moving
    /// the packet through memory.
    #[inline(always)]
    fn pass(&mut self, now: Time, packet: P, place: u32, timeline: &mut Timeline) {
        match &mut self.stages[place as usize] {
            Stage::End => self.arrive(packet),
            Stage::Link(link) => {
                let link = *link;
                self.enter(now, packet, link, timeline);
            }
            Stage::Line(on) => {
                if on.under_way == 0 {
                    on.turn = timeline.take_turn();
                }
                on.under_way += 1;
                if let Some(at) = self.lines[on.line as usize].push(now, packet) {
                    timeline.set_in_turn(self.line_slots + on.line, at, on.turn);
                }
            }
            Stage::Delay(delay) => {
                if let Some(at) = delay.take(now, packet) {
                    timeline.set(self.base + place, at);
                }
            }
            _ => self.go_on(now, packet, place, timeline),
        }
    }

    /// A packet comes to a link. What may leave at once leaves before the next packet is judged, as a
    /// queue discipline is run after each.
    #[inline(always)]
    fn enter(&mut self, now: Time, packet: P, link: u32, timeline: &mut Timeline) {
        match self.links[link as usize].enqueue(now, &packet, &mut self.outcome) {
            Then::Nothing => {}
            Then::Wake(at) => timeline.set(self.link_slots + link, at.max(now)),
            Then::Run => self.run_link(now, link, timeline),
        }
    }

    /// A packet goes on from the stage at `place` until something holds it, or it is gone or there.
    #[inline(never)]
    fn go_on(&mut self, now: Time, mut packet: P, mut place: u32, timeline: &mut Timeline) {
        loop {
            if let Stage::Line(_) = self.stages[place as usize] {
                self.pass(now, packet, place, timeline);
                break;
            }
            match self.stages[place as usize].take(now, &mut packet, &mut self.outcome) {
                Verdict::Arrive => return self.arrive(packet),
                Verdict::Hold(None) => break,
                Verdict::Hold(Some(at)) => {
                    timeline.set(self.base + place, at);
                    break;
                }
                Verdict::Link(link) => return self.enter(now, packet, link, timeline),
                Verdict::Forward => place += 1,
                Verdict::Duplicate => {
                    place += 1;
                    if !self.may_copy(now) {
                        continue;
                    }
                    let route = &mut self.routes[packet.flow() as usize];
                    route.counts.duplicated += u64::from(packet.segments());
                    if P::IS_BUFFERED {
                        self.copied.push(packet);
                    }
                    self.go_on(now, packet, place, timeline);
                }
                Verdict::Cut { damages, again } => {
                    let next = if again { place } else { place + 1 };
                    return self.cut(now, packet, damages, (place + 1, next), timeline);
                }
                Verdict::Drop => {
                    let segments = u64::from(packet.segments());
                    let route = &mut self.routes[packet.flow() as usize];
                    route.counts.lost += segments;
                    self.lose(packet);
                    return self.notice(packet.flow(), Notice::Lost, segments);
                }
            }
        }
        if !self.outcome.is_empty() {
            self.settle(None);
        }
    }

    /// Whether one more copy is within the bounds.
    #[inline]
    fn may_copy(&mut self, now: Time) -> bool {
        if self.copies.count() {
            return true;
        }
        let waiting = self.arrived.len() + self.copied.len() + self.ended.len();
        let held = self.under_way() + waiting as u64;
        self.copies.look(now, held)
    }

    /// Cuts a super-packet into frames, of which the first may be damaged, and goes on to the first of these places; the
    /// others go on to the second.
    #[cold]
    fn cut(
        &mut self,
        now: Time,
        packet: P,
        damages: bool,
        (first, others): (u32, u32),
        timeline: &mut Timeline,
    ) {
        let mut frame = packet.frame(0);
        if damages {
            frame.damage();
        }
        self.go_on(now, frame, first, timeline);
        (1..packet.segments()).for_each(|i| self.go_on(now, packet.frame(i), others, timeline));
    }

    #[inline]
    fn arrive(&mut self, packet: P) {
        let counts = &mut self.routes[packet.flow() as usize].counts;
        arrive(&packet, counts, &mut self.arrived, &mut self.ended);
    }

    /// A packet will not arrive.
    #[inline]
    fn lose(&mut self, packet: P) {
        if P::IS_BUFFERED {
            self.ended.push(packet);
        }
    }

    /// Packets that have left a link go on, and it says when it wants to be woken.
    #[inline(never)]
    fn run_link(&mut self, now: Time, link: u32, timeline: &mut Timeline) {
        if self.links[link as usize].is_plain() {
            if !self.outcome.is_empty() {
                self.settle(Some(link));
            }
            return self.run_plain(now, link, timeline);
        }
        let slot = self.link_slots + link;
        loop {
            self.links[link as usize].park(now, &mut self.outcome);
            if !self.outcome.is_empty() {
                self.settle(Some(link));
            }
            let from = &mut self.links[link as usize];
            if let Some(at) = from.waits_until(now) {
                return timeline.set(slot, at);
            }
            let left = from.dequeue(now, &mut self.outcome);
            if !self.outcome.is_empty() {
                self.settle(Some(link));
            }
            let Some(packet) = left else { break };
            let route = &mut self.routes[packet.flow() as usize];
            if route.ends_after(link) {
                arrive(&packet, &mut route.counts, &mut self.arrived, &mut self.ended);
            } else {
                let place = route.place_after(link);
                self.pass(now, packet, place, timeline);
            }
        }
        match self.links[link as usize].next_wakeup() {
            Some(at) => timeline.set(slot, at.max(now)),
            None => timeline.clear(slot),
        }
    }

    /// The same of a plain link, which has no timers.
    #[inline(always)]
    fn run_plain(&mut self, now: Time, link: u32, timeline: &mut Timeline) {
        let slot = self.link_slots + link;
        loop {
            match self.links[link as usize].leave(now) {
                Leave::Packet(packet, segments) => {
                    let route = &mut self.routes[packet.flow() as usize];
                    // Copied in one piece, to be read at once: a processor waits when it reads what it wrote in parts.
                    if route.ends_after(link) && !packet.is_damaged() {
                        route.counts.delivered += u64::from(segments);
                        self.arrived.push_back(*packet);
                    } else {
                        let (packet, place) = (*packet, route.place_after(link));
                        self.pass(now, packet, place, timeline);
                    }
                }
                Leave::Later(at) => return timeline.set(slot, at),
                Leave::Never => return timeline.clear(slot),
            }
        }
    }

    /// Counts what the link, or a part of a route, dropped and marked.
    #[cold]
    fn settle(&mut self, link: Option<u32>) {
        let mut outcome = std::mem::take(&mut self.outcome);
        for (packet, cause) in outcome.drops.drain(..) {
            if let Some(link) = link {
                self.links[link as usize].count_drop(&packet);
            }
            let segments = u64::from(packet.segments());
            self.routes[packet.flow() as usize].counts.drop_by(cause, segments);
            self.lose(packet);
            self.notice(packet.flow(), Notice::Dropped, segments);
        }
        for (flow, _) in outcome.marks.drain(..) {
            if let Some(link) = link {
                self.links[link as usize].count_mark();
            }
            self.routes[flow as usize].counts.marked += 1;
            self.notice(flow, Notice::Marked, 1);
        }
        self.outcome = outcome;
    }

    #[cold]
    fn notice(&mut self, flow: u32, what: Notice, count: u64) {
        if !self.noticed[flow as usize] {
            return;
        }
        match self.notices.last_mut() {
            Some(last) if (last.0, last.1) == (flow, what) => last.2 += count,
            _ => self.notices.push((flow, what, count)),
        }
    }

    /// Shows every packet that is still on its way.
    pub fn for_each_held(&self, mut see: impl FnMut(&P)) {
        self.stages.iter().for_each(|stage| stage.for_each(&mut see));
        self.lines.iter().flat_map(DelayLine::items).for_each(&mut see);
        self.links.iter().for_each(|link| link.for_each(&mut see));
    }

    /// Every packet sent was delivered, dropped or is still on its way.
    pub fn check_conservation(&self) {
        let mut under_way = vec![0u64; self.routes.len()];
        self.for_each_held(|packet| {
            under_way[packet.flow() as usize] += u64::from(packet.segments());
        });
        for (flow, (route, held)) in self.routes.iter().zip(under_way).enumerate() {
            let counts = &route.counts;
            let (came, accounted) = (counts.sent + counts.duplicated, counts.ended() + held);
            assert_eq!(
                came, accounted,
                "flow {flow}: sent and accounted for: {counts:?}, {held} under way"
            );
        }
    }
}

/// A packet is at the end of its route, where one that was damaged is refused.
#[inline(always)]
fn arrive<P: PathPacket>(
    packet: &P,
    counts: &mut PacketCounts,
    arrived: &mut Ring<P>,
    ended: &mut Vec<P>,
) {
    let segments = u64::from(packet.segments());
    if packet.is_damaged() {
        counts.damaged += segments;
        if P::IS_BUFFERED {
            ended.push(*packet);
        }
    } else {
        counts.delivered += segments;
        arrived.push_back(*packet);
    }
}
