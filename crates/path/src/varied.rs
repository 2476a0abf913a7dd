//! A stage whose delay varies as netem's does: in steps or at random, with packets that skip it, and with slots in which alone
//! packets leave.

use net::delay::{JitterPipe, Slots};
use net::impair::Reordering;
use net::Frame;
use units::Time;

/// See the module documentation.
pub struct Varied<P> {
    pipe: JitterPipe<P>,
    reordering: Option<Reordering>,
    slots: Option<Slots>,
}

impl<P: Frame> Varied<P> {
    pub fn new(
        pipe: JitterPipe<P>,
        reordering: Option<Reordering>,
        slots: Option<Slots>,
    ) -> Varied<P> {
        Varied { pipe, reordering, slots }
    }

    /// A packet comes.
    pub fn push(&mut self, now: Time, packet: P) {
        match self.reordering.as_mut().is_some_and(Reordering::skips_delay) {
            true => self.pipe.push_undelayed(now, packet),
            false => self.pipe.push(now, packet),
        }
        // A packet that comes makes netem look at its queue.
        self.look(now);
    }

    fn look(&mut self, now: Time) {
        if let (Some(slots), Some(head)) = (&mut self.slots, self.pipe.next_wakeup()) {
            slots.look(now, head);
        }
    }

    /// When the next packet leaves.
    pub fn next_wakeup(&self) -> Option<Time> {
        let head = self.pipe.next_wakeup()?;
        Some(self.slots.as_ref().map_or(head, |slots| slots.leaves(head)))
    }

    /// Takes the next packet if it has left by `now`.
    pub fn pop(&mut self, now: Time) -> Option<P> {
        self.look(now);
        if self.next_wakeup()? > now {
            return None;
        }
        let packet = self.pipe.pop(now)?;
        if let Some(slots) = &mut self.slots {
            slots.take(now, packet.wire_bytes());
        }
        Some(packet)
    }

    /// Packets inside, in no particular order.
    pub fn items(&self) -> impl Iterator<Item = &P> {
        self.pipe.items()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::delay::{Jitter, SlotConfig};
    use net::rng::Rng;
    use net::Packet;
    use units::Span;

    fn ms(n: u64) -> Time {
        Time::from_ns(n * 1_000_000)
    }

    /// When packets leave that come each ms for 20 ms to a delay of 10 ms with a slot each 6 ms, for 4 packets.
    fn bursts() -> Vec<(u64, u32)> {
        let rng = || Rng::stream(1, "test");
        let still = Jitter { reorder: false, ..Jitter::default() };
        let config =
            SlotConfig { min: Some(Span::from_ms(6)), packets: Some(4), ..SlotConfig::default() };
        let pipe = JitterPipe::new(Span::from_ms(10), still, rng());
        let mut stage = Varied::new(pipe, None, Some(Slots::new(config, rng())));
        let mut left = Vec::new();
        for at in 0..60 {
            if at < 20 {
                stage.push(ms(at), Packet { seq: at as u32, ..Packet::default() });
            }
            while stage.next_wakeup().is_some_and(|due| due <= ms(at))
                && stage.pop(ms(at)).is_some()
            {
                match left.last_mut() {
                    Some((last, count)) if *last == at => *count += 1,
                    _ => left.push((at, 1)),
                }
            }
        }
        left
    }

    #[test]
    fn packets_leave_in_bursts_of_what_a_slot_holds() {
        // By hand, from netem_dequeue: each packet that comes finds a slot that opened before the head is due, and draws
        // the next; the one of the packet at 4 ms is the first that opens no earlier than the head, at 10 ms.
        assert_eq!(bursts(), [(10, 1), (17, 4), (23, 4), (29, 4), (35, 4), (41, 3)]);
    }
}
