//! What wakes the loop, and the slot of each in the event queue: first the parts of both networks.

/// A source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A part of the network from senders to receivers, by its slot.
    Forward(u32),
    /// A part of the network back, by its slot.
    Back(u32),
    /// A sample is due.
    Sampler,
    /// A packet of the control connections is due.
    Control,
    /// Segments that a receiver's card has merged are due.
    Merged,
}

/// Where the slots of the network back and of the sampler begin.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    back: u32,
    sampler: u32,
}

impl Slots {
    /// Slots of networks with this many parts each.
    pub fn new(forward_parts: u32, back_parts: u32) -> Slots {
        Slots { back: forward_parts, sampler: forward_parts + back_parts }
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.sampler as usize + 3
    }

    /// The slot of a source.
    #[inline]
    pub fn slot(self, source: Source) -> u32 {
        match source {
            Source::Forward(slot) | Source::Back(slot) => slot,
            Source::Sampler => self.sampler,
            Source::Control => self.sampler + 1,
            Source::Merged => self.sampler + 2,
        }
    }

    /// The source that has this slot.
    #[inline]
    pub fn source(self, slot: u32) -> Source {
        match slot {
            slot if slot < self.back => Source::Forward(slot),
            slot if slot < self.sampler => Source::Back(slot),
            slot if slot == self.sampler => Source::Sampler,
            slot if slot == self.sampler + 1 => Source::Control,
            slot => {
                debug_assert_eq!(slot, self.sampler + 2, "no such slot");
                Source::Merged
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_that_of_its_source() {
        for (forward, back) in [(3, 2), (1, 0)] {
            let slots = Slots::new(forward, back);
            let sources: Vec<Source> =
                (0..slots.count() as u32).map(|slot| slots.source(slot)).collect();
            let expected: Vec<Source> = (0..forward)
                .map(Source::Forward)
                .chain((forward..forward + back).map(Source::Back))
                .chain([Source::Sampler, Source::Control, Source::Merged])
                .collect();
            assert_eq!(sources, expected);
            assert!((0..).zip(sources).all(|(slot, source)| slots.slot(source) == slot));
        }
    }
}
