//! Both ends of a connection in virtual time, with the datagrams that are under way between them.

use crate::config::{Cca, Config};
use crate::datagrams::{Datagrams, Ticket};
use crate::host::Outgoing;
use crate::receiver::Receiver;
use crate::sender::Sender;
use units::Time;

/// A datagram that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    pub ticket: Ticket,
    /// ECN code point of the IP header.
    pub ecn: u8,
}

/// See the module documentation.
pub struct Pair {
    pub sender: Sender,
    pub receiver: Receiver,
    down: Datagrams,
    up: Datagrams,
}

impl Pair {
    /// Two ends that have not started.
    pub fn new(config: Config, cca: Cca) -> Pair {
        Pair {
            receiver: Receiver::new(&config),
            sender: Sender::new(config, cca),
            down: Datagrams::default(),
            up: Datagrams::default(),
        }
    }

    /// The next datagram that leaves the sender now.
    pub fn depart(&mut self, now: Time) -> Option<Departure> {
        let Outgoing { bytes, ecn } = self.sender.depart(now)?;
        Some(Departure { ticket: self.down.put(now, bytes), ecn })
    }

    /// A datagram reaches the receiver.
    pub fn on_datagram(&mut self, now: Time, ticket: Ticket, ecn: u8) {
        let Some(head) = self.down.head(ticket) else { return };
        self.receiver.on_datagram(now, head, ticket.len, ecn);
        self.down.drop_held(ticket);
    }

    /// The next datagram that leaves the receiver now.
    pub fn answer(&mut self, now: Time) -> Option<Departure> {
        let Outgoing { bytes, ecn } = self.receiver.depart(now)?;
        Some(Departure { ticket: self.up.put(now, bytes), ecn })
    }

    /// A datagram reaches the sender.
    pub fn on_answer(&mut self, now: Time, ticket: Ticket, ecn: u8) {
        let Some(head) = self.up.head(ticket) else { return };
        self.sender.on_datagram(now, head, ticket.len, ecn);
        self.up.drop_held(ticket);
    }

    /// What a datagram begins with, for captures.
    pub fn head(&self, ticket: Ticket, from_sender: bool) -> Option<&[u8]> {
        if from_sender {
            self.down.head(ticket)
        } else {
            self.up.head(ticket)
        }
    }

    /// Fails unless what the receiver has was written.
    pub fn check(&self, flow: usize) {
        let (written, got) = (self.sender.written_bytes(), self.receiver.delivered_bytes());
        assert!(got <= written, "flow {flow}: {got} bytes delivered, {written} written");
    }
}
