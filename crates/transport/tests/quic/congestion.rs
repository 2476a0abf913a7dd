//! What controllers see of congestion (RFC 9002 section 7).

use crate::losing;
use crate::pair::{Pair, Sent, Setup, Verdict};
use cca::CaState;
use transport::common::SenderEvent;
use transport::quic::Config;
use units::{Span, Time};

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let setup = Setup { segments: u32::MAX, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(399));
    // Handshake, then 10, 20 and 40 packets.
    assert_eq!(pair.sent.len(), 70);
}

#[test]
fn without_a_handshake_data_leaves_at_once() {
    let config = Config { handshake: false, ..Setup::default().config };
    let setup = Setup { segments: 20, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive(10);
    assert!(pair.sent[..10].iter().all(|sent| sent.at.as_us() == 0));
    assert!(pair.acks.iter().all(|(_, ack)| !ack.is_syn()));
}

#[test]
fn losses_of_one_flight_reduce_the_window_once_and_at_once() {
    let setup = Setup { segments: 600, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[30, 31, 35, 40, 41, 50])).drive(20);
    assert_eq!((pair.sender.stats().recoveries, pair.sender.stats().lost), (1, 6));
    let state_of = |&(at, event): &(Time, SenderEvent)| match event {
        SenderEvent::CaState(state) => Some((at, state)),
        _ => None,
    };
    let states: Vec<_> = pair.events.iter().filter_map(state_of).collect();
    assert_eq!(states.iter().map(|s| s.1).collect::<Vec<_>>(), [CaState::Recovery, CaState::Open]);
    let lasted = states[1].0.since(states[0].0).as_us();
    assert!((100_000..120_000).contains(&lasted), "one round trip, not {lasted} us");
}

#[test]
fn a_loss_after_the_event_is_a_new_event() {
    let mut pair = Pair::new(Setup { segments: u32::MAX, ..Setup::default() }, |sent: Sent| {
        match sent.number {
            40 | 150 => Verdict::Drop,
            _ => Verdict::Deliver,
        }
    });
    pair = pair.drive_for(Span::from_ms(2000));
    assert_eq!(pair.sender.stats().recoveries, 2);
}

#[test]
fn a_loss_from_before_an_event_belongs_to_it_though_it_is_found_after_its_end() {
    let greedy = || Setup { segments: u32::MAX, ..Setup::default() };
    let pair = Pair::new(greedy(), losing(&[40])).drive_for(Span::from_ms(1000));
    // The retransmission is the first packet of the recovery.
    let last_before = pair.carriers(40)[1].number - 1;
    let pair = Pair::new(greedy(), |sent: Sent| match sent.number {
        40 => Verdict::Drop,
        n if n == last_before => Verdict::Drop,
        _ => Verdict::Deliver,
    });
    let pair = pair.drive_for(Span::from_ms(1000));
    let second_loss = pair.events.iter().rfind(|e| matches!(e.1, SenderEvent::Lost(_)));
    let end = pair.time_of(SenderEvent::CaState(CaState::Open));
    assert!(second_loss.is_some_and(|loss| loss.0 > end), "{second_loss:?} after {end:?}");
    assert_eq!((pair.sender.stats().lost, pair.sender.stats().recoveries), (2, 1));
}

#[test]
fn packets_from_before_an_event_do_not_grow_the_window_after_it() {
    let config = Config { ack_every: 10, ..Setup::default().config };
    let setup = Setup { segments: u32::MAX, config, ..Setup::default() };
    let mut pair = Pair::new(setup, losing(&[62]));
    while pair.count(SenderEvent::CaState(CaState::Open)) == 0 {
        pair = pair.drive_for(Span::from_us(50));
    }
    let high = pair.carriers(62)[1].number;
    let end = pair.time_of(SenderEvent::CaState(CaState::Open));
    let frames = pair.frames();
    let ended_by = frames.iter().find(|(at, _)| *at + Span::from_ms(50) == end);
    let largest = ended_by.map_or(0, |(_, frame)| frame.largest);
    assert!((high..high + 9).contains(&largest), "{largest} covers packets from before {high}");
    assert_eq!(pair.sender.sk.snd_cwnd_cnt, largest - high + 1);
}

#[test]
fn the_window_of_reno_is_half_when_recovery_begins() {
    let mut pair = Pair::new(Setup { segments: u32::MAX, ..Setup::default() }, losing(&[60]));
    let mut before = 0;
    while pair.count(SenderEvent::CaState(CaState::Recovery)) == 0 {
        before = pair.sender.sk.snd_cwnd;
        pair = pair.drive_for(Span::from_us(50));
    }
    // The ACK that showed the loss covers two packets at most.
    let half = before / 2..=(before + 2) / 2;
    assert!(half.contains(&pair.sender.sk.snd_cwnd), "{} of {before}", pair.sender.sk.snd_cwnd);
    assert_eq!(pair.sender.sk.snd_ssthresh, pair.sender.sk.snd_cwnd);
    let retransmission = pair.carriers(60)[1];
    assert_eq!(retransmission.at, pair.time_of(SenderEvent::CaState(CaState::Recovery)));
}

#[test]
fn the_end_of_the_stream_leaves_the_sender_application_limited() {
    let greedy = Setup { segments: u32::MAX, ..Setup::default() };
    let greedy = Pair::new(greedy, losing(&[])).drive_for(Span::from_ms(350));
    assert_eq!(greedy.sender.sk.app_limited, 0);
    let finite = Setup { segments: 45, ..Setup::default() };
    let finite = Pair::new(finite, losing(&[])).drive_for(Span::from_ms(350));
    let sk = &finite.sender.sk;
    // 15 packets of a window of 40: the samples of all that is in flight do not show the path.
    assert_eq!((sk.app_limited, sk.packets_out), (sk.delivered + 15, 15));
}

#[test]
fn a_retransmission_when_nothing_else_is_left_does_not_lower_the_measured_rate() {
    let setup = Setup { segments: 140, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[100])).drive(10);
    let sk = &pair.sender.sk;
    let packets_per_s = u64::from(sk.rate_delivered) * 1_000_000 / u64::from(sk.rate_interval_us);
    // Forty packets in a round trip, not the one that was left.
    assert!(packets_per_s > 300, "{packets_per_s} packets/s");
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    // 4 of 10 packets, then 40 of a window that could be larger.
    let setup = Setup { segments: 4, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive(10);
    assert_eq!(pair.sender.sk.snd_cwnd, 10);
}

#[test]
fn rate_samples_measure_the_link() {
    let setup = Setup { cca: "bbr", segments: u32::MAX, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(4000));
    let sk = &pair.sender.sk;
    let packets_per_s = u64::from(sk.rate_delivered) * 1_000_000 / u64::from(sk.rate_interval_us);
    assert!((9_900..=10_001).contains(&packets_per_s), "{packets_per_s} of 10000 packets/s");
}
