//! The parts of a flow's route in a plan, in the order in which packets meet them.

use super::{check, PlanError};
use serde::{Deserialize, Serialize};

/// Longest delay, ns: one minute.
const DELAY_MAX_NS: u64 = 60_000_000_000;
/// A share of everything, in parts of 10^9.
const CERTAIN: u64 = 1_000_000_000;

/// One part of a route.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Stage {
    /// Delay, constant or in steps, with or without random variation.
    Delay {
        /// Mean, ns; with `steps` the first of them.
        ns: u64,
        /// How it changes: (ns, delay in ns), the first at 0; empty for a constant delay.
        #[serde(default)]
        steps: Vec<(u64, u64)>,
        /// When the steps begin anew, ns; `null` for never.
        #[serde(default)]
        repeat_ns: Option<u64>,
        /// Variation.
        #[serde(default)]
        jitter: Option<Jitter>,
        /// Packets that skip the delay.
        #[serde(default)]
        reorder: Option<Reorder>,
    },
    /// Loss.
    Loss(Loss),
    /// A second copy of some packets.
    Duplicate {
        /// Share, 10^-9.
        ppb: u64,
        /// netem's correlation with the previous draw, 10^-9.
        #[serde(default)]
        correlation_ppb: u64,
    },
    /// Some packets are damaged, and refused by the receiving host.
    Corrupt {
        /// Share, 10^-9.
        ppb: u64,
        /// netem's correlation with the previous draw, 10^-9.
        #[serde(default)]
        correlation_ppb: u64,
    },
    /// Of a row of acknowledgements only each n-th goes on.
    Thin {
        /// n.
        every: u32,
        /// The longest that one is held while no other follows, ns.
        hold_ns: u64,
    },
    /// Packets are held and leave in bursts, once so many are held or the oldest was long enough.
    Aggregate {
        /// How many.
        packets: u32,
        /// How long, ns.
        hold_ns: u64,
    },
    /// Packets are held and leave in bursts at regular times.
    Serve {
        /// Time between two, ns.
        period_ns: u64,
        /// Most that leave together; `null` for all.
        packets: Option<u32>,
    },
    /// A link of the same direction, by its number: 0 is the bottleneck, `links` follow.
    Link {
        /// Its number.
        link: u32,
    },
}

/// Ways to lose packets.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "model", rename_all = "snake_case", deny_unknown_fields)]
pub enum Loss {
    /// Each packet for itself, or correlated as in netem.
    Random {
        /// Share, 10^-9.
        ppb: u64,
        /// netem's correlation with the previous draw, 10^-9.
        #[serde(default)]
        correlation_ppb: u64,
    },
    /// Two states (`netem loss gemodel`).
    GilbertElliott {
        /// From good to bad, 10^-9 a packet.
        p_ppb: u64,
        /// From bad to good, 10^-9 a packet.
        r_ppb: u64,
        /// Loss in the bad state (1 - h), 10^-9.
        bad_loss_ppb: u64,
        /// Loss in the good state (1 - k), 10^-9.
        good_loss_ppb: u64,
    },
    /// Four states (`netem loss state`).
    FourState {
        /// A burst of losses begins, 10^-9 a packet.
        p13_ppb: u64,
        /// It ends.
        p31_ppb: u64,
        /// A packet gets through within it.
        p32_ppb: u64,
        /// The next one does not.
        p23_ppb: u64,
        /// A single loss outside it.
        p14_ppb: u64,
    },
    /// A share that changes in steps.
    Schedule {
        /// (ns, 10^-9), the first at 0.
        steps: Vec<(u64, u64)>,
        /// When they begin anew, ns; `null` for never.
        #[serde(default)]
        repeat_ns: Option<u64>,
    },
    /// Packets by their number, from 0.
    List {
        /// The numbers.
        packets: Vec<u64>,
    },
}

/// Random variation of a delay; a delay below zero is zero.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// Its shape.
    pub distribution: Distribution,
    /// Half width of a uniform one, standard deviation or spread of the others, ns.
    pub spread_ns: u64,
    /// netem's correlation with the previous draw, 10^-9.
    #[serde(default)]
    pub correlation_ppb: u64,
    /// Packets may overtake each other.
    pub reorder: bool,
}

/// Shapes of random delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Mean - spread to mean + spread.
    Uniform,
    /// Normal, by twelve uniform draws.
    Gaussian,
    /// Normal, by netem's table.
    Normal,
    /// netem's table.
    Pareto,
    /// netem's table.
    Paretonormal,
}

