//! A series of probes: requests at regular times, and what became of each.

use net::crossing::Probe;
use path::plan;
use path::probes::ProbeLog;
use units::{Span, Time};

/// Probes for which there is room from the start, at most.
const PROBES_AT_FIRST: u64 = 1 << 20;

/// See the module documentation.
pub struct Prober {
    /// Index of its route.
    flow: u32,
    pub is_up: bool,
    pub start: Time,
    stop: Time,
    every: Span,
    pub log: ProbeLog,
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
            // One that asks for more comes to the limit of memory first, or grows.
            log: ProbeLog::with_capacity(count.min(PROBES_AT_FIRST) as usize),
        }
    }

    /// The request that leaves now, and when the next one does.
    pub fn ask(&mut self, now: Time) -> (Probe, Option<Time>) {
        let number = self.log.on_sent(now);
        let next = Some(now + self.every).filter(|&at| at < self.stop);
        (Probe { flow: self.flow, number, is_answer: false, is_damaged: false }, next)
    }

    /// A packet arrives; the answer, if it is a request.
    pub fn on_arrival(&mut self, now: Time, probe: Probe) -> Option<Probe> {
        if probe.is_answer {
            self.log.on_back(now, probe.number);
            return None;
        }
        self.log.on_there(now, probe.number);
        self.log.on_answer(probe.number);
        Some(Probe { is_answer: true, ..probe })
    }
}
