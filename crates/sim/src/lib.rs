//! The deterministic simulator: a plan goes in, tables and a summary come out.
//!
//! Virtual time is integer nanoseconds; events at one instant run in the order they were scheduled;
//! each use of randomness has its own named stream. Nothing here reads the machine's clock, so the same
//! plan gives the same bytes anywhere.
//!
//! ```text
//!  sender i: TCP -> fq -> [loss] -> delay RTT/2 -> \
//!                                                   queue + token bucket -> receiver i
//!  sender i <------------- delay RTT/2 <----------------------------------- ACKs
//! ```
//!
//! That is the way down; where flows go up as well, the way up has its own queue, and each queue has the data of one
//! direction and the acknowledgements of the other.

mod application;
pub mod bounds;
mod capture;
mod controllers;
mod ends;
mod episode;
mod flow;
pub mod guard;
mod inside;
mod probe;
mod prober;
mod qlog;
mod quinn;
mod source;
mod totals;
mod traffic;
mod udp;
mod world;

pub use controllers::parse;
pub use episode::{roll_out, Episode, Reward, Rolled, Step};
pub use path::plan;
pub use path::{Plan, PlanError};
pub use record::Summary;
pub use record::Watch;

use std::path::Path;

/// Why a run ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan cannot be run.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The tables cannot be written.
    #[error(transparent)]
    Record(#[from] record::RecordError),
    /// It costs more than its plan allows.
    #[error(transparent)]
    Exceeded(#[from] bounds::Exceeded),
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// Tells the caller how far the run is (simulated ns, packets delivered); `false` stops it. Called often, while the
/// run is made ready too, so that a caller with a clock of its own can answer within milliseconds.
pub type Progress<'a> = dyn FnMut(u64, u64) -> bool + 'a;

/// Runs `plan` and writes its tables into `out`, which must exist.
///
/// # Errors
/// When the plan is wrong, the tables cannot be written or `progress` says stop.
pub fn run(plan: &Plan, out: &Path, progress: &mut Progress<'_>) -> Result<Summary, RunError> {
    run_with(plan, &cca::Modules::new(), out, progress)
}

/// As [`run`], with a user's own controllers.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    plan: &Plan,
    modules: &cca::Modules,
    out: &Path,
    progress: &mut Progress<'_>,
) -> Result<Summary, RunError> {
    run_watched(plan, modules, out, progress, None)
}

/// As [`run_with`]; `watch` gets the rows of samples and queue while the run goes on.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    plan: &Plan,
    modules: &cca::Modules,
    out: &Path,
    progress: &mut Progress<'_>,
    watch: Option<Watch>,
) -> Result<Summary, RunError> {
    if plan.is_two_way() {
        run_traffic::<traffic::TwoWay>(plan, modules, out, progress, watch)
    } else {
        run_traffic::<traffic::OneWay>(plan, modules, out, progress, watch)
    }
}

fn run_traffic<T: traffic::Traffic>(
    plan: &Plan,
    modules: &cca::Modules,
    out: &Path,
    progress: &mut Progress<'_>,
    watch: Option<Watch>,
) -> Result<Summary, RunError> {
    cca::take_warnings(); // of a run in this thread that failed
    let mut world = world::World::<T>::new(plan, modules, Some(out), progress)?;
    world.watch(watch);
    world.run(progress)?;
    let mut summary = world.finish(plan)?;
    summary.warnings.extend(cca::take_warnings());
    Ok(summary)
}
