//! What the engine runs: every quantity absolute, explicit and an integer. `python/dumbbell/plan.py`
//! makes it from what a person writes; `docs/plan.md` is its reference.

use cca::{Controller, Modules, SelectError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// The queue and link that all flows share.
    pub bottleneck: Bottleneck,
    /// The end hosts.
    pub host: Host,
    /// The flows, in the order of the scenario.
    pub flows: Vec<Flow>,
    /// What to keep.
    pub record: Record,
}

/// The shared link.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Bottleneck {
    /// Wire rate, bit/s; with `steps` the first of them.
    pub rate_bps: u64,
    /// How the rate changes: (ns, bit/s), the first at 0; empty for a constant rate.
    #[serde(default)]
    pub steps: Vec<(u64, u64)>,
    /// When the steps begin anew, ns; `null` for never.
    #[serde(default)]
    pub repeat_ns: Option<u64>,
    /// Depth of the token bucket, bytes.
    pub burst_bytes: u64,
    /// The queue in front of it.
    pub qdisc: Qdisc,
}

/// The bottleneck's queue discipline.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Qdisc {
    /// Drop tail; exactly one limit is set.
    Fifo {
        /// Limit in wire bytes.
        limit_bytes: Option<u64>,
        /// Limit in packets.
        limit_packets: Option<u64>,
    },
}

/// The end hosts of every flow.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Kernel tick, 1/s.
    pub hz: u32,
    /// Sender's queue discipline.
    pub qdisc: HostQdisc,
    /// Autosized bursts.
    pub tso: bool,
    /// The receiver merges segments.
    pub gro: bool,
    /// Senders ask for ECN.
    pub ecn: bool,
    /// Receive buffer at most, bytes; 0: large enough for anything.
    pub rcvbuf_bytes: u64,
    /// Send buffer at most, bytes; 0: large enough for anything.
    pub sndbuf_bytes: u64,
    /// Receivers may delay acknowledgements.
    pub delayed_ack: bool,
    /// Hosts do not know each other's link addresses yet: the first packet of a flow waits for ARP,
    /// which crosses the path's delay once each way (the default; a fresh testbed is so).
    #[serde(default = "cold")]
    pub arp: bool,
}

fn cold() -> bool {
    true
}

/// Sender's queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostQdisc {
    /// Paces by departure time.
    Fq,
    /// Does not pace.
    Pfifo,
}

/// One flow.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Congestion controller.
    pub cca: String,
    /// Its parameters, where they differ from the defaults.
    pub params: BTreeMap<String, i64>,
    /// Two-way propagation delay, ns.
    pub rtt_ns: u64,
    /// Probability of random loss in the data direction, 10^-9.
    pub loss_ppb: u64,
    /// Random delay in the data direction.
    pub jitter: Option<Jitter>,
    /// When the connection opens, ns.
    pub start_ns: u64,
    /// When the application closes, ns; at most the duration.
    pub stop_ns: u64,
    /// Bytes to transfer; `null` for as much as possible.
    pub size_bytes: Option<u64>,
    /// Upper bound of the pacing rate, bit/s of payload.
    pub max_rate_bps: Option<u64>,
}

/// Random delay of data packets.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Jitter {
    /// Uniform around the one-way delay.
    Uniform {
        /// Half width, ns.
        spread_ns: u64,
        /// Packets may overtake each other.
        reorder: bool,
    },
    /// Normal around the one-way delay.
    Gaussian {
        /// Standard deviation, ns.
        stddev_ns: u64,
        /// Packets may overtake each other.
        reorder: bool,
    },
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
    #[error("flows[{flow}].{}: {source}", key_of(.source))]
    Controller {
        /// Index of the flow.
        flow: usize,
        /// What is wrong.
        source: SelectError,
    },
}

fn key_of(error: &SelectError) -> &'static str {
    match error {
        SelectError::Param(_) => "params",
        _ => "cca",
    }
}

fn check(ok: bool, key: &str, got: impl ToString, wanted: &str) -> Result<(), PlanError> {
    if ok {
        return Ok(());
    }
    Err(PlanError::Value { key: key.into(), got: got.to_string(), wanted: wanted.into() })
}

