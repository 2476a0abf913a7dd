//! Routes and links driven by hand, with numbered packets of two flows.

use super::bounds::COPIES_PER_LOOK;
use super::*;
use crate::link::Queue;
use crate::route::Delay;
use net::bucket::LinkRate;
use net::fifo::{self, Fifo};
use net::frame::LinkHeader;
use net::impair::{BernoulliLoss, Corruption, Duplication, ListedLoss, Loss, Share};
use net::link::Tbf;
use net::qdisc::any;
use net::qdisc::fifo::Limit;
use net::qdisc::policer::{self, Policer};
use net::rng::Rng;
use net::{ecn, flags, Packet};
use units::{Bytes, Rate, Span};

const FULL_SHARE: u64 = 1_000_000_000;

fn packet(flow: u32, seq: u32) -> Packet {
    Packet { flow, seq, len: 1448, ..Packet::default() }
}

fn delay(ms: u64) -> Stage<Packet> {
    Stage::Delay(Delay::new(Span::from_ms(ms)))
}

fn loss(numbers: &[u64]) -> Stage<Packet> {
    Stage::Loss(Box::new(Loss::Listed(ListedLoss::new(numbers.to_vec()))))
}

/// A link of 12.112 Mbit/s, which a full frame of 1514 bytes takes 1 ms to leave.
fn link(limit_packets: u64) -> Link<Packet> {
    let config = fifo::Config {
        rate: LinkRate::Constant(Rate::from_bps(12_112_000)),
        burst: Bytes::new(1514),
        limit: Limit::Packets(limit_packets),
        header: LinkHeader::default(),
    };
    Link::new(Queue::Fifo(Box::new(Fifo::new(config))), None)
}

/// A network with its event queue.
struct Path {
    network: Network<Packet>,
    timeline: Timeline,
}

impl Path {
    fn new(links: Vec<Link<Packet>>, routes: Vec<Vec<Stage<Packet>>>) -> Path {
        let noticed = vec![true; routes.len()];
        let network = Network::new(0, links, routes, noticed);
        let timeline = Timeline::new(network.slots() as usize);
        Path { network, timeline }
    }

    fn send(&mut self, packets: impl IntoIterator<Item = Packet>) {
        for packet in packets {
            self.network.send(Time::ZERO, packet, &mut self.timeline);
        }
    }

    /// Runs until nothing is under way: arrivals as (us, flow, number).
    fn arrivals(&mut self) -> Vec<(u64, u32, u32)> {
        let mut found = Vec::new();
        let mut now = Time::ZERO;
        loop {
            found.extend(
                std::iter::from_fn(|| self.network.arrived.pop_front())
                    .map(|p| (now.as_us(), p.flow, p.seq)),
            );
            self.network.check_conservation();
            let Some((at, slot)) = self.timeline.advance() else { return found };
            now = at;
            self.network.wake(now, slot, &mut self.timeline);
        }
    }
}

#[test]
fn stages_are_met_in_the_order_of_the_route() {
    let routes = vec![vec![delay(10), loss(&[1]), delay(5)], vec![delay(3)]];
    let mut path = Path::new(vec![], routes);
    path.send([packet(0, 0), packet(0, 1), packet(0, 2), packet(1, 0)]);
    assert_eq!(path.arrivals(), [(3_000, 1, 0), (15_000, 0, 0), (15_000, 0, 2)]);
    assert_eq!(path.network.notices, [(0, Notice::Lost, 1)]);
    let [first, second] = path.network.fates()[..] else { panic!("two flows") };
    assert_eq!((first.sent, first.lost, first.delivered), (3, 1, 2));
    assert_eq!((second.sent, second.lost, second.delivered), (1, 0, 1));
}

