//! Removal together and one by one, order of transmission, growth.

use super::*;
use net::rng::Rng;

fn filled(n: u32) -> RtxQueue {
    let mut q = RtxQueue::new();
    for i in 0..n {
        q.push(Stamps { tx_us: i, ..Stamps::default() }, 1, 0);
    }
    q
}

#[test]
fn growing_keeps_order_marks_and_stamps() {
    let mut q = filled(60);
    for _ in 0..50 {
        q.pop_front();
    }
    q.set_flags(55, SACKED);
    q.unlink(55);
    for i in 60..300 {
        q.push(Stamps { tx_us: i, ..Stamps::default() }, 1, 0);
    }
    assert_eq!(q.next_unsacked(55, 300), Some(56));
    assert_eq!(q.oldest(), Some(50));
    assert_eq!(q.sent_after(54), Some(56));
    assert_eq!(q.stamps(299).tx_us, 299);
}

/// Everything that a queue tells of its segments.
fn told(q: &RtxQueue) -> (u32, u32, u32, Vec<u32>) {
    let order = std::iter::successors(q.oldest(), |&seq| q.sent_after(seq));
    (q.una(), q.nxt(), q.buffers(), order.collect())
}

#[test]
fn plain_segments_go_together_as_they_would_go_one_by_one() {
    // Buffers of three segments; one is SACKED and one was sent again.
    let fill = || {
        let mut q = RtxQueue::new();
        for i in 0..20 {
            q.push(Stamps { tx_us: i, ..Stamps::default() }, 3, 0);
        }
        q.set_flags(41, SACKED);
        q.unlink(41);
        q.set_flags(45, EVER_RETRANS | SKB_START);
        q.restamp(45, Stamps { tx_us: 30, ..Stamps::default() });
        q
    };
    for ends in [vec![1, 2, 7, 40, 41, 42, 60], vec![38, 60], vec![3, 60], vec![60]] {
        let (mut together, mut single) = (fill(), fill());
        for end in ends {
            while together.una() < end {
                let first = together.una();
                match together.pop_plain(end) {
                    Some(plain) => {
                        let last = together.una() - 1;
                        assert_eq!(plain.segments, last + 1 - first);
                        let sent = (plain.first_tx_us, plain.stamps.tx_us);
                        assert_eq!(sent, (first / 3, last / 3));
                    }
                    None => together.pop_front(),
                }
            }
            (single.una()..end).for_each(|_| single.pop_front());
            assert_eq!(told(&together), told(&single), "up to {end}");
        }
    }
}

#[test]
fn a_segment_that_something_was_heard_of_is_not_plain() {
    for bits in [SACKED, LOST, RETRANS, EVER_RETRANS, SAMPLED] {
        let mut q = filled(2);
        q.set_flags(0, bits);
        assert!(q.pop_plain(2).is_none(), "{bits:#x}");
    }
    let mut q = filled(2);
    q.unlink(0);
    assert!(q.pop_plain(2).is_none(), "not in the order of transmission");
    assert!(RtxQueue::new().pop_plain(0).is_none());
}

#[test]
fn a_retransmission_moves_to_the_end_of_the_send_order() {
    let mut q = filled(3);
    q.restamp(0, Stamps { tx_us: 9, ..Stamps::default() });
    assert_eq!(q.oldest(), Some(1));
    assert_eq!(q.sent_after(2), Some(0));
    assert_eq!(q.sent_after(0), None);
}

#[test]
fn pending_is_lost_and_neither_retransmitted_nor_sacked() {
    let mut q = filled(200);
    q.set_flags(150, LOST);
    q.set_flags(70, LOST);
    assert_eq!(q.next_pending(), Some(70));
    q.set_flags(70, LOST | RETRANS);
    assert_eq!(q.next_pending(), Some(150));
    q.set_flags(150, SACKED);
    assert_eq!(q.next_pending(), None);
    q.set_flags(70, LOST);
    assert_eq!(q.next_pending(), Some(70));
}

