//! Vectors from the formulas of RFC 9332 and the constants of sch_dualpi2.c.

use super::*;
use crate::bucket::LinkRate;
use crate::link::Tbf;
use crate::qdisc::testing::{assert_conserves, us, Probe};
use units::Rate;

/// Delays never reach the step.
const NO_STEP: Step = Step::Sojourn(Span::from_ms(100_000));

fn dualpi2(config: Config) -> Dualpi2<Probe> {
    Dualpi2::new(config, Rng::stream(1, "dualpi2"))
}

/// Probability in units of 1/1000.
fn probability(thousandths: u64) -> u32 {
    (u64::from(u32::MAX) * thousandths / 1000) as u32
}

/// Of 20000 packets that leave a long queue at probability `p`, how many of a thousand were marked and
/// dropped.
fn fates(config: Config, p: u32, ecn: u8) -> (u64, u64) {
    let mut queue = dualpi2(Config { limit: 30_000, ..config });
    queue.pi2.prob = p;
    let mut outcome = Outcome::default();
    for seq in 0..20_003 {
        queue.enqueue(Time::ZERO, Probe { seq, ecn, ..Probe::default() }, &mut outcome);
    }
    while queue.len() > 3 {
        queue.dequeue(Time::ZERO, &mut outcome);
    }
    (outcome.marks.len() as u64 / 20, outcome.drops.len() as u64 / 20)
}

fn about(value: u64, expected: u64) -> bool {
    value.abs_diff(expected) <= 12
}

#[test]
fn the_controller_follows_target_and_change_of_the_delay() {
    // Gains of 41/256 and 819/256 Hz are 44 and 879 in units of 64 ns and 2^-32.
    let mut pi2 = Pi2::new(&Config::default());
    assert_eq!((pi2.alpha, pi2.beta), (44, 879));
    let up = ((15_000_000u64 * 44 + 30_000_000 * 879) / 64) as u32;
    pi2.update(Span::from_ms(30));
    assert_eq!(pi2.prob, up);
    pi2.update(Span::from_ms(30));
    assert_eq!(pi2.prob, up + 15_000_000 * 44 / 64);
    pi2.update(Span::ZERO);
    assert_eq!(pi2.prob, 15_000_000 * 44 / 64);
    pi2.update(Span::ZERO);
    assert_eq!(pi2.prob, 0);
}

#[test]
fn without_drops_on_overload_the_probability_stops_where_all_l4s_packets_are_marked() {
    let mut pi2 = Pi2::new(&Config { drop_overload: false, ..Config::default() });
    (0..1000).for_each(|_| pi2.update(Span::from_ms(500)));
    assert_eq!(pi2.prob, u32::MAX / 2);
    let mut pi2 = Pi2::new(&Config::default());
    (0..1000).for_each(|_| pi2.update(Span::from_ms(500)));
    assert_eq!(pi2.prob, u32::MAX);
}

#[test]
fn the_timer_looks_at_the_longer_delay_every_sixteen_milliseconds() {
    let mut queue = dualpi2(Config::default());
    let mut outcome = Outcome::default();
    queue.enqueue(us(2_000), Probe::default(), &mut outcome);
    queue.enqueue(us(9_000), Probe { ecn: ecn::ECT1, ..Probe::default() }, &mut outcome);
    assert_eq!(queue.next_wakeup(), Some(us(16_000)));
    queue.on_timer(us(15_999));
    assert_eq!(queue.pi2.last_ns, 0);
    queue.on_timer(us(16_000));
    assert_eq!(queue.pi2.last_ns, 14_000_000);
    assert_eq!(queue.next_wakeup(), Some(us(32_000)));
}

#[test]
fn l4s_packets_are_marked_with_twice_and_classic_ones_with_the_square_of_the_probability() {
    let config = Config { step: NO_STEP, ..Config::default() };
    for p in [100, 250, 400] {
        let (marked, dropped) = fates(config, probability(p), ecn::ECT1);
        assert!(about(marked, 2 * p) && dropped == 0, "{p}: {marked} {dropped}");
        let (marked, dropped) = fates(config, probability(p), ecn::ECT0);
        assert!(about(marked, p * p / 1000) && dropped == 0, "{p}: {marked} {dropped}");
        let (marked, dropped) = fates(config, probability(p), ecn::NOT_ECT);
        assert!(about(dropped, p * p / 1000) && marked == 0, "{p}: {marked} {dropped}");
    }
}

#[test]
fn on_overload_both_queues_drop_with_the_square() {
    let config = Config { step: NO_STEP, ..Config::default() };
    let (marked, dropped) = fates(config, probability(700), ecn::ECT1);
    assert!(about(dropped, 490) && about(marked, 510), "{marked} {dropped}");
    let (marked, dropped) = fates(config, probability(700), ecn::ECT0);
    assert!(about(dropped, 490) && marked == 0, "{marked} {dropped}");
}

#[test]
fn ce_is_an_l4s_packet_and_any_ect_only_where_that_is_set() {
    let queue = dualpi2(Config::default());
    let l4s = |queue: &Dualpi2<Probe>| {
        [0, 1, 2, 3].map(|ecn| queue.is_l4s(&Probe { ecn, ..Probe::default() }))
    };
    assert_eq!(l4s(&queue), [false, true, false, true]);
    let queue = dualpi2(Config { classifier: Classifier::AnyEct, ..Config::default() });
    assert_eq!(l4s(&queue), [false, true, true, true]);
}

