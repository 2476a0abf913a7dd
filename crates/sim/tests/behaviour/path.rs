//! Paths for the tests of this folder, and what is read from their tables.

use crate::plans::{greedy, plain, MS};
use crate::run::{run, Cells, Ran};
use sim::plan::{Flow, Plan};

/// Payload of a full segment, bytes.
const MSS: f64 = 1448.0;
/// A full segment on the wire, bytes.
const WIRE: f64 = 1514.0;

/// A link of `mbps` Mbit/s on the wire, a round trip of `rtt_ms` and a drop-tail buffer.
#[derive(Clone, Copy)]
pub struct Path {
    pub mbps: u64,
    pub rtt_ms: u64,
    /// Buffer in hundredths of a BDP.
    pub buffer: u64,
}

impl Path {
    /// BDP in full segments.
    pub fn bdp(self) -> f64 {
        (self.mbps * self.rtt_ms) as f64 * 125.0 / WIRE
    }

    /// Most that an application can get, Mbit/s.
    pub fn capacity(self) -> f64 {
        self.mbps as f64 * MSS / WIRE
    }

    /// A plan without flows; samples every 10 ms.
    pub fn plan(self, seconds: u64) -> Plan {
        let bytes = self.mbps * self.rtt_ms * 125 * self.buffer / 100;
        let mut plan = plain(self.mbps * 1_000_000, bytes, seconds * 1000 * MS);
        plan.sample_ns = 10 * MS;
        plan
    }

    /// One flow of `cca` alone, changed by `change`.
    pub fn alone(self, cca: &str, seconds: u64, change: impl Fn(&mut Flow)) -> Ran {
        let mut plan = self.plan(seconds);
        let mut flow = greedy(&plan, cca, self.rtt_ms * MS);
        change(&mut flow);
        plan.flows.push(flow);
        run(&plan)
    }

    /// One flow of each of `ccas`, `gap_ms` apart.
    pub fn together(self, ccas: &[&str], gap_ms: u64, seconds: u64, seed: u64) -> Ran {
        let mut plan = self.plan(seconds);
        plan.seed = seed;
        for (i, cca) in ccas.iter().enumerate() {
            let flow = greedy(&plan, cca, self.rtt_ms * MS);
            plan.flows.push(Flow { start_ns: i as u64 * gap_ms * MS, ..flow });
        }
        run(&plan)
    }
}

/// A stay of a flow in a state of its controller.
#[derive(Clone, Debug)]
pub struct Stay {
    pub state: String,
    /// Entry, ms.
    pub from: f64,
    /// Exit, ms.
    pub to: f64,
}

impl Stay {
    /// Length, ms.
    pub fn ms(&self) -> f64 {
        self.to - self.from
    }
}

/// The stays of flow `i`, in order; the last, which the end of the run cuts, is left out.
pub fn stays(ran: &Ran, i: i64) -> Vec<Stay> {
    let events = ran.table("events");
    let entries: Vec<(f64, String)> = events
        .iter()
        .filter(|e| e.text("kind") == "cca_state" && e.get("flow") == Some(i))
        .map(|e| (e.int("t_ns") as f64 / 1e6, e.text("note").to_owned()))
        .collect();
    entries.windows(2).map(|w| Stay { state: w[0].1.clone(), from: w[0].0, to: w[1].0 }).collect()
}

/// The stays in one state.
pub fn stays_in(ran: &Ran, i: i64, state: &str) -> Vec<Stay> {
    stays(ran, i).into_iter().filter(|s| s.state == state).collect()
}

/// The samples of flow `i` in `[from, to)`, ms.
pub fn samples(ran: &Ran, i: i64, from: f64, to: f64) -> Vec<Cells> {
    let rows = ran.table("samples").into_iter().filter(|row| row.int("flow") == i);
    rows.filter(|row| (from..to).contains(&(row.int("t_us") as f64 / 1e3))).collect()
}

/// Goodput of flow `i` in `[from, to)` ms, Mbit/s, from its samples.
pub fn goodput(ran: &Ran, i: i64, from: f64, to: f64) -> f64 {
    let rows = samples(ran, i, from, to);
    let (first, last) = (rows.first().expect("samples"), rows.last().expect("samples"));
    let bytes = last.int("goodput_bytes") - first.int("goodput_bytes");
    bytes as f64 * 8.0 / (last.int("t_us") - first.int("t_us")) as f64
}

/// How many events of a kind flow `i` has in `[from, to)`, ms.
pub fn events(ran: &Ran, i: i64, kind: &str, from: f64, to: f64) -> usize {
    let within = |e: &Cells| (from..to).contains(&(e.int("t_ns") as f64 / 1e6));
    let events = ran.table("events");
    events
        .iter()
        .filter(|e| e.text("kind") == kind && e.get("flow") == Some(i) && within(e))
        .count()
}
