//! Links in a plan: rate, queue discipline, policer.

use super::{check, PlanError};
use serde::{Deserialize, Serialize};

/// A shared link.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What results call it.
    #[serde(default)]
    pub name: String,
    /// Wire rate, bit/s; with `steps` the first of them, with `trace` its mean.
    pub rate_bps: u64,
    /// How the rate changes: (ns, bit/s), the first at 0, 0 bit/s for an outage; empty for a constant
    /// rate.
    #[serde(default)]
    pub steps: Vec<(u64, u64)>,
    /// When the steps begin anew, ns; `null` for never.
    #[serde(default)]
    pub repeat_ns: Option<u64>,
    /// Delivery opportunities instead of a rate.
    #[serde(default)]
    pub trace: Option<Trace>,
    /// Depth of the token bucket, bytes.
    pub burst_bytes: u64,
    /// Packets beyond this rate are refused before they are queued.
    #[serde(default)]
    pub policer: Option<Policer>,
    /// The queue in front of it.
    pub qdisc: Qdisc,
}

/// A Mahimahi trace.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The file.
    pub path: String,
    /// SHA-256 of its content, so that a plan says what it ran on.
    #[serde(default)]
    pub sha256: String,
    /// Wire bytes that an opportunity carries.
    pub opportunity_bytes: u64,
    /// The trace begins anew at its end; otherwise the link then is dead.
    pub repeat: bool,
}

/// A token bucket that refuses what exceeds it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Rate at which tokens come, bit/s.
    pub rate_bps: u64,
    /// Most that passes at once, wire bytes.
    pub burst_bytes: u64,
    /// Marks where it can instead of dropping.
    pub mark: bool,
}

/// A queue discipline; what a key means is said where the discipline is (`crates/net/src/qdisc`).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Qdisc {
    /// Drop tail or head; exactly one limit is set.
    Fifo {
        /// Limit in wire bytes.
        limit_bytes: Option<u64>,
        /// Limit in packets.
        limit_packets: Option<u64>,
        /// The oldest make room.
        #[serde(default)]
        head_drop: bool,
    },
    /// RFC 8289.
    Codel {
        limit_packets: u64,
        target_ns: u64,
        interval_ns: u64,
        ecn: bool,
        ce_threshold_ns: Option<u64>,
    },
    /// RFC 8290.
    FqCodel {
        limit_packets: u64,
        flows: u32,
        quantum_bytes: u64,
        memory_limit_bytes: u64,
        drop_batch: u32,
        target_ns: u64,
        interval_ns: u64,
        ecn: bool,
        ce_threshold_ns: Option<u64>,
        ce_threshold_selector: u8,
        ce_threshold_mask: u8,
    },
    /// Random early detection.
    Red {
        limit_bytes: u64,
        min_bytes: Option<u64>,
        max_bytes: Option<u64>,
        avpkt_bytes: u64,
        burst_packets: Option<u64>,
        probability_ppb: u64,
        bandwidth_bps: u64,
        ecn: bool,
        harddrop: bool,
        nodrop: bool,
        adaptive: bool,
        gentle: bool,
    },
    /// RFC 8033.
    Pie {
        limit_packets: u64,
        target_ns: u64,
        tupdate_ns: u64,
        alpha: u32,
        beta: u32,
        ecn: bool,
        ecn_limit_percent: u32,
        bytemode: bool,
        dq_rate_estimator: bool,
    },
    /// CAKE. With `bandwidth_bps` it shapes by itself and the link's rate and burst are not used.
    Cake {
        bandwidth_bps: Option<u64>,
        rtt_ns: u64,
        diffserv: Diffserv,
        isolation: Isolation,
        overhead_bytes: Option<i32>,
        mpu_bytes: u32,
        framing: Framing,
        ack_filter: AckFilter,
        ingress: bool,
        wash: bool,
        memory_limit_bytes: Option<u64>,
    },
    /// RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2 {
        limit_packets: u64,
        target_ns: u64,
        tupdate_ns: u64,
        alpha: u32,
        beta: u32,
        coupling: u8,
        step_ns: u64,
        c_protection_percent: u8,
        drop_overload: bool,
        drop_early: bool,
    },
    /// Fair queueing with pacing.
    Fq {
        limit_packets: u64,
        flow_limit_packets: u32,
        quantum_bytes: u32,
        initial_quantum_bytes: u32,
        maxrate_bps: Option<u64>,
        low_rate_threshold_bps: u64,
        ce_threshold_ns: Option<u64>,
    },
}