#[test]
fn flows_share_a_link_and_leave_it_for_their_own_routes() {
    let routes = vec![vec![Stage::Link(0), delay(10)], vec![Stage::Link(0), delay(1)]];
    let mut path = Path::new(vec![link(100)], routes);
    path.send([packet(0, 0), packet(1, 0), packet(0, 1)]);
    // The bucket lets the first frame go at once; the others follow a millisecond apart.
    assert_eq!(path.arrivals(), [(2_000, 1, 0), (10_000, 0, 0), (12_000, 0, 1)]);
    assert_eq!(path.network.under_way(), 0);
}

#[test]
fn what_a_full_queue_refuses_is_counted_by_flow_and_noticed_together() {
    let mut path = Path::new(vec![link(2)], vec![vec![Stage::Link(0)], vec![Stage::Link(0)]]);
    path.send((0..4).map(|seq| packet(0, seq)).chain([packet(1, 0)]));
    let arrived = path.arrivals();
    assert_eq!(arrived, [(0, 0, 0), (1_000, 0, 1), (2_000, 0, 2)]);
    let [first, second] = path.network.fates()[..] else { panic!("two flows") };
    assert_eq!((first.overflow, first.delivered), (1, 3));
    assert_eq!((second.overflow, second.delivered), (1, 0));
    assert_eq!(path.network.links[0].stats.dropped_packets, 2);
    assert_eq!(path.network.notices, [(0, Notice::Dropped, 1), (1, Notice::Dropped, 1)]);
}

#[test]
fn losses_in_a_row_are_one_notice() {
    let mut path = Path::new(vec![], vec![vec![loss(&[0, 1, 3])]]);
    path.send((0..4).map(|seq| packet(0, seq)));
    assert_eq!(path.arrivals(), [(0, 0, 2)]);
    assert_eq!(path.network.notices, [(0, Notice::Lost, 3)]);
}

#[test]
fn a_copy_meets_the_rest_of_the_route_too() {
    let twice = Stage::Duplicate(Box::new(Duplication::new(
        Share::of(FULL_SHARE),
        Rng::stream(1, "duplicate"),
    )));
    let mut path = Path::new(vec![], vec![vec![twice, loss(&[0]), delay(2)]]);
    path.send([packet(0, 7)]);
    assert_eq!(path.arrivals(), [(2_000, 0, 7)]);
    let counts = path.network.fates()[0];
    assert_eq!((counts.sent, counts.duplicated, counts.lost, counts.delivered), (1, 1, 1, 1));
}

#[test]
fn a_damaged_packet_takes_its_time_and_does_not_arrive() {
    let corrupt =
        Stage::Corrupt(Box::new(Corruption::new(Share::of(FULL_SHARE), Rng::stream(1, "corrupt"))));
    let mut path = Path::new(vec![link(10)], vec![vec![corrupt, Stage::Link(0)]]);
    path.send([packet(0, 0), packet(0, 1)]);
    assert!(path.arrivals().is_empty());
    let counts = path.network.fates()[0];
    assert_eq!((counts.sent, counts.damaged, counts.delivered), (2, 2, 0));
    assert_eq!(path.network.links[0].stats.dropped_packets, 0, "it was carried");
    assert_eq!(packet(0, 0).flags & flags::DAMAGED, 0);
}

/// A super-packet of this many segments.
fn burst(seq: u32, segments: u16) -> Packet {
    Packet { len: segments * 1448, ..packet(0, seq) }
}

fn bucket(burst: u64, limit: Limit) -> Link<Packet> {
    let rate = LinkRate::Constant(Rate::from_bps(12_112_000));
    let header = LinkHeader::default();
    let config = fifo::Config { rate, burst: Bytes::new(burst), limit, header };
    Link::new(Queue::Fifo(Box::new(Fifo::new(config))), None)
}

