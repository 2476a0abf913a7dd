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
mod limits;
mod push_marks;
pub mod receiver;
mod recovery;
pub mod rtt;
pub mod rtx_queue;
mod send_buffer;
pub mod sender;
mod supply;
pub mod timer;
mod write_queue;

pub use config::{Device, HostConfig, Release, MSS};
pub use ecn::Feedback;
pub use host_queue::Burst;
pub use lengths::Lengths;
pub use limits::LimitedTime;
pub use net::host::{EcnMode, HostQdisc};
pub use receiver::{window_scale, Misconduct, Receiver};
pub use sender::Sender;
