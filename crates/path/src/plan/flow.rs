//! Flows in a plan: controller, routes, times, application.

use super::stage::{LinkNumber, Stage};
use super::{check, check_hz, check_initial_window, within, PlanError};
use net::host::{EcnMode, HostQdisc, Nic};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Names of the controllers that are quinn's own begin so.
pub const QUINN_PREFIX: &str = "quinn:";

/// Payload of the largest datagram of UDP in a frame of Ethernet, bytes: 1500 less the headers of IPv4 and UDP.
const DATAGRAM_MAX: u64 = 1472;

/// One flow.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// What its figures are found by; empty: the controller's name.
    #[serde(default)]
    pub name: String,
    /// Number of the table that it was made from; flows of a table share their name.
    #[serde(default)]
    pub table: u32,
    /// Congestion controller.
    pub cca: String,
    /// Its parameters, where they differ from the defaults.
    pub params: BTreeMap<String, i64>,
    /// What carries it.
    #[serde(default)]
    pub transport: Transport,
    /// Two-way propagation delay, ns: how long the first packet waits for the other end's address, and what
    /// results show. The routes say what packets meet.
    pub rtt_ns: u64,
    /// Which way its data go; its acknowledgements go the other way.
    #[serde(default, skip_serializing_if = "Direction::is_down")]
    pub direction: Direction,
    /// What the data meet, in order.
    pub forward: Vec<Stage>,
    /// What the acknowledgements meet, in order.
    pub back: Vec<Stage>,
    /// When the connection opens, ns.
    pub start_ns: u64,
    /// When the application closes, ns; at most the duration.
    pub stop_ns: u64,
    /// Bytes to transfer; `null` for as much as possible.
    pub size_bytes: Option<u64>,
    /// What the application does, where it is not one transfer.
    #[serde(default)]
    pub workload: Option<Workload>,
    /// Upper bound of the pacing rate, bit/s of payload.
    pub max_rate_bps: Option<u64>,
    /// How its hosts differ from the plan's.
    #[serde(default)]
    pub host: FlowHost,
    /// How its receiver breaks the rules of TCP; `null`: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Receiver>,
}

/// A receiver that acknowledges otherwise than TCP says, to be sent more (RFC 9743 section 7.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Receiver {
    /// Each acknowledgement comes in pieces.
    AckDivision {
        /// How many.
        pieces: u32,
    },
    /// What has not come is acknowledged.
    OptimisticAcks {
        /// Segments after the one that came; those missing before it are always among them.
        ahead: u32,
    },
    /// Each acknowledgement is repeated.
    DupackSpoofing {
        /// How often.
        copies: u32,
    },
}

impl Receiver {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Receiver::AckDivision { .. } => "ack_division",
            Receiver::OptimisticAcks { .. } => "optimistic_acks",
            Receiver::DupackSpoofing { .. } => "dupack_spoofing",
        }
    }

    fn check(self, at: &str) -> Result<(), PlanError> {
        let (name, range, number) = match self {
            Receiver::AckDivision { pieces } => ("pieces", 2..=1_000, pieces),
            Receiver::OptimisticAcks { ahead } => ("ahead", 0..=1_000, ahead),
            Receiver::DupackSpoofing { copies } => ("copies", 1..=1_000, copies),
        };
        within(range, &format!("{at}.{name}"), number.into())
    }
}

/// Which way something goes along the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Across [`super::Plan::links`].
    #[default]
    Down,
    /// Across [`super::Plan::ack_links`].
    Up,
}

impl Direction {
    fn is_down(&self) -> bool {
        *self == Direction::Down
    }

    /// What belongs to this way, and what to the other, of what belongs to the way down and the way up.
    pub(super) fn order<T>(self, down: T, up: T) -> (T, T) {
        match self {
            Direction::Down => (down, up),
            Direction::Up => (up, down),
        }
    }
}