#[test]
fn the_step_marks_what_waited_longer_than_a_millisecond() {
    let mut queue = dualpi2(Config::default());
    let mut outcome = Outcome::default();
    for _ in 0..2 {
        queue.enqueue(Time::ZERO, Probe { ecn: ecn::ECT1, ..Probe::default() }, &mut outcome);
    }
    queue.dequeue(us(1_000), &mut outcome);
    assert!(outcome.is_empty());
    queue.dequeue(Time::from_ns(1_000_001), &mut outcome);
    assert_eq!(outcome.marks, [(0, Cause::Threshold)]);
}

#[test]
fn a_step_in_packets_counts_those_left_behind() {
    let mut queue = dualpi2(Config { step: Step::Packets(2), ..Config::default() });
    let mut outcome = Outcome::default();
    for _ in 0..5 {
        queue.enqueue(Time::ZERO, Probe { ecn: ecn::ECT1, ..Probe::default() }, &mut outcome);
    }
    let marked: Vec<bool> = (0..5)
        .map(|_| queue.dequeue(Time::ZERO, &mut outcome).is_some_and(|h| h.packet.ecn == ecn::CE))
        .collect();
    assert_eq!(marked, [true, true, false, false, false]);
}

#[test]
fn the_classic_queue_has_a_tenth_where_both_wait() {
    let mut queue = dualpi2(Config { step: NO_STEP, ..Config::default() });
    let mut outcome = Outcome::default();
    for seq in 0..1000 {
        queue.enqueue(Time::ZERO, Probe { seq, ..Probe::default() }, &mut outcome);
        let l4s = Probe { seq, flow: 1, ecn: ecn::ECT1, ..Probe::default() };
        queue.enqueue(Time::ZERO, l4s, &mut outcome);
    }
    let mut order = (0..1000).filter_map(|_| queue.dequeue(Time::ZERO, &mut outcome));
    // The first credit is 80 % of a packet's and what is above 0 goes to the classic queue.
    let first: Vec<u32> = order.by_ref().take(10).map(|head| head.packet.flow).collect();
    assert_eq!(first, [1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
    assert_eq!(order.filter(|head| head.packet.flow == 0).count(), 99);
}

#[test]
fn a_queue_of_less_than_two_full_packets_is_left_alone() {
    let mut queue = dualpi2(Config { step: NO_STEP, ..Config::default() });
    queue.pi2.prob = u32::MAX;
    let mut outcome = Outcome::default();
    for _ in 0..3 {
        queue.enqueue(Time::ZERO, Probe::default(), &mut outcome);
    }
    // The first leaves exactly two behind and is dropped, the next two go.
    assert!(queue.dequeue(Time::ZERO, &mut outcome).is_some());
    assert_eq!(outcome.drops.len(), 1);
    assert!(queue.dequeue(Time::ZERO, &mut outcome).is_some());
}

#[test]
fn limits_count_both_queues() {
    let accepted = |config| {
        let mut queue = dualpi2(config);
        let mut outcome = Outcome::default();
        for ecn in [0, 1, 0, 1, 0, 1] {
            queue.enqueue(Time::ZERO, Probe { ecn, ..Probe::default() }, &mut outcome);
        }
        queue.len()
    };
    assert_eq!(accepted(Config { limit: 4, ..Config::default() }), 4);
    let memory_limit = Some(Bytes::new(3 * 2014));
    assert_eq!(accepted(Config { memory_limit, ..Config::default() }), 3);
}

#[test]
fn every_setting_conserves_packets() {
    let config = Config { limit: 60, ..Config::default() };
    for drop_early in [false, true] {
        assert_conserves(|rng| Dualpi2::new(Config { drop_early, ..config }, rng), true);
    }
    let config = Config { drop_overload: false, classifier: Classifier::AnyEct, ..config };
    assert_conserves(|rng| Dualpi2::new(config, rng), true);
}

/// Which of `packets` that arrive together at a shaper are dropped, when the drop probability is 1.
fn dropped(config: Config, packets: u32) -> Vec<u32> {
    let mut queue = dualpi2(config);
    queue.pi2.prob = u32::MAX;
    let rate = LinkRate::Constant(Rate::from_bps(12_112_000));
    let mut tbf = Tbf::new(rate, Bytes::new(1514), queue);
    let mut outcome = Outcome::default();
    for seq in 0..packets {
        tbf.enqueue(Time::ZERO, Probe { seq, ..Probe::default() }, &mut outcome);
    }
    while let Some(at) = tbf.next_wakeup().filter(|_| !tbf.is_empty()) {
        tbf.on_timer(at);
        tbf.dequeue(at, &mut outcome);
    }
    outcome.drops.iter().map(|dropped| dropped.0.seq).collect()
}

#[test]
fn a_packet_at_the_shaper_is_part_of_the_queue_for_what_comes_and_not_for_what_leaves() {
    // Packet 0 is at the shaper; when it has left, 1 is spared with less than two behind it.
    assert_eq!(dropped(Config::default(), 3), []);
    assert_eq!(dropped(Config::default(), 4), [1]);
    // Packet 2 comes to two packets, 0 at the shaper and 1.
    let early = Config { drop_early: true, ..Config::default() };
    assert_eq!(dropped(early, 4), [2, 3]);
}
