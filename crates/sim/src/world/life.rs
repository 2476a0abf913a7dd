//! Flows in the event loop: when they open, what their applications write, and when they end.

use super::shared::Shared;
use crate::application::Action;
use crate::flow::{Flow, Life};
use crate::source::Source;
use crate::traffic::Traffic;

impl<T: Traffic> Shared<T> {
    /// The application writes, sends a request, or receives one.
    pub(super) fn on_app(&mut self, i: usize, flow: &mut Flow, slot: u32) {
        self.timeline.clear(slot);
        while let Some(app) = &mut flow.app {
            if app.next_wakeup().is_none_or(|at| at > self.now) {
                break;
            }
            match app.on_wakeup(self.now) {
                Action::Write(write) => {
                    flow.ends.supply(self.now, write);
                    self.depart(i, flow);
                }
                Action::Ask => {
                    let again = flow.ends.ask(self.now, &mut self.acks);
                    app.on_asked(self.now, again);
                    self.after_receiver(i, flow);
                }
                Action::Nothing => {}
            }
        }
        self.arm_app(i, flow);
        self.after_sender(i, flow);
    }

    /// A request has reached the sender. It counts if the whole answer to the one before is acknowledged: an older one that
    /// was sent again tells nothing new.
    #[cold]
    pub(super) fn on_request(&mut self, i: usize, flow: &mut Flow) {
        let is_new = flow.ends.is_all_acknowledged();
        if let Some(app) = flow.app.as_mut().filter(|app| is_new && app.awaits_request()) {
            app.answer(self.now);
            self.arm_app(i, flow);
        }
    }

    pub(super) fn arm_app(&mut self, i: usize, flow: &Flow) {
        let Some(app) = &flow.app else { return };
        let slot = self.slots.slot(Source::App(i));
        match app.next_wakeup() {
            Some(at) if flow.is_running() => self.timeline.set(slot, at.max(self.now)),
            _ => self.timeline.clear(slot),
        }
    }

    /// The flow opens, or its application closes.
    pub(super) fn on_life(&mut self, i: usize, flow: &mut Flow, slot: u32) {
        match flow.life {
            Life::Waiting => {
                flow.life = Life::Running;
                self.probe.flow_start(self.now, i);
                flow.ends.start(self.now);
                self.depart(i, flow);
                self.after_sender(i, flow);
                if flow.stop < self.end {
                    self.timeline.set(slot, flow.stop);
                } else {
                    self.timeline.clear(slot);
                }
            }
            Life::Running => {
                self.timeline.clear(slot);
                self.end_flow(i, flow, false);
            }
            Life::Ended { .. } => self.timeline.clear(slot),
        }
    }

    pub(super) fn end_flow(&mut self, i: usize, flow: &mut Flow, completed: bool) {
        flow.goodput_at_end = flow.received_bytes();
        flow.acks_at_end = flow.ends.acks_sent();
        self.probe.flow_end(self.now, i, flow, completed);
        flow.life = Life::Ended { at: self.now, completed };
        flow.ends.stop();
        self.timeline.clear(self.slots.slot(Source::Life(i)));
        self.timeline.clear(self.slots.slot(Source::App(i)));
    }
}
