//! Makes the parts of a run from its plan: links, routes and their random streams.

mod link;
mod qdisc;

use crate::link::Link;
use crate::plan::{self, Plan, PlanError};
use crate::route::{Delay, Stage, Traveller};
use link::Context;
use net::delay::jitter::Pick;
use net::delay::{Distribution, Jitter, JitterPipe};
use net::impair::{
    AckThinning, Aggregation, BernoulliLoss, CorrelatedLoss, Corruption, Duplication, FourState,
    FourStateConfig, GilbertElliott, GilbertElliottConfig, ListedLoss, Loss, Release, Reordering,
    ScheduledLoss, ThinningConfig,
};
use net::rng::Rng;
use net::schedule::Steps;
use std::collections::BTreeMap;
use units::{Span, Time};

/// The links of the data direction.
pub fn links<P: Traveller>(plan: &Plan) -> Result<Vec<Link<P>>, PlanError> {
    let all = std::iter::once(&plan.bottleneck).chain(&plan.links).enumerate();
    let at = |i: usize| if i == 0 { "bottleneck".into() } else { format!("links[{}]", i - 1) };
    all.map(|(i, given)| link::link(given, &context(plan, &at(i)))).collect()
}

/// The links of the acknowledgements' direction.
pub fn ack_links<P: Traveller>(plan: &Plan) -> Result<Vec<Link<P>>, PlanError> {
    let all = plan.ack_links.iter().enumerate();
    all.map(|(i, given)| link::link(given, &context(plan, &format!("ack_links[{i}]")))).collect()
}

fn context<'a>(plan: &Plan, at: &'a str) -> Context<'a> {
    Context { seed: plan.seed, hz: plan.host.hz, at }
}

/// Way of flow `i` from sender to receiver.
pub fn forward<P: Traveller>(plan: &Plan, i: usize) -> Result<Vec<Stage<P>>, PlanError> {
    let flow = &plan.flows[i];
    let resolution = Span::from_ns(if plan.host.arp { flow.rtt_ns } else { 0 });
    match &flow.forward {
        Some(stages) => {
            let mut route = Route::new(plan, format!("flow{i}"));
            let mut built = route.stages(stages, &format!("flows[{i}].forward"))?;
            built.insert(0, Stage::Delay(Delay::new(Span::ZERO, resolution)));
            Ok(built)
        }
        None => Ok(plain(plan, i, resolution)),
    }
}

/// Way of flow `i` from receiver to sender.
pub fn back<P: Traveller>(plan: &Plan, i: usize) -> Result<Vec<Stage<P>>, PlanError> {
    let flow = &plan.flows[i];
    match &flow.back {
        Some(stages) => {
            Route::new(plan, format!("flow{i}.ack")).stages(stages, &format!("flows[{i}].back"))
        }
        None => {
            let half = Span::from_ns(flow.rtt_ns - flow.rtt_ns / 2);
            Ok(vec![Stage::Delay(Delay::new(half, Span::ZERO))])
        }
    }
}

/// The route of a flow that gives none: random loss, half the RTT, the bottleneck.
fn plain<P: Traveller>(plan: &Plan, i: usize, resolution: Span) -> Vec<Stage<P>> {
    let flow = &plan.flows[i];
    let stream = |what: &str| Rng::stream(plan.seed, &format!("flow{i}.{what}"));
    let mut stages = Vec::with_capacity(4);
    let mut resolution = resolution;
    if flow.loss_ppb > 0 {
        if resolution > Span::ZERO {
            // The first packet waits in its host: one that the path loses has waited too.
            stages.push(Stage::Delay(Delay::new(Span::ZERO, std::mem::take(&mut resolution))));
        }
        let loss = BernoulliLoss::new(flow.loss_ppb, stream("loss"));
        stages.push(Stage::Loss(Box::new(Loss::Bernoulli(loss))));
    }
    let delay = Span::from_ns(flow.rtt_ns / 2);
    match &flow.jitter {
        None => stages.push(Stage::Delay(Delay::new(delay, resolution))),
        Some(given) => {
            stages.push(Stage::Delay(Delay::new(Span::ZERO, resolution)));
            let pipe = JitterPipe::new(delay, plain_jitter(given), stream("jitter"));
            stages.push(Stage::Vary(Box::new((pipe, None))));
        }
    }
    stages.push(Stage::Link(0));
    stages
}

