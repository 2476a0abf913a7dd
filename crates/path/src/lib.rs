//! What lies between the hosts of a run, and the plan that says so. The simulator drives it with virtual
//! time and packets of a few words, the emulator with real time and real frames: both are made from the
//! same plan, by the same code.
//!
//! | module | what |
//! | --- | --- |
//! | [`plan`] | what an engine runs: every quantity absolute, explicit and an integer |
//! | [`build`] | links, routes and their random streams, made from a plan |
//! | [`memory`] | what the buffers of a socket may grow to |
//! | [`network`] | one direction: every flow's route, and the links that routes share |
//! | [`counts`] | what became of the packets of a flow |
//! | [`route`] | what a packet of one flow meets, in order |
//! | [`line`] | delays that routes share |
//! | [`link`] | a queue and its rate, and what passed through it |
//! | [`timeline`] | who wants to be woken when |
//! | [`histogram`] | counts of times by size |
//! | [`waiting`] | how long the head of a queue has waited, over time |
//! | [`probes`] | what became of the probes of a series |
//! | [`varied`] | delay as netem has it: random, with packets that skip it, in slots |
//! | [`totals`] | what links and flows counted, as results are made from it |
//!
//! Nothing here owns a clock, a thread or a socket: calls take `now`, in order.

pub mod build;
pub mod counts;
pub mod histogram;
pub mod line;
pub mod link;
pub mod memory;
pub mod network;
pub mod plan;
pub mod probes;
pub mod route;
pub mod timeline;
pub mod totals;
pub mod varied;
pub mod waiting;

pub use plan::{Plan, PlanError};
