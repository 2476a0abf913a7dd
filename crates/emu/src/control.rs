//! iperf3's control connections, which bypass the path.
//!
//! Nothing delays them until their flow has sent its SYN, so that flows start on time. From then on what the server
//! says takes the delay of the way back: iperf3's client waits for the server's word before it sends data, so on a
//! real path data leave a round trip after the connection is open, when the greeting of [37
//! bytes](path::plan::Traffic) is acknowledged. Without that delay they would leave earlier, and the first
//! rounds of HyStart would differ.

use crate::tun::Direction;
use path::plan::Plan;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Span, Time};

/// Frames of servers on their way to their clients, by the time of their arrival.
#[derive(Debug)]
pub struct ControlBypass {
    /// One-way delays of the flows.
    delays: Vec<Span>,
    /// (arrival, number among all frames, goes back, buffer).
    frames: BinaryHeap<Reverse<(Time, u64, bool, u32)>>,
    entered: u64,
}

impl ControlBypass {
    pub fn new(plan: &Plan) -> ControlBypass {
        let back = |flow: &path::plan::Flow| Span::from_ns(flow.rtt_ns - flow.rtt_ns / 2);
        let delays = plan.flows.iter().map(back).collect();
        ControlBypass { delays, frames: BinaryHeap::new(), entered: 0 }
    }

    /// Takes a frame of a flow's server, which goes in this direction.
    pub fn push(&mut self, now: Time, flow: usize, direction: Direction, buffer: u32) {
        let is_back = direction == Direction::Back;
        self.frames.push(Reverse((now + self.delays[flow], self.entered, is_back, buffer)));
        self.entered += 1;
    }

    /// When the next frame arrives.
    pub fn next_at(&self) -> Option<Time> {
        self.frames.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next frame that has arrived by `now`, and where it goes.
    pub fn pop(&mut self, now: Time) -> Option<(Direction, u32)> {
        self.next_at().filter(|&at| at <= now)?;
        let Reverse((.., is_back, buffer)) = self.frames.pop()?;
        Some((if is_back { Direction::Back } else { Direction::Forward }, buffer))
    }
}
