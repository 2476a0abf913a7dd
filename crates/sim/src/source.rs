//! Who may be woken, and the slot of each in the event queue.

/// Slots of the hosts of a flow.
const HOSTS: u32 = 4;

/// A source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The timers of a flow's sender, and its host's queue.
    Sender(usize),
    /// The timers of a flow's receiver.
    Receiver(usize),
    /// A flow opens or is closed.
    Life(usize),
    /// A flow's application writes or asks.
    App(usize),
    /// A part of the way down, by its number there.
    Down(u32),
    /// A part of the way up.
    Up(u32),
    /// A sample is due.
    Sampler,
}

/// Where the slots of the networks and the sampler begin; those of the flows' hosts come first.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    down: u32,
    up: u32,
    sampler: u32,
}

impl Slots {
    /// Slots of `flows` flows and of networks with this many parts each.
    pub fn new(flows: usize, down_parts: u32, up_parts: u32) -> Slots {
        let down = Slots::down_base(flows);
        let up = down + down_parts;
        Slots { down, up, sampler: up + up_parts }
    }

    /// First slot of the way down; that of the way up follows its last one.
    pub fn down_base(flows: usize) -> u32 {
        flows as u32 * HOSTS
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sampler as usize + 1
    }

    /// The slot of a source.
    #[inline]
    pub fn slot(&self, source: Source) -> u32 {
        match source {
            Source::Sender(flow) => flow as u32 * HOSTS,
            Source::Receiver(flow) => flow as u32 * HOSTS + 1,
            Source::Life(flow) => flow as u32 * HOSTS + 2,
            Source::App(flow) => flow as u32 * HOSTS + 3,
            Source::Down(part) => self.down + part,
            Source::Up(part) => self.up + part,
            Source::Sampler => self.sampler,
        }
    }

    /// The source that has this slot.
    #[inline]
    pub fn source(&self, slot: u32) -> Source {
        if slot >= self.down {
            return match slot {
                slot if slot < self.up => Source::Down(slot - self.down),
                slot if slot < self.sampler => Source::Up(slot - self.up),
                slot => {
                    debug_assert_eq!(slot, self.sampler, "no such slot");
                    Source::Sampler
                }
            };
        }
        let flow = (slot / HOSTS) as usize;
        match slot % HOSTS {
            0 => Source::Sender(flow),
            1 => Source::Receiver(flow),
            2 => Source::Life(flow),
            3 => Source::App(flow),
            HOSTS.. => unreachable!("a remainder"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_that_of_its_source_and_every_source_has_one() {
        for (flows, down, up) in [(1, 1, 1), (3, 7, 5), (2, 2, 0)] {
            let slots = Slots::new(flows, down, up);
            let mut sources = Vec::new();
            for slot in 0..slots.count() as u32 {
                let source = slots.source(slot);
                assert_eq!(slots.slot(source), slot);
                assert!(!sources.contains(&source), "{source:?} twice");
                sources.push(source);
            }
            let hosts = |make: fn(usize) -> Source| (0..flows).map(make);
            let expected = hosts(Source::Sender)
                .chain(hosts(Source::Receiver))
                .chain(hosts(Source::Life))
                .chain(hosts(Source::App))
                .chain((0..down).map(Source::Down))
                .chain((0..up).map(Source::Up))
                .chain([Source::Sampler]);
            assert!(expected.clone().all(|source| sources.contains(&source)));
            assert_eq!(expected.count(), sources.len());
        }
    }
}
