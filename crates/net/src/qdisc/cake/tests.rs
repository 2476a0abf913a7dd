//! The discipline as a whole.

use super::*;
use crate::frame::ecn;
use crate::qdisc::testing::{assert_conserves, us, Probe};
use units::{Rate, Span};

fn cake(config: Config) -> Cake<Probe> {
    Cake::new(config, Rng::stream(1, "cake"))
}

fn mbps(n: u64) -> Option<Rate> {
    Some(Rate::from_bps(n * 1_000_000))
}

fn best_effort(bandwidth: Option<Rate>) -> Config {
    Config { bandwidth, diffserv: Diffserv::BestEffort, ..Config::default() }
}

fn fill(cake: &mut Cake<Probe>, now: Time, count: u32, packet: Probe) -> Outcome<Probe> {
    let mut outcome = Outcome::default();
    for seq in 0..count {
        cake.enqueue(now, Probe { seq, ..packet }, &mut outcome);
    }
    outcome
}

/// Which packets leave, taken as soon as each may.
fn departures(cake: &mut Cake<Probe>, mut now: Time, count: usize) -> Vec<(Time, Probe)> {
    let mut outcome = Outcome::default();
    let mut departures = Vec::new();
    while departures.len() < count {
        match cake.dequeue(now, &mut outcome) {
            Some(head) => departures.push((now, head.packet)),
            None => match cake.next_wakeup() {
                Some(at) => now = at,
                None => return departures,
            },
        }
    }
    departures
}

/// Wire bytes of those that satisfy `wanted`, in per cent of all.
fn share(departures: &[(Time, Probe)], wanted: impl Fn(&Probe) -> bool) -> u64 {
    let sum = |all: bool| -> u64 {
        departures.iter().filter(|(_, p)| all || wanted(p)).map(|(_, p)| p.len).sum()
    };
    (sum(false) * 100 + sum(true) / 2) / sum(true)
}

#[test]
fn packets_leave_by_the_rate_without_a_burst() {
    let mut cake = cake(best_effort(mbps(10)));
    fill(&mut cake, us(700), 4, Probe::default());
    let times: Vec<u64> =
        departures(&mut cake, us(700), 4).iter().map(|(at, _)| at.as_ns() - 700_000).collect();
    assert_eq!(times, [0, 1_211_200, 2_422_400, 3_633_600]);
}

#[test]
fn overhead_slows_the_shaper_down() {
    // tc's `pppoe-llcsnap`.
    let (overhead, framing) = (Some(40), Framing::Atm);
    let mut cake = cake(Config { overhead, framing, ..best_effort(mbps(10)) });
    fill(&mut cake, Time::ZERO, 2, Probe::default());
    // 33 cells of 53 bytes at 800 ns.
    assert_eq!(departures(&mut cake, Time::ZERO, 2)[1].0, Time::from_ns(33 * 53 * 800));
}

#[test]
fn a_packet_that_comes_while_the_gate_is_shut_is_called_for() {
    let mut cake = cake(best_effort(mbps(10)));
    fill(&mut cake, Time::ZERO, 1, Probe::default());
    departures(&mut cake, Time::ZERO, 1);
    assert_eq!(cake.next_wakeup(), None);
    fill(&mut cake, us(100), 1, Probe::default());
    assert_eq!(cake.next_wakeup(), Some(Time::from_ns(1_211_200)));
}

#[test]
fn the_second_late_packet_is_dropped_but_never_the_last() {
    let mut cake = cake(best_effort(None));
    fill(&mut cake, Time::ZERO, 3, Probe::default());
    let mut outcome = Outcome::default();
    let mut next = || cake.dequeue(us(6_000), &mut outcome).map(|head| head.packet.seq);
    assert_eq!([next(), next(), next()], [Some(0), Some(2), None]);
    assert_eq!(outcome.drops, [(Probe { seq: 1, ..Probe::default() }, Cause::Aqm)]);
}

#[test]
fn ecn_capable_packets_are_marked_instead() {
    let mut cake = cake(best_effort(None));
    fill(&mut cake, Time::ZERO, 3, Probe { ecn: ecn::ECT0, flow: 4, ..Probe::default() });
    let mut outcome = Outcome::default();
    let mut next = || cake.dequeue(us(6_000), &mut outcome).map(|head| head.packet.ecn);
    assert_eq!([next(), next(), next()], [Some(ecn::ECT0), Some(ecn::CE), Some(ecn::ECT0)]);
    assert_eq!(outcome.marks, [(4, Cause::Aqm)]);
}

#[test]
fn a_full_buffer_drops_the_head_of_the_fattest_queue() {
    // Room for ten packets of 2014 bytes truesize.
    let memory_limit = Some(Bytes::new(20_140));
    let mut cake = cake(Config { memory_limit, ..best_effort(None) });
    assert!(fill(&mut cake, us(1), 7, Probe::default()).is_empty());
    let other = Probe { flow: 1, ..Probe::default() };
    let outcome = fill(&mut cake, us(2), 5, other);
    let victims: Vec<_> = outcome.drops.iter().map(|(p, cause)| (p.flow, p.seq, *cause)).collect();
    assert_eq!(victims, [(0, 0, Cause::Overflow), (0, 1, Cause::Overflow)]);
}

