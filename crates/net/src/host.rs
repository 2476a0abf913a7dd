//! How the end hosts are set, in the words of a plan, which both ends of a transport follow.

use serde::{Deserialize, Serialize};
use units::Span;

/// How long a receiver's network card holds its interrupt back with `gro` (`rx-usecs`; drivers' defaults are 8 to
/// 100 us).
pub const COALESCE: Span = Span::from_us(50);

/// Explicit congestion notification (`tcp_ecn`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EcnMode {
    /// None, unless the controller needs it.
    #[default]
    Off,
    /// RFC 3168, or DCTCP's echo for controllers that need that.
    Classic,
    /// AccECN: counters.
    Accurate,
}

/// Sender's queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostQdisc {
    /// `fq`: holds each packet until its earliest departure time.
    Fq,
    /// `pfifo`: no pacing below TCP; a controller that asks for pacing gets TCP's own timer.
    Pfifo,
    /// None: packets go to the wire as TCP sends them; pacing as for `pfifo`.
    None,
}

/// A sender's network interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Nic {
    /// It cuts super-packets into frames (TSO).
    #[default]
    Physical,
    /// It passes them on as they are, as veth does.
    Virtual,
}
