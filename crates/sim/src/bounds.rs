//! What a run may cost before it ends itself: events per simulated second and memory. A small scenario can ask
//! for work without end; the bounds are in the plan, and a run that exceeds one says which key raises it.

use path::network::Excess;
use path::plan::Limits;
use units::Time;

/// Memory of a message or a probe whose row is not written yet, bytes; its vector may be twice as large as it needs.
const MESSAGE_BYTES: u64 = 96;

/// What a run holds in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub packets: u64,
    /// Probes too.
    pub messages: u64,
}

impl Held {
    fn bytes(self) -> u64 {
        self.packets * Limits::PACKET_BYTES + self.messages * MESSAGE_BYTES
    }
}

/// A bound that a run has exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// More events than the simulated time is worth.
    #[error(
        "more than {limit} events per simulated second (at {}); limits.events raises that",
        seconds(.at)
    )]
    Events {
        /// Events per second.
        limit: u64,
        /// How far the run came.
        at: Time,
    },
    /// More memory.
    #[error(
        "more than {limit} bytes of memory for packets under way and messages (at {}); \
         limits.memory raises that",
        seconds(.at)
    )]
    Memory {
        /// Bytes.
        limit: u64,
        /// How far the run came.
        at: Time,
    },
}

impl Exceeded {
    /// That of a network.
    pub fn by(excess: Excess, limits: &Limits, at: Time) -> Exceeded {
        match excess {
            Excess::Packets => Exceeded::Memory { limit: limits.memory_bytes, at },
            Excess::Copies => Exceeded::Events { limit: limits.events_per_s, at },
        }
    }
}

/// A time of the run for a person.
fn seconds(at: &Time) -> String {
    format!("{:.3} s", at.as_ns() as f64 / 1e9)
}

/// Checks the bounds; `events` are those since the start.
pub fn check(limits: &Limits, at: Time, events: u64, held: Held) -> Result<(), Exceeded> {
    // The second that has begun counts whole, so that a burst at the start is not taken for a loop.
    let seconds = at.as_ns() / 1_000_000_000 + 1;
    if events > limits.events_per_s.saturating_mul(seconds) {
        return Err(Exceeded::Events { limit: limits.events_per_s, at });
    }
    if held.bytes() > limits.memory_bytes {
        return Err(Exceeded::Memory { limit: limits.memory_bytes, at });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { events_per_s: 1_000, memory_bytes: 24_000 };

    #[test]
    fn events_are_counted_against_the_seconds_that_have_begun() {
        let at = |ms: u64| Time::from_ns(ms * 1_000_000);
        assert_eq!(check(&LIMITS, at(0), 1_000, Held::default()), Ok(()));
        assert_eq!(check(&LIMITS, at(1_500), 2_000, Held::default()), Ok(()));
        let error = check(&LIMITS, at(1_500), 2_001, Held::default()).unwrap_err().to_string();
        assert!(error.contains("1000 events") && error.contains("limits.events"), "{error}");
    }

    #[test]
    fn memory_is_that_of_packets_and_messages() {
        let held = |packets, messages| Held { packets, messages };
        assert_eq!(check(&LIMITS, Time::ZERO, 0, held(136, 0)), Ok(()));
        let error = check(&LIMITS, Time::ZERO, 0, held(136, 1)).unwrap_err().to_string();
        assert!(error.contains("24000 bytes") && error.contains("limits.memory"), "{error}");
    }
}
