//! Runs `cca/vectors/<controller>/*.toml`: events in, expected window, threshold, rate and state out.
//!
//! A vector drives a controller alone; the runner plays the stack's part, as `tcp_input.c` would:
//!
//! - `params`, `hz` (1000), `seed` (1), `init` (socket fields before `init()`), then `step`s. A step is
//!   repeated `repeat` times; each time it moves the clock to `at_ms`/`at_us` or by `after_us`, sets
//!   fields (`set`), and does at most one thing of the list below. `expect` is checked at its end.
//! - `ack`: `acked` segments newly delivered (with `rtt_us`, `losses`, `ece`, ...; see `Bench::ack`).
//! - `lost`: a burst of `segs` segments is marked lost (`tx_in_flight`, `lost_at_send`,
//!   `is_app_limited`; `lost` of the socket grows by `segs`).
//! - `sample_rtt_us`: `pkts_acked()` alone, with one segment.
//! - `enter = "Recovery" | "Cwr"`: prior window, `ssthresh()`, `set_state()`; `"Disorder"`: `set_state()` only.
//! - `leave = true`: back to Open; without `cong_control` the window becomes the threshold.
//! - `rto = true`: `ssthresh()` unless already in Loss, event, window of one beyond what is in flight.
//! - `undo = true`: the window of `undo_cwnd()`, the threshold from before.
//! - `event = "TxStart"`: `cwnd_event()`, then `lsndtime` is now.
//!
//! `orca` is the controller around a network of one weight; see [`policy`].
//!
//! `from = "cruise"` puts the steps that lead to that state before those of the vector; see [`states`].
//!
//! The clock starts at 1 s and 1 s worth of jiffies: 0 means "never" in several fields. Times in
//! vectors count from there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cca::{
    AckSample, CaEvent, CaState, Controller, LostBurst, Modules, RateSample, TcpSock, CA_ACK_ECE,
    FLAG_ECE,
};
use toml::{Table, Value};

#[path = "vectors/names.rs"]
mod names;
#[path = "vectors/policy.rs"]
mod policy;
#[path = "vectors/states.rs"]
mod states;

use names::{ca_event, ca_state, field, integer, no_other_keys, number, set_field, table};

const START_US: u64 = 1_000_000;

#[test]
fn reno_follows_its_vectors() {
    run_all("reno", 8);
}

#[test]
fn cubic_follows_its_vectors() {
    run_all("cubic", 15);
}

#[test]
fn bbr_follows_its_vectors() {
    run_all("bbr", 20);
}

#[test]
fn bbr_variants_follow_their_vectors() {
    for (cca, minimum) in
        [("bbr-drain", 3), ("bbr-hsr", 5), ("bbrplus", 7), ("tsunami", 5), ("tsunami-zhang", 2)]
    {
        run_all(cca, minimum);
    }
}

#[test]
fn bbr2_follows_its_vectors() {
    run_all("bbr2", 24);
}

#[test]
fn bbr2plus_follows_its_vectors() {
    run_all("bbr2plus", 14);
}

#[test]
fn bbr_draft_follows_its_vectors() {
    run_all("bbr-draft", 5);
}

#[test]
fn bbr3_follows_its_vectors() {
    run_all("bbr3", 9);
}

#[test]
fn htcp_follows_its_vectors() {
    run_all("htcp", 15);
}

#[test]
fn vegas_follows_its_vectors() {
    run_all("vegas", 12);
}

#[test]
fn dctcp_follows_its_vectors() {
    run_all("dctcp", 10);
}

#[test]
fn prague_follows_its_vectors() {
    run_all("prague", 12);
}

#[test]
fn orca_follows_its_vectors_around_a_network_of_one_weight() {
    run_all("orca", 8);
}

#[test]
fn a_wrong_expectation_fails() {
    let vector = "step = [{ ack = { acked = 1 }, expect = { snd_cwnd = 12 } }]";
    let failure = run("reno", vector).unwrap_err();
    assert_eq!(failure, "step 1: snd_cwnd is 11, expected 12");
}

