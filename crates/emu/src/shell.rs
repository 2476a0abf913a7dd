//! One command behind an emulated path, as Mahimahi's shells have it.

use crate::clock::Clock;
use crate::conduct::{Conduct, LATE};
use crate::error::{EmuError, Tried};
use crate::forward::Forward;
use crate::hosts::Hosts;
use crate::memory::TcpMemory;
use crate::room::{PassedOn, Room};
use crate::router::{Router, Traffic};
use crate::shared::Shared;
use crate::traffic::Process;
use crate::tun;
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

/// Between the making of the path and its first frame.
const AHEAD: Span = Span::from_ms(50);
/// Address of the far end, also in the environment of the command.
const FAR: &str = "10.2.0.1";
/// Between two looks at the kernel's memory.
const LOOK: Duration = Duration::from_millis(500);

/// How a command behind a path ended.
#[derive(Debug, Serialize)]
pub struct Shell {
    /// Its exit status; 128 and the signal for one that a signal ended, 127 for one that there is not, 126 for one that
    /// cannot be executed.
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

/// What there is beside the path.
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
pub fn shell(plan: &Plan, command: &[String], far_end: &FarEnd) -> Result<Shell, EmuError> {
    let forwards = far_end.forwards.iter().map(|text| text.parse::<Forward>());
    let forwards = forwards.collect::<Result<Vec<_>, _>>()?;
    let (hosts, near, far) = Hosts::new(plan)?;
    forwards.into_iter().try_for_each(|forward| forward.start(&hosts.receivers))?;
    let shared = Shared::new(1);
    let clock = Clock::starting_in(AHEAD);
    let router = Router::new(plan, Traffic::All, (near, far), clock, shared.clone())?;
    let watching = watch_memory(clock, shared.clone());
    let routing = thread::spawn(move || router.run());
    // A thread of its own, because it does not come back from the process namespace.
    let ended = thread::scope(|scope| {
        let serving = scope.spawn(|| serve(&hosts, command, &far_end.commands));
        serving.join().expect("starting commands does not panic")
    });
    let dropped = tun::dropped(&hosts.senders) + tun::dropped(&hosts.receivers);
    shared.stop.store(true, Relaxed);
    watching.thread().unpark();
    let router = routing.join().expect("the loop does not panic");
    let short_of_memory = watching.join().expect("looking does not panic");
    let ended = ended?;
    let (end, conduct) = (router.ended(), &router.conduct);
    Ok(Shell {
        status: ended.status,
        up: router.forward.links[0].totals(end).summary(),
        down: router.back.links[0].totals(end).summary(),
        warnings: [ended.why, short_of_memory]
            .into_iter()
            .flatten()
            .chain(conduct_warnings(conduct, dropped))
            .collect(),
        lateness_p99_ms: f64::from(conduct.lateness.quantile_us(990).unwrap_or(0)) / 1e3,
        lateness_max_ms: conduct.latest.as_ns() as f64 / 1e6,
        missed: conduct.missed,
        events: conduct.events,
        own_drops: conduct.refused + dropped,
    })
}

/// Why the path may not have been the one asked for.
fn conduct_warnings(conduct: &Conduct, dropped: u64) -> Vec<String> {
    let span = |span: Span| Duration::from_nanos(span.as_ns());
    let p99 = Duration::from_micros(u64::from(conduct.lateness.quantile_us(990).unwrap_or(0)));
    let (missed, events, latest) = (conduct.missed, conduct.events, span(conduct.latest));
    let late = warnings::late_events(missed, events, span(LATE), p99, latest);
    late.into_iter().chain(warnings::own_drops(conduct.refused + dropped)).collect()
}

/// Looks at the kernel's memory for TCP until the path stops, and says what of it is worth saying.
fn watch_memory(clock: Clock, shared: Arc<Shared>) -> JoinHandle<Option<String>> {
    thread::spawn(move || {
        let mut memory = TcpMemory::new();
        loop {
            memory.look(clock.now());
            if shared.stop.load(Relaxed) {
                return memory.warning();
            }
            thread::park_timeout(LOOK);
        }
    })
}

/// Runs the command to its end while the shell commands of `others` run at the far end; how it ended.
fn serve(hosts: &Hosts, command: &[String], others: &[String]) -> Result<Ended, EmuError> {
    let _room = Room::enter()?;
    let start = |text: &String| {
        let mut process = hosts.receivers.command("sh");
        process.args(["-c", &format!("exec {text}")]).stdin(Stdio::null()).stdout(Stdio::null());
        process.spawn().map(Process::new).tried(|| text.clone())
    };
    // They end before the room does.
    let _others = others.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let mut process = hosts.senders.command(&command[0]);
    process.args(&command[1..]).env("DUMBBELL_FAR", FAR);
    match process.spawn() {
        Ok(child) => wait(child).tried(|| command[0].clone()),
        Err(error) => not_executed(&command[0], error),
    }
}

/// Exit status of a command, and why it is that where the command cannot say it.
struct Ended {
    status: i32,
    why: Option<String>,
}

/// Runs a command to its end.
fn wait(mut child: Child) -> io::Result<Ended> {
    let passing = PassedOn::to(child.id());
    let status = child.wait();
    drop(passing);
    let status = status?;
    let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(Ended { status, why: None })
}

/// The statuses that POSIX gives to a command that a shell cannot find, or cannot execute.
fn not_executed(command: &str, error: io::Error) -> Result<Ended, EmuError> {
    let status = match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => 127,
        Some(libc::EACCES | libc::ENOEXEC | libc::EISDIR) => 126,
        _ => return Err(error).tried(|| command.into()),
    };
    Ok(Ended { status, why: Some(format!("{command}: {error}")) })
}
