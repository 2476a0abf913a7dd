//! Timers, limits and marks.

use super::*;
use crate::ecn;
use crate::packet::Packet;

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn packet(ecn: u8) -> Packet {
    Packet { len: 1448, ecn, ..Packet::default() }
}

fn pie(config: Config) -> Pie<Packet> {
    Pie::new(config, Rng::stream(1, "pie"))
}

/// When the first four updates are.
fn updates(config: Config) -> Vec<u64> {
    let mut pie = pie(config);
    let mut next = || {
        let at = pie.next_wakeup()?;
        pie.on_timer(at);
        Some(at.as_us() / 1000)
    };
    std::iter::from_fn(&mut next).take(4).collect()
}

#[test]
fn updates_begin_after_half_a_second_and_last_a_tick_longer_than_set() {
    let at = |hz| updates(Config { hz, ..Config::default() });
    assert_eq!(at(1000), [504, 520, 536, 552]);
    // 15 ms are 4 ticks of 4 ms, and one.
    assert_eq!(at(250), [512, 532, 552, 572]);
    assert_eq!(at(100), [510, 540, 570, 600]);
    assert_eq!(updates(Config { tupdate: Span::ZERO, ..Config::default() }), [504]);
}

#[test]
fn the_share_fades_only_when_not_even_a_shaper_holds_a_packet() {
    let after = |bytes| {
        let mut pie = pie(Config::default());
        pie.state.probability = ONE / 10;
        pie.shaper_holds(Bytes::new(bytes));
        pie.on_timer(at_ms(504));
        pie.state.probability
    };
    let (idle, busy) = (after(0), after(1514));
    assert_eq!(idle, busy - busy / 64);
}

#[test]
fn a_timer_that_is_not_due_changes_nothing() {
    let mut pie = pie(Config::default());
    pie.on_timer(at_ms(503));
    assert_eq!(pie.next_wakeup(), Some(at_ms(504)));
}

#[test]
fn a_steady_overload_settles_at_target_and_at_the_share_that_is_too_much() {
    let (mut pie, mut outcome, mut waits) = (pie(Config::default()), Outcome::default(), vec![]);
    // A link that sends a packet a millisecond, of which one and a half come.
    let steps = 120_000u64;
    for step in 0..steps {
        let now = Time::from_ns(step * 500_000);
        pie.on_timer(now);
        if step % 4 != 3 {
            pie.enqueue(now, packet(ecn::ECT0), &mut outcome);
        }
        if step % 2 == 1 {
            waits.extend(pie.dequeue(now, &mut outcome).map(|q| now.since(q.since)));
        }
        if step == steps / 2 {
            outcome.drops.clear();
            waits.clear();
        }
    }
    let mean = waits.iter().map(|wait| wait.as_us()).sum::<u64>() / waits.len() as u64;
    assert!((12_000..18_000).contains(&mean), "{mean} us");
    // A third of the 45000 that came.
    assert!((14_500..15_500).contains(&outcome.drops.len()), "{}", outcome.drops.len());
    assert!(outcome.drops.iter().all(|d| d.1 == Cause::Aqm) && outcome.marks.is_empty());
}

/// What becomes of a packet that is to be signalled: whether it is queued, marked, and whether the
/// sum that led to it still stands.
fn signalled(config: Config, probability: u64, ecn: u8) -> (bool, bool, bool) {
    let (mut pie, mut outcome) = (pie(config), Outcome::default());
    for _ in 0..4 {
        pie.enqueue(Time::ZERO, packet(ecn::ECT0), &mut outcome);
    }
    // The allowance runs out between two dequeues, and the second leaves a delay behind.
    pie.dequeue(at_ms(10), &mut outcome);
    pie.dequeue(at_ms(400), &mut outcome);
    (pie.state.probability, pie.state.accumulated) = (probability, 9 * ONE);
    pie.enqueue(at_ms(400), packet(ecn), &mut outcome);
    (pie.len() == 3, outcome.marks == [(0, Cause::Aqm)], pie.state.accumulated > 0)
}

#[test]
fn ecn_marks_up_to_its_limit_and_drops_above_and_without() {
    let on = Config { ecn: true, ..Config::default() };
    // Marked by the sum alone, the sum stands; a drop takes it away.
    assert_eq!(signalled(on, ONE / 10, ecn::ECT0), (true, true, true));
    assert_eq!(signalled(on, ONE / 10 + 1, ecn::ECT0), (false, false, false));
    assert_eq!(signalled(on, ONE / 10, ecn::NOT_ECT), (false, false, false));
    assert_eq!(signalled(Config::default(), ONE / 10, ecn::ECT0), (false, false, false));
    let higher = Config { ecn_limit: 30, ..on };
    assert_eq!(signalled(higher, ONE / 4, ecn::ECT0), (true, true, true));
}

#[test]
fn beyond_the_limit_what_comes_is_dropped_and_the_sum_starts_anew() {
    let mut pie = pie(Config { limit: 2, ..Config::default() });
    let mut outcome = Outcome::default();
    pie.state.accumulated = 7;
    for _ in 0..3 {
        pie.enqueue(Time::ZERO, packet(ecn::ECT0), &mut outcome);
    }
    assert_eq!(outcome.drops, [(packet(ecn::ECT0), Cause::Overflow)]);
    assert_eq!((pie.len(), pie.backlog(), pie.state.accumulated), (2, Bytes::new(3028), 0));
}
