//! The rows of a run for a Python function, while the run goes on.

use pyo3::prelude::*;
use record::Watch;

/// A function that gets rows, and where the run leaves them; nothing where there is no function.
pub struct Watched(Option<(Py<PyAny>, Watch)>);

impl Watched {
    pub fn new(call: Option<Py<PyAny>>) -> Watched {
        Watched(call.map(|call| (call, Watch::default())))
    }

    /// What the run is to fill.
    pub fn rows(&self) -> Option<Watch> {
        self.0.as_ref().map(|(_, watch)| watch.clone())
    }

    /// Hands over what there is since the last call.
    pub fn tell(&self, py: Python<'_>) -> PyResult<()> {
        let Some((call, watch)) = &self.0 else { return Ok(()) };
        match engine::rows(watch) {
            Some(rows) => call.call1(py, (rows,)).map(|_| ()),
            None => Ok(()),
        }
    }
}

/// Calls the progress function and lets signals in.
pub fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, at: u64, packets: u64) -> PyResult<()> {
    if let Some(progress) = progress {
        progress.call1(py, (at, packets))?;
    }
    py.check_signals()
}