/// Packets that skip a delay (`netem reorder`).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Each n-th may.
    pub gap: u32,
    /// Share of these that do, 10^-9.
    pub ppb: u64,
    /// netem's correlation with the previous draw, 10^-9.
    #[serde(default)]
    pub correlation_ppb: u64,
}

impl Stage {
    pub(super) fn check(&self, at: &str, links: usize) -> Result<(), PlanError> {
        let key = |name: &str| format!("{at}.{name}");
        let share = |name: &str, ppb: u64| check(ppb <= CERTAIN, &key(name), ppb, "at most 10^9");
        match self {
            Stage::Delay { ns, steps, jitter, reorder, .. } => {
                let longest = steps.iter().map(|s| s.1).fold(*ns, u64::max);
                check(longest <= DELAY_MAX_NS, &key("ns"), longest, "at most 60 s")?;
                if let Some(jitter) = jitter {
                    let (spread, most) = (jitter.spread_ns, DELAY_MAX_NS);
                    check(spread <= most, &key("jitter.spread_ns"), spread, "at most 60 s")?;
                    let correlation = jitter.correlation_ppb;
                    share("jitter.correlation_ppb", correlation)?;
                    let fits = correlation == 0 || spread < 1 << 31;
                    check(
                        fits,
                        &key("jitter.spread_ns"),
                        spread,
                        "below 2.147 s with a correlation",
                    )?;
                }
                match reorder {
                    Some(reorder) => {
                        check(reorder.gap >= 1, &key("reorder.gap"), 0, "at least 1")?;
                        share("reorder.ppb", reorder.ppb)?;
                        share("reorder.correlation_ppb", reorder.correlation_ppb)
                    }
                    None => Ok(()),
                }
            }
            Stage::Loss(loss) => loss.check(at),
            Stage::Duplicate { ppb, correlation_ppb } | Stage::Corrupt { ppb, correlation_ppb } => {
                share("ppb", *ppb)?;
                share("correlation_ppb", *correlation_ppb)
            }
            Stage::Thin { every, hold_ns } => {
                check(*hold_ns <= DELAY_MAX_NS, &key("hold_ns"), hold_ns, "at most 60 s")?;
                check(*every >= 1, &key("every"), every, "at least 1")
            }
            Stage::Aggregate { packets, hold_ns } => {
                check(*hold_ns <= DELAY_MAX_NS, &key("hold_ns"), hold_ns, "at most 60 s")?;
                check(*packets >= 1, &key("packets"), packets, "at least 1")
            }
            Stage::Serve { period_ns, packets } => {
                let wanted = "1 ns to 60 s";
                check(
                    (1..=DELAY_MAX_NS).contains(period_ns),
                    &key("period_ns"),
                    period_ns,
                    wanted,
                )?;
                check(*packets != Some(0), &key("packets"), 0, "at least 1")
            }
            Stage::Link { link } => {
                let wanted = format!("a number below {links}");
                check((*link as usize) < links, &key("link"), link, &wanted)
            }
        }
    }
}

impl Loss {
    fn check(&self, at: &str) -> Result<(), PlanError> {
        let share = |name: &str, ppb: u64| {
            check(ppb <= CERTAIN, &format!("{at}.{name}"), ppb, "at most 10^9")
        };
        match self {
            Loss::Random { ppb, correlation_ppb } => {
                share("ppb", *ppb)?;
                share("correlation_ppb", *correlation_ppb)
            }
            Loss::GilbertElliott { p_ppb, r_ppb, bad_loss_ppb, good_loss_ppb } => {
                share("p_ppb", *p_ppb)?;
                share("r_ppb", *r_ppb)?;
                share("bad_loss_ppb", *bad_loss_ppb)?;
                share("good_loss_ppb", *good_loss_ppb)
            }
            Loss::FourState { p13_ppb, p31_ppb, p32_ppb, p23_ppb, p14_ppb } => {
                let shares = [p13_ppb, p31_ppb, p32_ppb, p23_ppb, p14_ppb];
                let names = ["p13_ppb", "p31_ppb", "p32_ppb", "p23_ppb", "p14_ppb"];
                names.iter().zip(shares).try_for_each(|(name, ppb)| share(name, *ppb))?;
                share("p13_ppb", p13_ppb + p14_ppb)?;
                share("p31_ppb", p31_ppb + p32_ppb)
            }
            Loss::Schedule { steps, .. } => steps.iter().try_for_each(|s| share("steps", s.1)),
            Loss::List { .. } => Ok(()),
        }
    }
}
