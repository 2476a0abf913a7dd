//! The parts of a flow's route in a plan, in the order in which packets meet them.

use super::{at_key, check, within, PlanError};
use net::delay::{Jitter, SlotConfig};
use net::impair::{
    Filled, FourStateConfig, GilbertElliottConfig, Periodic, ReorderingConfig, Share,
    ThinningConfig,
};
use net::settings::{Refused, Settings, DELAYS, SHARES};
use serde::{Deserialize, Serialize};

/// One part of a route.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Stage {
    /// Delay, constant or in steps, with or without random variation.
    Delay(Delay),
    /// Loss.
    Loss(Loss),
    /// A second copy of some packets.
    Duplicate(Share),
    /// Some packets are damaged, and refused by the receiving host.
    Corrupt(Share),
    /// Of acknowledgements in a row only each n-th goes on.
    Thin(ThinningConfig),
    /// Packets are held and leave in bursts, once a burst is full or the oldest was held for long enough.
    Aggregate(Filled),
    /// Packets are held and leave in bursts at regular times.
    Serve(Periodic),
    /// A network card: super-packets are cut into frames.
    Segment,
    /// A link of the same direction, by its number: 0 is the bottleneck, `links` follow.
    Link(LinkNumber),
}

/// Which link.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LinkNumber {
    /// Its number.
    pub link: u32,
}

/// A delay.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    /// Mean, ns; with `steps` the first of them.
    pub ns: u64,
    /// How it changes: (ns, delay in ns), the first at 0; empty for a constant delay.
    #[serde(default)]
    pub steps: Vec<(u64, u64)>,
    /// When the steps begin again, ns; `null` for never.
    #[serde(default)]
    pub repeat_ns: Option<u64>,
    /// Random variation.
    #[serde(default)]
    pub jitter: Option<Jitter>,
    /// Packets that skip the delay.
    #[serde(default)]
    pub reorder: Option<ReorderingConfig>,
    /// Slots in which alone packets leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<SlotConfig>,
}

/// Ways to lose packets.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum Loss {
    /// Each packet for itself, or correlated as in netem.
    Random(Share),
    /// Two states (`netem loss gemodel`).
    GilbertElliott(GilbertElliottConfig),
    /// Four states (`netem loss state`).
    FourState(FourStateConfig),
    /// A share that changes in steps.
    Schedule(ShareSteps),
    /// A share of what comes in windows of time.
    Windows(LossWindows),
    /// Packets by their number, from 0.
    List(Numbers),
}

/// A share of packets over time.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ShareSteps {
    /// (ns, 10^-9), the first at 0.
    pub steps: Vec<(u64, u64)>,
    /// When they begin again, ns; `null` for never.
    #[serde(default)]
    pub repeat_ns: Option<u64>,
}

/// Windows of time in which packets are lost.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LossWindows {
    /// In the order of time, without overlap.
    pub windows: Vec<LossWindow>,
}

/// One of them.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LossWindow {
    /// Its begin, ns.
    pub from_ns: u64,
    /// Its end, ns.
    pub to_ns: u64,
    /// Share of the packets that are lost, 10^-9.
    pub ppb: u64,
    /// Of so many packets, the first in the window; `null`: of all.
    pub packets: Option<u64>,
}

/// Packets by their number.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// The numbers, from 0.
    pub packets: Vec<u64>,
}

impl Stage {
    pub(super) fn check(&self, at: &str, links: usize) -> Result<(), PlanError> {
        let refused = |refused: Refused| at_key(at, refused);
        match self {
            Stage::Delay(delay) => delay.check(at),
            Stage::Loss(loss) => loss.check(at),
            Stage::Duplicate(share) | Stage::Corrupt(share) => share.check().map_err(refused),
            Stage::Thin(thinning) => thinning.check().map_err(refused),
            Stage::Aggregate(filled) => filled.check().map_err(refused),
            Stage::Serve(periodic) => periodic.check().map_err(refused),
            Stage::Segment => Ok(()),
            Stage::Link(LinkNumber { link }) => {
                let wanted = format!("a number below {links}");
                check((*link as usize) < links, &format!("{at}.link"), link, &wanted)
            }
        }
    }
}

impl Delay {
    /// Whether it is the same for every packet, whenever it comes.
    pub(crate) fn is_plain(&self) -> bool {
        let Delay { ns: _, steps, repeat_ns: _, jitter, reorder, slot } = self;
        steps.is_empty() && jitter.is_none() && reorder.is_none() && slot.is_none()
    }

    fn check(&self, at: &str) -> Result<(), PlanError> {
        let longest = self.steps.iter().map(|step| step.1).fold(self.ns, u64::max);
        within(DELAYS, &format!("{at}.ns"), longest)?;
        if let Some(jitter) = &self.jitter {
            jitter.check().map_err(|refused| at_key(&format!("{at}.jitter"), refused))?;
        }
        if let Some(reorder) = &self.reorder {
            reorder.check().map_err(|refused| at_key(&format!("{at}.reorder"), refused))?;
        }
        if let Some(slot) = &self.slot {
            slot.check().map_err(|refused| at_key(&format!("{at}.slot"), refused))?;
        }
        Ok(())
    }
}

impl Loss {
    fn check(&self, at: &str) -> Result<(), PlanError> {
        let refused = |refused: Refused| at_key(at, refused);
        match self {
            Loss::Random(share) => share.check().map_err(refused),
            Loss::GilbertElliott(config) => config.check().map_err(refused),
            Loss::FourState(config) => config.check().map_err(refused),
            Loss::Schedule(ShareSteps { steps, .. }) => {
                let key = format!("{at}.steps");
                steps.iter().try_for_each(|step| within(SHARES, &key, step.1))
            }
            Loss::Windows(LossWindows { windows }) => {
                check_windows(windows, &format!("{at}.windows"))
            }
            Loss::List(_) => Ok(()),
        }
    }
}

fn check_windows(windows: &[LossWindow], key: &str) -> Result<(), PlanError> {
    let mut free = 0;
    for &LossWindow { from_ns, to_ns, ppb, .. } in windows {
        within(SHARES, key, ppb)?;
        let wanted = "windows in the order of time that do not overlap";
        check(free <= from_ns && from_ns < to_ns, key, from_ns, wanted)?;
        free = to_ns;
    }
    Ok(())
}
