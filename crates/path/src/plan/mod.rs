//! What the engine runs: every quantity absolute, explicit and an integer. `python/dumbbell/plan/make.py`
//! makes it from what a person writes; `docs/plan.md` is its reference.

mod flow;
mod link;
mod probe;
mod stage;
mod traffic;

pub use flow::{
    CodePoint, Direction, Duration, Flow, FlowHost, Receiver, Transport, Workload, QUINN_PREFIX,
};
pub use link::{Link, Trace};
pub use net::host::{EcnMode, HostQdisc, Nic};
pub use net::qdisc::any::Config as Qdisc;
pub use probe::Probe;
pub use stage::{Delay, LinkNumber, Loss, LossWindow, LossWindows, Numbers, ShareSteps, Stage};
pub use traffic::Traffic;

use crate::network::Bounds;
use net::crossing::PROBE_BYTES;
use net::settings::Refused;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Bytes of a full frame.
const FRAME_BYTES: u64 = 1514;
/// Bytes of an acknowledgement with timestamps and three SACK blocks.
const ACK_BYTES: u64 = 94;
/// Longest run, ns: one day of simulated time.
const DURATION_MAX_NS: u64 = 86_400_000_000_000;

/// One run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name of the scenario.
    pub name: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Length of the run, ns.
    pub duration_ns: u64,
    /// Interval of the sample and queue tables, ns.
    pub sample_ns: u64,
    /// The part of the run that readers of the result look at; engines run and record all of it.
    #[serde(default)]
    pub measure: Option<Window>,
    /// Links of the way down by their number; 0 is the bottleneck.
    pub links: Vec<Link>,
    /// Links of the way up by their number: of the acknowledgements of flows that go down, and of the data of those
    /// that go up.
    #[serde(default)]
    pub ack_links: Vec<Link>,
    /// The end hosts.
    pub host: Host,
    /// The flows, in the order of the scenario.
    pub flows: Vec<Flow>,
    /// Series of probes, in the order of the scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probe>,
    /// What to keep.
    pub record: Record,
    /// What the run may cost.
    #[serde(default)]
    pub limits: Limits,
}

/// What a run may cost before it ends itself with an error.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Events per simulated second.
    pub events_per_s: u64,
    /// Memory of packets under way and of messages, bytes.
    pub memory_bytes: u64,
}

impl Limits {
    /// Memory of a packet under way, bytes: its place on the path, and what its sender keeps of it until it is
    /// acknowledged, with the slack that growing rings have. Measured with one to three million packets of 60 flows in
    /// flight: 137 to 176 of TCP, 146 of QUIC.
    pub const PACKET_BYTES: u64 = 176;

    /// What each network may come to within one step, between two checks of the whole.
    pub fn of_network(&self) -> Bounds {
        Bounds { packets: self.memory_bytes / Self::PACKET_BYTES, copies_per_s: self.events_per_s }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { events_per_s: 100_000_000, memory_bytes: 4 << 30 }
    }
}

/// A part of a run.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Its begin, ns.
    pub from_ns: u64,
    /// Its end, ns; at most the duration.
    pub to_ns: u64,
}

