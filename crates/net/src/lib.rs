//! Packets, links, impairments and queue disciplines: values that take `now` and return what
//! happened. They own no clock, no thread and no socket, so the simulator drives them with virtual
//! time and the path emulator with the real one.

pub mod bucket;
pub mod correlated;
pub mod crossing;
pub mod delay;
pub mod fetch;
pub mod fifo;
pub mod frame;
pub mod generate;
pub mod host;
pub mod impair;
pub mod link;
pub mod lists;
pub mod packet;
pub mod qdisc;
pub mod quic;
pub mod ring;
pub mod rng;
pub mod schedule;
pub mod settings;
pub mod trace;

pub use crossing::Crossing;
pub use frame::{ecn, Frame};
pub use packet::{flags, Ack, AckBody, AckKind, Packet, TcpAck, REQUEST_BYTES};
