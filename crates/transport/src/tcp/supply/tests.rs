//! What is written, cut and sent, by hand.

use super::*;

/// 2500 bytes were written; full segments have 1000, full buffers 3000 bytes.
fn written() -> Supply {
    let mut supply = Supply::new(Stream::EMPTY, 1000);
    assert!(supply.begin_write(0));
    assert_eq!(supply.append(2500, 3000, 0, true), 2500);
    supply
}

#[test]
fn a_write_is_cut_into_full_segments_and_a_rest_that_the_next_write_fills() {
    let mut supply = written();
    assert_eq!((supply.unsent(0), supply.payload(1), supply.payload(2)), (3, 1000, 500));
    assert!(!supply.begin_write(0));
    assert_eq!((supply.append(600, 3000, 0, true), supply.is_one_buffer(0)), (500, true));
    assert_eq!((supply.append(100, 3000, 0, false), supply.is_one_buffer(0)), (100, false));
    assert_eq!((supply.unsent(0), supply.payload(2), supply.payload(3)), (4, 1000, 100));
    assert_eq!(supply.front_len(|| 3), 3);
}

#[test]
fn a_segment_that_was_sent_short_stays_so_and_sequence_numbers_follow() {
    let mut supply = written();
    supply.consume_front(2500, || 3);
    assert!(supply.begin_write(3), "all three were sent");
    supply.set_pending(1000, 3);
    assert_eq!((supply.payload(2), supply.payload(3)), (500, 1000));
    assert_eq!((supply.byte_seq(3), supply.byte_seq(4)), (2501, 3501));
    assert_eq!(supply.bytes_in_flight(0, 3), 2500);
}

#[test]
fn what_the_receive_window_cuts_off_a_segment_comes_next() {
    let mut supply = written();
    supply.cut(0, 2, 300);
    assert_eq!(
        (supply.payload(1), supply.unsent_bytes(2), supply.bytes_of_next(2, 2)),
        (300, 1200, 1200)
    );
    assert_eq!((supply.payload(2), supply.payload(3), supply.written(2)), (1000, 200, 2500));
}

#[test]
fn nagle_holds_a_short_segment_while_another_is_out() {
    let mut supply = written();
    assert!(!supply.is_short_out(0, 0));
    supply.note_short_send(3);
    assert!(supply.is_short_out(0, 3), "segment 2 is short and not acknowledged");
    assert!(!supply.is_short_out(3, 3));
}

#[test]
fn push_stays_at_the_end_of_a_full_buffer_and_goes_with_that_of_another() {
    for (goal, begins, marked) in
        [(3000, true, Some(2)), (4000, true, None), (4000, false, Some(3))]
    {
        let mut supply = written();
        supply.append(500, 3000, 0, false);
        supply.mark_push(0);
        supply.append(1000, goal, 0, begins);
        assert_eq!((0..4).find(|&seq| supply.ends_write(seq)), marked, "{goal} {begins}");
    }
}

#[test]
fn half_a_window_without_push_forces_one() {
    let supply = written();
    assert!(supply.is_push_due(0, 4998) && !supply.is_push_due(0, 5000));
}

#[test]
fn push_goes_with_the_end_of_a_buffer_that_is_filled_up_from_the_next() {
    // Of 1500 bytes each, with PSH at both ends.
    let two_buffers = || {
        let mut supply = Supply::new(Stream::EMPTY, 1000);
        assert!(supply.begin_write(0));
        for _ in 0..2 {
            assert_eq!(supply.append(1500, 1500, 0, true), 1500);
            supply.mark_push(0);
        }
        supply
    };
    let marked = |supply: &Supply| (0..4).filter(|&seq| supply.ends_write(seq)).collect::<Vec<_>>();
    let (mut part, mut all) = (two_buffers(), two_buffers());
    assert_eq!((part.grow_front(0, 2, || 3), all.grow_front(0, 9, || 3)), (2000, 3000));
    assert_eq!((marked(&part), marked(&all)), (vec![1, 2], vec![2]));
}
