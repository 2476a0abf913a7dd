//! Controllers in the running kernel, for Python.

use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::interruptible::interruptible;

create_exception!(
    _native,
    KernelError,
    PyRuntimeError,
    "The kernel has not got, or not changed, a controller: (text, whether the caller's input is wrong, the unknown name \
     and the names that exist, or None)."
);

fn to_python(error: bpf::Error) -> PyErr {
    let unknown = error.unknown().map(|(name, known)| (name.to_owned(), known.to_vec()));
    KernelError::new_err((error.to_string(), error.is_input(), unknown))
}

type Params = Vec<(String, String)>;

/// A controller that this process holds; see the stub.
#[pyclass(frozen)]
pub struct KernelController {
    name: String,
    kernel_name: String,
    renewed: Vec<String>,
    loaded: Mutex<Option<bpf::Loaded>>,
}

impl KernelController {
    fn take(&self) -> Option<bpf::Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl KernelController {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    #[getter]
    fn renewed(&self) -> Vec<String> {
        self.renewed.clone()
    }

    fn keep(&self, py: Python<'_>) -> PyResult<()> {
        let loaded = self.take();
        py.detach(|| loaded.map_or(Ok(()), bpf::Loaded::keep)).map_err(to_python)
    }

    fn unload(&self, py: Python<'_>) {
        let loaded = self.take();
        py.detach(|| drop(loaded));
    }
}

/// Registers a controller, built in or of a C file.
#[pyfunction]
#[pyo3(signature = (source, params, *, numbered, name=None))]
pub fn kernel_load(
    py: Python<'_>,
    source: &str,
    params: Params,
    numbered: bool,
    name: Option<&str>,
) -> PyResult<KernelController> {
    let is_file = Path::new(source).extension().is_some_and(|extension| extension == "c");
    let loaded = interruptible(py, |goes_on| {
        let object = match is_file {
            true => bpf::Object::compile_while(Path::new(source), goes_on),
            false => bpf::Object::find(source),
        };
        let name = match (name, numbered) {
            (Some(name), _) => bpf::Name::As(name),
            (None, true) => bpf::Name::Numbered,
            (None, false) => bpf::Name::Own,
        };
        bpf::load(&object?, &params, name)
    })?;
    let loaded = loaded.map_err(to_python)?;
    // An interrupt that came meanwhile raises here, and drops it.
    py.check_signals()?;
    let (name, kernel_name) = (loaded.name().to_owned(), loaded.kernel_name().to_owned());
    let renewed = loaded.renewed().to_vec();
    Ok(KernelController { name, kernel_name, renewed, loaded: Mutex::new(Some(loaded)) })
}

/// The compiler's error for a source of one's own that BPF does not take; see the stub.
#[pyfunction]
pub fn kernel_refusal(py: Python<'_>, source: PathBuf) -> PyResult<Option<String>> {
    let compiled = interruptible(py, |goes_on| bpf::Object::compile_while(&source, goes_on))?;
    Ok(match compiled {
        Ok(_) | Err(bpf::Error::NoClang { .. }) => None,
        Err(error) => Some(error.to_string()),
    })
}

/// Names of the controllers that are built in for BPF, and the kernel's for them.
#[pyfunction]
pub fn kernel_built_in() -> Vec<(String, String)> {
    bpf::Object::built_in().map(|name| (name.to_owned(), cca::kernel_name(name))).collect()
}

/// Name, the kernel's name, and whether it is kept, of the controllers that are loaded.
#[pyfunction]
pub fn kernel_loaded() -> PyResult<Vec<(String, String, bool)>> {
    bpf::loaded().map_err(to_python)
}

/// The kernel's names whose pins a process that was killed has left.
#[pyfunction]
pub fn kernel_left_over() -> Vec<String> {
    bpf::left_over()
}

/// Loaded controllers with their sockets, as a JSON list.
#[pyfunction]
#[pyo3(signature = (name=None))]
pub fn kernel_status(py: Python<'_>, name: Option<&str>) -> PyResult<String> {
    json(&py.detach(|| bpf::status(name)).map_err(to_python)?)
}

/// Changes parameters of a loaded controller.
#[pyfunction]
pub fn kernel_set(name: &str, params: Params) -> PyResult<()> {
    bpf::set(name, &params).map_err(to_python)
}

/// Takes a controller away; how things stood just before, as JSON.
#[pyfunction]
pub fn kernel_unload(py: Python<'_>, name: &str) -> PyResult<String> {
    json(&py.detach(|| bpf::unload(name)).map_err(to_python)?)
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}
