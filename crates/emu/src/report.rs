//! Tables, summary and warnings of a run that has ended, in the form that the simulator's have.

use crate::conduct::LATE;
use crate::diag::Socket;
use crate::error::EmuError;
use crate::hosts::Hosts;
use crate::router::Router;
use crate::sampler::{Sampled, Sampler};
use crate::tally::Tally;
use path::network::{Fate, Notice};
use path::plan::Plan;
use record::report::{warnings, Waits};
use record::{
    EventKind, EventRow, FlowRow, FlowTotals, MessageRow, PcapWriter, RunTotals, Summary,
    TableWriter,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use units::Time;

/// Share of the time that the loop may use a processor, per cent.
const CPU_PERCENT: u64 = 90;

/// What is left of a run.
pub struct Ended {
    pub router: Router,
    pub sampler: Sampler,
    pub hosts: Hosts,
    /// (flow, when it was stopped, what its receiver had then).
    pub ended: Vec<(usize, Time, u64)>,
    /// Frames that devices dropped because the loop had not read them in time.
    pub dropped: u64,
}

/// A result.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub summary: Summary,
    pub emulator: Emulator,
}

/// How the emulator did, for the manifest.
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
    /// Processor time of the loop, s, and as a share of the run.
    pub cpu_s: f64,
    /// Of it, what went by waiting for the next event without sleep.
    pub spin_s: f64,
    pub cpu_share: f64,
    /// Whether the loop ran before all ordinary threads.
    pub realtime: bool,
    /// Samples that came more than half their interval late.
    pub late_samples: u64,
    /// Controllers as the kernel calls them, by flow.
    pub controllers: Vec<String>,
    /// Kernel parameters of both hosts.
    pub sysctls: BTreeMap<String, String>,
}

/// A flow from its opening to its end.
struct Life {
    start: Time,
    stop: Time,
    goodput: u64,
    completed: bool,
}

/// Writes what is not written yet.
///
/// # Errors
/// When a table cannot be written.
pub fn write(plan: &Plan, ccas: &[String], out: &Path, ended: Ended) -> Result<Outcome, EmuError> {
    let end = ended.router.ended();
    let Ended { mut router, sampler, hosts, ended: stopped, dropped } = ended;
    router.capture.take().map_or(Ok(()), PcapWriter::finish)?;
    let lives: Vec<Life> =
        (0..plan.flows.len()).map(|i| life(plan, &router.tallies[i], &stopped, i, end)).collect();
    let late_samples = sampler.late;
    let failed =
        sampler.failed.as_ref().map(|error| format!("samples are missing: inet_diag: {error}"));
    let unasked = sampler
        .unasked
        .as_ref()
        .map(|error| format!("states and estimates of controllers are missing: {error}"));
    let sampled = sampler.finish()?;
    let fates = router.forward.fates();
    let flows: Vec<FlowTotals> = (0..lives.len())
        .map(|i| totals(plan, i, &router.tallies[i], &fates[i], &lives[i], &sampled[i]))
        .collect();
    let events = events(&router, &lives, &sampled);
    let rows = flows.iter().enumerate().map(|(i, flow)| flow.row(i));
    write_tables(plan, &router, &events, rows, out)?;

    let emulator = emulator(&router, ccas, end, dropped, late_samples, &hosts);
    let mut warnings = hosts.warnings;
    warnings.extend(failed);
    warnings.extend(unasked);
    warnings.extend(conduct_warnings(&emulator));
    warnings.extend(router.forward.links.iter().filter_map(path::link::Link::warning));
    warnings.extend(other_controllers(&sampled, ccas));
    let run = RunTotals {
        end_ns: end.as_ns(),
        packets_delivered: router.tallies.iter().map(|tally| tally.one_way.total()).sum(),
        events: router.conduct.events,
        warnings,
        links: router.forward.links.iter().map(|link| link.totals(end)).collect(),
        flows,
    };
    Ok(Outcome { summary: run.summary(), emulator })
}

fn life(plan: &Plan, tally: &Tally, stopped: &[(usize, Time, u64)], i: usize, end: Time) -> Life {
    let start = tally.opened.unwrap_or(Time::from_ns(plan.flows[i].start_ns));
    if let Some(at) = tally.completed {
        return Life { start, stop: at, goodput: tally.delivered_bytes(), completed: true };
    }
    match stopped.iter().find(|&&(flow, ..)| flow == i) {
        Some(&(_, at, goodput)) => {
            Life { start, stop: at.min(end).max(start), goodput, completed: false }
        }
        None => {
            Life { start, stop: end.max(start), goodput: tally.delivered_bytes(), completed: false }
        }
    }
}