/// Settings of a flow's hosts; what is not given is as [`super::Host`] has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlowHost {
    /// Kernel tick, 1/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hz: Option<u32>,
    /// Sender's queue discipline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qdisc: Option<HostQdisc>,
    /// Autosized bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tso: Option<bool>,
    /// What becomes of these bursts when they leave the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<Nic>,
    /// The receiver merges segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gro: Option<bool>,
    /// What the connection agrees on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<EcnMode>,
    /// Receive buffer at most, bytes; 0: large enough for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rcvbuf_bytes: Option<u64>,
    /// Send buffer at most, bytes; 0: large enough for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sndbuf_bytes: Option<u64>,
    /// Window at the start of the connection, segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
}

/// What carries a flow.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Transport {
    /// The Linux-like TCP.
    #[default]
    Tcp,
    /// The QUIC-like transport.
    Quic {
        /// Payload of a packet, bytes.
        payload_bytes: u32,
        /// Packets that ask for an acknowledgement before one is sent.
        ack_every: u32,
        /// The longest that one waits for an acknowledgement, ns.
        ack_delay_ns: u64,
        /// A round trip comes before the first data.
        handshake: bool,
        /// Round-trip time that is assumed before the first sample, ns.
        initial_rtt_ns: u64,
        /// That time is told as the first sample.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        initial_sample: bool,
        /// What the application writes at once, bytes; `null`: everything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        write_bytes: Option<u32>,
        /// What one of a window stands for, bytes; 0: a packet.
        #[serde(default)]
        window_unit_bytes: u32,
        /// What counts one in windows, flights, deliveries and losses, bytes; `null`: a packet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part_bytes: Option<u32>,
        /// Later packets whose acknowledgement makes one lost; `null`: 3.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        packet_threshold: Option<u32>,
        /// The thresholds of loss detection grow with each loss that proves spurious.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        adaptive_thresholds: bool,
        /// Window at the start, packets; `null`: that of the host.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        initial_window: Option<u32>,
        /// What the sender's clock counts in, ns; `null`: it is exact.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clock_ns: Option<u64>,
        /// When in a tick of the clock its alarms go off, ns; `null`: at its beginning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clock_offset_ns: Option<u64>,
        /// Time between two polls of the sender, ns; `null`: it is not polled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        poll_ns: Option<u64>,
        /// Minimum retransmission timeout, ns; `null`: probes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rto_min_ns: Option<u64>,
        /// The sending rate of samples counts what was sent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        counts_sent: bool,
        /// Proportional rate reduction.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        prr: bool,
        /// Packet numbers and offsets take as few bytes as they need.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        compact: bool,
    },
    /// quinn-proto.
    Quinn {
        /// Length of a full datagram, bytes.
        datagram_bytes: u16,
    },
    /// Datagrams, a message each: nothing answers them, nothing is sent again, and no controller says how fast they go.
    Udp {
        /// ECN code point of the datagrams.
        #[serde(default, skip_serializing_if = "CodePoint::is_not_ect")]
        ecn: CodePoint,
    },
}

/// ECN code point of what a sender sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CodePoint {
    /// Queues drop it where they would mark.
    #[default]
    NotEct,
    /// ECN-capable, as RFC 3168 has it.
    Ect0,
    /// Of L4S (RFC 9331).
    Ect1,
}

impl CodePoint {
    fn is_not_ect(&self) -> bool {
        *self == CodePoint::NotEct
    }
}

/// What an application does.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Workload {
    /// It sends in on times: as much as it can, or messages at a rate.
    OnOff {
        /// Length of an on time.
        on: Duration,
        /// Length of an off time.
        off: Duration,
        /// Rate of payload in on times, bit/s; `null` for as much as possible.
        rate_bps: Option<u64>,
        /// Size of a message at that rate, bytes.
        message_bytes: u64,
    },
    /// It writes messages at a rate.
    Paced {
        /// Rate of payload, bit/s.
        rate_bps: u64,
        /// Size of a message, bytes.
        message_bytes: u64,
    },
    /// It answers requests of the receiver.
    RequestResponse {
        /// Size of an answer, bytes.
        response_bytes: u64,
        /// Time between an answer and the next request.
        think: Duration,
        /// Answers until it closes; 0 for no end.
        count: u32,
    },
}

/// How long something lasts.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Duration {
    /// Length, or mean length, ns.
    pub ns: u64,
    /// Exponentially distributed; otherwise always the same.
    pub exponential: bool,
}