#[test]
fn a_super_packet_is_lost_as_one_and_counted_by_its_segments() {
    let mut path = Path::new(vec![], vec![vec![loss(&[1]), delay(2)]]);
    path.send([burst(0, 10), burst(10, 20), burst(30, 5)]);
    assert_eq!(path.arrivals(), [(2_000, 0, 0), (2_000, 0, 30)]);
    assert_eq!(path.network.notices, [(0, Notice::Lost, 20)]);
    let counts = path.network.fates()[0];
    assert_eq!((counts.sent, counts.lost, counts.delivered), (35, 20, 15));
}

#[test]
fn a_token_bucket_passes_what_it_can_hold_whole_and_cuts_what_it_cannot() {
    let arrivals = |depth: u64| {
        let link = bucket(depth, Limit::Packets(100));
        let mut path = Path::new(vec![link], vec![vec![Stage::Link(0)]]);
        path.send([burst(0, 3), burst(3, 3)]);
        let stats = |path: &Path| path.network.links[0].stats;
        let found = path.arrivals();
        assert_eq!((stats(&path).sent_packets, stats(&path).sent_bytes), (6, 6 * 1514));
        found
    };
    assert_eq!(arrivals(3 * 1514), [(0, 0, 0), (3_000, 0, 3)]);
    let frames: Vec<_> = (0..6).map(|i| (u64::from(i) * 1_000, 0, i)).collect();
    assert_eq!(arrivals(1514), frames);
    assert_eq!(arrivals(3 * 1514 - 1).len(), 6);
}

#[test]
fn a_limit_in_bytes_counts_a_super_packets_frames_and_one_in_packets_counts_one() {
    let delivered = |limit| {
        let mut path = Path::new(vec![bucket(4 * 1514, limit)], vec![vec![Stage::Link(0)]]);
        path.send((0..4).map(|i| burst(4 * i, 4)));
        path.arrivals();
        let counts = path.network.fates()[0];
        assert_eq!(counts.delivered + counts.overflow, 16);
        assert_eq!(path.network.links[0].stats.dropped_packets, counts.overflow);
        counts.delivered
    };
    // The first leaves at once.
    assert_eq!(delivered(Limit::Bytes(Bytes::new(8 * 1514))), 12);
    assert_eq!(delivered(Limit::Bytes(Bytes::new(8 * 1514 - 1))), 8);
    assert_eq!(delivered(Limit::Packets(2)), 12);
    assert_eq!(delivered(Limit::Packets(3)), 16);
}

#[test]
fn frames_that_a_bucket_cut_are_dropped_one_by_one() {
    let mut path = Path::new(vec![bucket(1514, Limit::Packets(2))], vec![vec![Stage::Link(0)]]);
    path.send([burst(0, 5)]);
    // tbf hands all of them to its queue before it sends the first.
    assert_eq!(path.arrivals(), [(0, 0, 0), (1_000, 0, 1)]);
    assert_eq!(path.network.fates()[0].overflow, 3);
}

#[test]
fn a_network_card_on_the_way_cuts_into_frames_with_the_flags_of_their_place() {
    let mut path = Path::new(vec![], vec![vec![Stage::Segment]]);
    let sent = Packet { flags: flags::CWR | flags::PUSH, len: 2 * 1448 + 100, ..packet(0, 7) };
    path.send([sent]);
    let found: Vec<_> = path.network.arrived.iter().map(|p| (p.seq, p.len, p.flags)).collect();
    assert_eq!(found, [(7, 1448, flags::CWR), (8, 1448, 0), (9, 100, flags::PUSH)]);
    assert_eq!(path.network.fates()[0].delivered, 3);
    let wire: u64 = path.network.arrived.iter().map(|p| p.wire_bytes().get()).sum();
    assert_eq!(wire, sent.wire_bytes().get());
}

