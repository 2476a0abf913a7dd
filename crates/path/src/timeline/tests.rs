//! Order, moved events, slack, and what is far away.

use super::*;

fn drain(t: &mut Timeline) -> Vec<(u64, u32)> {
    let mut out = Vec::new();
    while let Some((at, slot)) = t.advance() {
        t.clear(slot);
        out.push((at.as_ns(), slot));
    }
    out
}

#[test]
fn ties_run_in_the_order_they_were_scheduled() {
    let mut t = Timeline::new(4);
    for slot in [2, 0, 3, 1] {
        t.set(slot, Time::from_ns(7));
    }
    assert_eq!(drain(&mut t), [(7, 2), (7, 0), (7, 3), (7, 1)]);
}

#[test]
fn moved_and_cleared_slots_come_out_in_order() {
    let mut t = Timeline::new(200);
    let mut x = 12345u64;
    let mut expected = vec![0; 200];
    for _ in 0..10 {
        for slot in 0..200u32 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            expected[slot as usize] = x >> 40;
            t.set(slot, Time::from_ns(x >> 40));
        }
    }
    for slot in (0..200).step_by(3) {
        t.clear(slot);
    }
    let out = drain(&mut t);
    assert!(out.is_sorted_by_key(|e| e.0));
    assert_eq!(out.len(), 133);
    assert!(out.iter().all(|&(at, slot)| at == expected[slot as usize] && slot % 3 != 0));
}

#[test]
fn a_later_deadline_leaves_the_slot_where_it_is() {
    let mut t = Timeline::new(1);
    t.set_if_earlier(0, Time::from_ns(5));
    t.set_if_earlier(0, Time::from_ns(9));
    assert_eq!(t.advance(), Some((Time::from_ns(5), 0)));
    t.set_if_earlier(0, Time::NEVER);
    assert_eq!(t.advance(), Some((Time::from_ns(5), 0)));
}

#[test]
fn a_slot_that_is_taken_up_comes_up_again_only_if_it_is_set() {
    for is_many in [false, true] {
        let mut t = Timeline::new(3);
        if is_many {
            t.for_many();
        }
        (0..3).for_each(|slot| t.set(slot, Time::from_ns(u64::from(slot) + 1)));
        // The first is set again, to times before and after those of the others, and far away; the second is not.
        for again in [1, 20_000, 900_000_000] {
            assert_eq!(t.advance().map(|(_, slot)| slot), Some(0));
            t.take_up(0);
            t.set_if_earlier(0, Time::from_ns(again));
            t.set_if_earlier(0, Time::from_ns(again + 5));
            t.let_go(0);
            if again > 1 {
                for slot in [1, 2] {
                    assert_eq!(t.advance().map(|(_, slot)| slot), Some(slot));
                    t.take_up(slot);
                    t.let_go(slot);
                    t.set(slot, Time::from_ns(again + 10 + u64::from(slot)));
                }
            }
        }
        assert_eq!(drain(&mut t), [(900_000_000, 0), (900_000_011, 1), (900_000_012, 2)]);
    }
}

/// Slots in the order in which they come up, each of which fires.
fn fire_all(t: &mut Timeline) -> Vec<(u64, u32)> {
    let mut out = Vec::new();
    while let Some((at, slot)) = t.advance() {
        t.clear(slot);
        t.fire();
        out.push((at.as_ns(), slot));
    }
    out
}

/// Slot 0 fires at 30 ns at the latest, from 20 ns on with another.
fn late(others: &[u64]) -> Timeline {
    let mut t = Timeline::new(4);
    t.set_with_slack_if_earlier(0, Time::from_ns(30), Span::from_ns(10));
    for (slot, &at) in (1..).zip(others) {
        t.set(slot, Time::from_ns(at));
    }
    t
}

#[test]
fn a_timer_that_may_be_late_fires_with_the_last_that_fires_before_its_time() {
    assert_eq!(fire_all(&mut late(&[])), [(30, 0)]);
    assert_eq!(fire_all(&mut late(&[19, 31])), [(19, 1), (30, 0), (31, 2)]);
    assert_eq!(fire_all(&mut late(&[20])), [(20, 1), (20, 0)]);
    // At 21 ns the processor is woken for 25 ns anyway.
    assert_eq!(fire_all(&mut late(&[21, 25])), [(21, 1), (25, 2), (25, 0)]);
}

