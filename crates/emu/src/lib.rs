//! The path of a plan in real time, between real hosts: a user-space router with the simulator's own links,
//! impairments, schedules, traces and queue disciplines, between two network namespaces with the kernel's TCP.
//!
//! ```text
//!  namespace of the senders      this process                                namespace of the receivers
//!  iperf3 -c 10.2.0.i  <-- TUN --> path: delay, loss, queue, token bucket <-- TUN --> iperf3 -s -B 10.2.0.i
//!  from 10.1.0.i:50000                 <-- delay <-- acknowledgements
//! ```
//!
//! Namespaces have no name and devices no persistence: the kernel takes all away when this process ends,
//! however it ends, and processes of the flows are killed with it.

#![cfg(target_os = "linux")]

mod aside;
mod burst;
mod clock;
mod conduct;
mod diag;
mod error;
mod forward;
mod frame;
mod header;
mod hosts;
mod memory;
mod netns;
mod report;
mod room;
mod router;
mod run;
mod sampler;
mod shared;
mod shell;
mod slab;
mod tally;
mod told;
mod traffic;
mod tun;
mod user;

pub use error::EmuError;
pub use report::{Emulator, Outcome};
pub use run::{check, run, Progress};
pub use shell::{shell, FarEnd, Shell};
pub use told::{Ask, Told};
pub use user::enter_user_namespace;
