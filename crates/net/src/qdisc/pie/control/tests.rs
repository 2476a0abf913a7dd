//! The controller's arithmetic, against numbers worked out from the formulas apart from the code.

use super::*;

/// The defaults: 15 ms, 2/16 and 20/16.
const DEFAULTS: Parameters = Parameters {
    target: 234_375,
    alpha: 2,
    beta: 20,
    mtu: 1514,
    bytemode: false,
    dq_rate_estimator: false,
};

const fn ms(ms: u64) -> u64 {
    ticks(ms * 1_000_000)
}

/// A controller without burst allowance.
fn state(probability: u64, delay: u64, old_delay: u64) -> State {
    State { burst: 0, probability, delay, old_delay, ..State::default() }
}

fn updated(probability: u64, delay: u64, old_delay: u64, backlog: u64) -> u64 {
    let mut state = state(probability, delay, old_delay);
    state.update(&DEFAULTS, backlog);
    state.probability
}

#[test]
fn gains_shrink_with_each_magnitude_of_the_probability() {
    // At 25 ms, 20 ms before: 10 ms above target, 5 ms of growth. ONE / 15625000 = 4611686018 is the
    // unit, so alpha is 576460752 and beta 5764607522 a tick: 0.75 % in all at 10 % and above.
    for (probability, rise) in [
        (ONE / 10, 540_431_955_156_250),
        (ONE / 20, 270_215_977_578_125),
        (ONE / 200, 67_553_994_375_000),
        (ONE / 2000, 16_888_498_515_625),
        (ONE / 20_000, 4_222_124_531_250),
        (ONE / 200_000, 1_055_531_015_625),
        (ONE / 2_000_000, 263_882_578_125),
        (0, 263_882_578_125),
    ] {
        assert_eq!(updated(probability, ms(25), ms(20), 1) - probability, rise, "{probability}");
    }
}

#[test]
fn a_shorter_delay_lowers_the_probability_to_zero_and_not_below() {
    // 5 ms below target and 5 ms less than before, at 5 %.
    let fall = (288_230_376 + 2_882_303_761) * 78_125;
    assert_eq!(updated(ONE / 20, ms(10), ms(15), 1), ONE / 20 - fall);
    // At 5e-7 the same would take (281474 + 2814749) 78125, more than there is.
    assert_eq!(updated(ONE / 2_000_000, ms(10), ms(15), 1), 0);
}

#[test]
fn a_large_probability_rises_by_two_percent_at_most() {
    // 100 ms of growth are 12.5 % and more.
    assert_eq!(updated(ONE / 10, ms(200), ms(100), 1), ONE / 10 + ONE / 50);
    assert!(updated(ONE / 10 - 1, ms(200), ms(100), 1) > ONE / 10 + 3 * (ONE / 50));
}

#[test]
fn above_250_ms_two_percent_are_added() {
    let slow = updated(ONE / 10, ms(250), ms(250), 1);
    // 235 ms above target at 0.125 a second are 2.94 %, capped.
    assert_eq!(slow, ONE / 10 + ONE / 50);
    assert_eq!(updated(ONE / 10, ms(250) + 1, ms(250), 1), slow + ONE / 50);
}

#[test]
fn the_probability_has_no_ceiling_but_64_bits() {
    assert!(updated(ONE, ms(300), ms(300), 1) > ONE);
    assert_eq!(updated(u64::MAX, ms(300), ms(300), 1), ONE);
}

#[test]
fn two_updates_without_delay_take_a_64th_if_nothing_waits() {
    // 15 ms below target at 0.125 a second.
    let rest = ONE / 2 - 576_460_752 * 234_375;
    assert_eq!(updated(ONE / 2, 0, 0, 0), rest - rest / 64);
    assert_eq!(updated(ONE / 2, 0, 0, 1), rest);
    assert_eq!(updated(ONE / 2, 0, ms(1), 0), rest - 5_764_607_522 * 15_625);
}

#[test]
fn the_delay_is_that_of_the_packet_sent_last_and_none_when_it_leaves_nothing_behind() {
    let mut state = State::default();
    let at = |ms| Time::ZERO + Span::from_ms(ms);
    state.on_dequeue(&DEFAULTS, at(30), at(10), 1514, 1);
    assert_eq!(state.delay, ms(20));
    state.on_dequeue(&DEFAULTS, at(31), at(10), 1514, 0);
    assert_eq!(state.delay, 0);
}