fn write_tables(
    plan: &Plan,
    router: &Router,
    events: &[EventRow],
    rows: impl Iterator<Item = FlowRow>,
    out: &Path,
) -> Result<(), EmuError> {
    let mut flows = TableWriter::create(out, true)?;
    rows.for_each(|row| flows.push(&row));
    flows.finish()?;
    let mut queue = TableWriter::create(out, plan.record.queue)?;
    router.queue_rows.iter().for_each(|row| queue.push(row));
    queue.finish()?;
    let mut table = TableWriter::create(out, plan.record.events)?;
    events.iter().for_each(|row| table.push(row));
    table.finish()?;
    TableWriter::<MessageRow>::create(out, true)?.finish()?;
    Ok(())
}

/// What the path and the wire saw happen, and the samples of the sockets, in order.
fn events(router: &Router, lives: &[Life], sampled: &[Sampled]) -> Vec<EventRow> {
    let row = |at: Time, flow: u32, kind, value| {
        let flow = Some(flow as i32);
        EventRow { t_ns: at.as_ns() as i64, flow, kind, value, note: None }
    };
    let mut rows: Vec<EventRow> = router
        .notices
        .iter()
        .map(|&(at, flow, notice, count)| {
            let kind = match notice {
                Notice::Lost => EventKind::DropRandom,
                Notice::Dropped => EventKind::DropQueue,
                Notice::Marked => EventKind::EcnMark,
            };
            row(at, flow, kind, Some(count as i64))
        })
        .collect();
    for ((flow, tally), life) in (0..).zip(&router.tallies).zip(lives) {
        rows.extend(tally.opened.map(|at| row(at, flow, EventKind::Start, None)));
        rows.extend(tally.established.map(|at| row(at, flow, EventKind::Established, None)));
        rows.push(match life.completed {
            true => row(life.stop, flow, EventKind::Complete, Some(life.goodput as i64)),
            false => row(life.stop, flow, EventKind::Stop, None),
        });
    }
    for (flow, sampled) in (0..).zip(sampled) {
        let state = |&(at, kind, note)| EventRow { note: Some(note), ..row(at, flow, kind, None) };
        rows.extend(sampled.states.iter().map(state));
    }
    rows.sort_by_key(|row| row.t_ns);
    rows
}

/// What is known of a flow: from the plan, the path, the wire and its socket.
fn totals(
    plan: &Plan,
    i: usize,
    tally: &Tally,
    fate: &Fate,
    life: &Life,
    sampled: &Sampled,
) -> FlowTotals {
    let last = sampled.last.as_ref();
    FlowTotals {
        start_ns: life.start.as_ns(),
        stop_ns: life.stop.as_ns(),
        established_ns: tally.established.map(Time::as_ns),
        is_completed: life.completed,
        goodput_bytes: life.goodput,
        segs_sent: tally.segments,
        retrans_segs: tally.retransmitted,
        bytes_sent: tally.bytes,
        delivered_segs: last.map_or(0, |socket| u64::from(socket.delivered)),
        lost_segs: sampled.lost.map_or(0, u64::from),
        rtos: last.and_then(|socket| socket.timeouts).map_or(0, u64::from),
        acks_sent: tally.acks,
        min_rtt_us: last.and_then(min_rtt),
        one_way: tally.one_way.delays(),
        srtt_us: sampled.srtt_us.clone(),
        waits: last.map(waits),
        why: tally.established.is_none().then(|| format!("traffic/{i}.json may say why")),
        ..plan.flows[i].totals(fate)
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
    router: &Router,
    ccas: &[String],
    end: Time,
    dropped: u64,
    late_samples: u64,
    hosts: &Hosts,
) -> Emulator {
    let conduct = &router.conduct;
    let quantile =
        |per_mille| f64::from(conduct.lateness.quantile_us(per_mille).unwrap_or(0)) / 1e3;
    Emulator {
        lateness_p50_ms: quantile(500),
        lateness_p99_ms: quantile(990),
        lateness_max_ms: conduct.latest.as_ns() as f64 / 1e6,
        missed: conduct.missed,
        events: conduct.events,
        own_drops: conduct.refused + dropped,
        cpu_s: conduct.cpu.as_secs_f64(),
        spin_s: conduct.spun.as_secs_f64(),
        cpu_share: conduct.cpu.as_secs_f64() / end.as_secs_f64().max(1e-9),
        realtime: conduct.is_realtime,
        late_samples,
        controllers: ccas.to_vec(),
        sysctls: hosts.sysctls.clone(),
    }
}

/// Why the path may not have been the configured one.
fn conduct_warnings(emulator: &Emulator) -> Vec<String> {
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
fn other_controllers(sampled: &[Sampled], ccas: &[String]) -> Vec<String> {
    let ran = sampled.iter().map(|sampled| sampled.last.as_ref().map(|socket| &socket.cca));
    ran.zip(ccas)
        .enumerate()
        .filter_map(|(i, (ran, wanted))| {
            ran.filter(|&ran| ran != wanted).map(|ran| (i, ran, wanted))
        })
        .map(|(i, ran, wanted)| format!("flow {i} ran {ran} instead of {wanted}"))
        .collect()
}
