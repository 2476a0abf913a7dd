//! What is written down while a run goes on: samples, queue, events.

use crate::ends::Ends;
use crate::flow::Flow;
use crate::prober::Prober;
use cca::CaInfo;
use path::link::Link;
use path::plan::Plan;
use path::route::PathPacket;
use record::{
    EventKind, EventRow, FlowTotals, MessageRow, Options, ProbeRow, RecordError, SampleRow,
    TableWriter, Tables, Watch, CA_STATES,
};
use std::path::Path;
use transport::common::SenderEvent;
use transport::tcp::Sender;
use units::Time;

/// How many flows ahead of the one being sampled memory is prefetched.
const FLOWS_AHEAD: usize = 2;

pub struct Probe {
    /// None: nothing is written.
    tables: Option<Tables>,
    events: bool,
    samples: bool,
    queue: bool,
    /// Of runs with probes.
    probes: Option<TableWriter<ProbeRow>>,
    /// Who watches the run.
    pub watch: Option<Watch>,
}

impl Probe {
    pub fn new(plan: &Plan, out: Option<&Path>) -> Result<Probe, RecordError> {
        let record = &plan.record;
        let options =
            Options { samples: record.samples, queue: record.queue, events: record.events };
        let is_written = out.is_some();
        let probes = out.filter(|_| !plan.probes.is_empty());
        Ok(Probe {
            tables: out.map(|out| Tables::create(out, options)).transpose()?,
            events: is_written && record.events,
            samples: is_written && record.samples,
            queue: is_written && record.queue,
            probes: probes.map(|out| TableWriter::create(out, true)).transpose()?,
            watch: None,
        })
    }

    pub fn records_events(&self) -> bool {
        self.events
    }

    fn event(
        &mut self,
        at: Time,
        flow: usize,
        kind: EventKind,
        value: Option<i64>,
        note: Option<&'static str>,
    ) {
        if let (true, Some(tables)) = (self.events, &mut self.tables) {
            let flow = Some(flow as i32);
            tables.events.push(&EventRow { t_ns: at.as_ns() as i64, flow, kind, value, note });
        }
    }

    pub fn flow_start(&mut self, now: Time, i: usize) {
        self.event(now, i, EventKind::Start, None, None);
    }

    pub fn flow_end(&mut self, now: Time, i: usize, flow: &mut Flow, completed: bool) {
        // At a sample time, there is a row of the flow already.
        if flow.sampled_at < now {
            self.sample_flow(now, i, flow);
        }
        if completed {
            self.event(now, i, EventKind::Complete, flow.size.map(|s| s as i64), None);
        } else {
            self.event(now, i, EventKind::Stop, None, None);
        }
    }

    /// Random loss took packets of flow `i`.
    pub fn random_drops(&mut self, now: Time, i: usize, packets: u64) {
        self.event(now, i, EventKind::DropRandom, Some(packets as i64), None);
    }

    /// Links marked packets of flow `i`.
    pub fn marks(&mut self, now: Time, i: usize, packets: u64) {
        self.event(now, i, EventKind::EcnMark, Some(packets as i64), None);
    }

    /// Links dropped packets of flow `i`, as many as came or went together.
    pub fn queue_drops(&mut self, now: Time, i: usize, drops: u64) {
        self.event(now, i, EventKind::DropQueue, Some(drops as i64), None);
    }

    /// Records what the sender of flow `i` has logged, and a change of its controller's state.
    #[inline]
    pub fn sender_events(&mut self, now: Time, i: usize, flow: &mut Flow) {
        // After nearly every ACK of TCP there is nothing: one look at the sender says so.
        if let Ends::Tcp(sender, _) = &mut flow.ends {
            let is_old = sender.sk.events().is_empty()
                && sender.stats().retrans_segs == flow.retrans_recorded;
            let is_same = |sender: &mut Sender| sender.sk.controller_state() == flow.cca_state;
            if is_old && (flow.states.is_empty() || is_same(sender)) {
                return;
            }
        }
        self.record_sender_events(now, i, flow);
    }