/// Classes of service of `cake`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Diffserv {
    Besteffort,
    Precedence,
    Diffserv3,
    Diffserv4,
    Diffserv8,
}

/// What gets an equal share of `cake`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    Flowblind,
    Srchost,
    Dsthost,
    Hosts,
    Flows,
    DualSrchost,
    DualDsthost,
    TripleIsolate,
}

/// Cells of the link below `cake`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    None,
    Atm,
    Ptm,
}

/// Dropping of superfluous acknowledgements by `cake`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AckFilter {
    Off,
    On,
    Aggressive,
}

impl Link {
    pub(super) fn check(&self, at: &str) -> Result<(), PlanError> {
        let key = |name: &str| format!("{at}.{name}");
        check(
            (1_000..=1_000_000_000_000).contains(&self.rate_bps),
            &key("rate_bps"),
            self.rate_bps,
            "1000 to 10^12",
        )?;
        check(
            self.burst_bytes >= 1514,
            &key("burst_bytes"),
            self.burst_bytes,
            "at least 1514, one frame",
        )?;
        let most = self.steps.iter().map(|step| step.1).max().unwrap_or(0);
        check(most <= 1_000_000_000_000, &key("steps"), most, "rates of at most 10^12")?;
        check(
            self.trace.is_none() || self.steps.is_empty(),
            &key("trace"),
            "beside steps",
            "one of them",
        )?;
        if let Some(trace) = &self.trace {
            let wanted = "at least 1";
            let bytes = trace.opportunity_bytes;
            check(bytes >= 1, &key("trace.opportunity_bytes"), bytes, wanted)?;
        }
        if let Some(policer) = &self.policer {
            let (rate, burst) = (policer.rate_bps, policer.burst_bytes);
            check(rate >= 8, &key("policer.rate_bps"), rate, "at least 8 bit/s")?;
            check(burst >= 1514, &key("policer.burst_bytes"), burst, "at least 1514, one frame")?;
        }
        self.qdisc.check(&key("qdisc"))
    }
}

impl Qdisc {
    fn check(&self, at: &str) -> Result<(), PlanError> {
        let key = |name: &str| format!("{at}.{name}");
        match *self {
            Qdisc::Fifo { limit_bytes, limit_packets, .. } => {
                let wanted = "exactly one of limit_bytes and limit_packets";
                check(
                    limit_bytes.is_some() != limit_packets.is_some(),
                    at,
                    "both or none",
                    wanted,
                )?;
                check(
                    limit_bytes.is_none_or(|b| b >= 1514),
                    &key("limit_bytes"),
                    limit_bytes.unwrap_or(0),
                    "at least 1514, one frame",
                )?;
                check(limit_packets.is_none_or(|p| p >= 1), &key("limit_packets"), 0, "at least 1")
            }
            Qdisc::FqCodel { flows, .. } => {
                check((1..=65_536).contains(&flows), &key("flows"), flows, "1 to 65536")
            }
            Qdisc::Red { avpkt_bytes, probability_ppb, .. } => {
                check(avpkt_bytes >= 1, &key("avpkt_bytes"), avpkt_bytes, "at least 1")?;
                check(
                    probability_ppb <= 1_000_000_000,
                    &key("probability_ppb"),
                    probability_ppb,
                    "at most 10^9",
                )
            }
            Qdisc::Cake { bandwidth_bps, .. } => check(
                bandwidth_bps.is_none_or(|r| r >= 512),
                &key("bandwidth_bps"),
                bandwidth_bps.unwrap_or(0),
                "at least 512 bit/s",
            ),
            Qdisc::DualPi2 { tupdate_ns, coupling, c_protection_percent, .. } => {
                check(tupdate_ns >= 1_000, &key("tupdate_ns"), tupdate_ns, "at least 1000 (1 us)")?;
                check(coupling >= 1, &key("coupling"), coupling, "at least 1")?;
                let percent = c_protection_percent;
                check(percent <= 100, &key("c_protection_percent"), percent, "at most 100")
            }
            Qdisc::Codel { .. } | Qdisc::Pie { .. } | Qdisc::Fq { .. } => Ok(()),
        }
    }
}
