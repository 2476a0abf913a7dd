//! The crate's own use of itself: two controllers, one in quinn's interface and one for the simulated Linux TCP, each
//! beside Reno, judged by the scenario files in `tests/congestion`.

use dumbbell_test::quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use dumbbell_test::quinn_proto::RttEstimator;
use dumbbell_test::{CaState, Controllers, Custom, RateSample, TcpSock};
use std::any::Any;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

fn main() -> ExitCode {
    Controllers::new()
        .quinn("quinn:plain", "additive increase by a datagram, half after a loss", Arc::new(Plain))
        .tcp("plain", "additive increase by a segment, half after a loss", Aimd::default)
        .test(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/congestion"))
}

struct Plain;

impl ControllerFactory for Plain {
    fn build(self: Arc<Self>, _: Instant, mtu: u16) -> Box<dyn Controller> {
        let mtu = u64::from(mtu);
        Box::new(PlainController { mtu, window: 10 * mtu, threshold: u64::MAX, recovery: None })
    }
}

#[derive(Clone)]
struct PlainController {
    mtu: u64,
    window: u64,
    threshold: u64,
    /// Losses of what was sent before belong to the last reduction.
    recovery: Option<Instant>,
}

impl Controller for PlainController {
    fn on_ack(
        &mut self,
        _: Instant,
        sent: Instant,
        bytes: u64,
        is_limited: bool,
        _: &RttEstimator,
    ) {
        if is_limited || self.recovery.is_some_and(|since| sent <= since) {
            return;
        }
        let more =
            if self.window < self.threshold { bytes } else { self.mtu * bytes / self.window };
        self.window += more.max(1);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, has_collapsed: bool, _: u64) {
        if self.recovery.is_some_and(|since| sent <= since) {
            return;
        }
        self.recovery = Some(now);
        self.threshold = (self.window / 2).max(2 * self.mtu);
        self.window = if has_collapsed { 2 * self.mtu } else { self.threshold };
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu.into();
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window;
        metrics.ssthresh = Some(self.threshold);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        10 * self.mtu
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Segments acknowledged since the window last grew.
#[derive(Default)]
struct Aimd {
    acked: u32,
}

impl Custom for Aimd {
    fn init(&mut self, _: &mut TcpSock) {}

    fn on_ack(&mut self, sk: &mut TcpSock, sample: &RateSample) {
        if sk.icsk_ca_state >= CaState::Recovery as u8 || sk.is_cwnd_limited == 0 {
            return;
        }
        if sk.snd_cwnd < sk.snd_ssthresh {
            sk.snd_cwnd += sample.acked_sacked;
            return;
        }
        self.acked += sample.acked_sacked;
        if self.acked >= sk.snd_cwnd {
            self.acked = 0;
            sk.snd_cwnd += 1;
        }
    }

    fn set_state(&mut self, sk: &mut TcpSock, state: u8) {
        if state >= CaState::Recovery as u8 && sk.icsk_ca_state < CaState::Recovery as u8 {
            sk.snd_ssthresh = (sk.snd_cwnd / 2).max(2);
            sk.snd_cwnd = if state == CaState::Loss as u8 { 1 } else { sk.snd_ssthresh };
        }
    }
}
