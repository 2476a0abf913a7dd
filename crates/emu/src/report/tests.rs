//! A report from known measurements: lifetimes, totals, events and warnings.

use super::*;
use crate::classify::Classifier;
use crate::flows::RunState;
use crate::header::flag;
use crate::hosts::DATA_PORT;
use crate::router::Router;
use crate::sampler::FlowSamples;
use crate::simulated::{answer, ms, opened, plan, sent, FULL};
use crate::tun::Direction;
use crate::wire::TimedNotice;

/// Three segments, of which one is sent twice; two are acknowledged.
fn routed(plan: &Plan) -> Routed {
    let devices = opened();
    for seq in [1_000, 2_460, 2_460, 3_920] {
        devices.send(ms(30), Direction::Forward, &sent(DATA_PORT, flag::ACK, seq, FULL));
    }
    devices.send(ms(50), Direction::Back, &answer(DATA_PORT, flag::ACK, 3_920, 0));
    let clock = devices.clock.clone();
    let classifier = Classifier::by_address(plan);
    let router = Router::new(plan, classifier, devices, clock, RunState::new(plan.flows.len()));
    router.expect("a path").run().0
}

fn samples() -> Samples {
    let last =
        Socket { cca: "cubic".into(), delivered: 2, min_rtt_us: 20_000, ..Socket::default() };
    let mut flow = FlowSamples::default();
    flow.srtt_us = vec![20_000, 21_000];
    (flow.last, flow.lost) = (Some(last), Some(1));
    flow.states = vec![(ms(100), EventKind::CaState, "Recovery")];
    let mut samples = Samples::default();
    samples.flows.push(flow);
    samples
}

fn ended(plan: &Plan) -> Ended {
    Ended {
        routed: routed(plan),
        samples: samples(),
        stopped: Vec::new(),
        told: BTreeMap::new(),
        dropped: 0,
        controllers: vec!["cubic".into()],
        sysctls: BTreeMap::new(),
        warnings: Vec::new(),
    }
}

fn written(plan: &Plan, ended: Ended) -> Outcome {
    let out = tempfile::tempdir().expect("a folder");
    let outcome = write(plan, out.path(), ended).expect("written");
    for table in ["flows", "queue", "events", "messages"] {
        assert!(out.path().join(table).with_extension("parquet").exists(), "{table}");
    }
    outcome
}

#[test]
fn a_flow_lasts_until_its_transfer_has_arrived_or_it_is_stopped_or_the_run_ends() {
    let stopped = [Stopped { flow: 0, at: ms(1_000), delivered_bytes: 1_460 }];
    let (endless, mut finite) = (plan(""), plan(""));
    finite.flows[0].size_bytes = Some(2_920);
    let cases = [
        (&endless, &stopped[..0], ms(2_000), 2_920 - 37, false),
        (&endless, &stopped[..], ms(1_000), 1_460, false),
        (&finite, &stopped[..], ms(50), 2_920 - 37, true),
    ];
    for (plan, stopped, stop, goodput, completed) in cases {
        let life = &lifetimes(plan, &routed(plan), stopped)[0];
        assert_eq!((life.start, life.stop), (ms(5), stop));
        assert_eq!((life.goodput, life.completed), (goodput, completed));
    }
}

#[test]
fn totals_come_from_the_wire_the_path_and_the_socket() {
    let plan = plan("");
    let (routed, samples) = (routed(&plan), samples());
    let total =
        &totals(&plan, &routed, &lifetimes(&plan, &routed, &[]), &samples, &BTreeMap::new())[0];
    assert_eq!((total.segs_sent, total.retrans_segs, total.bytes_sent), (4, 1, 4 * 1_460));
    assert_eq!((total.acks_sent, total.goodput_bytes), (1, 2_920 - 37), "less iperf3's greeting");
    assert_eq!((total.delivered_segs, total.lost_segs, total.min_rtt_us), (2, 1, Some(20_000)));
    assert_eq!((total.established_ns.map(|ns| ns / 10_000), &total.why), (Some(2_500), &None));
    assert_eq!(total.srtt_us, [20_000, 21_000]);
}

#[test]
fn events_are_in_order_of_time_with_those_of_the_path_and_of_the_samples() {
    let plan = plan("");
    let mut routed = routed(&plan);
    let notice = |at, notice| TimedNotice { at: ms(at), flow: 0, notice, count: 2 };
    routed.measured.notices = vec![notice(40, Notice::Dropped), notice(150, Notice::Marked)];
    let rows =
        events(&routed.measured, &lifetimes(&plan, &routed, &[]), &samples(), &BTreeMap::new());
    let seen: Vec<_> = rows.iter().map(|row| (row.t_ns / 1_000_000, row.kind, row.value)).collect();
    let expected = [
        (5, EventKind::Start, None),
        (25, EventKind::Established, None),
        (40, EventKind::DropQueue, Some(2)),
        (100, EventKind::CaState, None),
        (150, EventKind::EcnMark, Some(2)),
        (2_000, EventKind::Stop, None),
    ];
    assert_eq!(seen, expected);
    assert_eq!((rows[3].note, rows[3].flow), (Some("Recovery"), Some(0)));
}

#[test]
fn a_run_that_kept_up_has_no_warning() {
    let plan = plan("");
    let outcome = written(&plan, ended(&plan));
    assert_eq!(outcome.summary.warnings, [""; 0]);
    assert_eq!((outcome.emulator.missed, outcome.emulator.own_drops), (0, 0));
    assert!(outcome.emulator.events > 20);
}

#[test]
fn what_the_emulator_did_wrong_is_a_warning() {
    let plan = plan("");
    let mut ended = ended(&plan);
    ended.warnings = vec!["host.gro: off".into()];
    ended.dropped = 3;
    ended.controllers = vec!["bbr".into()];
    ended.samples.late = 4;
    let stats = &mut ended.routed.measured.stats;
    stats.cpu = Span::from_ms(1_900);
    (stats.missed, stats.events) = (50, 100);
    let outcome = written(&plan, ended);
    let warnings = outcome.summary.warnings;
    let wanted = [
        "host.gro: off",
        "50",
        "3 ",
        "95 % of a processor",
        "4 samples were more than half",
        "flow 0 ran cubic instead of bbr",
    ];
    assert_eq!(warnings.len(), wanted.len(), "{warnings:?}");
    for (warning, wanted) in warnings.iter().zip(wanted) {
        assert!(warning.contains(wanted), "{warning:?}, wanted {wanted:?}");
    }
}
