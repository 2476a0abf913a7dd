//! Loss is found and repaired.

use crate::losing;
use crate::pair::{Pair, Setup, Verdict};
use cca::CaState;
use net::{Ack, AckBody};
use transport::common::SenderEvent;
use transport::tcp::EcnMode;

#[test]
fn fast_retransmit_repairs_a_loss_one_round_trip_later_without_a_timeout() {
    let pair = Pair::new(Setup { segments: 60, ..Setup::default() }, losing(&[20])).drive(10);
    let sent = pair.sent_ms(20);
    // 100.121 ms, and the three segments that follow.
    assert!((100..=101).contains(&(sent[1] - sent[0])), "{sent:?}");
    assert_eq!((pair.sender.stats().retrans_segs, pair.sender.stats().rtos), (1, 0));
    assert_eq!(pair.count(SenderEvent::CaState(CaState::Recovery)), 1);
}

#[test]
fn prr_halves_the_window_without_a_pause_and_ends_at_ssthresh() {
    let mut pair = Pair::new(Setup { segments: u32::MAX, ..Setup::default() }, losing(&[60]));
    let mut cwnd_before = 0;
    while pair.count(SenderEvent::CaState(CaState::Recovery)) == 0 {
        cwnd_before = pair.sender.sk.snd_cwnd;
        pair = pair.drive_for(units::Span::from_us(100));
    }
    let begin = pair.sent.len();
    while pair.count(SenderEvent::CaState(CaState::Open)) == 0 {
        pair = pair.drive_for(units::Span::from_us(100));
    }
    assert_eq!(pair.sender.sk.snd_ssthresh, cwnd_before / 2);
    assert_eq!(pair.sender.sk.snd_cwnd, cwnd_before / 2, "recovery has ended");
    let sent_meanwhile = (pair.sent.len() - begin) as u32;
    let about_half = cwnd_before / 2 - 3..=cwnd_before / 2 + 3;
    assert!(about_half.contains(&sent_meanwhile), "{sent_meanwhile} of {cwnd_before}");
}

#[test]
fn many_losses_in_one_window_reduce_it_once() {
    let lost = &[30, 31, 35, 40, 41, 42];
    let pair = Pair::new(Setup { segments: 300, ..Setup::default() }, losing(lost)).drive(10);
    let stats = pair.sender.stats();
    assert_eq!((stats.retrans_segs, stats.recoveries, stats.rtos), (6, 1, 0));
}

#[test]
fn rack_waits_a_quarter_of_the_rtt_when_only_two_segments_are_sacked() {
    let pair = Pair::new(Setup { segments: 10, ..Setup::default() }, losing(&[7])).drive(10);
    let sent = pair.sent_ms(7);
    // A round trip, 25 ms, 2 ms and the rest of a tick.
    assert!((127..=129).contains(&(sent[1] - sent[0])), "{sent:?}");
    assert_eq!(pair.sender.stats().rtos, 0);
}

#[test]
fn rack_finds_a_lost_retransmission_without_a_timeout() {
    let pair = Pair::new(Setup { segments: 200, ..Setup::default() }, |sent| match sent.seq {
        40 if sent.copy < 3 => Verdict::Drop,
        _ => Verdict::Deliver,
    })
    .drive(10);
    assert_eq!(pair.sent_ms(40).len(), 4);
    assert_eq!(pair.sender.stats().rtos, 0);
}

#[test]
fn a_tail_loss_is_repaired_by_a_probe_and_not_by_a_timeout() {
    let pair = Pair::new(Setup { segments: 10, ..Setup::default() }, losing(&[9])).drive(10);
    let sent = pair.sent_ms(9);
    // 2 srtt + 200 ms, as one segment is out, is later than the RTO: at that time, less the wheel's 8 ms.
    assert!((400..=409).contains(&(sent[1] - sent[0])), "{sent:?}");
    assert_eq!((pair.sender.stats().tlps, pair.sender.stats().rtos), (1, 0));
}

#[test]
fn two_lost_at_the_tail_take_a_probe_and_fast_recovery() {
    let pair = Pair::new(Setup { segments: 10, ..Setup::default() }, losing(&[8, 9])).drive(10);
    let stats = pair.sender.stats();
    assert_eq!((stats.tlps, stats.rtos, stats.recoveries), (1, 0, 1));
    // 2 srtt + 2 ms after the last ACK.
    let sent = pair.sent_ms(9);
    assert!((302..=310).contains(&(sent[1] - sent[0])), "{sent:?}");
}

#[test]
fn rto_backs_off_until_a_retransmission_gets_through() {
    let pair = Pair::new(Setup { segments: 1, ..Setup::default() }, |sent| match sent.copy {
        0..=4 => Verdict::Drop,
        _ => Verdict::Deliver,
    })
    .drive(60);
    let sent = pair.sent_ms(0);
    let gaps: Vec<_> = sent.windows(2).map(|w| w[1] - w[0]).collect();
    // The probe, then the RTO of 300 ms doubled each time; the wheel adds up to an eighth.
    for (gap, min) in gaps.iter().zip([300, 300, 600, 1200, 2400]) {
        assert!((min..=min + min / 8 + 1).contains(gap), "{gaps:?}");
    }
    assert_eq!(gaps.len(), 5);
}

#[test]
fn a_timeout_that_loses_a_whole_window_recovers_in_slow_start() {
    let pair =
        Pair::new(Setup { segments: 100, ..Setup::default() }, |sent| match sent.at.as_us() {
            150_000..=700_000 if sent.copy < 2 => Verdict::Drop,
            _ => Verdict::Deliver,
        })
        .drive(20);
    assert!(pair.sender.stats().rtos >= 1);
    assert_eq!(pair.sender.stats().undos, 0, "the loss was real");
}

#[test]
fn sack_reneging_is_survived() {
    // The receiver claims segments 6 and 7, which it does not have, as soon as 5 is missing.
    let lie = |ack: &mut Ack| {
        let AckBody::Tcp(tcp) = &mut ack.body else { unreachable!("TCP") };
        if tcp.ack == 5 && tcp.n_sacks > 0 {
            (tcp.n_sacks, tcp.sacks[0]) = (1, (6, 8));
        }
        Verdict::Deliver
    };
    let setup = Setup { segments: 30, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[5, 6, 7])).with_acks(lie).drive(10);
    assert_eq!(pair.sender.sk.sacked_out, 0);
    assert!(pair.sent_ms(6).len() > 1 && pair.sent_ms(7).len() > 1);
}

#[test]
fn ecn_reduces_the_window_without_a_retransmission() {
    let setup = Setup { segments: 200, ecn: EcnMode::Classic, ..Setup::default() };
    let pair = Pair::new(setup, |sent| match sent.seq {
        50 => Verdict::Mark,
        _ => Verdict::Deliver,
    })
    .drive(10);
    assert_eq!(pair.sender.stats().retrans_segs, 0);
    assert_eq!(pair.count(SenderEvent::CaState(CaState::Cwr)), 1);
    assert!(pair.sender.sk.snd_ssthresh < cca::INFINITE_SSTHRESH);
}
