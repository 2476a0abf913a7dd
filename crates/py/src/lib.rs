//! `dumbbell._native`: the engine for Python. Converts, releases the GIL, maps errors; nothing else.

mod apart;
#[cfg(all(feature = "emulator", target_os = "linux"))]
mod emulator;
mod episodes;
mod errors;
mod hosts;
mod interruptible;
#[cfg(all(feature = "kernel", target_os = "linux"))]
mod kernel;
#[cfg(not(all(feature = "emulator", target_os = "linux")))]
mod no_emulator;
#[cfg(not(all(feature = "kernel", target_os = "linux")))]
mod no_kernel;
mod own;
mod sample;
mod told;
mod watched;

use apart::Ended;
use errors::{bug, to_python, ControllerError, PlanError};
#[cfg(not(all(feature = "emulator", target_os = "linux")))]
use no_emulator as emulator;
#[cfg(not(all(feature = "kernel", target_os = "linux")))]
use no_kernel as kernel;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use record::report::MeasuredError;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use watched::{tell, Watched};

/// Whether the next run is to panic, for the test of what then happens.
static PANICS: AtomicBool = AtomicBool::new(false);

/// For tests: the next run ends by a panic.
#[pyfunction]
fn _panic_in_next_run() {
    PANICS.store(true, Ordering::Relaxed);
}

/// Calls of Python while a run goes on are this far apart: rare enough to cost nothing, often enough for Ctrl-C.
const TELL_EVERY: Duration = Duration::from_millis(50);

/// Checks a plan without running it; the names of its controllers are not looked at.
#[pyfunction]
fn check(py: Python<'_>, plan_json: &str) -> PyResult<()> {
    py.detach(|| path::plan::Plan::parse(plan_json))
        .map(|_| ())
        .map_err(|e| PlanError::new_err(e.to_string()))
}

/// Runs one plan with the GIL released; see the stub for the contract.
#[pyfunction]
#[pyo3(signature = (plan_json, out_dir, progress=None, own=None, watch=None))]
fn run(
    py: Python<'_>,
    plan_json: &str,
    out_dir: PathBuf,
    progress: Option<Py<PyAny>>,
    own: Option<&Bound<'_, PyDict>>,
    watch: Option<Py<PyAny>>,
) -> PyResult<String> {
    let libraries = own::libraries(own);
    let progress = progress.as_ref();
    if libraries.is_empty() {
        let watched = Watched::new(watch);
        let done = run_here(py, plan_json, out_dir, own, watched.rows(), &mut |at, packets| {
            Python::attach(|py| {
                watched.tell(py)?;
                tell(py, progress, at, packets)
            })
        })?;
        watched.tell(py)?;
        return Ok(done);
    }
    if watch.is_some() {
        return Err(PyValueError::new_err(
            "watch: a run with a shared object is in a process of its own",
        ));
    }
    let mut on_progress = |py: Python<'_>, at, packets| tell(py, progress, at, packets);
    let ended = apart::apart(py, &libraries, &mut on_progress, |py, teller| {
        let done = run_here(py, plan_json, out_dir, own, None, &mut |at, packets| {
            let gone = || PyRuntimeError::new_err("nobody waits for this run");
            teller.progress(at, packets).then_some(()).ok_or_else(gone)
        });
        written(py, done).into_bytes()
    })?;
    match ended {
        Ended::Well(bytes) => read(&String::from_utf8_lossy(&bytes)),
        Ended::Badly(said) => Err(ControllerError::new_err(said)),
    }
}

/// What a run gave as one text, to hand to another process: its first letter is the kind.
fn written(py: Python<'_>, done: PyResult<String>) -> String {
    let error = match done {
        Ok(summary) => return format!("+{summary}"),
        Err(error) => error,
    };
    let said = error.value(py).to_string();
    if error.is_instance_of::<PlanError>(py) {
        format!("p{said}")
    } else if error.is_instance_of::<ControllerError>(py) {
        let traceback = error.cause(py).and_then(|cause| traceback(py, &cause).ok());
        format!("c{}", traceback.unwrap_or(said))
    } else {
        format!("r{said}")
    }
}

/// The reverse of [`written`].
fn read(text: &str) -> PyResult<String> {
    let rest = text.get(1..).unwrap_or_default().to_owned();
    match text.as_bytes().first() {
        Some(b'+') => Ok(rest),
        Some(b'p') => Err(PlanError::new_err(rest)),
        Some(b'c') => Err(ControllerError::new_err(rest)),
        _ => Err(PyRuntimeError::new_err(rest)),
    }
}

