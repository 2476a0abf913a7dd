//! A simplified QUIC: sender and receiver of one connection with one stream.
//!
//! STREAM, STOP_WAITING and ACK frames over datagrams, as in Zhang's simulations; loss recovery as in
//! RFC 9002. The controllers are the ones of TCP and see the same socket, in packets. What is left out
//! is listed in `docs/models/quic.md`.

pub mod arrivals;
pub mod config;
pub mod cut;
pub mod delivered;
mod ecn;
mod episode;
mod pacer;
mod poll;
mod prr;
pub mod ranges;
pub mod receiver;
mod rtt;
pub mod sender;
pub mod sent;
mod thresholds;
mod timer;

pub use arrivals::Arrivals;
pub use config::Config;
pub use cut::Cut;
pub use receiver::{Receiver, ReceiverStats};
pub use sender::Sender;
