//! The engine's errors as exceptions of Python.

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sim::RunError;

create_exception!(_native, PlanError, PyValueError, "A plan that the engine does not accept.");

create_exception!(
    _native,
    ControllerError,
    PyRuntimeError,
    "A controller of one's own failed: an exception in Python, which is the cause of this one, or a crash in C."
);

pub fn to_python(error: RunError) -> PyErr {
    match error {
        RunError::Plan(e) => PlanError::new_err(e.to_string()),
        RunError::Record(e) => PyRuntimeError::new_err(e.to_string()),
        RunError::Exceeded(e) => PyRuntimeError::new_err(e.to_string()),
        RunError::Stopped => PyRuntimeError::new_err("stopped"),
    }
}

/// A panic in the engine: a bug of ours, which ends this run and no other.
pub fn bug(text: &str) -> PyErr {
    PyRuntimeError::new_err(engine::bug(text))
}
