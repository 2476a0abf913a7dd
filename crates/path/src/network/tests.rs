//! Routes and links driven by hand, with numbered packets of two flows.

use super::*;
use crate::link::Queue;
use crate::route::Delay;
use net::bucket::LinkRate;
use net::fifo::{self, Fifo};
use net::impair::{Corruption, Duplication, ListedLoss, Loss, Share};
use net::qdisc::fifo::Limit;
use net::rng::Rng;
use net::{flags, Packet};
use units::{Rate, Span};

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
        let network = Network::new(0, links, routes, true);
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
            found.extend(self.network.arrived.drain(..).map(|p| (now.as_us(), p.flow, p.seq)));
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
