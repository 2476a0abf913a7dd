//! The two hosts of a flow, whichever transport they speak.

use crate::quinn::Quinn;
use crate::udp::Udp;
use cca::{Agent, CaInfo, Controller, TcpSock, Variable};
use net::fetch::fetch;
use net::host::{EcnMode, Nic};
use net::packet::{MSS, SEGMENTS_MAX};
use net::{flags, Ack, Packet};
use transport::app::Write;
use transport::common::{Conn, LimitedBy, SenderEvent, SenderStats};
use transport::tcp::{Burst, Feedback};
use transport::{quic, tcp};
use units::{Span, Time};

/// Sender and receiver.
pub enum Ends {
    Tcp(Box<tcp::Sender>, Box<tcp::Receiver>),
    Quic(Box<quic::Sender>, Box<quic::Receiver>),
    Quinn(Box<Quinn>),
    Udp(Box<Udp>),
}

/// What leaves a sender at once.
pub enum Departure {
    /// Segments of TCP, back to back.
    Burst(Burst),
    /// A packet of QUIC, or a datagram of quinn or UDP.
    Packet(Packet),
}

/// Calls the same method of whichever sender it is, or what quinn and UDP have instead.
macro_rules! sender {
    ($ends:expr, $sender:ident => $call:expr, $quinn:ident => $instead:expr, $udp:ident => $nothing:expr) => {
        match $ends {
            Ends::Tcp($sender, _) => $call,
            Ends::Quic($sender, _) => $call,
            Ends::Quinn($quinn) => $instead,
            Ends::Udp($udp) => $nothing,
        }
    };
}

