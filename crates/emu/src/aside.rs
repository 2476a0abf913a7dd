//! What goes past the path: iperf3's control connections.
//!
//! Nothing holds them up until their flow has sent its SYN, so that flows start when they should. From then on
//! what the server says takes the way back's delay: iperf3's client waits for its word before it sends data, so
//! on a real path data leave a round trip after the connection is open, when the greeting of [37
//! bytes](path::plan::Traffic) is acknowledged. Without that delay they would leave before, and HyStart's first
//! rounds would be others.

use path::plan::Plan;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Span, Time};

/// Frames on their way, by the time of their arrival.
#[derive(Debug)]
pub struct Aside {
    /// One-way delays of the flows.
    delays: Vec<Span>,
    /// (when it arrives, its turn among those of that time, its buffer).
    frames: BinaryHeap<Reverse<(Time, u64, u32)>>,
    turn: u64,
}

impl Aside {
    pub fn new(plan: &Plan) -> Aside {
        let back = |flow: &path::plan::Flow| Span::from_ns(flow.rtt_ns - flow.rtt_ns / 2);
        let delays = plan.flows.iter().map(back).collect();
        Aside { delays, frames: BinaryHeap::new(), turn: 0 }
    }

    /// A frame of a flow's server enters.
    pub fn enter(&mut self, now: Time, flow: usize, buffer: u32) {
        self.frames.push(Reverse((now + self.delays[flow], self.turn, buffer)));
        self.turn += 1;
    }

    /// When the next one arrives.
    pub fn next_at(&self) -> Option<Time> {
        self.frames.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next one that has arrived.
    pub fn arrived(&mut self, now: Time) -> Option<u32> {
        self.next_at().filter(|&at| at <= now)?;
        self.frames.pop().map(|Reverse((.., buffer))| buffer)
    }
}
