//! Links that drain a queue discipline: at a rate ([`Tbf`]), or by recorded opportunities ([`TraceLink`]).
//! Each is a queue discipline itself, so that who drives one drives all.

pub mod tbf;
pub mod trace_link;

pub use tbf::Tbf;
pub use trace_link::TraceLink;

use crate::frame::Frame;
use crate::qdisc::Qdisc;
use units::Time;

/// A queue discipline that decides when packets leave.
pub trait Link<P: Frame>: Qdisc<P> {
    /// Wire bytes that could leave from `from` until before `to`, were there always any: what
    /// utilisation is measured against.
    fn capacity_bytes(&self, from: Time, to: Time) -> u64;
}

/// When the child's timers want to run. A time by which they did run is about a packet that the child
/// would let go, and the link has no room for that yet.
fn timer_of<P: Frame>(child: &impl Qdisc<P>, timers_ran: Option<Time>) -> Option<Time> {
    child.next_wakeup().filter(|&at| timers_ran.is_none_or(|ran| at > ran))
}
