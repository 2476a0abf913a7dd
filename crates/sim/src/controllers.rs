//! The controllers that a plan names, which the simulator knows.

use cca::{Modules, SelectError};
use path::plan::Transport;
use path::{Plan, PlanError};
use quinn_ends::plans;

/// Parses and checks a plan; its controllers are looked for in `modules`.
///
/// # Errors
/// When it is not a plan, a value is out of range, or a controller does not exist or take its parameters.
pub fn parse(text: &str, modules: &Modules) -> Result<Plan, PlanError> {
    let plan = Plan::parse(text)?;
    check(&plan, modules)?;
    Ok(plan)
}

/// Checks the controllers of a plan, which are looked for in `modules`.
///
/// # Errors
/// When one does not exist or take its parameters.
pub fn check(plan: &Plan, modules: &Modules) -> Result<(), PlanError> {
    for (i, flow) in plan.flows.iter().enumerate() {
        if !flow.transport.is_acknowledged() {
            continue;
        }
        let is_quinn = matches!(flow.transport, Transport::Quinn { .. });
        if is_quinn && plans::own(plan, i)?.is_some() {
            continue;
        }
        let found = modules.check(&flow.cca, &flow.params).map_err(|error| refused(i, &error))?;
        if let Some(controller) = found.filter(|_| is_quinn) {
            plans::check(i, controller.module())?;
        }
    }
    Ok(())
}

/// The controller of flow `i` is refused.
pub fn refused(i: usize, error: &SelectError) -> PlanError {
    let key = if matches!(error, SelectError::Param(_)) { "params" } else { "cca" };
    PlanError::Controller { key: format!("flows[{i}].{key}"), said: error.to_string() }
}
