//! A run that pauses where a flow asks what its window is to be: for whoever trains or steps controllers.
//!
//! Nothing is written. The same plan and the same answers give the same readings anywhere.

use crate::controllers;
use crate::flow::{Flow, Life};
use crate::traffic::{OneWay, Traffic, TwoWay};
use crate::world::World;
use crate::RunError;
use cca::{Modules, Policy, Reading};
use path::{Plan, PlanError};
use units::Time;

/// What flows of an episode that ask have as their controller.
const NAME: &str = "agent";

/// The answer of whoever gives none, percent.
const STAYS: u32 = 100;

/// Why an episode pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The flow of this number asks; the window stays if there is no answer.
    Asked(usize),
    /// The flow of this number has sent all it had, or stopped before the run did.
    Ended {
        /// Its number.
        flow: usize,
        /// Everything arrived.
        completed: bool,
    },
    /// The run is over.
    Over,
}

/// What an episode needs of a world, whichever way its data go.
trait Stepped: Send {
    fn advance(&mut self, agents: &[usize]) -> Result<bool, RunError>;
    fn end(&mut self) -> Result<(), RunError>;
    fn flow(&mut self, i: usize) -> &mut Flow;
    fn now(&self) -> Time;
}

impl<T: Traffic + Send> Stepped for World<T>
where
    World<T>: Send,
{
    fn advance(&mut self, agents: &[usize]) -> Result<bool, RunError> {
        self.advance(&mut |_, _| true, |flows| agents.iter().any(|&i| is_due(&mut flows[i])))
    }

    fn end(&mut self) -> Result<(), RunError> {
        self.end()
    }

    fn flow(&mut self, i: usize) -> &mut Flow {
        &mut self.flows_mut()[i]
    }

    fn now(&self) -> Time {
        self.now()
    }
}

/// Does this flow ask, or has it ended?
#[inline]
fn is_due(flow: &mut Flow) -> bool {
    match flow.life {
        Life::Waiting => false,
        Life::Running => flow.ends.agent().is_some_and(|agent| agent.asks()),
        Life::Ended { .. } => true,
    }
}

/// See the module documentation.
pub struct Episode {
    world: Box<dyn Stepped>,
    /// Flows that ask and have not ended.
    agents: Vec<usize>,
    is_over: bool,
}

impl Episode {
    /// The plan of an episode: that of a run, where the flows of these numbers ask.
    ///
    /// # Errors
    /// When it is not a plan, or not one for episodes: see [`Episode::new`].
    pub fn plan(text: &str, agents: &[usize]) -> Result<Plan, PlanError> {
        let mut plan = Plan::parse(text)?;
        let n = plan.flows.len();
        for &i in agents {
            let flow = plan.flows.get_mut(i).ok_or_else(|| PlanError::Controller {
                key: "agents".into(),
                said: format!("got {i}, wanted the number of a flow below {n}"),
            })?;
            NAME.clone_into(&mut flow.cca);
        }
        let record = &mut plan.record;
        record.events = false;
        record.samples = false;
        controllers::check(&plan, &modules())?;
        Ok(plan)
    }

    /// An episode of a plan, at its beginning.
    ///
    /// # Errors
    /// When the plan cannot be run.
    pub fn new(plan: &Plan) -> Result<Episode, RunError> {
        let agents = plan.flows.iter().zip(0..).filter(|(flow, _)| flow.cca == NAME);
        Ok(Episode {
            agents: agents.map(|(_, i)| i).collect(),
            world: if plan.is_two_way() { world::<TwoWay>(plan)? } else { world::<OneWay>(plan)? },
            is_over: false,
        })
    }

    /// Runs until a flow asks or ends, or to the end.
    ///
    /// # Errors
    /// When the run costs more than its plan allows.
    pub fn step(&mut self) -> Result<Step, RunError> {
        if self.is_over {
            return Ok(Step::Over);
        }
        if self.next_due().is_none() && !self.agents.is_empty() {
            self.world.advance(&self.agents)?;
        }
        match self.next_due() {
            Some(i) => Ok(self.due(i)),
            None => {
                self.is_over = true;
                self.world.end()?;
                Ok(Step::Over)
            }
        }
    }

