//! Links of a plan: rate or trace, policer, and the queue in front.

use crate::link::{Link, Queue};
use crate::plan::{self, PlanError, Qdisc};
use net::bucket::LinkRate;
use net::fifo;
use net::frame::{Frame, LinkHeader};
use net::link::{Tbf, TraceLink};
use net::qdisc::any::AnyQdisc;
use net::qdisc::cake;
use net::qdisc::policer::Policer;
use net::rng::Rng;
use net::schedule::{Schedule, Steps};
use net::trace::{Opportunities, Trace, TraceReader};
use std::fs::File;
use std::io::BufReader;
use units::{Bytes, Rate, Span, Time};

/// Traces up to this size are read once and kept; larger ones are read as the run goes on.
const TRACE_KEPT_MAX: u64 = 64 << 20;

/// What every link of a run is given besides its own plan.
pub struct Context<'a> {
    pub seed: u64,
    pub hz: u32,
    /// Where the link stands in the plan.
    pub at: &'a str,
    /// What its random streams are called.
    pub stream: &'a str,
}

/// A link of the plan.
pub fn link<P: Frame + Copy>(plan: &plan::Link, context: &Context) -> Result<Link<P>, PlanError> {
    Ok(Link::new(queue(plan, context)?, plan.policer.map(Policer::new)))
}

fn queue<P: Frame + Copy>(plan: &plan::Link, context: &Context) -> Result<Queue<P>, PlanError> {
    let burst = Bytes::new(plan.burst_bytes);
    let rate = match schedule(plan, context)? {
        None => LinkRate::Constant(Rate::from_bps(plan.rate_bps)),
        Some(schedule) => LinkRate::Scheduled(schedule),
    };
    if let Some(trace) = &plan.trace {
        let size = Bytes::new(trace.opportunity_bytes);
        let opportunities = opportunities(trace, context)?;
        let link = TraceLink::new(opportunities, size, qdisc(plan, context)?);
        return Ok(Queue::Trace(Box::new(link)));
    }
    match plan.qdisc {
        Qdisc::Fifo(queue) if !queue.head_drop => {
            let header = LinkHeader::of(plan.header_bytes);
            let config = fifo::Config { rate, burst, limit: queue.limit, header };
            Ok(Queue::Fifo(Box::new(fifo::Fifo::new(config))))
        }
        Qdisc::Cake(cake::Config { bandwidth: Some(bandwidth), .. }) => {
            Ok(Queue::Shaping(Box::new(qdisc(plan, context)?), bandwidth))
        }
        _ => Ok(Queue::Bucket(Box::new(Tbf::new(rate, burst, qdisc(plan, context)?)))),
    }
}

fn qdisc<P: Frame>(plan: &plan::Link, context: &Context) -> Result<AnyQdisc<P>, PlanError> {
    let rng = Rng::stream(context.seed, &format!("{}.qdisc", context.stream));
    let refused = |refused| plan::at_key(&format!("{}.qdisc", context.at), refused);
    plan.qdisc.build(context.hz, rng).map_err(refused)
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
