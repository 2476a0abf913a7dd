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
    /// A series of probes sends one.
    Probe(usize),
}

/// Where the slots of the networks and the probes begin; those of the flows' hosts come first.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    down: u32,
    up: u32,
    probes: u32,
    count: u32,
}

impl Slots {
    /// Slots of `flows` flows, of networks with this many parts each, and of `probes` series of probes.
    pub fn new(flows: usize, down_parts: u32, up_parts: u32, probes: usize) -> Slots {
        let down = Slots::down_base(flows);
        let up = down + down_parts;
        let first_probe = up + up_parts;
        Slots { down, up, probes: first_probe, count: first_probe + probes as u32 }
    }

    /// First slot of the way down; that of the way up follows its last one.
    pub fn down_base(flows: usize) -> u32 {
        flows as u32 * HOSTS
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count as usize
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
            Source::Probe(probe) => self.probes + probe as u32,
        }
    }

    /// The source that has this slot.
    #[inline]
    pub fn source(&self, slot: u32) -> Source {
        if slot >= self.down {
            return match slot {
                slot if slot < self.up => Source::Down(slot - self.down),
                slot if slot < self.probes => Source::Up(slot - self.up),
                slot => Source::Probe((slot - self.probes) as usize),
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
        for (flows, down, up, probes) in [(1, 1, 1, 0), (3, 7, 5, 2), (2, 2, 0, 1)] {
            let slots = Slots::new(flows, down, up, probes);
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
                .chain((0..probes).map(Source::Probe));
            assert!(expected.clone().all(|source| sources.contains(&source)));
            assert_eq!(expected.count(), sources.len());
        }
    }
}
