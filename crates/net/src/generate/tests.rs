//! Generated traces against the recordings that they are modelled on, and against their own courses.

use super::*;

const LENGTH: Span = Span::from_ms(300_000);

fn config(radio: Radio, mobility: Mobility, seed: u64) -> Config {
    Config { radio, mobility, mean: Rate::from_bps(6_000_000), length: LENGTH, seed }
}

const ALL: [(Radio, Mobility); 4] = [
    (Radio::Lte, Mobility::Stationary),
    (Radio::Lte, Mobility::High),
    (Radio::Wifi, Mobility::Stationary),
    (Radio::Wifi, Mobility::High),
];

/// What `lte` tabulates of the recordings; means over some seeds.
#[derive(Debug, Default)]
struct Figures {
    variation: f64,
    forgets_s: f64,
    gap_share: f64,
    gaps_per_s: f64,
    busy: f64,
}

fn figures(trace: &Trace) -> Figures {
    let times = trace.times_ms();
    let length = trace.period().as_ns() / 1_000_000;
    let mut bins = vec![0.0; (length / 100) as usize + 1];
    times.iter().for_each(|&ms| bins[ms as usize / 100] += 1.0);
    let n = bins.len() as f64;
    let mean = bins.iter().sum::<f64>() / n;
    let covariance = |lag: usize| {
        let pairs = bins.iter().zip(&bins[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (n - lag as f64)
    };
    let variance = covariance(0);
    let lag = (1..bins.len()).find(|&lag| covariance(lag) < variance / 1f64.exp());
    let gaps = times.windows(2).map(|w| w[1] - w[0]);
    let long: Vec<u32> = gaps.filter(|&gap| gap >= 200).collect();
    let busy = 1 + times.windows(2).filter(|w| w[0] != w[1]).count();
    Figures {
        variation: variance.sqrt() / mean,
        forgets_s: lag.map_or(f64::INFINITY, |lag| lag as f64 / 10.0),
        gap_share: f64::from(long.iter().sum::<u32>()) / length as f64,
        gaps_per_s: long.len() as f64 * 1_000.0 / length as f64,
        busy: busy as f64 / length as f64,
    }
}

fn mean_figures(radio: Radio, mobility: Mobility) -> Figures {
    const SEEDS: u64 = 8;
    let mut mean = Figures::default();
    for seed in 0..SEEDS {
        let f = figures(&trace(&config(radio, mobility, seed)));
        mean.variation += f.variation / SEEDS as f64;
        mean.forgets_s += f.forgets_s / SEEDS as f64;
        mean.gap_share += f.gap_share / SEEDS as f64;
        mean.gaps_per_s += f.gaps_per_s / SEEDS as f64;
        mean.busy += f.busy / SEEDS as f64;
    }
    mean
}

#[test]
fn stationary_lte_lies_within_the_recordings() {
    let f = mean_figures(Radio::Lte, Mobility::Stationary);
    assert!((0.59..=0.75).contains(&f.variation), "{f:?}");
    assert!((1.8..=4.4).contains(&f.forgets_s), "{f:?}");
    assert!((0.017..=0.036).contains(&f.gap_share), "{f:?}");
    assert!((0.029..=0.064).contains(&f.gaps_per_s), "{f:?}");
    assert!((0.20..=0.32).contains(&f.busy), "{f:?}");
}

#[test]
fn lte_in_motion_lies_within_the_recordings() {
    let f = mean_figures(Radio::Lte, Mobility::High);
    assert!((0.60..=1.22).contains(&f.variation), "{f:?}");
    assert!((0.6..=20.6).contains(&f.forgets_s), "{f:?}");
    assert!((0.057..=0.136).contains(&f.gap_share), "{f:?}");
    assert!((0.088..=0.183).contains(&f.gaps_per_s), "{f:?}");
    assert!((0.12..=0.32).contains(&f.busy), "{f:?}");
}

#[test]
fn wifi_comes_in_bursts_and_only_roaming_interrupts_it() {
    let rest = mean_figures(Radio::Wifi, Mobility::Stationary);
    let motion = mean_figures(Radio::Wifi, Mobility::High);
    assert!(rest.gap_share < 0.001, "{rest:?}");
    // Half a second each fifteen and a half.
    assert!((0.02..0.05).contains(&motion.gap_share), "{motion:?}");
    assert!(motion.variation > 1.2 * rest.variation, "{rest:?} {motion:?}");
    let trace = trace(&Config {
        mean: Rate::from_bps(30_000_000),
        ..config(Radio::Wifi, Mobility::Stationary, 1)
    });
    let f = figures(&trace);
    let burst = trace.times_ms().len() as f64 / (f.busy * 300_000.0);
    // 2.5 opportunities a millisecond, gathered over one to three turns of 2.5 ms.
    assert!((6.0..19.0).contains(&burst), "{burst} opportunities a burst");
}

#[test]
fn the_mean_and_the_period_are_as_asked() {
    for (radio, mobility) in ALL {
        for mbps in [1, 20, 300] {
            let mean = Rate::from_bps(mbps * 1_000_000);
            let config = Config { mean, ..config(radio, mobility, 3) };
            let trace = trace(&config);
            assert_eq!(trace.period(), LENGTH);
            let bits = trace.times_ms().len() as u64 * 12_000;
            // WiFi's aggregates have room for 64 packets a turn, so it cannot carry 300 Mbit/s.
            let is_bound = radio == Radio::Wifi && mbps == 300;
            assert!(
                is_bound || bits.abs_diff(mbps * 300_000_000) < mbps * 3_000_000,
                "{config:?}: {bits}"
            );
            let end = Time::ZERO + LENGTH;
            let course = course(&config).bit_ns(Time::ZERO, end) / u128::from(LENGTH.as_ns());
            assert!(course.abs_diff(mean.as_bps().into()) < 10_000, "{config:?}: {course}");
        }
    }
}

#[test]
fn a_trace_follows_its_course() {
    for (radio, mobility) in ALL {
        let config = config(radio, mobility, 5);
        let (course, trace) = (course(&config), trace(&config));
        for second in 0..300 {
            let at = |s: u64| Time::from_ns(s * 1_000_000_000);
            let planned = course.bit_ns(at(second), at(second + 1)) / 1_000_000_000;
            let ms = second as u32 * 1_000;
            let count = trace.times_ms().iter().filter(|&&t| t > ms && t <= ms + 1_000).count();
            let came = count as u128 * 12_000;
            // What one grant or turn carries may fall on either side of the second's ends.
            assert!(came.abs_diff(planned) < 500_000 + planned / 5, "{config:?}, {second} s");
        }
    }
}

#[test]
fn the_seed_alone_decides() {
    for (radio, mobility) in ALL {
        let generated = |seed| trace(&config(radio, mobility, seed));
        assert_eq!(generated(1), generated(1));
        assert_ne!(generated(1), generated(2));
    }
}
