//! Tables, summary and warnings of a run that has ended, in the form that the simulator's have.

use crate::clock::{LoopStats, LATE};
use crate::diag::Socket;
use crate::flows::Stopped;
use crate::quinn::Told;
use crate::router::Routed;
use crate::sampler::Samples;
use crate::wire::Measured;
use crate::EmuError;
use path::network::Notice;
use path::plan::{Flow, Plan};
use record::report::{warnings, Waits};
use record::{
    EventKind, EventRow, FlowRow, FlowTotals, MessageRow, PcapWriter, ProbeRow, RunTotals, Summary,
    TableWriter,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use units::{Span, Time};

/// Share of the time that the loop may use a processor, per cent.
const CPU_PERCENT: u64 = 90;

/// Within this a host answers a probe, also on a busy machine.
const ANSWER: Span = Span::from_ms(100);

/// What a run has measured.
pub struct Ended {
    pub routed: Routed,
    pub samples: Samples,
    pub stopped: Vec<Stopped>,
    /// What flows of quinn told.
    pub told: BTreeMap<usize, Told>,
    /// Frames that devices dropped because the loop had not read them in time.
    pub dropped: u64,
    pub controllers: Vec<String>,
    /// Kernel parameters of both hosts.
    pub sysctls: BTreeMap<String, String>,
    pub warnings: Vec<String>,
}

/// A result.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub summary: Summary,
    pub emulator: Emulator,
}

/// How well the emulator kept up, for the manifest.
#[derive(Debug, Serialize)]
pub struct Emulator {
    /// How late events of the path were, ms.
    pub lateness_p50_ms: f64,
    pub lateness_p99_ms: f64,
    pub lateness_max_ms: f64,
    /// Events more than 1 ms late, and all.
    pub missed: u64,
    pub events: u64,
    /// Frames that the emulator itself lost.
    pub own_drops: u64,
    /// Processor time of the loop, s.
    pub cpu_s: f64,
    /// The part of it that was spent waiting without sleep, s.
    pub spin_s: f64,
    /// Processor time as a share of the run.
    pub cpu_share: f64,
    /// Whether the loop had real-time priority.
    pub realtime: bool,
    /// Samples that came more than half their interval late.
    pub late_samples: u64,
    /// Controllers as the kernel calls them, by flow.
    pub controllers: Vec<String>,
    /// Kernel parameters of both hosts.
    pub sysctls: BTreeMap<String, String>,
}

/// A flow from its opening to its end.
struct Lifetime {
    start: Time,
    stop: Time,
    goodput: u64,
    completed: bool,
}

/// Writes all tables but the samples, which are written already, and sums up.
///
/// # Errors
/// When a table cannot be written.
pub fn write(plan: &Plan, out: &Path, ended: Ended) -> Result<Outcome, EmuError> {
    let Ended { mut routed, samples, stopped, told, dropped, controllers, sysctls, warnings } =
        ended;
    told.iter().for_each(|(&i, told)| routed.measured.wire[i].tell(told));
    routed.measured.capture.take().map_or(Ok(()), PcapWriter::finish)?;
    let lifetimes = lifetimes(plan, &routed, &stopped);
    let flows = totals(plan, &routed, &lifetimes, &samples, &told);
    let events = events(&routed.measured, &lifetimes, &samples, &told);
    let rows = flows.iter().enumerate().map(|(i, flow)| flow.row(i));
    write_tables(plan, &routed, &events, rows, out)?;

    let own_drops = routed.measured.stats.refused + dropped;
    let emulator = emulator(&routed, own_drops, samples.late, controllers, sysctls);
    let up = routed.back.links.iter().filter(|_| plan.is_two_way());
    let links: Vec<_> = routed.forward.links.iter().chain(up).collect();
    let warnings = warnings
        .into_iter()
        .chain(samples.warnings())
        .chain(loop_warnings(&emulator))
        .chain(links.iter().filter_map(|link| link.warning()))
        .chain(other_controllers(&samples, &emulator.controllers))
        .collect();
    let wire = &routed.measured.wire;
    let run = RunTotals {
        end_ns: routed.end.as_ns(),
        packets_delivered: wire.iter().map(|wire| wire.one_way.total()).sum(),
        events: emulator.events,
        warnings,
        links: links.iter().map(|link| link.totals(routed.end)).collect(),
        flows,
    };
    Ok(Outcome { summary: run.summary(), emulator })
}