#[test]
fn damage_cuts_a_super_packet_and_each_frame_is_drawn_for_anew() {
    let damaged = |ppb| {
        let share = Corruption::new(Share::of(ppb), Rng::stream(1, "corrupt"));
        let mut path = Path::new(vec![], vec![vec![Stage::Corrupt(Box::new(share))]]);
        path.send((0..100).map(|i| burst(i * 10, 10)));
        path.arrivals();
        path.network.fates()[0].damaged
    };
    // Of the 66 bytes of the headers, in one of which a bit is wrong, nobody checks the six of the source address: 909.
    assert!((880..=938).contains(&damaged(FULL_SHARE)), "{}", damaged(FULL_SHARE));
    // One draw in ten hits, and cuts; of its other nine frames each is hit with the same chance.
    assert!((12..=30).contains(&damaged(FULL_SHARE / 10)), "{}", damaged(FULL_SHARE / 10));
}

#[test]
fn a_mark_is_on_every_segment() {
    let police =
        policer::Config { rate: Rate::from_bps(8_000), burst: Bytes::new(100), mark: true };
    let mut link = bucket(1514, Limit::Packets(100));
    link.policer = Some(Policer::new(police));
    let mut path = Path::new(vec![link], vec![vec![Stage::Link(0)]]);
    path.send([Packet { ecn: ecn::ECT0, ..burst(0, 4) }]);
    let mut marked = 0;
    while let Some((at, slot)) = path.timeline.advance() {
        path.network.wake(at, slot, &mut path.timeline);
        marked += std::iter::from_fn(|| path.network.arrived.pop_front())
            .filter(|p| p.ecn == ecn::CE)
            .count();
    }
    marked += std::iter::from_fn(|| path.network.arrived.pop_front())
        .filter(|p| p.ecn == ecn::CE)
        .count();
    assert_eq!(marked, 4);
    assert_eq!(path.network.fates()[0].marked, 4);
    assert_eq!(path.network.links[0].stats.marked_packets, 4);
    assert_eq!(path.network.notices, [(0, Notice::Marked, 4)]);
}

