//! Watches what quinn tells a controller: quinn itself keeps the bytes in flight to itself.

use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use std::any::Any;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What was seen so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Bytes in flight.
    pub in_flight: u64,
    /// Packets acknowledged.
    pub acked: u64,
    /// Last round-trip time.
    pub rtt: Option<Duration>,
    pub min_rtt: Option<Duration>,
    /// Congestion events, one a round (RFC 9002 section 7.3.2).
    pub events: u32,
    /// Persistent congestions.
    pub collapses: u32,
}

/// Both ends of the watch.
///
/// Only the controller writes, and who reads has the connection that would call it: nothing is read in the middle of a
/// change. A lock would be taken some five times a packet.
#[derive(Clone, Default)]
pub struct Watch(Arc<Counts>);

#[derive(Default)]
struct Counts {
    in_flight: AtomicU64,
    acked: AtomicU64,
    /// Of the packet acknowledged last, where there is one.
    rtt_ns: AtomicU64,
    min_rtt_ns: AtomicU64,
    events: AtomicU32,
    collapses: AtomicU32,
}

/// A factory of watched controllers.
pub struct Watched {
    pub factory: Arc<dyn ControllerFactory + Send + Sync>,
    pub watch: Watch,
}

struct WatchedController {
    controller: Box<dyn Controller>,
    watch: Watch,
    /// Packets sent until then belong to a congestion event that was counted.
    answered: Option<Instant>,
}

impl Watch {
    pub fn seen(&self) -> Seen {
        let counts = &*self.0;
        let acked = get(&counts.acked);
        let rtt = |ns: &AtomicU64| (acked > 0).then(|| Duration::from_nanos(get(ns)));
        Seen {
            in_flight: get(&counts.in_flight),
            acked,
            rtt: rtt(&counts.rtt_ns),
            min_rtt: rtt(&counts.min_rtt_ns),
            events: counts.events.load(Ordering::Relaxed),
            collapses: self.collapses(),
        }
    }

    /// [`Seen::collapses`] alone.
    pub fn collapses(&self) -> u32 {
        self.0.collapses.load(Ordering::Relaxed)
    }
}

fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// For the one writer: plain instructions, which an addition of other threads' would not be.
fn set(count: &AtomicU64, value: u64) {
    count.store(value, Ordering::Relaxed);
}

fn increment(count: &AtomicU32) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

impl ControllerFactory for Watched {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let controller = Arc::clone(&self.factory).build(now, current_mtu);
        let watch = self.watch.clone();
        Box::new(WatchedController { controller, watch, answered: None })
    }
}

impl Controller for WatchedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        let in_flight = &self.watch.0.in_flight;
        set(in_flight, get(in_flight) + bytes);
        self.controller.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let counts = &*self.watch.0;
        let sample_ns = now.saturating_duration_since(sent).as_nanos() as u64;
        let acked = get(&counts.acked);
        let min_ns = if acked == 0 { sample_ns } else { get(&counts.min_rtt_ns).min(sample_ns) };
        set(&counts.acked, acked + 1);
        set(&counts.rtt_ns, sample_ns);
        set(&counts.min_rtt_ns, min_ns);
        self.controller.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        set(&self.watch.0.in_flight, in_flight);
        self.controller.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let counts = &*self.watch.0;
        set(&counts.in_flight, get(&counts.in_flight).saturating_sub(lost_bytes));
        if self.answered.is_none_or(|answered| sent > answered) {
            self.answered = Some(now);
            increment(&counts.events);
        }
        if is_persistent_congestion {
            increment(&counts.collapses);
        }
        self.controller.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.controller.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.controller.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.controller.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let (controller, watch) = (self.controller.clone_box(), self.watch.clone());
        Box::new(WatchedController { controller, watch, answered: self.answered })
    }

    fn initial_window(&self) -> u64 {
        self.controller.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
