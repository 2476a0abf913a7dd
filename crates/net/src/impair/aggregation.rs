//! Aggregation as on WiFi: packets are held, and leave in bursts.

use crate::settings::{settings, DELAYS};
use std::collections::VecDeque;
use units::{Span, Time};

settings! {
    /// Packets are held and leave in bursts: an aggregate fills, or its timer runs out.
    pub struct Filled for "aggregate" {
        /// Packets of a burst at most.
        packets "packets": u32 [1..=1 << 31];
        /// The longest that a packet is held.
        hold "hold_ns": Span [DELAYS];
    }
}

settings! {
    /// Packets are held and leave in bursts at regular times: the medium is ours now and then.
    pub struct Periodic for "serve" {
        /// Time between two bursts.
        every "period_ns": Span [1..=*DELAYS.end()];
        /// Packets of a burst at most; all that are held unless given.
        // An A-MPDU has 64 subframes at most
        packets "packets": Option<u32> [1..=1 << 31] = None;
    }
}

/// When what is held leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Once a burst is held, or the oldest packet was held for long enough.
    Filled(Filled),
    /// At every multiple of a time.
    Periodic(Periodic),
}

/// See the module documentation. It holds any kind of packet, and is never full.
#[derive(Debug)]
pub struct Aggregation<T> {
    release: Release,
    held: VecDeque<(Time, T)>,
    /// Packets at the front whose time has come.
    ready: usize,
    /// The next service that still has all its room (`Periodic`).
    service: Time,
}

impl<T> Aggregation<T> {
    /// A part that holds nothing yet.
    ///
    /// # Panics
    /// If bursts are of no packets, or the interval is zero.
    pub fn new(release: Release) -> Self {
        let packets = match release {
            Release::Filled(filled) => filled.packets,
            Release::Periodic(periodic) => {
                assert!(periodic.every > Span::ZERO, "the time between bursts is above zero");
                periodic.packets.unwrap_or(u32::MAX)
            }
        };
        assert!(packets > 0, "bursts are of one packet or more");
        Aggregation { release, held: VecDeque::new(), ready: 0, service: Time::ZERO }
    }

    /// Puts a packet in at `now`. One that comes at the very time of a service waits for the next.
    pub fn push(&mut self, now: Time, item: T) {
        self.advance(now);
        if let Release::Periodic(Periodic { every, .. }) = self.release {
            let next = (now.as_ns() / every.as_ns() + 1).saturating_mul(every.as_ns());
            self.service = self.service.max(Time::from_ns(next));
        }
        self.held.push_back((now, item));
        if let Release::Filled(Filled { packets, .. }) = self.release {
            if self.held.len() - self.ready >= packets as usize {
                self.ready = self.held.len();
            }
        }
    }

    /// When the next burst leaves; a time that has passed means at once.
    pub fn next_wakeup(&self) -> Option<Time> {
        if self.ready > 0 {
            return Some(self.held[0].0);
        }
        let &(since, _) = self.held.front()?;
        Some(match self.release {
            Release::Filled(filled) => since + filled.hold,
            Release::Periodic(_) => self.service,
        })
    }

    /// Takes the next packet that has left by `now`.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        self.advance(now);
        self.ready = self.ready.checked_sub(1)?;
        self.held.pop_front().map(|(_, item)| item)
    }

    /// Packets inside, in order.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        self.held.iter().map(|(_, item)| item)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Lets go whose time has come by `now`.
    fn advance(&mut self, now: Time) {
        match self.release {
            Release::Filled(Filled { hold, .. }) => {
                // A timer lets the whole aggregate go, young packets too.
                if self.held.get(self.ready).is_some_and(|&(since, _)| since + hold <= now) {
                    self.ready = self.held.len();
                }
            }
            Release::Periodic(Periodic { every, packets }) => {
                let burst = packets.map_or(self.held.len(), |packets| packets as usize);
                while self.ready < self.held.len() && self.service <= now {
                    self.ready = (self.ready + burst).min(self.held.len());
                    self.service += every;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_ns(n * 1_000_000)
    }

    fn periodic(packets: u32) -> Release {
        Release::Periodic(Periodic { every: Span::from_ms(20), packets: Some(packets) })
    }

    /// When packets that come at these times, in ms, leave.
    fn leave(release: Release, arrivals: &[u64]) -> Vec<(u64, u64)> {
        let mut part = Aggregation::new(release);
        let mut out = Vec::new();
        for t in 0..200 {
            for &at in arrivals.iter().filter(|&&at| at == t) {
                part.push(ms(t), at);
            }
            while part.next_wakeup().is_some_and(|at| at <= ms(t)) {
                out.push((part.pop(ms(t)).expect("it said so"), t));
            }
            assert!(part.pop(ms(t)).is_none(), "left without a wake-up");
        }
        assert!(part.is_empty());
        out
    }

    #[test]
    fn an_aggregate_leaves_when_it_is_full_or_old() {
        let release = Release::Filled(Filled { packets: 3, hold: Span::from_ms(10) });
        assert_eq!(
            leave(release, &[0, 1, 2, 5, 6, 30]),
            [(0, 2), (1, 2), (2, 2), (5, 15), (6, 15), (30, 40)]
        );
    }

    #[test]
    fn a_service_takes_what_came_before_it_up_to_its_room() {
        let release = periodic(2);
        assert_eq!(
            leave(release, &[1, 2, 3, 20, 50, 60]),
            [(1, 20), (2, 20), (3, 40), (20, 40), (50, 60), (60, 80)]
        );
    }

    #[test]
    fn services_that_nobody_used_are_lost() {
        let release = periodic(1);
        assert_eq!(leave(release, &[105, 106]), [(105, 120), (106, 140)]);
    }
}