#[test]
fn an_unknown_key_fails() {
    for vector in ["step = [{ akc = {} }]", "step = [{ set = { cwnd = 1 } }]", "steps = []"] {
        assert!(run("reno", vector).is_err(), "{vector}");
    }
}

/// Every vector of a controller, of which there are at minimum `minimum`.
fn run_all(cca: &str, minimum: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cca/vectors").join(cca);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= minimum, "{cca} has {} vectors, expected {minimum}", files.len());
    let failures: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let text = fs::read_to_string(file).unwrap();
            let failure = run(cca, &text).err()?;
            Some(format!("{}: {failure}", file.file_name().unwrap().to_string_lossy()))
        })
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

type Result<T> = std::result::Result<T, String>;

fn run(cca: &str, text: &str) -> Result<()> {
    let vector: Table = text.parse().map_err(|e| format!("not TOML: {e}"))?;
    let mut vector = states::expand(cca, vector)?;
    let mut bench = Bench::new(cca, &mut vector)?;
    let Some(Value::Array(steps)) = vector.remove("step") else { return Err("no steps".into()) };
    no_other_keys(&vector)?;
    let mut checks = 0;
    for (index, step) in steps.into_iter().enumerate() {
        let Value::Table(step) = step else { return Err("a step is a table".into()) };
        checks += usize::from(step.contains_key("expect"));
        bench.step(step).map_err(|e| format!("step {}: {e}", index + 1))?;
    }
    if checks == 0 {
        return Err("expects nothing".into());
    }
    Ok(())
}

/// One controller with its socket.
struct Bench {
    cca: Controller,
    sk: Box<TcpSock>,
    now_us: u64,
}

impl Bench {
    fn new(name: &str, vector: &mut Table) -> Result<Self> {
        let mut modules = Modules::new();
        if name == "orca" {
            modules.add(policy::built()).map_err(|e| e.to_string())?;
        }
        let params: BTreeMap<String, i64> = table(vector, "params")?
            .into_iter()
            .map(|(key, value)| Ok((key, integer(&value)?)))
            .collect::<Result<_>>()?;
        let cca = modules.controller(name, &params).map_err(|e| e.to_string())?;
        let hz = number(vector, "hz")?.unwrap_or(1000) as u32;
        let seed = number(vector, "seed")?.unwrap_or(1) as u64;
        let mut bench = Self { cca, sk: TcpSock::new(), now_us: START_US };
        bench.cca.attach(&mut bench.sk, hz, seed);
        bench.move_clock(START_US);
        bench.sk.lsndtime = bench.sk.jiffies;
        bench.sk.is_cwnd_limited = 1;
        bench.set(&table(vector, "init")?)?;
        bench.cca.init(&mut bench.sk);
        Ok(bench)
    }

    fn step(&mut self, mut step: Table) -> Result<()> {
        let repeat = number(&mut step, "repeat")?.unwrap_or(1);
        let expect = table(&mut step, "expect")?;
        for _ in 0..repeat {
            self.once(step.clone())?;
        }
        self.check(&expect)
    }

    fn once(&mut self, mut step: Table) -> Result<()> {
        if let Some(at) = number(&mut step, "at_ms")? {
            self.move_clock(START_US + at as u64 * 1000);
        }
        if let Some(at) = number(&mut step, "at_us")? {
            self.move_clock(START_US + at as u64);
        }
        if let Some(us) = number(&mut step, "after_us")? {
            self.move_clock(self.now_us + us as u64);
        }
        self.set(&table(&mut step, "set")?)?;
        let mut keys = step.into_iter();
        match (keys.next(), keys.next()) {
            (Some(_), Some((second, _))) => Err(format!("a second action, `{second}`")),
            (Some((action, argument)), None) => self.act(&action, argument),
            (None, _) => Ok(()),
        }
    }

    fn move_clock(&mut self, now_us: u64) {
        assert!(now_us >= self.now_us, "the clock goes back to {now_us}");
        self.now_us = now_us;
        self.sk.tcp_mstamp = now_us;
        self.sk.tcp_clock_cache = now_us * 1000;
        self.sk.jiffies = (now_us * u64::from(self.sk.hz) / 1_000_000) as u32;
    }

