//! What TCP and QUIC share: the socket that controllers see, its clocks, the stream to be sent, counters, and the
//! delivery-rate sample.

pub mod clock;
pub mod limited;
pub mod rate;
pub mod socket;
pub mod stats;
pub mod stream;

pub use limited::LimitedBy;
pub use rate::Stamps;
pub use socket::Socket;
pub use stats::{LossTrigger, SenderEvent, SenderStats};
pub use stream::{Conn, Stream};
