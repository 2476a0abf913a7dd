//! When packets may leave: in slots only, as `netem slot` has it (`get_slot_next`, `netem_dequeue`, net/sched/sch_netem.c).

use super::jitter::{Deviations, Distribution, Jitter};
use crate::correlated::CorrelatedRng;
use crate::rng::Rng;
use crate::settings::{settings, words, Refused, DELAYS};
use units::{Bytes, Span, Time};

/// What netem counts in 32 bits with a sign.
const COUNTS: std::ops::RangeInclusive<i128> = 1..=i32::MAX as i128;

words! {
    /// How long it takes to the next slot.
    pub enum SlotTimes {
        /// MIN + U(0, MAX - MIN), as `slot MIN MAX`.
        #[default]
        Uniform = "uniform",
        /// `slot distribution normal DELAY SPREAD`, by `tc`'s table.
        Normal = "normal",
        /// `slot distribution pareto`.
        Pareto = "pareto",
        /// `slot distribution paretonormal`.
        ParetoNormal = "paretonormal",
    }
}

settings! {
    /// Packets leave in slots: what is due waits for one (`netem slot`).
    pub struct SlotConfig for "slot" {
        /// Shortest time to the next slot.
        min "min_ns": Option<Span> [DELAYS] = None;
        /// Longest time to it; `min` unless given.
        max "max_ns": Option<Span> [DELAYS] = None;
        /// How that time is distributed: uniform from `min` to `max`, or by one of netem's tables with `delay` and `spread`.
        distribution "distribution": SlotTimes = SlotTimes::Uniform;
        /// Time to the next slot around which a table's entries lie.
        delay "delay_ns": Option<Span> [DELAYS] = None;
        /// What those entries are multiplied with.
        spread "spread_ns": Option<Span> [COUNTS] = None;
        /// Packets of a slot at most; any number unless given.
        packets "packets": Option<u32> [COUNTS, Number] = None;
        /// Wire bytes of a slot: it closes behind the packet that reaches them; any number unless given.
        bytes "bytes": Option<Bytes> [COUNTS] = None;
    }
    also SlotConfig::check_times;
}

impl SlotConfig {
    /// Times belong to a distribution.
    fn check_times(&self) -> Result<(), Refused> {
        let given = [("min_ns", self.min), ("max_ns", self.max)];
        let of_table = [("delay_ns", self.delay), ("spread_ns", self.spread)];
        let is_uniform = self.distribution == SlotTimes::Uniform;
        let (needed, others) = if is_uniform { (given, of_table) } else { (of_table, given) };
        if let Some((key, Some(got))) = others.into_iter().find(|(_, time)| time.is_some()) {
            let wanted = match is_uniform {
                true => "no such key without distribution = normal, pareto or paretonormal",
                false => "no such key next to a distribution, which has delay and spread",
            };
            return Err(Refused::new(key, got.as_ns(), wanted));
        }
        let is_needed = |key: &str| key != "max_ns";
        if let Some((key, _)) =
            needed.into_iter().find(|(key, time)| is_needed(key) && time.is_none())
        {
            return Err(Refused::new(key, "nothing", "a time"));
        }
        let (min, max) = self.range();
        if is_uniform && (max < min || max == Span::ZERO) {
            let wanted = "a time above zero, and no less than min";
            return Err(Refused::new("max_ns", max.as_ns(), wanted));
        }
        Ok(())
    }

    /// Shortest and longest time of the uniform distribution.
    fn range(&self) -> (Span, Span) {
        let min = self.min.unwrap_or(Span::ZERO);
        (min, self.max.unwrap_or(min))
    }

    /// A time that hardly a slot is away, for who wants to know how long packets may wait.
    pub fn longest(&self) -> Span {
        let of_table = self.delay.unwrap_or(Span::ZERO) + self.spread.map_or(Span::ZERO, |s| s * 4);
        self.range().1.max(of_table)
    }
}

/// Draws the time to the next slot.
#[derive(Debug)]
enum Draws {
    Uniform { min: Span, width: Span, rng: CorrelatedRng },
    Table { delay: Span, deviations: Deviations },
}

/// See the module documentation.
#[derive(Debug)]
pub struct Slots {
    config: SlotConfig,
    draws: Draws,
    /// When the current slot opens, or opened.
    opens: Time,
    packets_left: i64,
    bytes_left: i64,
}

impl Slots {
    /// Slots from the start of the run on.
    pub fn new(config: SlotConfig, rng: Rng) -> Slots {
        let table = |distribution| {
            let spread = config.spread.unwrap_or(Span::ZERO);
            let jitter = Jitter { distribution, spread, ..Jitter::default() };
            let delay = config.delay.unwrap_or(Span::ZERO);
            Draws::Table { delay, deviations: Deviations::new(jitter, rng.clone()) }
        };
        let draws = match config.distribution {
            SlotTimes::Uniform => {
                let (min, max) = config.range();
                Draws::Uniform { min, width: max - min, rng: CorrelatedRng::new(0, rng) }
            }
            SlotTimes::Normal => table(Distribution::NormalTable),
            SlotTimes::Pareto => table(Distribution::Pareto),
            SlotTimes::ParetoNormal => table(Distribution::ParetoNormal),
        };
        let mut slots = Slots { config, draws, opens: Time::ZERO, packets_left: 0, bytes_left: 0 };
        slots.fill();
        slots
    }

