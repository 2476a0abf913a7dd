//! Loss is found and repaired (RFC 9002 section 6). A round trip takes 100.1 ms, packets of a burst
//! arrive 0.1 ms apart.

use crate::losing;
use crate::pair::{Pair, Sent, Setup, Verdict};
use cca::CaState;
use transport::common::SenderEvent;
use transport::quic::Config;
use units::Span;

/// Every packet is acknowledged at once.
fn each_acked() -> Config {
    Config { ack_every: 1, ..Setup::default().config }
}

#[test]
fn a_loss_is_repaired_when_the_third_packet_after_it_is_acknowledged() {
    let setup = Setup { segments: 10, config: each_acked(), ..Setup::default() };
    let pair = Pair::new(setup, losing(&[4])).drive(10);
    let carriers = pair.carriers(4);
    assert_eq!(carriers.len(), 2);
    // 100.1 ms, three packets more (that the lost one takes no time on the link), the four before it.
    let waited = carriers[1].at.since(carriers[0].at).as_us();
    assert_eq!(waited, 100_000 + 7 * 100, "the packet of segment 7 is the seventh to arrive");
    assert_eq!(carriers[1].number, 10, "a retransmission has a number of its own");
    assert_eq!(pair.sender.stats().tlps, 0);
}

#[test]
fn two_packets_after_a_loss_leave_it_to_the_time_threshold() {
    let setup = Setup { segments: 10, config: each_acked(), ..Setup::default() };
    let pair = Pair::new(setup, losing(&[7])).drive(10);
    let carriers = pair.carriers(7);
    // 9/8 of the larger of srtt and the last RTT, that of packet 9: 100 ms and nine packets on the link.
    let waited = carriers[1].at.since(carriers[0].at).as_us();
    assert_eq!(waited, (100_000 + 9 * 100) * 9 / 8);
    assert_eq!(pair.sender.stats().tlps, 0);
    assert_eq!(pair.count(SenderEvent::CaState(CaState::Recovery)), 1);
}

#[test]
fn reordering_below_the_packet_threshold_is_no_loss() {
    // Two packets overtake.
    let late = |sent: Sent| match sent.number {
        20 => Verdict::Delay(Span::from_us(250)),
        _ => Verdict::Deliver,
    };
    let setup = Setup { segments: 60, config: each_acked(), ..Setup::default() };
    let pair = Pair::new(setup, late).drive(10);
    assert_eq!((pair.sender.stats().lost, pair.sent.len()), (0, 60));
}

#[test]
fn a_tail_loss_is_repaired_by_probes_after_a_pto() {
    let setup = Setup { segments: 10, config: each_acked(), ..Setup::default() };
    let pair = Pair::new(setup, losing(&[8, 9])).drive(10);
    let probes: Vec<_> = pair.sent[10..].to_vec();
    // Samples of 100 (Initial), 100.1, 100.2 ... 100.8 ms.
    let (mut srtt, mut var) = (800_000i64, 200_000i64);
    for sample in (1..=8).map(|i| 100_000 + i * 100) {
        let error = sample - srtt / 8;
        (srtt, var) = (srtt + error, var + error.abs() - var / 4);
    }
    let pto = srtt / 8 + var + 25_000;
    assert_eq!(probes[0].at.since(pair.sent[9].at).as_us(), pto as u64);
    assert_eq!(probes.iter().map(|p| p.segment).collect::<Vec<_>>(), [8, 9], "two probes");
    assert_eq!((pair.sender.stats().tlps, pair.count(SenderEvent::Tlp)), (2, 1));
}

