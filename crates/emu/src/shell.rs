//! One command behind an emulated path, as Mahimahi's shells have it.

use crate::classify::Classifier;
use crate::clock::{Clock, LoopStats, MonotonicClock, LATE};
use crate::flows::RunState;
use crate::forward::Forward;
use crate::hosts::Hosts;
use crate::memory::TcpMemory;
use crate::pidns::{PidNs, SignalForwarding};
use crate::router::{Routed, Router};
use crate::traffic::Process;
use crate::{tun, Context, EmuError};
use path::plan::Plan;
use record::report::warnings;
use record::LinkSummary;
use serde::Serialize;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use units::Span;

/// Between the last preparation and the start of the path.
const AHEAD: Span = Span::from_ms(50);
/// Address of the far end, also in the environment of the command.
const FAR: &str = "10.2.0.1";
/// Between two readings of the kernel's memory.
const EVERY: Duration = Duration::from_millis(500);

/// How a command behind a path ended.
#[derive(Debug, Serialize)]
pub struct Shell {
    /// Its exit status; 128 plus the signal if a signal ended it, 127 if it is not found, 126 if it cannot be executed.
    pub status: i32,
    /// Both directions, the command's own first.
    pub up: LinkSummary,
    pub down: LinkSummary,
    pub lateness_p99_ms: f64,
    pub lateness_max_ms: f64,
    pub missed: u64,
    pub events: u64,
    pub own_drops: u64,
    /// Reasons not to trust the path.
    pub warnings: Vec<String>,
}

/// What runs at the far end of the path.
#[derive(Clone, Debug, Default)]
pub struct FarEnd {
    /// Commands that run there as long as the one behind the path does.
    pub commands: Vec<String>,
    /// `PORT=HOST:PORT`: its port stands for that of a server on the machine's own network.
    pub forwards: Vec<String>,
}

/// Runs `command` at one end of the path of `plan`, whose first flow is everything; the far end has the
/// address 10.2.0.1. What the command has started ends with it.
///
/// # Errors
/// When the system refuses something.
pub fn shell(
    plan: &Plan,
    command: &[String],
    far_end: &FarEnd,
    signals: &SignalForwarding,
) -> Result<Shell, EmuError> {
    let forwards = far_end.forwards.iter().map(|text| text.parse::<Forward>());
    let forwards = forwards.collect::<Result<Vec<_>, _>>()?;
    let (hosts, devices) = Hosts::new(plan)?;
    forwards.into_iter().try_for_each(|forward| forward.start(&hosts.receivers))?;
    let state = RunState::new(1);
    let clock = MonotonicClock::starting_in(AHEAD);
    let router = Router::new(plan, Classifier::OneFlow, devices, clock, state.clone())?;
    let watching = watch_memory(clock, state.clone());
    let routing = thread::spawn(move || router.run_realtime());
    // In a thread of its own, because a thread cannot leave the process namespace.
    let ended = thread::scope(|scope| {
        let serving = scope.spawn(|| serve(&hosts, command, &far_end.commands, signals));
        serving.join().expect("starting commands does not panic")
    });
    let dropped = tun::dropped(&hosts.senders) + tun::dropped(&hosts.receivers);
    state.stop.store(true, Relaxed);
    watching.thread().unpark();
    let (routed, _devices) = routing.join().expect("the loop does not panic");
    let memory_warning = watching.join().expect("reading does not panic");
    Ok(summary(&routed, ended?, memory_warning, dropped))
}

fn summary(routed: &Routed, ended: Ended, memory_warning: Option<String>, dropped: u64) -> Shell {
    let stats = &routed.measured.stats;
    let own_drops = stats.refused + dropped;
    let up = routed.forward.links[0].totals(routed.end).summary();
    let down = routed.back.links[0].totals(routed.end).summary();
    Shell {
        status: ended.status,
        up,
        down,
        warnings: ended
            .why
            .into_iter()
            .chain(memory_warning)
            .chain(loop_warnings(stats, own_drops))
            .collect(),
        lateness_p99_ms: stats.lateness_p99().as_ns() as f64 / 1e6,
        lateness_max_ms: stats.lateness_max.as_ns() as f64 / 1e6,
        missed: stats.missed,
        events: stats.events,
        own_drops,
    }
}

/// Why the path may not have been the requested one.
fn loop_warnings(stats: &LoopStats, own_drops: u64) -> Vec<String> {
    let span = |span: Span| Duration::from_nanos(span.as_ns());
    let (p99, max) = (span(stats.lateness_p99()), span(stats.lateness_max));
    let late = warnings::late_events(stats.missed, stats.events, span(LATE), p99, max);
    late.into_iter().chain(warnings::own_drops(own_drops)).collect()
}

/// Watches the kernel's memory for TCP until the path stops; returns the warning, if there is one.
fn watch_memory(clock: MonotonicClock, state: Arc<RunState>) -> JoinHandle<Option<String>> {
    thread::spawn(move || {
        let mut memory = TcpMemory::new();
        loop {
            memory.look(clock.now());
            if state.stop.load(Relaxed) {
                return memory.warning();
            }
            thread::park_timeout(EVERY);
        }
    })
}

/// Runs the command to its end while the shell commands of `others` run at the far end.
fn serve(
    hosts: &Hosts,
    command: &[String],
    others: &[String],
    signals: &SignalForwarding,
) -> Result<Ended, EmuError> {
    let _namespace = PidNs::enter()?;
    let start = |text: &String| {
        let mut process = hosts.receivers.command("sh");
        process.args(["-c", &format!("exec {text}")]).stdin(Stdio::null()).stdout(Stdio::null());
        process.spawn().map(Process::new).context(|| text.clone())
    };
    // They end before the namespace does.
    let _others = others.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let mut process = hosts.senders.command(&command[0]);
    process.args(&command[1..]).env("DUMBBELL_FAR", FAR);
    match process.spawn() {
        Ok(child) => wait(child, signals).context(|| command[0].clone()),
        Err(error) => not_executed(&command[0], error),
    }
}

/// Exit status of a command, and why it is that where the command cannot say it.
struct Ended {
    status: i32,
    why: Option<String>,
}

/// Runs a command to its end.
fn wait(mut child: Child, signals: &SignalForwarding) -> io::Result<Ended> {
    signals.to(child.id());
    let status = child.wait();
    signals.end();
    let status = status?;
    let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(Ended { status, why: None })
}

/// The statuses that POSIX gives to a command that a shell cannot find, or cannot execute.
fn not_executed(command: &str, error: io::Error) -> Result<Ended, EmuError> {
    let status = match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => 127,
        Some(libc::EACCES | libc::ENOEXEC | libc::EISDIR) => 126,
        _ => return Err(error).context(|| command.into()),
    };
    Ok(Ended { status, why: Some(format!("{command}: {error}")) })
}
