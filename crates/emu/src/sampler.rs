//! Samples of every flow's socket while a run goes on, in a thread of its own.

use crate::clock::Clock;
use crate::diag::{Diag, Socket};
use crate::netns::NetNs;
use crate::router::{DATA_PORT, SENDERS};
use crate::shared::Shared;
use crate::told::{Ask, Told};
use record::{EventKind, RecordError, SampleRow, TableWriter, CA_STATES};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use units::{Span, Time};

/// `ssthresh` of a connection that has none (TCP_INFINITE_SSTHRESH, include/net/tcp.h).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// What is known of a flow beside its rows.
#[derive(Debug, Default)]
pub struct Sampled {
    /// Smoothed RTT at each sample, us.
    pub srtt_us: Vec<u32>,
    /// The socket as last seen.
    pub last: Option<Socket>,
    /// Segments marked lost so far, where that is known.
    pub lost: Option<u32>,
    /// States that TCP and the controller were first seen in, and when.
    pub states: Vec<(Time, EventKind, &'static str)>,
    delivered_bytes: u64,
    at: Time,
}

impl Sampled {
    /// Changes since the sample before; what came and went between two is not seen.
    fn note_states(&mut self, due: Time, socket: &Socket, own: Option<&'static str>) {
        let last = |kind| self.states.iter().rfind(|state| state.1 == kind).map(|state| state.2);
        let of_tcp = CA_STATES.get(usize::from(socket.ca_state)).copied();
        let before = last(EventKind::CaState).unwrap_or(CA_STATES[0]);
        let tcp = of_tcp.filter(|&now| now != before).map(|now| (EventKind::CaState, now));
        let before = last(EventKind::CcaState);
        let own = own.filter(|&now| Some(now) != before);
        let own = own.map(|now| (EventKind::CcaState, now));
        self.states.extend([tcp, own].into_iter().flatten().map(|(kind, now)| (due, kind, now)));
    }
}

/// See the module documentation.
pub struct Sampler {
    pub flows: Vec<Sampled>,
    /// The first error of the kernel's, if there was any.
    pub failed: Option<std::io::Error>,
    /// The same of the controllers.
    pub unasked: Option<std::io::Error>,
    /// Samples that came more than half their interval late.
    pub late: u64,
    diag: Diag,
    /// Asks the controllers, where that is wanted.
    ask: Option<Box<Ask>>,
    /// Of each flow, what its controller says at this sample.
    told: Vec<Option<Told>>,
    rows: TableWriter<SampleRow>,
    clock: Clock,
    every: Span,
    shared: Arc<Shared>,
}

impl Sampler {
    /// # Errors
    /// When the table cannot be made.
    pub fn new(
        out: &Path,
        is_on: bool,
        (diag, ask): (Diag, Option<Box<Ask>>),
        (clock, every): (Clock, Span),
        shared: Arc<Shared>,
    ) -> Result<Sampler, RecordError> {
        let flows: Vec<Sampled> = shared.flows.iter().map(|_| Sampled::default()).collect();
        let (rows, told) = (TableWriter::create(out, is_on)?, vec![None; flows.len()]);
        let (failed, unasked, late) = (None, None, 0);
        Ok(Sampler { flows, failed, unasked, late, diag, ask, told, rows, clock, every, shared })
    }

    /// Samples until the run stops, in a thread of its own that moves to the senders.
    pub fn run(mut self, senders: &NetNs) -> Sampler {
        self.unasked = senders.enter().err();
        let mut next = Time::ZERO + self.every;
        while !self.shared.stop.load(Relaxed) {
            // A wish to stop is heard also where samples are far apart.
            let at = next.min(self.clock.now() + Span::from_ms(50));
            self.clock.sleep_until(at);
            let now = self.clock.now();
            if now < next {
                continue;
            }
            self.late += u64::from(now.since(next).as_ns() > self.every.as_ns() / 2);
            self.sample(now, next);
            while next <= now {
                next += self.every;
            }
        }
        self
    }

    /// One row per flow whose connection is open; it bears the time at which it was due.
    fn sample(&mut self, now: Time, due: Time) {
        let sockets = match self.diag.sockets() {
            Ok(sockets) => sockets,
            Err(error) => {
                self.failed.get_or_insert(error);
                return;
            }
        };
        self.ask_controllers();
        for socket in sockets {
            let i = flow(socket.source, socket.source_port);
            if i < self.flows.len() && self.is_open(i) {
                self.sample_flow(now, due, i, socket);
            }
        }
    }

