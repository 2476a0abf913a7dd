//! A series of probes: requests at regular times, and what became of each.

use net::crossing::Probe;
use path::plan;
use record::ProbeRow;
use units::{Span, Time};

/// When a request was sent, reached the other end, and was answered.
struct Sent {
    at: Time,
    there: Option<Time>,
    back: Option<Time>,
}

/// See the module documentation.
pub struct Prober {
    /// Index of its route.
    flow: u32,
    pub is_up: bool,
    pub start: Time,
    stop: Time,
    every: Span,
    sent: Vec<Sent>,
}

impl Prober {
    pub fn new(plan: &plan::Probe, flow: usize) -> Prober {
        let count = (plan.stop_ns - plan.start_ns).div_ceil(plan.every_ns);
        Prober {
            flow: flow as u32,
            is_up: plan.direction == plan::Direction::Up,
            start: Time::from_ns(plan.start_ns),
            stop: Time::from_ns(plan.stop_ns),
            every: Span::from_ns(plan.every_ns),
            sent: Vec::with_capacity(count as usize),
        }
    }

    /// The request that leaves now, and when the next one does.
    pub fn ask(&mut self, now: Time) -> (Probe, Option<Time>) {
        let number = self.sent.len() as u32;
        self.sent.push(Sent { at: now, there: None, back: None });
        let next = Some(now + self.every).filter(|&at| at < self.stop);
        (Probe { flow: self.flow, number, is_answer: false, is_damaged: false }, next)
    }

    /// A packet arrives; the answer, if it is a request. Of copies the first counts.
    pub fn on_arrival(&mut self, now: Time, probe: Probe) -> Option<Probe> {
        let sent = &mut self.sent[probe.number as usize];
        if probe.is_answer {
            sent.back.get_or_insert(now);
            return None;
        }
        sent.there.get_or_insert(now);
        Some(Probe { is_answer: true, ..probe })
    }

    /// The rows of this series, which has this number.
    pub fn rows(&self, number: i32) -> impl Iterator<Item = ProbeRow> + '_ {
        let us = |from: Time, to: Time| to.since(from).as_us() as i64;
        self.sent.iter().map(move |sent| ProbeRow {
            probe: number,
            sent_us: sent.at.as_us() as i64,
            there_us: sent.there.map(|at| us(sent.at, at)),
            rtt_us: sent.back.map(|at| us(sent.at, at)),
        })
    }
}
