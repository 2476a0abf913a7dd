//! How the ends of a connection are set.

use crate::crypto::Null;
use cca::Controller as Kernel;
use quinn_cca::{Factory, Observer};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, ServerConfig,
    TransportConfig, VarInt,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::watch::{Watch, Watched};

/// Length of connection IDs, bytes: quinn's default.
pub(crate) const CID_LEN: usize = 8;
/// Most that a stream holds of what was written, bytes: no run reaches it. quinn-proto keeps its lower bits alone where they
/// do not fit in a `usize`.
const SEND_WINDOW: u64 = (usize::MAX >> 4) as u64;

/// quinn's own controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    NewReno,
    Cubic,
    Bbr,
}

/// A controller in quinn's interface, made for each connection.
pub type Made = Arc<dyn ControllerFactory + Send + Sync>;

/// The controller of the sender.
pub enum Cca {
    /// One of quinn's.
    Own(Own),
    /// One of the program's own ([`crate::given`]).
    Given(Made),
    /// One in kernel style, which counts in `hz` ticks per second.
    Kernel { controller: Kernel, hz: u32 },
}

impl Cca {
    /// Names of the states of one in kernel style; of others none is known.
    pub fn states(&self) -> Vec<&'static str> {
        match self {
            Cca::Own(_) | Cca::Given(_) => Vec::new(),
            Cca::Kernel { controller, .. } => controller.module().states(),
        }
    }
}

/// Settings of both ends of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Length of a full datagram, bytes: 1200 to 1448.
    pub datagram: u16,
    /// Packets carry ECT(0), and marks are answered.
    pub ecn: bool,
    /// Window at the start, datagrams.
    pub initial_window: u32,
    /// Most that leaves the sender, bit/s of datagrams.
    pub max_rate_bps: Option<u64>,
    /// Where a rate is set: a datagram that leaves late brings the next one forward by as much, at most half its gap
    /// (as `fq` does). For hosts whose timers are late; in virtual time none is.
    pub makes_up: bool,
    /// Seed of packet numbers that are left out, connection IDs and what else quinn draws.
    pub seed: u64,
}

impl Own {
    /// The controller that scenarios name so.
    pub fn find(name: &str) -> Option<Own> {
        Own::ALL.into_iter().find(|own| own.name() == name)
    }

    /// Every one of them.
    pub const ALL: [Own; 3] = [Own::Bbr, Own::Cubic, Own::NewReno];

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Own::NewReno => "quinn:newreno",
            Own::Cubic => "quinn:cubic",
            Own::Bbr => "quinn:bbr",
        }
    }
}

/// The sender's transport, with what watches its controller.
pub(crate) fn sender(config: &Config, cca: Cca, watch: &Watch) -> (TransportConfig, Observer) {
    let mut transport = transport(config);
    let window = u64::from(config.initial_window) * u64::from(config.datagram);
    let mut observer = Observer::default();
    match cca {
        Cca::Own(Own::NewReno) => {
            let mut own = NewRenoConfig::default();
            own.initial_window(window);
            watched(&mut transport, Arc::new(own), watch);
        }
        Cca::Own(Own::Cubic) => {
            let mut own = CubicConfig::default();
            own.initial_window(window);
            watched(&mut transport, Arc::new(own), watch);
        }
        Cca::Own(Own::Bbr) => {
            let mut own = BbrConfig::default();
            own.initial_window(window);
            watched(&mut transport, Arc::new(own), watch);
        }
        Cca::Given(made) => watched(&mut transport, made, watch),
        Cca::Kernel { controller, hz } => {
            // quinn makes the controller of a connection once, when it opens.
            let once = Mutex::new(Some(controller));
            let take = move || once.lock().unwrap_or_else(PoisonError::into_inner).take();
            let make = move || take().expect("a connection has one path");
            let factory =
                Factory::new(make).hz(hz).seed(config.seed).initial_window(config.initial_window);
            observer = factory.observer();
            watched(&mut transport, Arc::new(factory), watch);
        }
    }
    (transport, observer)
}

fn watched(transport: &mut TransportConfig, factory: Made, watch: &Watch) {
    let watched = Watched { factory, watch: watch.clone() };
    transport.congestion_controller_factory(Arc::new(watched));
}

/// quinn's defaults, but for what a run over a known path does not need.
pub(crate) fn transport(config: &Config) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .initial_mtu(config.datagram)
        .min_mtu(config.datagram)
        .mtu_discovery_config(None)
        .max_idle_timeout(None)
        .stream_receive_window(VarInt::MAX)
        .receive_window(VarInt::MAX)
        .send_window(SEND_WINDOW)
        .datagram_receive_buffer_size(None)
        .initial_rtt(Duration::from_millis(333))
        .max_concurrent_uni_streams(1_u8.into())
        .max_concurrent_bidi_streams(0_u8.into())
        .enable_segmentation_offload(false);
    transport
}

pub(crate) fn endpoint(config: &Config, side: u8) -> EndpointConfig {
    let mut endpoint = EndpointConfig::new(Arc::new(Null));
    let mut seed = [side; 32];
    seed[..8].copy_from_slice(&config.seed.to_be_bytes());
    let cids = move || -> Box<dyn ConnectionIdGenerator> { Box::new(Cids { side, made: 0 }) };
    endpoint.rng_seed(Some(seed)).cid_generator(cids).grease_quic_bit(false);
    endpoint
}

pub(crate) fn client(transport: TransportConfig) -> ClientConfig {
    let mut client = ClientConfig::new(Arc::new(Null));
    client.transport_config(Arc::new(transport));
    client.initial_dst_cid_provider(Arc::new(|| Cids { side: 3, made: 0 }.generate_cid()));
    client
}

pub(crate) fn server(config: &Config) -> ServerConfig {
    let mut server = ServerConfig::new(Arc::new(Null), Arc::new(Null));
    server.transport_config(Arc::new(transport(config)));
    server.migration(false);
    server
}

/// Connection IDs that are counted: the side, and a number.
struct Cids {
    side: u8,
    made: u32,
}

impl ConnectionIdGenerator for Cids {
    fn generate_cid(&mut self) -> ConnectionId {
        self.made += 1;
        let mut bytes = [self.side; CID_LEN];
        bytes[4..].copy_from_slice(&self.made.to_be_bytes());
        ConnectionId::new(&bytes)
    }

    fn cid_len(&self) -> usize {
        CID_LEN
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}
