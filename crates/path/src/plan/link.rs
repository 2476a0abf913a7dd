//! Links in a plan: rate, queue discipline, policer.

use super::{at_key, check, within, PlanError};
use net::frame::ETHERNET_HEADER;
use net::qdisc::fifo::Limit;
use net::qdisc::{any, policer};
use net::settings::{Settings, BURSTS, HEADERS, RATES};
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
    /// When the steps begin again, ns; `null` for never.
    #[serde(default)]
    pub repeat_ns: Option<u64>,
    /// Delivery opportunities instead of a rate.
    #[serde(default)]
    pub trace: Option<Trace>,
    /// Depth of the token bucket, bytes.
    pub burst_bytes: u64,
    /// The link layer's header of each packet, which rate and queue count; Ethernet's unless given.
    #[serde(default = "ethernet_header", skip_serializing_if = "is_ethernet")]
    pub header_bytes: u64,
    /// Packets beyond this rate are refused before they are queued.
    #[serde(default)]
    pub policer: Option<policer::Config>,
    /// The queue in front of it.
    pub qdisc: any::Config,
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
    /// The trace begins again at its end; otherwise the link then is dead.
    pub repeat: bool,
}

const fn ethernet_header() -> u64 {
    ETHERNET_HEADER
}

const fn is_ethernet(&bytes: &u64) -> bool {
    bytes == ETHERNET_HEADER
}

impl Link {
    /// Checks the link; a queue in bytes must hold one of the largest packets that cross it.
    pub(super) fn check(&self, at: &str, largest: u64) -> Result<(), PlanError> {
        let key = |name: &str| format!("{at}.{name}");
        within(RATES, &key("rate_bps"), self.rate_bps)?;
        if self.burst_bytes == 0 {
            let is_fifo = matches!(self.qdisc, any::Config::Fifo(queue) if !queue.head_drop);
            let wanted = "a token bucket, or a drop-tail queue without trace";
            check(is_fifo && self.trace.is_none(), &key("burst_bytes"), 0, wanted)?;
        } else {
            within(BURSTS, &key("burst_bytes"), self.burst_bytes)?;
        }
        self.check_header(&key("header_bytes"))?;
        let most = self.steps.iter().map(|step| step.1).max().unwrap_or(0);
        within(0..=*RATES.end(), &key("steps"), most)?;
        check(
            self.trace.is_none() || self.steps.is_empty(),
            &key("trace"),
            "beside steps",
            "one of them",
        )?;
        if let Some(trace) = &self.trace {
            let bytes = trace.opportunity_bytes;
            check(bytes >= 1, &key("trace.opportunity_bytes"), bytes, "at least 1")?;
        }
        if let Some(policer) = &self.policer {
            policer.check().map_err(|refused| at_key(&key("policer"), refused))?;
        }
        self.qdisc.check().map_err(|refused| at_key(&key("qdisc"), refused))?;
        let wanted = format!("at least {largest}, one packet");
        match self.qdisc.limit() {
            Some(Limit::Bytes(limit)) => {
                check(limit.get() >= largest, &key("qdisc.limit_bytes"), limit.get(), &wanted)
            }
            Some(Limit::Packets(_)) | None => Ok(()),
        }
    }

    /// A header of its own is counted by a drop-tail queue at a rate; others count Ethernet's.
    fn check_header(&self, key: &str) -> Result<(), PlanError> {
        within(HEADERS, key, self.header_bytes)?;
        let is_fifo = matches!(self.qdisc, any::Config::Fifo(queue) if !queue.head_drop);
        let counts = is_fifo && self.trace.is_none() && self.policer.is_none();
        let wanted = "14, Ethernet's, or a drop-tail queue without trace and policer";
        check(counts || is_ethernet(&self.header_bytes), key, self.header_bytes, wanted)
    }
}