/// Each flow from its opening until its transfer had arrived, it was stopped or the run ended.
fn lifetimes(plan: &Plan, routed: &Routed, stopped: &[Stopped]) -> Vec<Lifetime> {
    let end = routed.end;
    let flows = plan.flows.iter().zip(&routed.measured.wire).enumerate();
    flows
        .map(|(i, (planned, wire))| {
            let start = wire.opened.unwrap_or(Time::from_ns(planned.start_ns));
            let stopped = stopped.iter().find(|stopped| stopped.flow == i);
            let (stop, goodput) = match (wire.completed, stopped) {
                (Some(at), _) => (at, wire.delivered_bytes()),
                (None, Some(one)) => (one.at.min(end).max(start), one.delivered_bytes),
                (None, None) => (end.max(start), wire.delivered_bytes()),
            };
            Lifetime { start, stop, goodput, completed: wire.completed.is_some() }
        })
        .collect()
}

fn write_tables(
    plan: &Plan,
    routed: &Routed,
    events: &[EventRow],
    rows: impl Iterator<Item = FlowRow>,
    out: &Path,
) -> Result<(), EmuError> {
    let measured = &routed.measured;
    let mut flows = TableWriter::create(out, true)?;
    rows.for_each(|row| flows.push(&row));
    flows.finish()?;
    let mut queue = TableWriter::create(out, plan.record.queue)?;
    measured.queue_rows.iter().for_each(|row| queue.push(row));
    queue.finish()?;
    let mut table = TableWriter::create(out, plan.record.events)?;
    events.iter().for_each(|row| table.push(row));
    table.finish()?;
    if !plan.probes.is_empty() {
        let mut probes = TableWriter::<ProbeRow>::create(out, true)?;
        // What the other end has had for that long it will not answer.
        let answered_until = Time::from_ns(routed.end.as_ns().saturating_sub(ANSWER.as_ns()));
        for (log, number) in measured.probes.iter().zip(0..) {
            log.rows(number, answered_until).for_each(|row| probes.push(&row));
        }
        probes.finish()?;
    }
    TableWriter::<MessageRow>::create(out, true)?.finish()?;
    Ok(())
}

/// What happened on the path and to the flows, and the states in the samples, in order of time.
fn events(
    measured: &Measured,
    lifetimes: &[Lifetime],
    samples: &Samples,
    told: &BTreeMap<usize, Told>,
) -> Vec<EventRow> {
    let row = |at: Time, flow: u32, kind, value| {
        let flow = Some(flow as i32);
        EventRow { t_ns: at.as_ns() as i64, flow, kind, value, note: None }
    };
    let mut rows: Vec<EventRow> = measured
        .notices
        .iter()
        .map(|one| {
            let kind = match one.notice {
                Notice::Lost => EventKind::DropRandom,
                Notice::Dropped => EventKind::DropQueue,
                Notice::Marked => EventKind::EcnMark,
            };
            row(one.at, one.flow, kind, Some(one.count as i64))
        })
        .collect();
    for ((flow, wire), lifetime) in (0..).zip(&measured.wire).zip(lifetimes) {
        rows.extend(wire.opened.map(|at| row(at, flow, EventKind::Start, None)));
        rows.extend(wire.established.map(|at| row(at, flow, EventKind::Established, None)));
        let (kind, value) = match lifetime.completed {
            true => (EventKind::Complete, Some(lifetime.goodput as i64)),
            false => (EventKind::Stop, None),
        };
        rows.push(row(lifetime.stop, flow, kind, value));
    }
    for (flow, samples) in (0..).zip(&samples.flows) {
        let state = |&(at, kind, note)| EventRow { note: Some(note), ..row(at, flow, kind, None) };
        rows.extend(samples.states.iter().map(state));
    }
    for (&flow, told) in told {
        let event = |&(at, kind, value)| row(at, flow as u32, kind, value);
        rows.extend(told.events.iter().map(event));
    }
    rows.sort_by_key(|row| row.t_ns);
    rows
}

/// What is known of the flows: from the plan, the path, the wire and their sockets.
fn totals(
    plan: &Plan,
    routed: &Routed,
    lifetimes: &[Lifetime],
    samples: &Samples,
    told: &BTreeMap<usize, Told>,
) -> Vec<FlowTotals> {
    let (down, up) = (routed.forward.fates(), routed.back.fates());
    let total = |(i, planned): (usize, &Flow)| {
        let (wire, lifetime) = (&routed.measured.wire[i], &lifetimes[i]);
        let samples = &samples.flows[i];
        let last = samples.last.as_ref();
        let totals = FlowTotals {
            start_ns: lifetime.start.as_ns(),
            stop_ns: lifetime.stop.as_ns(),
            established_ns: wire.established.map(Time::as_ns),
            is_completed: lifetime.completed,
            goodput_bytes: lifetime.goodput,
            segs_sent: wire.segments,
            retrans_segs: wire.retransmitted,
            bytes_sent: wire.bytes,
            delivered_segs: last.map_or(0, |socket| u64::from(socket.delivered)),
            lost_segs: samples.lost.map_or(0, u64::from),
            rtos: last.and_then(|socket| socket.timeouts).map_or(0, u64::from),
            acks_sent: wire.acks,
            min_rtt_us: last.and_then(min_rtt),
            one_way: wire.one_way.delays(),
            srtt_us: samples.srtt_us.clone(),
            waits: last.map(waits),
            why: wire.established.is_none().then(|| format!("traffic/{i}.json may say why")),
            ..planned.totals(if planned.is_up() { &up[i] } else { &down[i] })
        };
        match told.get(&i) {
            Some(told) => of_quinn(told, totals),
            None => totals,
        }
    };
    plan.flows.iter().enumerate().map(total).collect()
}

