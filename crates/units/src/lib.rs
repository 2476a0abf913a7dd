//! The quantities that everything else is written in. All are integers: a run must give the same
//! bytes on every machine, so floats never decide anything here.
//!
//! | type | unit | range |
//! | --- | --- | --- |
//! | [`Time`] | nanoseconds since the start of the run | 584 years |
//! | [`Span`] | nanoseconds between two times | 584 years |
//! | [`Rate`] | bits per second | 18 Ebit/s |
//! | [`Bytes`] | bytes | 18 EB |

mod divisor;
mod rate;
mod time;

pub use divisor::Divisor;
pub use rate::{Bytes, Rate};
pub use time::{Span, Time, BOOT};

/// `ssthresh` of a connection that has none, segments (TCP_INFINITE_SSTHRESH, include/net/tcp.h).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
