//! Receivers that break the rules, and what a sender of Linux makes of that (RFC 9743 section 7.6).

use crate::losing;
use crate::pair::{Pair, Sent, Setup, Verdict, MSS};
use transport::tcp::{HostConfig, Misconduct};
use units::{Span, Time};

const CCAS: [&str; 5] = ["reno", "cubic", "vegas", "bbr", "bbr3"];
const LOST: &[u32] = &[500, 501, 1_200];
const SEGMENTS: u32 = 2_000;
const DIVIDES: Misconduct = Misconduct::DividesAcks { pieces: 8 };
const REPEATS: Misconduct = Misconduct::RepeatsAcks { copies: 8 };
const AHEAD: Misconduct = Misconduct::AcknowledgesAhead { segments: 5 };

/// A transfer to such a receiver, or to an honest one that delays no acknowledgement, as these do.
fn setup(cca: &'static str, misconduct: Option<Misconduct>) -> Setup {
    let config = HostConfig { delayed_ack: false, ..Setup::default().config };
    Setup { cca, config, misconduct, segments: SEGMENTS, ..Setup::default() }
}

/// When each segment was sent.
fn times(cca: &'static str, misconduct: Option<Misconduct>, lost: &'static [u32]) -> Vec<Time> {
    let pair = Pair::new(setup(cca, misconduct), losing(lost)).drive(600);
    pair.sent.iter().map(|sent| sent.at).collect()
}

#[test]
fn an_acknowledgement_in_pieces_says_as_much_and_opens_no_more_of_the_window() {
    let pair = Pair::new(setup("reno", Some(DIVIDES)), losing(&[])).drive(600);
    let first: Vec<_> = pair.acks[1..9].iter().map(|(_, ack)| (ack.ack, ack.part())).collect();
    let part = |k| (0, MSS * k / 8);
    assert_eq!(first[..7], [1, 2, 3, 4, 5, 6, 7].map(part));
    assert_eq!(first[7], (1, 0));
    let ends = pair.acks[1..9].iter().map(|(_, ack)| ack.ack * MSS + ack.part() + ack.window);
    assert_eq!(ends.collect::<std::collections::BTreeSet<_>>().len(), 1, "the window's end stays");
    assert_eq!(pair.receiver.stats().acks_sent, u64::from(8 * SEGMENTS));
}

#[test]
fn ack_division_gains_nothing() {
    for cca in CCAS {
        let [divided, honest] = [Some(DIVIDES), None].map(|how| times(cca, how, &[]));
        let ends = [&divided, &honest].map(|times| times.last().expect("segments").as_us());
        // What is paced may leave with a piece that comes before the sample that changes the rate.
        let paced = cca.starts_with("bbr");
        let same = if paced { ends[0].abs_diff(ends[1]) < 2_000 } else { divided == honest };
        assert!(same, "{cca}: {ends:?} us");
    }
}

#[test]
fn ack_division_gains_a_segment_for_each_piece_while_prr_has_less_in_flight_than_it_may() {
    // `tcp_cwnd_reduction` lets one more out for each ACK that moves `snd_una`, up to the threshold: the end of the
    // recovery comes within the same round trip.
    for cca in ["reno", "cubic"] {
        let [divided, honest] = [Some(DIVIDES), None].map(|how| times(cca, how, LOST));
        assert_eq!(divided.len(), honest.len(), "{cca}");
        let sooner = divided.iter().zip(&honest).map(|(one, other)| other.since(*one));
        let most = sooner.max().expect("segments");
        assert!(most <= Span::from_ms(5), "{cca}: {most:?}");
    }
}

#[test]
fn spoofed_duplicates_gain_nothing_where_sack_is_agreed_on() {
    for cca in CCAS {
        for lost in [&[], LOST] {
            let same = times(cca, Some(REPEATS), lost) == times(cca, None, lost);
            assert!(same, "{cca}, {lost:?}");
        }
    }
}

#[test]
fn optimistic_acks_hide_every_loss_and_what_is_lost_never_comes() {
    for cca in ["reno", "cubic", "bbr", "bbr3"] {
        let judge = |sent: Sent| match sent.seq % 50 {
            20 | 21 => Verdict::Drop,
            _ => Verdict::Deliver,
        };
        let setup = Setup { segments: u32::MAX, ..setup(cca, Some(AHEAD)) };
        let pair = Pair::new(setup, judge).drive_for(Span::from_ms(2_000));
        let stats = pair.sender.stats();
        assert_eq!((stats.retrans_segs, stats.rtos, pair.sender.sk.lost), (0, 0, 0), "{cca}");
        let came = pair.receiver.stats().packets * u64::from(MSS);
        assert_eq!(pair.receiver.received_bytes(), came, "{cca}: goodput is what came");
        let promised = u64::from(pair.receiver.promised()) * u64::from(MSS);
        assert!(promised > came / 100 * 103, "{cca}: {promised} of {came} bytes are acknowledged");
    }
}

#[test]
fn a_transfer_with_parts_that_never_came_is_not_complete() {
    let pair = Pair::new(setup("reno", Some(AHEAD)), losing(&[700]));
    let pair = pair.drive_for(Span::from_ms(10_000));
    assert!(pair.sender.is_complete() && !pair.receiver.is_complete());
    assert_eq!(pair.receiver.received_bytes(), u64::from((SEGMENTS - 1) * MSS));
}

#[test]
fn what_comes_late_to_an_optimistic_receiver_is_not_lost() {
    let judge = |sent: Sent| match sent.seq % 100 {
        40..=42 => Verdict::Delay(Span::from_ms(30)),
        _ => Verdict::Deliver,
    };
    let pair = Pair::new(setup("cubic", Some(AHEAD)), judge).drive(600);
    assert_eq!(pair.receiver.received_bytes(), u64::from(SEGMENTS * MSS));
    assert_eq!(pair.sender.stats().retrans_segs, 0);
}

#[test]
fn a_promise_beyond_what_was_sent_costs_a_timeout_and_no_more() {
    // Half of what came is promised ahead, and the application pauses: nothing is under way then.
    for ahead in [5, 100, 1_000] {
        let how = Misconduct::AcknowledgesAhead { segments: ahead };
        let setup = Setup { segments: 0, ..setup("reno", Some(how)) };
        let mut pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(150));
        for _ in 0..20 {
            pair.supply(transport::app::Write::Bytes(30 * u64::from(MSS)));
            pair = pair.drive_for(Span::from_ms(5_000));
            assert!(pair.sender.is_all_acknowledged(), "{ahead}");
        }
        assert_eq!(pair.receiver.received_bytes(), 20 * 30 * u64::from(MSS));
    }
}

#[test]
fn a_promise_shortens_the_round_trip_that_the_sender_measures() {
    let srtt_us = |how| {
        let setup = Setup { segments: u32::MAX, ..setup("reno", how) };
        let setup =
            Setup { config: HostConfig { rcvbuf: (131_072, 131_072), ..setup.config }, ..setup };
        let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(3_000));
        pair.sender.sk.srtt_us >> 3
    };
    let (honest, ahead) = (srtt_us(None), srtt_us(Some(AHEAD)));
    assert!(ahead < honest, "{ahead} us, honest {honest} us");
}
