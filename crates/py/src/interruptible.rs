//! Work without the GIL that signals end.

use pyo3::prelude::*;

/// Does something that compiles, without the GIL. Every 50 ms signals have their turn; their exception ends it.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    f: impl FnOnce(cca::GoesOn<'_>) -> T + Send,
) -> PyResult<T> {
    let mut interrupt = None;
    let mut goes_on = || {
        interrupt = interrupt.take().or_else(|| Python::attach(|py| py.check_signals()).err());
        interrupt.is_none()
    };
    let done = py.detach(|| f(&mut goes_on));
    interrupt.map_or(Ok(done), Err)
}
