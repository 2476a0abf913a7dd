//! Transports as state machines: events and `now` go in, packets and deadlines come out. No clock,
//! no thread, no socket.

pub mod app;
pub mod common;
pub mod quic;
pub mod tcp;
