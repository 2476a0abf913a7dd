//! Probes in a plan: datagrams at regular times that the other end answers at once.

use super::flow::{check_route, Direction};
use super::stage::Stage;
use super::{check, PlanError};
use serde::{Deserialize, Serialize};

/// One series of probes. Its packets are numbered after those of the flows where routes are.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// What its figures are found by.
    pub name: String,
    /// Number of the table that it was made from.
    #[serde(default)]
    pub table: u32,
    /// Which way its requests go; the answers go the other way.
    #[serde(default)]
    pub direction: Direction,
    /// Two-way propagation delay, ns.
    pub rtt_ns: u64,
    /// What requests meet, in order.
    pub forward: Vec<Stage>,
    /// What answers meet, in order.
    pub back: Vec<Stage>,
    /// When the first leaves, ns.
    pub start_ns: u64,
    /// When none leaves any more, ns.
    pub stop_ns: u64,
    /// Time between two requests, ns.
    pub every_ns: u64,
}

impl Probe {
    pub(super) fn check(
        &self,
        at: &str,
        duration_ns: u64,
        links: usize,
        ack_links: usize,
    ) -> Result<(), PlanError> {
        let key = |name: &str| format!("{at}.{name}");
        let (there, back) = self.direction.order(links, ack_links);
        check_route(&self.forward, &key("forward"), there)?;
        check_route(&self.back, &key("back"), back)?;
        check(self.start_ns < self.stop_ns, &key("start_ns"), self.start_ns, "before stop_ns")?;
        check(self.stop_ns <= duration_ns, &key("stop_ns"), self.stop_ns, "at most duration_ns")?;
        check(self.every_ns >= 1_000, &key("every_ns"), self.every_ns, "at least 1000 (1 us)")
    }
}
