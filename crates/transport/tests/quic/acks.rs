//! What the receiver says, and when (RFC 9000 section 13.2).

use crate::losing;
use crate::pair::{Pair, Sent, Setup, Verdict};
use net::{flags, Ack, AckBody, Packet};
use transport::quic::{Config, Receiver};
use units::{Span, Time};

fn config() -> Config {
    Setup::default().config
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn packet(number: u32) -> Packet {
    Packet { seq: number, ts_val: number, len: 1000, flags: flags::QUIC, ..Packet::default() }
}

/// The ACKs that packets with these numbers cause, 1 ms apart.
fn acks_after(receiver: &mut Receiver, numbers: &[u32]) -> Vec<Vec<Ack>> {
    let one = |(i, &number): (usize, &u32)| {
        let mut out = Vec::new();
        receiver.on_packet(at_ms(i as u64), &packet(number), &mut out);
        out
    };
    numbers.iter().enumerate().map(one).collect()
}

fn counts(receiver: &mut Receiver, numbers: &[u32]) -> Vec<usize> {
    acks_after(receiver, numbers).iter().map(Vec::len).collect()
}

#[test]
fn every_nth_packet_is_acknowledged() {
    for (every, counted) in [(1, [1; 6]), (2, [0, 1, 0, 1, 0, 1]), (3, [0, 0, 1, 0, 0, 1])] {
        let mut receiver = Receiver::new(Config { ack_every: every, ..config() }, 100, 1);
        assert_eq!(counts(&mut receiver, &[0, 1, 2, 3, 4, 5]), counted);
    }
}

#[test]
fn a_lone_packet_is_acknowledged_after_the_longest_delay_which_the_frame_tells() {
    let mut receiver = Receiver::new(config(), 100, 1);
    assert_eq!(counts(&mut receiver, &[0]), [0]);
    assert_eq!(receiver.next_deadline(), at_ms(25));
    let mut out = Vec::new();
    receiver.on_timer(at_ms(25), &mut out);
    let frame = out[0].frame().expect("an ACK frame");
    assert_eq!((frame.largest, frame.ranges, frame.delay_us), (0, 1, 25_000));
    assert!(!receiver.next_deadline().is_set());
}

#[test]
fn a_gap_and_a_late_packet_are_told_at_once() {
    let mut receiver = Receiver::new(Config { ack_every: 10, ..config() }, 100, 1);
    // 2 opens a gap, 3 does not, 1 comes late, 4 follows the largest.
    assert_eq!(counts(&mut receiver, &[0, 2, 3, 1, 4]), [0, 1, 0, 1, 0]);
}

#[test]
fn a_mark_is_told_at_once_and_counted() {
    let mut receiver = Receiver::new(config(), 100, 1);
    let mut out = Vec::new();
    receiver.on_packet(at_ms(0), &Packet { ecn: 3, ..packet(0) }, &mut out);
    receiver.on_packet(at_ms(1), &Packet { ecn: 2, ..packet(1) }, &mut out);
    receiver.on_packet(at_ms(2), &Packet { ecn: 1, ..packet(2) }, &mut out);
    let frames: Vec<_> = out.iter().filter_map(Ack::frame).collect();
    assert_eq!(frames.iter().map(|f| f.ecn).collect::<Vec<_>>(), [[0, 0, 1], [1, 1, 1]]);
}

#[test]
fn a_duplicate_is_not_acknowledged_and_not_delivered_again() {
    let mut receiver = Receiver::new(Config { ack_every: 1, ..config() }, 100, 1);
    assert_eq!(counts(&mut receiver, &[0, 1, 1, 0, 2]), [1, 1, 0, 0, 1]);
    assert_eq!((receiver.stats().duplicates, receiver.stats().delivered_bytes), (2, 3000));
}

#[test]
fn stop_waiting_trims_the_ranges_and_what_comes_below_is_thrown_away() {
    let mut receiver = Receiver::new(Config { ack_every: 1, ..config() }, 100, 1);
    counts(&mut receiver, &[0, 2, 4]);
    assert_eq!(receiver.ranges().len(), 3);
    let repaired = Packet {
        len: packet(5).len,
        flags: flags::QUIC | flags::RETRANS | flags::STOP_WAITING,
        ..Packet::quic(5, 1, 4)
    };
    receiver.on_packet(at_ms(9), &repaired, &mut Vec::new());
    assert_eq!(receiver.ranges().iter().collect::<Vec<_>>(), [(4, 6)]);
    assert_eq!(receiver.rcv_nxt(), 3, "segment 1 came with packet 5");
    assert_eq!(counts(&mut receiver, &[1]), [0]);
    assert_eq!(receiver.stats().duplicates, 1);
}

#[test]
fn the_sender_says_stop_waiting_and_the_receiver_ends_with_one_range() {
    let setup = Setup { segments: 600, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[20, 40, 60, 61])).drive(20);
    let frames = pair.frames();
    assert!(frames.iter().any(|(_, frame)| frame.ranges > 1));
    assert_eq!(frames[frames.len() - 1].1.ranges, 1);
    let said: Vec<u32> = pair.sent.iter().filter_map(|sent| sent.stop_waiting).collect();
    assert!(said.is_sorted() && said[said.len() - 1] > 61, "{said:?}");
    assert!(pair.sent.iter().filter(|s| s.is_retrans).all(|s| s.stop_waiting.is_some()));
    assert!(said.len() < 12, "not in every packet: {said:?}");
}

