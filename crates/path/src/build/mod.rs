//! Makes the parts of a run from its plan: links, routes and their random streams.

mod link;

use crate::link::Link;
use crate::network::Network;
use crate::plan::{self, Direction, Plan, PlanError};
use crate::route::{Delay, PathPacket, Stage};
use crate::varied::Varied;
use link::Context;
use net::delay::{Jitter, JitterPipe, Slots};
use net::impair::{
    AckThinning, Aggregation, BernoulliLoss, CorrelatedLoss, Corruption, Duplication, FourState,
    GilbertElliott, ListedLoss, Loss, LossWindow, Release, Reordering, ScheduledLoss, Share,
    WindowedLoss,
};
use net::rng::Rng;
use net::schedule::Steps;
use std::collections::BTreeMap;
use units::{Span, Time};

/// All that packets meet on one way, whose event slots begin at `base`; of the flows whose data go this way it gives
/// notice, where events are recorded.
pub fn network<P: PathPacket>(
    plan: &Plan,
    way: Direction,
    base: u32,
) -> Result<Network<P>, PlanError> {
    let links = match way {
        Direction::Down => links(plan)?,
        Direction::Up => ack_links(plan)?,
    };
    let flows = (0..plan.flows.len()).map(|i| match plan.flows[i].direction == way {
        true => forward(plan, i),
        false => back(plan, i),
    });
    let probes = (0..plan.probes.len()).map(|i| of_probe(plan, i, way));
    let routes = flows.chain(probes).collect::<Result<_, _>>()?;
    let noticed = plan.flows.iter().map(|flow| plan.record.events && flow.direction == way);
    let noticed = noticed.chain(plan.probes.iter().map(|_| false));
    Ok(Network::new(base, links, routes, noticed.collect()).within(plan.limits.of_network()))
}

/// The links of the way down. Their random streams keep the names that they had when the bottleneck
/// stood apart from the others, so that seeds give the same runs.
fn links<P: PathPacket>(plan: &Plan) -> Result<Vec<Link<P>>, PlanError> {
    let stream = |i: usize| match i {
        0 => "bottleneck".into(),
        _ => format!("links[{}]", i - 1),
    };
    let all = plan.links.iter().enumerate();
    all.map(|(i, given)| link::link(given, &context(plan, &format!("links[{i}]"), &stream(i))))
        .collect()
}

/// The links of the way up.
fn ack_links<P: PathPacket>(plan: &Plan) -> Result<Vec<Link<P>>, PlanError> {
    let all = plan.ack_links.iter().enumerate();
    all.map(|(i, given)| {
        let at = format!("ack_links[{i}]");
        link::link(given, &context(plan, &at, &at))
    })
    .collect()
}

fn context<'a>(plan: &Plan, at: &'a str, stream: &'a str) -> Context<'a> {
    Context { seed: plan.seed, hz: plan.host.hz, at, stream }
}

/// Route of flow `i` from sender to receiver.
fn forward<P: PathPacket>(plan: &Plan, i: usize) -> Result<Vec<Stage<P>>, PlanError> {
    let flow = &plan.flows[i];
    let mut route = Route::new(plan, format!("flow{i}"));
    let mut stages = route.stages(&flow.forward, &format!("flows[{i}].forward"))?;
    if plan.host.arp {
        wait_for_address(&mut stages, Span::from_ns(flow.rtt_ns));
    }
    Ok(stages)
}

/// Route of flow `i` from receiver to sender.
fn back<P: PathPacket>(plan: &Plan, i: usize) -> Result<Vec<Stage<P>>, PlanError> {
    let mut route = Route::new(plan, format!("flow{i}.ack"));
    route.stages(&plan.flows[i].back, &format!("flows[{i}].back"))
}

/// Route of series `i` of probes on one way.
fn of_probe<P: PathPacket>(
    plan: &Plan,
    i: usize,
    way: Direction,
) -> Result<Vec<Stage<P>>, PlanError> {
    let probe = &plan.probes[i];
    let (stages, name, key) = match probe.direction == way {
        true => (&probe.forward, format!("probe{i}"), "forward"),
        false => (&probe.back, format!("probe{i}.answer"), "back"),
    };
    Route::new(plan, name).stages(stages, &format!("probes[{i}].{key}"))
}

/// The first packet waits in its host for the other end's address: one that the path loses has waited too.
fn wait_for_address<P: PathPacket>(stages: &mut Vec<Stage<P>>, resolution: Span) {
    let delay = match stages.first_mut() {
        Some(Stage::Delay(delay)) => std::mem::replace(delay, Delay::new(Span::ZERO)),
        _ => {
            stages.insert(0, Stage::Delay(Delay::new(Span::ZERO)));
            Delay::new(Span::ZERO)
        }
    };
    stages[0] = Stage::Delay(delay.after_resolution(resolution));
}

/// Builds one route, whose random streams are named by what they are for and, from the second of a
/// kind on, its number: adding a part does not shift the draws of others.
struct Route<'a> {
    plan: &'a Plan,
    name: String,
    used: BTreeMap<&'static str, u32>,
}

