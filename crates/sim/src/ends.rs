//! The two hosts of a flow, whichever transport they speak.

use cca::{Controller, TcpSock};
use net::host::Nic;
use net::packet::{MSS, SEGMENTS_MAX};
use net::{flags, Ack, Packet};
use transport::app::Write;
use transport::common::{Conn, SenderEvent, SenderStats};
use transport::tcp::Burst;
use transport::{quic, tcp};
use units::{Span, Time};

/// Sender and receiver.
pub enum Ends {
    Tcp(Box<tcp::Sender>, Box<tcp::Receiver>),
    Quic(Box<quic::Sender>, Box<quic::Receiver>),
}

/// What leaves a sender at once.
pub enum Departure {
    /// Segments of TCP, back to back.
    Burst(Burst),
    /// A packet of QUIC.
    Packet(Packet),
}

/// Calls the same method of whichever sender it is.
macro_rules! sender {
    ($ends:expr, $sender:ident => $call:expr) => {
        match $ends {
            Ends::Tcp($sender, _) => $call,
            Ends::Quic($sender, _) => $call,
        }
    };
}

/// Calls the same method of whichever receiver it is.
macro_rules! receiver {
    ($ends:expr, $receiver:ident => $call:expr) => {
        match $ends {
            Ends::Tcp(_, $receiver) => $call,
            Ends::Quic(_, $receiver) => $call,
        }
    };
}

impl Departure {
    /// Segments in it, or packets without data.
    #[inline]
    pub fn len(&self) -> u32 {
        match self {
            Departure::Burst(burst) => burst.segments.max(1),
            Departure::Packet(_) => 1,
        }
    }
}

/// The sending host.
impl Ends {
    pub fn start(&mut self, now: Time) {
        sender!(self, s => s.start(now));
    }

    pub fn stop(&mut self) {
        sender!(self, s => s.stop());
    }

    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        match self {
            Ends::Tcp(sender, _) => sender.on_ack(now, ack),
            Ends::Quic(sender, receiver) => sender.on_ack(now, ack, receiver.arrivals_mut()),
        }
    }

    #[inline]
    pub fn on_sender_timer(&mut self, now: Time) {
        match self {
            Ends::Tcp(sender, _) => {
                sender.on_watchdog(now);
                sender.on_timer(now);
            }
            Ends::Quic(sender, _) => sender.on_timer(now),
        }
    }

    /// When the sender is to be woken, and how much earlier it may be; QUIC paces by a timer without slack.
    #[inline]
    pub fn sender_wakeup(&self) -> (Time, Span) {
        match self {
            Ends::Tcp(sender, _) => sender.next_wakeup(),
            Ends::Quic(sender, _) => (sender.next_deadline(), Span::ZERO),
        }
    }

    /// What leaves the sending host now, until there is nothing more.
    #[inline]
    pub fn depart(&mut self, now: Time) -> Option<Departure> {
        match self {
            Ends::Tcp(sender, _) => sender.depart(now).map(Departure::Burst),
            Ends::Quic(sender, _) => sender.depart(now).map(Departure::Packet),
        }
    }

    /// The packet of a departure of this flow that begins with its `i`-th segment: a frame, or as many full segments, the
    /// last of them full or not, as a super-packet holds.
    #[inline]
    pub fn packet(&self, now: Time, flow: u32, departure: &Departure, i: u32, nic: Nic) -> Packet {
        let sent_us = now.as_us() as u32;
        let burst = match departure {
            Departure::Packet(packet) => return Packet { flow, sent_us, ..*packet },
            Departure::Burst(burst) => burst,
        };
        let is_data = burst.segments > 0;
        let seq = burst.seq + i;
        let mut len = if is_data { self.payload(seq) } else { 0 };
        let mut end = i + 1;
        if nic == Nic::Virtual {
            let full = SEGMENTS_MAX.min(burst.segments - i.min(burst.segments));
            while end < i + full && len == (end - i) * MSS {
                len += self.payload(burst.seq + end);
                end += 1;
            }
        }
        let last = end == burst.segments;
        Packet {
            flow,
            seq,
            ts_val: burst.ts_val,
            ts_ecr: burst.ts_ecr,
            len: len as u16,
            flags: burst.flags & if i == 0 { !0 } else { !flags::CWR }
                | if burst.push && last { flags::PUSH } else { 0 },
            ecn: burst.ecn,
            sent_us,
        }
    }

    /// The application writes.
    ///
    /// # Panics
    /// With QUIC, whose streams have their size from the start.
    pub fn supply(&mut self, now: Time, write: Write) {
        let Ends::Tcp(sender, receiver) = self else { panic!("QUIC streams are not written to") };
        sender.supply(now, write);
        if write == Write::Close {
            receiver.finish(sender.written());
        }
    }

    pub fn is_established(&self) -> bool {
        sender!(self, s => s.conn() == Conn::Established)
    }

    #[inline]
    pub fn sk(&self) -> &TcpSock {
        sender!(self, s => &s.sk)
    }

    pub fn controller(&self) -> &Controller {
        sender!(self, s => s.sk.controller())
    }

    #[inline]
    pub fn controller_state(&mut self) -> Option<u32> {
        sender!(self, s => s.sk.controller_state())
    }

    pub fn stats(&self) -> &SenderStats {
        sender!(self, s => s.stats())
    }

    pub fn last_rtt_us(&self) -> u32 {
        sender!(self, s => s.last_rtt_us())
    }

    pub fn in_flight(&self) -> u32 {
        sender!(self, s => s.in_flight())
    }

    pub fn take_events(&mut self) -> std::vec::Drain<'_, SenderEvent> {
        sender!(self, s => s.sk.take_events())
    }

    /// Payload of a segment, bytes.
    #[inline]
    pub fn payload(&self, seq: u32) -> u32 {
        sender!(self, s => s.payload(seq))
    }
}

/// The receiving host.
impl Ends {
    #[inline]
    pub fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Vec<Ack>) {
        receiver!(self, r => r.on_packet(now, packet, out));
    }

    #[inline]
    pub fn on_receiver_timer(&mut self, now: Time, out: &mut Vec<Ack>) {
        receiver!(self, r => r.on_timer(now, out));
    }

    #[inline]
    pub fn receiver_deadline(&self) -> Time {
        receiver!(self, r => r.next_deadline())
    }

    /// Whether all of a finite stream arrived.
    #[inline]
    pub fn is_complete(&self) -> bool {
        receiver!(self, r => r.is_complete())
    }

    /// Payload that the receiving application has got, in order.
    #[inline]
    pub fn delivered_bytes(&self) -> u64 {
        receiver!(self, r => r.stats().delivered_bytes)
    }

    pub fn acks_sent(&self) -> u64 {
        receiver!(self, r => r.stats().acks_sent)
    }

    /// Fails unless what was acknowledged was received, and what was received was sent.
    pub fn check(&self, flow: usize) {
        let Ends::Tcp(sender, receiver) = self else { return };
        let (una, nxt) = sender.window();
        assert!(
            una <= receiver.rcv_nxt() && receiver.rcv_nxt() <= nxt,
            "flow {flow}: acknowledged {una}, received {}, sent {nxt}",
            receiver.rcv_nxt()
        );
    }
}