    #[inline(never)]
    fn record_sender_events(&mut self, now: Time, i: usize, flow: &mut Flow) {
        if flow.ends.may_have_events() {
            self.write_sender_events(now, i, flow);
        }
        let again = flow.ends.retransmitted();
        if again > flow.retrans_recorded {
            let more = again - std::mem::replace(&mut flow.retrans_recorded, again);
            self.event(now, i, EventKind::Retransmit, Some(more as i64), None);
        }
        if flow.states.is_empty() {
            return;
        }
        let state = flow.ends.controller_state();
        if state != flow.cca_state {
            flow.cca_state = state;
            let name = state.and_then(|s| flow.states.get(s as usize).copied());
            self.event(now, i, EventKind::CcaState, None, name);
        }
    }

    fn write_sender_events(&mut self, now: Time, i: usize, flow: &mut Flow) {
        let cwnd = i64::from(flow.ends.sk().snd_cwnd);
        let timeouts = i64::from(flow.ends.sk().icsk_retransmits);
        let Some(tables) = &mut self.tables else { return };
        for event in flow.ends.take_events() {
            let (kind, value, note) = match event {
                SenderEvent::Established => (EventKind::Established, None, None),
                SenderEvent::CaState(s) => (EventKind::CaState, None, Some(CA_STATES[s as usize])),
                SenderEvent::Lost(n) => (EventKind::LossDetected, Some(i64::from(n)), None),
                SenderEvent::Rto => (EventKind::Rto, Some(timeouts), None),
                SenderEvent::Tlp => (EventKind::Tlp, None, None),
                SenderEvent::Undo => (EventKind::Undo, Some(cwnd), None),
                SenderEvent::PacketAcked(_) | SenderEvent::PacketLost(..) => continue,
            };
            let flow = Some(i as i32);
            tables.events.push(&EventRow { t_ns: now.as_ns() as i64, flow, kind, value, note });
        }
    }

    /// One row per running flow.
    pub fn sample(&mut self, now: Time, flows: &mut [Flow]) {
        for i in 0..flows.len() {
            if let Some(later) = flows.get(i + FLOWS_AHEAD) {
                later.ends.fetch_sender();
                later.ends.fetch_receiver();
            }
            let flow = &mut flows[i];
            if flow.is_running() && now > flow.start {
                self.sample_flow(now, i, flow);
            }
        }
    }

    /// One row per link, whose numbers begin with `first`.
    pub fn sample_links<P: PathPacket>(&mut self, now: Time, links: &[Link<P>], first: usize) {
        if !self.queue && self.watch.is_none() {
            return;
        }
        for (link, number) in links.iter().zip(first as i32..) {
            let row = link.row(now, number);
            if let Some(tables) = &mut self.tables {
                tables.queue.push(&row);
            }
            if let Some(watch) = &self.watch {
                watch.queue(&row);
            }
        }
    }

    fn sample_flow(&mut self, now: Time, i: usize, flow: &mut Flow) {
        flow.ends.observe();
        let srtt = flow.ends.sk().srtt_us >> 3;
        if srtt > 0 {
            flow.srtt_samples.push(srtt);
        }
        flow.min_rtt_us = flow.min_rtt_us.min(flow.ends.sk().rtt_min.value());
        let goodput = flow.received_bytes();
        let since = now.since(flow.sampled_at.max(flow.start)).as_ns().max(1);
        let rate = bits_per_second(goodput - flow.goodput_at_sample, since);
        flow.sampled_at = now;
        flow.goodput_at_sample = goodput;
        if !self.samples && self.watch.is_none() {
            return;
        }
        let row = self.sample_row(now, i, flow, goodput as i64, rate as i64);
        if let Some(tables) = &mut self.tables {
            tables.samples.push(&row);
        }
        if let Some(watch) = &self.watch {
            watch.sample(&row, flow.ends.stats().bytes_sent);
        }
    }

