//! What each part of the engine costs alone, with nothing else in the caches: `cargo bench -p dumbbell-bench`.
//!
//! One iteration is what a packet, an event or a sample asks of the part, in a steady state of the size that the name
//! tells. The controllers have a benchmark of their own (`cargo bench -p dumbbell-cca`); `make bench-parts` runs both and
//! prints one table.

use criterion::{criterion_group, criterion_main, Bencher, Criterion};
use net::bucket::LinkRate;
use net::delay::Pipe;
use net::fifo::{self, Fifo, Verdict};
use net::frame::LinkHeader;
use net::qdisc::fifo::Limit;
use net::qdisc::fq_codel::{self, FqCodel};
use net::qdisc::{Outcome, Qdisc};
use net::Packet;
use path::histogram::Histogram;
use path::timeline::Timeline;
use record::schema::{QueueRow, SampleRow};
use record::{Table, TableWriter};
use std::hint::black_box;
use transport::common::Stamps;
use transport::tcp::rtx_queue::{RtxQueue, SACKED, SKB_START};
use units::{Bytes, Rate, Span, Time};

/// A full segment on the wire at 1 Gbit/s.
const SPACING: Span = Span::from_ns(12_112);
/// Packets that wait or are under way: 20 ms at that rate.
const PACKETS: u32 = 1_650;
/// Segments of a window.
const WINDOW: u32 = 256;
/// Flows that packets belong to in turn: few enough that each has a queue of its own under FQ-CoDel. Two that share one
/// would have half of what they bring, and lose the rest.
const FLOWS: u32 = 10;
/// Packets that wait under FQ-CoDel, for less than its target.
const WAITING: u32 = 100;
/// From this many slots on, the engine sorts only what comes up soon.
const MANY: usize = 256;

/// Values that are spread evenly from 0 to below `most`, drawn beforehand: drawing costs as much as some parts.
struct Spread {
    values: Vec<u64>,
    next: usize,
}

impl Spread {
    fn new(most: u64) -> Spread {
        let mut rng = net::rng::Rng::stream(1, "bench");
        Spread { values: (0..4096).map(|_| rng.below(most)).collect(), next: 0 }
    }

    #[inline(always)]
    fn draw(&mut self) -> u64 {
        self.next = (self.next + 1) % 4096;
        self.values[self.next]
    }
}

fn packet(i: u32) -> Packet {
    Packet { flow: i % FLOWS, seq: i, len: 1448, ..Packet::default() }
}

/// The next event is taken and its slot scheduled again, up to 20 ms later.
fn event_queue(b: &mut Bencher, slots: usize) {
    let mut timeline = Timeline::new(slots);
    if slots >= MANY {
        timeline.for_many();
    }
    let mut later = Spread::new(20_000_000);
    (0..slots as u32).for_each(|slot| timeline.set(slot, Time::from_ns(later.draw())));
    b.iter(|| {
        let (now, slot) = timeline.advance().expect("every slot is set");
        timeline.set(slot, now + Span::from_ns(later.draw()));
    });
}

/// The same of slots that are kept apart, as those of links and delay lines are.
fn event_queue_apart(b: &mut Bencher) {
    let mut timeline = Timeline::new(4);
    let mut later = Spread::new(20_000);
    for slot in 0..4 {
        timeline.keep_apart(slot);
        timeline.set(slot, Time::from_ns(later.draw()));
    }
    b.iter(|| {
        let (now, slot) = timeline.advance().expect("every slot is set");
        timeline.set(slot, now + Span::from_ns(later.draw()));
    });
}

/// A packet leaves the link and one joins the queue.
fn fifo_link(b: &mut Bencher) {
    let config = fifo::Config {
        rate: LinkRate::Constant(Rate::from_bps(1_000_000_000)),
        burst: Bytes::new(1514),
        limit: Limit::Bytes(Bytes::new(2_500_000)),
        header: LinkHeader::of(14),
    };
    let mut link = Fifo::new(config);
    let mut last = Time::ZERO;
    for i in 0..PACKETS {
        match link.enqueue(Time::ZERO, &packet(i)) {
            Verdict::Queued(at) => last = at,
            Verdict::Dropped(_) => break,
        }
    }
    assert!(last > Time::ZERO, "the link took no packet");
    let mut i = 0;
    b.iter(|| {
        let now = link.next_wakeup().expect("the queue is never empty");
        black_box(link.dequeue(now).map(|left| left.at));
        i += 1;
        black_box(link.enqueue(now, &packet(i)));
    });
}

/// A packet joins its flow's queue and one leaves; CoDel finds none too late.
fn fq_codel(b: &mut Bencher) {
    let mut qdisc = FqCodel::new(fq_codel::Config::default());
    let (mut outcome, mut now) = (Outcome::default(), Time::ZERO);
    (0..WAITING).for_each(|i| qdisc.enqueue(now, packet(i), &mut outcome));
    let mut i = WAITING;
    b.iter(|| {
        now += SPACING;
        i += 1;
        qdisc.enqueue(now, packet(i), &mut outcome);
        black_box(qdisc.dequeue(now, &mut outcome))
    });
    assert!(outcome.is_empty(), "{} packets were dropped", outcome.drops.len());
}