/// The end hosts of every flow that has none of its own.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Kernel tick, 1/s.
    pub hz: u32,
    /// Sender's queue discipline.
    pub qdisc: HostQdisc,
    /// Autosized bursts.
    pub tso: bool,
    /// What becomes of these bursts when they leave the sender.
    #[serde(default)]
    pub nic: Nic,
    /// The receiver merges segments.
    pub gro: bool,
    /// What connections agree on.
    pub ecn: EcnMode,
    /// Receive buffer at most, bytes; 0: large enough for anything.
    pub rcvbuf_bytes: u64,
    /// Send buffer at most, bytes; 0: large enough for anything.
    pub sndbuf_bytes: u64,
    /// Receivers may delay acknowledgements.
    pub delayed_ack: bool,
    /// Hosts do not know each other's link addresses yet: the first packet of a flow waits for ARP,
    /// which crosses the path's delay once each way, as on a fresh testbed. Not the default: on a wide-area path
    /// neighbours know each other.
    #[serde(default)]
    pub arp: bool,
    /// A segment that ends a message is sent at once (TCP_NODELAY).
    #[serde(default = "yes")]
    pub nodelay: bool,
    /// The window restarts after an idle time (tcp_slow_start_after_idle).
    #[serde(default = "yes")]
    pub slow_start_after_idle: bool,
    /// Window at the start of a connection, segments (`initcwnd` of the route).
    #[serde(default = "initial_window", skip_serializing_if = "is_usual_window")]
    pub initial_window: u32,
    /// All receivers are on one host, as `cake`'s isolation sees it; otherwise each has its own.
    #[serde(default = "yes")]
    pub shared_receiver: bool,
    /// All hosts are on one processor, so that timers that may be late fire together (see [`crate::timeline`]);
    /// otherwise each has its own.
    #[serde(default = "yes")]
    pub shared_processor: bool,
    /// What makes the flows.
    #[serde(default)]
    pub traffic: Traffic,
}

fn yes() -> bool {
    true
}

/// Linux's window at the start, segments (`TCP_INIT_CWND`), and that of QUIC (RFC 9002 section 7.2).
const fn initial_window() -> u32 {
    10
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_usual_window(segments: &u32) -> bool {
    *segments == initial_window()
}

/// A window of the start: more than 10,000 segments (15 MB) are what no route was seen to give.
fn check_initial_window(key: &str, segments: u32) -> Result<(), PlanError> {
    within(1..=10_000, key, segments.into())
}

/// Receive buffer before any tuning where the plan sets none, bytes.
const RCVBUF_LARGE: u64 = 16 << 20;
/// Linux's default receive buffer, bytes (`tcp_rmem[1]`).
const RCVBUF_DEFAULT: u64 = 131_072;

impl Host {
    /// The hosts of a flow that has settings of its own.
    fn of(&self, own: &FlowHost) -> Host {
        Host {
            hz: own.hz.unwrap_or(self.hz),
            qdisc: own.qdisc.unwrap_or(self.qdisc),
            tso: own.tso.unwrap_or(self.tso),
            nic: own.nic.unwrap_or(self.nic),
            gro: own.gro.unwrap_or(self.gro),
            ecn: own.ecn.unwrap_or(self.ecn),
            rcvbuf_bytes: own.rcvbuf_bytes.unwrap_or(self.rcvbuf_bytes),
            sndbuf_bytes: own.sndbuf_bytes.unwrap_or(self.sndbuf_bytes),
            initial_window: own.initial_window.unwrap_or(self.initial_window),
            ..*self
        }
    }

    /// Receive buffer before any tuning, bytes.
    pub fn rcvbuf_initial_bytes(&self) -> u64 {
        match self.rcvbuf_bytes {
            0 => RCVBUF_LARGE,
            most => most.min(RCVBUF_DEFAULT),
        }
    }
}

/// What a run keeps.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// `samples.parquet` gets rows.
    pub samples: bool,
    /// `queue.parquet` gets rows.
    pub queue: bool,
    /// `events.parquet` gets rows.
    pub events: bool,
    /// `trace.pcap` is written.
    pub pcap: bool,
    /// `trace.sqlog` is written; the simulator's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub qlog: bool,
    /// `variables.parquet` is written: variables of controllers when they change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub variables: bool,
    /// `limits.parquet` is written: what limits each flow when.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limits: bool,
    /// On real hosts our own controllers are asked for their state at every sample.
    #[serde(default = "yes")]
    pub states: bool,
}

/// A plan that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Not the JSON of a plan.
    #[error("plan: {0}")]
    Json(#[from] serde_json::Error),
    /// A value out of range.
    #[error("{key}: must be {wanted}, got {got}")]
    Value {
        /// Path of the key in the plan.
        key: String,
        /// What was given.
        got: String,
        /// What is accepted.
        wanted: String,
    },
    /// A controller that does not exist or does not take its parameters.
    #[error("{key}: {said}")]
    Controller {
        /// Path of the key in the plan.
        key: String,
        /// What is wrong.
        said: String,
    },
}

