//! Plays random packet scenarios on the simulated TCP and on the running kernel, and compares every packet and 20 fields of
//! `tcp_info`: `make differential SECONDS=600 [SETS=loss,ecn] [SEED=1] [COUNT=1000] [CCA=reno] [JOBS=4] [SMALLER=30]`.
//!
//! The simulated TCP plays a scenario and writes a script of all that it did ([`play`]). The kernel's packetdrill runs that
//! script as root, in a network namespace of its own. A scenario that differs three times, or meets a late machine each time,
//! runs again with no other script beside it, because a late kernel sends other packets. If it still differs, the tool tries
//! other phases of the tick, then makes the scenario smaller as long as it differs, and keeps the script in out/differential.
//!
//! The simulated host starts as long after a tick as the kernel does ([`tick`]); PHASE sets this by hand.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a tool on the machine's own clock, with processes: no part of the simulator"
)]
#![allow(dead_code, reason = "it has the parts of the runner of scripts that it needs")]

mod arrivals;
#[path = "../../tests/pkt/code.rs"]
mod code;
mod fields;
#[path = "../../tests/pkt/host.rs"]
mod host;
#[path = "../../tests/pkt/info.rs"]
mod info;
mod play;
mod receive;
#[path = "../../tests/pkt/receiving.rs"]
mod receiving;
mod scenario;
#[path = "../../tests/pkt/script.rs"]
mod script;
mod tick;

use arrivals::Arrivals;
use scenario::Scenario;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Times that a scenario must differ.
const ATTEMPTS: u32 = 3;
/// Times that the phase of the tick is measured.
const PHASES: u32 = 3;
/// Times that it is played again because the machine was late.
const LATE_MAX: u32 = 8;
/// The program that checks the fields of `tcp_info` when a script has ended. Packetdrill has real-time priority, and a check of
/// that priority would make the scripts beside it late. The assertions need none of Python's modules.
const CHECKS: &str = "--code_command=chrt --other 0 python3 -I -S";

/// What packetdrill prints when it was late itself, and when fields differ.
const LATE: [&str; 2] = ["expected inbound packet", "expected system call start"];
const PYTHON: &str = "error in Python code";

fn setting(name: &str, or: &str) -> String {
    std::env::var(name).ok().filter(|v| !v.is_empty()).unwrap_or_else(|| or.to_string())
}

fn number(name: &str, or: u64) -> Result<u64, String> {
    let text = setting(name, &or.to_string());
    text.parse().map_err(|_| format!("{name} is a whole number, got `{text}`"))
}

/// The result of a scenario.
enum Verdict<T> {
    Agrees,
    Differs(T),
    /// The machine was late each time.
    Late,
}

/// A scenario of a sender or of a receiver.
#[derive(Clone, Debug)]
enum Drawn {
    Sends(Scenario),
    Receives(Arrivals),
}

impl Drawn {
    fn draw(set: &str, seed: u64) -> Drawn {
        match arrivals::SETS.contains(&set) {
            true => Drawn::Receives(Arrivals::draw(set, seed)),
            false => Drawn::Sends(Scenario::draw(set, seed)),
        }
    }

    fn simpler(&self) -> Vec<Drawn> {
        match self {
            Drawn::Sends(s) => s.simpler().into_iter().map(Drawn::Sends).collect(),
            Drawn::Receives(s) => s.simpler().into_iter().map(Drawn::Receives).collect(),
        }
    }
}

/// The settings, and where the results go.
struct Job {
    packetdrill: PathBuf,
    cca: String,
    hz: u32,
    /// Time of the simulated host when a scenario begins, us: as long after a tick as the kernel's.
    phase: u64,
    seed: u64,
    count: u64,
    /// Scripts played at once: they mostly wait.
    jobs: u64,
    /// Scripts played to make one smaller.
    smaller: u64,
    ends: Instant,
    out: PathBuf,
}