#[test]
fn the_pto_doubles_until_something_is_acknowledged() {
    // Nothing gets through between 0.3 and 3 s.
    let outage = |sent: Sent| match sent.at.as_us() {
        300_000..3_000_000 => Verdict::Drop,
        _ => Verdict::Deliver,
    };
    let pair = Pair::new(Setup { segments: 2000, ..Setup::default() }, outage).drive(60);
    let ptos: Vec<_> =
        pair.events.iter().filter(|e| e.1 == SenderEvent::Tlp).map(|e| e.0).collect();
    let waits: Vec<u64> = ptos.windows(2).map(|w| w[1].since(w[0]).as_us()).collect();
    assert!(waits.len() >= 3, "{waits:?}");
    assert!(waits.windows(2).all(|w| w[1] == 2 * w[0]), "{waits:?}");
}

#[test]
fn three_ptos_without_an_acknowledgement_are_persistent_congestion() {
    let outage = |sent: Sent| match sent.at.as_us() {
        300_000..3_000_000 => Verdict::Drop,
        _ => Verdict::Deliver,
    };
    let setup = Setup { segments: 2000, config: each_acked(), ..Setup::default() };
    let mut pair = Pair::new(setup, outage);
    while pair.sender.stats().rtos == 0 {
        pair = pair.drive_for(Span::from_us(50));
    }
    // The minimum window, and what the ACK that showed it lets it grow.
    assert!((2..=3).contains(&pair.sender.sk.snd_cwnd), "{}", pair.sender.sk.snd_cwnd);
    let pair = pair.drive(60);
    assert_eq!(pair.sender.stats().rtos, 1);
    assert_eq!(pair.count(SenderEvent::CaState(CaState::Loss)), 1);
    let from_loss = pair.events.iter().skip_while(|e| e.1 != SenderEvent::CaState(CaState::Loss));
    let is_state = |e: &SenderEvent| matches!(e, SenderEvent::CaState(_));
    let then: Vec<_> = from_loss.map(|e| e.1).filter(is_state).collect();
    assert_eq!(then[..2], [CaState::Loss, CaState::Open].map(SenderEvent::CaState));
}

#[test]
fn packets_from_before_the_first_rtt_sample_make_no_persistent_congestion() {
    // Probes at 1.0 and 3.1 s are lost, one at 7.2 s is not and gives an RTT of 0.1 s.
    let outage = |sent: Sent| match sent.at.as_us() {
        0..4_000_000 => Verdict::Drop,
        _ => Verdict::Deliver,
    };
    let config = Config { handshake: false, ..Setup::default().config };
    let pair = Pair::new(Setup { segments: 50, config, ..Setup::default() }, outage).drive(60);
    assert!(pair.sender.stats().lost >= 10);
    assert_eq!(pair.sender.stats().rtos, 0);
}

#[test]
fn after_persistent_congestion_the_least_rtt_is_that_of_the_new_path() {
    let outage = |sent: Sent| match sent.at.as_us() {
        0..300_000 => Verdict::Deliver,
        300_000..3_000_000 => Verdict::Drop,
        _ => Verdict::Delay(Span::from_ms(60)),
    };
    let pair = Pair::new(Setup { segments: 2000, ..Setup::default() }, outage).drive(60);
    assert_eq!(pair.sender.stats().rtos, 1);
    assert!(pair.sender.sk.rtt_min.value() >= 160_000, "{:?}", pair.sender.sk.rtt_min);
}

#[test]
fn a_probe_carries_new_data_if_there_is_any() {
    let second_flight = |sent: Sent| match sent.number {
        10..30 => Verdict::Drop,
        _ => Verdict::Deliver,
    };
    let setup = Setup { segments: u32::MAX, ..Setup::default() };
    let pair = Pair::new(setup, second_flight).drive_for(Span::from_ms(1000));
    let probes: Vec<_> = pair.sent[30..32].iter().map(|s| (s.segment, s.is_retrans)).collect();
    assert_eq!(probes, [(30, false), (31, false)]);
    assert_eq!(pair.sender.stats().tlps, 2);
}

