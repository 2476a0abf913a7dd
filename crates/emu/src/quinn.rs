//! Flows of quinn: a UDP socket and a thread at either end of the path, which do what quinn-proto says, as an event loop
//! of a program would. Connections, controllers and crypto are the simulator's (`crates/quinn`); time, sockets and
//! their buffers are this machine's.

mod far;
mod near;
mod socket;

use crate::clock::MonotonicClock;
use crate::flows::{Client, RunState};
use crate::hosts::{Hosts, DATA_PORT};
use crate::netns::NetNs;
use crate::{Context, EmuError};
use cca::Modules;
use far::Received;
use net::rng::Rng;
use path::plan::{Flow, Plan, PlanError, Transport};
use quinn_ends::{plans, Cca, Happened, Receiver, Sender};
use record::EventKind;
use socket::Socket;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::thread::{self, JoinHandle, Thread};
use units::Time;

pub use near::Near;

/// Where servers listen: the port by which programs that read captures know QUIC, as in the simulator's.
const SERVER_PORT: u16 = 443;

/// Whether quinn carries a flow.
pub fn carries(flow: &Flow) -> bool {
    matches!(flow.transport, Transport::Quinn { .. })
}

/// Refuses controllers that quinn does not have and cannot drive.
///
/// # Errors
/// Names the flow's key.
pub fn check(plan: &Plan) -> Result<(), PlanError> {
    for i in (0..plan.flows.len()).filter(|&i| carries(&plan.flows[i])) {
        controller(plan, i)?;
    }
    Ok(())
}

fn controller(plan: &Plan, i: usize) -> Result<Cca, PlanError> {
    let flow = &plan.flows[i];
    plans::controller(plan, i, || {
        let made = Modules::default().controller(&flow.cca, &flow.params);
        made.map_err(|error| PlanError::Controller {
            key: format!("flows[{i}].cca"),
            said: error.to_string(),
        })
    })
}

/// The threads of one flow.
struct Ends {
    near: Arc<Near>,
    sending: JoinHandle<io::Result<()>>,
    receiving: JoinHandle<io::Result<Received>>,
}

/// All flows that quinn carries, by their numbers.
pub struct QuinnFlows(BTreeMap<usize, Ends>);

/// What starts and stops one of them.
pub struct QuinnClient {
    near: Arc<Near>,
    thread: Thread,
}

/// What its ends told of a flow.
#[derive(Default)]
pub struct Told {
    pub established: Option<Time>,
    /// When all of a finite transfer had arrived.
    pub completed: Option<Time>,
    /// Stream data that the receiving application has got.
    pub delivered_bytes: u64,
    /// Datagrams of the receiver.
    pub acks_sent: u64,
    /// What is known of the sender; of one that never started nothing is.
    pub sample: Option<quinn_ends::Sample>,
    /// What happened to the sender.
    pub events: Vec<(Time, EventKind, Option<i64>)>,
}

/// Starts both ends of all flows, which wait for their times.
///
/// # Errors
/// When a socket cannot be made, or a controller is refused.
pub fn start(
    plan: &Plan,
    hosts: &Hosts,
    clock: MonotonicClock,
    state: &Arc<RunState>,
) -> Result<QuinnFlows, EmuError> {
    let mut flows = BTreeMap::new();
    for i in (0..plan.flows.len()).filter(|&i| carries(&plan.flows[i])) {
        let cca = controller(plan, i)?;
        let seed = Rng::stream(plan.seed, &format!("flow{i}.cca")).next_u64();
        let config = plans::config(plan, i, seed).expect("quinn carries it");
        let config = quinn_ends::Config { makes_up: true, ..config };
        let [from, to] = hosts.ends(plan, i);
        let (own, peer) = (
            SocketAddrV4::new(from.address, DATA_PORT),
            SocketAddrV4::new(to.address, SERVER_PORT),
        );
        let near_socket = socket(from.netns, own, peer)?;
        let far_socket = socket(to.netns, peer, own)?;

        let states = cca.states();
        let mut sender = Sender::new(config, cca);
        sender.set_record_events();
        sender.supply_transfer(plan.flows[i].size_bytes);
        let near = Arc::new(Near::new(sender, plan.flows[i].cca.clone(), states));
        let (its, run) = (near.clone(), state.clone());
        let sending = thread::spawn(move || its.run(near_socket, clock, &run, i));
        let run = state.clone();
        let receiver = Receiver::new(&config);
        let receiving = thread::spawn(move || far::run(receiver, far_socket, clock, &run, i));
        flows.insert(i, Ends { near, sending, receiving });
    }
    Ok(QuinnFlows(flows))
}

fn socket(netns: &NetNs, own: SocketAddrV4, peer: SocketAddrV4) -> Result<Socket, EmuError> {
    netns.within(|| Socket::new(own, peer)).context(|| format!("a UDP socket at {own}"))
}

impl QuinnFlows {
    /// What starts and stops flow `i`, if quinn carries it.
    pub fn client(&self, i: usize) -> Option<QuinnClient> {
        let ends = self.0.get(&i)?;
        Some(QuinnClient { near: ends.near.clone(), thread: ends.sending.thread().clone() })
    }

    /// The senders, for samples.
    pub fn senders(&self) -> Vec<(usize, Arc<Near>)> {
        self.0.iter().map(|(&i, ends)| (i, ends.near.clone())).collect()
    }

    /// Waits until the threads have seen that the run has stopped; what they tell, and what went wrong.
    pub fn finish(self, hosts: &Hosts) -> (BTreeMap<usize, Told>, Vec<String>) {
        let mut warnings = Vec::new();
        if self.0.is_empty() {
            return (BTreeMap::new(), warnings);
        }
        let told = self.0.into_iter().map(|(i, ends)| {
            let sent = ends.sending.join().expect("sending does not panic");
            let received = ends.receiving.join().expect("receiving does not panic");
            let errors = [sent.as_ref().err(), received.as_ref().err()];
            let errors = errors.into_iter().flatten();
            warnings.extend(errors.map(|error| format!("flow {i}: its UDP socket: {error}")));
            (i, told(&ends.near, received.unwrap_or_default()))
        });
        let told = told.collect();
        let overflows = socket::overflows(&hosts.senders) + socket::overflows(&hosts.receivers);
        if overflows > 0 {
            warnings.push(format!(
                "{overflows} datagrams were lost in UDP sockets, because this machine was busy: flows of quinn saw more \
                 losses than the path has"
            ));
        }
        (told, warnings)
    }
}

fn told(near: &Near, received: Received) -> Told {
    let (sample, happened) = near.finish();
    let established = happened.iter().find(|one| one.1 == Happened::Established);
    let event = |&(at, happened): &(Time, Happened)| match happened {
        Happened::Established => None,
        Happened::Lost(packets) => Some((at, EventKind::LossDetected, Some(i64::from(packets)))),
        Happened::Collapse => Some((at, EventKind::Rto, None)),
    };
    Told {
        established: established.map(|one| one.0),
        completed: received.completed,
        delivered_bytes: received.delivered_bytes,
        acks_sent: received.acks_sent,
        sample,
        events: happened.iter().filter_map(event).collect(),
    }
}

impl Client for QuinnClient {
    fn start(&mut self) {
        self.near.start();
        self.thread.unpark();
    }

    /// The thread sees that its flow is over.
    fn stop(&self) {}

    /// Errors are told when the run has ended.
    fn has_ended(&mut self) -> bool {
        false
    }
}
