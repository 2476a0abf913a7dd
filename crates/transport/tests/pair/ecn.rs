//! Explicit congestion notification, from the mark to the window.

use crate::pair::{Pair, Sent, Setup, Verdict, MSS};
use cca::CaState;
use net::flags;
use transport::common::SenderEvent;
use transport::tcp::{EcnMode, HostConfig};
use units::Span;

/// A greedy flow whose receive window of 57 segments is less than the path takes, so that nothing but
/// marks limits it.
fn setup(cca: &'static str, ecn: EcnMode) -> Setup {
    let config = HostConfig { rcvbuf: (131_072, 131_072), ..Setup::default().config };
    Setup { cca, config, segments: u32::MAX, ecn, ..Setup::default() }
}

/// Marks these segments.
fn marking(is_marked: impl Fn(u32) -> bool) -> impl FnMut(Sent) -> Verdict {
    move |sent| if is_marked(sent.seq) { Verdict::Mark } else { Verdict::Deliver }
}

fn reductions(pair: &Pair<'_>) -> usize {
    pair.count(SenderEvent::CaState(CaState::Cwr))
}

#[test]
fn one_mark_reduces_the_window_once() {
    for mode in [EcnMode::Classic, EcnMode::Accurate] {
        let pair =
            Pair::new(setup("reno", mode), marking(|seq| seq == 40)).drive_for(Span::from_ms(1000));
        assert_eq!(reductions(&pair), 1, "{mode:?}");
        assert!(pair.sender.sk.delivered_ce > 0);
        assert_eq!(pair.receiver.stats().ce_packets, 1);
    }
}

#[test]
fn cwr_ends_the_echo_and_nothing_else_does() {
    let pair = Pair::new(setup("reno", EcnMode::Classic), marking(|seq| seq == 40))
        .drive_for(Span::from_ms(1000));
    let cwr: Vec<u32> =
        pair.sent.iter().filter(|s| s.flags & flags::CWR != 0).map(|s| s.seq).collect();
    assert_eq!(cwr.len(), 1, "{cwr:?}");
    // The SYN-ACK's ECE means something else.
    for (_, ack) in pair.acks.iter().skip(1) {
        assert_eq!(ack.ece, (41..=cwr[0]).contains(&ack.ack), "ACK of {}, CWR on {cwr:?}", ack.ack);
    }
}

#[test]
fn marks_on_every_packet_of_a_round_are_one_reduction() {
    for mode in [EcnMode::Classic, EcnMode::Accurate] {
        // The second window: twenty segments.
        let pair = Pair::new(setup("reno", mode), marking(|seq| (10..30).contains(&seq)))
            .drive_for(Span::from_ms(350));
        assert_eq!(pair.receiver.stats().ce_packets, 20);
        assert_eq!(reductions(&pair), 1, "{mode:?}");
        // The mark on segment 10 is known when eleven of its window have grown the window to 11.
        assert_eq!(pair.sender.sk.snd_ssthresh, 10, "{mode:?}");
    }
}

#[test]
fn marks_in_each_round_are_a_reduction_in_each() {
    let pair = Pair::new(setup("reno", EcnMode::Classic), marking(|_| true))
        .drive_for(Span::from_ms(1050));
    // The first ACK comes at 200 ms; each later round ends a window, until 1000 ms.
    assert!((8..=9).contains(&reductions(&pair)), "{}", reductions(&pair));
    assert_eq!(pair.sender.sk.snd_cwnd, 2);
}

#[test]
fn retransmissions_and_the_syn_carry_no_ect() {
    for mode in [EcnMode::Classic, EcnMode::Accurate] {
        let verdict = |sent: Sent| match (sent.copy, sent.seq % 50) {
            (0, 20) => Verdict::Drop,
            _ => Verdict::Deliver,
        };
        let setup = Setup { segments: 600, ..setup("reno", mode) };
        let pair = Pair::new(setup, verdict).drive(60);
        assert!(pair.sent.iter().any(|s| s.copy > 0));
        for s in &pair.sent {
            assert_eq!(s.ecn, if s.copy == 0 { 2 } else { 0 }, "{s:?}");
        }
        assert!(pair.acks.iter().all(|(_, ack)| ack.0.ecn == 0));
    }
}

