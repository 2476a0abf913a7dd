//! What of a run goes into `trace.sqlog`: the packets of QUIC flows as their senders see them, and of all flows what
//! their loss recovery and their controllers do.

mod quinn;

use crate::ends::Ends;
use crate::flow::Flow;
use cca::CaState;
use net::quic::DATAGRAM_BYTES;
use net::{flags, Ack, AckBody, Frame, Packet};
use path::plan::{Plan, Transport};
use quinn::Packets;
use quinn_ends::packets::Space;
use record::qlog::{
    QlogEvent, QlogFrame, QlogHeader, QlogMetrics, QlogPacket, QlogRaw, QlogWriter,
};
use record::RecordError;
use std::path::Path;
use transport::common::{LossTrigger, SenderEvent};
use units::Time;

/// Number space of data packets.
const SPACE: &str = "application_data";

/// What is kept of a flow.
struct Seen {
    group: String,
    is_tcp: bool,
    /// Packets under way, where quinn sends them.
    quinn: Packets,
    /// Events of the sender that were written; it keeps them until the event table has them.
    events: usize,
    metrics: QlogMetrics,
    state: String,
    /// States by number of a controller that sets window and rate itself, in lower case as qlog has them; empty for
    /// others, whose states are those of recovery.
    states: Vec<String>,
}

/// See the module documentation.
pub struct Qlog {
    file: QlogWriter,
    flows: Vec<Seen>,
    acked: Vec<u64>,
}

impl Qlog {
    /// Creates `trace.sqlog` in `out`.
    pub fn create(plan: &Plan, flows: &mut [Flow], out: &Path) -> Result<Qlog, RecordError> {
        let mut described = String::new();
        let mut seen = Vec::with_capacity(flows.len());
        for (i, (flow, planned)) in flows.iter_mut().zip(&plan.flows).enumerate() {
            flow.ends.record_packets();
            let is_tcp = matches!(planned.transport, Transport::Tcp);
            let transport = match planned.transport {
                Transport::Tcp => "TCP",
                Transport::Quic { .. } => "the simplified QUIC",
                Transport::Quinn { .. } => "quinn",
                Transport::Udp { .. } => "UDP",
            };
            let end = if i == 0 { "" } else { "; " };
            described += &match planned.cca.as_str() {
                "" => format!("{end}flow{i}: {transport}"),
                cca => format!("{end}flow{i}: {cca} over {transport}"),
            };
            seen.push(Seen {
                group: format!("flow{i}"),
                is_tcp,
                quinn: Packets::default(),
                events: 0,
                metrics: QlogMetrics::default(),
                state: String::new(),
                states: states(flow),
            });
        }
        let file = QlogWriter::create(&out.join("trace.sqlog"), &plan.name, &described)?;
        Ok(Qlog { file, flows: seen, acked: Vec::new() })
    }

    /// A packet leaves the sender; of TCP and UDP nothing is written.
    pub fn packet(&mut self, now: Time, i: usize, ends: &Ends, packet: &Packet) {
        if self.flows[i].is_tcp || !ends.is_acknowledged() {
            return;
        }
        if let Ends::Quinn(quinn) = ends {
            let sent = self.flows[i].quinn.sent(quinn.head_of_packet(packet), packet.len);
            return sent.iter().for_each(|event| self.write(now, i, event));
        }
        let is_initial = packet.flags & flags::SYN != 0;
        let length = packet.wire_bytes().get() - DATAGRAM_BYTES;
        let frame = if is_initial {
            QlogFrame::Padding
        } else {
            let offset = ends.offset(packet.segment());
            let raw = QlogRaw { length: None, payload_length: Some(packet.len.into()) };
            QlogFrame::Stream { stream_id: 0, offset, raw, fin: None }
        };
        let event = QlogEvent::PacketSent(QlogPacket {
            header: header(is_initial, Some(packet.seq)),
            raw: QlogRaw { length: Some(length), payload_length: None },
            frames: vec![frame],
        });
        self.write(now, i, &event);
    }

