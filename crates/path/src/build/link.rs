//! Links of a plan: rate or trace, policer, and the queue in front.

use super::qdisc::{limit, qdisc};
use crate::link::{Link, Queue};
use crate::plan::{self, PlanError, Qdisc};
use net::fifo;
use net::link::tbf::{self, Course};
use net::link::{Tbf, TraceLink};
use net::qdisc::policer::{self, Policer};
use net::schedule::{Schedule, Steps};
use net::trace::{Opportunities, Trace, TraceReader};
use net::Frame;
use std::fs::File;
use std::io::BufReader;
use units::{Bytes, Rate, Span, Time};

/// Traces up to this size are read once and kept; larger ones are read as the run goes on.
const TRACE_KEPT_MAX: u64 = 64 << 20;

/// What every link of a run is given beside its own plan.
pub struct Context<'a> {
    pub seed: u64,
    pub hz: u32,
    /// Where the link stands in the plan.
    pub at: &'a str,
}

/// A link of the plan.
pub fn link<P: Frame + Copy>(plan: &plan::Link, context: &Context) -> Result<Link<P>, PlanError> {
    let policer = plan.policer.as_ref().map(|p| {
        Policer::new(policer::Config {
            rate: Rate::from_bps(p.rate_bps),
            burst: Bytes::new(p.burst_bytes),
            exceed: if p.mark { policer::Exceed::Mark } else { policer::Exceed::Drop },
        })
    });
    Ok(Link::new(queue(plan, context)?, policer))
}

fn queue<P: Frame + Copy>(plan: &plan::Link, context: &Context) -> Result<Queue<P>, PlanError> {
    let rate = Rate::from_bps(plan.rate_bps);
    let burst = Bytes::new(plan.burst_bytes);
    let schedule = schedule(plan, context)?;
    if let Some(trace) = &plan.trace {
        let size = Bytes::new(trace.opportunity_bytes);
        let opportunities = opportunities(trace, context)?;
        let link = TraceLink::new(opportunities, size, qdisc(plan, context)?);
        return Ok(Queue::Trace(Box::new(link)));
    }
    match (&plan.qdisc, schedule) {
        (Qdisc::Fifo { limit_bytes, limit_packets, head_drop: false }, schedule) => {
            let config = fifo::Config { rate, burst, limit: limit(*limit_bytes, *limit_packets) };
            Ok(Queue::Fifo(Box::new(match schedule {
                None => fifo::Fifo::new(config),
                Some(schedule) => fifo::Fifo::with_schedule(config, schedule),
            })))
        }
        (Qdisc::Cake { bandwidth_bps: Some(bandwidth), .. }, _) => {
            let shaped = qdisc(plan, context)?;
            Ok(Queue::Shaping(Box::new(shaped), Rate::from_bps(*bandwidth)))
        }
        (_, schedule) => {
            let rate = schedule.map_or(Course::Constant(rate), Course::Scheduled);
            let config = tbf::Config { rate, burst, peak: None };
            Ok(Queue::Bucket(Box::new(Tbf::new(config, qdisc(plan, context)?))))
        }
    }
}

fn schedule(plan: &plan::Link, context: &Context) -> Result<Option<Schedule>, PlanError> {
    if plan.steps.is_empty() {
        return Ok(None);
    }
    let step = |&(ns, bps)| (Time::from_ns(ns), Rate::from_bps(bps));
    let steps = plan.steps.iter().map(step).collect();
    match Steps::new(steps, plan.repeat_ns.map(Span::from_ns)) {
        Ok(steps) if Schedule::is_endless_outage(&steps) => {
            Err(wrong(context, "steps", "an outage without end", "a rate above 0 in the end"))
        }
        Ok(steps) => Ok(Some(Schedule::from_steps(steps))),
        Err(error) => Err(wrong(context, "steps", error, "ascending steps from 0 ns")),
    }
}

fn opportunities(trace: &plan::Trace, context: &Context) -> Result<Opportunities, PlanError> {
    let failed = |e: &dyn std::fmt::Display| {
        wrong(context, "trace.path", format!("{}: {e}", trace.path), "a readable Mahimahi trace")
    };
    let file = File::open(&trace.path).map_err(|e| failed(&e))?;
    let size = file.metadata().map_err(|e| failed(&e))?.len();
    let all: Opportunities = if size <= TRACE_KEPT_MAX {
        Trace::parse(BufReader::new(file)).map_err(|e| failed(&e))?.into()
    } else {
        TraceReader::open(Box::new(file)).map_err(|e| failed(&e))?.into()
    };
    Ok(if trace.repeat { all } else { all.once() })
}

pub fn wrong(context: &Context, key: &str, got: impl ToString, wanted: &str) -> PlanError {
    PlanError::Value {
        key: format!("{}.{key}", context.at),
        got: got.to_string(),
        wanted: wanted.into(),
    }
}
