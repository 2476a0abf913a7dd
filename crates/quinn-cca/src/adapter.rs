//! quinn's two traits, implemented for a controller in kernel style.

use crate::state::{State, INITIAL_WINDOW};
use cca::{CaInfo, Controller as Kernel, Module, ParamError, TcpSock};
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Kernel ticks per second that controllers count in.
const HZ: u32 = 1000;

/// Why a controller cannot run inside quinn.
#[derive(Debug, thiserror::Error)]
pub enum Unsuitable {
    /// No controller has that name.
    #[error("no controller \"{0}\"")]
    Unknown(String),
    /// A parameter that the controller does not take.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// It answers to the share of marked packets.
    #[error("{0} needs the number of CE marks, which quinn does not tell a controller")]
    CountsMarks(String),
}

/// Makes a controller for each connection.
pub struct Factory {
    make: Box<dyn Fn() -> Kernel + Send + Sync>,
    hz: u32,
    seed: u64,
    initial_window: u32,
    made: Observer,
}

/// Looks into the controller that a [`Factory`] made last.
#[derive(Clone, Default)]
pub struct Observer(Arc<Mutex<Option<Arc<Shared>>>>);

/// The rate that one controller wants to be paced at: an [`Observer`] looks for the controller and locks it, this does
/// not, and can be asked for every packet.
#[derive(Clone)]
pub struct Pacing(Arc<Shared>);

/// What a controller knows and wants.
#[derive(Clone, Debug)]
pub struct View {
    /// The socket as the controller sees it; windows and flights in packets.
    pub sk: Box<TcpSock>,
    /// Its estimates.
    pub info: CaInfo,
}

/// A controller in kernel style behind quinn's trait.
///
/// A clone, which quinn makes when a path migrates, is the same controller and goes on with what it knows.
#[derive(Clone)]
pub struct Adapter {
    shared: Arc<Shared>,
    initial_window: u32,
}

struct Shared {
    state: Mutex<State>,
    /// `State::window`, read for every packet.
    window: AtomicU64,
    /// `State::pacing_bps`, the same; [`UNPACED`] where it sets none.
    pacing_bps: AtomicU64,
}

const UNPACED: u64 = u64::MAX;

impl Shared {
    fn new(state: State) -> Shared {
        let shared = Shared {
            window: AtomicU64::default(),
            pacing_bps: AtomicU64::default(),
            state: Mutex::new(state),
        };
        shared.publish(&shared.lock());
        shared
    }

    fn publish(&self, state: &State) {
        self.window.store(state.window(), Ordering::Relaxed);
        self.pacing_bps.store(state.pacing_bps().unwrap_or(UNPACED), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Factory {
    /// The controller `name` with `params` where given and its defaults elsewhere.
    ///
    /// # Errors
    /// When there is none of that name, a parameter is wrong, or quinn cannot carry what it needs.
    pub fn find(name: &str, params: BTreeMap<String, i64>) -> Result<Factory, Unsuitable> {
        let module = Module::find(name).ok_or_else(|| Unsuitable::Unknown(name.to_owned()))?;
        Factory::check(module)?;
        Kernel::new(module, &params)?;
        Ok(Factory::new(move || Kernel::new(module, &params).expect("checked above")))
    }

    /// Connections get what `make` makes; whoever calls this has asked [`Factory::check`].
    pub fn new(make: impl Fn() -> Kernel + Send + Sync + 'static) -> Factory {
        Factory {
            make: Box::new(make),
            hz: HZ,
            seed: 0,
            initial_window: INITIAL_WINDOW,
            made: Observer::default(),
        }
    }

    /// Can this controller do its work inside quinn?
    ///
    /// # Errors
    /// [`Unsuitable::CountsMarks`] for one that needs ECN (DCTCP, Prague).
    pub fn check(module: &Module) -> Result<(), Unsuitable> {
        if module.needs_ecn() || module.needs_l4s() {
            return Err(Unsuitable::CountsMarks(module.name().to_owned()));
        }
        Ok(())
    }

    /// Seeds the random numbers that controllers draw; 0 unless given.
    #[must_use]
    pub fn seed(self, seed: u64) -> Factory {
        Factory { seed, ..self }
    }

    /// Kernel ticks per second that controllers count in; 1000 unless given.
    #[must_use]
    pub fn hz(self, hz: u32) -> Factory {
        Factory { hz, ..self }
    }

    /// Window at the start, packets; 10 unless given.
    #[must_use]
    pub fn initial_window(self, packets: u32) -> Factory {
        Factory { initial_window: packets, ..self }
    }

    /// Looks into the controller that is made last.
    pub fn observer(&self) -> Observer {
        self.made.clone()
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let ca = (self.make)();
        let state = State::new(ca, self.hz, self.seed, now, current_mtu, self.initial_window);
        let shared = Arc::new(Shared::new(state));
        let mut made = self.made.0.lock().unwrap_or_else(PoisonError::into_inner);
        *made = Some(Arc::clone(&shared));
        Box::new(Adapter { shared, initial_window: self.initial_window })
    }
}

impl Observer {
    /// What the controller knows; `None` before there is one. It copies the socket: for records, not for every packet.
    pub fn view(&self) -> Option<View> {
        self.with(|state| View { sk: state.sk.clone(), info: state.ca.info(&state.sk) })
    }

    /// The controller's state among [`Module::states`], if it has any.
    pub fn state(&self) -> Option<u32> {
        self.with(|state| state.ca.state(&mut state.sk)).flatten()
    }

    /// The rate that the controller wants to be paced at, for as long as it lives; `None` before there is one.
    pub fn pacing(&self) -> Option<Pacing> {
        let made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made.as_ref().map(|shared| Pacing(Arc::clone(shared)))
    }

    fn with<T>(&self, read: impl FnOnce(&mut State) -> T) -> Option<T> {
        let made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made.as_ref().map(|shared| read(&mut shared.lock()))
    }
}

impl Pacing {
    /// bit/s; `None` while the controller sets none.
    pub fn bps(&self) -> Option<u64> {
        Some(self.0.pacing_bps.load(Ordering::Relaxed)).filter(|&bps| bps != UNPACED)
    }
}

impl Adapter {
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.shared.lock();
        change(&mut state);
        self.shared.publish(&state);
    }
}

impl Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        self.change(|state| state.on_sent(now, bytes));
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        self.shared.lock().on_ack(now, sent, bytes);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        self.change(|state| state.on_end_acks(now, in_flight, app_limited));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.change(|state| state.on_congestion(now, sent, is_persistent_congestion, lost_bytes));
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.change(|state| state.on_mtu(new_mtu));
    }

    fn window(&self) -> u64 {
        self.shared.window.load(Ordering::Relaxed)
    }

    fn metrics(&self) -> ControllerMetrics {
        let state = self.shared.lock();
        let threshold = state.sk.snd_ssthresh;
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = (threshold < cca::INFINITE_SSTHRESH)
            .then(|| u64::from(threshold) * u64::from(state.sk.mss_cache));
        metrics.pacing_rate = state.pacing_bps();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        u64::from(self.initial_window) * u64::from(self.shared.lock().sk.mss_cache)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
