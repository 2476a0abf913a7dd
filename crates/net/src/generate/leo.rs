//! Paths over low-orbit satellites, after published measurements of Starlink.
//!
//! | what | here | source |
//! | --- | --- | --- |
//! | when the path changes | every 15 s, for all terminals at once; the seed draws where the course begins | Mohan et al., "A Multifaceted Look at Starlink Performance", WWW 2024 |
//! | RTT | a level for each 15 s, normal around 50 ms; 20 ms at least | Michel et al., "A First Look at Starlink Performance", IMC 2022: quartiles of 40, 50 and 60 ms to servers in Europe, 20 ms at least |
//! | RTT within 15 s | wanders by 2.5 ms within half a second, and drifts by up to 2 ms as the satellite moves (4 ms up and back at 550 km and zenith, 7.5 ms at 25 degrees) | geometry; the size of the fast part is not fitted |
//! | rate | a level for each 15 s, log-normal with a deviation of 0.35, times one of 0.15 that wanders within a second | not fitted; that both change is Mohan et al.'s |
//! | change itself | nothing leaves for 20 to 120 ms, a third of what comes in the next 100 ms is lost | not fitted; Kassem et al., "A Browser-side View of Starlink Connectivity", IMC 2022: losses of up to 50 % at handovers |
//! | other losses | 0.01 % | what LeoReplayer's authors use for the way down (Lai et al., SIGCOMM 2025) |

use super::noise::{exp, normal, Wander, ONE};
use super::{PathStep, STEP_MS};
use crate::rng::Rng;

/// Between two changes of the path.
const EVERY_MS: u64 = 15_000;
/// Mean and deviation of the level of the RTT, and what it is at least, us.
const RTT_US: i64 = 50_000;
const RTT_DEVIATION_US: i64 = 13_500;
const RTT_LEAST_US: i64 = 20_000;
/// Deviation and correlation time of the fast part of the RTT.
const RTT_FAST_US: i64 = 2_500;
const RTT_FAST_MS: u64 = 500;
/// What the RTT drifts by between two changes at most, us.
const DRIFT_US: u64 = 2_000;
/// Deviations of the logarithm of the rate, per mille, and the correlation time of the fast one.
const RATE_LEVEL: i64 = 350;
const RATE_FAST: i64 = 150;
const RATE_FAST_MS: u64 = 1_000;
/// Shortest and longest interruption at a change, ms.
const OUTAGE_MS: (u64, u64) = (20, 120);
/// How long after it packets are lost, ms, and how many of them, 10^-9.
const LOSSY_MS: u64 = 100;
const LOSSY_PPB: u64 = 333_000_000;
/// Losses at other times, 10^-9.
const LOSS_PPB: u64 = 100_000;

/// The path between two changes.
struct Interval {
    rtt_us: i64,
    /// What is added by its end.
    drift_us: i64,
    /// Logarithm of the rate in fixed point.
    rate: i64,
    outage_ms: u64,
}

impl Interval {
    fn draw(rng: &mut Rng) -> Interval {
        let outage = OUTAGE_MS.1 - OUTAGE_MS.0 + 1;
        Interval {
            rtt_us: RTT_US + normal(rng) * RTT_DEVIATION_US / ONE,
            drift_us: rng.below(2 * DRIFT_US + 1) as i64 - DRIFT_US as i64,
            rate: normal(rng) * RATE_LEVEL / 1_000,
            outage_ms: OUTAGE_MS.0 + rng.below(outage),
        }
    }
}

/// The course, `n` steps.
pub(super) fn steps(n: usize, rng: &mut Rng) -> Vec<PathStep> {
    let mut rtt = Wander::new((RTT_FAST_MS / STEP_MS) as i64, rng);
    let mut rate = Wander::new((RATE_FAST_MS / STEP_MS) as i64, rng);
    // The first interval is under way: its change was before the course begins.
    let mut since_ms = OUTAGE_MS.1 + LOSSY_MS + rng.below(EVERY_MS - OUTAGE_MS.1 - LOSSY_MS);
    since_ms -= since_ms % STEP_MS;
    let mut now = Interval::draw(rng);
    let mut course = Vec::with_capacity(n);
    for _ in 0..n {
        if since_ms >= EVERY_MS {
            since_ms = 0;
            now = Interval::draw(rng);
        }
        let drift = now.drift_us * since_ms as i64 / EVERY_MS as i64;
        let fast = rtt.step(rng) * RTT_FAST_US / ONE;
        let capacity = exp(now.rate + rate.step(rng) * RATE_FAST / 1_000);
        let is_out = since_ms < now.outage_ms;
        let is_lossy = !is_out && since_ms < now.outage_ms + LOSSY_MS;
        course.push(PathStep {
            weight: if is_out { 0 } else { capacity },
            rtt_us: (now.rtt_us + drift + fast).max(RTT_LEAST_US) as u64,
            loss_ppb: if is_lossy { LOSSY_PPB } else { LOSS_PPB },
        });
        since_ms += STEP_MS;
    }
    course
}