#[test]
fn dctcp_marks_everything_ect_acks_too() {
    let verdict = |sent: Sent| match (sent.copy, sent.seq) {
        (0, 20) => Verdict::Drop,
        _ => Verdict::Deliver,
    };
    let setup = Setup { segments: 100, ..setup("dctcp", EcnMode::Off) };
    let pair = Pair::new(setup, verdict).drive(60);
    assert!(pair.sent.iter().all(|s| s.ecn == 2) && pair.sent.iter().any(|s| s.copy > 0));
    assert!(pair.acks.iter().all(|(_, ack)| ack.0.ecn == 2));
}

#[test]
fn prague_marks_everything_ect_1_acks_too_and_counts_each_mark() {
    for mode in [EcnMode::Off, EcnMode::Accurate] {
        let verdict = |sent: Sent| match (sent.copy, sent.seq % 40) {
            (0, 20) if sent.seq == 20 => Verdict::Drop,
            (_, 10 | 11 | 25) => Verdict::Mark,
            _ => Verdict::Deliver,
        };
        let setup = Setup { segments: 400, ..setup("prague", mode) };
        let pair = Pair::new(setup, verdict).drive(60);
        assert!(pair.sent.iter().all(|s| s.ecn == 1) && pair.sent.iter().any(|s| s.copy > 0));
        assert!(pair.acks.iter().all(|(_, ack)| ack.0.ecn == 1));
        assert_eq!(pair.sender.sk.delivered_ce, 30);
    }
}

#[test]
fn prague_with_a_classic_peer_halves_at_a_mark_and_sends_ect_0() {
    let pair = Pair::new(setup("prague", EcnMode::Classic), marking(|seq| seq == 40))
        .drive_for(Span::from_ms(1000));
    assert_eq!(reductions(&pair), 1);
    assert!(pair.sent.iter().filter(|s| s.copy == 0).all(|s| s.ecn == 2));
    assert!(pair.acks.iter().skip(1).any(|(_, ack)| ack.ece));
}

#[test]
fn a_dctcp_receiver_mirrors_the_marks_and_answers_each_change_at_once() {
    // Segments 400 to 404 and 411 of a stream that has long left quick ACKs behind.
    let is_marked = |seq| (400..405).contains(&seq) || seq == 411;
    let pair =
        Pair::new(setup("dctcp", EcnMode::Off), marking(is_marked)).drive_for(Span::from_ms(2000));
    let mut prior = 0;
    for (_, ack) in pair.acks.iter().skip(1).filter(|(_, ack)| ack.ack > 300) {
        if prior > 0 {
            let marks = (prior..ack.ack).filter(|&seq| is_marked(seq)).count() as u32;
            let all = ack.ack - prior;
            // No ACK mixes the two kinds, and its ECE says which kind it is.
            assert_eq!(marks, if ack.ece { all } else { 0 }, "ACK of {prior}..{}", ack.ack);
            assert!(all <= 2);
        }
        prior = ack.ack;
    }
    // Each change is answered at the packet that brought it.
    for changed in [401, 406, 412, 413] {
        assert!(pair.acks.iter().any(|(_, ack)| ack.ack == changed), "{changed}");
    }
    assert_eq!(pair.sender.sk.delivered_ce, 6);
}

#[test]
fn alpha_of_dctcp_converges_to_the_fraction_of_packets_marked() {
    for every in [2_u32, 8, 10, 20] {
        for mode in [EcnMode::Off, EcnMode::Accurate] {
            let mut pair = Pair::new(setup("dctcp", mode), marking(|seq| seq % every == 0))
                .drive_for(Span::from_ms(10_000));
            // Windows are of some 2 / alpha segments, two marks each, so alpha moves about its mean and
            // that is above the fraction: what was cut counts for a window as well. The first word of the
            // controller's state is alpha in 1/1024.
            let mut sum = 0;
            for _ in 0..200 {
                pair = pair.drive_for(Span::from_ms(100));
                sum += pair.sender.sk.icsk_ca_priv[0] as u32;
            }
            let alpha = sum / 200;
            let expected = 1024 / every;
            assert!(alpha.abs_diff(expected) <= expected / 4, "1/{every} {mode:?}: {alpha}");
            let sk = &pair.sender.sk;
            assert!(
                sk.delivered_ce.abs_diff(sk.delivered / every) <= 2,
                "{} of {}",
                sk.delivered_ce,
                sk.delivered
            );
        }
    }
}

