//! The capture of a run, as `tcpdump` on each sender's interface would see it.

use crate::flow::Flow;
use net::{flags, Ack, Packet};
use record::pcap::{PcapSegment, PcapWriter, SynOptions};
use record::RecordError;
use std::path::Path;
use units::Time;

const TCP_PUSH: u8 = 0x08;
const TCP_SYN: u8 = 0x02;
const TCP_ACK: u8 = 0x10;
const TCP_ECE: u8 = 0x40;
const TCP_CWR: u8 = 0x80;
/// Window of both ends before scaling is in force, bytes.
const SYN_WINDOW: u32 = 64_240;
/// What both ends announce on their SYN.
const SYN_OPTIONS: SynOptions = SynOptions { mss: 1460, window_scale: 14 };

pub struct Capture {
    pcap: PcapWriter,
    /// Acknowledgement number that each sender repeats: 1 once established.
    established: Vec<bool>,
}

impl Capture {
    pub fn create(out: &Path, flows: usize) -> Result<Capture, RecordError> {
        let pcap = PcapWriter::create(&out.join("trace.pcap"))?;
        Ok(Capture { pcap, established: vec![false; flows] })
    }

    /// A packet leaves the sender. QUIC's are not written: tools could not read their frames.
    pub fn packet(&mut self, now: Time, i: usize, flow: &Flow, packet: &Packet) {
        if packet.flags & flags::QUIC != 0 {
            return;
        }
        let is_syn = packet.flags & flags::SYN != 0;
        let mut tcp = if is_syn { TCP_SYN } else { TCP_ACK };
        if packet.flags & flags::PUSH != 0 {
            tcp |= TCP_PUSH;
        }
        if packet.flags & flags::CWR != 0 {
            tcp |= TCP_CWR;
        }
        self.pcap.write_segment(
            now.as_ns(),
            &PcapSegment {
                flow: i as u32,
                from_sender: true,
                seq: if is_syn { 0 } else { byte_seq(flow, packet.seq) },
                ack: u32::from(!is_syn),
                flags: tcp,
                window: SYN_WINDOW,
                payload_len: u32::from(packet.len),
                ts_val: packet.ts_val,
                ts_ecr: packet.ts_ecr,
                sack: &[],
                ecn: packet.ecn,
                syn: is_syn.then_some(SYN_OPTIONS),
            },
        );
    }

    /// An acknowledgement reaches the sender.
    pub fn ack(&mut self, now: Time, i: usize, flow: &Flow, ack: &Ack) {
        if ack.ranges > 0 {
            return;
        }
        let mut blocks = [(0, 0); 3];
        for (out, &(start, end)) in blocks.iter_mut().zip(ack.sack_blocks()) {
            *out = (byte_seq(flow, start), byte_seq(flow, end));
        }
        self.established[i] = true;
        self.pcap.write_segment(
            now.as_ns(),
            &PcapSegment {
                flow: i as u32,
                from_sender: false,
                seq: u32::from(!ack.syn),
                ack: byte_seq(flow, ack.ack),
                flags: TCP_ACK
                    | if ack.syn { TCP_SYN } else { 0 }
                    | if ack.ece { TCP_ECE } else { 0 },
                window: if ack.syn { ack.window.min(65_535) } else { ack.window },
                payload_len: 0,
                ts_val: ack.ts_val,
                ts_ecr: ack.ts_ecr,
                sack: &blocks[..ack.n_sacks as usize],
                ecn: 0,
                syn: ack.syn.then_some(SYN_OPTIONS),
            },
        );
    }

    pub fn finish(self) -> Result<(), RecordError> {
        self.pcap.finish()
    }
}

/// Byte sequence number on the wire: the SYN takes number 0.
fn byte_seq(flow: &Flow, seq: u32) -> u32 {
    let full = seq.wrapping_mul(1448).wrapping_add(1);
    match seq.checked_sub(1) {
        Some(last) => full.wrapping_sub(1448 - flow.ends.payload(last)),
        None => full,
    }
}