    /// An acknowledgement reaches the sender; of TCP nothing is written.
    pub fn ack(&mut self, now: Time, i: usize, ends: &Ends, ack: &Ack) {
        if let (Ends::Quinn(quinn), AckBody::Datagram { number, generation, len }) =
            (ends, &ack.body)
        {
            let head = quinn.head_of_answer((*number, *generation, *len));
            let (received, acked) = self.flows[i].quinn.received(head, *len);
            received.iter().for_each(|event| self.write(now, i, event));
            self.acked(now, i, &acked);
            return;
        }
        let AckBody::Quic(frame) = &ack.body else { return };
        let length = ack.wire_bytes().get() - DATAGRAM_BYTES;
        let frame = frame.as_ref().map_or(QlogFrame::Padding, |frame| {
            let range = [frame.smallest.into(), frame.largest.into()];
            let counts = (frame.ecn != [0; 3]).then_some(frame.ecn);
            QlogFrame::Ack {
                ack_delay: f64::from(frame.delay_us) / 1e3,
                acked_ranges: (frame.ranges == 1).then(|| vec![range]),
                ect0: counts.map(|counts| counts[0].into()),
                ect1: None,
                ce: counts.map(|counts| counts[2].into()),
            }
        });
        let event = QlogEvent::PacketReceived(QlogPacket {
            header: header(ack.is_syn(), None),
            raw: QlogRaw { length: Some(length), payload_length: None },
            frames: vec![frame],
        });
        self.write(now, i, &event);
    }

    /// The sender has dealt with what came: writes what it has logged since the last call, and what has changed.
    pub fn sender(&mut self, now: Time, i: usize, flow: &mut Flow) {
        self.lost_of_quinn(now, i, flow);
        let from = self.flows[i].events;
        let count = flow.ends.events().len();
        let mut acked = std::mem::take(&mut self.acked);
        for k in from..count {
            match flow.ends.events()[k] {
                SenderEvent::PacketAcked(number) => acked.push(number.into()),
                SenderEvent::PacketLost(number, why) => self.write(now, i, &lost(number, why)),
                SenderEvent::Lost(segments) if self.flows[i].is_tcp => {
                    let event = QlogEvent::PacketLost { header: None, trigger: None };
                    (0..segments).for_each(|_| self.write(now, i, &event));
                }
                SenderEvent::CaState(state) if self.flows[i].states.is_empty() => {
                    self.state(now, i, recovery_state(state as u8, flow));
                }
                SenderEvent::Lost(_)
                | SenderEvent::CaState(_)
                | SenderEvent::Established
                | SenderEvent::Rto
                | SenderEvent::Tlp
                | SenderEvent::Undo => {}
            }
        }
        if !acked.is_empty() {
            let event =
                QlogEvent::PacketsAcked { packet_number_space: SPACE, packet_numbers: &acked };
            self.write(now, i, &event);
            acked.clear();
        }
        self.acked = acked;
        self.flows[i].events = count;
        self.changes(now, i, flow);
    }

    fn acked(&mut self, now: Time, i: usize, acked: &[(Space, u64)]) {
        for numbers in acked.chunk_by(|a, b| a.0 == b.0) {
            let packet_numbers: Vec<u64> = numbers.iter().map(|one| one.1).collect();
            let event = QlogEvent::PacketsAcked {
                packet_number_space: quinn::space(numbers[0].0),
                packet_numbers: &packet_numbers,
            };
            self.write(now, i, &event);
        }
    }

    fn lost_of_quinn(&mut self, now: Time, i: usize, flow: &mut Flow) {
        if let Ends::Quinn(_) = flow.ends {
            flow.ends.observe();
            let lost = self.flows[i].quinn.lost(flow.ends.stats().lost);
            lost.iter().for_each(|event| self.write(now, i, event));
        }
    }

    /// The event table has taken what the sender of flow `i` logged.
    pub fn taken(&mut self, i: usize) {
        self.flows[i].events = 0;
    }

