//! One command behind an emulated path, as Mahimahi's shells have it.

use crate::clock::Clock;
use crate::conduct::{Conduct, LATE};
use crate::error::{EmuError, Tried};
use crate::forward::Forward;
use crate::hosts::Hosts;
use crate::router::{Router, Traffic};
use crate::shared::Shared;
use crate::traffic::Process;
use crate::tun;
use path::plan::Plan;
use record::report::warnings;
use record::LinkSummary;
use serde::Serialize;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;
use units::Span;

/// Between the making of the path and its first frame.
const AHEAD: Span = Span::from_ms(50);
/// Address of the far end, also in the environment of the command.
const FAR: &str = "10.2.0.1";

/// How a command behind a path ended.
#[derive(Debug, Serialize)]
pub struct Shell {
    /// Its exit status; 128 and the signal for one that a signal ended.
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
/// address 10.2.0.1.
///
/// # Errors
/// When the system refuses something or the command does not start.
pub fn shell(plan: &Plan, command: &[String], far_end: &FarEnd) -> Result<Shell, EmuError> {
    let forwards = far_end.forwards.iter().map(|text| text.parse::<Forward>());
    let forwards = forwards.collect::<Result<Vec<_>, _>>()?;
    let (hosts, near, far) = Hosts::new(plan)?;
    forwards.into_iter().try_for_each(|forward| forward.start(&hosts.receivers))?;
    let shared = Shared::new(1);
    let clock = Clock::starting_in(AHEAD);
    let router = Router::new(plan, Traffic::All, (near, far), clock, shared.clone())?;
    let routing = thread::spawn(move || router.run());
    let ended = beside(&hosts, &far_end.commands, || {
        let mut process = hosts.senders.command(&command[0]);
        process.args(&command[1..]).env("DUMBBELL_FAR", FAR);
        wait(&mut process).tried(|| command[0].clone())
    });
    let dropped = tun::dropped(&hosts.senders) + tun::dropped(&hosts.receivers);
    shared.stop.store(true, Relaxed);
    let router = routing.join().expect("the loop does not panic");
    let (end, conduct) = (router.ended(), &router.conduct);
    Ok(Shell {
        status: ended?,
        up: router.forward.links[0].totals(end).summary(),
        down: router.back.links[0].totals(end).summary(),
        warnings: conduct_warnings(conduct, dropped),
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

/// Does `work` while the shell commands of `others` run at the far end.
fn beside<T>(
    hosts: &Hosts,
    others: &[String],
    work: impl FnOnce() -> Result<T, EmuError>,
) -> Result<T, EmuError> {
    let start = |text: &String| {
        let mut process = hosts.receivers.command("sh");
        process.args(["-c", &format!("exec {text}")]).stdin(Stdio::null()).stdout(Stdio::null());
        process.spawn().map(Process::new).tried(|| text.clone())
    };
    let _others = others.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    work()
}

/// Runs a command to its end; Ctrl-C is its own affair meanwhile.
fn wait(process: &mut Command) -> std::io::Result<i32> {
    let mut child = process.spawn()?;
    // SAFETY: dispositions of this process, put back below.
    let before = unsafe {
        [libc::SIGINT, libc::SIGQUIT].map(|signal| (signal, libc::signal(signal, libc::SIG_IGN)))
    };
    let status = child.wait();
    for (signal, handler) in before {
        // SAFETY: the handler that was there.
        unsafe { libc::signal(signal, handler) };
    }
    let status = status?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}
