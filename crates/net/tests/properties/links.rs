//! Links against simpler models of themselves.

use net::bucket::LinkRate;
use net::frame::LinkHeader;
use net::link::{Link, Tbf, TraceLink};
use net::qdisc::fifo::{self, Fifo};
use net::qdisc::{Outcome, Qdisc};
use net::schedule::Schedule;
use net::trace::{Opportunities, Trace};
use net::{fifo as fast, Packet};
use proptest::prelude::*;
use units::{Bytes, Rate, Span, Time};

/// Arrivals: nanoseconds since the one before, and payload.
fn arrivals() -> impl Strategy<Value = Vec<(Time, Packet)>> {
    prop::collection::vec((0_u64..4_000_000, 1_u16..1449), 1..120).prop_map(|gaps| {
        let mut at = 0;
        let packets = gaps.iter().zip(0..).map(|(&(gap, len), seq)| {
            // Most come in bursts.
            at += if gap % 3 == 0 { gap } else { 0 };
            (Time::from_ns(at), Packet { seq, len, ..Packet::default() })
        });
        packets.collect()
    })
}

/// When which packet leaves a link that is asked exactly when it wants to be.
fn departures<Q: Qdisc<Packet>>(link: &mut Q, arrivals: &[(Time, Packet)]) -> Departures {
    let (mut outcome, mut out) = (Outcome::default(), Vec::new());
    let until = |end: Time, link: &mut Q, outcome: &mut Outcome<Packet>, out: &mut Vec<_>| {
        while let Some(at) = link.next_wakeup().filter(|&at| at <= end) {
            out.extend(link.dequeue(at, outcome).map(|q| (at, q.packet.seq)));
        }
    };
    for &(at, packet) in arrivals {
        until(at, link, &mut outcome, &mut out);
        link.enqueue(at, packet, &mut outcome);
    }
    until(Time::NEVER, link, &mut outcome, &mut out);
    let dropped = outcome.drops.iter().map(|d| d.0.seq).collect();
    Departures { out, dropped }
}

#[derive(Debug, PartialEq)]
struct Departures {
    out: Vec<(Time, u32)>,
    dropped: Vec<u32>,
}

/// The same of the queue that computes departures when packets arrive.
fn fast_departures(queue: &mut fast::Fifo<Packet>, arrivals: &[(Time, Packet)]) -> Departures {
    let (mut out, mut dropped) = (Vec::new(), Vec::new());
    for &(now, packet) in arrivals {
        while queue.dequeue(now).is_some() {}
        match queue.enqueue(now, &packet) {
            fast::Verdict::Queued(at) => out.push((at, packet.seq)),
            fast::Verdict::Dropped(_) => dropped.push(packet.seq),
        }
    }
    Departures { out, dropped }
}

fn queue(limit: fifo::Limit) -> Fifo<Packet> {
    Fifo::new(fifo::Config { limit, head_drop: false })
}

/// A queue that never drops, so that only the shaping is compared: what the limit counts differs by the
/// packet that is held.
const DEEP: u64 = 1_000;

/// Mahimahi's loop over the opportunities, in ms, with everything in plain sight.
fn mahimahi(trace: &[u32], size: u64, arrivals: &[(Time, Packet)]) -> Vec<(Time, u32)> {
    let period = u64::from(*trace.last().expect("never empty"));
    let mut waiting = arrivals.iter().peekable();
    let (mut out, mut left) = (Vec::new(), None);
    for round in 0.. {
        for &ms in trace {
            let at = Time::from_ns((round * period + u64::from(ms)) * 1_000_000);
            let mut room = size;
            while room > 0 {
                let mut next = || waiting.next_if(|(came, _)| *came < at);
                let next = left.take().or_else(|| Some((next()?.1, 0)));
                let Some((packet, sent)) = next else { break };
                let rest = packet.wire_bytes().get() - sent;
                if rest > room {
                    left = Some((packet, sent + room));
                    break;
                }
                room -= rest;
                out.push((at, packet.seq));
            }
        }
        if out.len() == arrivals.len() {
            return out;
        }
    }
    out
}

