//! One flow: its two ends and the pipes between them and the bottleneck.

use crate::plan::{self, Plan, PlanError};
use cca::Modules;
use net::delay::{Distribution, Jitter, JitterPipe, Pipe};
use net::impair::BernoulliLoss;
use net::rng::Rng;
use net::{flags, Ack, Packet};
use transport::tcp::{Burst, HostConfig, HostQdisc, Receiver, Sender, Stream};
use units::{Span, Time};

/// Receive buffer before any tuning when the plan sets none, bytes.
const RCVBUF_LARGE: (u64, u64) = (16 << 20, 1 << 30);
/// Linux's default receive buffer, bytes (`tcp_rmem[1]`).
const RCVBUF_DEFAULT: u64 = 131_072;
/// A finite transfer is read as it arrives, an endless one in pieces of this many bytes.
const RCVLOWAT: u32 = 32_768;

/// Data direction between sender and bottleneck.
pub enum Forward {
    /// Constant delay.
    Constant(Span, Pipe<Packet>),
    /// Random delay.
    Jittered(JitterPipe<Packet>),
}

impl Forward {
    #[inline]
    pub fn push(&mut self, now: Time, packet: Packet) {
        match self {
            Forward::Constant(delay, pipe) => {
                pipe.push((now + *delay).max(pipe.last_out()), packet)
            }
            Forward::Jittered(pipe) => pipe.push(now, packet),
        }
    }

    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<Packet> {
        match self {
            Forward::Constant(_, pipe) => pipe.pop(now),
            Forward::Jittered(pipe) => pipe.pop(now),
        }
    }

    #[inline]
    pub fn next_wakeup(&self) -> Option<Time> {
        match self {
            Forward::Constant(_, pipe) => pipe.next_wakeup(),
            Forward::Jittered(pipe) => pipe.next_wakeup(),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Forward::Constant(_, pipe) => pipe.len(),
            Forward::Jittered(pipe) => pipe.len(),
        }
    }
}

/// Where a flow is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Waiting,
    Running,
    Ended { at: Time, completed: bool },
}

/// Packets of the flow by what became of them; their sum is what was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fate {
    pub sent: u64,
    pub random_drops: u64,
    pub queue_drops: u64,
    pub delivered: u64,
}

pub struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
    pub forward: Forward,
    pub back_delay: Span,
    pub back: Pipe<Ack>,
    pub loss: BernoulliLoss,
    pub life: Life,
    pub fate: Fate,
    pub rtt_ms: f64,
    pub start: Time,
    pub stop: Time,
    pub size: Option<u64>,
    pub established: Option<Time>,
    /// Goodput when the flow ended, bytes.
    pub goodput_at_end: u64,
    /// Smoothed RTT at each sample, us.
    pub srtt_samples: Vec<u32>,
    pub goodput_at_sample: u64,
    pub sampled_at: Time,
    /// Wait for neighbour resolution that the first packet has still to make.
    pub resolution: Span,
    /// Controller state last recorded.
    pub cca_state: Option<u32>,
}

impl Flow {
    pub fn new(plan: &Plan, i: usize, modules: &Modules) -> Result<Flow, PlanError> {
        let p = &plan.flows[i];
        let config = host_config(plan, p);
        let stream = p.size_bytes.map_or(Stream::GREEDY, |b| Stream::of_bytes(b, config.mss));
        let controller = plan.controller(i, modules)?;
        let ecn = plan.host.ecn || controller.module().needs_ecn();
        let seed = Rng::stream(plan.seed, &format!("flow{i}.cca")).next_u64();
        let mut sender = Sender::new(controller, config, stream, seed);
        if let Some(rate) = p.max_rate_bps {
            sender.set_max_pacing_rate(rate / 8);
        }
        if plan.record.events {
            sender.set_record_events();
        }
        Ok(Flow {
            sender,
            receiver: Receiver::new(config, stream.segments, stream.last_len, ecn),
            forward: forward(plan, i),
            back_delay: Span::from_ns(p.rtt_ns - p.rtt_ns / 2),
            back: Pipe::default(),
            loss: BernoulliLoss::new(p.loss_ppb, Rng::stream(plan.seed, &format!("flow{i}.loss"))),
            life: Life::Waiting,
            fate: Fate::default(),
            rtt_ms: p.rtt_ns as f64 / 1e6,
            start: Time::from_ns(p.start_ns),
            stop: Time::from_ns(p.stop_ns),
            size: p.size_bytes,
            established: None,
            goodput_at_end: 0,
            srtt_samples: Vec::new(),
            goodput_at_sample: 0,
            sampled_at: Time::ZERO,
            resolution: if plan.host.arp { Span::from_ns(p.rtt_ns) } else { Span::ZERO },
            cca_state: None,
        })
    }

    /// Payload that the application has received while the flow was open.
    pub fn goodput_bytes(&self) -> u64 {
        match self.life {
            Life::Ended { .. } => self.goodput_at_end,
            Life::Waiting | Life::Running => self.receiver.stats().delivered_bytes,
        }
    }

    pub fn is_running(&self) -> bool {
        self.life == Life::Running
    }

    /// The `i`-th packet of a burst.
    #[inline]
    pub fn packet(&self, flow: u32, burst: &Burst, i: u32) -> Packet {
        let is_data = burst.segments > 0;
        let seq = burst.seq + i;
        let last = i + 1 == burst.segments;
        Packet {
            flow,
            seq,
            ts_val: burst.ts_val,
            ts_ecr: burst.ts_ecr,
            len: if is_data { self.sender.payload(seq) as u16 } else { 0 },
            flags: burst.flags & if i == 0 { !0 } else { !flags::CWR }
                | if burst.push && last { flags::PUSH } else { 0 },
            ecn: burst.ecn,
            hop: 0,
        }
    }
}

fn forward(plan: &Plan, i: usize) -> Forward {
    let p = &plan.flows[i];
    let delay = Span::from_ns(p.rtt_ns / 2);
    match p.jitter {
        None => Forward::Constant(delay, Pipe::default()),
        Some(ref jitter) => {
            let (distribution, ns, reorder) = match *jitter {
                plan::Jitter::Uniform { spread_ns, reorder } => {
                    (Distribution::Uniform, spread_ns, reorder)
                }
                plan::Jitter::Gaussian { stddev_ns, reorder } => {
                    (Distribution::Gaussian, stddev_ns, reorder)
                }
            };
            let jitter = Jitter { distribution, spread: Span::from_ns(ns), reorder };
            let rng = Rng::stream(plan.seed, &format!("flow{i}.jitter"));
            Forward::Jittered(JitterPipe::new(delay, jitter, rng))
        }
    }
}

fn host_config(plan: &Plan, flow: &plan::Flow) -> HostConfig {
    let host = &plan.host;
    HostConfig {
        hz: host.hz,
        qdisc: match host.qdisc {
            plan::HostQdisc::Fq => HostQdisc::Fq,
            plan::HostQdisc::Pfifo => HostQdisc::Pfifo,
        },
        tso: host.tso,
        gro: host.gro,
        delayed_ack: host.delayed_ack,
        rcvbuf: match host.rcvbuf_bytes {
            0 => RCVBUF_LARGE,
            max => (max.min(RCVBUF_DEFAULT), max),
        },
        sndbuf: if host.sndbuf_bytes == 0 { u64::MAX } else { host.sndbuf_bytes },
        rcvlowat: if flow.size_bytes.is_some() { 1 } else { RCVLOWAT },
        ..HostConfig::default()
    }
}