impl Transport {
    /// Its name in results.
    pub fn name(&self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Quic { .. } => "quic",
            Transport::Quinn { .. } => "quinn",
            Transport::Udp { .. } => "udp",
        }
    }

    /// Whether a receiver acknowledges what it carries, and a controller says how fast that goes.
    pub fn is_acknowledged(&self) -> bool {
        !matches!(self, Transport::Udp { .. })
    }
}

impl Flow {
    /// What its figures are found by.
    pub fn label(&self) -> &str {
        match (self.name.as_str(), self.cca.as_str()) {
            ("", "") => self.transport.name(),
            ("", cca) => cca,
            (name, _) => name,
        }
    }

    /// Whether its data go up.
    pub fn is_up(&self) -> bool {
        self.direction == Direction::Up
    }

    /// Whether full frames of it cross this link of the way up: its data, or what opens a connection of QUIC.
    pub(super) fn has_frames_on(&self, ack_link: usize) -> bool {
        let crosses =
            |stage: &Stage| matches!(stage, Stage::Link(one) if one.link as usize == ack_link);
        if self.is_up() {
            return self.forward.iter().any(crosses);
        }
        let opens_with_frame =
            matches!(self.transport, Transport::Quic { .. } | Transport::Quinn { .. });
        opens_with_frame && self.back.iter().any(crosses)
    }

    pub(super) fn check(
        &self,
        at: &str,
        duration_ns: u64,
        links: usize,
        ack_links: usize,
    ) -> Result<(), PlanError> {
        let key = |name: &str| format!("{at}.{name}");
        check(self.rtt_ns <= 60_000_000_000, &key("rtt_ns"), self.rtt_ns, "at most 60 s")?;
        let (there, back) = self.direction.order(links, ack_links);
        check_route(&self.forward, &key("forward"), there)?;
        check_route(&self.back, &key("back"), back)?;
        let (start, stop) = (self.start_ns, self.stop_ns);
        check(start < stop, &key("start_ns"), start, "before stop_ns")?;
        check(stop <= duration_ns, &key("stop_ns"), stop, "at most duration_ns")?;
        self.host.hz.map_or(Ok(()), |hz| check_hz(&key("host.hz"), hz))?;
        let window = self.host.initial_window;
        window.map_or(Ok(()), |one| check_initial_window(&key("host.initial_window"), one))?;
        check(self.size_bytes != Some(0), &key("size_bytes"), 0, "at least 1")?;
        check(
            self.size_bytes.is_none_or(|s| s < 1 << 42),
            &key("size_bytes"),
            self.size_bytes.unwrap_or(0),
            "less than 4 TiB",
        )?;
        check(
            self.max_rate_bps.is_none_or(|r| r >= 8),
            &key("max_rate_bps"),
            self.max_rate_bps.unwrap_or(0),
            "at least 8 bit/s",
        )?;
        self.check_receiver(&key("receiver"))?;
        self.check_application(at)
    }

    fn check_receiver(&self, at: &str) -> Result<(), PlanError> {
        let Some(receiver) = self.receiver else { return Ok(()) };
        receiver.check(at)?;
        let is_tcp = matches!(self.transport, Transport::Tcp);
        check(is_tcp, at, receiver.name(), "none with QUIC: it is TCP's")?;
        let lacks = matches!(receiver, Receiver::OptimisticAcks { .. });
        let takes = !(lacks && self.workload.is_some());
        check(
            takes,
            at,
            receiver.name(),
            "a transfer: messages whose parts are missing have no end",
        )
    }

