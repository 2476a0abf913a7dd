//! LTE-like links: a log-normal capacity that wanders, outages, and grants.
//!
//! Modelled on the cellular traces that are published with Mahimahi (recorded with Saturator; Winstein,
//! Sivaraman and Balakrishnan 2013). Their figures, in bins of 100 ms: coefficient of variation
//! (CoV), time until the autocorrelation falls below 1/e, share of time in gaps of 200 ms and more,
//! such gaps a second, share of milliseconds with any opportunity:
//!
//! | trace | mean Mbit/s | CoV | 1/e, s | gaps | gaps/s | busy ms |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | Verizon-LTE-short.down | 5.03 | 0.71 | 4.4 | 1.7 % | 0.036 | 29 % |
//! | Verizon-LTE-short.up | 5.95 | 0.59 | 3.1 | 2.0 % | 0.029 | 32 % |
//! | TMobile-LTE-short.down | 16.70 | 0.69 | 1.8 | 3.6 % | 0.064 | 27 % |
//! | ATT-LTE-driving.down | 5.17 | 0.60 | 20.6 | 5.7 % | 0.088 | 25 % |
//! | ATT-LTE-driving-2016.down | 4.56 | 1.04 | 1.5 | 7.8 % | 0.183 | 25 % |
//! | ATT-LTE-driving-2016.up | 1.91 | 1.22 | 0.6 | 13.6 % | 0.167 | 12 % |
//!
//! The first three, whose files do not say how they were carried, are the model of the stationary form,
//! the driving ones of the other. An outage is taken for a handover there: after it the capacity is that
//! of another cell.

use super::noise::{exp, Spells, Wander};
use super::{Mobility, Step, STEP_MS};
use crate::rng::Rng;

/// How one form of the model is set.
struct Form {
    /// Deviation of the logarithm of the capacity, per mille.
    deviation: i64,
    /// Correlation time of the capacity, ms.
    memory_ms: u64,
    /// Mean time between outages, ms.
    between_ms: u64,
    /// Mean length of an outage, ms.
    outage_ms: u64,
    /// Whether the capacity after an outage is another one.
    hands_over: bool,
}

/// CoV 0.66 without outages (sqrt(e^(s^2) - 1)); outages of 0.55 s take 2.4 % of the time.
const STATIONARY: Form = Form {
    deviation: 600,
    memory_ms: 3_500,
    between_ms: 22_000,
    outage_ms: 550,
    hands_over: false,
};

/// CoV 0.80 without outages; outages of 0.6 s take 7.4 % of the time.
const HIGH: Form =
    Form { deviation: 700, memory_ms: 5_000, between_ms: 7_500, outage_ms: 600, hands_over: true };

/// The shortest outage, ms: gaps that count as one are as long.
const OUTAGE_LEAST_MS: u64 = 200;

/// The course, `n` steps.
pub(super) fn steps(mobility: Mobility, n: usize, rng: &mut Rng) -> Vec<Step> {
    let form = match mobility {
        Mobility::Stationary => STATIONARY,
        Mobility::High => HIGH,
    };
    let mut wander = Wander::new((form.memory_ms / STEP_MS) as i64, rng);
    let mut outages =
        Spells::new(form.between_ms / STEP_MS, OUTAGE_LEAST_MS / STEP_MS, form.outage_ms / STEP_MS);
    let mut course = Vec::with_capacity(n);
    for i in 0..n {
        let (is_out, ended) = if i == 0 { (false, false) } else { outages.step(rng) };
        if ended && form.hands_over {
            wander.jump(rng);
        }
        let capacity = exp(wander.step(rng) * form.deviation / 1_000);
        course.push(Step { weight: if is_out { 0 } else { capacity }, contenders: 0 });
    }
    course
}

/// The scheduler's choice of milliseconds: ours is one of a few users of the cell.
pub(super) struct Grants {
    rng: Rng,
}

/// Share of milliseconds with a grant, per mille. Not each one has a whole packet to carry: those that
/// do are the table's.
const GRANTED: u64 = 400;

impl Grants {
    pub(super) fn new(rng: Rng) -> Grants {
        Grants { rng }
    }

    /// A grant has room for all that is due; without one nothing leaves.
    pub(super) fn most(&mut self) -> u64 {
        if self.rng.below(1_000) < GRANTED {
            u64::MAX
        } else {
            0
        }
    }
}