fn plain_jitter(given: &plan::Jitter) -> Jitter {
    let (distribution, ns, reorder) = match *given {
        plan::Jitter::Uniform { spread_ns, reorder } => (Distribution::Uniform, spread_ns, reorder),
        plan::Jitter::Gaussian { stddev_ns, reorder } => {
            (Distribution::Gaussian, stddev_ns, reorder)
        }
    };
    Jitter { distribution, spread: Span::from_ns(ns), reorder }
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

    fn stages<P: Traveller>(
        &mut self,
        stages: &[plan::Stage],
        at: &str,
    ) -> Result<Vec<Stage<P>>, PlanError> {
        let numbered = stages.iter().enumerate();
        numbered.map(|(k, stage)| self.stage(stage, &format!("{at}[{k}]"))).collect()
    }

    fn stage<P: Traveller>(
        &mut self,
        stage: &plan::Stage,
        at: &str,
    ) -> Result<Stage<P>, PlanError> {
        Ok(match stage {
            plan::Stage::Delay { ns, steps, jitter: None, reorder: None, .. }
                if steps.is_empty() =>
            {
                Stage::Delay(Delay::new(Span::from_ns(*ns), Span::ZERO))
            }
            plan::Stage::Delay { .. } => self.vary(stage, at)?,
            plan::Stage::Loss(loss) => Stage::Loss(Box::new(self.loss(loss, at)?)),
            plan::Stage::Duplicate { ppb, correlation_ppb } => {
                let rng = self.stream("duplicate");
                Stage::Duplicate(Box::new(Duplication::new(*ppb, *correlation_ppb, rng)))
            }
            plan::Stage::Corrupt { ppb, correlation_ppb } => {
                let rng = self.stream("corrupt");
                Stage::Corrupt(Box::new(Corruption::new(*ppb, *correlation_ppb, rng)))
            }
            plan::Stage::Thin { every, hold_ns } => {
                let config = ThinningConfig { every: *every, hold: Span::from_ns(*hold_ns) };
                Stage::Thin(Box::new(AckThinning::new(config)))
            }
            plan::Stage::Aggregate { packets, hold_ns } => {
                let (packets, hold) = (*packets as usize, Span::from_ns(*hold_ns));
                Stage::Aggregate(Box::new(Aggregation::new(Release::Filled { packets, hold })))
            }
            plan::Stage::Serve { period_ns, packets } => {
                let packets = packets.map_or(usize::MAX >> 1, |n| n as usize);
                let interval = Span::from_ns(*period_ns);
                let release = Release::Periodic { interval, packets };
                Stage::Aggregate(Box::new(Aggregation::new(release)))
            }
            plan::Stage::Link { link } => Stage::Link(*link),
        })
    }

    fn vary<P: Traveller>(&mut self, stage: &plan::Stage, at: &str) -> Result<Stage<P>, PlanError> {
        let plan::Stage::Delay { ns, steps: given, repeat_ns, jitter, reorder } = stage else {
            unreachable!("matched by the caller")
        };
        let delay = if given.is_empty() {
            net::delay::Delay::Constant(Span::from_ns(*ns))
        } else {
            net::delay::Delay::Steps(steps(given, *repeat_ns, Span::from_ns, at)?)
        };
        let still = plan::DelayJitter {
            distribution: plan::Distribution::Uniform,
            spread_ns: 0,
            correlation_ppb: 0,
            reorder: false,
        };
        let jitter = jitter.as_ref().unwrap_or(&still);
        let shape = Jitter {
            distribution: match jitter.distribution {
                plan::Distribution::Uniform => Distribution::Uniform,
                plan::Distribution::Gaussian => Distribution::Gaussian,
                plan::Distribution::Normal => Distribution::NormalTable,
                plan::Distribution::Pareto => Distribution::Pareto,
                plan::Distribution::Paretonormal => Distribution::ParetoNormal,
            },
            spread: Span::from_ns(jitter.spread_ns),
            reorder: jitter.reorder,
        };
        let rng = self.stream("jitter");
        let pipe = match jitter.correlation_ppb {
            0 => JitterPipe::new(delay, shape, rng),
            ppb => JitterPipe::correlated(delay, shape, ppb, Pick::Proportion, rng),
        };
        let reordering = reorder
            .as_ref()
            .map(|r| Reordering::new(r.gap, r.ppb, r.correlation_ppb, self.stream("reorder")));
        Ok(Stage::Vary(Box::new((pipe, reordering))))
    }

    fn loss(&mut self, loss: &plan::Loss, at: &str) -> Result<Loss, PlanError> {
        let rng = self.stream("loss");
        Ok(match loss {
            plan::Loss::Random { ppb, correlation_ppb: 0 } => {
                Loss::Bernoulli(BernoulliLoss::new(*ppb, rng))
            }
            plan::Loss::Random { ppb, correlation_ppb } => {
                Loss::Correlated(CorrelatedLoss::new(*ppb, *correlation_ppb, rng))
            }
            plan::Loss::GilbertElliott { p_ppb, r_ppb, bad_loss_ppb, good_loss_ppb } => {
                let config = GilbertElliottConfig {
                    p_ppb: *p_ppb,
                    r_ppb: *r_ppb,
                    bad_loss_ppb: *bad_loss_ppb,
                    good_loss_ppb: *good_loss_ppb,
                };
                Loss::GilbertElliott(GilbertElliott::new(config, rng))
            }
            plan::Loss::FourState { p13_ppb, p31_ppb, p32_ppb, p23_ppb, p14_ppb } => {
                let config = FourStateConfig {
                    p13_ppb: *p13_ppb,
                    p31_ppb: *p31_ppb,
                    p32_ppb: *p32_ppb,
                    p23_ppb: *p23_ppb,
                    p14_ppb: *p14_ppb,
                };
                Loss::FourState(FourState::new(config, rng))
            }
            plan::Loss::Schedule { steps: given, repeat_ns } => {
                Loss::Scheduled(ScheduledLoss::new(steps(given, *repeat_ns, |ppb| ppb, at)?, rng))
            }
            plan::Loss::List { packets } => Loss::Listed(ListedLoss::new(packets.clone())),
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
        wanted: "ascending steps from 0 ns, and a period behind the last".into(),
    })
}
