//! Samples of every flow's socket during a run, in a thread of its own.

use crate::clock::Clock;
use crate::diag::{Socket, SocketSource};
use crate::flows::RunState;
use crate::hosts::{DATA_PORT, RECEIVERS, SENDERS};
use crate::quinn::Near;
use record::{Estimates, EventKind, RecordError, SampleRow, TableWriter, CA_STATES};
use std::io;
use std::net::SocketAddrV4;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use units::{Span, Time, INFINITE_SSTHRESH};

/// The longest sleep, so that the sampler sees a request to stop also where samples are far apart.
const SLEEP_MAX: Span = Span::from_ms(50);

/// What a controller of ours reports of one socket, beyond what the kernel knows of every socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CcaSnapshot {
    /// Segments marked lost so far.
    pub lost: Option<u32>,
    pub estimates: Estimates,
}

/// Reads the controllers: calls its argument with local address and snapshot of each socket in the network namespace of
/// the calling thread.
pub type ReadControllers =
    dyn FnMut(&mut dyn FnMut(SocketAddrV4, CcaSnapshot)) -> io::Result<()> + Send;

/// What the samples say of a flow in addition to their rows.
#[derive(Debug, Default)]
pub struct FlowSamples {
    /// Smoothed RTT at each sample, us.
    pub srtt_us: Vec<u32>,
    /// The socket as last seen.
    pub last: Option<Socket>,
    /// Segments marked lost so far, where that is known.
    pub lost: Option<u32>,
    /// States of TCP and of the controller, and when they were first seen.
    pub states: Vec<(Time, EventKind, &'static str)>,
    delivered_bytes: u64,
    at: Time,
}

impl FlowSamples {
    /// Notes changes since the sample before; a state that came and went between two is not seen.
    fn note_states(&mut self, due: Time, socket: &Socket, cca_state: Option<&'static str>) {
        let last = |kind| self.states.iter().rfind(|state| state.1 == kind).map(|state| state.2);
        let ca_state = CA_STATES.get(usize::from(socket.ca_state)).copied();
        let before = last(EventKind::CaState).unwrap_or(CA_STATES[0]);
        let tcp = ca_state.filter(|&now| now != before).map(|now| (EventKind::CaState, now));
        let before = last(EventKind::CcaState);
        let cca = cca_state.filter(|&now| Some(now) != before);
        let cca = cca.map(|now| (EventKind::CcaState, now));
        self.states.extend([tcp, cca].into_iter().flatten().map(|(kind, now)| (due, kind, now)));
    }
}

/// What a sampler has measured.
#[derive(Debug, Default)]
pub struct Samples {
    pub flows: Vec<FlowSamples>,
    /// Samples that came more than half their interval late.
    pub late: u64,
    /// The first error of the kernel's, if there was any.
    sockets_error: Option<io::Error>,
    /// The first error of the controllers.
    controllers_error: Option<io::Error>,
}

impl Samples {
    /// Why samples are missing.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        let sockets = self.sockets_error.as_ref();
        let sockets = sockets.map(|error| format!("samples are missing: inet_diag: {error}"));
        let controllers = self
            .controllers_error
            .as_ref()
            .map(|error| format!("states and estimates of controllers are missing: {error}"));
        sockets.into_iter().chain(controllers)
    }
}

/// One namespace with senders of data.
pub struct SampledHosts<S> {
    pub sockets: S,
    /// Moves the calling thread there, where controllers are read.
    pub enter: Box<dyn Fn() -> io::Result<()> + Send>,
}

/// What a sampler reads.
pub struct Sources<S> {
    /// Where data are sent from: one or both ends of the path.
    pub hosts: Vec<SampledHosts<S>>,
    /// Senders of quinn, by flow.
    pub quinn: Vec<(usize, Arc<Near>)>,
    /// Our own controllers, where their states are recorded.
    pub controllers: Option<Box<ReadControllers>>,
}

/// See the module documentation.
pub struct Sampler<C, S> {
    clock: C,
    every: Span,
    sources: Sources<S>,
    rows: TableWriter<SampleRow>,
    state: Arc<RunState>,
    samples: Samples,
    /// What the controller of each flow reports at this sample.
    snapshots: Vec<Option<CcaSnapshot>>,
}

impl<C: Clock, S: SocketSource> Sampler<C, S> {
    /// A sampler that writes into `rows`.
    pub fn new(
        clock: C,
        every: Span,
        sources: Sources<S>,
        rows: TableWriter<SampleRow>,
        state: Arc<RunState>,
    ) -> Self {
        let flows: Vec<FlowSamples> = state.flows.iter().map(|_| FlowSamples::default()).collect();
        let snapshots = vec![None; flows.len()];
        let samples = Samples { flows, ..Samples::default() };
        Sampler { clock, every, sources, rows, state, samples, snapshots }
    }

