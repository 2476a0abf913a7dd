//! The capture of a run, as `tcpdump` on each sender's interface would see it.
//!
//! A packet that waits for its neighbour's link address (`host.arp`) leaves the interface when the answer
//! is there, and is written then.

mod datagram;
mod held;

use crate::flow::Flow;
use held::{Held, Record};
use net::{flags, Ack, AckKind, Packet, TcpAck, REQUEST_BYTES};
use path::memory;
use path::plan::Plan;
use record::pcap::{PcapSegment, PcapWriter, SynOptions, ACK, AE, CWR, ECE, PSH, SYN};
use record::RecordError;
use std::path::Path;
use transport::tcp::{window_scale, Feedback, HostConfig, Lengths, MSS};
use units::{Span, Time};

/// Window of both ends before scaling is in force, bytes.
const SYN_WINDOW: u32 = 64_240;
/// MSS that both ends announce on their SYN, bytes.
const SYN_MSS: u16 = 1460;
/// Segments below the acknowledged ones whose lengths are kept, for D-SACKs.
const KEPT_SEGMENTS: u32 = 1 << 16;
/// The ACE field of a sender: none of its ACKs is ECN-capable, so that its counter stays at 5 (RFC 9768).
const ACE_OF_SENDER: u16 = AE | ECE;

/// What is kept of a flow.
struct Seen {
    /// How long the sender takes to learn the receiver's link address, until it has asked for it.
    resolution: Option<Span>,
    /// When it knows the address.
    resolved: Time,
    /// The ECN feedback that the SYN asks for.
    feedback: Feedback,
    /// What both ends announce on their SYN.
    syn: SynOptions,
    lengths: Lengths,
    /// Requests that reached the sender, and the segment that the last one asked for.
    requests: (u32, u32),
}

/// See the module documentation.
pub struct Capture {
    pcap: PcapWriter,
    flows: Vec<Seen>,
    held: Held,
}

impl Capture {
    /// Creates `trace.pcap` in `out`.
    pub fn create(plan: &Plan, flows: &[Flow], out: &Path) -> Result<Capture, RecordError> {
        let limits = memory::limits(plan);
        let scale =
            |i| window_scale(limits.rcvbuf_of(&plan.host_of(i)), HostConfig::default().rmem_max);
        let seen = flows.iter().enumerate().map(|(i, flow)| Seen {
            resolution: plan.host.arp.then(|| Span::from_ns(plan.flows[i].rtt_ns)),
            resolved: Time::ZERO,
            feedback: flow.ends.feedback(plan.host_of(i).ecn),
            syn: SynOptions { mss: SYN_MSS, window_scale: scale(i) as u8 },
            lengths: Lengths::new(MSS),
            requests: (0, 0),
        });
        Ok(Capture {
            pcap: PcapWriter::create(&out.join("trace.pcap"))?,
            flows: seen.collect(),
            held: Held::default(),
        })
    }

    /// A packet leaves the sender.
    pub fn packet(&mut self, now: Time, i: usize, flow: &Flow, packet: &Packet) {
        self.held.write_due(now, &mut self.pcap);
        self.resolve(now, i);
        let record = if packet.flags & flags::QUIC != 0 {
            Record::Datagram(datagram::of_packet(flow, packet))
        } else {
            Record::Segment(self.segment(i, packet))
        };
        let seen = &self.flows[i];
        if now < seen.resolved {
            self.held.push(seen.resolved, i as u32, record);
        } else {
            record.write(now, i as u32, &mut self.pcap);
        }
    }

