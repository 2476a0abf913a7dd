//! The simulated Linux-like TCP: sender and receiver of one connection.
//!
//! Rules are those of Linux 6.12; each file names the kernel functions it follows. The model is one
//! direction of data in full segments, except for the end of each write; SACK and timestamps are on, and the
//! window scale is large enough.
//! What is left out is listed in `docs/models/tcp.md`.

mod ack_state;
pub mod config;
mod cwnd_use;
pub mod ecn;
pub mod host_queue;
mod lengths;
pub mod receiver;
mod recovery;
pub mod rtt;
pub mod rtx_queue;
pub mod sender;
mod supply;
pub mod timer;

pub use config::{HostConfig, MSS};
pub use ecn::Feedback;
pub use host_queue::Burst;
pub use lengths::Lengths;
pub use net::host::{EcnMode, HostQdisc};
pub use receiver::Receiver;
pub use sender::Sender;
