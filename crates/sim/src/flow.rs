//! One flow: its two ends, and what is kept of them.

use crate::application::Application;
use crate::controllers;
use crate::ends::Ends;
use crate::quinn::Quinn;
use crate::udp::Udp;
use cca::{Controller, Modules, TcpSock};
use net::fetch::fetch_line;
use net::host::Nic;
use net::rng::Rng;
use path::histogram::Histogram;
use path::memory;
use path::plan::{self, Plan, PlanError};
use quinn_ends::plans;
use transport::app::{self, Length, Workload};
use transport::common::Stream;
use transport::tcp::{Feedback, HostConfig};
use transport::{quic, tcp};
use units::{Rate, Span, Time};

/// A finite transfer is read as it arrives, an endless one in pieces of this many bytes.
const RCVLOWAT: u32 = 32_768;

/// Where a flow is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Waiting,
    Running,
    Ended { at: Time, completed: bool },
}

/// What each packet asks for comes first, in two cache lines.
#[repr(C, align(64))]
pub struct Flow {
    pub ends: Ends,
    /// The application, where the flow is not one transfer.
    pub app: Option<Box<Application>>,
    /// One-way delays of the packets that arrived.
    pub one_way: Histogram,
    pub established: Option<Time>,
    /// Names of the controller's states.
    pub states: Box<[&'static str]>,
    /// Retransmissions that events have reported.
    pub retrans_recorded: u64,
    /// Controller state last recorded.
    pub cca_state: Option<u32>,
    /// Its data go up.
    pub is_up: bool,
    /// What becomes of its bursts at the sender's network interface.
    pub nic: Nic,
    pub life: Life,
    pub start: Time,
    pub stop: Time,
    pub size: Option<u64>,
    /// Bytes with which its program opens the connection, and which are no goodput.
    greeting: u64,
    /// Goodput when the flow ended, bytes.
    pub goodput_at_end: u64,
    /// Pure acknowledgements that had been sent when it ended.
    pub acks_at_end: u64,
    /// Smoothed RTT at each sample, us.
    pub srtt_samples: Vec<u32>,
    /// Smallest RTT measured until the last sample, us; TCP itself forgets one after five minutes.
    pub min_rtt_us: u32,
    pub goodput_at_sample: u64,
    pub sampled_at: Time,
}

const _: () = assert!(std::mem::offset_of!(Flow, nic) < 2 * 64);

impl Flow {
    pub fn new(
        plan: &Plan,
        i: usize,
        modules: &Modules,
        limits: memory::Limits,
    ) -> Result<Flow, PlanError> {
        let p = &plan.flows[i];
        let made = || {
            let made = modules.controller(&p.cca, &p.params);
            made.map_err(|error| controllers::refused(i, &error))
        };
        let ends = match p.transport {
            plan::Transport::Tcp => tcp_ends(plan, i, made()?, limits),
            plan::Transport::Quic { .. } => quic_ends(plan, i, made()?),
            plan::Transport::Quinn { .. } => {
                let cca = plans::controller(plan, i, made)?;
                Ends::Quinn(Box::new(Quinn::new(plan, i, cca, seed(plan, i))))
            }
            plan::Transport::Udp { ecn } => Ends::Udp(Box::new(Udp::new(ecn))),
        };
        Ok(Flow {
            states: ends.states().into(),
            ends,
            app: application(plan, i).map(Box::new),
            life: Life::Waiting,
            is_up: p.is_up(),
            nic: plan.host_of(i).nic,
            one_way: Histogram::default(),
            start: Time::from_ns(p.start_ns),
            stop: Time::from_ns(p.stop_ns),
            size: p.size_bytes,
            established: None,
            greeting: greeting_bytes(plan, p),
            goodput_at_end: 0,
            acks_at_end: 0,
            srtt_samples: Vec::new(),
            min_rtt_us: u32::MAX,
            goodput_at_sample: 0,
            sampled_at: Time::ZERO,
            cca_state: None,
            retrans_recorded: 0,
        })
    }

    /// Asks for the memory that packets of it need: its first two cache lines.
    #[inline]
    pub fn fetch(&self) {
        fetch_line(&self.ends);
        fetch_line(&self.established);
    }

    /// Messages of its application, which are kept until the flow ends.
    pub fn messages_held(&self) -> u64 {
        self.app.as_ref().map_or(0, |app| app.messages().len() as u64)
    }

    /// Payload that the application has received so far, without a greeting.
    pub fn received_bytes(&self) -> u64 {
        self.ends.delivered_bytes().saturating_sub(self.greeting)
    }

    /// Payload that the application has received while the flow was open.
    pub fn goodput_bytes(&self) -> u64 {
        match self.life {
            Life::Ended { .. } => self.goodput_at_end,
            Life::Waiting | Life::Running => self.received_bytes(),
        }
    }

