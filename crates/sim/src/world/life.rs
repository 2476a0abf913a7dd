//! Flows in the event loop: when they open, what their applications write, and when they end.

use super::World;
use crate::flow::Life;
use crate::source::Source;
use crate::traffic::Traffic;

impl<T: Traffic> World<T> {
    /// The application writes, sends a request, or receives one.
    pub(super) fn on_app(&mut self, i: usize, slot: u32) {
        self.timeline.clear(slot);
        while let Some(app) = &mut self.flows[i].app {
            if app.next_wakeup().is_none_or(|at| at > self.now) {
                break;
            }
            if let Some(write) = app.on_wakeup(self.now) {
                self.flows[i].ends.supply(self.now, write);
                self.depart(i);
            }
        }
        self.arm_app(i);
        self.after_sender(i);
    }

    pub(super) fn arm_app(&mut self, i: usize) {
        let Some(app) = &self.flows[i].app else { return };
        let slot = self.slots.slot(Source::App(i));
        match app.next_wakeup() {
            Some(at) if self.flows[i].is_running() => self.timeline.set(slot, at.max(self.now)),
            _ => self.timeline.clear(slot),
        }
    }

    /// The flow opens, or its application closes.
    pub(super) fn on_life(&mut self, i: usize, slot: u32) {
        match self.flows[i].life {
            Life::Waiting => {
                self.flows[i].life = Life::Running;
                self.probe.flow_start(self.now, i);
                self.flows[i].ends.start(self.now);
                self.depart(i);
                self.after_sender(i);
                let stop = self.flows[i].stop;
                if stop < self.end {
                    self.timeline.set(slot, stop);
                } else {
                    self.timeline.clear(slot);
                }
            }
            Life::Running => {
                self.timeline.clear(slot);
                self.end_flow(i, false);
            }
            Life::Ended { .. } => self.timeline.clear(slot),
        }
    }

    pub(super) fn end_flow(&mut self, i: usize, completed: bool) {
        let flow = &mut self.flows[i];
        flow.goodput_at_end = flow.ends.delivered_bytes();
        self.probe.flow_end(self.now, i, flow, completed);
        flow.life = Life::Ended { at: self.now, completed };
        flow.ends.stop();
        self.timeline.clear(self.slots.slot(Source::Life(i)));
        self.timeline.clear(self.slots.slot(Source::App(i)));
    }
}
