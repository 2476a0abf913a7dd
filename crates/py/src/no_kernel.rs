//! Instead of kernel.rs where there is no libbpf (not Linux, no headers when this was built, or only the simulator was built):
//! the same names, all of which say so.

use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::path::PathBuf;

create_exception!(
    _native,
    KernelError,
    PyRuntimeError,
    "The kernel has not got, or not changed, a controller: (text, whether the caller's input is wrong)."
);

fn absent<T>() -> PyResult<T> {
    let text = if cfg!(feature = "emulator") {
        "this build cannot load controllers into the kernel: it was made without libelf, zlib and pkg-config \
         (Debian: libelf-dev zlib1g-dev pkg-config), or not on Linux"
    } else {
        "this build only simulates: `make demo` made it, which leaves out what the simulator does not need; \
         `make build` makes the rest"
    };
    Err(KernelError::new_err((text, false)))
}

type Params = Vec<(String, String)>;

/// A controller that this process holds; there is none in this build.
#[pyclass(frozen)]
pub struct KernelController {}

#[pymethods]
impl KernelController {
    #[getter]
    fn name(&self) -> PyResult<String> {
        absent()
    }

    #[getter]
    fn kernel_name(&self) -> PyResult<String> {
        absent()
    }

    #[getter]
    fn renewed(&self) -> PyResult<Vec<String>> {
        absent()
    }

    fn keep(&self) -> PyResult<()> {
        absent()
    }

    fn unload(&self) {}
}

/// Refuses.
#[pyfunction]
#[pyo3(signature = (source, params, *, numbered, name=None))]
#[allow(unused_variables, reason = "Python calls by these names")]
pub fn kernel_load(
    source: &str,
    params: Params,
    numbered: bool,
    name: Option<&str>,
) -> PyResult<KernelController> {
    absent()
}

/// Refuses.
#[pyfunction]
#[allow(unused_variables, reason = "Python calls by these names")]
pub fn kernel_refusal(source: PathBuf) -> PyResult<Option<String>> {
    absent()
}

/// None are.
#[pyfunction]
pub fn kernel_built_in() -> Vec<(String, String)> {
    Vec::new()
}

/// None are.
#[pyfunction]
pub fn kernel_left_over() -> Vec<String> {
    Vec::new()
}

/// Refuses.
#[pyfunction]
pub fn kernel_loaded() -> PyResult<Vec<(String, String, bool)>> {
    absent()
}

/// Refuses.
#[pyfunction]
#[pyo3(signature = (name=None))]
#[allow(unused_variables, reason = "Python calls by these names")]
pub fn kernel_status(name: Option<&str>) -> PyResult<String> {
    absent()
}

/// Refuses.
#[pyfunction]
#[allow(unused_variables, reason = "Python calls by these names")]
pub fn kernel_set(name: &str, params: Params) -> PyResult<()> {
    absent()
}

/// Refuses.
#[pyfunction]
#[allow(unused_variables, reason = "Python calls by these names")]
pub fn kernel_unload(name: &str) -> PyResult<String> {
    absent()
}
