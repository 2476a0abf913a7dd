//! Series of probes in the event loop: when one is sent, and what becomes of it.

use super::World;
use crate::traffic::{Came, Traffic};

impl<T: Traffic> World<T> {
    /// A series of probes sends one.
    pub(super) fn on_probe_due(&mut self, i: usize, slot: u32) {
        let prober = &mut self.probers[i];
        let (probe, next) = prober.ask(self.shared.now);
        let goes_up = prober.is_up;
        match next {
            Some(at) => self.shared.timeline.set(slot, at),
            None => self.shared.timeline.clear(slot),
        }
        self.shared.send_probe(probe, goes_up);
    }

    pub(super) fn on_probe(&mut self, probe: net::crossing::Probe) {
        let prober = &mut self.probers[probe.flow as usize - self.flows.len()];
        let goes_up = !prober.is_up;
        if let Some(answer) = prober.on_arrival(self.shared.now, probe) {
            self.shared.send_probe(answer, goes_up);
        }
    }

    /// The run ends: a probe that the path still has is not lost.
    pub(super) fn note_probes_under_way(&mut self) {
        let (n, probers) = (self.flows.len(), &mut self.probers);
        let mut note = |came: Came<'_>| {
            if let Came::Probe(probe) = came {
                probers[probe.flow as usize - n].log.on_held(probe.number);
            }
        };
        self.shared.down.for_each_held(|packet| note(T::came_down(packet)));
        self.shared.up.for_each_held(|packet| note(T::came_up(packet)));
    }
}
