//! Vectors from the rules of sch_fq.c.

use super::*;
use crate::frame::ecn;
use crate::qdisc::testing::{assert_conserves, us, Probe};

fn fq(config: Config) -> Fq<Probe> {
    Fq::new(config, Rng::stream(1, "fq"))
}

/// Enqueues; returns how many were refused.
fn fill(queue: &mut Fq<Probe>, now: Time, count: u32, packet: Probe) -> usize {
    let mut outcome = Outcome::default();
    for seq in 0..count {
        queue.enqueue(now, Probe { seq, ..packet }, &mut outcome);
    }
    outcome.drops.len()
}

/// Times in us at which packets leave, taken as soon as each may, and the packets.
fn departures(queue: &mut Fq<Probe>, mut now: Time, count: usize) -> Vec<(u64, Probe)> {
    let mut outcome = Outcome::default();
    let mut departures = Vec::new();
    while departures.len() < count {
        match queue.dequeue(now, &mut outcome) {
            Some(head) => departures.push((now.as_us(), head.packet)),
            None => now = queue.next_wakeup().expect("packets wait"),
        }
    }
    departures
}

/// This many packets of another flow first, which take the fast path.
fn occupy_fast_path(queue: &mut Fq<Probe>) {
    fill(queue, Time::ZERO, FAST_MAX as u32, Probe { flow: 99, ..Probe::default() });
}

#[test]
fn a_flow_holds_a_hundred_packets_beside_eight_on_the_fast_path() {
    let mut queue = fq(Config::default());
    assert_eq!(fill(&mut queue, Time::ZERO, 108, Probe::default()), 0);
    assert_eq!(fill(&mut queue, Time::ZERO, 2, Probe::default()), 2);
    assert_eq!(fill(&mut queue, Time::ZERO, 2, Probe { flow: 1, ..Probe::default() }), 0);
}

#[test]
fn a_band_holds_its_limit_and_the_others_are_not_concerned() {
    let mut queue = fq(Config { limit: 5, ..Config::default() });
    occupy_fast_path(&mut queue);
    assert_eq!(fill(&mut queue, Time::ZERO, 7, Probe::default()), 2);
    assert_eq!(fill(&mut queue, Time::ZERO, 5, Probe { dscp: 4, ..Probe::default() }), 0);
}

#[test]
fn flows_share_by_bytes() {
    let mut queue = fq(Config { flow_limit: 10_000, ..Config::default() });
    occupy_fast_path(&mut queue);
    fill(&mut queue, Time::ZERO, 500, Probe { len: 1500, ..Probe::default() });
    fill(&mut queue, Time::ZERO, 2500, Probe { flow: 1, len: 300, ..Probe::default() });
    let sent = departures(&mut queue, Time::ZERO, 1500);
    let bytes =
        |flow| -> u64 { sent.iter().filter(|(_, p)| p.flow == flow).map(|(_, p)| p.len).sum() };
    // At most a quantum and a packet apart.
    assert!(bytes(0).abs_diff(bytes(1)) <= 3028 + 1500, "{} {}", bytes(0), bytes(1));
}

#[test]
fn a_new_flow_sends_its_initial_quantum_at_once() {
    let mut queue = fq(Config::default());
    occupy_fast_path(&mut queue);
    fill(&mut queue, Time::ZERO, 30, Probe { flow: 0, ..Probe::default() });
    fill(&mut queue, Time::ZERO, 30, Probe { flow: 1, ..Probe::default() });
    let flows: Vec<u32> =
        departures(&mut queue, Time::ZERO, 34).iter().map(|(_, p)| p.flow).collect();
    assert_eq!(flows[..8], [99; 8]);
    // 15140 bytes are ten packets, 3028 are two.
    assert_eq!(flows[8..18], [0; 10]);
    assert_eq!(flows[18..28], [1; 10]);
    assert_eq!(flows[28..], [0, 0, 1, 1, 0, 0]);
}

#[test]
fn maxrate_lets_a_quantum_go_and_then_pauses_for_it() {
    // 1 byte/us: ten packets of the initial quantum, then two each 3028 us.
    let maxrate = Some(Rate::from_bps(8_000_000));
    let mut queue = fq(Config { maxrate, ..Config::default() });
    fill(&mut queue, Time::ZERO, 16, Probe::default());
    let times: Vec<u64> =
        departures(&mut queue, Time::ZERO, 16).iter().map(|(at, _)| *at).collect();
    assert_eq!(times[..10], [0; 10]);
    assert_eq!(times[10..], [3028, 3028, 6056, 6056, 9084, 9084]);
}

