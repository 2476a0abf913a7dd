//! When acknowledgements leave.

use crate::losing;
use crate::pair::{Pair, Setup, Verdict, MSS};
use transport::tcp::HostConfig;
use units::Span;

/// A receive buffer that does not grow: the initial window is all there is.
fn fixed_window(bytes: u64) -> HostConfig {
    HostConfig { rcvbuf: (bytes, bytes), ..Setup::default().config }
}

#[test]
fn quick_acks_answer_the_first_sixteen_segments_one_by_one() {
    let setup = Setup { segments: 16, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive(10);
    let numbers: Vec<u32> = pair.acks.iter().skip(1).map(|(_, ack)| ack.ack).collect();
    assert_eq!(numbers, (1..=16).collect::<Vec<_>>());
}

#[test]
fn delayed_acks_answer_every_other_segment_later_on() {
    let setup = Setup { segments: 1000, config: fixed_window(131_072), ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive(60);
    let late = pair.acks.iter().filter(|(_, ack)| ack.ack > 500).count();
    assert!((250..=260).contains(&late), "{late} ACKs for 500 segments");
}

#[test]
fn delayed_ack_answers_a_lone_segment_after_forty_ms() {
    let gap = |sent: crate::pair::Sent| match sent.seq {
        // Everything but an odd last one has long arrived.
        500.. => Verdict::Delay(Span::from_ms(200)),
        _ => Verdict::Deliver,
    };
    // The window is 57 whole segments: 162/256 of the buffer less a segment's memory.
    let setup = Setup { segments: 600, config: fixed_window(132_716), ..Setup::default() };
    let pair = Pair::new(setup, gap).drive(60);
    let waits: Vec<u64> =
        pair.acks.windows(2).map(|w| w[1].0.since(w[0].0).as_us() / 1000).collect();
    assert!(waits.iter().any(|w| (40..=41).contains(w)), "{waits:?}");
    assert_eq!(pair.sender.stats().rtos, 0);
}

#[test]
fn sack_compression_merges_duplicate_acks_after_the_third() {
    let setup = Setup { segments: 2000, config: fixed_window(1 << 20), ..Setup::default() };
    let pair = Pair::new(setup, losing(&[1500])).drive(60);
    let duplicates = pair.acks.iter().filter(|(_, ack)| ack.ack == 1500).count();
    // About 458 segments follow, one each 121 us; an ACK leaves each 1.1 ms, so for nine or ten of them.
    assert!((46..=54).contains(&duplicates), "{duplicates} duplicate ACKs");
    assert_eq!(pair.sender.stats().retrans_segs, 1);
}

#[test]
fn the_receive_window_opens_as_the_application_reads() {
    let config = HostConfig { rcvbuf: (131_072, 6 << 20), ..Setup::default().config };
    let setup = Setup { segments: 20_000, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[])).drive(60);
    let windows: Vec<u32> = pair.acks.iter().map(|(_, ack)| ack.window).collect();
    assert_eq!(windows[0], 65_160);
    let largest = windows.iter().max().copied().unwrap_or(0);
    // All of 6 MiB at the ratio of payload to memory, 162/256.
    assert!((3_500_000..=3_981_312 + 16_384).contains(&largest), "{largest}");
    assert!(pair.max_in_flight <= largest / MSS);
}

#[test]
fn a_segment_that_the_network_doubles_is_reported_and_nothing_is_sent_again() {
    let twice = |sent: crate::pair::Sent| match sent.seq {
        20 => Verdict::Twice(Span::from_ms(1)),
        _ => Verdict::Deliver,
    };
    let pair = Pair::new(Setup { segments: 60, ..Setup::default() }, twice).drive(10);
    let dsacks = pair.acks.iter().filter(|(_, ack)| ack.is_dsack);
    assert_eq!(dsacks.map(|(_, ack)| ack.sacks[0]).collect::<Vec<_>>(), [(20, 21)]);
    assert_eq!(pair.sender.stats().retrans_segs, 0);
}
