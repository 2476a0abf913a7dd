//! Episodes for Python: many worlds in one process, stepped with the GIL released; and rollouts of policies in threads.

use crate::errors::{bug, to_python, PlanError};
use cca::{Activation, Layer, Reading};
use path::Plan;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::{Episode, Reward, RunError, Step};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Kinds of rows.
const ASKED: i32 = 0;
const ENDED: i32 = 1;
const COMPLETED: i32 = 2;
const OVER: i32 = 3;

/// Worlds that are stepped together; see the stub for the contract.
#[pyclass(frozen)]
pub struct Episodes {
    worlds: Mutex<Vec<Option<Episode>>>,
    threads: usize,
}

impl Episodes {
    fn worlds(&self) -> MutexGuard<'_, Vec<Option<Episode>>> {
        self.worlds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Episodes {
    #[new]
    fn new(count: usize, threads: usize) -> Episodes {
        let worlds = std::iter::repeat_with(|| None).take(count).collect();
        Episodes { worlds: Mutex::new(worlds), threads: threads.max(1) }
    }

    fn begin(
        &self,
        py: Python<'_>,
        world: usize,
        plan_json: &str,
        agents: Vec<usize>,
    ) -> PyResult<()> {
        let episode = py.detach(|| {
            let plan = Episode::plan(plan_json, &agents).map_err(RunError::Plan)?;
            Episode::new(&plan)
        });
        let episode = episode.map_err(to_python)?;
        *self.worlds().get_mut(world).ok_or_else(|| no_world(world))? = Some(episode);
        Ok(())
    }

    fn answer(&self, world: usize, flow: usize, percent: u32) -> PyResult<()> {
        let mut worlds = self.worlds();
        let episode = worlds.get_mut(world).and_then(Option::as_mut);
        episode.ok_or_else(|| no_world(world))?.answer(flow, percent);
        Ok(())
    }

    /// Steps these worlds, each in one of the threads; a row for each, in their order.
    fn step<'py>(&self, py: Python<'py>, which: Vec<usize>) -> PyResult<Bound<'py, PyBytes>> {
        let rows = py.detach(|| {
            let mut worlds = self.worlds();
            let mut taken = Vec::with_capacity(which.len());
            for &world in &which {
                let episode = worlds.get_mut(world).and_then(Option::take);
                taken.push((world, episode.ok_or_else(|| no_world(world))?));
            }
            let rows = self.step_all(&mut taken);
            for (world, episode) in taken {
                worlds[world] = Some(episode);
            }
            rows
        })?;
        Ok(PyBytes::new(py, &rows))
    }
}

impl Episodes {
    fn step_all(&self, taken: &mut [(usize, Episode)]) -> PyResult<Vec<u8>> {
        let share = taken.len().div_ceil(self.threads).max(1);
        let one = |(world, episode): &mut (usize, Episode)| row(*world, episode);
        let rows: Vec<Result<Vec<u8>, PyErr>> = if share >= taken.len() {
            taken.iter_mut().map(one).collect()
        } else {
            std::thread::scope(|scope| {
                let parts = taken.chunks_mut(share);
                let started: Vec<_> = parts
                    .map(|part| scope.spawn(move || part.iter_mut().map(one).collect::<Vec<_>>()))
                    .collect();
                let joined = started.into_iter().map(|thread| thread.join());
                joined.flat_map(|rows| rows.unwrap_or_else(|_| vec![Err(bug("a panic"))])).collect()
            })
        };
        Ok(rows.into_iter().collect::<PyResult<Vec<_>>>()?.concat())
    }
}

fn no_world(world: usize) -> PyErr {
    PyIndexError::new_err(format!("world {world} has not begun"))
}

/// One row: its fields are in the stub.
fn row(world: usize, episode: &mut Episode) -> PyResult<Vec<u8>> {
    let step = sim::guard::caught(|| episode.step()).map_err(|text| bug(&text))?;
    let (flow, kind) = match step.map_err(to_python)? {
        Step::Asked(flow) => (flow as i32, ASKED),
        Step::Ended { flow, completed } => (flow as i32, if completed { COMPLETED } else { ENDED }),
        Step::Over => (-1, OVER),
    };
    let mut row = Vec::with_capacity(32 + size_of::<Reading>());
    row.extend_from_slice(&(world as i32).to_le_bytes());
    row.extend_from_slice(&flow.to_le_bytes());
    row.extend_from_slice(&kind.to_le_bytes());
    row.extend_from_slice(&[0; 4]);
    row.extend_from_slice(&episode.now().as_ns().to_le_bytes());
    let received = usize::try_from(flow).map_or(0, |flow| episode.received_bytes(flow));
    row.extend_from_slice(&received.to_le_bytes());
    let reading = usize::try_from(flow).map(|flow| episode.reading(flow)).unwrap_or_default();
    let Reading {
        at_us,
        dt_us,
        thr,
        thr_max,
        pacing,
        lost,
        acks,
        cwnd,
        srtt_us,
        min_rtt_us,
        state,
    } = reading;
    for long in [at_us, dt_us, thr, thr_max, pacing, lost] {
        row.extend_from_slice(&long.to_le_bytes());
    }
    for short in [acks, cwnd, srtt_us, min_rtt_us] {
        row.extend_from_slice(&short.to_le_bytes());
    }
    for signal in state {
        row.extend_from_slice(&signal.to_le_bytes());
    }
    Ok(row)
}

