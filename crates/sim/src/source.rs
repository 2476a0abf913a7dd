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
    /// A part of the network from senders to receivers, by its number there.
    Data(u32),
    /// A part of the network back.
    Back(u32),
    /// A sample is due.
    Sampler,
}

/// Where the slots of the networks and the sampler begin; those of the flows' hosts come first.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    data: u32,
    back: u32,
    sampler: u32,
}

impl Slots {
    /// Slots of `flows` flows and of networks with this many parts each.
    pub fn new(flows: usize, data_parts: u32, back_parts: u32) -> Slots {
        let data = Slots::data_base(flows);
        let back = data + data_parts;
        Slots { data, back, sampler: back + back_parts }
    }

    /// First slot of the network from senders to receivers; that of the network back follows its last one.
    pub fn data_base(flows: usize) -> u32 {
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
            Source::Data(part) => self.data + part,
            Source::Back(part) => self.back + part,
            Source::Sampler => self.sampler,
        }
    }

    /// The source that has this slot.
    #[inline]
    pub fn source(&self, slot: u32) -> Source {
        if slot >= self.data {
            return match slot {
                slot if slot < self.back => Source::Data(slot - self.data),
                slot if slot < self.sampler => Source::Back(slot - self.back),
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
        for (flows, data, back) in [(1, 1, 1), (3, 7, 5), (2, 2, 0)] {
            let slots = Slots::new(flows, data, back);
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
                .chain((0..data).map(Source::Data))
                .chain((0..back).map(Source::Back))
                .chain([Source::Sampler]);
            assert!(expected.clone().all(|source| sources.contains(&source)));
            assert_eq!(expected.count(), sources.len());
        }
    }
}