/// An exception as Python prints it.
fn traceback(py: Python<'_>, error: &PyErr) -> PyResult<String> {
    let lines = py.import("traceback")?.call_method1("format_exception", (error.value(py),))?;
    Ok(format!("the controller raised\n{}", lines.extract::<Vec<String>>()?.concat().trim_end()))
}

/// A plan's seed; 0 for what is no plan, which fails later with a better message.
fn seed(plan_json: &str) -> u64 {
    let plan: Result<serde_json::Value, _> = serde_json::from_str(plan_json);
    plan.ok().and_then(|plan| plan["seed"].as_u64()).unwrap_or(0)
}

/// Runs one plan in this process. `tell` is called about every 50 ms with how far it is, and its error ends the run.
#[allow(
    clippy::disallowed_methods,
    reason = "the machine's clock says when to tell; the run itself never sees it"
)]
fn run_here(
    py: Python<'_>,
    plan_json: &str,
    out_dir: PathBuf,
    own: Option<&Bound<'_, PyDict>>,
    watch: Option<sim::Watch>,
    tell: &mut (dyn FnMut(u64, u64) -> PyResult<()> + Send),
) -> PyResult<String> {
    let raised = own::Raised::default();
    let modules = own::modules(own, &raised, own.map_or(0, |_| seed(plan_json)))?;
    let mut stopped = None;
    let mut told_at = None;
    let mut on_progress = |sim_ns, packets| {
        if told_at.is_some_and(|at: Instant| at.elapsed() < TELL_EVERY) {
            return true;
        }
        told_at = Some(Instant::now());
        let has_failed = raised.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        stopped = tell(sim_ns, packets).err();
        !has_failed && stopped.is_none()
    };
    let result = py.detach(|| {
        sim::guard::caught(|| {
            assert!(!PANICS.swap(false, Ordering::Relaxed), "a test asked for this");
            let plan = sim::parse(plan_json, &modules)?;
            sim::run_watched(&plan, &modules, &out_dir, &mut on_progress, watch)
        })
    });
    let result = result.map_err(|text| match own::libraries(own).is_empty() {
        true => bug(&text),
        false => ControllerError::new_err(format!(
            "the engine stopped ({text}): a controller has probably written a field of the socket that is TCP's own"
        )),
    })?;
    if let Some(error) = stopped {
        return Err(error);
    }
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            // A signal that came while Python ran: it is not the controller's.
            return Err(error);
        }
        let ended = ControllerError::new_err(error.to_string());
        ended.set_cause(py, Some(error));
        return Err(ended);
    }
    let summary = result.map_err(to_python)?;
    serde_json::to_string(&summary).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// Writes the tables of a run that was measured elsewhere; see the stub.
#[pyfunction]
#[pyo3(signature = (measured_json, out_dir, *, samples=true, queue=true, events=true))]
fn write_measured(
    py: Python<'_>,
    measured_json: &str,
    out_dir: PathBuf,
    samples: bool,
    queue: bool,
    events: bool,
) -> PyResult<String> {
    let options = record::Options { samples, queue, events };
    let summary = py.detach(|| record::report::write_measured(&out_dir, measured_json, options));
    let summary = summary.map_err(|error| match error {
        MeasuredError::Record(error) => PyRuntimeError::new_err(error.to_string()),
        other => PyValueError::new_err(other.to_string()),
    })?;
    serde_json::to_string(&summary).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// The module `dumbbell._native`.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::apart::end_with_parent;
    #[pymodule_export]
    use super::emulator::{emulate, enter_user_namespace, shell, EmulatorError};
    #[pymodule_export]
    use super::episodes::{Episodes, Policy, Rollouts};
    #[pymodule_export]
    use super::errors::{ControllerError, PlanError};
    #[pymodule_export]
    use super::hosts::{host_sysctls, iperf3_bytes, iperf3_clients, write_bytes};
    #[pymodule_export]
    use super::kernel::{
        kernel_built_in, kernel_left_over, kernel_load, kernel_loaded, kernel_refusal, kernel_set,
        kernel_status, kernel_unload, KernelController, KernelError,
    };
    #[pymodule_export]
    use super::own::{
        build, is_bpf_program, kernel_name, python_calls, write_headers, write_sources, BuildError,
    };
    #[pymodule_export]
    use super::sample::Sample;
    #[pymodule_export]
    use super::told::{
        agent, controllers, digests, facts, indented, parts, path_course, radio_course,
        radio_trace, version,
    };
    #[pymodule_export]
    use super::{_panic_in_next_run, check, run, write_measured};

    /// Versions of the manifest and of the tables.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("MANIFEST_VERSION", record::MANIFEST_VERSION)?;
        module.add("SCHEMA_VERSION", record::SCHEMA_VERSION)
    }
}
