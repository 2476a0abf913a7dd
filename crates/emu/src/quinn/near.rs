//! The sending end of a flow, which its thread, the sampler and the schedule share.

use super::socket::{Socket, WAIT_MAX};
use crate::clock::{set_realtime_priority, Clock, MonotonicClock};
use crate::diag;
use crate::flows::RunState;
use crate::sampler::CcaSnapshot;
use cca::CaInfo;
use quinn_ends::{Happened, Outgoing, Sample, Sender};
use record::Estimates;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use units::{Time, INFINITE_SSTHRESH};

/// See the module documentation.
pub struct Near {
    state: Mutex<State>,
    is_started: AtomicBool,
    /// Its controller.
    cca: String,
    /// Names of that one's states.
    states: Vec<&'static str>,
}

struct State {
    sender: Sender,
    happened: Vec<(Time, Happened)>,
}

impl Near {
    pub fn new(sender: Sender, cca: String, states: Vec<&'static str>) -> Near {
        let state = Mutex::new(State { sender, happened: Vec::new() });
        Near { state, is_started: AtomicBool::new(false), cca, states }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is time to connect; its thread may have to be woken.
    pub fn start(&self) {
        self.is_started.store(true, Relaxed);
    }

    /// Connects when it is time, and sends until flow `i` or the run is over.
    pub fn run(
        &self,
        mut socket: Socket,
        clock: MonotonicClock,
        run: &RunState,
        i: usize,
    ) -> io::Result<()> {
        set_realtime_priority();
        while !self.is_started.load(Relaxed) {
            if run.stop.load(Relaxed) {
                return Ok(());
            }
            thread::park_timeout(Duration::from_nanos(WAIT_MAX.as_ns()));
        }
        self.lock().sender.start(clock.now());
        while !run.stop.load(Relaxed) && !run.flows[i].is_over() {
            let next = self.lock().turn(clock.now(), &mut socket)?;
            socket.wait(next.since(clock.now()));
            let mut state = self.lock();
            socket.receive(|bytes, ecn| {
                state.sender.on_datagram(clock.now(), bytes, bytes.len() as u16, ecn);
            })?;
            state.note(clock.now());
        }
        self.lock().sender.stop();
        Ok(())
    }

    /// What the sender says of itself, as the kernel would of a TCP socket, and its controller; `None` before it starts.
    pub fn observe(&self) -> Option<(diag::Socket, CcaSnapshot)> {
        let sample = self.lock().sender.sample()?;
        let estimates = sample.kernel.as_ref().map(|view| estimates(&view.info, &self.states));
        let lost = Some(sample.stats.path.lost_packets as u32);
        let snapshot = CcaSnapshot { lost, estimates: estimates.unwrap_or_default() };
        Some((diag::Socket { cca: self.cca.clone(), ..socket(&sample) }, snapshot))
    }

    /// What is known at the end.
    pub fn finish(&self) -> (Option<Sample>, Vec<(Time, Happened)>) {
        let mut state = self.lock();
        (state.sender.sample(), std::mem::take(&mut state.happened))
    }
}

impl State {
    /// Sends what leaves now; when there may be more.
    fn turn(&mut self, now: Time, socket: &mut Socket) -> io::Result<Time> {
        self.sender.on_timer(now);
        while socket.has_room()? {
            let Some(Outgoing { bytes, ecn }) = self.sender.depart(now) else { break };
            socket.send(bytes, ecn)?;
        }
        self.note(now);
        Ok(self.sender.deadline())
    }

    fn note(&mut self, now: Time) {
        self.happened.extend(self.sender.take_happened().map(|one| (now, one)));
    }
}

/// The fields that quinn knows, in datagrams; docs/models/quic.md says what they mean.
fn socket(sample: &Sample) -> diag::Socket {
    let seen = &sample.seen;
    let lost = sample.stats.path.lost_packets as u32;
    let own = diag::Socket {
        cwnd: sample.datagrams(sample.cwnd),
        ssthresh: sample.ssthresh.map_or(INFINITE_SSTHRESH, |bytes| sample.datagrams(bytes)),
        pacing_rate: sample.pacing_bps.map_or(u64::MAX, |bps| bps / 8),
        rtt_us: sample.srtt_us().unwrap_or(0),
        last_rtt_us: sample.rtt_us(),
        min_rtt_us: sample.min_rtt_us().unwrap_or(u32::MAX),
        unacked: sample.in_flight(),
        delivered: seen.acked as u32,
        total_retrans: lost,
        data_segs_out: sample.stats.path.sent_packets as u32,
        bytes_sent: sample.stats.udp_tx.bytes,
        timeouts: Some(seen.collapses.min(u32::from(u16::MAX)) as u16),
        ..diag::Socket::default()
    };
    let Some(view) = &sample.kernel else { return own };
    let sk = &view.sk;
    let us = u64::from(sk.rate_interval_us);
    let bytes = u64::from(sk.rate_delivered) * u64::from(sk.mss_cache);
    let rate = (bytes * 1_000_000).checked_div(us).unwrap_or(0);
    diag::Socket { delivery_rate: rate, ca_state: sk.icsk_ca_state, ..own }
}

fn estimates(info: &CaInfo, states: &[&'static str]) -> Estimates {
    Estimates {
        state: info.state().and_then(|state| states.get(state as usize).copied()),
        bw_bps: info.bw().map(|bytes| bytes.saturating_mul(8)),
        min_rtt_us: info.min_rtt_us(),
        pacing_gain: info.pacing_gain(),
        cwnd_gain: info.cwnd_gain(),
        inflight_lo: info.inflight_lo(),
        inflight_hi: info.inflight_hi(),
    }
}
