//! Flows: for each a real iperf3 (or netcat) server and client. Every process is started before the run begins
//! and waits, because starting one stops this process for a moment.

use crate::flows::Client;
use crate::hosts::{Hosts, DATA_PORT};
use crate::netns::NetNs;
use crate::quinn;
use crate::tun::NAME;
use crate::{Context, EmuError};
use ::hosts::Ends;
use path::plan::{self, Flow, Plan};
use rustix::process::{kill_process, Pid, Signal};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;

/// Where iperf3 servers listen.
const SERVER_PORT: u16 = 5_201;
/// How long servers may take to listen: attempts of 20 ms.
const ATTEMPTS: u32 = 750;

/// A process that ends with its owner.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    pub fn new(child: Child) -> Process {
        Process(child)
    }

    fn signal(&self, signal: Signal) {
        // The child has not been waited for, so the number is its own; this fails only if it has ended.
        let _ = kill_process(Pid::from_child(&self.0), signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The two ends of a flow.
#[derive(Debug)]
pub struct Transfer {
    client: Process,
    /// A line on it starts the client.
    start: Option<ChildStdin>,
    _server: Process,
}

impl Client for Transfer {
    fn start(&mut self) {
        if let Some(mut start) = self.start.take() {
            // If the client has ended, its flow never opens, which the result reports.
            let _ = start.write_all(b"\n");
        }
    }

    /// iperf3 writes its report when it is interrupted.
    fn stop(&self) {
        self.client.signal(Signal::INT);
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.client.0.try_wait(), Ok(Some(_)))
    }
}

/// Starts the programs of all flows of TCP, which wait; `controllers` are the kernel's names. Their reports go below `out`.
///
/// # Errors
/// When iperf3 is missing or does not listen.
pub fn prepare(
    plan: &Plan,
    controllers: &[String],
    hosts: &Hosts,
    out: &Path,
) -> Result<BTreeMap<usize, Transfer>, EmuError> {
    let reports = out.join("traffic");
    std::fs::create_dir(&reports).context(|| reports.display().to_string())?;
    let flows = plan.flows.iter().enumerate().filter(|(_, flow)| !quinn::carries(flow));
    let servers = flows
        .map(|(i, flow)| Ok((i, flow, server(plan, hosts, &reports, i)?)))
        .collect::<Result<Vec<_>, EmuError>>()?;
    let up = servers.iter().filter(|(_, flow, _)| flow.is_up()).count();
    wait_for_servers(&hosts.receivers, servers.len() - up)?;
    wait_for_servers(&hosts.senders, up)?;
    servers
        .into_iter()
        .map(|(i, flow, _server)| {
            let (client, start) = client(plan, hosts, &reports, i, flow, &controllers[i])?;
            Ok((i, Transfer { client, start, _server }))
        })
        .collect()
}

fn server(plan: &Plan, hosts: &Hosts, reports: &Path, i: usize) -> Result<Process, EmuError> {
    let errors = file(reports, &format!("{i}.server"))?;
    let [_, own] = hosts.ends(plan, i);
    let mut command = own.netns.command(program(plan.host.traffic));
    let (port, own) = (SERVER_PORT.to_string(), own.address.to_string());
    match plan.host.traffic {
        plan::Traffic::Auto | plan::Traffic::Iperf3 => {
            command.args(["-s", "-1", "-p", &port, "-B", &own])
        }
        plan::Traffic::Netcat => command.args(["-n", "-d", "-l", &own, &port]),
    };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    let missing = || "iperf3 or nc (Debian: apt-get install iperf3 netcat-openbsd)".into();
    Ok(Process(command.spawn().context(missing)?))
}

fn program(traffic: plan::Traffic) -> &'static str {
    match traffic {
        plan::Traffic::Auto | plan::Traffic::Iperf3 => "iperf3",
        plan::Traffic::Netcat => "nc",
    }
}