fn check(ok: bool, key: &str, got: impl ToString, wanted: &str) -> Result<(), PlanError> {
    if ok {
        return Ok(());
    }
    Err(PlanError::Value { key: key.into(), got: got.to_string(), wanted: wanted.into() })
}

fn check_hz(key: &str, hz: u32) -> Result<(), PlanError> {
    check((1..=1000).contains(&hz) && 1000 % hz == 0, key, hz, "a divisor of 1000")
}

fn within(range: RangeInclusive<i128>, key: &str, got: u64) -> Result<(), PlanError> {
    let wanted = format!("{} to {}", range.start(), range.end());
    check(range.contains(&i128::from(got)), key, got, &wanted)
}

/// What a part of the plan refuses, at its place.
pub(crate) fn at_key(at: &str, refused: Refused) -> PlanError {
    let Refused { key, got, wanted } = refused;
    let dot = if key.is_empty() { "" } else { "." };
    PlanError::Value { key: format!("{at}{dot}{key}"), got, wanted }
}

impl Plan {
    /// Whether links carry more than data down and acknowledgements up.
    pub fn is_two_way(&self) -> bool {
        !self.probes.is_empty() || self.flows.iter().any(Flow::is_up)
    }

    /// The end hosts of flow `i`.
    pub fn host_of(&self, i: usize) -> Host {
        self.host.of(&self.flows[i].host)
    }

    /// Parses and checks a plan. Controllers are known elsewhere: their names and parameters pass as they are.
    ///
    /// # Errors
    /// When it is not a plan, or a value is out of range.
    pub fn parse(text: &str) -> Result<Plan, PlanError> {
        let plan: Plan = serde_json::from_str(text)?;
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), PlanError> {
        check(
            (1..=DURATION_MAX_NS).contains(&self.duration_ns),
            "duration_ns",
            self.duration_ns,
            "1 to one day",
        )?;
        check(self.sample_ns >= 1_000, "sample_ns", self.sample_ns, "at least 1000 (1 us)")?;
        if let Some(Window { from_ns, to_ns }) = self.measure {
            check(from_ns < to_ns, "measure.from_ns", from_ns, "before measure.to_ns")?;
            check(to_ns <= self.duration_ns, "measure.to_ns", to_ns, "at most duration_ns")?;
        }
        check(!self.links.is_empty(), "links", 0, "at least 1 link")?;
        for (i, link) in self.links.iter().enumerate() {
            link.check(&format!("links[{i}]"), FRAME_BYTES)?;
        }
        for (i, link) in self.ack_links.iter().enumerate() {
            let has_frames = self.flows.iter().any(|flow| flow.has_frames_on(i));
            let largest = match (has_frames, self.probes.is_empty()) {
                (true, _) => FRAME_BYTES,
                (false, false) => PROBE_BYTES,
                (false, true) => ACK_BYTES,
            };
            link.check(&format!("ack_links[{i}]"), largest)?;
        }
        check_hz("host.hz", self.host.hz)?;
        check_initial_window("host.initial_window", self.host.initial_window)?;
        check(
            !self.flows.is_empty() && self.flows.len() <= 100_000,
            "flows",
            self.flows.len(),
            "1 to 100000 flows",
        )?;
        let compact = self.record.pcap && self.flows.iter().any(Flow::is_compact);
        check(!compact, "record.pcap", true, "false: captures have no compact headers")?;
        check(self.probes.len() <= 1_000, "probes", self.probes.len(), "at most 1000")?;
        let (links, ack_links) = (self.links.len(), self.ack_links.len());
        self.probes.iter().enumerate().try_for_each(|(i, probe)| {
            probe.check(&format!("probes[{i}]"), self.duration_ns, links, ack_links)
        })?;
        self.flows.iter().enumerate().try_for_each(|(i, flow)| {
            flow.check(&format!("flows[{i}]"), self.duration_ns, links, ack_links)
        })
    }
}