#[test]
fn at_a_low_rate_every_packet_is_paced() {
    // 50 byte/ms: 30280 us a packet.
    let maxrate = Some(Rate::from_bps(400_000));
    let mut queue = fq(Config { maxrate, ..Config::default() });
    fill(&mut queue, Time::ZERO, 4, Probe::default());
    let times: Vec<u64> = departures(&mut queue, Time::ZERO, 4).iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 30_280, 60_560, 90_840]);
}

#[test]
fn a_packet_that_left_late_shortens_the_pause_by_half_at_most() {
    let next_after = |late_us: u64| {
        let maxrate = Some(Rate::from_bps(400_000));
        let mut queue = fq(Config { maxrate, ..Config::default() });
        fill(&mut queue, Time::ZERO, 3, Probe::default());
        departures(&mut queue, Time::ZERO, 1);
        let at = 30_280 + late_us;
        assert_eq!(departures(&mut queue, us(at), 1)[0].0, at);
        departures(&mut queue, us(at), 1)[0].0 - at
    };
    assert_eq!(next_after(10_000), 20_280);
    assert_eq!(next_after(20_000), 15_140);
}

#[test]
fn no_pause_is_longer_than_a_second() {
    let mut queue = fq(Config { maxrate: Some(Rate::from_bps(80)), ..Config::default() });
    fill(&mut queue, Time::ZERO, 2, Probe::default());
    assert_eq!(departures(&mut queue, Time::ZERO, 2)[1].0, 1_000_000);
}

#[test]
fn credit_is_refilled_after_more_than_forty_milliseconds_off_the_lists() {
    let credit_at = |now_us: u64| {
        let mut queue = fq(Config::default());
        queue.flows[3].credit = 100;
        // Detached in tick 11 of 4 ms; 40 ms are ten ticks, and the eleventh is more.
        queue.attach(us(now_us), 3, 11);
        queue.flows[3].credit
    };
    assert_eq!(credit_at(87_999), 100);
    assert_eq!(credit_at(88_000), 3028);
}

#[test]
fn bands_share_nine_to_three_to_one() {
    let mut queue = fq(Config { flow_limit: 10_000, ..Config::default() });
    occupy_fast_path(&mut queue);
    for (flow, dscp) in [(0, 4), (1, 0), (2, 2)] {
        fill(&mut queue, Time::ZERO, 6000, Probe { flow, dscp, ..Probe::default() });
    }
    // Five rounds of 851968 bytes: 2813 packets.
    let sent = departures(&mut queue, Time::ZERO, 2813);
    let count = |flow| sent.iter().filter(|(_, p)| p.flow == flow).count();
    assert!(count(0).abs_diff(1947) < 30, "{}", count(0));
    assert!(count(1).abs_diff(649) < 30, "{}", count(1));
    assert!(count(2).abs_diff(216) < 30, "{}", count(2));
}

#[test]
fn what_leaves_later_than_the_threshold_is_marked() {
    let mut queue = fq(Config { ce_threshold: Some(Span::from_ms(1)), ..Config::default() });
    occupy_fast_path(&mut queue);
    fill(&mut queue, us(10), 2, Probe { ecn: ecn::ECT0, ..Probe::default() });
    departures(&mut queue, us(10), FAST_MAX);
    let mut outcome = Outcome::default();
    queue.dequeue(us(1_010), &mut outcome);
    assert!(outcome.is_empty());
    queue.dequeue(us(1_011), &mut outcome);
    assert_eq!(outcome.marks, [(0, Cause::Threshold)]);
}

#[test]
fn every_setting_conserves_packets() {
    let config = Config { limit: 40, flow_limit: 10, ..Config::default() };
    assert_conserves(|rng| Fq::new(config, rng), true);
    let maxrate = Some(Rate::from_bps(300_000));
    assert_conserves(|rng| Fq::new(Config { maxrate, ..config }, rng), true);
    // All flows in two queues.
    assert_conserves(|rng| Fq::new(Config { orphan_mask: 1, ..config }, rng), true);
}

#[test]
fn flows_that_the_mask_does_not_tell_apart_share_one_limit_and_leave_as_they_came() {
    for (orphan_mask, refused) in [(1023, 0), (0, 60)] {
        let mut queue = fq(Config { orphan_mask, ..Config::default() });
        occupy_fast_path(&mut queue);
        let first = fill(&mut queue, Time::ZERO, 80, Probe::default());
        let second = fill(&mut queue, Time::ZERO, 80, Probe { flow: 1, ..Probe::default() });
        assert_eq!((first, second), (0, refused), "mask {orphan_mask}");
        let order: Vec<u32> =
            departures(&mut queue, us(1), 108).iter().map(|(_, packet)| packet.flow).collect();
        assert_eq!(order[8..].is_sorted(), orphan_mask == 0, "mask {orphan_mask}");
    }
}