proptest! {
    #[test]
    fn a_shaped_fifo_is_the_queue_of_known_departures(
        arrivals in arrivals(),
        bps in 1_000_000_u64..50_000_000,
        burst in 1_000_u64..20_000,
    ) {
        let (rate, burst) = (LinkRate::Constant(Rate::from_bps(bps)), Bytes::new(burst));
        let mut shaped = Tbf::new(rate.clone(), burst, queue(fifo::Limit::Packets(DEEP)));
        let limit = fast::Limit::Packets(DEEP);
        let mut known = fast::Fifo::new(fast::Config { rate, burst, limit, header: LinkHeader::default() });
        prop_assert_eq!(departures(&mut shaped, &arrivals), fast_departures(&mut known, &arrivals));
    }

    #[test]
    fn so_it_is_while_the_rate_follows_a_schedule(
        arrivals in arrivals(),
        steps in prop::collection::vec((1_u64..20_000_000, 0_u64..30_000_000), 1..6),
        burst in 1_000_u64..20_000,
    ) {
        let mut at = 0;
        let mut rates = vec![(Time::ZERO, Rate::from_bps(10_000_000))];
        for (ns, bps) in steps {
            at += ns;
            rates.push((Time::from_ns(at), Rate::from_bps(bps)));
        }
        let schedule = Schedule::new(rates, Some(Span::from_ns(at + 5_000_000)));
        let (rate, burst) = (LinkRate::Scheduled(schedule), Bytes::new(burst));
        let mut shaped = Tbf::new(rate.clone(), burst, queue(fifo::Limit::Packets(DEEP)));
        let limit = fast::Limit::Packets(DEEP);
        let mut known = fast::Fifo::new(fast::Config { rate, burst, limit, header: LinkHeader::default() });
        prop_assert_eq!(departures(&mut shaped, &arrivals), fast_departures(&mut known, &arrivals));
    }

    #[test]
    fn a_trace_link_delivers_as_mahimahi_does(
        arrivals in arrivals(),
        mut trace in prop::collection::vec(0_u32..40, 1..40),
        size in 500_u64..4_000,
    ) {
        trace.sort_unstable();
        prop_assume!(trace.last() != Some(&0));
        let opportunities: Opportunities = Trace::from_ms(trace.clone()).expect("in order").into();
        let mut link =
            TraceLink::new(opportunities, Bytes::new(size), queue(fifo::Limit::Packets(DEEP)));
        let got = departures(&mut link, &arrivals);
        prop_assert_eq!(&got.out, &mahimahi(&trace, size, &arrivals));
        let end = got.out.last().expect("something came").0 + Span::from_ns(1);
        let sent: u64 = arrivals.iter().map(|a| a.1.wire_bytes().get()).sum();
        prop_assert!(sent <= link.capacity_bytes(Time::ZERO, end));
    }

    #[test]
    fn what_comes_in_goes_out_or_is_dropped(
        arrivals in arrivals(),
        limit in 1_u64..20_000,
        trace in 1_u32..30,
    ) {
        let trace = Trace::from_ms(vec![trace / 2, trace]).expect("in order");
        let limit = fifo::Limit::Bytes(Bytes::new(limit));
        let mut link = TraceLink::new(trace, Bytes::new(1_514), queue(limit));
        let rate = LinkRate::Constant(Rate::from_bps(5_000_000));
        let mut shaped = Tbf::new(rate, Bytes::new(1_200), queue(limit));
        for got in [departures(&mut link, &arrivals), departures(&mut shaped, &arrivals)] {
            let mut seqs: Vec<u32> = got.out.iter().map(|o| o.1).chain(got.dropped).collect();
            seqs.sort_unstable();
            prop_assert_eq!(seqs, (0..arrivals.len() as u32).collect::<Vec<_>>());
        }
        prop_assert_eq!((link.len(), shaped.len()), (0, 0));
        prop_assert_eq!((link.backlog(), shaped.backlog()), (Bytes::ZERO, Bytes::ZERO));
    }
}
