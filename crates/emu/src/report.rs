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
use path::summary::{percentile, FlowSummary, LinkSummary, Summary};
use record::{EventKind, EventRow, FlowRow, MessageRow, PcapWriter, TableWriter};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use units::{Span, Time};

/// Share of events that may miss their deadline before a result says so, in parts of 1000.
const MISSED_PER_MILLE: u64 = 1;
/// So many are nothing to speak of.
const MISSED_MIN: u64 = 2;
/// Share of the time that the loop may use a processor, per cent.
const CPU_PERCENT: u64 = 90;
/// Share of its busy time that a flow may wait for buffers of the hosts, per cent.
const HELD_PERCENT: u64 = 5;
/// How long a flow may take to open its connection.
const OPENING: Span = Span::from_ms(200);

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
    let row = |i: usize| flow_row(plan, i, &router.tallies[i], &fates[i], &lives[i], &sampled[i]);
    let events = events(&router, &lives, &sampled);
    write_tables(plan, &router, &events, (0..lives.len()).map(row), out)?;

    let emulator = emulator(&router, ccas, end, dropped, late_samples, &hosts);
    let mut warnings = hosts.warnings;
    warnings.extend(failed);
    warnings.extend(unasked);
    warnings.extend(conduct_warnings(&emulator));
    warnings.extend(router.forward.links.iter().filter_map(path::link::Link::warning));
    for (i, life) in lives.iter().enumerate() {
        warnings.extend(flow_warnings(plan, i, &router.tallies[i], life, &sampled[i], &ccas[i]));
    }
    let flows = (0..lives.len())
        .map(|i| flow_summary(plan, i, &router.tallies[i], &lives[i], &sampled[i]))
        .collect();
    let links = router.forward.links.iter().map(|link| LinkSummary::new(link, end)).collect();
    let delivered = router.tallies.iter().map(|tally| tally.one_way.total()).sum();
    let counts = (end, delivered, router.conduct.events);
    Ok(Outcome { summary: Summary::new(warnings, counts, links, flows), emulator })
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

fn flow_row(
    plan: &Plan,
    i: usize,
    tally: &Tally,
    fate: &Fate,
    life: &Life,
    sampled: &Sampled,
) -> FlowRow {
    let us = |at: Time| at.as_us() as i64;
    let last = sampled.last.as_ref();
    let quantile = |per_mille| tally.one_way.quantile_us(per_mille).map(i64::from);
    FlowRow {
        flow: i as i32,
        cca: plan.flows[i].cca.clone(),
        rtt_us: (plan.flows[i].rtt_ns / 1000) as i64,
        start_us: us(life.start),
        stop_us: us(life.stop),
        established_us: tally.established.map(us),
        completed_us: life.completed.then(|| us(life.stop)),
        size_bytes: plan.flows[i].size_bytes.map(|size| size as i64),
        goodput_bytes: life.goodput as i64,
        segs_sent: tally.segments as i64,
        retrans_segs: tally.retransmitted as i64,
        bytes_sent: tally.bytes as i64,
        delivered_segs: last.map_or(0, |socket| i64::from(socket.delivered)),
        lost_segs: sampled.lost.map_or(0, i64::from),
        queue_drops: fate.queue_drops() as i64,
        random_drops: fate.lost as i64,
        recoveries: 0,
        rtos: last.and_then(|socket| socket.timeouts).map_or(0, i64::from),
        tlps: 0,
        undos: 0,
        acks_sent: tally.acks as i64,
        min_rtt_us: last.and_then(min_rtt),
        ecn_marks: fate.marked as i64,
        aqm_drops: fate.aqm as i64,
        policed_drops: fate.policed as i64,
        damaged: fate.damaged as i64,
        duplicated: fate.duplicated as i64,
        owd_mean_us: tally.one_way.mean_us().map(|us| us.round() as i64),
        owd_p50_us: quantile(500),
        owd_p95_us: quantile(950),
        owd_p99_us: quantile(990),
    }
}

/// The smallest RTT that a socket has seen, us.
fn min_rtt(socket: &Socket) -> Option<i64> {
    let is_set = socket.min_rtt_us != u32::MAX && socket.min_rtt_us > 0;
    is_set.then_some(i64::from(socket.min_rtt_us))
}

fn flow_summary(
    plan: &Plan,
    i: usize,
    tally: &Tally,
    life: &Life,
    sampled: &Sampled,
) -> FlowSummary {
    let active = life.stop.since(life.start).as_secs_f64();
    let mut srtt = sampled.srtt_us.clone();
    let sum: f64 = srtt.iter().map(|&us| f64::from(us)).sum();
    let quantile = |per_mille| tally.one_way.quantile_us(per_mille).map(|us| f64::from(us) / 1e3);
    FlowSummary {
        cca: plan.flows[i].cca.clone(),
        rtt_ms: plan.flows[i].rtt_ns as f64 / 1e6,
        goodput_mbps: if active > 0.0 { life.goodput as f64 * 8e-6 / active } else { 0.0 },
        share: 0.0,
        retrans_rate: tally.retransmitted as f64 / tally.segments.max(1) as f64,
        srtt_mean_ms: (!srtt.is_empty()).then(|| sum / srtt.len() as f64 / 1e3),
        srtt_p95_ms: percentile(&mut srtt, 95).map(|us| f64::from(us) / 1e3),
        owd_mean_ms: tally.one_way.mean_us().map(|us| us / 1e3),
        owd_p95_ms: quantile(950),
        fct_s: life.completed.then_some(active),
        packets_sent: tally.segments,
    }
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
    let mut out = Vec::new();
    let tolerated = (emulator.events * MISSED_PER_MILLE / 1000).max(MISSED_MIN);
    if emulator.missed > tolerated {
        out.push(format!(
            "the emulator was late: {} of {} events by more than {LATE:?} (p99 {:.3} ms, at most {:.1} ms); \
             delays were longer than configured",
            emulator.missed, emulator.events, emulator.lateness_p99_ms, emulator.lateness_max_ms
        ));
    }
    if emulator.own_drops > 0 {
        out.push(format!("the emulator itself dropped {} frames", emulator.own_drops));
    }
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

fn flow_warnings(
    plan: &Plan,
    i: usize,
    tally: &Tally,
    life: &Life,
    sampled: &Sampled,
    cca: &str,
) -> Vec<String> {
    let mut out = Vec::new();
    let planned = Time::from_ns(plan.flows[i].start_ns);
    if tally.established.is_none() {
        return vec![format!(
            "flow {i} never connected: its figures are zero; traffic/{i}.json may say why"
        )];
    }
    if life.start.since(planned) > OPENING {
        out.push(format!(
            "flow {i} opened its connection {:?} after its start",
            life.start.since(planned)
        ));
    }
    if plan.flows[i].size_bytes.is_some() && !life.completed {
        out.push(format!("flow {i} did not complete its transfer within the run"));
    }
    let Some(last) = &sampled.last else { return out };
    if last.cca != cca {
        out.push(format!("flow {i} ran {} in place of {cca}", last.cca));
    }
    let held = [("receive", last.rwnd_limited_us), ("send", last.sndbuf_limited_us)];
    for (which, us) in held {
        if us * 100 > last.busy_us * HELD_PERCENT && us > 100_000 {
            let share = us * 100 / last.busy_us.max(1);
            out.push(format!("flow {i} waited for its {which} buffer {share} % of the time"));
        }
    }
    out
}