    fn sample_row(
        &self,
        now: Time,
        i: usize,
        flow: &mut Flow,
        goodput_bytes: i64,
        goodput_bps: i64,
    ) -> SampleRow {
        let mut info = CaInfo::default();
        flow.ends.info(&mut info);
        let sender = &flow.ends;
        let (sk, stats) = (sender.sk(), sender.stats());
        let some = |v: u32| (v > 0).then_some(i64::from(v));
        let bits = |bytes: u64| (bytes as i128 * 8).min(i64::MAX as i128) as i64;
        let state = info.state().and_then(|s| flow.states.get(s as usize).copied());
        let unset = |v: Option<u32>| v.filter(|&v| v != u32::MAX).map(i64::from);
        // UDP has no window, and its sender learns of nothing.
        let is_acknowledged = sender.is_acknowledged();
        let known = |v: u32| is_acknowledged.then_some(i64::from(v));
        SampleRow {
            t_us: now.as_us() as i64,
            flow: i as i32,
            goodput_bytes,
            goodput_bps,
            cwnd: known(sk.snd_cwnd),
            ssthresh: (sk.snd_ssthresh < cca::INFINITE_SSTHRESH)
                .then_some(i64::from(sk.snd_ssthresh)),
            pacing_bps: (sk.sk_pacing_rate != cca::UNLIMITED_RATE).then(|| bits(sk.sk_pacing_rate)),
            srtt_us: some(sk.srtt_us >> 3),
            rtt_us: some(sender.last_rtt_us()),
            min_rtt_us: unset(Some(sk.rtt_min.value())),
            in_flight: known(sender.in_flight()),
            packets_out: known(sk.packets_out),
            sacked: known(sk.sacked_out),
            lost: known(sk.lost_out),
            retrans_out: known(sk.retrans_out),
            delivered: stats.delivered as i64,
            lost_total: is_acknowledged.then_some(stats.lost as i64),
            retrans_total: is_acknowledged.then_some(stats.retrans_segs as i64),
            segs_sent: stats.segs_sent as i64,
            delivery_rate_bps: delivery_rate(sk),
            ca_state: is_acknowledged.then_some(i32::from(sk.icsk_ca_state)),
            cca_state: state.unwrap_or(""),
            bw_bps: info.bw().map(bits),
            cca_min_rtt_us: unset(info.min_rtt_us()),
            pacing_gain: info.pacing_gain().map(|g| f64::from(g) / 256.0),
            cwnd_gain: info.cwnd_gain().map(|g| f64::from(g) / 256.0),
            inflight_lo: unset(info.inflight_lo()),
            inflight_hi: unset(info.inflight_hi()),
        }
    }

    /// Writes the tables of flows, messages and probes and closes the files.
    pub fn finish(
        mut self,
        flows: &[Flow],
        totals: &[FlowTotals],
        probers: &[Prober],
        end: Time,
    ) -> Result<(), RecordError> {
        if let Some(mut table) = self.probes.take() {
            for (prober, number) in probers.iter().zip(0..) {
                prober.log.rows(number, end).for_each(|row| table.push(&row));
            }
            table.finish()?;
        }
        let Some(mut tables) = self.tables else { return Ok(()) };
        for (i, (flow, totals)) in flows.iter().zip(totals).enumerate() {
            tables.flows.push(&totals.row(i));
            messages(&mut tables, i, flow);
        }
        tables.finish()
    }
}

fn messages(tables: &mut Tables, i: usize, flow: &Flow) {
    for message in flow.app.iter().flat_map(|app| app.messages()) {
        tables.messages.push(&MessageRow {
            flow: i as i32,
            asked_us: message.asked.as_us() as i64,
            written_us: message.written.as_us() as i64,
            bytes: message.bytes as i64,
            completed_us: message.completion_time().map(|_| message.completed.as_us() as i64),
        });
    }
}

/// Bits per second when `bytes` are delivered in `ns` nanoseconds.
fn bits_per_second(bytes: u64, ns: u64) -> u64 {
    const BITS: u64 = 8_000_000_000;
    match bytes.checked_mul(BITS) {
        Some(bits) => bits / ns,
        None => (u128::from(bytes) * u128::from(BITS) / u128::from(ns)) as u64,
    }
}

fn delivery_rate(sk: &cca::TcpSock) -> Option<i64> {
    let us = i64::from(sk.rate_interval_us);
    (us > 0).then(|| i64::from(sk.rate_delivered) * i64::from(sk.mss_cache) * 8_000_000 / us)
}
