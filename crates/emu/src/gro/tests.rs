//! Frames of a burst, cut by what sends them on, are merged again.

use super::*;
use crate::gso::Segmenter;
use units::Span;

/// What is told of a case, its frames, and the numbers of those that are handed over together.
type Case = (&'static str, Vec<Vec<u8>>, &'static [&'static [u32]]);

const MSS: usize = 1448;
const HEADERS: usize = 52;

/// A driver's header and a burst from 10.1.0.1:50000 to 10.2.0.1:5201 with timestamps, checksums half done.
fn burst(seq: u32, flags: u16, payload: usize, ts: u8) -> Vec<u8> {
    let mut p = vec![1, 1];
    for number in [HEADERS, MSS, 20, 16] {
        p.extend((number as u16).to_ne_bytes());
    }
    p.extend([0x45, 2, 0, 0, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 1, 0, 1, 10, 2, 0, 1]);
    p[12..14].copy_from_slice(&((HEADERS + payload) as u16).to_be_bytes());
    p.extend([50_000_u16.to_be_bytes(), 5_201_u16.to_be_bytes()].concat());
    p.extend([seq.to_be_bytes(), 70_000_u32.to_be_bytes()].concat());
    p.extend((8 << 12 | flags).to_be_bytes());
    p.extend([1, 2, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, ts, 0, 0, 0, 7]);
    p.extend((0..payload).map(|i| (i % 251) as u8));
    p
}

fn cut(read: &[u8]) -> Vec<Vec<u8>> {
    let mut segmenter = Segmenter::default();
    segmenter.buffer()[..read.len()].copy_from_slice(read);
    segmenter.set_length(read.len());
    let mut out = [0; 1536];
    std::iter::from_fn(|| segmenter.next(&mut out).map(|n| out[..n].to_vec())).collect()
}

fn at_us(us: u64) -> Time {
    Time::from_ns(us * 1_000)
}

/// Offers frames a microsecond apart; numbers of the frames in each run, and of those that go alone, as they are
/// handed over. What is left goes in the end.
fn handed_over(frames: &[Vec<u8>]) -> Vec<Vec<u32>> {
    let (mut merger, mut seen) = (Merger::new(1), Vec::new());
    for (i, frame) in (0..).zip(frames) {
        let now = at_us(u64::from(i));
        let offered = merger.offer(now, Direction::Forward, 0, i, &frame[VNET_BYTES..]);
        seen.extend(offered.ended.map(|run| run.buffers));
        if !offered.is_held {
            seen.push(vec![i]);
        }
    }
    seen.extend(merger.pop(at_us(1_000)).map(|run| run.buffers));
    seen
}

#[test]
fn what_was_cut_is_merged_to_the_same_bytes() {
    let whole = burst(5_000, flag::ACK | flag::PSH, 9 * MSS + 100, 9);
    let mut frames = cut(&whole);
    let mut merger = Merger::new(1);
    for (i, frame) in (0..).zip(&frames) {
        let now = at_us(3);
        let offered = merger.offer(now, Direction::Back, 0, i, &frame[VNET_BYTES..]);
        assert!(offered.is_held && offered.ended.is_none(), "{i}");
    }
    assert_eq!(merger.next_at(), Some(at_us(3) + COALESCE));
    assert!(merger.pop(at_us(52)).is_none(), "it is held for 50 us");
    let run = merger.pop(at_us(53)).expect("due");
    assert_eq!((run.direction, run.buffers.len(), merger.next_at()), (Direction::Back, 10, None));
    run.put_head(&mut frames[0]);
    let others: Vec<&[u8]> = frames[1..].iter().map(|frame| run.payload(frame)).collect();
    let merged = [&frames[0][..], &others.concat()].concat();
    // The kernel that hands a burst over has both checksums in it, ours above has none.
    let mut expected = whole;
    expected[VNET_BYTES + 10..VNET_BYTES + 12].copy_from_slice(&merged[20..22]);
    expected[VNET_BYTES + 36..VNET_BYTES + 38].copy_from_slice(&merged[46..48]);
    assert_eq!(merged, expected);
    let sum = |bytes: &[u8]| {
        let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
        let sum: u32 = words.sum();
        (sum & 0xffff) + (sum >> 16)
    };
    assert_eq!(sum(&merged[VNET_BYTES..VNET_BYTES + 20]), 0xffff, "IP's checksum is right");
}

#[test]
fn a_run_ends_with_psh_a_short_frame_and_whatever_does_not_go_on_with_it() {
    let ack = flag::ACK;
    let one = |seq: u32, flags: u16, payload: usize, ts: u8| burst(seq, flags, payload, ts);
    let mss = MSS as u32;
    let cases: [Case; 7] = [
        ("a gap", vec![one(0, ack, MSS, 9), one(2 * mss, ack, MSS, 9)], &[&[0], &[1]]),
        ("another timestamp", vec![one(0, ack, MSS, 9), one(mss, ack, MSS, 8)], &[&[0], &[1]]),
        (
            "PSH",
            vec![one(0, ack, MSS, 9), one(mss, ack | flag::PSH, MSS, 9), one(2 * mss, ack, MSS, 9)],
            &[&[0, 1], &[2]],
        ),
        (
            "a short frame",
            vec![one(0, ack, MSS, 9), one(mss, ack, 100, 9), one(mss + 100, ack, MSS, 9)],
            &[&[0, 1], &[2]],
        ),
        ("CWR", vec![one(0, ack, MSS, 9), one(mss, ack | flag::CWR, MSS, 9)], &[&[0], &[1]]),
        ("FIN", vec![one(0, ack, MSS, 9), one(mss, ack | flag::FIN, MSS, 9)], &[&[0], &[1]]),
        ("no data", vec![one(0, ack, MSS, 9), one(mss, ack, 0, 9)], &[&[0], &[1]]),
    ];
    for (what, frames, expected) in cases {
        assert_eq!(handed_over(&frames), expected, "{what}");
    }
    let marked = |mut frame: Vec<u8>| {
        frame[VNET_BYTES + 1] = 3;
        frame
    };
    let frames = [one(0, ack, MSS, 9), marked(one(mss, ack, MSS, 9))];
    assert_eq!(handed_over(&frames), [[0], [1]], "a mark");
}

#[test]
fn a_run_has_at_most_as_much_as_an_ip_packet() {
    let frames: Vec<_> = (0..60).map(|i| burst(i * MSS as u32, flag::ACK, MSS, 9)).collect();
    let lengths: Vec<_> = handed_over(&frames).iter().map(Vec::len).collect();
    assert_eq!(lengths, [45, 15]);
    const { assert!(HEADERS + 45 * MSS <= PACKET_MAX && HEADERS + 46 * MSS > PACKET_MAX) };
}

#[test]
fn runs_of_several_flows_are_due_in_their_order() {
    let mut merger = Merger::new(2);
    let frame = burst(0, flag::ACK, MSS, 9);
    for (flow, us) in [(1, 10), (0, 20)] {
        merger.offer(at_us(us), Direction::Forward, flow, us as u32, &frame[VNET_BYTES..]);
    }
    let mut popped = |us| merger.pop(at_us(us)).map(|run| run.buffers[0]);
    assert_eq!((popped(59), popped(60), popped(60), popped(70)), (None, Some(10), None, Some(20)));
    assert_eq!(COALESCE, Span::from_us(50));
}
