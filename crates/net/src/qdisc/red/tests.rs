//! What becomes of packets.

use super::*;
use crate::ecn;
use crate::packet::{Packet, HEADER_BYTES};
use units::Span;

/// A packet of 1000 bytes on the wire.
fn packet(seq: u32, ecn: u8) -> Packet {
    Packet { seq, len: (1000 - HEADER_BYTES) as u16, ecn, ..Packet::default() }
}

/// Thresholds of 5000 and 15000 bytes, and a probability (20001 / 2^32) so low that nothing is marked between them.
fn config() -> Config {
    Config { probability: 4657, ..Config::new(Bytes::new(60_000)) }
}

fn red(config: Config) -> Red<Packet> {
    Red::new(config, Rng::stream(1, "red")).expect("tc accepts it")
}

/// Packets that come at once: what is dropped, with cause, and what is marked.
fn offer(red: &mut Red<Packet>, n: u32, ecn: u8) -> (Vec<(u32, Cause)>, usize) {
    let mut outcome = Outcome::default();
    for seq in 0..n {
        red.enqueue(Time::ZERO, packet(seq, ecn), &mut outcome);
    }
    (outcome.drops.iter().map(|d| (d.0.seq, d.1)).collect(), outcome.marks.len())
}

/// The average exceeds 15000 bytes when this many packets of 1000 bytes have come: 0, 1000, 2875, 5516,
/// ..., 115395, 122971 of 120000 (A + 1000 k - floor(A / 8)).
const FIRST_HARD: u32 = 22;

#[test]
fn everything_is_dropped_while_the_average_is_at_max() {
    let (drops, marks) = offer(&mut red(config()), 40, ecn::ECT0);
    let expected: Vec<_> = (FIRST_HARD..40).map(|seq| (seq, Cause::Aqm)).collect();
    assert_eq!((drops, marks), (expected, 0));
}

#[test]
fn ecn_marks_in_place_of_dropping_and_harddrop_and_nodrop_say_where_not() {
    let ecn = Config { ecn: true, ..config() };
    let hard = 40 - FIRST_HARD as usize;
    for (config, code, drops, marks) in [
        (ecn, ecn::ECT0, 0, hard),
        (ecn, ecn::NOT_ECT, hard, 0),
        (Config { harddrop: true, ..ecn }, ecn::ECT0, hard, 0),
        (Config { nodrop: true, ..ecn }, ecn::NOT_ECT, 0, 0),
        (Config { nodrop: true, harddrop: true, ..ecn }, ecn::NOT_ECT, hard, 0),
    ] {
        let (dropped, marked) = offer(&mut red(config), 40, code);
        assert_eq!((dropped.len(), marked), (drops, marks), "{config:?} {code}");
    }
}

#[test]
fn an_early_signal_marks_although_harddrop_is_set() {
    let config = Config { ecn: true, harddrop: true, probability: 500_000_000, ..config() };
    let (dropped, marked) = offer(&mut red(config), FIRST_HARD, ecn::ECT0);
    assert!(dropped.is_empty() && marked > 0, "{dropped:?} {marked}");
}

#[test]
fn the_limit_is_in_bytes_and_holds_for_what_was_marked_too() {
    let config = Config { ecn: true, min: Some(Bytes::new(5000)), ..config() };
    let config = Config { limit: Bytes::new(30_999), ..config };
    let mut red = red(config);
    let (drops, marks) = offer(&mut red, 32, ecn::ECT0);
    assert_eq!(drops, [(30, Cause::Overflow), (31, Cause::Overflow)]);
    assert_eq!(marks, 32 - FIRST_HARD as usize);
    assert_eq!((red.len(), red.backlog()), (30, Bytes::new(30_000)));
}

#[test]
fn idle_time_begins_when_nothing_is_found_and_ends_with_the_next_packet() {
    let (mut red, mut outcome) = (red(config()), Outcome::default());
    offer(&mut red, 10, ecn::NOT_ECT);
    let average = red.law.queue;
    while red.dequeue(Time::ZERO + Span::from_ms(5), &mut outcome).is_some() {}
    assert_eq!(red.law.idle_since, Some(Time::ZERO + Span::from_ms(5)));
    red.dequeue(Time::ZERO + Span::from_ms(9), &mut outcome);
    // 12 cells of 8192 us later it is halved, and the empty queue is not averaged in.
    let now = Time::ZERO + Span::from_us(5000 + 12 * 8192);
    red.enqueue(now, packet(0, 0), &mut outcome);
    assert_eq!((red.law.queue, red.law.idle_since), (average >> 1, None));
}

#[test]
fn adaptation_runs_every_half_second_of_jiffies() {
    let (mut red, probability) =
        (red(Config { adaptive: true, ..Config::new(Bytes::new(60_000)) }), 85_899_345);
    assert_eq!(red.next_wakeup(), Some(Time::ZERO + Span::from_ms(504)));
    red.on_timer(Time::ZERO + Span::from_ms(503));
    assert_eq!(red.law.probability(), probability);
    red.on_timer(Time::ZERO + Span::from_ms(504));
    assert_eq!(red.law.probability(), probability / 10 * 9);
    assert_eq!(red.next_wakeup(), Some(Time::ZERO + Span::from_ms(1008)));
}

#[test]
fn what_tc_or_the_kernel_refuse_is_refused() {
    let refused = |config| Red::<Packet>::new(config, Rng::stream(1, "red")).err();
    let thresholds =
        |min, max| Config { min: Some(Bytes::new(min)), max: Some(Bytes::new(max)), ..config() };
    assert_eq!(refused(thresholds(9, 9)), Some(Invalid::Thresholds { min: 9, max: 9 }));
    assert_eq!(
        refused(Config { burst: Some(3), ..config() }),
        Some(Invalid::BurstTooSmall { burst: 3, minimum: 6 })
    );
    let large = Config { probability: 1_000_000_000, ..thresholds(1 << 28, 1 << 29) };
    assert_eq!(refused(large), Some(Invalid::ThresholdsTooLarge { max: 1 << 29 }));
    let (over, avpkt) = (thresholds(9, 1 << 32), Bytes::new(1 << 32));
    assert_eq!(refused(over), Some(Invalid::TooLarge { value: 1 << 32 }));
    assert_eq!(refused(Config { avpkt, ..config() }), Some(Invalid::TooLarge { value: 1 << 32 }));
    assert_eq!(
        refused(Config { probability: 4656, ..config() }),
        Some(Invalid::ProbabilityTooSmall { minimum: 20_001 })
    );
    assert_eq!(refused(Config { nodrop: true, ..config() }), Some(Invalid::NodropWithoutEcn));
    assert_eq!(refused(Config { avpkt: Bytes::ZERO, ..config() }), Some(Invalid::NoPacket));
    assert_eq!(
        refused(Config { bandwidth: Rate::from_bps(1), avpkt: Bytes::new(4000), ..config() }),
        Some(Invalid::BandwidthTooSmall)
    );
}
