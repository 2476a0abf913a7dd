//! Samples of every flow's socket while a run goes on, in a thread of its own.

use crate::clock::Clock;
use crate::diag::{Diag, Socket};
use crate::router::{DATA_PORT, SENDERS};
use crate::shared::Shared;
use record::{RecordError, SampleRow, TableWriter};
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
    delivered_bytes: u64,
    at: Time,
}

/// See the module documentation.
pub struct Sampler {
    pub flows: Vec<Sampled>,
    /// The first error of the kernel's, if there was any.
    pub failed: Option<std::io::Error>,
    /// Samples that came more than half their interval late.
    pub late: u64,
    diag: Diag,
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
        (diag, clock, every): (Diag, Clock, Span),
        shared: Arc<Shared>,
    ) -> Result<Sampler, RecordError> {
        let flows = shared.flows.iter().map(|_| Sampled::default()).collect();
        let rows = TableWriter::create(out, is_on)?;
        Ok(Sampler { flows, failed: None, late: 0, diag, rows, clock, every, shared })
    }

    /// Samples until the run stops.
    pub fn run(mut self) -> Sampler {
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
        for socket in sockets {
            let i = socket.source.wrapping_sub(SENDERS) as usize;
            let is_flow = socket.source_port == DATA_PORT && i < self.flows.len();
            if is_flow && self.is_open(i) {
                self.sample_flow(now, due, i, socket);
            }
        }
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
        self.rows.push(&row(due, i, goodput, bits as i64, &socket));
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

/// A row of the table. The kernel tells neither the last RTT nor how much was ever marked lost, nor what state
/// a controller is in.
fn row(due: Time, i: usize, goodput: u64, throughput_bps: i64, socket: &Socket) -> SampleRow {
    let some = |value: u32| (value > 0).then_some(i64::from(value));
    let bits = |bytes: u64| (i128::from(bytes) * 8).min(i64::MAX as i128) as i64;
    let set = |value: u32| (value != u32::MAX && value > 0).then_some(i64::from(value));
    let gain = |gain: u32| f64::from(gain) / 256.0;
    let (out, sacked, lost) = (socket.unacked, socket.sacked, socket.lost);
    SampleRow {
        t_us: due.as_us() as i64,
        flow: i as i32,
        goodput_bytes: goodput as i64,
        throughput_bps,
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
        lost_total: 0,
        retrans_total: i64::from(socket.total_retrans),
        segs_sent: i64::from(socket.data_segs_out),
        delivery_rate_bps: (socket.delivery_rate > 0).then(|| bits(socket.delivery_rate)),
        ca_state: i32::from(socket.ca_state),
        cca_state: "",
        bw_bps: socket.bbr.map(|bbr| bits(bbr.bw)),
        cca_min_rtt_us: socket.bbr.and_then(|bbr| set(bbr.min_rtt_us)),
        pacing_gain: socket.bbr.map(|bbr| gain(bbr.pacing_gain)),
        cwnd_gain: socket.bbr.map(|bbr| gain(bbr.cwnd_gain)),
        inflight_lo: None,
        inflight_hi: None,
    }
}
