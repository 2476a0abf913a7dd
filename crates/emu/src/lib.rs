//! The path of a plan in real time, between real hosts: a user-space router with the simulator's own links,
//! impairments, schedules, traces and queue disciplines, between two network namespaces with the kernel's TCP.
//!
//! ```text
//!  namespace of the senders      this process                                namespace of the receivers
//!  iperf3 -c 10.2.0.i  <-- TUN --> path: delay, loss, queue, token bucket <-- TUN --> iperf3 -s -B 10.2.0.i
//!  from 10.1.0.i:50000                 <-- delay <-- acknowledgements
//! ```
//!
//! A quinn flow has UDP sockets instead of iperf3 processes; threads of this process run its event loops.
//!
//! Namespaces have no name and devices are not persistent: the kernel removes them when this process ends,
//! however it ends, and kills the processes of the flows.
//!
//! The loop, the sampler, the schedule of the flows and the report touch no clock, device or process themselves:
//! they take a [`clock::Clock`], [`router::Devices`], [`diag::SocketSource`] and [`flows::Client`], which tests replace.

#![cfg(target_os = "linux")]

mod classify;
mod clock;
mod control;
mod diag;
mod flows;
mod forward;
mod frame;
mod gro;
mod gso;
mod header;
mod hosts;
mod memory;
mod netns;
mod pidns;
mod pool;
mod probes;
mod quinn;
mod report;
mod rest;
mod router;
mod run;
mod sampler;
mod shell;
#[cfg(test)]
mod simulated;
mod source;
mod traffic;
mod tun;
mod wire;

pub use flows::Progress;
pub use netns::enter_user_namespace;
pub use pidns::SignalForwarding;
pub use report::{Emulator, Outcome};
pub use run::{check, run};
pub use sampler::{CcaSnapshot, ReadControllers};
pub use shell::{shell, FarEnd, Shell};

use std::io;

/// Why a run or a shell failed.
#[derive(Debug, thiserror::Error)]
pub enum EmuError {
    /// No engine can run the plan.
    #[error(transparent)]
    Plan(#[from] path::PlanError),
    /// Real hosts cannot run the plan.
    #[error("{key}: got {got}, wanted {wanted} for real hosts")]
    Unsupported { key: String, got: String, wanted: String },
    /// The tables cannot be written.
    #[error(transparent)]
    Record(#[from] record::RecordError),
    /// The system refused something.
    #[error("{what}: {source}")]
    System { what: String, source: io::Error },
    /// A program failed.
    #[error("{program}: {said}")]
    Program { program: String, said: String },
    /// The path came to hold more than the plan allows.
    #[error(
        "more copies of packets than {limit} bytes of memory or the events allow (at {} s); limits.memory and limits.events \
         raise that", .at.as_ns() as f64 / 1e9
    )]
    Limit { limit: u64, at: units::Time },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// Adds to an error of the system what was attempted.
trait Context<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, EmuError>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, EmuError> {
        self.map_err(|error| EmuError::System { what: what(), source: error.into() })
    }
}
