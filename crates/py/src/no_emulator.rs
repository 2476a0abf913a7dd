//! Instead of emulator.rs where this is not Linux, or where only the simulator was built (`make demo`): the same names, all
//! of which say so.

use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::path::PathBuf;

create_exception!(_native, EmulatorError, PyRuntimeError, "What the emulator needs is not there.");

fn absent<T>() -> PyResult<T> {
    let text = if cfg!(target_os = "linux") {
        "this build only simulates: `make demo` made it, which leaves out what the simulator does not need; \
         `make build` makes the rest"
    } else {
        "real hosts and paths need Linux"
    };
    Err(EmulatorError::new_err(text))
}

#[pyfunction]
#[pyo3(signature = (plan_json, controllers, out_dir, progress=None, watch=None))]
pub fn emulate(
    plan_json: &str,
    controllers: Option<Vec<String>>,
    out_dir: PathBuf,
    progress: Option<Py<PyAny>>,
    watch: Option<Py<PyAny>>,
) -> PyResult<String> {
    let _ = (plan_json, controllers, out_dir, progress, watch);
    absent()
}

#[pyfunction]
pub fn shell(
    plan_json: &str,
    command: Vec<String>,
    commands: Vec<String>,
    forwards: Vec<String>,
) -> PyResult<String> {
    let _ = (plan_json, command, commands, forwards);
    absent()
}

#[pyfunction]
pub fn enter_user_namespace() -> PyResult<()> {
    absent()
}