#[test]
fn a_late_acknowledgement_is_no_sample_of_the_rtt() {
    let late = |sent: Sent| match sent.number {
        30 => Verdict::Delay(Span::from_ms(20)),
        _ => Verdict::Deliver,
    };
    let setup = Setup { segments: u32::MAX, config: each_acked(), ..Setup::default() };
    let (mut pair, mut largest) = (Pair::new(setup, late), 0);
    while pair.sender.spurious_losses() == 0 {
        pair = pair.drive_for(Span::from_us(50));
        largest = largest.max(pair.sender.last_rtt_us());
    }
    // Forty packets of 0.1 ms wait for the link at most.
    assert!((100_000..=104_100).contains(&largest), "{largest} us");
}

#[test]
fn a_short_outage_is_a_loss_and_no_persistent_congestion() {
    // 200 ms are less than three PTOs of at least 125 ms.
    let outage = |sent: Sent| match sent.at.as_us() {
        400_000..600_000 => Verdict::Drop,
        _ => Verdict::Deliver,
    };
    let pair = Pair::new(Setup { segments: 2000, ..Setup::default() }, outage).drive(60);
    assert!(pair.sender.stats().lost > 10);
    assert_eq!(pair.sender.stats().rtos, 0);
}

#[test]
fn losses_far_apart_with_deliveries_between_are_no_persistent_congestion() {
    let setup = Setup { segments: u32::MAX, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[100, 1000])).drive_for(Span::from_ms(4000));
    let apart = pair.sent[1000].at.since(pair.sent[100].at).as_us();
    assert!(apart > 3 * 300_000, "more than three PTOs: {apart} us");
    assert_eq!((pair.sender.stats().lost, pair.sender.stats().rtos), (2, 0));
}

#[test]
fn a_late_packet_shows_that_its_loss_was_none_and_the_reduction_is_taken_back() {
    let late = |sent: Sent| match sent.number {
        30 => Verdict::Delay(Span::from_ms(20)),
        _ => Verdict::Deliver,
    };
    let setup = Setup { segments: u32::MAX, config: each_acked(), ..Setup::default() };
    let pair = Pair::new(setup, late).drive_for(Span::from_ms(1000));
    assert_eq!((pair.sender.stats().lost, pair.sender.spurious_losses()), (1, 1));
    assert_eq!((pair.sender.stats().recoveries, pair.sender.stats().undos), (1, 1));
    assert_eq!(pair.sender.sk.snd_ssthresh, cca::INFINITE_SSTHRESH);
    assert_eq!(pair.receiver.stats().redundant, 1, "the retransmission brought nothing new");
}

#[test]
fn with_adaptive_thresholds_the_same_reordering_costs_one_reduction() {
    // Every hundredth packet comes 2 ms, twenty packets, late.
    let late = |sent: Sent| match sent.number % 100 {
        50 => Verdict::Delay(Span::from_ms(2)),
        _ => Verdict::Deliver,
    };
    let lost = |adaptive_thresholds| {
        let config = Config { adaptive_thresholds, ..each_acked() };
        let setup = Setup { segments: u32::MAX, config, ..Setup::default() };
        let pair = Pair::new(setup, late).drive_for(Span::from_ms(3000));
        assert!(pair.sent.len() > 1_000, "{} packets", pair.sent.len());
        (pair.sender.stats().lost, pair.sender.spurious_losses())
    };
    assert_eq!(lost(true), (1, 1));
    let (fixed, spurious) = lost(false);
    assert!(fixed > 5 && spurious == fixed, "{fixed}, {spurious} of them spurious");
}

#[test]
fn with_adaptive_thresholds_a_real_loss_is_found_by_its_age() {
    // Packet 50 comes twenty packets late and raises the threshold; 1000 is lost.
    let verdict = |sent: Sent| match sent.number {
        50 => Verdict::Delay(Span::from_ms(2)),
        1000 => Verdict::Drop,
        _ => Verdict::Deliver,
    };
    let config = Config { adaptive_thresholds: true, ..each_acked() };
    let setup = Setup { segments: u32::MAX, config, ..Setup::default() };
    let pair = Pair::new(setup, verdict).drive_for(Span::from_ms(4000));
    assert_eq!((pair.sender.stats().lost, pair.sender.spurious_losses()), (2, 1));
    let segment = pair.sent[1000].segment;
    let carriers = pair.carriers(segment);
    assert_eq!((carriers.len(), pair.sender.stats().tlps), (2, 0), "no probe was needed");
}

