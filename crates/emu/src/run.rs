//! A run: hosts, flows and path of a plan, in real time.

use crate::classify::Classifier;
use crate::clock::MonotonicClock;
use crate::diag::Diag;
use crate::flows::{Client, FlowSchedule, Progress, RunState};
use crate::hosts::Hosts;
use crate::quinn::{self, Near, QuinnFlows};
use crate::report::{self, Ended, Outcome};
use crate::router::Router;
use crate::sampler::{ReadControllers, SampledHosts, Sampler, Sources};
use crate::traffic::Transfer;
use crate::tun::{self, TunPair};
use crate::{probes, traffic, Context, EmuError};
use path::plan::{self, Direction, EcnMode, Flow, FlowHost, Nic, Plan, Transport};
use record::{PcapWriter, TableWriter, Watch};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::thread;
use units::Span;

/// Between the last preparation and the start of the run.
const AHEAD: Span = Span::from_ms(100);
/// Maximum number of flows: each has an address, 10.1.0.1 to 10.1.255.254.
const FLOWS_MAX: usize = 2_000;
/// Maximum number of flows of quinn: each has two threads.
const QUINN_MAX: usize = 250;
/// Maximum number of series of probes: each has two threads.
const PROBES_MAX: usize = 250;

fn refuse(key: String, got: &str, wanted: &str) -> Result<(), EmuError> {
    Err(EmuError::Unsupported { key, got: got.into(), wanted: wanted.into() })
}

/// Refuses a plan that real hosts cannot run.
///
/// # Errors
/// Names the first such key.
pub fn check(plan: &Plan) -> Result<(), EmuError> {
    if plan.flows.len() > FLOWS_MAX {
        return refuse("flows".into(), &plan.flows.len().to_string(), "2000 at most");
    }
    let quinns = plan.flows.iter().filter(|flow| quinn::carries(flow)).count();
    if quinns > QUINN_MAX {
        return refuse("flow.transport".into(), &format!("{quinns} of quinn"), "250 at most");
    }
    if plan.host.nic == Nic::Virtual {
        let wanted = "physical: the path carries frames; --on sim and uml carry bursts whole";
        return refuse("host.nic".into(), "virtual", wanted);
    }
    if plan.probes.len() > PROBES_MAX {
        return refuse(
            "flow.workload".into(),
            &plan.probes.len().to_string(),
            "250 series of probes at most",
        );
    }
    for (i, flow) in plan.flows.iter().enumerate() {
        check_flow(plan, i, flow)?;
    }
    Ok(quinn::check(plan)?)
}

fn check_flow(plan: &Plan, i: usize, flow: &Flow) -> Result<(), EmuError> {
    let Flow { transport, workload, .. } = flow;
    if matches!(transport, Transport::Quic { .. } | Transport::Udp { .. }) {
        return refuse(
            format!("flow[{i}].transport"),
            transport.name(),
            "tcp, the kernel's own, or quinn",
        );
    }
    // Our controllers count in ticks of their own inside quinn.
    let hz = flow.host.hz.filter(|_| !quinn::carries(flow));
    if let Some(receiver) = flow.receiver {
        let wanted = "none: the kernel's receiver keeps the rules; --on sim has others";
        return refuse(format!("flow[{i}].receiver"), receiver.name(), wanted);
    }
    // These are of a flow's route.
    let host = FlowHost { ecn: None, initial_window: None, hz, ..flow.host };
    if host != FlowHost::default() || flow.host.ecn == Some(EcnMode::Accurate) {
        let wanted =
            "ecn, on or off, and initial_window alone: all senders are one host; --on sim allows more";
        return refuse(format!("flow[{i}].host"), "settings of its own", wanted);
    }
    let is_netcat = plan.host.traffic == plan::Traffic::Netcat && !quinn::carries(flow);
    if flow.max_rate_bps.is_some() && is_netcat {
        return refuse(format!("flow[{i}].max_rate"), "one", "none with host.traffic = netcat");
    }
    if workload.is_some() {
        return refuse(format!("flow[{i}].workload"), "one", "a transfer, as iperf3 makes it");
    }
    Ok(())
}

/// Runs `plan` and writes its tables into `out`, which must exist. `controllers` are the kernel's names of the flows'
/// controllers, and `read_controllers` reads those of ours. `watch` gets the rows of samples and queue while the run
/// goes on.
///
/// # Errors
/// When the plan is not for real hosts, the system refuses something, or `progress` says stop.
pub fn run(
    plan: &Plan,
    controllers: &[String],
    read_controllers: Box<ReadControllers>,
    out: &Path,
    watch: Option<Watch>,
    progress: &mut Progress<'_>,
) -> Result<Outcome, EmuError> {
    check(plan)?;
    let (mut hosts, devices) = Hosts::new(plan)?;
    check_controllers(plan, controllers, &hosts)?;
    let transfers = traffic::prepare(plan, controllers, &hosts, out)?;
    let state = RunState::watched(plan.flows.len(), watch);
    let clock = MonotonicClock::starting_in(AHEAD);
    let router = router(plan, devices, clock, &state, out)?;
    let quinn = quinn::start(plan, &hosts, clock, &state)?;
    let sampler = sampler(plan, &hosts, read_controllers, quinn.senders(), clock, &state, out)?;
    let probers = probes::start(plan, &hosts, clock, &state)?;

    let sampling = thread::spawn(move || sampler.run());
    let routing = thread::spawn(move || router.run_realtime());
    let mut schedule =
        FlowSchedule::new(plan, clock, clients(plan, transfers, &quinn), state.clone());
    let ended = schedule.run(progress);
    let dropped = tun::dropped(&hosts.senders) + tun::dropped(&hosts.receivers);
    state.stop.store(true, Relaxed);
    let (routed, _devices) = routing.join().expect("the loop does not panic");
    let samples = sampling.join().expect("sampling does not panic");
    hosts.warnings.extend(probers.finish());
    let (told, warnings) = quinn.finish(&hosts);
    hosts.warnings.extend(warnings);
    ended?;
    if routed.forward.excess().or(routed.back.excess()).is_some() {
        return Err(EmuError::Limit { limit: plan.limits.memory_bytes, at: routed.end });
    }
    hosts.warnings.extend(schedule.warnings());
    let ended = Ended {
        routed,
        samples: samples?,
        told,
        stopped: schedule.finish(),
        dropped,
        controllers: controllers.into(),
        sysctls: hosts.sysctls,
        warnings: hosts.warnings,
    };
    report::write(plan, out, ended)
}