    /// Estimates and window that have changed, and the controller's state.
    fn changes(&mut self, now: Time, i: usize, flow: &mut Flow) {
        if !flow.ends.is_acknowledged() {
            return;
        }
        let metrics = metrics(&flow.ends);
        if let Some(changed) = metrics.since(&self.flows[i].metrics) {
            self.flows[i].metrics = metrics;
            self.write(now, i, &QlogEvent::MetricsUpdated(changed));
        }
        if self.flows[i].states.is_empty() {
            self.state(now, i, recovery_state(flow.ends.sk().icsk_ca_state, flow));
        } else if let Some(number) = flow.ends.controller_state() {
            if let Some(state) = self.flows[i].states.get(number as usize).cloned() {
                self.state(now, i, &state);
            }
        }
    }

    fn state(&mut self, now: Time, i: usize, new: &str) {
        if self.flows[i].state == new {
            return;
        }
        let old = std::mem::replace(&mut self.flows[i].state, new.to_owned());
        let old = (!old.is_empty()).then_some(old.as_str());
        self.write(now, i, &QlogEvent::CongestionStateUpdated { old, new });
    }

    fn write(&mut self, now: Time, i: usize, event: &QlogEvent<'_>) {
        let seen = &self.flows[i];
        self.file.write(now.as_ns(), &seen.group, seen.is_tcp, event);
    }

    /// Closes the file.
    pub fn finish(self) -> Result<(), RecordError> {
        self.file.finish()
    }
}

fn states(flow: &Flow) -> Vec<String> {
    let Some(controller) = flow.ends.controller().filter(|ca| ca.has_cong_control()) else {
        return Vec::new();
    };
    controller.module().states().iter().map(|name| name.to_lowercase()).collect()
}

fn lost(number: u32, why: LossTrigger) -> QlogEvent<'static> {
    let trigger = match why {
        LossTrigger::Reordering => "reordering_threshold",
        LossTrigger::Time => "time_threshold",
        LossTrigger::Timeout => "pto_expired",
    };
    QlogEvent::PacketLost { header: Some(header(false, Some(number))), trigger: Some(trigger) }
}

fn header(is_initial: bool, number: Option<u32>) -> QlogHeader {
    let packet_type = if is_initial { "initial" } else { "1RTT" };
    QlogHeader { packet_type, packet_number: number.map(u64::from) }
}

/// What recovery is in, for controllers without states of their own.
fn recovery_state(state: u8, flow: &Flow) -> &'static str {
    const CWR: u8 = CaState::Cwr as u8;
    const RECOVERY: u8 = CaState::Recovery as u8;
    const LOSS: u8 = CaState::Loss as u8;
    let sk = flow.ends.sk();
    match state {
        CWR | RECOVERY => "recovery",
        LOSS => "loss",
        // Open, or Disorder, which changes no window.
        _ if sk.snd_cwnd < sk.snd_ssthresh => "slow_start",
        _ => "congestion_avoidance",
    }
}

fn metrics(ends: &Ends) -> QlogMetrics {
    if let Ends::Quinn(quinn) = ends {
        return quinn
            .pair
            .sender
            .sample()
            .map_or_else(QlogMetrics::default, |s| quinn::metrics(&s));
    }
    let sk = ends.sk();
    let ms = |us: u32| (us > 0 && us != u32::MAX).then_some(f64::from(us) / 1e3);
    let bytes = |packets: u32| u64::from(packets) * u64::from(sk.mss_cache);
    QlogMetrics {
        min_rtt: ms(sk.rtt_min.value()),
        smoothed_rtt: ms(sk.srtt_us >> 3),
        latest_rtt: ms(ends.last_rtt_us()),
        rtt_variance: ms(sk.mdev_us >> 2),
        pto_count: Some(sk.icsk_backoff.into()),
        congestion_window: Some(bytes(sk.snd_cwnd)),
        bytes_in_flight: Some(bytes(ends.in_flight())),
        ssthresh: (sk.snd_ssthresh < cca::INFINITE_SSTHRESH).then(|| bytes(sk.snd_ssthresh)),
        packets_in_flight: Some(ends.in_flight().into()),
        pacing_rate: (sk.sk_pacing_rate != cca::UNLIMITED_RATE)
            .then(|| sk.sk_pacing_rate.saturating_mul(8)),
    }
}
