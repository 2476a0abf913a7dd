//! The flows of a run: their state, which the threads share, and their schedule.

use crate::clock::Clock;
use crate::memory::TcpMemory;
use crate::EmuError;
use path::plan::Plan;
use record::Watch;
use std::cmp::Reverse;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::Arc;
use units::{Span, Time};

/// How often the caller is asked whether to go on.
const TICK: Span = Span::from_ms(50);

/// Reports how far the run is (ns, data packets delivered); `false` stops it.
pub type Progress<'a> = dyn FnMut(u64, u64) -> bool + 'a;

/// State of a run that its threads share.
#[derive(Debug)]
pub struct RunState {
    /// Ends the loop.
    pub stop: AtomicBool,
    /// Frames with data that reached a receiver.
    pub delivered: AtomicU64,
    pub flows: Vec<FlowState>,
    /// Who watches the run.
    pub watch: Option<Watch>,
}

/// State of one flow.
#[derive(Debug, Default)]
pub struct FlowState {
    /// The flow was stopped: its data is dropped from now on.
    pub is_closed: AtomicBool,
    /// Payload that its receiver has in order, bytes.
    pub delivered_bytes: AtomicU64,
    /// A finite transfer has arrived.
    pub is_completed: AtomicBool,
}

impl RunState {
    pub fn new(flows: usize) -> Arc<RunState> {
        RunState::watched(flows, None)
    }

    /// As [`RunState::new`], with somebody who watches the run.
    pub fn watched(flows: usize, watch: Option<Watch>) -> Arc<RunState> {
        Arc::new(RunState {
            stop: AtomicBool::new(false),
            delivered: AtomicU64::new(0),
            flows: (0..flows).map(|_| FlowState::default()).collect(),
            watch,
        })
    }
}

impl FlowState {
    /// Whether it was stopped or its transfer has arrived.
    pub fn is_over(&self) -> bool {
        self.is_closed.load(Relaxed) || self.is_completed.load(Relaxed)
    }
}

/// The program that sends the data of a flow.
pub trait Client {
    /// Opens the connection.
    fn start(&mut self);
    /// Closes it.
    fn stop(&self);
    /// Whether the program has ended.
    fn has_ended(&mut self) -> bool;
}

impl<T: Client + ?Sized> Client for Box<T> {
    fn start(&mut self) {
        (**self).start();
    }

    fn stop(&self) {
        (**self).stop();
    }

    fn has_ended(&mut self) -> bool {
        (**self).has_ended()
    }
}

/// A flow that was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    pub flow: usize,
    pub at: Time,
    /// What its receiver had then, bytes.
    pub delivered_bytes: u64,
}

/// Starts and stops flows at their times.
pub struct FlowSchedule<'a, C, T> {
    plan: &'a Plan,
    clock: C,
    clients: Vec<T>,
    state: Arc<RunState>,
    stopped: Vec<Stopped>,
    memory: TcpMemory,
}

impl<'a, C: Clock, T: Client> FlowSchedule<'a, C, T> {
    /// The schedule of `plan` for these clients, one for each flow.
    pub fn new(plan: &'a Plan, clock: C, clients: Vec<T>, state: Arc<RunState>) -> Self {
        FlowSchedule { plan, clock, clients, state, stopped: Vec::new(), memory: TcpMemory::new() }
    }

    /// Returns at the end of the run, or of its path; until then starts and stops flows.
    ///
    /// # Errors
    /// When `progress` says stop.
    pub fn run(&mut self, progress: &mut Progress<'_>) -> Result<(), EmuError> {
        let mut changes = self.changes();
        let end = Time::from_ns(self.plan.duration_ns);
        loop {
            let now = self.clock.now();
            while let Some(&Reverse(due)) = changes.last().filter(|next| next.0.at <= now) {
                changes.pop();
                match due.is_start {
                    true => self.clients[due.flow].start(),
                    false => self.stop(now, due.flow),
                }
            }
            self.memory.look(now);
            if now >= end || self.state.stop.load(Relaxed) {
                return Ok(());
            }
            if !progress(now.as_ns(), self.state.delivered.load(Relaxed)) {
                return Err(EmuError::Stopped);
            }
            let next = changes.last().map_or(end, |next| next.0.at);
            self.clock.sleep_until(next.min(now + TICK).min(end));
        }
    }

    /// Starts and stops, the last first.
    fn changes(&self) -> Vec<Reverse<Change>> {
        let flows = self.plan.flows.iter().enumerate();
        let mut changes: Vec<_> = flows
            .flat_map(|(flow, planned)| {
                let change = |ns, is_start| Change { at: Time::from_ns(ns), flow, is_start };
                [change(planned.start_ns, true), change(planned.stop_ns, false)].map(Reverse)
            })
            .collect();
        changes.sort_unstable();
        changes
    }

    fn stop(&mut self, now: Time, flow: usize) {
        let state = &self.state.flows[flow];
        if !state.is_completed.load(Relaxed) {
            state.is_closed.store(true, Relaxed);
            let delivered_bytes = state.delivered_bytes.load(Relaxed);
            self.stopped.push(Stopped { flow, at: now, delivered_bytes });
            self.clients[flow].stop();
        }
    }

    /// What the result must say: clients that ended too early, and whether the kernel was short of memory.
    pub fn warnings(&mut self) -> Vec<String> {
        let mut out = Vec::new();
        for (i, client) in self.clients.iter_mut().enumerate() {
            if !self.state.flows[i].is_over() && client.has_ended() {
                out.push(format!(
                    "flow {i}: its client ended before its time; traffic/{i}.json says why"
                ));
            }
        }
        out.extend(self.memory.warning());
        out
    }

    /// The flows that were stopped; ends all clients.
    pub fn finish(self) -> Vec<Stopped> {
        self.stopped
    }
}

/// A flow starts or stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    at: Time,
    flow: usize,
    is_start: bool,
}

#[cfg(test)]
mod tests;