/// What starts and stops each flow.
fn clients(
    plan: &Plan,
    mut transfers: BTreeMap<usize, Transfer>,
    quinn: &QuinnFlows,
) -> Vec<Box<dyn Client>> {
    let client = |i| -> Box<dyn Client> {
        match quinn.client(i) {
            Some(client) => Box::new(client),
            None => Box::new(transfers.remove(&i).expect("TCP carries it")),
        }
    };
    (0..plan.flows.len()).map(client).collect()
}

fn sampler(
    plan: &Plan,
    hosts: &Hosts,
    read_controllers: Box<ReadControllers>,
    quinn: Vec<(usize, Arc<Near>)>,
    clock: MonotonicClock,
    state: &Arc<RunState>,
    out: &Path,
) -> Result<Sampler<MonotonicClock, Diag>, EmuError> {
    let mut sampled = Vec::new();
    for (way, netns) in [(Direction::Down, &hosts.senders), (Direction::Up, &hosts.receivers)] {
        // Without flows the other way there are no sockets to sample, and listing them takes time.
        if plan.flows.iter().any(|flow| flow.direction == way && !quinn::carries(flow)) {
            let inside = netns.try_clone().context(|| "a namespace".into())?;
            let enter = Box::new(move || inside.enter());
            sampled.push(SampledHosts { sockets: Diag::open(netns)?, enter });
        }
    }
    let sources = Sources {
        hosts: sampled,
        quinn,
        controllers: plan.record.states.then_some(read_controllers),
    };
    let rows = TableWriter::create(out, plan.record.samples)?;
    let every = Span::from_ns(plan.sample_ns);
    Ok(Sampler::new(clock, every, sources, rows, state.clone()))
}

fn router(
    plan: &Plan,
    devices: TunPair,
    clock: MonotonicClock,
    state: &Arc<RunState>,
    out: &Path,
) -> Result<Router<MonotonicClock, TunPair>, EmuError> {
    let classifier = Classifier::by_address(plan);
    let sized = with_connection_sizes(plan);
    let mut router = Router::new(&sized, classifier, devices, clock, state.clone())?;
    if plan.record.pcap {
        router.capture_to(PcapWriter::create(&out.join("trace.pcap"))?);
    }
    Ok(router)
}

fn check_controllers(plan: &Plan, controllers: &[String], hosts: &Hosts) -> Result<(), EmuError> {
    let known = hosts.controllers();
    let of_kernel = controllers.iter().enumerate().zip(&plan.flows);
    let mut of_kernel = of_kernel.filter(|(_, flow)| !quinn::carries(flow));
    match of_kernel.find(|((_, name), _)| !known.contains(name)) {
        None => Ok(()),
        Some(((i, name), _)) => Err(EmuError::Unsupported {
            key: format!("flow[{i}].cca"),
            got: name.clone(),
            wanted: format!("one of {}", known.join(", ")),
        }),
    }
}

/// The plan with the sizes that connections carry, which the programs add to.
fn with_connection_sizes(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let program = plan.host.traffic.program();
    for flow in plan.flows.iter_mut().filter(|flow| !quinn::carries(flow)) {
        flow.size_bytes = flow.size_bytes.map(|size| program.connection_bytes(size));
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::plan;

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
        let quinn = r#", "transport": {"kind": "quinn", "datagram_bytes": 1200}"#;
        assert!(check(&plan(quinn)).is_ok(), "with our CUBIC");
        let mut marked = plan(quinn);
        marked.flows[0].cca = "dctcp".into();
        let error = check(&marked).expect_err("quinn does not count marks").to_string();
        assert!(error.starts_with("flows[0].cca: "), "{error}");
        assert!(check(&plan(r#", "host": {"ecn": "classic"}"#)).is_ok());
        let error = check(&plan(r#", "host": {"tso": false}"#)).expect_err("one host").to_string();
        assert!(error.starts_with("flow[0].host: got settings of its own, wanted ecn"), "{error}");
        let mut whole = plan("");
        whole.host.nic = Nic::Virtual;
        let error = check(&whole).expect_err("bursts are cut").to_string();
        assert!(error.starts_with("host.nic: got virtual, wanted physical"), "{error}");
    }
}
