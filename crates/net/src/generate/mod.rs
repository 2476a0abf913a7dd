//! Synthetic radio links: seeded courses and traces that look like LTE or WiFi, at rest or in motion.
//!
//! They stand in for recordings that cannot be made without radios. [`lte`] and [`wifi`] say what
//! each is modelled on. A course holds the capacity every 20 ms; the trace of the same configuration
//! follows that course and adds what happens below it: grants of the scheduler, or aggregates between
//! other stations' turns. The seed changes the course, never its mean.

pub mod five_g;
pub mod leo;
pub mod lte;
mod noise;
pub mod path;
pub mod wifi;

use crate::rng::Rng;
use crate::schedule::{Schedule, Steps};
use crate::trace::Trace;
use units::{Rate, Span, Time};

/// The kind of radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radio {
    /// A cell that schedules its users.
    Lte,
    /// Stations that contend for the medium.
    Wifi,
}

/// Whether the receiver moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mobility {
    /// It rests, or hardly moves.
    Stationary,
    /// It drives, or is carried about: fading, outages and handovers.
    High,
}

/// What to generate.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The kind of radio.
    pub radio: Radio,
    /// Whether the receiver moves.
    pub mobility: Mobility,
    /// Mean capacity over the whole course, 100 kbit/s to 10 Gbit/s.
    pub mean: Rate,
    /// Length, after which it repeats: 1 s to 24 h, in whole steps of 20 ms.
    pub length: Span,
    /// Same seed, same course.
    pub seed: u64,
}

/// Length of a step of a course.
pub const STEP: Span = Span::from_ms(20);
/// Milliseconds of a step.
const STEP_MS: u64 = STEP.as_ns() / 1_000_000;
/// Wire bits that an opportunity of a generated trace stands for: a full frame, as readers of traces take it.
const OPPORTUNITY_BITS: u128 = 1_514 * 8;

/// One step of a course, before it is scaled to the mean.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Capacity in any unit; zero is an outage.
    weight: u64,
    /// Other stations that take turns with ours.
    contenders: u64,
}

/// One step of a path's course, before its rate is scaled to the mean.
#[derive(Clone, Copy, Debug)]
struct PathStep {
    /// Rate in any unit; zero is an outage.
    weight: u64,
    rtt_us: u64,
    loss_ppb: u64,
}

impl Config {
    fn steps(&self) -> Vec<Step> {
        let Config { mean, length, .. } = *self;
        let bps = mean.as_bps();
        assert!((100_000..=10_000_000_000).contains(&bps), "mean is 100kbps to 10Gbps, got {mean}");
        let ms = length.as_ns() / 1_000_000;
        assert!((1_000..=86_400_000).contains(&ms), "length is 1s to 24h, got {length}");
        let mut rng = self.rng("course");
        let n = (ms / STEP_MS) as usize;
        match self.radio {
            Radio::Lte => lte::steps(self.mobility, n, &mut rng),
            Radio::Wifi => wifi::steps(self.mobility, n, &mut rng),
        }
    }

    fn rng(&self, what: &str) -> Rng {
        Rng::stream(self.seed, &format!("generate.{:?}.{:?}.{what}", self.radio, self.mobility))
    }

    /// The rate of a step, bit/s.
    fn scaled(&self, step: &Step, sum: u128, n: usize) -> u64 {
        (u128::from(step.weight) * u128::from(self.mean.as_bps()) * n as u128 / sum) as u64
    }
}

/// Sum of the weights: the first step is never an outage, so it is above zero.
fn sum(steps: &[Step]) -> u128 {
    steps.iter().map(|s| u128::from(s.weight)).sum()
}

/// The capacity over time, as a rate that repeats.
///
/// # Panics
/// If the mean or the length is out of its range.
pub fn course(config: &Config) -> Schedule {
    let steps = config.steps();
    let (total, n) = (sum(&steps), steps.len());
    let mut rates: Vec<(Time, Rate)> = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let rate = Rate::from_bps(config.scaled(step, total, n));
        if rates.last().is_none_or(|last| last.1 != rate) {
            rates.push((Time::ZERO + STEP * i as u64, rate));
        }
    }
    // The steps ascend from zero by construction, and n > 0 of them end at the period.
    let steps = Steps::new(rates, Some(STEP * n as u64)).expect("in order by construction");
    Schedule::from_steps(steps)
}

/// The capacity over time, as a Mahimahi trace. Its last opportunity is at the end of its length, which
/// so is its period.
///
/// # Panics
/// If the mean or the length is out of its range.
pub fn trace(config: &Config) -> Trace {
    let steps = config.steps();
    let (total, n) = (sum(&steps), steps.len());
    let mut service = match config.radio {
        Radio::Lte => Service::Grants(lte::Grants::new(config.rng("grants"))),
        Radio::Wifi => Service::Turns(wifi::Turns::new(config.rng("turns"))),
    };
    let (mut times, mut credit) = (Vec::new(), 0);
    let end = n as u64 * STEP_MS;
    for ms in 1..=end {
        // Time 0 would be the last one's double: milliseconds count from 1 to the period.
        let step = &steps[((ms - 1) / STEP_MS) as usize];
        credit += u128::from(config.scaled(step, total, n)); // bits, times 1000
        let most = service.most(ms, step);
        let count = (credit / (1_000 * OPPORTUNITY_BITS)).min(most.into());
        credit -= count * 1_000 * OPPORTUNITY_BITS;
        let count = if ms == end { count.max(1) } else { count };
        times.extend((0..count).map(|_| ms as u32));
    }
    Trace::from_ms(times).expect("ascends, and ends at a time above zero")
}

/// What lets packets go within a step.
enum Service {
    Grants(lte::Grants),
    Turns(wifi::Turns),
}

impl Service {
    /// Opportunities that this millisecond may hold at most.
    fn most(&mut self, ms: u64, step: &Step) -> u64 {
        match self {
            _ if step.weight == 0 => 0,
            Service::Grants(grants) => grants.most(),
            Service::Turns(turns) => turns.most(ms, step.contenders),
        }
    }
}

#[cfg(test)]
mod tests;
