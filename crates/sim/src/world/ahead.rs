//! With thousands of flows an event waits for memory most of its time: each flow has kilobytes of state, which has left the
//! cache since its last packet. So what the coming events need is asked for while others run, in three steps, since
//! some of it is only found through the rest. The event queue tells what comes soon, and the queue of a link which packets
//! leave it next; these packets themselves are asked for before the first step.

use super::World;
use crate::source::Source;
use crate::traffic::{Came, Traffic};
use path::network::Network;
use path::route::PathPacket;
use units::Time;

/// From this many flows on; below it their state stays in the cache of the processor's core.
pub(super) const MANY_FLOWS: usize = 256;

/// How many packets ahead of the next one of a link each step is.
const STEPS: [usize; 3] = [4, 10, 16];

/// How many packets ahead it is that a packet itself is asked for: the last of the steps reads it.
const PACKET: usize = 24;

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

    /// Looks at the packets that leave the link or line of this slot next.
    fn look_along(&self, slot: u32) {
        match self.shared.slots.source(slot) {
            Source::Down(_) => {
                self.look_along_way(&self.shared.down, slot, From::Down, T::came_down)
            }
            Source::Up(_) => self.look_along_way(&self.shared.up, slot, From::Up, T::came_up),
            _ => {}
        }
    }

    /// Packets leave a link or a line in the order in which they came.
    #[inline(always)]
    fn look_along_way<P: PathPacket>(
        &self,
        way: &Network<P>,
        slot: u32,
        from: From,
        came: impl Fn(&P) -> Came<'_>,
    ) {
        let arrives = !way.leads_to_links(slot);
        way.fetch_leaving(slot, PACKET);
        for (step, k) in STEPS.into_iter().enumerate() {
            let Some((at, packet)) = way.leaving(slot, k) else { return };
            let flow = packet.flow() as usize;
            if flow >= self.flows.len() {
                return;
            }
            if arrives {
                let answers_down = matches!(from, From::Up);
                let data = time_on_path(at, came(packet));
                self.fetch(Coming { flow, data, answers_down, slot, from }, step);
            } else if step == 2 {
                way.fetch_route(flow);
            }
            if step == 1 {
                way.fetch_behind(slot, flow);
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
            Source::Life(_) | Source::App(_) | Source::Probe(_) => return None,
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
        self.shared.timeline.fetch_slot(self.shared.slots.slot(Source::Sender(coming.flow)));
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
        let flow = &self.flows[coming.flow];
        match coming.data {
            Some(time) => {
                flow.one_way.fetch(time);
                flow.ends.fetch_out_of_order();
            }
            None => flow.ends.fetch_queues(),
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
