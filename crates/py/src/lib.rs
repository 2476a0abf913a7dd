//! `dumbbell._native`: the engine for Python. Converts, releases the GIL, maps errors; nothing else.

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sim::{Plan, RunError};
use std::path::PathBuf;

create_exception!(_native, PlanError, PyValueError, "A plan that the engine does not accept.");

fn to_python(error: RunError) -> PyErr {
    match error {
        RunError::Plan(e) => PlanError::new_err(e.to_string()),
        RunError::Record(e) => PyRuntimeError::new_err(e.to_string()),
        RunError::Stopped => PyRuntimeError::new_err("stopped"),
    }
}

/// Runs one plan with the GIL released; see the stub for the contract.
#[pyfunction]
#[pyo3(signature = (plan_json, out_dir, progress=None))]
fn run(
    py: Python<'_>,
    plan_json: &str,
    out_dir: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let plan = Plan::from_json(plan_json).map_err(|e| PlanError::new_err(e.to_string()))?;
    let mut raised = None;
    let result = py.detach(|| {
        sim::run(&plan, &out_dir, &mut |sim_ns, packets| {
            Python::attach(|py| {
                let told = progress
                    .as_ref()
                    .map_or(Ok(()), |p| p.call1(py, (sim_ns, packets)).map(|_| ()));
                raised = told.and_then(|()| py.check_signals()).err();
                raised.is_none()
            })
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let summary = result.map_err(to_python)?;
    serde_json::to_string(&summary).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// What there is to know about each controller, as a JSON list.
#[pyfunction]
fn controllers() -> String {
    let list: Vec<_> = cca::Module::all()
        .iter()
        .map(|m| {
            let params: Vec<_> = m
                .params()
                .iter()
                .map(|p| {
                    serde_json::json!({"name": p.name, "default": p.default, "min": p.min, "max": p.max, "unit": p.unit, "doc": p.doc})
                })
                .collect();
            serde_json::json!({"name": m.name(), "doc": m.doc(), "summary": m.summary(), "license": m.license(),
                "params": params, "states": m.states(), "priv_bytes": m.priv_bytes()})
        })
        .collect();
    serde_json::Value::from(list).to_string()
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The module `dumbbell._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{controllers, run, version, PlanError};
}