    /// Samples until the run stops.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn run(mut self) -> Result<Samples, RecordError> {
        let mut next = Time::ZERO + self.every;
        while !self.state.stop.load(Relaxed) {
            self.clock.sleep_until(next.min(self.clock.now() + SLEEP_MAX));
            let now = self.clock.now();
            if now < next {
                continue;
            }
            self.samples.late += u64::from(now.since(next).as_ns() > self.every.as_ns() / 2);
            self.sample(now, next);
            while next <= now {
                next += self.every;
            }
        }
        self.rows.finish()?;
        Ok(self.samples)
    }

    /// Writes one row for each flow whose connection is open, with the time at which it was due.
    fn sample(&mut self, now: Time, due: Time) {
        let listed = self.sources.hosts.iter_mut().map(|host| host.sockets.sockets());
        let sockets: Vec<Socket> = match listed.collect::<io::Result<Vec<_>>>() {
            Ok(sockets) => sockets.into_iter().flatten().collect(),
            Err(error) => {
                self.samples.sockets_error.get_or_insert(error);
                return;
            }
        };
        self.read_controllers();
        let mut known: Vec<_> = sockets
            .into_iter()
            .map(|socket| (flow(socket.source, socket.source_port), socket))
            .collect();
        for (i, near) in &self.sources.quinn {
            if let Some((socket, snapshot)) = near.observe() {
                self.snapshots[*i] = Some(snapshot);
                known.push((*i, socket));
            }
        }
        for (i, socket) in known {
            if self.state.flows.get(i).is_some_and(|flow| !flow.is_over()) {
                self.sample_flow(now, due, i, socket);
            }
        }
    }

    /// Reads the controllers, until the first error.
    fn read_controllers(&mut self) {
        let Some(read) = &mut self.sources.controllers else { return };
        if self.samples.controllers_error.is_some() {
            return;
        }
        let snapshots = &mut self.snapshots;
        snapshots.fill(None);
        let mut take = |local: SocketAddrV4, snapshot| {
            if let Some(one) = snapshots.get_mut(flow(local.ip().to_bits(), local.port())) {
                *one = Some(snapshot);
            }
        };
        let hosts = self.sources.hosts.iter();
        let done = hosts.map(|host| (host.enter)().and_then(|()| read(&mut take)));
        self.samples.controllers_error = done.filter_map(Result::err).next();
    }

    fn sample_flow(&mut self, now: Time, due: Time, i: usize, socket: Socket) {
        let flow = &mut self.samples.flows[i];
        let goodput = self.state.flows[i].delivered_bytes.load(Relaxed);
        let span = now.since(flow.at).as_ns().max(1);
        let bits = u128::from(goodput - flow.delivered_bytes) * 8_000_000_000 / u128::from(span);
        (flow.at, flow.delivered_bytes) = (now, goodput);
        if socket.rtt_us > 0 && socket.delivered > 0 {
            flow.srtt_us.push(socket.rtt_us);
        }
        let of_kernel = || socket.bbr.map(|estimates| CcaSnapshot { lost: None, estimates });
        let cca = self.snapshots[i].or_else(of_kernel).unwrap_or_default();
        flow.lost = cca.lost.or(flow.lost);
        flow.note_states(due, &socket, cca.estimates.state);
        let row = SampleRow {
            t_us: due.as_us() as i64,
            flow: i as i32,
            goodput_bytes: goodput as i64,
            goodput_bps: bits as i64,
            ..row(&socket, &cca)
        };
        self.rows.push(&row);
        if let Some(watch) = &self.state.watch {
            watch.sample(&row, socket.bytes_sent);
        }
        flow.last = Some(socket);
    }
}

/// The flow whose data a socket sends, at either end of the path; larger than any for other sockets.
fn flow(source: u32, port: u16) -> usize {
    let first = if source < RECEIVERS { SENDERS } else { RECEIVERS };
    match port {
        DATA_PORT => source.wrapping_sub(first) as usize,
        _ => usize::MAX,
    }
}

/// What a row says of a socket. The kernel reports the number of segments ever marked lost only to BPF.
fn row(socket: &Socket, cca: &CcaSnapshot) -> SampleRow {
    let some = |value: u32| (value > 0).then_some(i64::from(value));
    let bits = |bytes: u64| (i128::from(bytes) * 8).min(i64::MAX as i128) as i64;
    let set = |value: u32| (value != u32::MAX && value > 0).then_some(i64::from(value));
    let gain = |gain: u32| f64::from(gain) / 256.0;
    let bound = |value: Option<u32>| value.filter(|&value| value != u32::MAX).map(i64::from);
    let (out, sacked, lost) = (socket.unacked, socket.sacked, socket.lost);
    let in_flight =
        i64::from(out) - i64::from(sacked) - i64::from(lost) + i64::from(socket.retrans);
    let estimates = &cca.estimates;
    SampleRow {
        t_us: 0,
        flow: 0,
        goodput_bytes: 0,
        goodput_bps: 0,
        cwnd: Some(i64::from(socket.cwnd)),
        ssthresh: (socket.ssthresh < INFINITE_SSTHRESH).then_some(i64::from(socket.ssthresh)),
        pacing_bps: (socket.pacing_rate != u64::MAX).then(|| bits(socket.pacing_rate)),
        srtt_us: some(socket.rtt_us),
        rtt_us: socket.last_rtt_us.map(i64::from),
        min_rtt_us: set(socket.min_rtt_us),
        in_flight: Some(in_flight),
        packets_out: Some(i64::from(out)),
        sacked: Some(i64::from(sacked)),
        lost: Some(i64::from(lost)),
        retrans_out: Some(i64::from(socket.retrans)),
        delivered: i64::from(socket.delivered),
        lost_total: Some(cca.lost.map_or(0, i64::from)),
        retrans_total: Some(i64::from(socket.total_retrans)),
        segs_sent: i64::from(socket.data_segs_out),
        delivery_rate_bps: (socket.delivery_rate > 0).then(|| bits(socket.delivery_rate)),
        ca_state: Some(i32::from(socket.ca_state)),
        cca_state: estimates.state.unwrap_or(""),
        bw_bps: estimates.bw_bps.map(|bps| bps.min(i64::MAX as u64) as i64),
        cca_min_rtt_us: estimates.min_rtt_us.and_then(set),
        pacing_gain: estimates.pacing_gain.map(gain),
        cwnd_gain: estimates.cwnd_gain.map(gain),
        inflight_lo: bound(estimates.inflight_lo),
        inflight_hi: bound(estimates.inflight_hi),
    }
}

#[cfg(test)]
mod tests;
