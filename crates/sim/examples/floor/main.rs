//! `floor FLOWS CCA[,CCA] MBPS RTT_US PACKETS LINE`: what a delivered packet costs at least, part by part.
//!
//! A simulator with this TCP has to do at least this for two packets: three events (the arrival of each packet, and of
//! one acknowledgement); the bytes of two packets and of an acknowledgement written and read; the stamps of two
//! segments written when they are sent and read when they are acknowledged; the state of both ends read and written; a
//! rate sample, and a call of the controller. The loop below does that with the engine's own event queue and types, and
//! decides nothing: no loss, no pacing, one window for ever, whatever the controller says. The last line has the engine's
//! own TCP at both ends ([`tcp`]).
//!
//! Prints nanoseconds per packet of one of six loops (LINE, from 0), each with one part more than the one before.
//! Flows take the controllers in turn, and share a link of MBPS; as much as two BDPs is under way.

mod rates;
mod tcp;

use crate::rates::Rates;
use cca::{Controller, Module};
use net::packet::TcpAck;
use net::ring::Ring;
use net::{Ack, Packet};
use path::timeline::Timeline;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;
use units::Time;

/// An ACK for how many packets.
const PER_ACK: u32 = 2;
/// A frame of 1,448 bytes of payload, as the link counts it.
const FRAME_BITS: u64 = 1514 * 8;
/// No flow has a smaller window, in segments.
const WINDOW_MIN: u64 = 4;
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
    Controller,
}

/// The path of both loops, and who sends on it.
struct Path {
    ccas: Vec<String>,
    flows: u32,
    /// Time that the link takes for a packet, ns.
    spacing_ns: u64,
    /// One way, ns.
    delay_ns: u64,
    /// Segments that each flow has under way.
    window: u32,
}

impl Path {
    fn new(flows: u32, ccas: &str, mbps: u64, rtt_us: u64) -> Path {
        let spacing_ns = FRAME_BITS * 1_000 / mbps;
        let delay_ns = rtt_us * 1_000 / 2;
        let window = 2 * 2 * delay_ns / spacing_ns / u64::from(flows);
        Path {
            ccas: ccas.split(',').map(str::to_owned).collect(),
            flows,
            spacing_ns,
            delay_ns,
            window: window.max(WINDOW_MIN) as u32,
        }
    }

    /// The controller of flow `i`.
    fn controller(&self, i: u32) -> Controller {
        let name = &self.ccas[i as usize % self.ccas.len()];
        let module = Module::find(name).unwrap_or_else(|| panic!("no controller is called {name}"));
        Controller::new(module, &BTreeMap::new()).expect("its defaults")
    }
}

struct Flow {
    sender: Lines<6>,
    receiver: Lines<2>,
    stamps: Vec<Stamps>,
    next: u32,
    unacked: u32,
    received: u32,
    rates: Rates,
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
    path: Path,
    timeline: Timeline,
    flows: Vec<Flow>,
    data: Pipe<Packet>,
    acks: Pipe<Ack>,
    free_at: u64,
}

impl Loop {
    fn new(does: Does, path: Path) -> Loop {
        let flow = |i| Flow {
            sender: Lines::default(),
            receiver: Lines::default(),
            stamps: vec![Stamps::default(); path.window as usize],
            next: 0,
            unacked: 0,
            received: 0,
            rates: Rates::new(path.controller(i), i, path.window),
        };
        let flows = path.flows;
        let mut this = Loop {
            does,
            timeline: Timeline::new((TIMERS + flows) as usize),
            flows: (0..flows).map(flow).collect(),
            data: Pipe::new(DATA),
            acks: Pipe::new(ACKS),
            free_at: 0,
            path,
        };
        [DATA, ACKS].into_iter().for_each(|slot| this.timeline.keep_apart(slot));
        (0..flows).for_each(|i| this.timeline.set(TIMERS + i, NOT_YET));
        // Turn about, so that the flows' packets are mixed on the link.
        for _ in 0..this.path.window {
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
            flow.stamps[(seq % self.path.window) as usize] =
                [(now / 1000) as u32, seq, seq, seq, 0, 0, seq, seq, seq];
        }
        if self.does >= Does::Controller {
            flow.rates.on_sent(seq);
        }
        self.free_at = self.free_at.max(now) + self.path.spacing_ns;
        let at = Time::from_ns(self.free_at + self.path.delay_ns);
        self.data.push(at, i, &mut self.timeline);
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
            self.acks.push(Time::from_ns(now + self.path.delay_ns), i, &mut self.timeline);
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
                black_box(flow.stamps[(flow.unacked % self.path.window) as usize]);
            }
            flow.unacked += 1;
        }
        if self.does >= Does::Controller {
            flow.rates.on_ack(Time::from_ns(now), flow.unacked, PER_ACK);
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
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [flows, ccas, mbps, rtt_us, packets, line] = &args[..] else {
        panic!("usage: floor FLOWS CCA[,CCA] MBPS RTT_US PACKETS LINE");
    };
    let number = |word: &String| -> u64 { word.parse().expect("all but CCA are numbers") };
    let path = Path::new(number(flows) as u32, ccas, number(mbps), number(rtt_us));
    let loops =
        [Does::Events, Does::Packets, Does::Stamps, Does::State, Does::Controller].map(Some);
    let ns = match loops.get(number(line) as usize).copied().flatten() {
        Some(does) => Loop::new(does, path).run(number(packets)),
        None => tcp::Ends::new(path).run(number(packets)),
    };
    println!("{ns:.2}");
}