/// A packet reaches the end of a constant delay and one enters it.
fn delay_line(b: &mut Bencher) {
    let mut line = Pipe::default();
    let mut end = Time::ZERO;
    for i in 0..PACKETS {
        end += SPACING;
        line.push(end, packet(i));
    }
    b.iter(|| {
        let now = line.next_wakeup().expect("the line is never empty");
        end += SPACING;
        let packet = line.pop(now).expect("the head is there");
        line.push(end, packet);
    });
}

/// A segment is sent, and the oldest is acknowledged; with SACK one in the middle was reported before it.
fn rtx_queue(b: &mut Bencher, with_sack: bool) {
    let mut queue = RtxQueue::new();
    (0..WINDOW).for_each(|_| queue.push(Stamps::default(), 1, 0));
    b.iter(|| {
        let seq = queue.una() + WINDOW / 2;
        if with_sack {
            queue.unlink(seq);
            queue.set_flags(seq, SKB_START | SACKED);
        }
        if black_box(queue.pop_plain(queue.una() + 1)).is_none() {
            black_box(queue.first());
            queue.pop_front();
        }
        queue.push(Stamps { tx_us: seq, ..Stamps::default() }, 1, 0);
    });
}

/// A delay between 20 and 40 ms is counted.
fn histogram(b: &mut Bencher) {
    let mut histogram = Histogram::default();
    let mut above = Spread::new(20_000);
    b.iter(|| histogram.add(20_000 + above.draw() as u32, 1));
    black_box(histogram.total());
}

/// A row is appended, with its share of writing 65,536 rows into the file.
fn rows<R: Table>(b: &mut Bencher, mut row: impl FnMut(i64) -> R) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut table = TableWriter::<R>::create(folder.path(), true).expect("a file can be made");
    let mut i = 0;
    b.iter(|| {
        i += 1;
        table.push(&row(i));
    });
    table.finish().expect("the file can be written");
}

fn queue_row(i: i64) -> QueueRow {
    QueueRow {
        t_us: i * 100_000,
        link: 0,
        backlog_bytes: i * 1514 % 2_500_000,
        backlog_packets: i % 1650,
        sojourn_us: i * 12 % 20_000,
        sent_bytes: i * 12_500_000,
        sent_packets: i * 8_256,
        dropped_packets: i / 10,
        dropped_bytes: i / 10 * 1514,
        marked_packets: 0,
        sojourn_integral_us2: Some(i * 1_000_000_000),
    }
}

fn sample_row(i: i64) -> SampleRow {
    SampleRow {
        t_us: i / i64::from(FLOWS) * 100_000,
        flow: (i % i64::from(FLOWS)) as i32,
        goodput_bytes: i * 1448,
        goodput_bps: 9_000_000 + i % 1_000_000,
        cwnd: Some(20 + i % 40),
        ssthresh: Some(20 + i % 13),
        pacing_bps: Some(12_000_000 + i % 997),
        srtt_us: Some(30_000 + i % 10_000),
        rtt_us: Some(30_000 + i % 9_973),
        min_rtt_us: Some(20_024),
        in_flight: Some(20 + i % 37),
        packets_out: Some(20 + i % 41),
        sacked: Some(i % 3),
        lost: Some(i % 2),
        retrans_out: Some(i % 2),
        delivered: i * 10,
        lost_total: Some(i / 50),
        retrans_total: Some(i / 50),
        segs_sent: i * 10 + 20,
        delivery_rate_bps: Some(9_500_000 + i % 1_009),
        ca_state: Some(0),
        cca_state: "ca",
        bw_bps: None,
        cca_min_rtt_us: None,
        pacing_gain: None,
        cwnd_gain: None,
        inflight_lo: None,
        inflight_hi: None,
    }
}

fn parts(c: &mut Criterion) {
    for slots in [2, 100, 10_000] {
        c.bench_function(&format!("event queue: next of {slots} slots, set again"), |b| {
            event_queue(b, slots)
        });
    }
    c.bench_function("event queue: next of 4 slots kept apart, set again", event_queue_apart);
    c.bench_function("FIFO link: a packet leaves, one joins 1,650", fifo_link);
    c.bench_function("FQ-CoDel: a packet joins one of 10 queues, one leaves", fq_codel);
    c.bench_function("delay line: a packet leaves, one enters, 1,650 on it", delay_line);
    c.bench_function("retransmission queue: a segment sent, one acknowledged, 256 out", |b| {
        rtx_queue(b, false)
    });
    c.bench_function("retransmission queue: and one reported by SACK", |b| rtx_queue(b, true));
    c.bench_function("histogram: a delay counted", histogram);
    c.bench_function("Parquet: a row of the queue table, 10 columns", |b| rows(b, queue_row));
    c.bench_function("Parquet: a row of the samples table, 28 columns", |b| rows(b, sample_row));
}

criterion_group!(benches, parts);
criterion_main!(benches);
