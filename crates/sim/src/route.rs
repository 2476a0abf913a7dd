//! What a packet of one flow meets on its way, in order: delays, impairments, links.

use net::delay::{JitterPipe, Pipe};
use net::impair::BernoulliLoss;
use net::{Ack, Frame, Packet};
use units::{Span, Time};

/// A packet that the engine can copy, and that can be damaged on its way.
pub trait Traveller: Frame + Copy {
    /// Whether it was corrupted.
    fn is_damaged(&self) -> bool;
}

impl Traveller for Packet {
    #[inline]
    fn is_damaged(&self) -> bool {
        self.is_damaged
    }
}

impl Traveller for Ack {
    #[inline]
    fn is_damaged(&self) -> bool {
        self.is_damaged
    }
}

/// One part of a route.
pub enum Stage<P> {
    /// Constant delay.
    Delay(Delay<P>),
    /// A link, by its number.
    Link(u32),
    /// Random delay.
    Jitter(JitterPipe<P>),
    /// Random loss.
    Loss(BernoulliLoss),
}

/// A pipe of constant delay.
pub struct Delay<P> {
    delay: Span,
    /// What the first packet waits beside, while the other end's address is found out; those behind it
    /// wait with it.
    resolution: Span,
    pipe: Pipe<P>,
}

impl<P> Delay<P> {
    pub fn new(delay: Span, resolution: Span) -> Self {
        Delay { delay, resolution, pipe: Pipe::default() }
    }

    /// A packet comes; when it goes on if it is the only one.
    #[inline]
    fn take(&mut self, now: Time, packet: P) -> Option<Time> {
        let at = now + self.delay + std::mem::take(&mut self.resolution);
        let at = at.max(self.pipe.last_out());
        let is_first = self.pipe.is_empty();
        self.pipe.push(at, packet);
        is_first.then_some(at)
    }
}

/// What became of a packet at a stage.
pub enum Passed {
    On,
    Lost,
    /// It is held; when the stage wants to be woken, where that has changed.
    Held(Option<Time>),
    Link(u32),
}

impl<P: Traveller> Stage<P> {
    /// A packet comes.
    #[inline]
    pub fn take(&mut self, now: Time, packet: &P) -> Passed {
        match self {
            Stage::Delay(delay) => Passed::Held(delay.take(now, *packet)),
            Stage::Link(link) => Passed::Link(*link),
            Stage::Jitter(pipe) => {
                let head = pipe.next_wakeup();
                pipe.push(now, *packet);
                Passed::Held(pipe.next_wakeup().filter(|_| pipe.next_wakeup() != head))
            }
            Stage::Loss(loss) => match loss.is_lost() {
                true => Passed::Lost,
                false => Passed::On,
            },
        }
    }

    /// When the next held packet goes on.
    #[inline]
    pub fn next_wakeup(&self) -> Option<Time> {
        match self {
            Stage::Delay(delay) => delay.pipe.next_wakeup(),
            Stage::Jitter(pipe) => pipe.next_wakeup(),
            Stage::Loss(_) | Stage::Link(_) => None,
        }
    }

    /// Takes a held packet that goes on by `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<P> {
        match self {
            Stage::Delay(delay) => delay.pipe.pop(now),
            Stage::Jitter(pipe) => pipe.pop(now),
            Stage::Loss(_) | Stage::Link(_) => None,
        }
    }

    /// Packets held.
    pub fn len(&self) -> usize {
        match self {
            Stage::Delay(delay) => delay.pipe.len(),
            Stage::Jitter(pipe) => pipe.len(),
            Stage::Loss(_) | Stage::Link(_) => 0,
        }
    }
}

/// A flow's way in one direction. It meets each link at most once.
pub struct Route<P> {
    pub stages: Vec<Stage<P>>,
    /// Links with the place behind each.
    pub links: Vec<(u32, usize)>,
    /// Event slot of the first stage; each stage has one.
    pub slot: u32,
}

impl<P> Route<P> {
    /// The place on the route behind a link.
    #[inline]
    pub fn behind(&self, link: u32) -> usize {
        let found = self.links.iter().find(|&&(l, _)| l == link);
        found.expect("a packet leaves a link that is on its route").1
    }
}