/// Calls the same method of whichever receiver it is, or what quinn and UDP have instead.
macro_rules! receiver {
    ($ends:expr, $receiver:ident => $call:expr, $quinn:ident => $instead:expr, $udp:ident => $nothing:expr) => {
        match $ends {
            Ends::Tcp(_, $receiver) => $call,
            Ends::Quic(_, $receiver) => $call,
            Ends::Quinn($quinn) => $instead,
            Ends::Udp($udp) => $nothing,
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

/// The frames of a burst of this flow at a host whose network card gets frames: what [`Ends::packet`] gives one by one.
#[inline(always)]
pub fn frames(
    sender: &tcp::Sender,
    now: Time,
    flow: u32,
    burst: Burst,
) -> impl ExactSizeIterator<Item = Packet> {
    let last = burst.segments.max(1) - 1;
    // Only the last one of those that are sent in one piece may be short.
    let full = if last > 0 { sender.payload(burst.seq) as u16 } else { 0 };
    let end = if burst.segments > 0 { sender.payload(burst.seq + last) as u16 } else { 0 };
    let push = if burst.push && burst.segments > 0 { flags::PUSH } else { 0 };
    let sent_us = now.as_us() as u32;
    let Burst { seq, ts_val, ts_ecr, ecn, .. } = burst;
    (0..last + 1).map(move |i| {
        let cwr = if i == 0 { 0 } else { flags::CWR };
        let (len, push) = if i == last { (end, push) } else { (full, 0) };
        let flags = burst.flags & !cwr | push;
        Packet { flow, seq: seq + i, ts_val, ts_ecr, len, flags, ecn, sent_us }
    })
}

/// Memory that is needed soon ([`fetch`]); the simplified QUIC and quinn are waited for.
impl Ends {
    /// The sender's.
    #[inline]
    pub fn fetch_sender(&self) {
        if let Ends::Tcp(sender, _) = self {
            fetch(&**sender);
        }
    }

    /// What the sender leads to, once that is there.
    #[inline]
    pub fn fetch_queues(&self) {
        if let Ends::Tcp(sender, _) = self {
            sender.fetch_queues();
        }
    }

    /// The receiver's.
    #[inline]
    pub fn fetch_receiver(&self) {
        if let Ends::Tcp(_, receiver) = self {
            fetch(&**receiver);
        }
    }

    /// What the receiver holds out of order, once that is there.
    #[inline]
    pub fn fetch_out_of_order(&self) {
        if let Ends::Tcp(_, receiver) = self {
            receiver.fetch_out_of_order();
        }
    }
}

/// The sending host.
impl Ends {
    pub fn start(&mut self, now: Time) {
        sender!(self, s => s.start(now), q => q.pair.sender.start(now), u => u.is_open = true);
    }

    pub fn stop(&mut self) {
        sender!(self, s => s.stop(), q => q.pair.sender.stop(), u => u.is_open = false);
    }

    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        match self {
            Ends::Tcp(sender, _) => sender.on_ack(now, ack),
            Ends::Quic(sender, receiver) => sender.on_ack(now, ack, receiver.arrivals_mut()),
            Ends::Quinn(quinn) => quinn.on_ack(now, ack),
            Ends::Udp(_) => unreachable!("UDP is not acknowledged: {ack:?}"),
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
            Ends::Quinn(quinn) => quinn.pair.sender.on_timer(now),
            Ends::Udp(_) => {}
        }
    }

    /// When the sender is to be woken, and how much earlier it may be; QUIC paces by a timer without slack.
    #[inline]
    pub fn sender_wakeup(&mut self) -> (Time, Span) {
        match self {
            Ends::Tcp(sender, _) => sender.next_wakeup(),
            Ends::Quic(sender, _) => (sender.next_deadline(), Span::ZERO),
            Ends::Quinn(quinn) => (quinn.pair.sender.deadline(), Span::ZERO),
            Ends::Udp(_) => (Time::NEVER, Span::ZERO),
        }
    }

    /// Whether everything that was written is acknowledged; of TCP.
    pub fn is_all_acknowledged(&self) -> bool {
        matches!(self, Ends::Tcp(sender, _) if sender.is_all_acknowledged())
    }

    /// Whether [`Ends::depart`] may give something; where not, nothing leaves.
    #[inline]
    pub fn may_depart(&self, now: Time) -> bool {
        match self {
            Ends::Tcp(sender, _) => sender.may_depart(now),
            Ends::Quic(..) | Ends::Quinn(_) | Ends::Udp(_) => true,
        }
    }

    /// More ACKs come at this instant, or no more; false for a transport to which that makes no difference.
    pub fn set_followed(&mut self, is_followed: bool) -> bool {
        match self {
            Ends::Tcp(sender, _) => sender.set_followed(is_followed),
            Ends::Quic(..) | Ends::Quinn(_) | Ends::Udp(_) => return false,
        }
        true
    }

    /// What leaves the sending host now, until there is nothing more.
    #[inline]
    pub fn depart(&mut self, now: Time) -> Option<Departure> {
        match self {
            Ends::Tcp(sender, _) => sender.depart(now).map(Departure::Burst),
            Ends::Quic(sender, _) => sender.depart(now).map(Departure::Packet),
            Ends::Quinn(quinn) => quinn.depart(now).map(Departure::Packet),
            Ends::Udp(udp) => udp.depart().map(Departure::Packet),
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
    /// With the simplified QUIC, whose streams have their size from the start.
    pub fn supply(&mut self, now: Time, write: Write) {
        match self {
            Ends::Tcp(sender, receiver) => {
                sender.supply(now, write);
                if write == Write::Close {
                    receiver.finish(sender.offered());
                }
            }
            Ends::Quinn(quinn) => quinn.supply(write),
            Ends::Udp(udp) => udp.supply(write),
            Ends::Quic(..) => panic!("streams of the simplified QUIC are not written to"),
        }
    }

    /// Whether a receiver acknowledges, so that there are a window, round-trip times and losses that the sender knows of.
    pub fn is_acknowledged(&self) -> bool {
        !matches!(self, Ends::Udp(_))
    }

    pub fn is_established(&self) -> bool {
        sender!(self, s => s.conn() == Conn::Established, q => q.pair.sender.is_established(), u => u.is_open)
    }

    /// Brings up to date what is read of the sender; TCP and the simplified QUIC always are.
    #[inline]
    pub fn observe(&mut self) {
        if let Ends::Quinn(quinn) = self {
            quinn.observe();
        }
    }

    /// The sender's socket; of quinn, what is known of it since the last [`Ends::observe`].
    #[inline]
    pub fn sk(&self) -> &TcpSock {
        sender!(self, s => &s.sk, q => &q.sk, u => &u.sk)
    }

    /// The controller's estimates; quinn's own have none.
    pub fn info(&mut self, info: &mut CaInfo) {
        sender!(self, s => s.sk.controller_info(info), q => *info = q.info, _u => ());
    }

    /// The controller, where it is not inside quinn.
    pub fn controller(&self) -> Option<&Controller> {
        sender!(self, s => Some(s.sk.controller()), _q => None, _u => None)
    }

    /// Names of the controller's states.
    pub fn states(&self) -> Vec<&'static str> {
        sender!(self, s => s.sk.controller().module().states(), q => q.states.clone(), _u => Vec::new())
    }

    /// The ECN feedback that a SYN asks for, at hosts with this setting.
    pub fn feedback(&self, ecn: EcnMode) -> Feedback {
        sender!(self, s => Feedback::of(s.sk.controller(), ecn), _q => Feedback::None, _u => Feedback::None)
    }

    #[inline]
    pub fn controller_state(&mut self) -> Option<u32> {
        sender!(self, s => s.sk.controller_state(), q => q.pair.sender.controller_state(), _u => None)
    }

    pub fn stats(&self) -> &SenderStats {
        sender!(self, s => s.stats(), q => &q.stats, u => &u.stats)
    }

    /// For how long TCP was busy until `now`, and held by the hosts' buffers.
    pub fn limited_time(&self, now: Time) -> Option<tcp::LimitedTime> {
        match self {
            Ends::Tcp(sender, _) => Some(sender.limited_time(now)),
            Ends::Quic(..) | Ends::Quinn(_) | Ends::Udp(_) => None,
        }
    }

    /// What limits the sender at present; unknown of quinn, and nothing of UDP.
    pub fn limited_by(&mut self) -> Option<LimitedBy> {
        match self {
            Ends::Tcp(sender, _) => sender.limited_by(),
            Ends::Quic(sender, _) => sender.limited_by(),
            Ends::Quinn(_) | Ends::Udp(_) => None,
        }
    }

    /// Variables that the controller declares; none of one inside quinn.
    pub fn variables(&self) -> Vec<Variable> {
        self.controller().map(|ca| ca.module().variables()).unwrap_or_default()
    }

    /// Reads their values; false where there are none at present.
    pub fn read_variables(&mut self, values: &mut [i64]) -> bool {
        sender!(self, s => s.sk.read_variables(values), _q => false, _u => false)
    }

    /// The sender as one whose controller asks; none inside quinn.
    #[inline]
    pub fn agent(&mut self) -> Option<Agent<'_>> {
        sender!(self, s => s.sk.agent(), _q => None, _u => None)
    }

    /// Segments that were sent again, or of QUIC packets that were lost; up to date without [`Ends::observe`].
    #[inline]
    pub fn retransmitted(&self) -> u64 {
        sender!(self, s => s.stats().retrans_segs, q => q.pair.sender.lost_packets(), _u => 0)
    }

    pub fn last_rtt_us(&self) -> u32 {
        sender!(self, s => s.last_rtt_us(), q => q.last_rtt_us(), _u => 0)
    }

    pub fn in_flight(&self) -> u32 {
        sender!(self, s => s.in_flight(), q => q.sk.packets_out, _u => 0)
    }

    /// Has the sender keep events of single packets.
    pub fn record_packets(&mut self) {
        sender!(self, s => s.sk.set_record_packets(), _q => (), _u => ());
    }

    /// What the sender has logged since [`Ends::take_events`].
    pub fn events(&self) -> &[SenderEvent] {
        sender!(self, s => s.sk.events(), _q => &[], _u => &[])
    }

    /// Whether [`Ends::take_events`] is worth a call.
    #[inline]
    pub fn may_have_events(&self) -> bool {
        sender!(self, s => !s.sk.events().is_empty(), q => q.pair.sender.has_happened(), _u => false)
    }

    pub fn take_events(&mut self) -> std::vec::Drain<'_, SenderEvent> {
        sender!(self, s => s.sk.take_events(), q => q.take_events(), _u => unreachable!("UDP has no events"))
    }

    /// Where a segment of the simplified QUIC begins in its stream, bytes.
    pub fn offset(&self, segment: u32) -> u64 {
        match self {
            Ends::Quic(sender, _) => sender.offset(segment),
            Ends::Tcp(..) | Ends::Quinn(_) | Ends::Udp(_) => {
                u64::from(segment) * u64::from(self.payload(0))
            }
        }
    }

    /// Payload of a segment, bytes.
    #[inline]
    pub fn payload(&self, seq: u32) -> u32 {
        sender!(self, s => s.payload(seq), q => q.pair.sender.datagram().into(), _u => 0)
    }
}

/// The receiving host.
impl Ends {
    #[inline]
    pub fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Vec<Ack>) {
        receiver!(self, r => r.on_packet(now, packet, out), q => q.on_packet(now, packet, out), u => u.on_packet(packet));
    }

    #[inline]
    pub fn on_receiver_timer(&mut self, now: Time, out: &mut Vec<Ack>) {
        receiver!(self, r => r.on_timer(now, out), q => q.on_receiver_timer(now, out), _u => ());
    }

    /// The receiving application sends a request, or sends it again: `None` where data do not carry it, otherwise when it is
    /// to be sent again.
    pub fn ask(&mut self, now: Time, out: &mut Vec<Ack>) -> Option<Time> {
        match self {
            Ends::Tcp(_, receiver) => Some(receiver.ask(now, out)),
            Ends::Quic(..) | Ends::Quinn(_) | Ends::Udp(_) => None,
        }
    }

    /// Whether the receiver has its connection; QUIC's has when the sender has.
    pub fn is_receiver_established(&self) -> bool {
        match self {
            Ends::Tcp(_, receiver) => receiver.is_established(),
            Ends::Quic(..) | Ends::Quinn(_) | Ends::Udp(_) => self.is_established(),
        }
    }

    /// Whether all of a finite stream arrived, and when the receiver is to be woken.
    #[inline]
    pub fn receiver_state(&mut self) -> (bool, Time) {
        match self {
            Ends::Tcp(_, r) => (r.is_complete(), r.next_deadline()),
            Ends::Quic(_, r) => (r.is_complete(), r.next_deadline()),
            Ends::Quinn(q) => (q.pair.receiver.is_complete(), q.pair.receiver.deadline()),
            Ends::Udp(_) => (false, Time::NEVER),
        }
    }

    /// Payload that the receiving application has got, in order; of a receiver that acknowledges what has not come, what
    /// has.
    #[inline]
    pub fn delivered_bytes(&self) -> u64 {
        match self {
            Ends::Tcp(_, r) => r.received_bytes(),
            Ends::Quic(_, r) => r.stats().delivered_bytes,
            Ends::Quinn(q) => q.pair.receiver.delivered_bytes(),
            Ends::Udp(u) => u.delivered_bytes,
        }
    }

    /// Acknowledgements without data that were sent.
    pub fn acks_sent(&self) -> u64 {
        match self {
            Ends::Tcp(_, r) => r.pure_acks_sent(),
            Ends::Quic(_, r) => r.stats().acks_sent,
            Ends::Quinn(q) => q.pair.receiver.acks_sent(),
            Ends::Udp(_) => 0,
        }
    }

    /// Fails unless what was acknowledged was received, and what was received was sent.
    pub fn check(&self, flow: usize) {
        let (sender, receiver) = match self {
            Ends::Tcp(sender, receiver) => (sender, receiver),
            Ends::Quinn(quinn) => return quinn.pair.check(flow),
            Ends::Quic(..) | Ends::Udp(_) => return,
        };
        let (una, nxt) = sender.window();
        assert!(
            una <= receiver.promised() && receiver.rcv_nxt() <= nxt,
            "flow {flow}: acknowledged {una}, received {}, sent {nxt}",
            receiver.promised()
        );
    }
}
