//! One end: an endpoint of quinn with its one connection, and the datagrams that go in and out.

use crate::clock::Clock;
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint,
    EndpointConfig, Event, ServerConfig,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use units::Time;

/// Datagrams are built in pieces of this, which are used again once quinn has read them, bytes.
const ARRIVALS_BYTES: usize = 1 << 16;
/// The port of the server, and that of the client.
const PORT: u16 = 4433;

/// A datagram that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<'a> {
    pub bytes: &'a [u8],
    /// ECN code point of the IP header.
    pub ecn: u8,
}

/// See the module documentation.
pub struct Host {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    clock: Clock,
    peer: SocketAddr,
    ecn: bool,
    out: Vec<u8>,
    arrivals: BytesMut,
}

impl Host {
    pub fn new(
        config: EndpointConfig,
        server: Option<ServerConfig>,
        clock: Clock,
        ecn: bool,
    ) -> Host {
        let last = if server.is_some() { 1 } else { 2 };
        Host {
            endpoint: Endpoint::new(Arc::new(config), server.map(Arc::new), false, None),
            connection: None,
            clock,
            peer: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), PORT),
            ecn,
            out: Vec::new(),
            arrivals: BytesMut::new(),
        }
    }

    /// The client connects.
    pub fn connect(&mut self, now: Time, config: ClientConfig) {
        let now = self.clock.instant(now);
        let made = self.endpoint.connect(now, config, self.peer, "receiver");
        self.connection = Some(made.expect("the configuration is our own"));
    }

    pub fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    pub fn known(&self) -> Option<&Connection> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    /// A datagram of `len` bytes arrives, which begins with `head`; the rest is zeros.
    pub fn arrive(&mut self, now: Time, head: &[u8], len: u16, ecn: u8) {
        let now = self.clock.instant(now);
        if self.arrivals.capacity() < usize::from(len) {
            self.arrivals.reserve(ARRIVALS_BYTES);
        }
        self.arrivals.extend_from_slice(head);
        self.arrivals.resize(len.into(), 0);
        let datagram = self.arrivals.split();
        let ecn = EcnCodepoint::from_bits(ecn);
        self.out.clear();
        let event = self.endpoint.handle(now, self.peer, None, ecn, datagram, &mut self.out);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if let Ok(made) = self.endpoint.accept(incoming, now, &mut self.out, None) {
                    self.connection.get_or_insert(made);
                }
            }
            // A datagram for a connection that is not known: nothing answers it.
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.settle();
    }

    /// Exchanges what connection and endpoint have for each other.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
    }

    /// What the application would be told.
    pub fn poll(&mut self) -> Option<Event> {
        self.connection()?.poll()
    }

    /// When quinn wants to be woken.
    pub fn deadline(&mut self) -> Time {
        let clock = self.clock;
        let deadline = self.connection().and_then(Connection::poll_timeout);
        deadline.map_or(Time::NEVER, |at| clock.time(at))
    }

    pub fn on_timer(&mut self, now: Time) {
        let at = self.clock.instant(now);
        if let Some(connection) = self.connection() {
            connection.handle_timeout(at);
        }
        self.settle();
    }

    /// The next datagram that leaves now.
    pub fn depart(&mut self, now: Time) -> Option<Outgoing<'_>> {
        let at = self.clock.instant(now);
        let (_, connection) = self.connection.as_mut()?;
        self.out.clear();
        let transmit = connection.poll_transmit(at, 1, &mut self.out)?;
        let ecn = transmit.ecn.filter(|_| self.ecn).map_or(0, |code| code as u8);
        Some(Outgoing { bytes: &self.out[..transmit.size], ecn })
    }
}
