//! With thousands of flows an event waits for memory most of its time: each flow has kilobytes of state, which has left the
//! cache since its last packet. So what the coming events need is asked for while others run, in three steps, since
//! some of it is only found through the rest. The event queue tells what comes soon, and the queue of a link which packets
//! leave it next.

use super::World;
use crate::source::Source;
use crate::traffic::{Came, Traffic};
use net::Frame;
use units::Time;

/// From this many flows on; below it their state stays in the cache of the processor's core.
pub(super) const MANY_FLOWS: usize = 256;

/// How many packets ahead of the next one of a link each step is.
const STEPS: [usize; 3] = [4, 10, 16];

/// What an event will do with a flow.
#[derive(Clone, Copy)]
struct Coming {
    flow: usize,
    /// Its receiver gets data, after this time on the path, us; `None`: its sender gets an acknowledgement, or a timer fires.
    data: Option<u32>,
    /// The answer goes down.
    answers_down: bool,
    /// Event slot of what the packet comes out of, on the way down or up.
    slot: u32,
    from: From,
}

#[derive(Clone, Copy)]
enum From {
    Down,
    Up,
    Timer,
}

impl<T: Traffic> World<T> {
    /// Asks for the memory of what comes soon, once the event of this slot is over.
    #[inline(never)]
    pub(super) fn look_ahead(&mut self, slot: u32) {
        self.look_along(slot);
        let coming = self.shared.timeline.coming();
        for (step, slot) in coming.into_iter().enumerate() {
            if let Some(coming) = slot.and_then(|slot| self.foresee(slot, step)) {
                self.fetch(coming, step);
            }
        }
    }

    /// Packets leave a link or a line in the order in which they came.
    fn look_along(&self, slot: u32) {
        let arrives = match self.shared.slots.source(slot) {
            Source::Down(_) => !self.shared.down.leads_to_links(slot),
            Source::Up(_) => !self.shared.up.leads_to_links(slot),
            _ => return,
        };
        for (step, k) in STEPS.into_iter().enumerate() {
            let coming = match self.shared.slots.source(slot) {
                Source::Down(_) => self.shared.down.leaving(slot, k).map(|(at, packet)| {
                    let (flow, came) = (packet.flow() as usize, T::came_down(packet));
                    let data = time_on_path(at, came);
                    Coming { flow, data, answers_down: false, slot, from: From::Down }
                }),
                Source::Up(_) => self.shared.up.leaving(slot, k).map(|(at, packet)| {
                    let (flow, came) = (packet.flow() as usize, T::came_up(packet));
                    let data = time_on_path(at, came);
                    Coming { flow, data, answers_down: true, slot, from: From::Up }
                }),
                _ => None,
            };
            let Some(coming) = coming.filter(|coming| coming.flow < self.flows.len()) else {
                return;
            };
            match step {
                _ if arrives => self.fetch(coming, step),
                2 => match coming.from {
                    From::Down => self.shared.down.fetch_route(coming.flow),
                    From::Up => self.shared.up.fetch_route(coming.flow),
                    From::Timer => {}
                },
                _ => {}
            }
            if step == 1 {
                match coming.from {
                    From::Down => self.shared.down.fetch_behind(slot, coming.flow),
                    From::Up => self.shared.up.fetch_behind(slot, coming.flow),
                    From::Timer => {}
                }
            }
        }
    }

    /// What the event of a slot will do. Only the last step knows the packet.
    #[inline]
    fn foresee(&self, slot: u32, step: usize) -> Option<Coming> {
        // At the first step the flow is not there yet, and need not be known.
        let is_up = |flow: usize| {
            T::RECORDS_UP && step < 2 && self.flows.get(flow).is_some_and(|flow| flow.is_up)
        };
        let (flow, data, answers_down, from) = match self.shared.slots.source(slot) {
            Source::Down(_) => {
                let flow = self.shared.down.owner(slot)? as usize;
                let data = match self.shared.down.head(slot) {
                    Some((at, packet)) if step == 0 => time_on_path(*at, T::came_down(packet)),
                    _ => (!is_up(flow)).then_some(0),
                };
                (flow, data, false, From::Down)
            }
            Source::Up(_) => {
                let flow = self.shared.up.owner(slot)? as usize;
                let data = match self.shared.up.head(slot) {
                    Some((at, packet)) if step == 0 => time_on_path(*at, T::came_up(packet)),
                    _ => is_up(flow).then_some(0),
                };
                (flow, data, true, From::Up)
            }
            Source::Sender(flow) => (flow, None, !is_up(flow), From::Timer),
            Source::Receiver(flow) => (flow, Some(0), is_up(flow), From::Timer),
            Source::Life(_) | Source::App(_) | Source::Sampler | Source::Probe(_) => return None,
        };
        (flow < self.flows.len()).then_some(Coming { flow, data, answers_down, slot, from })
    }

    #[inline]
    fn fetch(&self, coming: Coming, step: usize) {
        match step {
            0 => self.fetch_last(coming),
            1 => self.fetch_ends(coming),
            _ => self.fetch_numbered(coming),
        }
    }

    /// First what is found by the number of the flow or slot.
    fn fetch_numbered(&self, coming: Coming) {
        self.flows[coming.flow].fetch();
        self.shared.down.fetch_route(coming.flow);
        self.shared.up.fetch_route(coming.flow);
        match coming.from {
            From::Down => self.shared.down.fetch_stage(coming.slot),
            From::Up => self.shared.up.fetch_stage(coming.slot),
            From::Timer => {}
        }
    }

    /// Then what is found through that.
    fn fetch_ends(&self, coming: Coming) {
        let flow = coming.flow;
        match coming.from {
            From::Down => self.shared.down.fetch_head(coming.slot),
            From::Up => self.shared.up.fetch_head(coming.slot),
            From::Timer => {}
        }
        let first_slot = if coming.answers_down {
            self.shared.down.fetch_first_stage(flow);
            self.shared.down.first_slot(flow)
        } else {
            self.shared.up.fetch_first_stage(flow);
            self.shared.up.first_slot(flow)
        };
        first_slot.into_iter().for_each(|slot| self.shared.timeline.fetch_slot(slot));
        if coming.data.is_some() {
            self.flows[flow].ends.fetch_receiver();
        } else {
            self.flows[flow].ends.fetch_sender();
        }
    }

    /// At last what is found through that, again.
    fn fetch_last(&self, coming: Coming) {
        match coming.data {
            Some(time) => self.flows[coming.flow].one_way.fetch(time),
            None => self.flows[coming.flow].ends.fetch_queues(),
        }
    }
}

/// How long data will have been on the path when it arrives, us.
#[inline]
fn time_on_path(at: Time, came: Came<'_>) -> Option<u32> {
    match came {
        Came::Data(packet) => Some((at.as_us() as u32).wrapping_sub(packet.sent_us)),
        Came::Ack(_) | Came::Probe(_) => None,
    }
}