    /// One pass over the sockets for each controller that tells.
    fn ask_controllers(&mut self) {
        let Some(ask) = self.ask.as_mut().filter(|_| self.unasked.is_none()) else { return };
        let told = &mut self.told;
        told.fill(None);
        let asked = ask(&mut |source, port, what| {
            if let Some(one) = told.get_mut(flow(source, port)) {
                *one = Some(what);
            }
        });
        self.unasked = asked.err();
    }

    fn is_open(&self, i: usize) -> bool {
        let flow = &self.shared.flows[i];
        !flow.is_closed.load(Relaxed) && !flow.is_completed.load(Relaxed)
    }

    fn sample_flow(&mut self, now: Time, due: Time, i: usize, socket: Socket) {
        let flow = &mut self.flows[i];
        let goodput = self.shared.flows[i].delivered_bytes.load(Relaxed);
        let span = now.since(flow.at).as_ns().max(1);
        let bits = u128::from(goodput - flow.delivered_bytes) * 8_000_000_000 / u128::from(span);
        (flow.at, flow.delivered_bytes) = (now, goodput);
        if socket.rtt_us > 0 && socket.delivered > 0 {
            flow.srtt_us.push(socket.rtt_us);
        }
        let told = self.told[i].or(socket.bbr.map(Told::from)).unwrap_or_default();
        flow.lost = told.lost.or(flow.lost);
        flow.note_states(due, &socket, told.state);
        self.rows.push(&row(due, i, goodput, bits as i64, &socket, &told));
        flow.last = Some(socket);
    }

    /// Closes the table.
    ///
    /// # Errors
    /// When it could not be written.
    pub fn finish(self) -> Result<Vec<Sampled>, RecordError> {
        self.rows.finish()?;
        Ok(self.flows)
    }
}

/// Which flow's data goes through a socket of the senders; larger than any for others.
fn flow(source: u32, port: u16) -> usize {
    match port {
        DATA_PORT => source.wrapping_sub(SENDERS) as usize,
        _ => usize::MAX,
    }
}

/// A row of the table. The kernel does not tell the last RTT, and how much was ever marked lost only to BPF.
fn row(
    due: Time,
    i: usize,
    goodput: u64,
    goodput_bps: i64,
    socket: &Socket,
    told: &Told,
) -> SampleRow {
    let some = |value: u32| (value > 0).then_some(i64::from(value));
    let bits = |bytes: u64| (i128::from(bytes) * 8).min(i64::MAX as i128) as i64;
    let set = |value: u32| (value != u32::MAX && value > 0).then_some(i64::from(value));
    let gain = |gain: u32| f64::from(gain) / 256.0;
    let bound = |value: Option<u32>| value.filter(|&value| value != u32::MAX).map(i64::from);
    let (out, sacked, lost) = (socket.unacked, socket.sacked, socket.lost);
    SampleRow {
        t_us: due.as_us() as i64,
        flow: i as i32,
        goodput_bytes: goodput as i64,
        goodput_bps,
        cwnd: i64::from(socket.cwnd),
        ssthresh: (socket.ssthresh < INFINITE_SSTHRESH).then_some(i64::from(socket.ssthresh)),
        pacing_bps: (socket.pacing_rate != u64::MAX).then(|| bits(socket.pacing_rate)),
        srtt_us: some(socket.rtt_us),
        rtt_us: None,
        min_rtt_us: set(socket.min_rtt_us),
        in_flight: i64::from(out) - i64::from(sacked) - i64::from(lost) + i64::from(socket.retrans),
        packets_out: i64::from(out),
        sacked: i64::from(sacked),
        lost: i64::from(lost),
        retrans_out: i64::from(socket.retrans),
        delivered: i64::from(socket.delivered),
        lost_total: told.lost.map_or(0, i64::from),
        retrans_total: i64::from(socket.total_retrans),
        segs_sent: i64::from(socket.data_segs_out),
        delivery_rate_bps: (socket.delivery_rate > 0).then(|| bits(socket.delivery_rate)),
        ca_state: i32::from(socket.ca_state),
        cca_state: told.state.unwrap_or(""),
        bw_bps: told.bw_bps.map(|bps| bps.min(i64::MAX as u64) as i64),
        cca_min_rtt_us: told.min_rtt_us.and_then(set),
        pacing_gain: told.pacing_gain.map(gain),
        cwnd_gain: told.cwnd_gain.map(gain),
        inflight_lo: bound(told.inflight_lo),
        inflight_hi: bound(told.inflight_hi),
    }
}