#[test]
fn lost_acknowledgements_are_made_up_for_by_the_next_and_leave_nothing_behind() {
    let mut n = 0;
    let mut pair = Pair::new(Setup { segments: 900, ..Setup::default() }, losing(&[50, 51]))
        .with_acks(move |ack| {
            n += 1;
            if ack.is_syn() || n % 3 == 0 {
                Verdict::Deliver
            } else {
                Verdict::Drop
            }
        })
        .drive(60);
    assert_eq!(pair.sender.stats().lost, 2);
    assert_eq!(pair.sender.spurious_losses(), 0);
    assert!(pair.receiver.arrivals_mut().len() < 4, "what the last lost frames reported");
}

/// `Pair` compares what the sender takes as acknowledged with the ranges of the frames.
#[test]
fn what_more_than_255_ranges_leave_out_is_not_acknowledged() {
    let verdict = |sent: Sent| match sent.number {
        n if n < 700 && n % 2 == 1 => Verdict::Drop,
        _ => Verdict::Deliver,
    };
    let mut n = 0;
    let config = Config { initial_window: 700, ..config() };
    let pair = Pair::new(Setup { segments: 700, config, ..Setup::default() }, verdict)
        .with_acks(move |_| {
            n += 1;
            if (2..350).contains(&n) {
                Verdict::Drop
            } else {
                Verdict::Deliver
            }
        })
        .drive(20);
    // Packet 0 waits, 2 opens a gap: frame k answers packet 2k + 2.
    let first = pair.frames()[348].1;
    assert_eq!((first.ranges, first.smallest, first.largest), (255, 698 - 2 * 254, 698));
    // 0, 2, ... 188 arrived and were never reported.
    assert_eq!(pair.receiver.stats().redundant, 95);
}

#[test]
fn the_delay_of_the_ack_does_not_count_as_rtt() {
    // One packet at a time, each acknowledged after 25 ms.
    let config = Config { initial_window: 1, ..config() };
    let lone = Setup { segments: 1, config, ..Setup::default() };
    let pair = Pair::new(lone, losing(&[])).drive(10);
    assert_eq!(pair.sender.last_rtt_us(), 125_100, "as measured");
    // The Initial took 100 ms.
    let expected = 100_000 * 8 + 100;
    assert_eq!(pair.sender.sk.srtt_us, expected);
    assert_eq!(pair.sender.sk.rtt_min.value(), 100_000);
}

#[test]
fn marks_make_the_controller_reduce_once_a_window() {
    let marks = |sent: Sent| match sent.number {
        60..=70 => Verdict::Mark,
        _ => Verdict::Deliver,
    };
    let config = Config { ecn: true, ..config() };
    let setup = Setup { segments: u32::MAX, config, ..Setup::default() };
    let pair = Pair::new(setup, marks).drive_for(Span::from_ms(700));
    use transport::common::SenderEvent::CaState as State;
    assert_eq!(pair.count(State(cca::CaState::Cwr)), 1);
    assert_eq!(pair.sender.sk.delivered_ce, 11);
    assert_eq!((pair.sender.stats().lost, pair.sender.stats().undos), (0, 0));
    assert!(pair.sender.sk.snd_ssthresh < 100);
}

#[test]
fn a_path_that_clears_the_code_point_is_used_without_ecn() {
    let config = Config { ecn: true, ..config() };
    let setup = Setup { segments: 200, config, ..Setup::default() };
    let pair = Pair::new(setup, losing(&[]));
    let pair = pair
        .with_acks(|ack| {
            if let AckBody::Quic(Some(frame)) = &mut ack.body {
                frame.ecn = [0; 3];
            }
            Verdict::Deliver
        })
        .drive(20);
    assert_eq!(pair.sender.sk.ecn_flags, 0);
    assert_eq!(pair.sender.stats().lost, 0);
}