#[test]
fn cake_cuts_and_fq_codel_does_not() {
    let frames = |written: &str| {
        let config: any::Config = serde_json::from_str(written).expect("a discipline");
        let qdisc = config.build(1000, Rng::stream(1, "qdisc")).expect("settings");
        let rate = LinkRate::Constant(Rate::from_bps(12_112_000));
        let tbf = Tbf::new(rate, Bytes::new(64 * 1024), qdisc);
        let link = Link::new(Queue::Bucket(Box::new(tbf)), None);
        let mut path = Path::new(vec![link], vec![vec![Stage::Link(0)]]);
        path.send([burst(0, 20)]);
        path.network.arrived.len()
    };
    assert_eq!(frames(r#"{"kind": "cake"}"#), 20);
    assert_eq!(frames(r#"{"kind": "dualpi2"}"#), 20);
    assert_eq!(frames(r#"{"kind": "fq_codel"}"#), 1);
}

/// What arrives when, of packets that five flows send at few instants, some of them into a link that all share; with the delays
/// that flows have in common as lines, or with a pipe for each flow.
fn arrivals(seed: u64, lines: bool) -> Vec<(Time, u32, u32)> {
    let routes = |ms: [u64; 5]| ms.map(|ms| vec![delay(ms), Stage::Link(0), delay(2)]).into();
    let (mut routes, links): (Vec<_>, _) = (routes([3, 3, 3, 1, 3]), vec![link(1_000)]);
    let lines = if lines { line::shared(&mut routes) } else { Vec::new() };
    let is_line = |stage: &Stage<Packet>| matches!(stage, Stage::Line(_));
    assert_eq!(routes[0].iter().filter(|stage| is_line(stage)).count(), 2 * lines.len().min(1));
    let network = Network::assemble(0, links, lines, routes, vec![false; 5]);
    let timeline = Timeline::new(network.slots() as usize);
    let mut path = Path { network, timeline };
    path.network.start(&mut path.timeline);
    let (mut rng, mut out) = (Rng::stream(seed, "lines"), Vec::new());
    let mut sent = 0;
    for ms in 0..200 {
        let now = Time::ZERO + Span::from_ms(ms);
        while path.timeline.next_at().is_some_and(|at| at < now) {
            let (at, slot) = path.timeline.advance().unwrap();
            path.network.wake(at, slot, &mut path.timeline);
            while let Some(packet) = path.network.arrived.pop_front() {
                out.push((at, packet.flow, packet.seq));
            }
        }
        for _ in 0..rng.below(6) {
            sent += 1;
            let packet = packet(rng.below(5) as u32, sent);
            path.network.send(now, packet, &mut path.timeline);
        }
    }
    path.network.check_conservation();
    out
}

#[test]
fn a_delay_that_flows_share_changes_nothing() {
    for seed in 0..50 {
        let alone = arrivals(seed, false);
        assert!(alone.len() > 150, "{}", alone.len());
        assert_eq!(arrivals(seed, true), alone, "seed {seed}");
    }
}

#[test]
fn a_line_leads_to_links_or_to_the_other_host() {
    let both = |stages: fn() -> Vec<Stage<Packet>>| vec![stages(), stages()];
    let lines = |mut routes: Vec<Vec<Stage<Packet>>>| line::shared(&mut routes);
    let leads = |routes| lines(routes).iter().map(|line| line.leads_to_links).collect::<Vec<_>>();
    assert_eq!(leads(both(|| vec![delay(3), Stage::Link(0)])), [true]);
    assert_eq!(leads(both(|| vec![delay(3)])), [false]);
    assert_eq!(leads(both(|| vec![delay(3), Stage::Link(0), delay(5)])), [true, false]);
}

/// A route of parts that each make a second copy of every packet, ending in this delay.
fn doubling(parts: usize, end: Stage<Packet>) -> Path {
    let double = |i| {
        let rng = Rng::stream(1, &format!("double {i}"));
        Stage::Duplicate(Box::new(Duplication::new(Share::of(FULL_SHARE), rng)))
    };
    Path::new(vec![], vec![(0..parts).map(double).chain([end]).collect()])
}

#[test]
fn copies_of_one_packet_end_at_the_bound_of_packets_within_its_step() {
    let bounds = Bounds { packets: 10_000, copies_per_s: u64::MAX };
    let mut path = doubling(40, delay(1));
    path.network = path.network.within(bounds);
    path.send([packet(0, 0)]);
    assert_eq!(path.network.excess(), Some(Excess::Packets));
    let held = path.network.under_way();
    assert!((10_000..10_000 + 2 * COPIES_PER_LOOK).contains(&held), "{held}");
    path.network.check_conservation();
}

#[test]
fn copies_that_have_arrived_and_wait_for_the_engine_count_too() {
    let mut path = doubling(40, Stage::End);
    path.network = path.network.within(Bounds { packets: 10_000, copies_per_s: u64::MAX });
    path.send([packet(0, 0)]);
    assert_eq!(path.network.excess(), Some(Excess::Packets));
    assert!(path.network.arrived.len() < 13_000, "{}", path.network.arrived.len());
}

#[test]
fn copies_that_are_lost_again_end_at_the_bound_of_copies() {
    let loss = BernoulliLoss::new(FULL_SHARE, Rng::stream(1, "loss"));
    let lost = Stage::Loss(Box::new(Loss::Bernoulli(loss)));
    let mut path = doubling(40, lost);
    path.network = path.network.within(Bounds { packets: 10_000, copies_per_s: 50_000 });
    path.send([packet(0, 0)]);
    assert_eq!(path.network.excess(), Some(Excess::Copies));
    assert_eq!(path.network.under_way(), 0);
}

#[test]
fn copies_within_the_bounds_are_all_made() {
    let mut path = doubling(12, delay(1));
    path.network = path.network.within(Bounds { packets: 4096, copies_per_s: 4096 });
    path.send([packet(0, 0)]);
    assert_eq!(path.arrivals().len(), 4096);
    assert_eq!(path.network.excess(), None);
}
