//! The simulated Linux-like TCP: sender and receiver of one connection.
//!
//! Rules are those of Linux 6.12; each file names the kernel functions it follows. The model is one
//! direction of data, full segments but for the ends of what is written, SACK and timestamps on, window scaling large enough.
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

pub use config::{HostConfig, HostQdisc};
pub use ecn::{EcnMode, Feedback};
pub use host_queue::Burst;
pub use lengths::Lengths;
pub use receiver::Receiver;
pub use sender::Sender;