    /// netem looks at its queue, whose first packet is due at `head`: a slot that opened before is over.
    pub fn look(&mut self, now: Time, head: Time) {
        if self.opens < head {
            self.open_next(now);
        }
    }

    /// When a packet that is due at `head` leaves, unless netem looks again before.
    pub fn leaves(&self, head: Time) -> Time {
        head.max(self.opens)
    }

    /// A packet leaves.
    pub fn take(&mut self, now: Time, bytes: Bytes) {
        self.packets_left -= 1;
        self.bytes_left -= bytes.get() as i64;
        if self.packets_left <= 0 || self.bytes_left <= 0 {
            self.open_next(now);
        }
    }

    fn open_next(&mut self, now: Time) {
        let ns = match &mut self.draws {
            Draws::Uniform { min, width, rng } => {
                // Both factors are below 2^36 and 2^32.
                let part = (u128::from(width.as_ns()) * u128::from(rng.next_u32())) >> 32;
                min.as_ns() + part as u64
            }
            // A time below zero is a slot that is open already.
            Draws::Table { delay, deviations } => {
                delay.as_ns().saturating_add_signed(deviations.next_ns())
            }
        };
        self.opens = now + Span::from_ns(ns);
        self.fill();
    }

    fn fill(&mut self) {
        self.packets_left = self.config.packets.map_or(i64::MAX, i64::from);
        self.bytes_left = self.config.bytes.map_or(i64::MAX, |bytes| bytes.get() as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn ms(n: u64) -> Time {
        Time::from_ns(n * 1_000_000)
    }

    fn slots(config: SlotConfig) -> Slots {
        config.check().expect("they are in range");
        Slots::new(config, Rng::stream(1, "test"))
    }

    /// A slot each 5 ms.
    fn regular() -> SlotConfig {
        SlotConfig { min: Some(Span::from_ms(5)), ..SlotConfig::default() }
    }

    #[test]
    fn what_is_due_after_a_slot_opened_waits_for_the_next_one() {
        let mut slots = slots(regular());
        slots.look(ms(10), ms(10));
        assert_eq!(slots.leaves(ms(10)), ms(15));
        slots.look(ms(15), ms(10));
        assert_eq!(slots.leaves(ms(10)), ms(15), "it has waited for this one");
    }

    #[test]
    fn a_slot_is_over_after_so_many_packets_or_bytes() {
        for config in [
            SlotConfig { packets: Some(2), ..regular() },
            SlotConfig { bytes: Some(Bytes::new(1515)), ..regular() },
        ] {
            let mut slots = slots(config);
            slots.look(ms(10), ms(10));
            slots.take(ms(15), Bytes::new(1514));
            assert_eq!(slots.leaves(ms(11)), ms(15));
            slots.take(ms(15), Bytes::new(1514));
            assert_eq!(slots.leaves(ms(11)), ms(20));
        }
    }

    #[test]
    fn times_are_uniform_between_their_ends_or_follow_a_table() {
        let uniform = SlotConfig { max: Some(Span::from_ms(15)), ..regular() };
        let normal = SlotConfig {
            distribution: SlotTimes::Normal,
            delay: Some(Span::from_ms(10)),
            spread: Some(Span::from_ms(2)),
            ..SlotConfig::default()
        };
        for (config, deviation) in [(uniform, 2887), (normal, 2000)] {
            let mut slots = slots(config);
            let us: Vec<i64> = (0..20_000)
                .map(|_| {
                    slots.look(ms(1000), ms(2000));
                    slots.opens.since(ms(1000)).as_us() as i64
                })
                .collect();
            let mean = us.iter().sum::<i64>() / 20_000;
            let spread = us.iter().map(|t| (t - mean) * (t - mean)).sum::<i64>() / 20_000;
            assert!((mean - 10_000).abs() < 60, "{config:?}: mean {mean} us");
            assert!(((spread as f64).sqrt() as i64 - deviation).abs() < 40, "{config:?}");
        }
    }

    #[test]
    fn times_of_another_distribution_are_refused() {
        let spread = Some(Span::from_ms(1));
        for (config, key) in [
            (SlotConfig::default(), "min_ns"),
            (SlotConfig { min: Some(Span::ZERO), ..SlotConfig::default() }, "max_ns"),
            (SlotConfig { max: Some(Span::from_ms(4)), ..regular() }, "max_ns"),
            (SlotConfig { spread, ..regular() }, "spread_ns"),
            (SlotConfig { distribution: SlotTimes::Pareto, spread, ..regular() }, "min_ns"),
            (
                SlotConfig { distribution: SlotTimes::Pareto, spread, ..SlotConfig::default() },
                "delay_ns",
            ),
        ] {
            assert_eq!(config.check().expect_err("refused").key, key, "{config:?}");
        }
    }
}
