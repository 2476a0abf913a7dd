//! Nanoseconds per ACK of each controller: `cargo bench -p dumbbell-cca`.
//!
//! One ACK is `pkts_acked`, `in_ack_event` and `cong_avoid` or `cong_control`, as the stack calls them,
//! for a flow of one segment per 12 us over 20 ms (1 Gbit/s), with a loss and a recovery every 20000
//! ACKs. Prints the median of several runs. Making the arguments is included.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use cca::{AckSample, CaState, Controller, Module, RateSample, TcpSock, SK_PACING_FQ};

const ACKS: u32 = 1_000_000;
const RUNS: usize = 9;
const SEGMENT_US: u64 = 12;
const RTT_US: u64 = 20_000;
const ACKS_PER_LOSS: u32 = 20_000;

fn main() {
    println!("{:<12} ns per ACK (median of {RUNS} runs of {ACKS} ACKs)", "controller");
    for module in Module::all() {
        let mut runs: Vec<f64> = (0..RUNS).map(|_| run(module)).collect();
        runs.sort_by(f64::total_cmp);
        println!("{:<12} {:.1}", module.name(), runs[RUNS / 2]);
    }
}

/// One flow of `ACKS` ACKs; returns nanoseconds per ACK.
fn run(module: &'static Module) -> f64 {
    let cca = Controller::new(module, &BTreeMap::new()).expect("defaults are valid");
    let mut sk = flow(&cca);
    let start = Instant::now();
    for ack in 1..=ACKS {
        advance(&mut sk);
        if ack % ACKS_PER_LOSS == 0 {
            lose(&cca, &mut sk);
        } else if ack % ACKS_PER_LOSS == 1700 {
            recover(&cca, &mut sk);
        }
        on_ack(&cca, &mut sk);
    }
    let elapsed = start.elapsed();
    black_box(sk.snd_cwnd);
    elapsed.as_nanos() as f64 / f64::from(ACKS)
}

fn flow(cca: &Controller) -> Box<TcpSock> {
    let mut sk = TcpSock::new();
    cca.attach(&mut sk, 1000, 1);
    sk.sk_pacing_status = SK_PACING_FQ;
    sk.is_cwnd_limited = 1;
    sk.tcp_mstamp = 1_000_000;
    sk.srtt_us = (RTT_US as u32) << 3;
    sk.packets_out = (RTT_US / SEGMENT_US) as u32;
    cca.init(&mut sk);
    sk
}

fn advance(sk: &mut TcpSock) {
    sk.tcp_mstamp += SEGMENT_US;
    sk.tcp_clock_cache = sk.tcp_mstamp * 1000;
    sk.tcp_wstamp_ns = sk.tcp_clock_cache + 5_000;
    sk.jiffies = (sk.tcp_mstamp / 1000) as u32;
    sk.delivered = sk.delivered.wrapping_add(1);
    sk.delivered_mstamp = sk.tcp_mstamp;
    sk.snd_una = sk.snd_una.wrapping_add(sk.mss_cache);
    sk.snd_nxt = sk.snd_una.wrapping_add(sk.packets_out * sk.mss_cache);
}

fn lose(cca: &Controller, sk: &mut TcpSock) {
    sk.prior_cwnd = sk.snd_cwnd;
    sk.lost += 1;
    sk.snd_ssthresh = cca.ssthresh(sk);
    cca.set_state(sk, CaState::Recovery);
    sk.icsk_ca_state = CaState::Recovery as u8;
}

fn recover(cca: &Controller, sk: &mut TcpSock) {
    if !cca.has_cong_control() {
        sk.snd_cwnd = sk.snd_ssthresh;
    }
    cca.set_state(sk, CaState::Open);
    sk.icsk_ca_state = CaState::Open as u8;
}

fn on_ack(cca: &Controller, sk: &mut TcpSock) {
    let una = sk.snd_una;
    let rtt_us = RTT_US + sk.tcp_mstamp % 1000;
    let sample = AckSample { pkts_acked: 1, rtt_us: rtt_us as i32, in_flight: 0 };
    cca.pkts_acked(sk, black_box(&sample));
    cca.in_ack_event(sk, 0);
    if !cca.has_cong_control() {
        cca.cong_avoid(sk, una, black_box(1));
        return;
    }
    let segments = (rtt_us / SEGMENT_US) as u32;
    let rs = RateSample {
        prior_delivered: sk.delivered.wrapping_sub(segments),
        delivered: segments as i32,
        interval_us: rtt_us as i64,
        rtt_us: rtt_us as i64,
        acked_sacked: 1,
        prior_in_flight: sk.packets_out,
        ..RateSample::default()
    };
    cca.cong_control(sk, una, 0, black_box(&rs));
}
