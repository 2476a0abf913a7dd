//! How many retransmission timers fire in the same instant.
//!
//! Timers expire with a tick, and the wheel has coarser units the longer they run (8 to 4096 ticks). The flows of one host
//! that lost packets together therefore time out together, and what they send then arrives at the bottleneck at once: a
//! full queue takes the first few. Where that goes on with every timeout, the same flows starve.

use units::Time;

/// From this mean on, a result says so. With 500 flows of 1 Mbit/s each it is 2.3, and makes no difference yet; with 1,000
/// it is 6, with 10,000 108 (docs/fidelity.md).
const MANY: f64 = 5.0;
/// Fewer timeouts than this in a whole run do not matter.
const FEW: u64 = 100;

/// See the module documentation.
#[derive(Debug, Default)]
pub(super) struct Timeouts {
    at: Time,
    /// Timeouts of the instant `at`.
    together: u64,
    /// All before that instant, and for each of them the number that fired with it, itself included.
    all: u64,
    company: u64,
}

impl Timeouts {
    /// A timer fired; times never go back.
    #[cold]
    pub fn note(&mut self, now: Time) {
        if now != self.at {
            self.close();
            self.at = now;
        }
        self.together += 1;
    }

    fn close(&mut self) {
        self.all += self.together;
        self.company += self.together * self.together;
        self.together = 0;
    }

    /// With how many a timeout fired on average, itself included, where those were many.
    pub fn many(&mut self) -> Option<f64> {
        self.close();
        let mean = self.company as f64 / self.all.max(1) as f64;
        (self.all >= FEW && mean >= MANY).then_some(mean)
    }
}

/// What a result says about that.
pub(super) fn warning(mean: f64) -> String {
    format!(
        "a retransmission timeout fired together with {:.0} others on average, because all hosts share one processor \
         (host.processors = \"one\"), as namespaces do: what they send meets a full queue at once, and some flows starve. \
         Hosts with processors of their own share the link more evenly (\"own\")",
        mean - 1.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    fn mean_of(sizes: &[u64]) -> Option<f64> {
        let mut timeouts = Timeouts::default();
        for (i, &size) in (1..).zip(sizes) {
            (0..size).for_each(|_| timeouts.note(Time::ZERO + Span::from_ms(i)));
        }
        timeouts.many()
    }

    #[test]
    fn it_is_the_mean_over_timeouts_and_not_over_instants() {
        // 90 of 100 timeouts are in company of 90, ten are alone.
        assert_eq!(
            mean_of(&[1, 1, 1, 1, 1, 90, 1, 1, 1, 1, 1]),
            Some((90.0 * 90.0 + 10.0) / 100.0)
        );
    }

    #[test]
    fn neither_a_few_timeouts_nor_pairs_are_worth_a_word() {
        assert_eq!(mean_of(&[99]), None);
        assert_eq!(mean_of(&[2; 500]), None);
        assert_eq!(mean_of(&[]), None);
    }
}