    fn act(&mut self, action: &str, argument: Value) -> Result<()> {
        match (action, argument) {
            ("ack", Value::Table(ack)) => self.ack(ack),
            ("lost", Value::Table(lost)) => self.lost(lost),
            ("sample_rtt_us", Value::Integer(rtt_us)) => {
                let sample = AckSample { pkts_acked: 1, rtt_us: rtt_us as i32, in_flight: 0 };
                self.cca.pkts_acked(&mut self.sk, &sample);
                Ok(())
            }
            ("enter", Value::String(state)) => self.enter(ca_state(&state)?),
            ("leave", Value::Boolean(true)) => {
                if !self.cca.has_cong_control() {
                    self.sk.snd_cwnd = self.sk.snd_ssthresh;
                }
                self.set_state(CaState::Open);
                Ok(())
            }
            ("rto", Value::Boolean(true)) => self.rto(),
            ("undo", Value::Boolean(true)) => {
                self.sk.snd_cwnd = self.cca.undo_cwnd(&mut self.sk);
                self.sk.snd_ssthresh = self.sk.snd_ssthresh.max(self.sk.prior_ssthresh);
                self.set_state(CaState::Open);
                Ok(())
            }
            ("event", Value::String(event)) => {
                self.cca.cwnd_event(&mut self.sk, ca_event(&event)?);
                self.sk.lsndtime = self.sk.jiffies;
                Ok(())
            }
            (other, argument) => Err(format!("unknown action `{other} = {argument}`")),
        }
    }

    /// An ACK; fields of the rate sample may be given by name. `delivered` defaults to `acked`, which
    /// makes each ACK a round of its own; `interval_us` to an invalid sample; `rtt_us` to none.
    fn ack(&mut self, mut ack: Table) -> Result<()> {
        let mut take = |key| number(&mut ack, key);
        let acked = take("acked")?.ok_or("`ack` needs `acked`")? as u32;
        let delivered = take("delivered")?.unwrap_or(i64::from(acked)) as i32;
        let losses = take("losses")?.unwrap_or(0) as i32;
        let ece = take("ece")?.unwrap_or(0) != 0;
        let sk = &mut self.sk;
        sk.delivered += acked;
        sk.delivered_ce += if ece { acked } else { 0 };
        sk.lost += losses as u32;
        sk.delivered_mstamp = self.now_us;
        let rs = RateSample {
            delivered,
            losses,
            acked_sacked: acked,
            prior_delivered: sk.delivered.wrapping_sub(delivered as u32),
            interval_us: take("interval_us")?.unwrap_or(-1),
            rtt_us: take("rtt_us")?.unwrap_or(-1),
            prior_in_flight: take("prior_in_flight")?.unwrap_or(0) as u32,
            is_app_limited: take("is_app_limited")?.unwrap_or(0) != 0,
            is_ack_delayed: take("is_ack_delayed")?.unwrap_or(0) != 0,
            delivered_ce: take("delivered_ce")?.unwrap_or(0) as i32,
            tx_in_flight: take("tx_in_flight")?.unwrap_or(0) as u32,
            lost: take("lost")?.unwrap_or(0) as u32,
            is_ece: ece,
            ..RateSample::default()
        };
        no_other_keys(&ack)?;
        let sample = AckSample { pkts_acked: acked, rtt_us: rs.rtt_us as i32, in_flight: 0 };
        self.cca.pkts_acked(sk, &sample);
        self.cca.in_ack_event(sk, if ece { CA_ACK_ECE } else { 0 });
        let una = sk.snd_una;
        if self.cca.has_cong_control() {
            self.cca.cong_control(sk, una, if ece { FLAG_ECE } else { 0 }, &rs);
        } else {
            self.cca.cong_avoid(sk, una, acked);
        }
        Ok(())
    }

    fn lost(&mut self, mut lost: Table) -> Result<()> {
        let mut take = |key| number(&mut lost, key);
        let burst = LostBurst {
            segs: take("segs")?.ok_or("`lost` needs `segs`")? as u32,
            tx_in_flight: take("tx_in_flight")?.unwrap_or(0) as u32,
            lost_at_send: take("lost_at_send")?.unwrap_or(0) as u32,
            delivered_at_send: 0,
            is_app_limited: take("is_app_limited")?.unwrap_or(0) != 0,
        };
        no_other_keys(&lost)?;
        self.sk.lost += burst.segs;
        self.cca.skb_marked_lost(&mut self.sk, &burst);
        Ok(())
    }