#[test]
fn a_real_loss_from_the_same_flight_counts_after_a_reduction_was_taken_back() {
    let verdict = |sent: Sent| match sent.number {
        30 => Verdict::Delay(Span::from_us(500)),
        45 => Verdict::Drop,
        _ => Verdict::Deliver,
    };
    let setup = Setup { segments: u32::MAX, config: each_acked(), ..Setup::default() };
    let pair = Pair::new(setup, verdict).drive_for(Span::from_ms(1000));
    let (stats, recovered) = (pair.sender.stats(), pair.carriers(30)[1].number);
    assert!(recovered > 45, "both were in flight when the first recovery began: {recovered}");
    assert_eq!((stats.lost, stats.undos, stats.recoveries), (2, 1, 2));
    assert!(pair.sender.sk.snd_ssthresh < 100);
}

#[test]
fn what_arrives_late_before_its_turn_is_not_sent_again() {
    // Twenty packets are late together; at the pace of recovery not all are sent again before they come.
    let late = |sent: Sent| match sent.number {
        30..50 => Verdict::Delay(Span::from_ms(20)),
        _ => Verdict::Deliver,
    };
    let setup = Setup { segments: u32::MAX, config: Config::default(), ..Setup::default() };
    let pair = Pair::new(setup, late).drive_for(Span::from_ms(2000));
    let stats = pair.sender.stats();
    assert_eq!(stats.lost, pair.sender.spurious_losses());
    assert!((1..stats.lost).contains(&stats.retrans_segs), "{stats:?}");
    assert_eq!(pair.receiver.stats().redundant, stats.retrans_segs);
}

#[test]
fn a_real_loss_among_spurious_ones_keeps_the_reduction() {
    let verdict = |sent: Sent| match sent.number {
        30 => Verdict::Delay(Span::from_ms(20)),
        31 => Verdict::Drop,
        _ => Verdict::Deliver,
    };
    let setup = Setup { segments: u32::MAX, config: each_acked(), ..Setup::default() };
    let pair = Pair::new(setup, verdict).drive_for(Span::from_ms(1000));
    assert_eq!((pair.sender.stats().lost, pair.sender.spurious_losses()), (2, 1));
    assert_eq!((pair.sender.stats().recoveries, pair.sender.stats().undos), (1, 0));
}

#[test]
fn a_lost_retransmission_is_found_like_any_packet() {
    let lost = |sent: Sent| match (sent.segment, sent.is_retrans) {
        (20, false) => Verdict::Drop,
        (20, true) if sent.at.as_us() < 450_000 => Verdict::Drop,
        _ => Verdict::Deliver,
    };
    let pair = Pair::new(Setup { segments: u32::MAX, ..Setup::default() }, lost)
        .drive_for(Span::from_ms(2000));
    let carriers = pair.carriers(20);
    assert!(carriers.len() >= 3, "{carriers:?}");
    assert!(carriers.windows(2).all(|w| w[1].number > w[0].number + 3), "{carriers:?}");
    assert_eq!((pair.sender.stats().tlps, pair.receiver.stats().redundant), (0, 0));
}

#[test]
fn the_initial_packet_is_sent_again_after_999_ms() {
    let setup = Setup { segments: 10, one_way: Span::from_ms(700), ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive(10);
    // The reply to the first comes at 1.4 s, after the second was sent: no RTT is known.
    assert_eq!(pair.sent[0].at.as_us(), 1_400_000);
    assert_eq!(pair.acks.iter().filter(|(_, ack)| ack.is_syn()).count(), 2);
}