#[test]
fn accurate_ecn_counts_every_mark_across_many_wraps() {
    let pair = Pair::new(setup("bbr", EcnMode::Accurate), marking(|seq| seq % 3 != 0))
        .drive_for(Span::from_ms(5_000));
    let (una, _) = pair.sender.window();
    let marked = (0..una).filter(|seq| seq % 3 != 0).count() as u32;
    assert!(marked > 1000);
    assert_eq!(pair.sender.sk.delivered_ce, marked);
    assert!(pair.acks.iter().all(|(_, ack)| !ack.ece));
}

#[test]
fn accurate_ecn_catches_up_after_lost_acks() {
    // Of four ACKs three are lost: at most eight segments in one go, two or three of them marked.
    let mut n = 0;
    let pair = Pair::new(setup("bbr", EcnMode::Accurate), marking(|seq| seq % 3 == 0))
        .with_acks(move |ack| {
            n += 1;
            if ack.is_syn() || n % 4 == 0 {
                Verdict::Deliver
            } else {
                Verdict::Drop
            }
        })
        .drive_for(Span::from_ms(5_000));
    let (una, _) = pair.sender.window();
    let marked = una.div_ceil(3);
    assert!(marked > 500);
    assert_eq!(pair.sender.sk.delivered_ce, marked);
}

/// Fifteen of sixteen ACKs are lost after the first 400 segments.
fn thinned(marked: bool) -> Pair<'static> {
    let mut n = 0;
    Pair::new(setup("bbr", EcnMode::Accurate), marking(move |_| marked)).with_acks(move |ack| {
        n += 1;
        if ack.tcp().ack < 400 || n % 16 == 0 {
            Verdict::Deliver
        } else {
            Verdict::Drop
        }
    })
}

#[test]
fn accurate_ecn_takes_acks_of_many_segments_for_wraps_until_they_are_the_rule() {
    let pair = thinned(false).drive_for(Span::from_ms(5_000));
    let seen = pair.sender.sk.delivered_ce;
    assert!(seen > 0, "as Linux 6.18 sees them");
    let pair = pair.drive_for(Span::from_ms(5_000));
    assert_eq!(pair.sender.sk.delivered_ce, seen);
}

#[test]
fn accurate_ecn_misses_wraps_where_acks_are_thinned() {
    let pair = thinned(true).drive_for(Span::from_ms(5_000));
    let (una, _) = pair.sender.window();
    assert!(una > 1000, "{una}");
    assert!(pair.sender.sk.delivered_ce < una / 2, "{}", pair.sender.sk.delivered_ce);
}

#[test]
fn bbr2_with_ecn_gets_the_echo_of_dctcp_and_classic_ecn_does_not() {
    for (params, is_mirrored) in [(&[("ecn_enable", 1)][..], true), (&[][..], false)] {
        let setup = Setup { params, ..setup("bbr2", EcnMode::Classic) };
        let pair = Pair::new(setup, marking(|seq| seq == 100)).drive_for(Span::from_ms(2000));
        let echoes = pair.acks.iter().skip(1).filter(|(_, ack)| ack.ece).count();
        assert_eq!(echoes == 1, is_mirrored, "{echoes} ACKs with ECE");
    }
}

#[test]
fn a_retransmitted_syn_asks_for_no_ecn() {
    let config = setup("reno", EcnMode::Classic);
    let pair = Pair::new(config, marking(|_| true)).losing_the_first_syn();
    let pair = pair.drive_for(Span::from_ms(3000));
    assert!(pair.sent.len() > 20 && pair.sent.iter().all(|s| s.ecn == 0));
    assert_eq!(reductions(&pair), 0);
    assert!(pair.max_in_flight <= 82_944 / MSS);
}