    fn set_state(&mut self, state: CaState) {
        self.cca.set_state(&mut self.sk, state);
        self.sk.icsk_ca_state = state as u8;
    }

    fn reduce(&mut self) {
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.sk.prior_ssthresh =
            self.sk.snd_ssthresh.max(self.sk.snd_cwnd / 2 + self.sk.snd_cwnd / 4);
        self.sk.snd_cwnd_cnt = 0;
        self.sk.snd_ssthresh = self.cca.ssthresh(&mut self.sk);
    }

    fn enter(&mut self, state: CaState) -> Result<()> {
        if self.sk.icsk_ca_state < CaState::Cwr as u8 && state != CaState::Disorder {
            self.reduce();
        }
        self.set_state(state);
        Ok(())
    }

    fn rto(&mut self) -> Result<()> {
        if self.sk.icsk_ca_state != CaState::Loss as u8 {
            self.reduce();
            self.cca.cwnd_event(&mut self.sk, CaEvent::Loss);
        }
        self.sk.snd_cwnd = self.sk.packets_in_flight() + 1;
        self.sk.snd_cwnd_cnt = 0;
        self.set_state(CaState::Loss);
        Ok(())
    }

    fn set(&mut self, fields: &Table) -> Result<()> {
        for (name, value) in fields {
            let value = integer(value)?;
            set_field(&mut self.sk, name, value).ok_or(format!("no field `{name}` to set"))?;
        }
        Ok(())
    }

    fn check(&mut self, expect: &Table) -> Result<()> {
        for (name, wanted) in expect {
            let found = self.observe(name)?;
            if found != *wanted {
                return Err(format!("{name} is {found}, expected {wanted}"));
            }
        }
        Ok(())
    }

    fn observe(&mut self, name: &str) -> Result<Value> {
        let info = self.cca.info(&self.sk);
        let missing = || format!("the controller does not report `{name}`");
        let value = match name {
            "state" => {
                let index = info.state().ok_or_else(missing)?;
                return Ok(self.cca.module().states()[index as usize].into());
            }
            "bw" => info.bw().map(|bw| bw as i64).ok_or_else(missing)?,
            "min_rtt_us" => info.min_rtt_us().map(i64::from).ok_or_else(missing)?,
            "pacing_gain" => info.pacing_gain().map(i64::from).ok_or_else(missing)?,
            "cwnd_gain" => info.cwnd_gain().map(i64::from).ok_or_else(missing)?,
            "inflight_lo" => info.inflight_lo().map_or(-1, i64::from),
            "inflight_hi" => info.inflight_hi().map_or(-1, i64::from),
            "tso_segs" => self.cca.tso_segs(&mut self.sk).map(i64::from).ok_or_else(missing)?,
            "sndbuf_expand" => i64::from(self.cca.sndbuf_expand(&mut self.sk)),
            "min_tso_segs" => {
                self.cca.min_tso_segs(&mut self.sk).map(i64::from).ok_or_else(missing)?
            }
            other => match field(&self.sk, other) {
                Some(value) => value,
                None => return self.variable(other),
            },
        };
        Ok(Value::Integer(value))
    }

    /// A variable that the controller declares: its word where it has words, -1 where it is not set.
    fn variable(&mut self, name: &str) -> Result<Value> {
        let variables = self.cca.module().variables();
        let mut values = vec![0; variables.len()];
        self.cca.read_variables(&mut self.sk, &mut values);
        let place = variables.iter().position(|variable| variable.name == name);
        let place = place.ok_or(format!("nothing called `{name}`"))?;
        Ok(match (variables[place].word(values[place]), values[place]) {
            (Some(word), _) => word.into(),
            (None, cca::UNSET) => Value::Integer(-1),
            (None, value) => Value::Integer(value),
        })
    }
}
