//! A run: hosts, flows and path of a plan, in real time.

use crate::clock::Clock;
use crate::diag::Diag;
use crate::error::{EmuError, Tried};
use crate::hosts::Hosts;
use crate::memory::TcpMemory;
use crate::report::{self, Ended, Outcome};
use crate::router::{Router, Traffic};
use crate::sampler::Sampler;
use crate::shared::Shared;
use crate::told::Ask;
use crate::traffic::{self, Transfer};
use crate::tun;
use path::plan::{self, Flow, Plan, Transport};
use record::PcapWriter;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::thread;
use units::{Span, Time};

/// Between the last preparation and the start of the run.
const AHEAD: Span = Span::from_ms(100);
/// How often the caller is asked whether to go on.
const TICK: Span = Span::from_ms(50);
/// More flows than addresses: 10.1.0.1 to 10.1.255.254.
const FLOWS_MAX: usize = 2_000;

/// Tells the caller how far the run is (ns, data packets delivered); `false` stops it.
pub type Progress<'a> = dyn FnMut(u64, u64) -> bool + 'a;

/// Says what of a plan real hosts cannot do.
///
/// # Errors
/// The first such key.
pub fn check(plan: &Plan) -> Result<(), EmuError> {
    let refuse = |key: String, got: &str, wanted: &str| {
        Err(EmuError::Unsupported { key, got: got.into(), wanted: wanted.into() })
    };
    if plan.flows.len() > FLOWS_MAX {
        return refuse("flows".into(), &plan.flows.len().to_string(), "2000 at most");
    }
    for (i, flow) in plan.flows.iter().enumerate() {
        let Flow { transport, workload, .. } = flow;
        if !matches!(transport, Transport::Tcp) {
            return refuse(format!("flow[{i}].transport"), "quic", "tcp, the kernel's own");
        }
        if flow.max_rate_bps.is_some() && plan.host.traffic == plan::Traffic::Netcat {
            return refuse(
                format!("flow[{i}].max_rate"),
                "one",
                "none beside host.traffic = netcat",
            );
        }
        if workload.is_some() {
            return refuse(format!("flow[{i}].workload"), "one", "a transfer, as iperf3 makes it");
        }
    }
    Ok(())
}

/// Runs `plan` and writes its tables into `out`, which must exist. `controllers` are the kernel's names of
/// the flows' controllers, and `ask` has those tell of themselves that can.
///
/// # Errors
/// When the plan is not for real hosts, the system refuses something, or `progress` says stop.
pub fn run(
    plan: &Plan,
    controllers: &[String],
    ask: Box<Ask>,
    out: &Path,
    progress: &mut Progress<'_>,
) -> Result<Outcome, EmuError> {
    check(plan)?;
    let (mut hosts, near, far) = Hosts::new(plan)?;
    check_controllers(controllers, &hosts)?;
    let transfers = traffic::prepare(plan, controllers, &hosts, out)?;
    let diag = Diag::open(&hosts.senders)?;
    let shared = Shared::new(plan.flows.len());
    let clock = Clock::starting_in(AHEAD);
    let traffic = Traffic::Flows { own_receivers: !plan.host.shared_receiver };
    let mut router = Router::new(&on_the_wire(plan), traffic, (near, far), clock, shared.clone())?;
    router.capture =
        plan.record.pcap.then(|| PcapWriter::create(&out.join("trace.pcap"))).transpose()?;
    let every = Span::from_ns(plan.sample_ns);
    let (senders, times) = (hosts.senders.again().tried(|| "a namespace".into())?, (clock, every));
    let sampler = Sampler::new(
        out,
        plan.record.samples,
        (diag, plan.record.states.then_some(ask)),
        times,
        shared.clone(),
    )?;

    let sampling = thread::spawn(move || sampler.run(&senders));
    let routing = thread::spawn(move || router.run());
    let mut lives = Lives {
        plan,
        clock,
        transfers,
        shared: shared.clone(),
        ended: Vec::new(),
        memory: TcpMemory::new(),
    };
    let watched = lives.watch(progress);
    let dropped = tun::dropped(&hosts.senders) + tun::dropped(&hosts.receivers);
    shared.stop.store(true, Relaxed);
    let router = routing.join().expect("the loop does not panic");
    let sampler = sampling.join().expect("sampling does not panic");
    watched?;
    hosts.warnings.extend(lives.complaints());
    hosts.warnings.extend(lives.memory.warning());
    let ended = std::mem::take(&mut lives.ended);
    drop(lives);
    report::write(plan, controllers, out, Ended { router, sampler, hosts, ended, dropped })
}

fn check_controllers(controllers: &[String], hosts: &Hosts) -> Result<(), EmuError> {
    let known = hosts.controllers();
    match controllers.iter().enumerate().find(|(_, name)| !known.contains(name)) {
        None => Ok(()),
        Some((i, name)) => Err(EmuError::Unsupported {
            key: format!("flow[{i}].cca"),
            got: name.clone(),
            wanted: format!("one of {}", known.join(", ")),
        }),
    }
}