/// Share of a flow alone on its hosts beside ten flows of another pair, or from another source only.
fn share_beside_ten(isolation: Isolation, dst: u32) -> u64 {
    let mut cake = cake(Config { isolation, ..best_effort(None) });
    for flow in 0..11 {
        let hosts = if flow == 0 { (1, 1) } else { (2, dst) };
        fill(&mut cake, Time::ZERO, 600, Probe { flow, hosts, ..Probe::default() });
    }
    let sent = departures(&mut cake, Time::ZERO, 1100);
    share(&sent[50..], |p| p.flow == 0)
}

#[test]
fn hosts_share_equally_however_many_flows_they_have() {
    assert_eq!(share_beside_ten(Isolation::Triple, 2), 50);
    assert_eq!(share_beside_ten(Isolation::DualSrcHost, 1), 50);
    assert_eq!(share_beside_ten(Isolation::DualDstHost, 2), 50);
    assert_eq!(share_beside_ten(Isolation::SrcHost, 1), 50);
    // By flow, or where the destination that all share has eleven flows: a ninth to an eleventh.
    assert_eq!(share_beside_ten(Isolation::Flows, 2), 9);
    assert_eq!(share_beside_ten(Isolation::Triple, 1), 9);
}

#[test]
fn a_sparse_flow_goes_before_a_bulk_flow() {
    let mut cake = cake(best_effort(None));
    fill(&mut cake, Time::ZERO, 20, Probe::default());
    departures(&mut cake, Time::ZERO, 3);
    fill(&mut cake, Time::ZERO, 1, Probe { flow: 1, len: 100, ..Probe::default() });
    assert_eq!(departures(&mut cake, Time::ZERO, 1)[0].1.flow, 1);
}

#[test]
fn where_all_tins_are_full_each_gets_the_share_of_its_threshold() {
    let mut cake = cake(Config { bandwidth: mbps(10), ..Config::default() });
    for (flow, dscp) in [(0, 0), (1, 8), (2, 46)] {
        let packet = Probe { flow, dscp, ecn: ecn::ECT0, ..Probe::default() };
        fill(&mut cake, Time::ZERO, 1000, packet);
    }
    let sent = departures(&mut cake, Time::ZERO, 1000);
    // Voice has a quarter and bulk a sixteenth of the rate.
    assert_eq!(share(&sent, |p| p.dscp == 46), 25);
    assert_eq!(share(&sent, |p| p.dscp == 8), 6);
}

#[test]
fn tins_without_a_rate_share_by_their_weights() {
    let mut cake = cake(Config::default());
    for (flow, dscp) in [(0, 0), (1, 8), (2, 46)] {
        fill(&mut cake, Time::ZERO, 2000, Probe { flow, dscp, len: 500, ..Probe::default() });
    }
    let sent = departures(&mut cake, Time::ZERO, 2000);
    // 1024, 64 and 256 of 1344.
    assert_eq!(share(&sent, |p| p.dscp == 0), 76);
    assert_eq!(share(&sent, |p| p.dscp == 8), 5);
    assert_eq!(share(&sent, |p| p.dscp == 46), 19);
}

#[test]
fn wash_clears_the_code_point_after_choosing_the_tin() {
    let mut cake = cake(Config { wash: true, ..Config::default() });
    fill(&mut cake, Time::ZERO, 1, Probe { dscp: 46, ..Probe::default() });
    assert!(cake.tins[2].is_active());
    assert_eq!(departures(&mut cake, Time::ZERO, 1)[0].1.dscp, 0);
}

#[test]
fn in_ingress_mode_dropped_packets_use_up_the_rate() {
    // A flow that ignores drops, at twice the rate for two seconds: what leaves is 2/3 at least.
    let sent = |ingress| {
        let config = Config { ingress, ..best_effort(mbps(8)) };
        let mut cake = cake(Config { memory_limit: Some(Bytes::new(200_000)), ..config });
        let mut outcome = Outcome::default();
        let (mut sent, mut free) = (0, Time::ZERO);
        for i in 0..4_000 {
            let now = us(i * 500);
            while free <= now {
                let head = cake.dequeue(free, &mut outcome);
                sent += u64::from(head.is_some());
                free = match cake.next_wakeup() {
                    Some(at) => at,
                    None => now + Span::from_ns(1),
                };
            }
            cake.enqueue(now, Probe { len: 1000, ..Probe::default() }, &mut outcome);
        }
        sent
    };
    assert!((1_990..=2_001).contains(&sent(false)), "{}", sent(false));
    assert!((1_333..1_500).contains(&sent(true)), "{}", sent(true));
}

#[test]
fn every_setting_conserves_packets() {
    let memory_limit = Some(Bytes::new(60_000));
    let shaped = Config { bandwidth: mbps(1), memory_limit, ..Config::default() };
    let ack_filter = AckFilter::Aggressive;
    for config in [
        shaped,
        Config { bandwidth: None, ..shaped },
        Config { ingress: true, ack_filter, diffserv: Diffserv::Diffserv8, ..shaped },
        Config { ack_filter: AckFilter::Normal, diffserv: Diffserv::Diffserv4, ..shaped },
        Config { isolation: Isolation::Hosts, ..best_effort(mbps(1)) },
        Config { isolation: Isolation::Flowblind, ..shaped },
    ] {
        assert_conserves(|rng| Cake::new(config, rng), true);
    }
}
