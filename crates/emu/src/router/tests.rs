//! The loop between simulated devices: which frames leave, when, and what is counted.

use super::*;
use crate::header::flag;
use crate::hosts::DATA_PORT;
use crate::simulated::{answer, ms, opened, plan, sent, SimClock, SimDevices, CONTROL_PORT, FULL};

fn data(seq: u32) -> Vec<u8> {
    sent(DATA_PORT, flag::ACK, seq, FULL)
}

fn router(plan: &Plan, devices: &SimDevices) -> Router<SimClock, SimDevices> {
    let (clock, state) = (devices.clock.clone(), RunState::new(plan.flows.len()));
    let classifier = Classifier::ByAddress { own_receivers: true };
    Router::new(plan, classifier, devices.clone(), clock, state).expect("a path")
}

#[test]
fn frames_take_the_delay_and_the_bottleneck_and_answers_the_way_back() {
    let devices = opened();
    for i in 0..3 {
        devices.send(ms(30), Direction::Forward, &data(1_000 + i * FULL as u32));
    }
    devices.send(ms(50), Direction::Back, &answer(DATA_PORT, flag::ACK, 1_000 + 2 * 1_460, 0));
    let routed = router(&plan(""), &devices).run().0;
    assert_eq!(devices.times_us(Direction::Forward), [15_000, 40_000, 41_000, 42_000]);
    assert_eq!(devices.times_us(Direction::Back), [25_000, 60_000]);
    let wire = &routed.measured.wire[0];
    assert_eq!(
        (wire.opened, wire.established.map(|at| at.as_us() / 10)),
        (Some(ms(5)), Some(2_500))
    );
    assert_eq!((wire.segments, wire.bytes, wire.acks), (3, 3 * 1_460, 1));
    assert_eq!(wire.delivered_bytes(), 2 * 1_460);
    assert_eq!((routed.end, routed.measured.stats.missed), (ms(2_000), 0));
    assert_eq!(routed.measured.queue_rows.len(), 20, "one each 100 ms from 0 on");
}

#[test]
fn a_queue_that_is_full_drops_and_the_drop_is_noticed() {
    let devices = opened();
    for i in 0..9 {
        devices.send(ms(30), Direction::Forward, &data(1_000 + i * FULL as u32));
    }
    let routed = router(&plan(""), &devices).run().0;
    // One leaves at once, 6 of 1514 bytes are in the queue of 10000.
    assert_eq!(devices.times_us(Direction::Forward).len(), 1 + 7);
    let expected =
        TimedNotice { at: ms(40), flow: 0, notice: path::network::Notice::Dropped, count: 2 };
    assert_eq!(routed.measured.notices, [expected]);
}

#[test]
fn events_after_a_stop_of_the_machine_are_late_and_keep_their_nominal_times() {
    let devices = opened();
    for i in 0..5 {
        devices.send(ms(30), Direction::Forward, &data(1_000 + i * FULL as u32));
    }
    devices.stall.set((ms(40), Span::from_us(2_500)));
    let routed = router(&plan(""), &devices).run().0;
    // Those of 41 and 42 ms leave together, those of 43 and 44 ms on time.
    let expected = [15_000, 40_000, 42_500, 42_500, 43_000, 44_000];
    assert_eq!(devices.times_us(Direction::Forward), expected);
    let stats = &routed.measured.stats;
    assert_eq!((stats.missed, stats.lateness_max.as_ns() / 10_000), (1, 150));
}

#[test]
fn a_frame_that_the_kernel_refuses_is_counted() {
    let devices = opened();
    devices.is_refusing.set(true);
    let routed = router(&plan(""), &devices).run().0;
    assert_eq!(routed.measured.stats.refused, 2);
    assert!(devices.received.borrow().is_empty());
}

#[test]
fn a_flow_that_was_stopped_sends_nothing_more() {
    let devices = opened();
    devices.send(ms(30), Direction::Forward, &data(1_000));
    let router = router(&plan(""), &devices);
    router.state.flows[0].is_closed.store(true, Relaxed);
    let routed = router.run().0;
    assert!(devices.times_us(Direction::Forward).is_empty());
    assert_eq!(routed.measured.wire[0].segments, 0);
}

#[test]
fn control_connections_bypass_the_path_and_their_servers_are_a_delay_away_once_the_flow_is_open() {
    let devices = SimDevices::default();
    let server = answer(CONTROL_PORT, flag::ACK, 1, 10);
    devices.send(ms(1), Direction::Forward, &sent(CONTROL_PORT, flag::ACK, 1, 10));
    devices.send(ms(2), Direction::Back, &server);
    devices.send(ms(5), Direction::Forward, &sent(DATA_PORT, flag::SYN, 999, 0));
    devices.send(ms(6), Direction::Back, &server);
    router(&plan(""), &devices).run();
    assert_eq!(devices.times_us(Direction::Forward), [1_000, 15_000]);
    assert_eq!(devices.times_us(Direction::Back), [2_000, 16_000]);
}

#[test]
fn a_client_cannot_report_the_end_of_a_finite_transfer_before_all_has_arrived() {
    let devices = opened();
    let report = sent(CONTROL_PORT, flag::ACK, 1, 10);
    for (at, seq) in [(30, 1_000), (31, 2_460)] {
        devices.send(ms(at), Direction::Forward, &data(seq));
    }
    devices.send(ms(32), Direction::Forward, &report);
    devices.send(ms(50), Direction::Back, &answer(DATA_PORT, flag::ACK, 1_000 + 2 * 1_460, 0));
    devices.send(ms(51), Direction::Forward, &report);
    let mut plan = plan("");
    plan.flows[0].size_bytes = Some(2 * 1_460);
    let routed = router(&plan, &devices).run().0;
    assert_eq!(devices.times_us(Direction::Forward), [15_000, 40_000, 41_000, 51_000]);
    assert_eq!(routed.measured.wire[0].completed, Some(ms(50)));
}

#[test]
fn one_flow_takes_every_frame_over_the_path() {
    let devices = SimDevices::default();
    devices.send(ms(1), Direction::Forward, &sent(CONTROL_PORT, flag::ACK, 1, 10));
    let plan = plan("");
    let (clock, state) = (devices.clock.clone(), RunState::new(1));
    let router = Router::new(&plan, Classifier::OneFlow, devices.clone(), clock, state);
    router.expect("a path").run();
    assert_eq!(devices.times_us(Direction::Forward), [11_000]);
}

#[test]
fn the_loop_spins_before_near_events_for_a_third_of_the_time_at_most() {
    let devices = SimDevices::default();
    let mut plan = plan("");
    plan.sample_ns = 50_000;
    plan.duration_ns = 100_000_000;
    let routed = router(&plan, &devices).run().0;
    let spun_us = routed.measured.stats.spun.as_ns() / 1_000;
    assert!((30_000..34_000).contains(&spun_us), "{spun_us} us of 100 ms");
}