/// What the last sample of a flow of quinn does not say, or not of its end. No kernel waits for its application.
fn of_quinn(told: &Told, totals: FlowTotals) -> FlowTotals {
    let seen = told.sample.as_ref().map(|sample| &sample.seen);
    let lost = told.sample.as_ref().map_or(0, |sample| sample.stats.path.lost_packets);
    FlowTotals {
        delivered_segs: seen.map_or(0, |seen| seen.acked),
        lost_segs: lost,
        recoveries: seen.map_or(0, |seen| u64::from(seen.events)),
        rtos: seen.map_or(0, |seen| u64::from(seen.collapses)),
        min_rtt_us: told.sample.as_ref().and_then(|sample| sample.min_rtt_us()).map(u64::from),
        waits: None,
        why: None,
        ..totals
    }
}

fn waits(socket: &Socket) -> Waits {
    Waits {
        busy_us: socket.busy_us,
        receive_us: socket.rwnd_limited_us,
        send_us: socket.sndbuf_limited_us,
    }
}

/// The smallest RTT that a socket has seen, us.
fn min_rtt(socket: &Socket) -> Option<u64> {
    let is_set = socket.min_rtt_us != u32::MAX && socket.min_rtt_us > 0;
    is_set.then_some(u64::from(socket.min_rtt_us))
}

fn emulator(
    routed: &Routed,
    own_drops: u64,
    late_samples: u64,
    controllers: Vec<String>,
    sysctls: BTreeMap<String, String>,
) -> Emulator {
    let LoopStats { lateness, lateness_max, missed, events, cpu, spun, is_realtime, .. } =
        &routed.measured.stats;
    let quantile = |per_mille| f64::from(lateness.quantile_us(per_mille).unwrap_or(0)) / 1e3;
    Emulator {
        lateness_p50_ms: quantile(500),
        lateness_p99_ms: quantile(990),
        lateness_max_ms: lateness_max.as_ns() as f64 / 1e6,
        missed: *missed,
        events: *events,
        own_drops,
        cpu_s: cpu.as_secs_f64(),
        spin_s: spun.as_secs_f64(),
        cpu_share: cpu.as_secs_f64() / routed.end.as_secs_f64().max(1e-9),
        realtime: *is_realtime,
        late_samples,
        controllers,
        sysctls,
    }
}

/// Why the path may not have been the configured one.
fn loop_warnings(emulator: &Emulator) -> Vec<String> {
    let ms = |ms: f64| Duration::from_secs_f64(ms / 1e3);
    let late = warnings::late_events(
        emulator.missed,
        emulator.events,
        Duration::from_nanos(LATE.as_ns()),
        ms(emulator.lateness_p99_ms),
        ms(emulator.lateness_max_ms),
    );
    let mut out: Vec<String> =
        late.into_iter().chain(warnings::own_drops(emulator.own_drops)).collect();
    if emulator.cpu_share * 100.0 > CPU_PERCENT as f64 {
        let share = emulator.cpu_share * 100.0;
        out.push(format!(
            "the emulator used {share:.0} % of a processor: the bottleneck may be the machine"
        ));
    }
    if emulator.late_samples > 0 {
        out.push(format!(
            "{} samples were more than half their interval late",
            emulator.late_samples
        ));
    }
    out
}

/// Flows that did not run the controller that they were to run.
fn other_controllers(samples: &Samples, controllers: &[String]) -> Vec<String> {
    let flows = samples.flows.iter().zip(controllers).enumerate();
    flows
        .filter_map(|(i, (samples, wanted))| {
            let ran = &samples.last.as_ref().filter(|socket| socket.cca != *wanted)?.cca;
            Some(format!("flow {i} ran {ran} instead of {wanted}"))
        })
        .collect()
}

#[cfg(test)]
mod tests;
