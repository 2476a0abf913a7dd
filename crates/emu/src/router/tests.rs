//! The loop between simulated devices: which frames leave, when, and what is counted.

use super::*;
use crate::header::flag;
use crate::hosts::DATA_PORT;
use crate::simulated::{
    answer, answer_up, ms, opened, plan, plan_up, probe, sent, sent_up, SimClock, SimDevices,
    CONTROL_PORT, FULL,
};

fn data(seq: u32) -> Vec<u8> {
    sent(DATA_PORT, flag::ACK, seq, FULL)
}

fn router(plan: &Plan, devices: &SimDevices) -> Router<SimClock, SimDevices> {
    let (clock, state) = (devices.clock.clone(), RunState::new(plan.flows.len()));
    let classifier = Classifier::by_address(plan);
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
    assert_eq!(wire.delivered_bytes(), 2 * 1_460 - 37, "less iperf3's greeting");
    assert_eq!((routed.end, routed.measured.stats.missed), (ms(2_000), 0));
    assert_eq!(routed.measured.queue_rows.len(), 20, "one each 100 ms from 0 on");
}

#[test]
fn who_watches_gets_the_rows_of_the_queue_while_the_loop_runs() {
    let devices = opened();
    let (plan, watch) = (plan(""), record::Watch::default());
    let state = RunState::watched(plan.flows.len(), Some(watch.clone()));
    let classifier = Classifier::by_address(&plan);
    let clock = devices.clock.clone();
    let router = Router::new(&plan, classifier, devices, clock, state).expect("a path");
    let routed = router.run().0;
    let times = |rows: &[record::QueueRow]| rows.iter().map(|row| row.t_us).collect::<Vec<_>>();
    assert_eq!(times(&watch.take().queue), times(&routed.measured.queue_rows));
    assert_eq!(watch.take().queue.len(), 0, "each row once");
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
fn data_that_go_up_take_the_way_up_and_their_acknowledgements_the_way_down() {
    let devices = SimDevices::default();
    devices.send(ms(5), Direction::Back, &sent_up(DATA_PORT, flag::SYN, 999, 0));
    let answered = answer_up(DATA_PORT, flag::SYN | flag::ACK, 1_000, 0);
    devices.send(ms(15), Direction::Forward, &answered);
    for i in 0..3 {
        let data = sent_up(DATA_PORT, flag::ACK, 1_000 + i * FULL as u32, FULL);
        devices.send(ms(30), Direction::Back, &data);
    }
    let ack = answer_up(DATA_PORT, flag::ACK, 1_000 + 2 * 1_460, 0);
    devices.send(ms(50), Direction::Forward, &ack);
    let routed = router(&plan_up(false), &devices).run().0;
    assert_eq!(devices.times_us(Direction::Back), [15_000, 40_000, 42_000, 44_000]);
    assert_eq!(devices.times_us(Direction::Forward), [25_000, 60_000]);
    let wire = &routed.measured.wire[0];
    assert_eq!((wire.segments, wire.acks, wire.delivered_bytes()), (3, 1, 2 * 1_460 - 37));
    assert_eq!((wire.opened, wire.one_way.total()), (Some(ms(5)), 3));
    let links: Vec<i32> = routed.measured.queue_rows.iter().map(|row| row.link).take(4).collect();
    assert_eq!(links, [0, 1, 0, 1], "that of the way up follows those of the way down");
    let sent_by = |network: &Network<RealFrame>| network.links[0].stats.sent_packets;
    assert_eq!((sent_by(&routed.forward), sent_by(&routed.back)), (2, 4));
}

#[test]
fn the_server_of_a_flow_that_goes_up_is_a_delay_away_too() {
    let devices = SimDevices::default();
    let server = answer_up(CONTROL_PORT, flag::ACK, 1, 10);
    devices.send(ms(2), Direction::Forward, &server);
    devices.send(ms(5), Direction::Back, &sent_up(DATA_PORT, flag::SYN, 999, 0));
    devices.send(ms(6), Direction::Forward, &server);
    router(&plan_up(false), &devices).run();
    assert_eq!(devices.times_us(Direction::Forward), [2_000, 16_000]);
}

#[test]
fn probes_wait_behind_data_and_those_under_way_at_the_end_are_not_lost() {
    let devices = SimDevices::default();
    devices.send(ms(29), Direction::Back, &sent_up(DATA_PORT, flag::SYN, 999, 0));
    // Nine frames of 2 ms each, of which a queue of 10000 bytes loses two, and then a probe.
    for i in 0..9 {
        let data = sent_up(DATA_PORT, flag::ACK, 1_000 + i * FULL as u32, FULL);
        devices.send(ms(30), Direction::Back, &data);
    }
    devices.send(ms(30), Direction::Back, &probe(0, 0, false));
    devices.send(ms(60), Direction::Forward, &probe(0, 0, true));
    // Of the others the other end gets one and does not answer, and one has not arrived at the end.
    devices.send(ms(100), Direction::Back, &probe(0, 1, false));
    devices.send(ms(1_995), Direction::Back, &probe(0, 2, false));
    let routed = router(&plan_up(true), &devices).run().0;
    let rows: Vec<_> = routed.measured.probes[0].rows(0, ms(1_900)).collect();
    let seen: Vec<_> = rows
        .iter()
        .map(|row| {
            (row.sent_us / 10, row.there_us.map(|us| us / 100), row.rtt_us.map(|us| us / 100))
        })
        .collect();
    // The first frame leaves at once; six wait, 12 ms, and 98 bytes take 0.13 ms; then 10 ms of delay.
    assert_eq!(seen, [(3_000, Some(221), Some(400)), (10_000, Some(100), None)]);
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

#[test]
fn a_card_that_merges_hands_over_in_one_piece_what_arrives_within_50_us() {
    let mut text = serde_json::to_value(plan("")).expect("JSON");
    text["host"]["gro"] = true.into();
    // A frame a microsecond, and room for all.
    text["links"][0]["rate_bps"] = 12_112_000_000_u64.into();
    text["links"][0]["qdisc"]["limit_bytes"] = 1_000_000.into();
    let plan = Plan::parse(&text.to_string()).expect("a plan");
    let devices = opened();
    for i in 0..3 {
        devices.send(ms(30), Direction::Forward, &data(1_000 + i * FULL as u32));
    }
    devices.send(ms(31), Direction::Forward, &data(1_000 + 3 * FULL as u32));
    let routed = router(&plan, &devices).run().0;
    assert_eq!(devices.times_us(Direction::Forward), [15_000, 40_050, 41_050]);
    assert_eq!(*devices.merged.borrow(), [gso::VNET_BYTES + 40 + 3 * FULL]);
    assert_eq!((routed.measured.wire[0].segments, routed.measured.stats.refused), (4, 0));
}
