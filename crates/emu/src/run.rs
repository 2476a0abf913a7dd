//! A run: hosts, flows and path of a plan, in real time.

use crate::clock::MonotonicClock;
use crate::diag::Diag;
use crate::flows::{FlowSchedule, RunState};
use crate::frame::Classifier;
use crate::hosts::Hosts;
use crate::report::{self, Ended, Outcome};
use crate::router::Router;
use crate::sampler::{ReadControllers, Sampler, Sources};
use crate::tun::{self, TunPair};
use crate::{traffic, Context, EmuError};
use path::plan::{self, EcnMode, Flow, FlowHost, Nic, Plan, Transport};
use record::{PcapWriter, TableWriter};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::thread;
use units::Span;

/// Between the last preparation and the start of the run.
const AHEAD: Span = Span::from_ms(100);
/// Maximum number of flows: each has an address, 10.1.0.1 to 10.1.255.254.
const FLOWS_MAX: usize = 2_000;

/// Reports how far the run is (ns, data packets delivered); `false` stops it.
pub type Progress<'a> = dyn FnMut(u64, u64) -> bool + 'a;

/// Refuses a plan that real hosts cannot run.
///
/// # Errors
/// Names the first such key.
pub fn check(plan: &Plan) -> Result<(), EmuError> {
    let refuse = |key: String, got: &str, wanted: &str| {
        Err(EmuError::Unsupported { key, got: got.into(), wanted: wanted.into() })
    };
    if plan.flows.len() > FLOWS_MAX {
        return refuse("flows".into(), &plan.flows.len().to_string(), "2000 at most");
    }
    if plan.host.nic == Nic::Virtual {
        let wanted = "physical: the path carries frames; --on sim and uml carry bursts whole";
        return refuse("host.nic".into(), "virtual", wanted);
    }
    if !plan.probes.is_empty() {
        return refuse("flow.workload".into(), "probes", "none; --on sim and uml have them");
    }
    for (i, flow) in plan.flows.iter().enumerate() {
        let Flow { transport, workload, .. } = flow;
        if flow.is_up() {
            return refuse(format!("flow[{i}].direction"), "up", "down; --on sim has both");
        }
        if !matches!(transport, Transport::Tcp) {
            return refuse(format!("flow[{i}].transport"), "quic", "tcp, the kernel's own");
        }
        let host = FlowHost { ecn: None, ..flow.host };
        if host != FlowHost::default() || flow.host.ecn == Some(EcnMode::Accurate) {
            let wanted = "ecn, on or off, alone: all senders are one host; --on sim allows more";
            return refuse(format!("flow[{i}].host"), "settings of its own", wanted);
        }
        if flow.max_rate_bps.is_some() && plan.host.traffic == plan::Traffic::Netcat {
            return refuse(format!("flow[{i}].max_rate"), "one", "none with host.traffic = netcat");
        }
        if workload.is_some() {
            return refuse(format!("flow[{i}].workload"), "one", "a transfer, as iperf3 makes it");
        }
    }
    Ok(())
}

/// Runs `plan` and writes its tables into `out`, which must exist. `controllers` are the kernel's names of the flows'
/// controllers, and `read_controllers` reads those of ours.
///
/// # Errors
/// When the plan is not for real hosts, the system refuses something, or `progress` says stop.
pub fn run(
    plan: &Plan,
    controllers: &[String],
    read_controllers: Box<ReadControllers>,
    out: &Path,
    progress: &mut Progress<'_>,
) -> Result<Outcome, EmuError> {
    check(plan)?;
    let (mut hosts, devices) = Hosts::new(plan)?;
    check_controllers(controllers, &hosts)?;
    let transfers = traffic::prepare(plan, controllers, &hosts, out)?;
    let state = RunState::new(plan.flows.len());
    let clock = MonotonicClock::starting_in(AHEAD);
    let router = router(plan, devices, clock, &state, out)?;
    let sampler = sampler(plan, &hosts, read_controllers, clock, &state, out)?;

    let senders = hosts.senders.try_clone().context(|| "a namespace".into())?;
    let sampling = thread::spawn(move || sampler.run(|| senders.enter()));
    let routing = thread::spawn(move || router.run_realtime());
    let mut schedule = FlowSchedule::new(plan, clock, transfers, state.clone());
    let ended = schedule.run(progress);
    let dropped = tun::dropped(&hosts.senders) + tun::dropped(&hosts.receivers);
    state.stop.store(true, Relaxed);
    let (routed, _devices) = routing.join().expect("the loop does not panic");
    let samples = sampling.join().expect("sampling does not panic");
    ended?;
    hosts.warnings.extend(schedule.warnings());
    let ended = Ended {
        routed,
        samples: samples?,
        stopped: schedule.finish(),
        dropped,
        controllers: controllers.into(),
        sysctls: hosts.sysctls,
        warnings: hosts.warnings,
    };
    report::write(plan, out, ended)
}

fn sampler(
    plan: &Plan,
    hosts: &Hosts,
    read_controllers: Box<ReadControllers>,
    clock: MonotonicClock,
    state: &Arc<RunState>,
    out: &Path,
) -> Result<Sampler<MonotonicClock, Diag>, EmuError> {
    let sources = Sources {
        sockets: Diag::open(&hosts.senders)?,
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
    let classifier = Classifier::ByAddress { own_receivers: !plan.host.shared_receiver };
    let sized = with_connection_sizes(plan);
    let mut router = Router::new(&sized, classifier, devices, clock, state.clone())?;
    if plan.record.pcap {
        router.capture_to(PcapWriter::create(&out.join("trace.pcap"))?);
    }
    Ok(router)
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

/// The plan with the sizes that connections carry, which the programs add to.
fn with_connection_sizes(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let program = plan.host.traffic.program();
    for flow in &mut plan.flows {
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
        assert!(check(&plan(r#", "host": {"ecn": "classic"}"#)).is_ok());
        let error = check(&plan(r#", "host": {"tso": false}"#)).expect_err("one host").to_string();
        assert!(error.starts_with("flow[0].host: got settings of its own, wanted ecn"), "{error}");
        let mut whole = plan("");
        whole.host.nic = Nic::Virtual;
        let error = check(&whole).expect_err("bursts are cut").to_string();
        assert!(error.starts_with("host.nic: got virtual, wanted physical"), "{error}");
    }
}
