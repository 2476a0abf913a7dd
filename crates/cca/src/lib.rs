//! The congestion controllers of `cca/`, compiled natively, with a safe handle.
//!
//! `Module` says what a controller is; `Controller` is a module with the parameters of one flow, whose
//! hooks the transport calls with the flow's `TcpSock`. The C sources see the same memory under the
//! kernel's names (`cca/include/kernel.h`). All `unsafe` of calling them is in this crate.
//!
//! ```
//! use std::collections::BTreeMap;
//! use cca::{Controller, Module, TcpSock};
//!
//! let reno = Controller::new(Module::find("reno").unwrap(), &BTreeMap::new()).unwrap();
//! let mut sk = TcpSock::new();
//! reno.attach(&mut sk, 1000, 1);
//! reno.init(&mut sk);
//! sk.is_cwnd_limited = 1;
//! reno.cong_avoid(&mut sk, 0, 10);
//! assert_eq!(sk.snd_cwnd, 20);
//! ```

mod agent;
mod compile;
mod complaint;
mod controller;
mod custom;
mod embedded;
mod guard;
mod job;
mod lacking;
#[cfg(unix)]
mod library;
mod module;
mod modules;
mod names;
#[cfg(not(unix))]
mod no_unix;
mod policy;
#[cfg(unix)]
mod process;
mod raw;
mod rules;
mod running;
mod sample;
mod sock;
mod struct_ops;
#[cfg(unix)]
mod watch;

#[cfg(not(unix))]
use no_unix::{library, process, watch};

pub use agent::{Agent, Reading, STATE};
pub use compile::{compile, compile_while, includes_cca_h};
pub use complaint::explained;
pub use controller::{Controller, ParamError};
pub use custom::{Custom, CustomMaker};
pub use embedded::{write_headers, write_sources};
pub use guard::take_warnings;
pub use job::{BuildError, Built, Lacking};
pub use library::LoadError;
pub use module::{Module, Param, Preset, Variable};
pub use modules::{Modules, SelectError};
pub use names::{kernel_name, prefixed_name, shown};
pub use policy::{Activation, Layer, Policy};
pub use process::{read_source, run as run_bounded, GoesOn, Said};
pub use raw::interned;
pub use sample::{
    AckSample, CaEvent, CaInfo, CaState, LostBurst, RateSample, CA_ACK_ECE, CA_ACK_SLOWPATH,
    CA_ACK_WIN_UPDATE, FLAG_ECE,
};
pub use sock::{
    minmax_running_min, MinMax, MinMaxSample, TcpSock, SK_PACING_FQ, SK_PACING_NEEDED,
    SK_PACING_NONE, TCP_ECN_MODE_ACCECN, TCP_ECN_OK, UNLIMITED_RATE,
};
pub use struct_ops::is_program;
/// A variable of [`Module::variables`] that is not set (`CCA_UNSET`).
pub const UNSET: i64 = i64::MIN;
pub use units::{BOOT, INFINITE_SSTHRESH};
#[cfg(unix)]
pub use watch::{watch, Report, REPORT_MARK};

#[cfg(test)]
mod layout;
