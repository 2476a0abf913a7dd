//! Synthetic paths whose rate, RTT and loss change together: a LEO satellite link, and 5G in motion.
//!
//! They stand in for recordings that are not ours to ship. [`leo`](super::leo) and [`five_g`](super::five_g) say what
//! each is modelled on. A course has a point every 20 ms. The seed changes the course, never its mean rate.

use super::{five_g, leo, Mobility, PathStep, STEP, STEP_MS};
use crate::rng::Rng;
use units::{Rate, Span};

/// The kind of path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A terminal below satellites in a low orbit.
    Leo,
    /// A phone below cells of 5G: millimetre waves where they reach, other bands elsewhere.
    FiveG(Mobility),
}

/// What to generate.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The kind of path.
    pub kind: Kind,
    /// Mean rate over the whole course, 100 kbit/s to 10 Gbit/s.
    pub mean: Rate,
    /// Length, after which it repeats: 1 s to 24 h, in whole steps of 20 ms.
    pub length: Span,
    /// Same seed, same course.
    pub seed: u64,
}

/// The path during one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Rate, bit/s; 0 is an outage.
    pub rate_bps: u64,
    /// Two-way delay without queues.
    pub rtt: Span,
    /// Share of packets that are lost, 10^-9.
    pub loss_ppb: u64,
}

/// The course, a point for each step of [`STEP`].
///
/// # Panics
/// If the mean or the length is out of its range.
pub fn course(config: &Config) -> Vec<Point> {
    let bps = config.mean.as_bps();
    assert!((100_000..=10_000_000_000).contains(&bps), "mean is 100kbps to 10Gbps, got {bps}");
    let ms = config.length.as_ns() / 1_000_000;
    assert!((1_000..=86_400_000).contains(&ms), "length is 1s to 24h, got {}", config.length);
    debug_assert_eq!(STEP.as_ns(), STEP_MS * 1_000_000);
    let n = (ms / STEP_MS) as usize;
    let mut rng = Rng::stream(config.seed, &format!("generate.{:?}.path", config.kind));
    let steps = match config.kind {
        Kind::Leo => leo::steps(n, &mut rng),
        Kind::FiveG(mobility) => five_g::steps(mobility, n, &mut rng),
    };
    let sum: u128 = steps.iter().map(|step| u128::from(step.weight)).sum();
    let point = |step: &PathStep| Point {
        rate_bps: (u128::from(step.weight) * u128::from(bps) * n as u128 / sum) as u64,
        rtt: Span::from_ns(step.rtt_us * 1_000),
        loss_ppb: step.loss_ppb,
    };
    steps.iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTES: Span = Span::from_ms(600_000);

    fn of(kind: Kind, seed: u64) -> Vec<Point> {
        course(&Config { kind, mean: Rate::from_bps(100_000_000), length: MINUTES, seed })
    }

    fn share(points: &[Point], is: impl Fn(&Point) -> bool) -> f64 {
        points.iter().filter(|point| is(point)).count() as f64 / points.len() as f64
    }

    fn rtt_ms(points: &[Point], percent: usize) -> f64 {
        let mut sorted: Vec<u64> = points.iter().map(|point| point.rtt.as_ns()).collect();
        sorted.sort_unstable();
        sorted[(sorted.len() - 1) * percent / 100] as f64 / 1e6
    }

    const ALL: [Kind; 3] =
        [Kind::Leo, Kind::FiveG(Mobility::Stationary), Kind::FiveG(Mobility::High)];

    #[test]
    fn the_seed_changes_the_course_and_not_its_mean() {
        for kind in ALL {
            let (one, again, other) = (of(kind, 1), of(kind, 1), of(kind, 2));
            assert_eq!(one, again);
            assert_ne!(one, other);
            for points in [one, other] {
                let mean =
                    points.iter().map(|p| p.rate_bps as f64).sum::<f64>() / points.len() as f64;
                assert!((mean / 1e8 - 1.0).abs() < 1e-3, "{kind:?}: {mean}");
            }
        }
    }

    #[test]
    fn a_satellite_path_has_the_published_rtts() {
        // Michel et al. 2022: 20 ms at least, quartiles of 40 and 60 ms with a median of 50.
        let points = of(Kind::Leo, 1);
        assert!(rtt_ms(&points, 0) >= 20.0, "{}", rtt_ms(&points, 0));
        assert!((38.0..46.0).contains(&rtt_ms(&points, 25)), "{}", rtt_ms(&points, 25));
        assert!((45.0..55.0).contains(&rtt_ms(&points, 50)), "{}", rtt_ms(&points, 50));
        assert!((53.0..63.0).contains(&rtt_ms(&points, 75)), "{}", rtt_ms(&points, 75));
    }

    #[test]
    fn a_satellite_path_changes_every_15_s() {
        let points = of(Kind::Leo, 3);
        let mean = |part: &[Point]| {
            part.iter().map(|p| p.rtt.as_ns() as f64 / 1e6).sum::<f64>() / part.len() as f64
        };
        // Means of the second before and after each step: the jumps are at one phase of 15 s.
        let jump = |i: usize| (mean(&points[i..i + 50]) - mean(&points[i - 50..i])).abs();
        let at = |phase: usize| {
            let places = (1..39).map(|k| k * 750 + phase);
            places.map(jump).sum::<f64>() / 38.0
        };
        let best = (0..750).max_by(|&a, &b| at(a).total_cmp(&at(b))).unwrap();
        let elsewhere = at((best + 375) % 750);
        assert!(at(best) > 3.0 * elsewhere, "{} ms at {best}, {elsewhere} ms between", at(best));
        let outages = share(&points, |p| p.rate_bps == 0) * 600.0 / 40.0;
        assert!((0.02..0.12).contains(&outages), "{outages} s for each change");
    }

    #[test]
    fn millimetre_waves_are_blocked_and_cells_change_in_motion_only() {
        let (rest, motion) =
            (of(Kind::FiveG(Mobility::Stationary), 1), of(Kind::FiveG(Mobility::High), 1));
        let outage = |points: &[Point]| share(points, |p| p.rate_bps == 0);
        assert!(outage(&rest) == 0.0 && outage(&motion) > 0.003, "{}", outage(&motion));
        let slow = |points: &[Point]| share(points, |p| p.rate_bps < 25_000_000);
        assert!(slow(&rest) < 0.1, "{}", slow(&rest));
        assert!((0.15..0.45).contains(&slow(&motion)), "{}", slow(&motion));
        assert!(rtt_ms(&motion, 95) > rtt_ms(&motion, 50) + 10.0);
    }
}