#[test]
fn the_bit_maps_tell_what_the_flags_do_whatever_room_there_is() {
    let mut rng = Rng::stream(1, "bit maps");
    for most in [1, 3, 8, 20, 64, 100, 300] {
        let mut q = RtxQueue::new();
        for _ in 0..2_000 {
            let n = q.nxt() - q.una();
            match rng.below(4) {
                0 if n < most => {
                    q.push(Stamps::default(), 1 + rng.below(3.min(most - n).into()) as u32, 0)
                }
                1 if n > 0 => q.pop_front(),
                2 | 3 if n > 0 => {
                    let of = [0, SACKED, LOST, LOST | RETRANS][rng.below(4) as usize];
                    q.set_flags(q.una() + rng.below(n.into()) as u32, of);
                }
                _ => {}
            }
            let (una, nxt) = (q.una(), q.nxt());
            let from = una + rng.below((nxt - una + 1).into()) as u32;
            let end = from + rng.below(u64::from(nxt - from) + 1) as u32;
            let unsacked = (from..end).find(|&seq| q.flags(seq) & SACKED == 0);
            assert_eq!(q.next_unsacked(from, end), unsacked, "{from}..{end} of {una}..{nxt}");
            let pending = (una..nxt).find(|&seq| q.flags(seq) & (LOST | RETRANS | SACKED) == LOST);
            assert_eq!(q.next_pending(), pending, "{una}..{nxt}");
        }
    }
}

/// Five buffers of four segments, of which these are SACKed in turn; how many buffers there are after each.
fn joined(blocks: &[(u32, u32)], most: u32) -> Vec<u32> {
    let mut q = RtxQueue::new();
    (0..5).for_each(|_| q.push(Stamps::default(), 4, 0));
    let sack = |q: &mut RtxQueue, (start, end)| {
        (start..end).for_each(|seq| q.set_flags(seq, q.flags(seq) | SACKED));
        q.join_sacked(start, end, most);
        q.buffers()
    };
    blocks.iter().map(|&block| sack(&mut q, block)).collect()
}

#[test]
fn a_block_cuts_buffers_at_both_ends() {
    assert_eq!(joined(&[(5, 7)], 99), [7]);
    assert_eq!(joined(&[(4, 8)], 99), [5]);
}

#[test]
fn sacked_segments_join_the_buffer_before_them() {
    // Two segments of a buffer, then its last one with half of the next, then all up to the end.
    assert_eq!(joined(&[(5, 7), (7, 10), (10, 20)], 99), [7, 6, 3]);
    // A hole that is filled joins what is on both sides; one whose own block ends at it does not.
    assert_eq!(joined(&[(4, 8), (12, 16), (8, 12)], 99), [5, 5, 3]);
    assert_eq!(joined(&[(4, 8), (0, 4)], 99), [5, 5]);
}

#[test]
fn a_buffer_that_is_full_is_joined_by_nothing() {
    assert_eq!(joined(&[(4, 20)], 8), [3]);
    assert_eq!(joined(&[(4, 8), (8, 12), (12, 16), (16, 20)], 8), [5, 4, 4, 3]);
}

#[test]
fn a_segment_whose_retransmission_is_out_joins_nothing() {
    let mut q = filled(3);
    [1, 2].into_iter().for_each(|seq| q.set_flags(seq, SACKED | SKB_START));
    q.set_flags(1, SACKED | RETRANS | SKB_START);
    q.join_sacked(1, 3, 99);
    assert_eq!(q.buffers(), 3);
    q.set_flags(1, SACKED | SKB_START);
    q.join_sacked(1, 3, 99);
    assert_eq!(q.buffers(), 2);
}

#[test]
fn as_many_buffers_are_counted_as_begin() {
    let mut rng = Rng::stream(2, "buffers");
    let mut q = RtxQueue::new();
    for step in 0..5_000 {
        let (una, n) = (q.una(), q.nxt() - q.una());
        match rng.below(5) {
            0 | 1 if n < 60 => q.push(Stamps::default(), 1 + rng.below(6) as u32, 0),
            2 if n > 0 => q.pop_front(),
            3 if n > 1 => {
                let seq = una + 1 + rng.below(u64::from(n - 1)) as u32;
                let end = seq + 1 + rng.below(u64::from(q.nxt() - seq)) as u32;
                (seq..end).for_each(|i| q.set_flags(i, q.flags(i) | SACKED));
                q.join_sacked(seq, end, 12);
            }
            4 if n > 0 => {
                let seq = una + rng.below(n.into()) as u32;
                let most = 1 + rng.below(u64::from(q.nxt() - seq)) as u32;
                q.resend(seq, most, Stamps::default(), 0);
            }
            _ => {}
        }
        let begin = (q.una() + 1..q.nxt()).filter(|&seq| q.flags(seq) & SKB_START != 0).count();
        let counted = if q.is_empty() { 0 } else { 1 + begin as u32 };
        assert_eq!(q.buffers(), counted, "step {step}");
    }
}
