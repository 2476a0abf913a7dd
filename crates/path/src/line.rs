//! Delay lines: where the routes of several flows have the same constant delay, what is under way on all of them is in one
//! ring. It comes out in the order in which it went in, so that a line has one event at a time, and its packets lie side by
//! side in memory, however many flows they are of.
//!
//! Packets of different flows that come out at the same instant do so in the order in which each flow's first one would have
//! been scheduled if the flow had a pipe of its own: a run does not depend on which delays are lines.

use crate::route::{Behind, OnLine, PathPacket, Stage};
use net::delay::Pipe;
use std::collections::BTreeMap;
use units::{Span, Time};

/// Lines of one direction: as many as the event queue keeps apart, with some links.
const LINES: usize = 3;

/// See the module documentation.
pub struct DelayLine<P> {
    delay: Span,
    /// The number of its stage in every route that has it.
    pub stage: u32,
    /// Every route goes on to a link.
    pub leads_to_links: bool,
    /// When the youngest packet comes out, or came.
    last: Time,
    pipe: Pipe<P>,
}

/// The delays that most routes have become lines, each as the same stage of its routes.
pub fn shared<P: PathPacket>(routes: &mut [Vec<Stage<P>>]) -> Vec<DelayLine<P>> {
    let mut users: BTreeMap<(Span, usize), u32> = BTreeMap::new();
    for (number, stage) in routes.iter().flat_map(|stages| stages.iter().enumerate()) {
        if let Some(delay) = plain_delay(stage) {
            *users.entry((delay, number)).or_default() += 1;
        }
    }
    let mut users: Vec<_> = users.into_iter().collect();
    users.sort_by_key(|&(_, routes)| std::cmp::Reverse(routes));
    users.truncate(LINES);
    for stages in routes.iter_mut() {
        for number in 0..stages.len() {
            let Some(delay) = plain_delay(&stages[number]) else { continue };
            if let Some(line) = users.iter().position(|&(user, _)| user == (delay, number)) {
                let behind = Behind::of(&stages[number + 1..]);
                stages[number] =
                    Stage::Line(OnLine { line: line as u32, under_way: 0, turn: 0, behind });
            }
        }
    }
    let line = |((delay, number), _)| DelayLine {
        delay,
        stage: number as u32,
        leads_to_links: routes.iter().all(|stages| match stages.get(number) {
            Some(Stage::Line(on)) => matches!(on.behind, Behind::Link(_)),
            _ => true,
        }),
        last: Time::ZERO,
        pipe: Pipe::default(),
    };
    users.into_iter().map(line).collect()
}

/// A packet that comes at the instant at which one comes out may meet it: a delay of zero is no line.
fn plain_delay<P: Copy>(stage: &Stage<P>) -> Option<Span> {
    match stage {
        Stage::Delay(delay) => delay.plain().filter(|&delay| delay > Span::ZERO),
        _ => None,
    }
}

impl<P: PathPacket> DelayLine<P> {
    /// A packet comes; when the line wants to be woken, if it was empty.
    #[inline(always)]
    pub fn push(&mut self, now: Time, packet: P) -> Option<Time> {
        let at = (now + self.delay).max(self.last);
        self.last = at;
        let was_empty = self.pipe.is_empty();
        self.pipe.push(at, packet);
        was_empty.then_some(at)
    }

    /// The packet that comes out next, and when.
    #[inline(always)]
    pub fn head(&self) -> Option<&(Time, P)> {
        self.pipe.head()
    }

    /// The `k`-th of the packets that are under way, and when it comes out.
    #[inline]
    pub fn get(&self, k: usize) -> Option<&(Time, P)> {
        self.pipe.get(k)
    }

    /// The next packet that is out by `now` if it is of this flow, or another one of it that comes out together with
    /// those before it.
    #[inline(always)]
    pub fn next(&mut self, now: Time, flow: u32) -> Option<&P> {
        match self.pipe.head() {
            Some(&(at, ref packet)) if at <= now => {
                if packet.flow() == flow || self.bring_forward(flow) {
                    self.pipe.head().map(|(_, packet)| packet)
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    /// Takes off the packet that [`DelayLine::next`] gave.
    #[inline(always)]
    pub fn drop_head(&mut self) {
        self.pipe.drop_head();
    }

    /// Of the packets that come out together with the head, moves the first one of this flow to the head, if there is one.
    #[inline(never)]
    fn bring_forward(&mut self, flow: u32) -> bool {
        let found = self.together().position(|packet| packet.flow() == flow);
        if let Some(k) = found {
            self.pipe.bring_forward(k, 0);
        }
        found.is_some()
    }

    /// Packets that come out together with the head, which is the first of them.
    fn together(&self) -> impl Iterator<Item = &P> {
        let at = self.pipe.head().map(|&(at, _)| at);
        let items = (0..).map_while(|k| self.pipe.get(k));
        items.take_while(move |item| Some(item.0) == at).map(|(_, packet)| packet)
    }

    /// Whether the head comes out together with a packet of another flow.
    #[inline(always)]
    fn is_tied(&self) -> bool {
        let Some((at, head)) = self.pipe.head() else { return false };
        let mut k = 1;
        while let Some((also, packet)) = self.pipe.get(k) {
            if also != at {
                return false;
            }
            if packet.flow() != head.flow() {
                return true;
            }
            k += 1;
        }
        false
    }

    /// Among packets of several flows that come out together with the head, moves the one to the head whose flow has the least
    /// `turn`.
    #[inline(always)]
    pub fn settle(&mut self, turn: impl Fn(u32) -> u64) {
        if self.is_tied() {
            let flow = self.together().map(|packet| packet.flow()).min_by_key(|&flow| turn(flow));
            self.bring_forward(flow.expect("the head"));
        }
    }

    /// Packets under way.
    pub fn items(&self) -> impl Iterator<Item = &P> {
        self.pipe.items()
    }
}