/// A shell that becomes the client as soon as it reads a line, without a fork of this process.
fn client(
    plan: &Plan,
    hosts: &Hosts,
    reports: &Path,
    i: usize,
    flow: &Flow,
    cca: &str,
) -> Result<(Process, Option<ChildStdin>), EmuError> {
    choose_by_route(plan, hosts, i, cca)?;
    let ends = hosts.ends(plan, i);
    let mut command = ends[0].netns.command("sh");
    let [own, to] = ends.map(|end| end.address.to_string());
    match plan.host.traffic {
        plan::Traffic::Auto | plan::Traffic::Iperf3 => {
            command
                .args(["-c", "read line && exec iperf3 \"$@\"", "sh"])
                .args(iperf3(plan, i, own, to, cca));
        }
        plan::Traffic::Netcat => {
            let zeros = zeros(&reports.join(format!("{i}.zeros")), flow)?;
            command.args(["-c", &netcat(&own, &to), "sh"]).arg(zeros);
        }
    }
    let report = file(reports, &format!("{i}.json"))?;
    let errors = file(reports, &format!("{i}.client"))?;
    command.stdin(Stdio::piped()).stdout(report).stderr(errors);
    let mut child = command.spawn().context(|| "sh".into())?;
    let start = child.stdin.take();
    Ok((Process(child), start))
}

/// Arguments of iperf3's client.
fn iperf3(plan: &Plan, i: usize, source: String, target: String, cca: &str) -> Vec<String> {
    let ends = Ends { source, target, server_port: SERVER_PORT, data_port: DATA_PORT };
    ::hosts::iperf3_client(plan, i, &ends, cca)
}

/// A shell command that sends the file that is its argument through netcat, as Borgli and Misund did. It removes
/// the file, if that was made for it, when it is open.
fn netcat(own: &str, to: &str) -> String {
    format!(
        "exec 3< \"$1\" && {{ test -c \"$1\" || rm \"$1\"; }} && read line && \
         exec nc -n -N -s {own} -p {DATA_PORT} {to} {SERVER_PORT} <&3"
    )
}

/// As many zeros as a flow transfers: a file with a hole, or the device without an end.
fn zeros(path: &Path, flow: &Flow) -> Result<PathBuf, EmuError> {
    let Some(size) = flow.size_bytes else { return Ok("/dev/zero".into()) };
    let made = File::create(path).and_then(|file| file.set_len(size));
    made.context(|| path.display().to_string())?;
    Ok(path.into())
}

/// Names a flow's controller in the route to its server, so that the connection has it from the SYN on. Netcat asks for
/// none, and iperf3 only when it is connected: until then the kernel's default would drive the flow, and what that
/// has switched on stays on. Where the default is `bbr`, iperf3's CUBIC and Reno are paced by TCP's timer
/// (`sk_pacing_status`), and HyStart leaves slow start at twice the window.
///
/// Where only some flows ask for ECN, these do so by their route, too. A controller that lives on ECN sends SYNs that are
/// ECN-capable themselves: a host accepts ECN from one only if its own controller, by its route back, needs it
/// (`tcp_ecn_create_request`), so that such a flow has its controller at both ends. The route has the window at the start, too.
fn choose_by_route(plan: &Plan, hosts: &Hosts, i: usize, cca: &str) -> Result<(), EmuError> {
    let ends = hosts.ends(plan, i);
    let [own, to] = ends.map(|end| end.address.to_string());
    let mut route = vec!["route", "add", &to, "dev", NAME, "src", &own, "congctl", cca];
    if ::hosts::asks_for_ecn(plan, i) {
        route.extend(["features", "ecn"]);
    }
    let window = plan.host_of(i).initial_window.to_string();
    route.extend(["initcwnd", &window]);
    ends[0].netns.run("ip", &route)?;
    let name = &plan.flows[i].cca;
    if ::hosts::needs_ecn(name) {
        // Linux's own has a receiver's half that echoes each mark; ours has none.
        let receivers = if hosts.controllers().contains(name) { name.as_str() } else { cca };
        let mut back = vec!["route", "add", &own, "dev", NAME, "src", &to, "congctl", receivers];
        if !plan.host.delayed_ack {
            back.extend(["quickack", "1"]);
        }
        ends[1].netns.run("ip", &back)?;
    }
    Ok(())
}

fn file(folder: &Path, name: &str) -> Result<File, EmuError> {
    let path = folder.join(name);
    File::create(&path).context(|| path.display().to_string())
}

/// Waits until this many sockets listen in a namespace.
#[allow(clippy::disallowed_methods, reason = "it waits for other programs, before the run begins")]
fn wait_for_servers(netns: &NetNs, count: usize) -> Result<(), EmuError> {
    for _ in 0..ATTEMPTS {
        let read = || std::fs::read_to_string("/proc/thread-self/net/tcp");
        let text = netns.within(read).context(|| "/proc/net/tcp".into())?;
        // The fourth column is the state, 0A is LISTEN.
        if text.lines().filter(|line| line.split_whitespace().nth(3) == Some("0A")).count() >= count
        {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(EmuError::Program {
        program: "the server of a flow".into(),
        said: "does not listen".into(),
    })
}