#[test]
fn a_burst_of_150_ms_is_let_through_and_idle_time_counts() {
    let mut state = State { delay: ms(500), probability: ONE * 9, ..State::default() };
    let mut rng = Rng::stream(1, "pie");
    let at = |ms| Time::ZERO + Span::from_ms(ms);
    let mut drops = |state: &mut State| state.drops_early(&DEFAULTS, 100_000, 1514, &mut rng);
    // The first dequeue only starts the count.
    for now in [400, 420, 549] {
        state.on_dequeue(&DEFAULTS, at(now), at(now - 50), 1514, 1);
        assert!(!drops(&mut state), "{now}");
    }
    assert_eq!(state.burst, ms(1));
    state.on_dequeue(&DEFAULTS, at(550), at(500), 1514, 1);
    assert!(drops(&mut state));
    // A calm queue at probability 0 has its allowance renewed.
    let mut calm = self::state(0, ms(7), ms(7));
    (calm.accumulated, calm.stamp) = (7, Some(1));
    calm.update(&DEFAULTS, 1);
    assert_eq!((calm.burst, calm.accumulated, calm.stamp), (MAX_BURST, 0, None));
    let mut busy = self::state(0, ms(8), ms(7));
    busy.update(&DEFAULTS, 1);
    assert_eq!(busy.burst, 0);
}

#[test]
fn nothing_is_dropped_while_calm_or_with_two_packets() {
    let mut rng = Rng::stream(1, "pie");
    let mut drops = |probability, delay, backlog| {
        let mut state = State { accumulated: 9 * ONE, ..state(probability, delay, 0) };
        state.drops_early(&DEFAULTS, backlog, 1514, &mut rng)
    };
    assert!(drops(ONE / 6, DEFAULTS.target / 2, 3028));
    assert!(!drops(ONE / 6, DEFAULTS.target / 2 - 1, 3028));
    assert!(drops(ONE / 5, DEFAULTS.target / 2 - 1, 3028));
    assert!(!drops(ONE / 6, DEFAULTS.target / 2, 3027));
}

/// Packets up to each drop at a constant probability.
fn gaps(probability: u64) -> Vec<u64> {
    let (mut state, mut rng) = (state(probability, ms(100), 0), Rng::stream(1, "pie"));
    let (mut gaps, mut gap) = (vec![], 0);
    for _ in 0..100_000 {
        gap += 1;
        if state.drops_early(&DEFAULTS, 100_000, 1514, &mut rng) {
            // As the discipline does when it drops.
            state.accumulated = 0;
            gaps.push(gap);
            gap = 0;
        }
    }
    gaps
}

#[test]
fn drops_are_at_least_0_85_and_at_most_8_5_expected_gaps_apart() {
    let gaps = gaps(ONE / 100);
    // The sum reaches 0.85 with packet 86 (100 floored hundredths) and 8.5 with packet 851.
    assert!(gaps.iter().all(|gap| (85..=851).contains(gap)), "{gaps:?}");
    // 84 or 85 packets pass, then each has 1 %: 185 on average, 541 drops.
    assert!((500..585).contains(&gaps.len()), "{}", gaps.len());
}

#[test]
fn bytemode_scales_the_probability_with_the_length_up_to_an_mtu() {
    let p = Parameters { bytemode: true, ..DEFAULTS };
    let mut rng = Rng::stream(1, "pie");
    let mut after = |len| {
        let mut state = state(ONE / 10, ms(100), 0);
        state.drops_early(&p, 100_000, len, &mut rng);
        state.accumulated
    };
    assert_eq!(after(757), 757 * (ONE / 10 / 1514));
    assert_eq!(after(1515), ONE / 10);
}

#[test]
fn the_estimator_measures_the_rate_over_16_kib_and_divides_the_backlog_by_it() {
    let p = Parameters { dq_rate_estimator: true, ..DEFAULTS };
    let mut state = State::default();
    // 1024 bytes each 64 us: 16384 bytes from the first, which starts the cycle, to the sixteenth
    // are 15 000 ticks: 2^22 / 15000 = 279 a tick, times 2^-8.
    let send = |state: &mut State, n: u64, backlog| {
        let now = Time::from_ns(n * 64_000);
        state.on_dequeue(&p, now, now, 1024, backlog);
    };
    for n in 0..16 {
        assert_eq!(state.rate, 0);
        send(&mut state, n, 20_000);
    }
    assert_eq!((state.rate, state.cycle), (279, Some(0)));
    assert_eq!(state.burst, MAX_BURST - 15_000);
    // The next cycle's 2^22 / 16000 = 262 counts an eighth; then too little waits for a third.
    for n in 16..32 {
        send(&mut state, n, 16_383);
    }
    assert_eq!((state.rate, state.cycle), (279 - 34 + 32, None));
    // 20000 bytes are less than 2 ms, so the measurement starts again.
    state.update(&p, 20_000);
    assert_eq!((state.delay, state.old_delay, state.rate), (20_000 * 256 / 277, 0, 0));
}
