//! The sampler with sockets that the test makes up.

use super::*;
use crate::simulated::{ms, SimClock};

/// Sockets that have delivered one more segment at each reading; the run stops after `left` readings.
struct SimSockets {
    clock: SimClock,
    state: Arc<RunState>,
    left: u32,
    read: u32,
    /// The reading with this number takes 70 ms.
    slow: u32,
}

impl SocketSource for SimSockets {
    fn sockets(&mut self) -> io::Result<Vec<Socket>> {
        self.read += 1;
        if self.read == self.slow {
            self.clock.advance_to(self.clock.now() + Span::from_ms(70));
        }
        self.state.stop.store(self.read == self.left, Relaxed);
        self.state.flows[0].delivered_bytes.store(u64::from(self.read) * 1_000, Relaxed);
        let ours = Socket {
            source: SENDERS,
            source_port: DATA_PORT,
            ca_state: if self.read == 2 { 3 } else { 0 },
            rtt_us: 20_000 + self.read,
            delivered: self.read,
            cwnd: 10,
            ssthresh: INFINITE_SSTHRESH,
            pacing_rate: u64::MAX,
            ..Socket::default()
        };
        let other = Socket { source_port: 40_000, delivered: 77, ..ours.clone() };
        Ok(vec![ours, other])
    }
}

/// Samples each 100 ms from `start` on.
fn sampled_from(
    start: Time,
    state: Arc<RunState>,
    left: u32,
    slow: u32,
    controllers: Option<Box<ReadControllers>>,
) -> Samples {
    let clock = SimClock::default();
    clock.advance_to(start);
    let sockets = SimSockets { clock: clock.clone(), state: state.clone(), left, read: 0, slow };
    let out = tempfile::tempdir().expect("a folder");
    let rows = TableWriter::create(out.path(), true).expect("a table");
    let hosts = vec![SampledHosts { sockets, enter: Box::new(|| Ok(())) }];
    let sources = Sources { hosts, quinn: Vec::new(), controllers };
    let sampler = Sampler::new(clock, Span::from_ms(100), sources, rows, state);
    sampler.run().expect("written")
}

fn sampled(left: u32, slow: u32, controllers: Option<Box<ReadControllers>>) -> Samples {
    sampled_from(Time::ZERO, RunState::new(1), left, slow, controllers)
}

#[test]
fn samples_are_taken_at_their_times_of_the_sockets_of_flows_only() {
    let samples = sampled(3, 0, None);
    let flow = &samples.flows[0];
    assert_eq!(flow.srtt_us, [20_001, 20_002, 20_003]);
    assert_eq!(flow.last.as_ref().map(|socket| socket.delivered), Some(3));
    let states = [(ms(200), EventKind::CaState, "Recovery"), (ms(300), EventKind::CaState, "Open")];
    assert_eq!(flow.states, states);
    assert_eq!((flow.at, samples.late), (ms(300), 0));
    assert_eq!(samples.warnings().count(), 0);
}

#[test]
fn who_watches_gets_the_rows_of_the_flows() {
    let watch = record::Watch::default();
    sampled_from(Time::ZERO, RunState::watched(1, Some(watch.clone())), 3, 0, None);
    let rows = watch.take().samples;
    let seen: Vec<_> =
        rows.iter().map(|seen| (seen.row.t_us, seen.row.flow, seen.row.goodput_bytes)).collect();
    assert_eq!(seen, [(100_000, 0, 1_000), (200_000, 0, 2_000), (300_000, 0, 3_000)]);
}

#[test]
fn a_slow_reading_does_not_delay_the_next_sample() {
    // The second reading ends at 270 ms.
    let samples = sampled(3, 2, None);
    assert_eq!((samples.flows[0].at, samples.late), (ms(300), 0));
}

#[test]
fn samples_more_than_half_an_interval_late_are_counted() {
    for (start, late) in [(150, 0), (151, 1)] {
        let samples = sampled_from(ms(start), RunState::new(1), 2, 0, None);
        assert_eq!((samples.late, samples.flows[0].at), (late, ms(200)), "{start} ms");
    }
}

#[test]
fn a_flow_that_is_over_is_not_sampled() {
    let state = RunState::new(1);
    state.flows[0].is_closed.store(true, Relaxed);
    let samples = sampled_from(Time::ZERO, state, 2, 0, None);
    assert_eq!(samples.flows[0].last, None);
}

#[test]
fn what_a_controller_reports_stands_in_the_row_and_its_states_in_the_events() {
    let estimates = Estimates { state: Some("DRAIN"), bw_bps: Some(8_000), ..Estimates::default() };
    let read: Box<ReadControllers> = Box::new(move |take| {
        let local = SocketAddrV4::new(SENDERS.into(), DATA_PORT);
        take(local, CcaSnapshot { lost: Some(4), estimates });
        Ok(())
    });
    let samples = sampled(1, 0, Some(read));
    assert_eq!(samples.flows[0].states, [(ms(100), EventKind::CcaState, "DRAIN")]);
    assert_eq!(samples.flows[0].lost, Some(4));
    let row = row(&Socket::default(), &CcaSnapshot { lost: Some(4), estimates });
    assert_eq!((row.cca_state, row.bw_bps, row.lost_total), ("DRAIN", Some(8_000), Some(4)));
    assert_eq!((row.cca_min_rtt_us, row.inflight_lo), (None, None));
}

#[test]
fn controllers_that_cannot_be_read_are_a_warning_and_samples_go_on() {
    let read: Box<ReadControllers> = Box::new(|_| Err(io::Error::other("it is gone")));
    let samples = sampled(3, 0, Some(read));
    assert_eq!(samples.flows[0].srtt_us.len(), 3);
    let warnings: Vec<String> = samples.warnings().collect();
    assert_eq!(warnings, ["states and estimates of controllers are missing: it is gone"]);
}

#[test]
fn a_row_leaves_out_what_a_socket_does_not_have() {
    let socket = Socket {
        unacked: 10,
        sacked: 3,
        lost: 2,
        retrans: 1,
        ssthresh: INFINITE_SSTHRESH,
        pacing_rate: u64::MAX,
        min_rtt_us: u32::MAX,
        delivery_rate: 1_000,
        ..Socket::default()
    };
    let row = row(&socket, &CcaSnapshot::default());
    assert_eq!(
        (row.ssthresh, row.pacing_bps, row.min_rtt_us, row.srtt_us),
        (None, None, None, None)
    );
    assert_eq!((row.in_flight, row.delivery_rate_bps), (Some(6), Some(8_000)));
}
