//! [quinn](quinn_proto) in virtual time: both ends of a connection as state machines without a clock or a socket.
//!
//! quinn-proto does no input or output itself. [`Pair`] gives it the times and datagrams of the simulator, a crypto
//! session without secrets, connection IDs that are counted and seeds, so that a run gives the same bytes every time.
//!
//! ```text
//!   Pair: client (an endpoint, its connection) -- datagrams, kept here, named by a Ticket on the path --> server
//! ```
//!
//! The driver calls [`Pair::start`], hands over what arrives ([`Pair::on_datagram`], [`Pair::on_answer`]), wakes each
//! end at its deadline, and after each of these takes what leaves ([`Pair::depart`], [`Pair::answer`]) until there is
//! nothing more.

mod clock;
mod config;
mod crypto;
mod datagrams;
pub mod given;
mod host;
pub mod packets;
mod pair;
pub mod plans;
mod receiver;
mod sender;
mod watch;

pub use config::{Cca, Config, Made, Own};
pub use datagrams::Ticket;
pub use host::Outgoing;
pub use pair::{Departure, Pair};
pub use quinn_cca::{Factory, Unsuitable};
pub use receiver::Receiver;
pub use sender::{Happened, Sample, Sender, Write};
pub use watch::Seen;
