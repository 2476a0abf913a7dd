//! What the engine tells of itself (crates/engine), as functions of Python; see the stub.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;

#[pyfunction]
pub fn version() -> &'static str {
    engine::version()
}

#[pyfunction]
pub fn digests() -> BTreeMap<&'static str, &'static str> {
    engine::digests()
}

#[pyfunction]
pub fn parts() -> String {
    engine::parts()
}

#[pyfunction]
pub fn controllers() -> String {
    engine::controllers()
}

#[pyfunction]
pub fn facts() -> BTreeMap<&'static str, BTreeMap<&'static str, &'static str>> {
    engine::facts()
}

#[pyfunction]
pub fn agent() -> String {
    engine::agent()
}

#[pyfunction]
pub fn indented(py: Python<'_>, json: &str) -> String {
    py.detach(|| engine::indented(json))
}

#[pyfunction]
pub fn path_course(
    kind: &str,
    mobility: &str,
    mean_bps: u64,
    length_ms: u64,
    seed: u64,
) -> PyResult<Vec<(u64, u64, u64)>> {
    engine::path_course(kind, mobility, mean_bps, length_ms, seed).map_err(PyValueError::new_err)
}

#[pyfunction]
pub fn radio_course(
    radio: &str,
    mobility: &str,
    mean_bps: u64,
    length_ms: u64,
    seed: u64,
) -> PyResult<Vec<(u64, u64)>> {
    engine::radio_course(radio, mobility, mean_bps, length_ms, seed).map_err(PyValueError::new_err)
}

#[pyfunction]
pub fn radio_trace(
    radio: &str,
    mobility: &str,
    mean_bps: u64,
    length_ms: u64,
    seed: u64,
) -> PyResult<String> {
    engine::radio_trace(radio, mobility, mean_bps, length_ms, seed).map_err(PyValueError::new_err)
}
