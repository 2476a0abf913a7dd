//! The path in real time, for Python.

use crate::errors::{bug, PlanError};
use crate::watched::{tell, Watched};
#[cfg(feature = "kernel")]
use emu::CcaSnapshot;
use emu::{EmuError, FarEnd, ReadControllers};
use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sim::Plan;
#[cfg(feature = "kernel")]
use std::collections::BTreeSet;
#[cfg(feature = "kernel")]
use std::net::SocketAddr;
use std::path::PathBuf;

create_exception!(_native, EmulatorError, PyRuntimeError, "What the emulator needs is not there.");

fn to_python(error: EmuError) -> PyErr {
    match error {
        EmuError::Plan(_) | EmuError::Unsupported { .. } => PlanError::new_err(error.to_string()),
        EmuError::Record(_)
        | EmuError::System { .. }
        | EmuError::Program { .. }
        | EmuError::Limit { .. }
        | EmuError::Stopped => EmulatorError::new_err(error.to_string()),
    }
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// Runs one plan with real hosts; see the stub for the contract.
#[pyfunction]
#[pyo3(signature = (plan_json, controllers, out_dir, progress=None, watch=None))]
pub fn emulate(
    py: Python<'_>,
    plan_json: &str,
    controllers: Option<Vec<String>>,
    out_dir: PathBuf,
    progress: Option<Py<PyAny>>,
    watch: Option<Py<PyAny>>,
) -> PyResult<String> {
    let watched = Watched::new(watch);
    let mut stopped = None;
    let result = py.detach(|| {
        sim::guard::caught(|| {
            let plan = Plan::parse(plan_json)?;
            let Some(controllers) = controllers else { return emu::check(&plan).map(|()| None) };
            let mut on_progress = |at, packets| {
                let told = Python::attach(|py| {
                    watched.tell(py)?;
                    tell(py, progress.as_ref(), at, packets)
                });
                stopped = told.err();
                stopped.is_none()
            };
            let readers = readers(&controllers);
            emu::run(&plan, &controllers, readers, &out_dir, watched.rows(), &mut on_progress)
                .map(Some)
        })
    });
    let result = result.map_err(|text| bug(&text))?;
    match stopped {
        Some(error) => Err(error),
        None => {
            watched.tell(py)?;
            json(&result.map_err(to_python)?)
        }
    }
}

/// Reads those of the controllers that are ours.
#[cfg(feature = "kernel")]
fn readers(controllers: &[String]) -> Box<ReadControllers> {
    let names: BTreeSet<&String> = controllers.iter().collect();
    let readers = names.into_iter().map(|name| bpf::Reader::open(name, cca::interned));
    let readers: Vec<_> = readers.flatten().collect();
    Box::new(move |take| {
        for reader in &readers {
            for one in reader.read()? {
                if let SocketAddr::V4(local) = one.local {
                    take(local, CcaSnapshot { lost: Some(one.lost), estimates: one.estimates });
                }
            }
        }
        Ok(())
    })
}

/// This build can load none of ours.
#[cfg(not(feature = "kernel"))]
fn readers(_: &[String]) -> Box<ReadControllers> {
    Box::new(|_| Ok(()))
}

/// Runs a command behind a path; see the stub.
#[pyfunction]
pub fn shell(
    py: Python<'_>,
    plan_json: &str,
    command: Vec<String>,
    commands: Vec<String>,
    forwards: Vec<String>,
) -> PyResult<String> {
    let far = FarEnd { commands, forwards };
    let signals = emu::SignalForwarding::begin();
    // One that came just before is Python's, which would hear of it when the command has ended.
    py.check_signals()?;
    let ended = py.detach(|| emu::shell(&Plan::parse(plan_json)?, &command, &far, &signals));
    json(&ended.map_err(to_python)?)
}

/// Moves the process into a user namespace; see the stub.
#[pyfunction]
pub fn enter_user_namespace() -> PyResult<()> {
    emu::enter_user_namespace().map_err(to_python)
}
