//! Who goes first, who gets how much, and who loses what.

use super::*;
use crate::ecn;
use crate::frame::SKB_OVERHEAD;
use crate::packet::{Packet, HEADER_BYTES};

fn packet(flow: u32, seq: u32, wire: u64) -> Packet {
    Packet { flow, seq, len: (wire - HEADER_BYTES) as u16, ecn: ecn::ECT0, ..Packet::default() }
}

/// Enqueues `n` packets of a flow at time zero.
fn fill(queue: &mut FqCodel<Packet>, outcome: &mut Outcome<Packet>, flow: u32, n: u32, wire: u64) {
    for seq in 0..n {
        queue.enqueue(Time::ZERO, packet(flow, seq, wire), outcome);
    }
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// Flow and number of the next packet.
fn next(queue: &mut FqCodel<Packet>, ms: u64, outcome: &mut Outcome<Packet>) -> Option<(u32, u32)> {
    queue.dequeue(at_ms(ms), outcome).map(|q| (q.packet.flow, q.packet.seq))
}

fn bucket_of(flow: u32, queue: &FqCodel<Packet>) -> usize {
    bucket(packet(flow, 0, 66).flow_hash(), queue.config.perturbation, queue.config.flows) as usize
}

#[test]
fn a_sparse_flow_overtakes_a_bulk_flow() {
    let (mut queue, mut outcome) = (FqCodel::new(Config::default()), Outcome::default());
    fill(&mut queue, &mut outcome, 1, 50, 1514);
    // A packet uses up the quantum, and the bulk flow is an old one.
    assert_eq!(next(&mut queue, 0, &mut outcome), Some((1, 0)));
    assert_eq!(next(&mut queue, 0, &mut outcome), Some((1, 1)));
    for seq in 0..3 {
        queue.enqueue(Time::ZERO, packet(2, seq, 66), &mut outcome);
        assert_eq!(next(&mut queue, 0, &mut outcome), Some((2, seq)));
        assert_eq!(next(&mut queue, 0, &mut outcome), Some((1, 2 + seq)));
    }
}

#[test]
fn an_emptied_new_flow_waits_for_a_turn_of_the_old_ones() {
    let (mut queue, mut outcome) = (FqCodel::new(Config::default()), Outcome::default());
    fill(&mut queue, &mut outcome, 1, 10, 1000);
    // After three packets the bulk flow is an old one, with 2 * 1514 - 3 * 1000 bytes left.
    for seq in 0..3 {
        assert_eq!(next(&mut queue, 0, &mut outcome), Some((1, seq)));
    }
    fill(&mut queue, &mut outcome, 2, 1, 66);
    assert_eq!(next(&mut queue, 0, &mut outcome), Some((2, 0)));
    // Flow 2 is found empty and goes after flow 1; what comes now does not overtake.
    assert_eq!(next(&mut queue, 0, &mut outcome), Some((1, 3)));
    queue.enqueue(Time::ZERO, packet(2, 1, 66), &mut outcome);
    assert_eq!(queue.new.len, 0);
    assert_eq!(queue.flows[bucket_of(2, &queue)].deficit, 1514 - 66);
    assert_eq!(next(&mut queue, 0, &mut outcome), Some((2, 1)));
}

#[test]
fn flows_with_packets_of_1514_and_300_bytes_get_the_same_bytes() {
    let (mut queue, mut outcome) = (FqCodel::new(Config::default()), Outcome::default());
    fill(&mut queue, &mut outcome, 1, 400, 1514);
    fill(&mut queue, &mut outcome, 2, 2000, 300);
    let mut bytes = [0i64; 3];
    for _ in 0..2000 {
        let head = queue.dequeue(Time::ZERO, &mut outcome).map(|q| q.packet);
        let Some(head) = head else { break };
        bytes[head.flow as usize] += head.wire_bytes().get() as i64;
        // Deficit round robin: never further apart than a quantum and a packet of each.
        assert!((bytes[1] - bytes[2]).abs() <= 1514 + 1514 + 300, "{bytes:?}");
    }
    assert!(bytes[1] > 400_000, "{bytes:?}");
}

#[test]
fn overflow_takes_half_of_the_fattest_bucket_from_its_front() {
    let config = Config { limit: 30, ..Config::default() };
    let (mut queue, mut outcome) = (FqCodel::new(config), Outcome::default());
    fill(&mut queue, &mut outcome, 1, 10, 1514);
    fill(&mut queue, &mut outcome, 2, 20, 100);
    assert!(outcome.is_empty());
    // The fattest is the one with most bytes, not most packets, nor the one that the packet is for.
    queue.enqueue(Time::ZERO, packet(2, 20, 100), &mut outcome);
    let drops: Vec<_> = outcome.drops.iter().map(|(p, cause)| (p.flow, p.seq, *cause)).collect();
    let expected: Vec<_> = (0..5).map(|seq| (1, seq, Cause::Overflow)).collect();
    assert_eq!(drops, expected);
    assert_eq!((queue.len(), queue.backlog()), (26, Bytes::new(5 * 1514 + 21 * 100)));
    // What is left of it counts next: half of 7570 bytes are three packets.
    fill(&mut queue, &mut outcome, 3, 5, 1500);
    let drops: Vec<_> = outcome.drops[5..].iter().map(|(p, _)| (p.flow, p.seq)).collect();
    assert_eq!(drops, [(1, 5), (1, 6), (1, 7)]);
}

#[test]
fn overflow_takes_at_most_a_batch_and_tells_codel() {
    let config = Config { limit: 999, ..Config::default() };
    let (mut queue, mut outcome) = (FqCodel::new(config), Outcome::default());
    fill(&mut queue, &mut outcome, 1, 1000, 1514);
    assert_eq!(outcome.drops.len(), 64);
    assert_eq!(outcome.drops[63].0.seq, 63);
    assert_eq!(queue.flows[bucket_of(1, &queue)].codel.signals(), 64);
}

#[test]
fn the_first_of_equally_fat_buckets_loses() {
    let config = Config { limit: 11, ..Config::default() };
    let (mut queue, mut outcome) = (FqCodel::new(config), Outcome::default());
    fill(&mut queue, &mut outcome, 1, 6, 1000);
    fill(&mut queue, &mut outcome, 2, 6, 1000);
    let first = if bucket_of(1, &queue) < bucket_of(2, &queue) { 1 } else { 2 };
    assert_eq!(outcome.drops.iter().map(|d| d.0.flow).collect::<Vec<_>>(), [first; 3]);
}

#[test]
fn the_memory_limit_counts_what_packets_occupy() {
    let packet_bytes = u64::from(SKB_OVERHEAD) + 1448;
    let config = Config { memory_limit: Bytes::new(4 * packet_bytes), ..Config::default() };
    let (mut queue, mut outcome) = (FqCodel::new(config), Outcome::default());
    fill(&mut queue, &mut outcome, 1, 4, 1514);
    assert!(outcome.is_empty());
    queue.enqueue(Time::ZERO, packet(1, 4, 1514), &mut outcome);
    // Of five packets, three are at least half of the bytes.
    let drops: Vec<_> = outcome.drops.iter().map(|(p, cause)| (p.seq, *cause)).collect();
    assert_eq!(drops, [(0, Cause::Overflow), (1, Cause::Overflow), (2, Cause::Overflow)]);
    assert_eq!(queue.held.memory, 2 * packet_bytes);
}

/// Which packets of flow 2, that never has an MTU waiting, are marked while flow 1 has `n` packets.
fn marks_of_a_thin_flow_beside(n: u32) -> Vec<u32> {
    let (mut queue, mut outcome) = (FqCodel::new(Config::default()), Outcome::default());
    fill(&mut queue, &mut outcome, 1, n, 1514);
    fill(&mut queue, &mut outcome, 2, 15, 100);
    let heads = (1..=16).map(|n| queue.dequeue(at_ms(10 * n), &mut outcome).map(|q| q.packet));
    let thin: Vec<Packet> = heads.flatten().filter(|p| p.flow == 2).collect();
    assert_eq!(thin.len(), 15);
    thin.iter().filter(|p| p.ecn == ecn::CE).map(|p| p.seq).collect()
}

#[test]
fn a_thin_flow_is_late_when_all_buckets_together_hold_more_than_an_mtu() {
    // Its first leaves at 20 ms, so 130 ms is an interval later.
    assert_eq!(marks_of_a_thin_flow_beside(20), [11]);
    assert_eq!(marks_of_a_thin_flow_beside(1), []);
}

#[test]
fn codel_remembers_a_flow_that_was_idle() {
    let (mut queue, mut outcome) = (FqCodel::new(Config::default()), Outcome::default());
    fill(&mut queue, &mut outcome, 1, 400, 1514);
    for ms in 10..330 {
        next(&mut queue, ms, &mut outcome);
    }
    // At 111 ms and 100, 50.0 and 56.2 ms after one another.
    assert_eq!(outcome.marks.len(), 4);
    while next(&mut queue, 330, &mut outcome).is_some() {}
    assert!(!queue.flows[bucket_of(1, &queue)].has_turn);
    outcome = Outcome::default();
    for seq in 0..300 {
        queue.enqueue(at_ms(400), packet(1, seq, 1514), &mut outcome);
    }
    let mut marks = vec![];
    for ms in 410..600 {
        next(&mut queue, ms, &mut outcome);
        marks.extend(outcome.marks.drain(..).map(|_| ms));
    }
    // The last spell added 3: a step from its root, 31968, gives 36542, which is 55.8 ms.
    assert_eq!(marks, [511, 567]);
}

#[test]
fn a_threshold_of_242_us_marks_whatever_waited_longer() {
    let config = Config { ecn: false, ce_threshold: Some(Span::from_us(242)), ..Config::default() };
    let (mut queue, mut outcome) = (FqCodel::new(config), Outcome::default());
    fill(&mut queue, &mut outcome, 1, 40, 1514);
    // A link of 1 Gbit/s: 12.112 us a packet, so those from number 21 on wait 242.688 us or more.
    for seq in 0..40u64 {
        let now = Time::from_ns(12_112 * seq);
        let head = queue.dequeue(now, &mut outcome).map(|q| q.packet.ecn == ecn::CE);
        assert_eq!(head, Some(seq >= 21), "packet {seq}");
    }
    assert!(outcome.marks.iter().all(|m| m.1 == Cause::Threshold));
}

#[test]
fn flows_collide_elsewhere_under_another_perturbation() {
    let collisions = |perturbation| {
        let config = Config { flows: 64, perturbation, ..Config::default() };
        let queue: FqCodel<Packet> = FqCodel::new(config);
        (1..64).filter(|f| bucket_of(*f, &queue) == bucket_of(0, &queue)).collect::<Vec<_>>()
    };
    assert_ne!(collisions(1), collisions(2));
}

#[test]
fn the_quantum_is_kept_within_the_kernels_bounds() {
    let quantum = |bytes| {
        let queue: FqCodel<Packet> =
            FqCodel::new(Config { quantum: Bytes::new(bytes), ..Config::default() });
        queue.config.quantum.get()
    };
    assert_eq!((quantum(1), quantum(300), quantum(1 << 21)), (256, 300, 1 << 20));
}
