//! Congestion controllers in the style of the Linux kernel, as controllers of [quinn](quinn_proto).
//!
//! A [`Factory`] goes into quinn's `TransportConfig`; each connection then has its own controller, which sees the
//! socket that the kernel would show it: rate samples, rounds, states of recovery.
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::Arc;
//!
//! let bbr = quinn_cca::Factory::find("bbr2", BTreeMap::new()).unwrap();
//! let mut transport = quinn_proto::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(bbr));
//! ```
//!
//! What quinn's interface (0.11) cannot carry is listed in the README of this crate.

mod adapter;
mod flight;
mod state;
#[cfg(test)]
mod tests;

/// The program of the README is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use adapter::{Adapter, Factory, Observer, Pacing, Unsuitable, View};
pub use state::INITIAL_WINDOW;
