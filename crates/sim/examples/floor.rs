//! `floor [FLOWS] [PACKETS] [LINE]`: what a delivered packet costs at least, part by part.
//!
//! A simulator with this TCP has to do at least this for two packets: three events (the arrival of each packet, and of
//! one acknowledgement); the bytes of two packets and of an acknowledgement written and read; the stamps of two
//! segments written when they are sent and read when they are acknowledged; and the state of both ends and of the
//! controller read and written. The loop below does that with the engine's own event queue and types, and decides
//! nothing: no loss, no pacing, no samples, one window for ever. What the engine takes above it is the price of being TCP.
//!
//! Prints nanoseconds per packet of four loops, each with one part more than the one before; or of one of them, from 0.

use net::packet::TcpAck;
use net::ring::Ring;
use net::{Ack, Packet};
use path::timeline::Timeline;
use std::hint::black_box;
use std::time::Instant;
use units::Time;

/// Packets of each flow on the path, and an ACK for how many of them.
const WINDOW: u32 = 256;
const PER_ACK: u32 = 2;
/// Time that the link takes for a packet, ns (1514 bytes at 1 Gbit/s), and the path one way.
const SPACING_NS: u64 = 12_112;
const DELAY_NS: u64 = 10_000_000;
/// Slots of the event queue: the first packet and the first ACK under way; those of the flows' timers follow.
const DATA: u32 = 0;
const ACKS: u32 = 1;
const TIMERS: u32 = 2;
/// Timers are in the queue and never fire.
const NOT_YET: Time = Time::from_ns(1 << 60);

/// An entry of the retransmission queue: stamps and links.
type Stamps = [u32; 9];
/// Cache lines that an ACK touches of a sender and its controller, and a packet of a receiver.
type Lines<const N: usize> = [[u64; 8]; N];

/// What the loop does beside its events.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Does {
    Events,
    Packets,
    Stamps,
    State,
}

struct Flow {
    sender: Lines<6>,
    receiver: Lines<2>,
    stamps: Vec<Stamps>,
    next: u32,
    unacked: u32,
    received: u32,
}

/// A part of the path with a constant delay: when what is on it arrives, and what that is.
struct Pipe<T> {
    slot: u32,
    due: Ring<(Time, u32)>,
    content: Ring<T>,
}

impl<T: Copy> Pipe<T> {
    fn new(slot: u32) -> Pipe<T> {
        Pipe { slot, due: Ring::default(), content: Ring::default() }
    }

    #[inline]
    fn push(&mut self, at: Time, flow: u32, timeline: &mut Timeline) {
        if self.due.is_empty() {
            timeline.set(self.slot, at);
        }
        self.due.push_back((at, flow));
    }

    #[inline]
    fn pop(&mut self, timeline: &mut Timeline) -> u32 {
        let (_, flow) = self.due.pop_front().expect("an event has something that arrives");
        match self.due.front() {
            Some(&(at, _)) => timeline.set(self.slot, at),
            None => timeline.clear(self.slot),
        }
        flow
    }
}

struct Loop {
    does: Does,
    timeline: Timeline,
    flows: Vec<Flow>,
    data: Pipe<Packet>,
    acks: Pipe<Ack>,
    free_at: u64,
}

impl Loop {
    fn new(does: Does, flows: u32) -> Loop {
        let flow = || Flow {
            sender: Lines::default(),
            receiver: Lines::default(),
            stamps: vec![Stamps::default(); WINDOW as usize],
            next: 0,
            unacked: 0,
            received: 0,
        };
        let mut this = Loop {
            does,
            timeline: Timeline::new((TIMERS + flows) as usize),
            flows: (0..flows).map(|_| flow()).collect(),
            data: Pipe::new(DATA),
            acks: Pipe::new(ACKS),
            free_at: 0,
        };
        [DATA, ACKS].into_iter().for_each(|slot| this.timeline.keep_apart(slot));
        (0..flows).for_each(|i| this.timeline.set(TIMERS + i, NOT_YET));
        // Turn about, so that the flows' packets are mixed on the link.
        for _ in 0..WINDOW {
            (0..flows).for_each(|i| this.send(0, i));
        }
        this
    }

    #[inline(always)]
    fn send(&mut self, now: u64, i: u32) {
        let flow = &mut self.flows[i as usize];
        let seq = flow.next;
        flow.next += 1;
        if self.does >= Does::Stamps {
            flow.stamps[(seq % WINDOW) as usize] =
                [(now / 1000) as u32, seq, seq, seq, 0, 0, WINDOW, seq, seq];
        }
        self.free_at = self.free_at.max(now) + SPACING_NS;
        self.data.push(Time::from_ns(self.free_at + DELAY_NS), i, &mut self.timeline);
        if self.does >= Does::Packets {
            self.data.content.push_back(Packet { flow: i, seq, len: 1448, ..Packet::default() });
        }
    }

    #[inline(always)]
    fn on_packet(&mut self, now: u64) {
        let i = self.data.pop(&mut self.timeline);
        if self.does >= Does::Packets {
            black_box(self.data.content.pop_front());
        }
        let flow = &mut self.flows[i as usize];
        if self.does >= Does::State {
            touch(&mut flow.receiver, now);
        }
        flow.received += 1;
        if flow.received.is_multiple_of(PER_ACK) {
            self.acks.push(Time::from_ns(now + DELAY_NS), i, &mut self.timeline);
            if self.does >= Does::Packets {
                let ack = TcpAck { ack: flow.received, ..TcpAck::default() };
                self.acks.content.push_back(Ack { flow: i, ..Ack::from(ack) });
            }
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, now: u64) {
        let i = self.acks.pop(&mut self.timeline);
        if self.does >= Does::Packets {
            black_box(self.acks.content.pop_front());
        }
        let flow = &mut self.flows[i as usize];
        if self.does >= Does::State {
            touch(&mut flow.sender, now);
        }
        for _ in 0..PER_ACK {
            if self.does >= Does::Stamps {
                black_box(flow.stamps[(flow.unacked % WINDOW) as usize]);
            }
            flow.unacked += 1;
        }
        (0..PER_ACK).for_each(|_| self.send(now, i));
    }

    /// Nanoseconds per packet.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    fn run(mut self, packets: u64) -> f64 {
        let start = Instant::now();
        let mut delivered = 0;
        while delivered < packets {
            let (now, slot) = self.timeline.advance().expect("the window never empties");
            if slot == DATA {
                self.on_packet(now.as_ns());
                delivered += 1;
            } else {
                self.on_ack(now.as_ns());
            }
        }
        start.elapsed().as_nanos() as f64 / packets as f64
    }
}

/// One word of each cache line read and written.
#[inline(always)]
fn touch<const N: usize>(lines: &mut Lines<N>, now: u64) {
    lines.iter_mut().for_each(|line| line[0] = black_box(line[0] ^ now));
}

fn main() {
    let mut args =
        std::env::args().skip(1).map(|word| word.parse().expect("FLOWS and PACKETS are numbers"));
    let flows = args.next().unwrap_or(2);
    let packets = args.next().unwrap_or(20_000_000);
    let line = args.next();
    let parts = [
        (Does::Events, "events"),
        (Does::Packets, "and the bytes of packets and ACKs"),
        (Does::Stamps, "and the stamps of segments"),
        (Does::State, "and the state of both ends"),
    ];
    for (i, (does, name)) in parts.into_iter().enumerate() {
        if line.is_some_and(|line| line != i as u64) {
            continue;
        }
        let ns = Loop::new(does, flows as u32).run(packets);
        println!("{ns:8.2} ns  {name}");
    }
}
