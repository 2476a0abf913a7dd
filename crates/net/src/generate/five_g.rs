//! Paths over 5G that uses millimetre waves where they reach and lower bands elsewhere (non-standalone).
//!
//! Nothing here is fitted to a recording; the parts and their order of size are published:
//!
//! | what | here | source |
//! | --- | --- | --- |
//! | rate in sight of a cell | log-normal around a level of the cell, deviation 0.25, correlated for a second | Narayanan et al., "A First Look at Commercial 5G Performance on Smartphones", WWW 2020: high, and varying much |
//! | blockage (a hand, a body, a vehicle) | the rate falls to a tenth for 0.2 s and more, half a second in the mean; every 4 s in motion, every 15 s at rest | Raghavan et al., "Statistical Blockage Modeling and Robustness of Beamforming in Millimeter Wave Systems", 2018: a few 100 ms or more |
//! | change of the cell, in motion | every 12 s; nothing leaves for 40 to 160 ms, and the level is another one | Hassan et al., "Vivisecting Mobility Management in 5G Cellular Networks", SIGCOMM 2022: frequent, and they cost an interruption; times not fitted |
//! | lower bands, in motion | for 5 s in the mean, every 25 s: a fifth of the rate, 15 ms more RTT | Narayanan et al.: between 4G and 5G in motion |
//! | RTT | 25 ms, and what wanders by 2 ms; 12 ms more while blocked, because blocks are sent again | not fitted |
//! | losses | none but those of queues: the radio sends again what is lost (HARQ, RLC) | 3GPP TS 38.322 |

use super::noise::{exp, normal, Spells, Wander, ONE};
use super::{Mobility, PathStep, STEP_MS};
use crate::rng::Rng;

/// Deviations of the logarithm of the rate, per mille: of a cell's level, and of what wanders.
const LEVEL: i64 = 350;
const FAST: i64 = 250;
const FAST_MS: u64 = 1_000;
/// Rate while blocked and in lower bands, as a part of one.
const BLOCKED: u64 = 10;
const LOWER: u64 = 5;
/// Shortest and mean blockage, ms.
const BLOCKAGE_MS: (u64, u64) = (200, 500);
/// Mean time between changes of the cell, ms; shortest and longest interruption.
const HANDOVER_MS: u64 = 12_000;
const OUTAGE_MS: (u64, u64) = (40, 160);
/// Lower bands: mean time between, shortest and mean time, ms.
const LOWER_MS: (u64, u64, u64) = (25_000, 1_000, 5_000);
/// RTTs, us: usual, its deviation, and what is added while blocked and in lower bands.
const RTT_US: i64 = 25_000;
const RTT_FAST_US: i64 = 2_000;
const RTT_FAST_MS: u64 = 300;
const RTT_LEAST_US: i64 = 15_000;
const RTT_BLOCKED_US: i64 = 12_000;
const RTT_LOWER_US: i64 = 15_000;

/// Mean time between blockages, ms.
fn between_ms(mobility: Mobility) -> u64 {
    match mobility {
        Mobility::Stationary => 15_000,
        Mobility::High => 4_000,
    }
}

/// The course, `n` steps.
pub(super) fn steps(mobility: Mobility, n: usize, rng: &mut Rng) -> Vec<PathStep> {
    let moves = mobility == Mobility::High;
    let mut rate = Wander::new((FAST_MS / STEP_MS) as i64, rng);
    let mut rtt = Wander::new((RTT_FAST_MS / STEP_MS) as i64, rng);
    let spells = |between, (least, mean): (u64, u64)| {
        Spells::new(between / STEP_MS, least / STEP_MS, mean / STEP_MS)
    };
    let mut blockages = spells(between_ms(mobility), BLOCKAGE_MS);
    let mut lower = spells(LOWER_MS.0, (LOWER_MS.1, LOWER_MS.2));
    let (mut level, mut outage_ms) = (normal(rng) * LEVEL / 1_000, 0);
    let mut course = Vec::with_capacity(n);
    for i in 0..n {
        let is_blocked = i > 0 && blockages.step(rng).0;
        let is_lower = moves && i > 0 && lower.step(rng).0;
        if moves && i > 0 && rng.below(HANDOVER_MS / STEP_MS) == 0 {
            level = normal(rng) * LEVEL / 1_000;
            outage_ms = OUTAGE_MS.0 + rng.below(OUTAGE_MS.1 - OUTAGE_MS.0 + 1);
        }
        let full = exp(level + rate.step(rng) * FAST / 1_000);
        let slower = if is_lower {
            LOWER
        } else if is_blocked {
            BLOCKED
        } else {
            1
        };
        let more = i64::from(is_lower) * RTT_LOWER_US
            + i64::from(is_blocked && !is_lower) * RTT_BLOCKED_US;
        let usual = RTT_US + rtt.step(rng) * RTT_FAST_US / ONE;
        course.push(PathStep {
            weight: if outage_ms > 0 { 0 } else { full / slower },
            rtt_us: usual.max(RTT_LEAST_US) as u64 + more as u64,
            loss_ppb: 0,
        });
        outage_ms = outage_ms.saturating_sub(STEP_MS);
    }
    course
}