/// The plan with the sizes that connections carry.
fn on_the_wire(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let program = plan.host.traffic.program();
    for flow in &mut plan.flows {
        flow.size_bytes = flow.size_bytes.map(|size| program.connection_bytes(size));
    }
    plan
}

/// Starts and stops flows.
struct Lives<'a> {
    plan: &'a Plan,
    clock: Clock,
    transfers: Vec<Transfer>,
    shared: Arc<Shared>,
    /// (flow, when it was stopped, what its receiver had then).
    ended: Vec<(usize, Time, u64)>,
    memory: TcpMemory,
}

impl Lives<'_> {
    /// Waits for the end of the run, and does what is due on the way.
    fn watch(&mut self, progress: &mut Progress<'_>) -> Result<(), EmuError> {
        let mut due = self.appointments();
        let end = Time::from_ns(self.plan.duration_ns);
        loop {
            let now = self.clock.now();
            while due.last().is_some_and(|&(at, ..)| at <= now) {
                let (_, flow, is_start) = due.pop().expect("there is one");
                self.meet(now, flow, is_start);
            }
            self.memory.look(now);
            if now >= end {
                return Ok(());
            }
            if !progress(now.as_ns(), self.shared.delivered.load(Relaxed)) {
                return Err(EmuError::Stopped);
            }
            let next = due.last().map_or(end, |&(at, ..)| at);
            self.clock.sleep_until(next.min(now + TICK).min(end));
        }
    }

    /// (when, flow, whether it starts), the last first.
    fn appointments(&self) -> Vec<(Time, usize, bool)> {
        let flows = self.plan.flows.iter().enumerate();
        let both = |(i, flow): (usize, &Flow)| {
            [(Time::from_ns(flow.start_ns), i, true), (Time::from_ns(flow.stop_ns), i, false)]
        };
        let mut due: Vec<_> = flows.flat_map(both).collect();
        due.sort_unstable_by(|a, b| b.cmp(a));
        due
    }

    fn meet(&mut self, now: Time, flow: usize, is_start: bool) {
        if is_start {
            return self.transfers[flow].start();
        }
        let shared = &self.shared.flows[flow];
        if !shared.is_completed.load(Relaxed) {
            shared.is_closed.store(true, Relaxed);
            self.ended.push((flow, now, shared.delivered_bytes.load(Relaxed)));
            self.transfers[flow].stop();
        }
    }

    /// Flows whose client ended before its time.
    fn complaints(&mut self) -> Vec<String> {
        let mut out = Vec::new();
        for (i, transfer) in self.transfers.iter_mut().enumerate() {
            let shared = &self.shared.flows[i];
            let is_over = shared.is_closed.load(Relaxed) || shared.is_completed.load(Relaxed);
            if !is_over && transfer.has_ended() {
                out.push(format!(
                    "flow {i}: its client ended before its time; traffic/{i}.json says why"
                ));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(flow: &str) -> Plan {
        let text = format!(
            r#"{{"name": "x", "seed": 1, "duration_ns": 2000000000, "sample_ns": 100000000,
            "bottleneck": {{"rate_bps": 1000000, "burst_bytes": 3028,
                "qdisc": {{"kind": "fifo", "limit_bytes": 10000, "limit_packets": null}}}},
            "host": {{"hz": 1000, "qdisc": "pfifo", "tso": true, "gro": false, "ecn": "off", "rcvbuf_bytes": 0,
                "sndbuf_bytes": 0, "delayed_ack": true}},
            "flows": [{{"cca": "cubic", "params": {{}}, "rtt_ns": 20000000, "loss_ppb": 0, "jitter": null,
                "start_ns": 0, "stop_ns": 2000000000, "size_bytes": null, "max_rate_bps": null {flow}}}],
            "record": {{"samples": true, "queue": true, "events": true, "pcap": false}}}}"#
        );
        Plan::parse(&text).expect("a plan")
    }

    #[test]
    fn what_real_hosts_cannot_do_is_named_by_its_key() {
        let quic = r#", "transport": {"kind": "quic", "payload_bytes": 1200, "ack_every": 2,
            "ack_delay_ns": 25000000, "handshake": true, "initial_rtt_ns": 100000000}"#;
        let paced = r#", "workload": {"kind": "paced", "rate_bps": 1000, "message_bytes": 100}"#;
        for (flow, key) in
            [(quic, "flow[0].transport: got quic"), (paced, "flow[0].workload: got one")]
        {
            let error = check(&plan(flow)).expect_err(key).to_string();
            assert!(error.starts_with(key), "{error}");
        }
        assert!(check(&plan("")).is_ok());
    }
}