    /// An acknowledgement reaches the sender.
    pub fn ack(&mut self, now: Time, i: usize, flow: &Flow, ack: &Ack) {
        self.held.write_due(now, &mut self.pcap);
        if let Some(datagram) = datagram::of_ack(flow, ack) {
            return Record::Datagram(datagram).write(now, i as u32, &mut self.pcap);
        }
        let Seen { lengths, syn, requests, .. } = &mut self.flows[i];
        let tcp = ack.tcp();
        // A request that is sent again has the number of the first.
        let is_again = ack.is_request() && requests.0 > 0 && tcp.ack <= requests.1;
        let before = requests.0 - u32::from(is_again);
        if ack.is_request() && !is_again {
            *requests = (requests.0 + 1, tcp.ack);
        }
        let mut blocks = [(0, 0); 3];
        for (out, &(start, end)) in blocks.iter_mut().zip(tcp.sack_blocks()) {
            *out = (byte_seq(lengths, start), byte_seq(lengths, end));
        }
        let segment = PcapSegment {
            flow: i as u32,
            from_sender: false,
            seq: u32::from(!ack.is_syn()) + before,
            ack: byte_seq(lengths, tcp.ack).wrapping_add(tcp.part()),
            flags: ACK | kind_flags(ack.kind) | ecn_flags(tcp),
            window: if ack.is_syn() { tcp.window.min(65_535) } else { tcp.window },
            payload_len: if ack.is_request() { REQUEST_BYTES as u32 } else { 0 },
            ts_val: tcp.ts_val,
            ts_ecr: tcp.ts_ecr,
            sack: &blocks[..tcp.n_sacks as usize],
            ecn: ack.ecn,
            syn: ack.is_syn().then_some(*syn),
        };
        lengths.forget_below(tcp.ack.saturating_sub(KEPT_SEGMENTS));
        self.pcap.write_segment(now.as_ns(), &segment);
    }

    /// Writes what is left by the end of the run, and closes the file.
    pub fn finish(mut self, end: Time) -> Result<(), RecordError> {
        self.held.write_due(end, &mut self.pcap);
        self.pcap.finish()
    }

    /// Before its first packet the sender asks for the receiver's link address.
    fn resolve(&mut self, now: Time, i: usize) {
        if let Some(takes) = self.flows[i].resolution.take() {
            self.flows[i].resolved = now + takes;
            self.pcap.write_arp(now.as_ns(), i as u32, false);
            self.held.push(now + takes, i as u32, Record::ArpAnswer);
        }
    }

    fn segment(&mut self, i: usize, packet: &Packet) -> PcapSegment<'static> {
        let Seen { lengths, feedback, syn, requests, .. } = &mut self.flows[i];
        let is_syn = packet.flags & flags::SYN != 0;
        if u32::from(packet.len) < MSS && packet.len > 0 {
            lengths.note(packet.seq, packet.len.into());
        }
        let mut tcp = if is_syn { SYN | asks(*feedback, packet) } else { ACK };
        if packet.flags & flags::PUSH != 0 {
            tcp |= PSH;
        }
        if packet.flags & flags::CWR != 0 {
            tcp |= CWR;
        }
        if !is_syn && matches!(feedback, Feedback::Accurate | Feedback::L4s) {
            tcp |= ACE_OF_SENDER;
        }
        PcapSegment {
            flow: i as u32,
            from_sender: true,
            seq: if is_syn { 0 } else { byte_seq(lengths, packet.seq) },
            ack: if is_syn { 0 } else { 1 + requests.0 },
            flags: tcp,
            window: SYN_WINDOW,
            payload_len: packet.len.into(),
            ts_val: packet.ts_val,
            ts_ecr: packet.ts_ecr,
            sack: &[],
            ecn: packet.ecn,
            syn: is_syn.then_some(*syn),
        }
    }
}

/// Flags by which a SYN asks for ECN; a repeated one does not (RFC 3168 section 6.1.1.1).
fn kind_flags(kind: AckKind) -> u16 {
    match kind {
        AckKind::Pure => 0,
        AckKind::Syn => SYN,
        AckKind::Request => PSH,
    }
}

fn asks(feedback: Feedback, syn: &Packet) -> u16 {
    match feedback {
        _ if syn.flags & flags::RETRANS != 0 => 0,
        Feedback::None => 0,
        Feedback::Classic | Feedback::Dctcp => ECE | CWR,
        Feedback::Accurate | Feedback::L4s => AE | CWR | ECE,
    }
}

/// The echo of an acknowledgement: ECE, or the three bits of the ACE field.
fn ecn_flags(ack: &TcpAck) -> u16 {
    let bit = |value: u8, flag: u16| if ack.ace & value != 0 { flag } else { 0 };
    bit(4, AE) | bit(2, CWR) | bit(1, ECE) | if ack.ece { ECE } else { 0 }
}

/// Byte sequence number on the wire: the SYN takes number 0.
fn byte_seq(lengths: &Lengths, seq: u32) -> u32 {
    let missing = lengths.missing_before(seq) as u32;
    seq.wrapping_mul(MSS).wrapping_add(1).wrapping_sub(missing)
}