    /// Pure acknowledgements that were sent until its application stopped, or all of a transfer that completed.
    pub fn acks_sent(&self) -> u64 {
        match self.life {
            Life::Ended { completed: false, .. } => self.acks_at_end,
            _ => self.ends.acks_sent(),
        }
    }

    pub fn is_running(&self) -> bool {
        self.life == Life::Running
    }
}

fn tcp_ends(plan: &Plan, i: usize, controller: Controller, limits: memory::Limits) -> Ends {
    let p = &plan.flows[i];
    let config =
        HostConfig { up_earlier: up_earlier(plan, i), ..host_config(&plan.host_of(i), p, limits) };
    let stream = match p.size_bytes {
        _ if is_application(plan, p) => Stream::EMPTY,
        Some(bytes) => Stream::of_bytes(bytes, config.mss),
        None => Stream::GREEDY,
    };
    let feedback = Feedback::of(&controller, config.ecn);
    let mut sender = tcp::Sender::new(controller, config, stream, seed(plan, i));
    if let Some(rate) = p.max_rate_bps {
        sender.set_max_pacing_rate(rate / 8);
    }
    if plan.record.events {
        sender.sk.set_record_events();
    }
    connect(&mut sender.sk, plan, i);
    let receiver = tcp::Receiver::new(config, stream.segments, stream.last_len, feedback)
        .misbehaving(p.receiver.map(misconduct), stream.segments);
    Ends::Tcp(Box::new(sender), Box::new(receiver))
}

/// What a receiver of the plan does in terms of the transport.
fn misconduct(receiver: plan::Receiver) -> tcp::Misconduct {
    match receiver {
        plan::Receiver::AckDivision { pieces } => tcp::Misconduct::DividesAcks { pieces },
        plan::Receiver::OptimisticAcks { ahead } => {
            tcp::Misconduct::AcknowledgesAhead { segments: ahead }
        }
        plan::Receiver::DupackSpoofing { copies } => tcp::Misconduct::RepeatsAcks { copies },
    }
}

fn quic_ends(plan: &Plan, i: usize, controller: Controller) -> Ends {
    let (p, host) = (&plan.flows[i], plan.host_of(i));
    let plan::Transport::Quic {
        payload_bytes,
        ack_every,
        ack_delay_ns,
        handshake,
        initial_rtt_ns,
        initial_sample,
        write_bytes,
        window_unit_bytes,
        part_bytes,
        packet_threshold,
        adaptive_thresholds,
        initial_window,
        clock_ns,
        clock_offset_ns,
        poll_ns,
        rto_min_ns,
        counts_sent,
        prr,
        compact,
    } = p.transport
    else {
        unreachable!("matched by the caller")
    };
    let default = quic::Config::default();
    let config = quic::Config {
        hz: host.hz,
        payload: payload_bytes,
        write: write_bytes.unwrap_or(default.write),
        ack_every,
        max_ack_delay: Span::from_ns(ack_delay_ns),
        handshake,
        window_unit: window_unit_bytes,
        part: part_bytes.unwrap_or(default.part),
        initial_rtt: Span::from_ns(initial_rtt_ns),
        initial_sample,
        packet_threshold: packet_threshold.unwrap_or(default.packet_threshold),
        adaptive_thresholds,
        initial_window: initial_window.unwrap_or(host.initial_window),
        clock: clock_ns.map_or(default.clock, Span::from_ns),
        clock_offset: clock_offset_ns.map_or(default.clock_offset, Span::from_ns),
        poll: poll_ns.map_or(default.poll, Span::from_ns),
        rto_min: rto_min_ns.map_or(default.rto_min, Span::from_ns),
        counts_sent,
        prr,
        compact,
        ecn: host.ecn != plan::EcnMode::Off,
        ..default
    };
    let stream = p.size_bytes.map_or(Stream::GREEDY, |b| config.cut().stream(b));
    let mut sender = quic::Sender::new(controller, config, stream, seed(plan, i));
    if let Some(rate) = p.max_rate_bps {
        sender.set_max_pacing_rate(rate / 8);
    }
    if plan.record.events {
        sender.sk.set_record_events();
    }
    connect(&mut sender.sk, plan, i);
    let receiver = quic::Receiver::new(config, stream.segments, stream.last_len);
    Ends::Quic(Box::new(sender), Box::new(receiver))
}

/// Whether an application writes in pieces, and not all at once or without end from the start.
fn is_application(plan: &Plan, flow: &plan::Flow) -> bool {
    flow.workload.is_some() || greeting_bytes(plan, flow) > 0
}

/// Bytes with which the program of a transfer opens its connection.
fn greeting_bytes(plan: &Plan, flow: &plan::Flow) -> u64 {
    let greets = flow.workload.is_none() && matches!(flow.transport, plan::Transport::Tcp);
    if greets {
        plan.host.traffic.greeting_bytes()
    } else {
        0
    }
}

/// The application, where the flow is not one transfer from the start.
fn application(plan: &Plan, i: usize) -> Option<Application> {
    let (p, program) = (&plan.flows[i], plan.host.traffic);
    if !is_application(plan, p) {
        return None;
    }
    let transfer = p
        .size_bytes
        .map_or(Workload::Greedy, |size| Workload::Sized { bytes: program.transfer_bytes(size) });
    let (workload, greeting) = match &p.workload {
        Some(w) => (workload(w), 0),
        None => (transfer, program.greeting_bytes()),
    };
    let rng = Rng::stream(plan.seed, &format!("flow{i}.app"));
    let back = Span::from_ns(p.rtt_ns - p.rtt_ns / 2);
    let application = Application::new(workload, greeting, back, rng);
    Some(if p.transport.is_acknowledged() { application } else { application.without_messages() })
}

/// Tells a loaded module between which addresses its flow goes: those of the capture, but receivers that are one host have
/// one address, the first one's. Receivers of flows that go up are hosts of their own.
fn connect(sk: &mut TcpSock, plan: &Plan, i: usize) {
    let flow = &plan.flows[i];
    let is_datagrams = !matches!(flow.transport, plan::Transport::Tcp);
    let is_shared = plan.host.shared_receiver && !flow.is_up();
    let (from, own) = record::pcap::ends(i as u32, is_datagrams);
    let (_, first) = record::pcap::ends(0, is_datagrams);
    sk.connect(from, if is_shared { first } else { own });
}

/// Seed of a controller's own draws.
fn seed(plan: &Plan, i: usize) -> u64 {
    Rng::stream(plan.seed, &format!("flow{i}.cca")).next_u64()
}

/// How much earlier the hosts of a flow booted than one host that has all flows: nothing where they share a processor.
/// Random otherwise, up to the coarsest unit in which their timers expire (4096 ticks).
fn up_earlier(plan: &Plan, i: usize) -> (Span, Span) {
    if plan.host.shared_processor {
        return (Span::ZERO, Span::ZERO);
    }
    let longest = 4096 * 1_000_000_000 / u64::from(plan.host_of(i).hz);
    let host = |name: &str| Span::from_ns(Rng::stream(plan.seed, name).below(longest));
    let receiver = if plan.host.shared_receiver {
        "receivers.boot".into()
    } else {
        format!("flow{i}.receiver.boot")
    };
    (host(&format!("flow{i}.sender.boot")), host(&receiver))
}

fn host_config(host: &plan::Host, flow: &plan::Flow, limits: memory::Limits) -> HostConfig {
    HostConfig {
        hz: host.hz,
        qdisc: host.qdisc,
        tso: host.tso,
        cuts_bursts: host.nic == Nic::Physical,
        gro: host.gro,
        delayed_ack: host.delayed_ack,
        ecn: host.ecn,
        nodelay: host.nodelay,
        slow_start_after_idle: host.slow_start_after_idle,
        initial_window: host.initial_window,
        rcvbuf: (host.rcvbuf_initial_bytes(), limits.rcvbuf_of(host)),
        sndbuf: limits.sndbuf_of(host),
        // A greeting is one write; a transfer that is smaller is one, too.
        write: host.traffic.write_bytes(flow.size_bytes).max(host.traffic.greeting_bytes()),
        rcvlowat: match host.traffic {
            plan::Traffic::Auto if flow.size_bytes.is_none() && flow.workload.is_none() => RCVLOWAT,
            _ => 1,
        },
        ..HostConfig::default()
    }
}

fn workload(plan: &plan::Workload) -> Workload {
    match *plan {
        plan::Workload::OnOff { on, off, rate_bps, message_bytes } => Workload::OnOff {
            on: length(on),
            off: length(off),
            burst: match rate_bps {
                None => app::Burst::Greedy,
                Some(bps) => {
                    app::Burst::Paced { rate: Rate::from_bps(bps), message: message_bytes }
                }
            },
        },
        plan::Workload::Paced { rate_bps, message_bytes } => {
            Workload::Paced { rate: Rate::from_bps(rate_bps), message: message_bytes }
        }
        plan::Workload::RequestResponse { response_bytes, think, count } => {
            Workload::RequestResponse { response: response_bytes, think: length(think), count }
        }
    }
}

fn length(plan: plan::Duration) -> Length {
    let span = Span::from_ns(plan.ns);
    if plan.exponential {
        Length::Exponential(span)
    } else {
        Length::Fixed(span)
    }
}
