//! When packets leave (RFC 9002 section 7.7).

use crate::losing;
use crate::pair::{Pair, Setup};
use std::collections::BTreeSet;
use transport::quic::Config;
use units::Span;

fn paced(cca: &'static str) -> Setup {
    Setup { cca, config: Config::default(), segments: u32::MAX, ..Setup::default() }
}

#[test]
fn ten_packets_leave_at_once_and_the_rest_at_one_and_a_quarter_windows_per_rtt() {
    let mut setup = paced("reno");
    setup.config.initial_window = 40;
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(199));
    let at: Vec<u64> = pair.sent.iter().map(|sent| sent.at.as_ns()).collect();
    assert_eq!(at.len(), 40);
    assert!(at[..10].iter().all(|&t| t == at[0]));
    // 100 ms / 1.25 / 40 = 2 ms.
    assert!(at[10..].windows(2).all(|w| w[1] - w[0] == 2_000_000), "{at:?}");
}

#[test]
fn the_controller_that_sets_a_rate_is_paced_by_it() {
    let mut pair = Pair::new(paced("bbr"), losing(&[])).drive_for(Span::from_ms(5000));
    let from = pair.sent.len();
    let mut gaps_allowed = BTreeSet::new();
    for _ in 0..20_000 {
        gaps_allowed.insert(1000 * 1_000_000_000 / pair.sender.sk.sk_pacing_rate);
        pair = pair.drive_for(Span::from_us(50));
    }
    let gaps: BTreeSet<u64> =
        pair.sent[from..].windows(2).map(|w| w[1].at.since(w[0].at).as_ns()).collect();
    assert!(pair.sent.len() - from > 9_000, "{} packets in 1 s", pair.sent.len() - from);
    // A whole cycle: a quarter more and less than the link's 10000 packets/s, and that less 1 %.
    assert!(gaps_allowed.len() > 2 && gaps.is_subset(&gaps_allowed), "{gaps:?} {gaps_allowed:?}");
}

#[test]
fn a_limit_on_the_rate_holds() {
    let mut pair = Pair::new(paced("cubic"), losing(&[]));
    pair.sender.set_max_pacing_rate(1_000_000);
    pair = pair.drive_for(Span::from_ms(2_000));
    let before = pair.receiver.rcv_nxt();
    let pair = pair.drive_for(Span::from_ms(8_000));
    let received = pair.receiver.rcv_nxt() - before;
    assert!((7_999..=8_001).contains(&received), "{received} packets in 8 s at 1000/s");
    // A hundred packets are in flight: slow start ends when less than half of the window is used.
    let cwnd = pair.sender.sk.snd_cwnd;
    assert!((150..=206).contains(&cwnd), "a window of {cwnd} that is not used has grown");
}

#[test]
fn pacing_can_be_switched_off_for_windows() {
    let setup = Setup { segments: u32::MAX, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive_for(Span::from_ms(150));
    assert!(pair.sent.iter().all(|sent| sent.at == pair.sent[0].at));
}
