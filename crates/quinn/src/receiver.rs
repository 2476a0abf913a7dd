//! The receiving end of a connection: the server, which reads one stream.

use crate::clock::Clock;
use crate::config::{self, Config};
use crate::host::{Host, Outgoing};
use quinn_proto::{Dir, StreamEvent, StreamId};
use units::Time;

/// See the module documentation.
pub struct Receiver {
    /// Time of the last call: quinn's timers may lie before it, and are due then.
    now: Time,
    server: Host,
    delivered: u64,
    is_complete: bool,
    acks_sent: u64,
}

impl Receiver {
    /// A server that waits for its client.
    pub fn new(config: &Config) -> Receiver {
        let (endpoint, server) = (config::endpoint(config, 2), config::server(config));
        Receiver {
            now: Time::ZERO,
            server: Host::new(endpoint, Some(server), Clock::new(), config.ecn),
            delivered: 0,
            is_complete: false,
            acks_sent: 0,
        }
    }

    /// A datagram of `len` bytes arrives, which begins with `head`; the rest is zeros.
    pub fn on_datagram(&mut self, now: Time, head: &[u8], len: u16, ecn: u8) {
        self.now = now;
        self.server.arrive(now, head, len, ecn);
        self.read();
    }

    /// Its timer.
    pub fn on_timer(&mut self, now: Time) {
        self.now = now;
        if self.server.deadline() <= now {
            self.server.on_timer(now);
        }
    }

    /// When it has something to do by itself.
    pub fn deadline(&mut self) -> Time {
        self.server.deadline().max(self.now)
    }

    /// The next datagram that leaves now.
    pub fn depart(&mut self, now: Time) -> Option<Outgoing<'_>> {
        self.now = now;
        let outgoing = self.server.depart(now)?;
        self.acks_sent += 1;
        Some(outgoing)
    }

    /// The application reads what has come in order.
    fn read(&mut self) {
        let mut is_readable = false;
        while let Some(event) = self.server.poll() {
            if let quinn_proto::Event::Stream(event) = event {
                let opened = matches!(event, StreamEvent::Opened { .. });
                is_readable |= opened || matches!(event, StreamEvent::Readable { .. });
            }
        }
        let Some(connection) = self.server.connection().filter(|_| is_readable) else { return };
        // The client's first stream: the only one.
        let accepted = connection.streams().accept(Dir::Uni);
        let id = accepted.unwrap_or(StreamId::new(quinn_proto::Side::Client, Dir::Uni, 0));
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.delivered += chunk.bytes.len() as u64,
                Ok(None) => {
                    self.is_complete = true;
                    break;
                }
                Err(_) => break,
            }
        }
        let _ = chunks.finalize();
    }

    /// Stream data that the receiving application has got, in order, bytes.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered
    }

    /// Whether all of a finite stream arrived.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Datagrams that were sent.
    pub fn acks_sent(&self) -> u64 {
        self.acks_sent
    }
}