    /// A place in `agents`.
    fn next_due(&mut self) -> Option<usize> {
        (0..self.agents.len()).find(|&k| is_due(self.world.flow(self.agents[k])))
    }

    fn due(&mut self, place: usize) -> Step {
        let flow = self.agents[place];
        match self.world.flow(flow).life {
            Life::Ended { completed, .. } => {
                self.agents.remove(place);
                Step::Ended { flow, completed }
            }
            Life::Waiting | Life::Running => {
                self.answer(flow, STAYS);
                Step::Asked(flow)
            }
        }
    }

    /// The last reading of a flow that asks; an empty one of any other.
    pub fn reading(&mut self, flow: usize) -> Reading {
        let agent = self.world.flow(flow).ends.agent();
        agent.map(|agent| agent.reading()).unwrap_or_default()
    }

    /// The flow's window will be so much of what it was at its last reading, percent.
    pub fn answer(&mut self, flow: usize, percent: u32) {
        if let Some(mut agent) = self.world.flow(flow).ends.agent() {
            agent.answer(percent);
        }
    }

    /// Virtual time.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// Payload that the receiver of a flow has handed to its application, bytes.
    pub fn received_bytes(&mut self, flow: usize) -> u64 {
        self.world.flow(flow).goodput_bytes()
    }
}

/// What a rollout is rewarded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reward {
    /// Orca's: (thr - 5 lost / dt) / max x min(1, 1.25 min_rtt / srtt).
    Orca,
    /// The same with this rate instead of the largest that was seen, and no more than it counts, bytes/s.
    Share(u64),
}

/// 1, as rewards and signals have it.
pub const ONE: i64 = 1 << 16;
/// Least reward of one reading.
const LEAST: i64 = -4 * ONE;
/// Weight of what is lost.
const LOSS_WEIGHT: i128 = 5;

impl Reward {
    /// The reward of a reading, 1/65536.
    #[must_use]
    pub fn of(self, reading: &Reading) -> i64 {
        let newest: [i64; 7] =
            std::array::from_fn(|k| i64::from(reading.state[cca::STATE - 7 + k]));
        let metric = newest[6];
        let got = match self {
            Reward::Orca => newest[0] - newest[2],
            Reward::Share(share) => {
                let parts =
                    |bytes_per_s: i128| bytes_per_s * i128::from(ONE) / i128::from(share.max(1));
                let lost = LOSS_WEIGHT * i128::from(reading.lost) * 1_000_000
                    / i128::from(reading.dt_us.max(1));
                let got = parts(i128::from(reading.thr)).min(i128::from(ONE)) - parts(lost);
                got.clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as i64
            }
        };
        (got * metric / ONE).max(LEAST)
    }
}

/// What the flows of a rollout got together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rolled {
    /// Readings that were answered.
    pub steps: u64,
    /// Their rewards, each times the length of its period, us / 65536.
    pub reward_us: i64,
}

/// Runs a plan with a policy for the flows that ask.
///
/// # Errors
/// When the plan cannot be run.
pub fn roll_out(plan: &Plan, policy: &Policy, reward: Reward) -> Result<Rolled, RunError> {
    let mut episode = Episode::new(plan)?;
    let mut rolled = Rolled::default();
    loop {
        match episode.step()? {
            Step::Over => return Ok(rolled),
            Step::Ended { .. } => {}
            Step::Asked(flow) => {
                let reading = episode.reading(flow);
                episode.answer(flow, policy.answer(&reading.state));
                rolled.steps += 1;
                rolled.reward_us += reward.of(&reading) * reading.dt_us as i64;
            }
        }
    }
}

fn modules() -> Modules {
    let mut modules = Modules::new();
    modules.add_agent(NAME);
    modules
}

fn world<T: Traffic + Send + 'static>(plan: &Plan) -> Result<Box<dyn Stepped>, RunError>
where
    World<T>: Send,
{
    Ok(Box::new(World::<T>::new(plan, &modules(), None, &mut |_, _| true)?))
}