impl Plan {
    /// Parses and checks a plan whose flows use the built-in controllers.
    ///
    /// # Errors
    /// When it is not a plan, or a value is out of range.
    pub fn from_json(text: &str) -> Result<Plan, PlanError> {
        Self::from_json_with(text, &Modules::new())
    }

    /// Parses and checks a plan; its controllers are looked for in `modules`.
    ///
    /// # Errors
    /// When it is not a plan, or a value is out of range.
    pub fn from_json_with(text: &str, modules: &Modules) -> Result<Plan, PlanError> {
        let plan: Plan = serde_json::from_str(text)?;
        plan.check(modules)?;
        Ok(plan)
    }

    fn check(&self, modules: &Modules) -> Result<(), PlanError> {
        check(
            (1..=DURATION_MAX_NS).contains(&self.duration_ns),
            "duration_ns",
            self.duration_ns,
            "1 to one day",
        )?;
        check(self.sample_ns >= 1_000, "sample_ns", self.sample_ns, "at least 1000 (1 us)")?;
        check(
            (1_000..=1_000_000_000_000).contains(&self.bottleneck.rate_bps),
            "bottleneck.rate_bps",
            self.bottleneck.rate_bps,
            "1000 to 10^12",
        )?;
        check(
            self.bottleneck.burst_bytes >= 1514,
            "bottleneck.burst_bytes",
            self.bottleneck.burst_bytes,
            "at least 1514, one frame",
        )?;
        let Qdisc::Fifo { limit_bytes, limit_packets } = self.bottleneck.qdisc;
        check(
            limit_bytes.is_some() != limit_packets.is_some(),
            "bottleneck.qdisc",
            "both or none",
            "exactly one of limit_bytes and limit_packets",
        )?;
        check(
            limit_bytes.is_none_or(|b| b >= 1514),
            "bottleneck.qdisc.limit_bytes",
            limit_bytes.unwrap_or(0),
            "at least 1514, one frame",
        )?;
        check(
            limit_packets.is_none_or(|p| p >= 1),
            "bottleneck.qdisc.limit_packets",
            0,
            "at least 1",
        )?;
        check(
            (1..=1000).contains(&self.host.hz) && 1000 % self.host.hz == 0,
            "host.hz",
            self.host.hz,
            "a divisor of 1000",
        )?;
        check(
            !self.flows.is_empty() && self.flows.len() <= 100_000,
            "flows",
            self.flows.len(),
            "1 to 100000 flows",
        )?;
        self.flows.iter().enumerate().try_for_each(|(i, f)| self.check_flow(i, f, modules))
    }

    fn check_flow(&self, i: usize, f: &Flow, modules: &Modules) -> Result<(), PlanError> {
        let key = |name: &str| format!("flows[{i}].{name}");
        check(f.rtt_ns <= 60_000_000_000, &key("rtt_ns"), f.rtt_ns, "at most 60 s")?;
        check(f.loss_ppb <= 1_000_000_000, &key("loss_ppb"), f.loss_ppb, "at most 10^9")?;
        check(f.start_ns < f.stop_ns, &key("start_ns"), f.start_ns, "before stop_ns")?;
        check(f.stop_ns <= self.duration_ns, &key("stop_ns"), f.stop_ns, "at most duration_ns")?;
        check(f.size_bytes != Some(0), &key("size_bytes"), 0, "at least 1")?;
        check(
            f.size_bytes.is_none_or(|s| s < 1 << 42),
            &key("size_bytes"),
            f.size_bytes.unwrap_or(0),
            "less than 4 TiB",
        )?;
        check(
            f.max_rate_bps.is_none_or(|r| r >= 8),
            &key("max_rate_bps"),
            f.max_rate_bps.unwrap_or(0),
            "at least 8 bit/s",
        )?;
        modules.check(&f.cca, &f.params).map_err(|source| PlanError::Controller { flow: i, source })
    }

    /// The controller of flow `i`.
    pub(crate) fn controller(&self, i: usize, modules: &Modules) -> Result<Controller, PlanError> {
        let flow = &self.flows[i];
        modules
            .controller(&flow.cca, &flow.params)
            .map_err(|source| PlanError::Controller { flow: i, source })
    }
}
