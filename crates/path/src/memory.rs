//! How much memory a socket may need on a path: its buffers are limited to that, because the memory of TCP belongs to the
//! whole machine, and a socket that took more would slow down flows that have nothing to do with it.

use crate::plan::{Delay, Flow, Host, Link, Plan, Stage};
use net::qdisc::fifo::Limit;
use units::Bytes;

/// Memory that a buffer may have for each byte that the path holds. The kernel counts 4.3 kB for a segment of 1.4 kB, and
/// wants two windows of them (`tcp_sndbuf_expand`), of which each may be twice what is in flight.
const PER_BYTE: u64 = 16;
/// Rates beyond this are not carried by real hosts, bit/s.
const RATE_MAX_BPS: u64 = 10_000_000_000;
/// Bytes of a full segment on the wire.
const PACKET: u64 = 1514;
/// A trace is told by its mean, and its peaks are higher: by this factor at most, mostly.
const TRACE_PEAK: u64 = 4;
/// Random delays beyond this many of their spread are too rare to matter.
const SPREADS: u64 = 4;

/// Buffers at most where the plan sets none are what the path needs, but no less than Linux's own limits
/// (`tcp_rmem[2]` and `tcp_wmem[2]` of 6.18 with a gigabyte of memory or more), and no more than this, bytes.
const RCVBUF_MOST: u64 = 32 << 20;
const SNDBUF_MOST: u64 = 4 << 20;
const BUFFER_MAX: u64 = 1 << 30;

/// What the buffers of a socket may grow to where the plan sets no limit, bytes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// `tcp_rmem[2]`.
    pub rcvbuf: u64,
    /// `tcp_wmem[2]`.
    pub sndbuf: u64,
}

/// The limits that this path needs.
pub fn limits(plan: &Plan) -> Limits {
    let needed = socket_bytes(plan);
    Limits {
        rcvbuf: needed.clamp(RCVBUF_MOST, BUFFER_MAX),
        sndbuf: needed.clamp(SNDBUF_MOST, BUFFER_MAX),
    }
}

impl Limits {
    /// What the receive buffer of this host's sockets may grow to, bytes.
    pub fn rcvbuf_of(&self, host: &Host) -> u64 {
        if host.rcvbuf_bytes == 0 {
            self.rcvbuf
        } else {
            host.rcvbuf_bytes
        }
    }

    /// What the send buffer of this host's sockets may grow to, bytes.
    pub fn sndbuf_of(&self, host: &Host) -> u64 {
        if host.sndbuf_bytes == 0 {
            self.sndbuf
        } else {
            host.sndbuf_bytes
        }
    }
}

/// Most that one socket can use, bytes: 16 for each that the path holds, which is the highest rate of its links times the
/// longest round trip of its flows, and all queues.
fn socket_bytes(plan: &Plan) -> u64 {
    let links = plan.links.iter().chain(&plan.ack_links);
    let rate = links.clone().map(peak_bps).max().unwrap_or(0);
    let delay_ns = plan.flows.iter().map(delay_ns).max().unwrap_or(0);
    let in_flight = u128::from(rate) * u128::from(delay_ns) / 8_000_000_000;
    let queues = links.map(queue_bytes).fold(0, u64::saturating_add);
    let held = u64::try_from(in_flight).unwrap_or(u64::MAX).saturating_add(queues);
    held.saturating_mul(PER_BYTE)
}

fn peak_bps(link: &Link) -> u64 {
    let steps = link.steps.iter().map(|&(_, rate)| rate).max().unwrap_or(0);
    let peak = if link.trace.is_some() { TRACE_PEAK } else { 1 };
    link.rate_bps.max(steps).saturating_mul(peak).min(RATE_MAX_BPS)
}

/// Two-way delay without queues.
fn delay_ns(flow: &Flow) -> u64 {
    let route = |stages: &[Stage]| stages.iter().map(stage_ns).fold(0, u64::saturating_add);
    flow.rtt_ns.max(route(&flow.forward).saturating_add(route(&flow.back)))
}

fn stage_ns(stage: &Stage) -> u64 {
    match stage {
        Stage::Delay(Delay { ns, steps, jitter, slot, .. }) => {
            let most = steps.iter().map(|&(_, delay)| delay).max().unwrap_or(0).max(*ns);
            let spread = jitter.map_or(0, |jitter| jitter.spread.as_ns());
            let slot = slot.map_or(0, |slot| slot.longest().as_ns());
            most.saturating_add(spread.saturating_mul(SPREADS)).saturating_add(slot)
        }
        Stage::Thin(thinning) => thinning.hold.as_ns(),
        Stage::Aggregate(filled) => filled.hold.as_ns(),
        Stage::Serve(periodic) => periodic.every.as_ns(),
        Stage::Loss(_)
        | Stage::Duplicate(_)
        | Stage::Corrupt(_)
        | Stage::Segment
        | Stage::Link(_) => 0,
    }
}

/// What a queue holds at most; without a limit of its own, Linux's 32 MiB.
fn queue_bytes(link: &Link) -> u64 {
    const UNLIMITED: u64 = 32 << 20;
    let bytes = link.qdisc.limit().map(|limit| match limit {
        Limit::Bytes(bytes) => bytes.get(),
        Limit::Packets(packets) => packets.saturating_mul(PACKET),
    });
    let memory = link.qdisc.memory_limit().map(Bytes::get);
    bytes.into_iter().chain(memory).min().unwrap_or(UNLIMITED)
}