#[test]
fn timers_that_may_be_late_fire_together() {
    let mut t = late(&[]);
    t.set_with_slack_if_earlier(1, Time::from_ns(38), Span::from_ns(10));
    t.set_with_slack_if_earlier(2, Time::from_ns(41), Span::from_ns(10));
    assert_eq!(fire_all(&mut t), [(30, 0), (30, 1), (41, 2)]);
}

/// Numbers of a linear congruential generator.
fn numbers(mut x: u64) -> impl FnMut() -> u64 {
    move || {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        x >> 33
    }
}

#[test]
fn many_slots_come_up_in_the_order_of_a_plain_heap() {
    let mut random = numbers(2);
    let (mut plain, mut many) = (Timeline::new(300), Timeline::new(300));
    many.for_many();
    // Times within a bucket, within a turn and beyond it, ties, moves both ways, slots taken out, and slack.
    let spans = [7, 40_000, 3_000_000, 900_000_000];
    let mut now = Time::ZERO;
    for step in 0..40_000 {
        let (slot, span) = ((random() % 300) as u32, spans[(random() % 4) as usize]);
        let at = now + Span::from_ns(random() % span / 4 * 4);
        for t in [&mut plain, &mut many] {
            match step % 7 {
                0 => t.clear(slot),
                1..=3 => t.set(slot, at),
                4 => t.set_with_slack_if_earlier(slot, at, Span::from_us(10)),
                _ => t.set_if_earlier(slot, at),
            }
        }
        assert_eq!(plain.next_at(), many.next_at());
        if step % 3 == 0 {
            let (next, same) = (plain.advance(), many.advance());
            assert_eq!(next, same, "step {step}");
            if let Some((at, slot)) = next {
                now = at;
                for t in [&mut plain, &mut many] {
                    t.fire();
                    t.clear(slot);
                }
            }
        }
    }
    assert_eq!(fire_all(&mut plain), fire_all(&mut many));
}

#[test]
fn slots_that_are_kept_apart_come_up_in_the_same_order() {
    let mut random = numbers(3);
    let (mut plain, mut apart) = (Timeline::new(40), Timeline::new(40));
    (0..12).for_each(|slot| apart.keep_apart(slot));
    let mut now = Time::ZERO;
    for step in 0..40_000 {
        let (slot, later) = ((random() % 40) as u32, random() % 50 / 4 * 4);
        let at = now + Span::from_ns(later);
        for t in [&mut plain, &mut apart] {
            match step % 5 {
                0 => t.clear(slot),
                // Those that may be kept apart have no slack.
                1 if slot >= 12 => t.set_with_slack_if_earlier(slot, at, Span::from_ns(9)),
                _ => t.set(slot, at),
            }
        }
        if step % 2 == 0 {
            let (next, same) = (plain.advance(), apart.advance());
            assert_eq!(next, same, "step {step}");
            if let Some((at, slot)) = next {
                now = at;
                for t in [&mut plain, &mut apart] {
                    t.fire();
                    t.clear(slot);
                }
            }
        }
    }
    assert_eq!(fire_all(&mut plain), fire_all(&mut apart));
}

#[test]
fn what_comes_soon_is_told_before_it_comes() {
    // 5 us apart: one or two in a bucket.
    let mut t = Timeline::new(2_000);
    t.for_many();
    (0..2_000).for_each(|slot| t.set(slot, Time::from_ns(u64::from(slot) * 5_000)));
    let mut told = [0; 3];
    while let Some((_, slot)) = t.advance() {
        t.clear(slot);
        for (i, soon) in t.coming().into_iter().chain(t.coming()).enumerate() {
            let Some(soon) = soon else { continue };
            assert!(soon > slot && soon <= slot + 8, "{soon} after {slot}");
            told[i % 3] += 1;
        }
    }
    assert!(told.iter().all(|&times| times > 1_800), "{told:?}");
}

#[test]
fn a_deadline_that_is_none_wakes_no_timer_that_may_be_late() {
    assert_eq!(drain(&mut late(&[25])), [(25, 1), (30, 0)]);
}

#[test]
#[should_panic(expected = "scheduled in the past")]
fn scheduling_in_the_past_is_a_bug() {
    let mut t = Timeline::new(2);
    t.set(0, Time::from_ns(5));
    t.advance();
    t.set(1, Time::from_ns(4));
}
