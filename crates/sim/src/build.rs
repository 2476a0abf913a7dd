//! Makes the parts of a run from its plan: links, routes and their random streams.

use crate::link::{Link, Queue};
use crate::plan::{self, Plan, Qdisc};
use crate::route::{Delay, Stage};
use net::delay::{Distribution, Jitter, JitterPipe};
use net::fifo::{Config, Fifo, Limit};
use net::impair::BernoulliLoss;
use net::rng::Rng;
use net::schedule::Schedule;
use net::{Ack, Frame, Packet};
use units::{Bytes, Rate, Span, Time};

/// The links of the data direction.
pub fn links(plan: &Plan) -> Vec<Link<Packet>> {
    std::iter::once(&plan.bottleneck).map(link).collect()
}

fn link<P: Frame + Copy>(plan: &plan::Link) -> Link<P> {
    let Qdisc::Fifo { limit_bytes, limit_packets, .. } = plan.qdisc else { todo!() };
    let config = Config {
        rate: Rate::from_bps(plan.rate_bps),
        burst: Bytes::new(plan.burst_bytes),
        limit: match (limit_bytes, limit_packets) {
            (Some(bytes), _) => Limit::Bytes(Bytes::new(bytes)),
            (None, Some(packets)) => Limit::Packets(packets),
            (None, None) => unreachable!("Plan::check accepts exactly one limit"),
        },
    };
    match schedule(plan) {
        None => Link::new(
            Queue::Fifo(Fifo::new(config)),
            Box::new(move |end| config.rate.bytes_in(end.since(Time::ZERO)).get()),
        ),
        Some(course) => Link::new(
            Queue::Fifo(Fifo::with_schedule(config, course.clone())),
            Box::new(move |end| (course.bit_ns(Time::ZERO, end) / 8_000_000_000) as u64),
        ),
    }
}

fn schedule(plan: &plan::Link) -> Option<Schedule> {
    let step = |&(ns, bps)| (Time::from_ns(ns), Rate::from_bps(bps));
    (!plan.steps.is_empty()).then(|| {
        Schedule::new(plan.steps.iter().map(step).collect(), plan.repeat_ns.map(Span::from_ns))
    })
}

/// Way of flow `i` from sender to receiver.
pub fn forward(plan: &Plan, i: usize) -> Vec<Stage<Packet>> {
    let flow = &plan.flows[i];
    let stream = |what: &str| Rng::stream(plan.seed, &format!("flow{i}.{what}"));
    let mut stages = Vec::with_capacity(4);
    if flow.loss_ppb > 0 {
        stages.push(Stage::Loss(BernoulliLoss::new(flow.loss_ppb, stream("loss"))));
    }
    let resolution = Span::from_ns(if plan.host.arp { flow.rtt_ns } else { 0 });
    let delay = Span::from_ns(flow.rtt_ns / 2);
    match &flow.jitter {
        None => stages.push(Stage::Delay(Delay::new(delay, resolution))),
        Some(given) => {
            stages.push(Stage::Delay(Delay::new(Span::ZERO, resolution)));
            let pipe = JitterPipe::new(delay, jitter(given), stream("jitter"));
            stages.push(Stage::Jitter(pipe));
        }
    }
    stages.push(Stage::Link(0));
    stages
}

/// Way of flow `i` from receiver to sender.
pub fn back(plan: &Plan, i: usize) -> Vec<Stage<Ack>> {
    let rtt = plan.flows[i].rtt_ns;
    vec![Stage::Delay(Delay::new(Span::from_ns(rtt - rtt / 2), Span::ZERO))]
}

fn jitter(given: &plan::Jitter) -> Jitter {
    let (distribution, ns, reorder) = match *given {
        plan::Jitter::Uniform { spread_ns, reorder } => (Distribution::Uniform, spread_ns, reorder),
        plan::Jitter::Gaussian { stddev_ns, reorder } => {
            (Distribution::Gaussian, stddev_ns, reorder)
        }
    };
    Jitter { distribution, spread: Span::from_ns(ns), reorder }
}
