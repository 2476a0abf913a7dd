//! Flows of a plan: their controllers and settings.

use crate::config::{Cca, Config, Own};
use crate::given;
use cca::{Controller, Module};
use path::plan::{EcnMode, Plan, PlanError, Transport, QUINN_PREFIX};
use quinn_cca::Factory;

/// The controller of flow `i`: one in quinn's interface of that name, or what `made` gives.
pub fn controller(
    plan: &Plan,
    i: usize,
    made: impl FnOnce() -> Result<Controller, PlanError>,
) -> Result<Cca, PlanError> {
    if let Some(own) = own(plan, i)? {
        return Ok(own);
    }
    let controller = made()?;
    check(i, controller.module())?;
    Ok(Cca::Kernel { controller, hz: plan.host_of(i).hz })
}

/// The controller in quinn's interface that flow `i` names, quinn's own or one of the program's; `None` when it names
/// none of these.
pub fn own(plan: &Plan, i: usize) -> Result<Option<Cca>, PlanError> {
    let flow = &plan.flows[i];
    if !flow.cca.starts_with(QUINN_PREFIX) {
        return Ok(None);
    }
    let quinns = Own::find(&flow.cca).map(Cca::Own);
    let Some(own) = quinns.or_else(|| given::find(&flow.cca).map(Cca::Given)) else {
        let mut all: Vec<String> = Own::ALL.map(|own| own.name().to_owned()).into();
        all.extend(given::names());
        let said = format!("no controller \"{}\"; quinn has {}", flow.cca, all.join(", "));
        return refused(i, "cca", said);
    };
    match flow.params.keys().next() {
        None => Ok(Some(own)),
        Some(name) => {
            let said = format!("{} has no parameter `{name}`; it takes none", flow.cca);
            refused(i, "params", said)
        }
    }
}

/// Whether a controller in kernel style can do its work inside quinn.
pub fn check(i: usize, module: &Module) -> Result<(), PlanError> {
    Factory::check(module).or_else(|error| refused(i, "cca", error.to_string()))
}

fn refused<T>(i: usize, key: &str, said: String) -> Result<T, PlanError> {
    Err(PlanError::Controller { key: format!("flows[{i}].{key}"), said })
}

/// Settings of flow `i`; `None` unless quinn carries it.
pub fn config(plan: &Plan, i: usize, seed: u64) -> Option<Config> {
    let flow = &plan.flows[i];
    let Transport::Quinn { datagram_bytes } = flow.transport else { return None };
    let host = plan.host_of(i);
    Some(Config {
        datagram: datagram_bytes,
        ecn: host.ecn != EcnMode::Off,
        initial_window: host.initial_window,
        max_rate_bps: flow.max_rate_bps,
        makes_up: false,
        seed,
    })
}