impl Route<'_> {
    fn new(plan: &Plan, name: String) -> Route<'_> {
        Route { plan, name, used: BTreeMap::new() }
    }

    fn stream(&mut self, what: &'static str) -> Rng {
        let used = self.used.entry(what).or_default();
        let number = if *used == 0 { String::new() } else { used.to_string() };
        *used += 1;
        Rng::stream(self.plan.seed, &format!("{}.{what}{number}", self.name))
    }

    fn stages<P: PathPacket>(
        &mut self,
        stages: &[plan::Stage],
        at: &str,
    ) -> Result<Vec<Stage<P>>, PlanError> {
        let numbered = stages.iter().enumerate();
        numbered.map(|(k, stage)| self.stage(stage, &format!("{at}[{k}]"))).collect()
    }

    fn stage<P: PathPacket>(
        &mut self,
        stage: &plan::Stage,
        at: &str,
    ) -> Result<Stage<P>, PlanError> {
        Ok(match stage {
            plan::Stage::Delay(delay) => self.delay(delay, at)?,
            plan::Stage::Loss(loss) => Stage::Loss(Box::new(self.loss(loss, at)?)),
            plan::Stage::Duplicate(share) => {
                Stage::Duplicate(Box::new(Duplication::new(*share, self.stream("duplicate"))))
            }
            plan::Stage::Corrupt(share) => {
                Stage::Corrupt(Box::new(Corruption::new(*share, self.stream("corrupt"))))
            }
            plan::Stage::Thin(config) => Stage::ThinAcks(Box::new(AckThinning::new(*config))),
            plan::Stage::Aggregate(filled) => {
                Stage::Aggregate(Box::new(Aggregation::new(Release::Filled(*filled))))
            }
            plan::Stage::Serve(periodic) => {
                Stage::Aggregate(Box::new(Aggregation::new(Release::Periodic(*periodic))))
            }
            plan::Stage::Segment => Stage::Segment,
            plan::Stage::Link(number) => Stage::Link(number.link),
        })
    }

    fn delay<P: PathPacket>(
        &mut self,
        plan: &plan::Delay,
        at: &str,
    ) -> Result<Stage<P>, PlanError> {
        let mean = Span::from_ns(plan.ns);
        if plan.is_plain() {
            return Ok(Stage::Delay(Delay::new(mean)));
        }
        let delay = if plan.steps.is_empty() {
            net::delay::Delay::Constant(mean)
        } else {
            net::delay::Delay::Steps(steps(&plan.steps, plan.repeat_ns, Span::from_ns, at)?)
        };
        let still = Jitter { reorder: false, ..Jitter::default() };
        let pipe = JitterPipe::new(delay, plan.jitter.unwrap_or(still), self.stream("jitter"));
        let reordering = plan.reorder.map(|config| Reordering::new(config, self.stream("reorder")));
        let slots = plan.slot.map(|config| Slots::new(config, self.stream("slot")));
        Ok(Stage::Varied(Box::new(Varied::new(pipe, reordering, slots))))
    }

    fn loss(&mut self, loss: &plan::Loss, at: &str) -> Result<Loss, PlanError> {
        let rng = self.stream("loss");
        Ok(match loss {
            plan::Loss::Random(Share { rate, correlation: 0 }) => {
                Loss::Bernoulli(BernoulliLoss::new(*rate, rng))
            }
            plan::Loss::Random(share) => Loss::Correlated(CorrelatedLoss::new(*share, rng)),
            plan::Loss::GilbertElliott(config) => {
                Loss::GilbertElliott(GilbertElliott::new(*config, rng))
            }
            plan::Loss::FourState(config) => Loss::FourState(FourState::new(*config, rng)),
            plan::Loss::Schedule(plan::ShareSteps { steps: given, repeat_ns }) => {
                Loss::Scheduled(ScheduledLoss::new(steps(given, *repeat_ns, |ppb| ppb, at)?, rng))
            }
            plan::Loss::Windows(plan::LossWindows { windows }) => {
                let windows = windows.iter().map(|window| LossWindow {
                    from: Time::from_ns(window.from_ns),
                    to: Time::from_ns(window.to_ns),
                    ppb: window.ppb,
                    packets: window.packets,
                });
                Loss::Windowed(WindowedLoss::new(windows.collect(), rng))
            }
            plan::Loss::List(numbers) => Loss::Listed(ListedLoss::new(numbers.packets.clone())),
        })
    }
}

fn steps<T: Copy>(
    given: &[(u64, u64)],
    repeat_ns: Option<u64>,
    value: impl Fn(u64) -> T,
    at: &str,
) -> Result<Steps<T>, PlanError> {
    let all = given.iter().map(|&(ns, v)| (Time::from_ns(ns), value(v))).collect();
    Steps::new(all, repeat_ns.map(Span::from_ns)).map_err(|error| PlanError::Value {
        key: format!("{at}.steps"),
        got: error.to_string(),
        wanted: "ascending steps from 0 ns, and a period after the last".into(),
    })
}
