//! Why a run or a shell did not come about.

use std::io;

/// See the module documentation.
#[derive(Debug, thiserror::Error)]
pub enum EmuError {
    /// The plan cannot be run by any engine.
    #[error(transparent)]
    Plan(#[from] path::PlanError),
    /// The plan cannot be run by this one.
    #[error("{key}: got {got}, wanted {wanted} for real hosts")]
    Unsupported { key: String, got: String, wanted: String },
    /// The tables cannot be written.
    #[error(transparent)]
    Record(#[from] record::RecordError),
    /// The system refused something.
    #[error("{what}: {source}")]
    System { what: String, source: io::Error },
    /// A program did not do what it should.
    #[error("{program}: {said}")]
    Program { program: String, said: String },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// Says what was tried when the system refused it.
pub(crate) trait Tried<T> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, EmuError>;
}

impl<T> Tried<T> for io::Result<T> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, EmuError> {
        self.map_err(|source| EmuError::System { what: what(), source })
    }
}
