//! Watches what quinn tells a controller: quinn itself keeps the bytes in flight to itself.

use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    /// Packets sent until then belong to an event that was counted.
    answered: Option<Instant>,
}

/// Both ends of the watch.
#[derive(Clone, Default)]
pub struct Watch(Arc<Mutex<Seen>>);

/// A factory of watched controllers.
pub struct Watched<F> {
    pub factory: Arc<F>,
    pub watch: Watch,
}

struct WatchedController {
    controller: Box<dyn Controller>,
    watch: Watch,
}

impl Watch {
    pub fn seen(&self) -> Seen {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: ControllerFactory + Send + Sync + 'static> ControllerFactory for Watched<F> {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let controller = Arc::clone(&self.factory).build(now, current_mtu);
        Box::new(WatchedController { controller, watch: self.watch.clone() })
    }
}

impl Controller for WatchedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.watch.lock().in_flight += bytes;
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
        let mut seen = self.watch.lock();
        let sample = now.saturating_duration_since(sent);
        seen.acked += 1;
        seen.rtt = Some(sample);
        seen.min_rtt = Some(seen.min_rtt.map_or(sample, |min| min.min(sample)));
        drop(seen);
        self.controller.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.watch.lock().in_flight = in_flight;
        self.controller.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let mut seen = self.watch.lock();
        seen.in_flight = seen.in_flight.saturating_sub(lost_bytes);
        if seen.answered.is_none_or(|answered| sent > answered) {
            seen.answered = Some(now);
            seen.events += 1;
        }
        seen.collapses += u32::from(is_persistent_congestion);
        drop(seen);
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
        let controller = self.controller.clone_box();
        Box::new(WatchedController { controller, watch: self.watch.clone() })
    }

    fn initial_window(&self) -> u64 {
        self.controller.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