/// A layer as Python hands it over: weights, bias, shift, kind, slope.
type RawLayer = (Vec<i32>, Vec<i64>, u32, String, i32);

/// A policy whose tables are data; see the stub.
#[pyclass(frozen)]
pub struct Policy(cca::Policy);

#[pymethods]
impl Policy {
    #[new]
    fn new(
        layers: Vec<RawLayer>,
        tanh: Vec<i32>,
        thresholds: Vec<i64>,
        first: u32,
    ) -> PyResult<Policy> {
        let layer = |(weights, bias, shift, kind, slope): RawLayer| {
            let activation = match kind.as_str() {
                "tanh" => Activation::Tanh(tanh.clone().into()),
                _ => Activation::Leaky(slope),
            };
            Layer { weights: weights.into(), bias: bias.into(), shift, activation }
        };
        let layers = layers.into_iter().map(layer).collect();
        let policy = cca::Policy::new(layers, thresholds.into(), first);
        policy.map(Policy).map_err(PyValueError::new_err)
    }

    /// The percentage for each row of 70 signals, 1/65536.
    fn answer(&self, states: Vec<[i32; cca::STATE]>) -> Vec<u32> {
        states.iter().map(|state| self.0.answer(state)).collect()
    }
}

/// Plans that policies are tried on; see the stub.
#[pyclass(frozen)]
pub struct Rollouts {
    plans: Vec<(Plan, Reward)>,
}

#[pymethods]
impl Rollouts {
    /// Each plan has the flows that ask, and the rate that they share, bytes/s; 0: Orca's reward.
    #[new]
    fn new(py: Python<'_>, plans: Vec<(String, Vec<usize>, u64)>) -> PyResult<Rollouts> {
        let parsed = py.detach(|| {
            let one = |(text, agents, share): (String, Vec<usize>, u64)| {
                let reward = if share == 0 { Reward::Orca } else { Reward::Share(share) };
                Episode::plan(&text, &agents).map(|plan| (plan, reward))
            };
            plans.into_iter().map(one).collect::<Result<Vec<_>, _>>()
        });
        let plans = parsed.map_err(|error| PlanError::new_err(error.to_string()))?;
        Ok(Rollouts { plans })
    }

    /// Runs each of (policy, plan, seed); (steps, reward in us / 65536) of each, in their order.
    fn run(
        &self,
        py: Python<'_>,
        policies: Vec<Py<Policy>>,
        jobs: Vec<(usize, usize, u64)>,
        threads: usize,
    ) -> PyResult<Vec<(u64, i64)>> {
        let policies: Vec<&cca::Policy> = policies.iter().map(|policy| &policy.get().0).collect();
        if let Some(job) =
            jobs.iter().find(|job| job.0 >= policies.len() || job.1 >= self.plans.len())
        {
            return Err(PyIndexError::new_err(format!("no such job: {job:?}")));
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(&(policy, plan, seed)) = jobs.get(i) else { return done };
                let (plan, reward) = &self.plans[plan];
                let plan = Plan { seed, ..plan.clone() };
                let rolled = sim::guard::caught(|| sim::roll_out(&plan, policies[policy], *reward));
                done.push((i, rolled));
            }
        };
        let mut done: Vec<_> = py.detach(|| {
            std::thread::scope(|scope| {
                let started: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
                started.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
            })
        });
        done.sort_unstable_by_key(|(i, _)| *i);
        let rolled = |(_, rolled): (usize, Result<Result<sim::Rolled, RunError>, String>)| {
            let rolled = rolled.map_err(|text| bug(&text))?.map_err(to_python)?;
            Ok((rolled.steps, rolled.reward_us))
        };
        done.into_iter().map(rolled).collect()
    }
}