    fn check_application(&self, at: &str) -> Result<(), PlanError> {
        let key = |name: &str| format!("{at}.{name}");
        if let Transport::Quic { payload_bytes, ack_every, .. } = self.transport {
            check(
                (100..=1400).contains(&payload_bytes),
                &key("transport.payload_bytes"),
                payload_bytes,
                "100 to 1400",
            )?;
            check(ack_every >= 1, &key("transport.ack_every"), 0, "at least 1")?;
        }
        self.check_quinn(at)?;
        self.check_udp(at)?;
        let Some(workload) = &self.workload else { return Ok(()) };
        let writes = !matches!(self.transport, Transport::Quic { .. });
        let alone = self.size_bytes.is_none() && writes;
        let accepted = "a flow of TCP, quinn or UDP without size_bytes";
        check(alone, &key("workload"), "with size_bytes or the simplified QUIC", accepted)?;
        if let Workload::OnOff { on, off, .. } = workload {
            let longest = on.ns.max(off.ns);
            check(
                longest <= 86_400_000_000_000,
                &key("workload"),
                longest,
                "times of at most a day",
            )?;
        }
        let (what, smallest) = match *workload {
            Workload::OnOff { on, off, rate_bps, message_bytes } => (
                "lengths, rates and sizes above 0",
                message_bytes.min(rate_bps.unwrap_or(1)).min(on.ns + off.ns),
            ),
            Workload::Paced { rate_bps, message_bytes } => {
                ("a rate and a size above 0", rate_bps.min(message_bytes))
            }
            Workload::RequestResponse { response_bytes, .. } => {
                ("response_bytes of at least 1", response_bytes)
            }
        };
        check(smallest > 0, &key("workload"), smallest, what)
    }
}

impl Flow {
    /// Whether its packets have headers of the bytes that they need.
    pub(super) fn is_compact(&self) -> bool {
        matches!(self.transport, Transport::Quic { compact: true, .. })
    }

    /// What UDP can carry: messages at a rate, each a datagram, and as many of them as can be numbered.
    fn check_udp(&self, at: &str) -> Result<(), PlanError> {
        if self.transport.is_acknowledged() {
            return Ok(());
        }
        let key = |name: &str| format!("{at}.{name}");
        check(self.cca.is_empty(), &key("cca"), &self.cca, "empty: nothing controls UDP")?;
        let (rate_bps, message_bytes) = match self.workload {
            Some(Workload::Paced { rate_bps, message_bytes }) => (rate_bps, message_bytes),
            Some(Workload::OnOff { rate_bps: Some(rate_bps), message_bytes, .. }) => {
                (rate_bps, message_bytes)
            }
            _ => {
                let wanted = "messages at a rate (paced, or on_off with one)";
                return check(false, &key("workload"), "none or another", wanted);
            }
        };
        check(
            (1..=DATAGRAM_MAX).contains(&message_bytes),
            &key("workload.message_bytes"),
            message_bytes,
            "1 to 1472: a message is a datagram, and nothing cuts it",
        )?;
        let seconds = u128::from(self.stop_ns - self.start_ns).div_ceil(1_000_000_000);
        let count = u128::from(rate_bps) * seconds / (8 * u128::from(message_bytes));
        let wanted = "at most 4294967294 datagrams";
        check(count < u128::from(u32::MAX), &key("workload.rate_bps"), rate_bps, wanted)
    }

    /// What quinn can carry.
    fn check_quinn(&self, at: &str) -> Result<(), PlanError> {
        let key = |name: &str| format!("{at}.{name}");
        let Transport::Quinn { datagram_bytes } = self.transport else {
            let ours = !self.cca.starts_with(QUINN_PREFIX);
            return check(ours, &key("cca"), &self.cca, "quinn's controllers with transport quinn");
        };
        check(
            (1200..=1448).contains(&datagram_bytes),
            &key("transport.datagram_bytes"),
            datagram_bytes,
            "1200 to 1448",
        )?;
        let takes_back = matches!(self.workload, Some(Workload::OnOff { rate_bps: None, .. }));
        check(
            !takes_back,
            &key("workload.rate_bps"),
            "null",
            "a rate: a stream of quinn cannot take back what was written when an on time ends",
        )
    }
}

pub(super) fn check_route(stages: &[Stage], at: &str, links: usize) -> Result<(), PlanError> {
    let mut met = BTreeSet::new();
    check(stages.len() <= 64, at, stages.len(), "at most 64 parts")?;
    for (i, stage) in stages.iter().enumerate() {
        stage.check(&format!("{at}[{i}]"), links)?;
        if let Stage::Link(LinkNumber { link }) = stage {
            check(met.insert(*link), &format!("{at}[{i}].link"), link, "each link once")?;
        }
    }
    Ok(())
}