fn main() -> ExitCode {
    match compare() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn compare() -> Result<(), String> {
    let all = [scenario::SETS.as_slice(), arrivals::SETS.as_slice()].concat();
    let sets = setting("SETS", &all.join(","));
    let sets: Vec<&str> = sets.split(',').collect();
    if let Some(set) = sets.iter().find(|set| !all.contains(set)) {
        return Err(format!("SETS: no set `{set}`, there are {}", all.join(", ")));
    }
    let seconds = number("SECONDS", 600)?;
    let mut job = Job {
        packetdrill: packetdrill()?,
        cca: setting("CCA", "reno"),
        hz: number("HZ", 250)? as u32,
        phase: number("PHASE", 0)?,
        seed: number("SEED", 1)?,
        count: number("COUNT", 1000)?,
        jobs: number("JOBS", 4)?,
        smaller: number("SMALLER", 30)?,
        ends: Instant::now(),
        out: PathBuf::from(setting("OUT", "out/differential")),
    };
    if cca::Module::find(&job.cca).is_none() {
        return Err(format!("CCA: no controller `{}`", job.cca));
    }
    std::fs::create_dir_all(&job.out).map_err(|e| format!("{}: {e}", job.out.display()))?;
    if setting("PHASE", "").is_empty() {
        job.phase = job.measure_phase()?;
        println!("a script begins {} us after a tick (PHASE)", job.phase);
    }
    for set in &sets {
        job.ends = Instant::now() + Duration::from_secs(seconds / sets.len() as u64);
        let (agree, all, differ) = job.run_set(set)?;
        let percent = 100.0 * agree as f64 / all.max(1) as f64;
        println!("{set}: {agree} of {all} agree ({percent:.1} %)");
        differ.iter().for_each(|line| println!("  {line}"));
    }
    Ok(())
}

/// Where packetdrill is.
fn packetdrill() -> Result<PathBuf, String> {
    let home = std::env::var("HOME").unwrap_or_default();
    let cached = format!("{home}/.cache/dumbbell/packetdrill/gtests/net/packetdrill/packetdrill");
    let path = PathBuf::from(setting("PACKETDRILL", &cached));
    if path.is_file() {
        return Ok(path);
    }
    Err(format!(
        "no packetdrill at {} (PACKETDRILL names another place). It is built from its source, with flex and bison:\n  \
         git clone --depth 1 https://github.com/google/packetdrill ~/.cache/dumbbell/packetdrill\n  \
         cd ~/.cache/dumbbell/packetdrill/gtests/net/packetdrill && ./configure && make packetdrill",
        path.display()
    ))
}

impl Job {
    /// Plays a set; how many agree, of how many, and what is known of the rest.
    fn run_set(&self, set: &str) -> Result<(u64, u64, Vec<String>), String> {
        let (next, agree) = (AtomicU64::new(0), AtomicU64::new(0));
        let (again, failed) = (Mutex::new(Vec::new()), Mutex::new(None));
        std::thread::scope(|scope| {
            for worker in 0..self.jobs {
                let (next, agree, again, failed) = (&next, &agree, &again, &failed);
                scope.spawn(move || {
                    while Instant::now() < self.ends {
                        let seed = self.seed + next.fetch_add(1, Ordering::Relaxed);
                        if seed >= self.seed + self.count {
                            return;
                        }
                        let place = self.out.join(format!(".{worker}.pkt"));
                        match self.differs(&Drawn::draw(set, seed), &place) {
                            Ok(Verdict::Agrees) => drop(agree.fetch_add(1, Ordering::Relaxed)),
                            Ok(Verdict::Late | Verdict::Differs(_)) => {
                                again.lock().expect("no worker panics").push(seed)
                            }
                            Err(error) => {
                                *failed.lock().expect("no worker panics") = Some(error);
                                return;
                            }
                        }
                    }
                });
            }
        });
        if let Some(error) = failed.into_inner().expect("no worker panics") {
            return Err(error);
        }
        let mut again = again.into_inner().expect("no worker panics");
        again.sort();
        let (mut agree, mut said) = (agree.into_inner(), Vec::new());
        for seed in again {
            match self.judge(set, seed)? {
                Verdict::Agrees => agree += 1,
                Verdict::Late => {}
                Verdict::Differs(line) => said.push(line),
            }
        }
        let all = agree + said.len() as u64;
        Ok((agree, all, said))
    }

    /// The result of a scenario with no other beside it; one that differs is made smaller.
    fn judge(&self, set: &str, seed: u64) -> Result<Verdict<String>, String> {
        let place = self.out.join(".0.pkt");
        let mut scenario = Drawn::draw(set, seed);
        let mut found = match self.differs(&scenario, &place)? {
            Verdict::Agrees => return Ok(Verdict::Agrees),
            Verdict::Late => return Ok(Verdict::Late),
            Verdict::Differs(found) => found,
        };
        if let Some(phase) = self.phase_that_agrees(&scenario, &place)? {
            let path = self.keep(set, seed, &scenario, &found)?;
            return Ok(Verdict::Differs(format!(
                "{}: agrees where the simulated host starts {phase} us later",
                path.display()
            )));
        }
        let mut left = self.smaller;
        'smaller: loop {
            for simpler in scenario.simpler() {
                if left == 0 || Instant::now() > self.ends {
                    break 'smaller;
                }
                left -= 1;
                if let Verdict::Differs(still) = self.differs(&simpler, &place)? {
                    (scenario, found) = (simpler, still);
                    continue 'smaller;
                }
            }
            break;
        }
        let (text, mut said) = found;
        if let Some(before) = self.fields_before(&text, &said, &place)? {
            said = format!("{said}{before}\n");
        }
        let found = (text, said);
        let path = self.keep(set, seed, &scenario, &found)?;
        let said = &found.1;
        let first = said.lines().next().unwrap_or_default();
        let field = said.lines().find(|l| l.starts_with("fields") || l.contains("assert abs("));
        let field = field.map(|l| format!("; {}", l.trim())).unwrap_or_default();
        Ok(Verdict::Differs(format!("{}: {first}{field}", path.display())))
    }

    /// By how much later the simulated host has to start for the kernel to agree, us; `None` if it never does. Where the tick
    /// begins in a scenario is known to some 0.2 ms, and is not the same in each pass.
    fn phase_that_agrees(&self, scenario: &Drawn, place: &Path) -> Result<Option<u64>, String> {
        let tick_us = 1_000_000 / u64::from(self.hz);
        // Sixteenths that are not quarters: timestamps count in milliseconds, which begin elsewhere, too.
        for phase in [5, 10, 15].map(|sixteenths| tick_us * sixteenths / 16) {
            let found = self.differs_from(scenario, self.phase + phase, place)?;
            if matches!(found, Verdict::Agrees) {
                return Ok(Some(phase));
            }
        }
        Ok(None)
    }

    /// Writes down a script that differs, with what is known of it; where.
    fn keep(
        &self,
        set: &str,
        seed: u64,
        scenario: &Drawn,
        (text, said): &(String, String),
    ) -> Result<PathBuf, String> {
        let path = self.out.join(format!("{set}-{seed}.pkt"));
        let comment: String = said.lines().map(|line| format!("// {line}\n")).collect();
        std::fs::write(&path, format!("// {scenario:?}\n{comment}{text}"))
            .map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }

    /// The script, and what packetdrill said, if the kernel differs each time.
    fn differs(&self, s: &Drawn, place: &Path) -> Result<Verdict<(String, String)>, String> {
        self.differs_from(s, self.phase, place)
    }

    /// The same for a simulated host whose ticks begin at another moment.
    fn differs_from(
        &self,
        s: &Drawn,
        phase: u64,
        place: &Path,
    ) -> Result<Verdict<(String, String)>, String> {
        let text = match s {
            Drawn::Sends(s) => play::play(s, &self.cca, self.hz, phase)?,
            Drawn::Receives(s) => receive::play(s, self.hz, phase)?,
        };
        std::fs::write(place, &text).map_err(|e| format!("{}: {e}", place.display()))?;
        let (mut said, mut differed) = (String::new(), 0);
        for _ in 0..ATTEMPTS + LATE_MAX {
            let Some(says) = self.packetdrill_says(place)? else { return Ok(Verdict::Agrees) };
            if LATE.iter().any(|late| says.contains(late)) {
                continue;
            }
            (said, differed) = (says, differed + 1);
            if differed == ATTEMPTS {
                break;
            }
        }
        Ok(if differed == ATTEMPTS { Verdict::Differs((text, said)) } else { Verdict::Late })
    }

    /// How long after a tick the kernel begins a scenario, us.
    fn measure_phase(&self) -> Result<u64, String> {
        let place = self.out.join(".tick.pkt");
        std::fs::write(&place, tick::script(self.hz))
            .map_err(|e| format!("{}: {e}", place.display()))?;
        let tick_us = 1_000_000 / u64::from(self.hz);
        let mut phases = Vec::new();
        for _ in 0..PHASES {
            let output = self.packetdrill_plays(&place)?;
            let begins = tick::begins(&String::from_utf8_lossy(&output.stdout), self.hz);
            phases.extend(begins.map(|begins| tick_us - begins));
        }
        phases.sort();
        phases.get(phases.len() / 2).copied().ok_or_else(|| {
            format!("no tick of HZ {} was found: HZ is the kernel's, or PHASE is given", self.hz)
        })
    }

    /// What packetdrill says of a script; `None` if the kernel does what it expects.
    fn packetdrill_says(&self, place: &Path) -> Result<Option<String>, String> {
        let output = self.packetdrill_plays(place)?;
        if output.status.success() {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    /// Packetdrill plays a script. Each has a session of its own, with a large share of the processor, because Linux shares a
    /// processor among sessions first (autogroup) and a busy machine is a late one.
    fn packetdrill_plays(&self, place: &Path) -> Result<Output, String> {
        let run = "echo -15 2> /dev/null > /proc/self/autogroup; \
                   ip link set lo up; exec \"$0\" \"$1\" \"$2\"";
        let output = Command::new("setsid")
            .args(["-w", "unshare", "-n", "timeout", "30", "sh", "-c", run])
            .arg(&self.packetdrill)
            .arg(CHECKS)
            .arg(place)
            .output()
            .map_err(|e| format!("setsid: {e}"))?;
        let says = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() && says.contains("Operation not permitted") {
            return Err(format!("root is needed: {says}"));
        }
        Ok(output)
    }

    /// After which packet fields differ before the first packet does, and how: `said` is of a script that differs by a
    /// packet, behind which packetdrill looks at no field. `None` where they agree until then.
    fn fields_before(
        &self,
        script: &str,
        said: &str,
        place: &Path,
    ) -> Result<Option<String>, String> {
        let line = said.split(".pkt:").nth(1).and_then(|rest| rest.split(':').next()?.parse().ok());
        let Some(line) = line.filter(|_| !said.contains(PYTHON)) else { return Ok(None) };
        std::fs::write(place, fields::first_that_differs(script, line))
            .map_err(|e| format!("{}: {e}", place.display()))?;
        for _ in 0..LATE_MAX {
            let Some(says) = self.packetdrill_says(place)? else { return Ok(None) };
            if says.contains(PYTHON) {
                let found = says.lines().find_map(|l| l.strip_prefix("AssertionError: "));
                return Ok(found.map(|found| format!("fields differ before, at {found}")));
            }
        }
        Ok(None)
    }
}
