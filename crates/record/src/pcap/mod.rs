//! A packet capture of the simulated packets, as `tcpdump` at the sender would write it.
//!
//! The file is classic pcap with nanosecond time stamps: Ethernet, IPv4 and TCP or UDP headers with right
//! lengths, valid checksums and the options that Linux sends, and ARP. Payload is not stored (a snap
//! length) but for what a datagram begins with; the rest counts as zeros in the checksum and in the
//! lengths. RFC 791, RFC 768, RFC 826, RFC 9293, RFC 7323 (time stamps, window scale), RFC 2018 and 2883
//! (SACK, D-SACK), RFC 3168 and 9768 (ECN).
//!
//! ```no_run
//! use record::{PcapSegment, PcapWriter};
//!
//! let mut pcap = PcapWriter::create("trace.pcap".as_ref())?;
//! pcap.write_segment(20_000_000, &PcapSegment { flow: 0, from_sender: true, seq: 1, ack: 1,
//!     flags: record::pcap::ACK, window: 65_536, payload_len: 1448, ..PcapSegment::default() });
//! pcap.finish()?;
//! # Ok::<(), record::RecordError>(())
//! ```

mod frame;

use crate::RecordError;
pub use frame::ends;
use frame::{Frame, HEADERS_LEN_MAX};
use std::fs::File;
use std::io::{BufWriter, Error, Write};
use std::path::{Path, PathBuf};

/// TCP flags, as in the header.
pub const FIN: u16 = 0x01;
pub const SYN: u16 = 0x02;
pub const RST: u16 = 0x04;
pub const PSH: u16 = 0x08;
pub const ACK: u16 = 0x10;
/// Congestion experienced, echoed by the receiver.
pub const ECE: u16 = 0x40;
/// Congestion window reduced.
pub const CWR: u16 = 0x80;
/// Accurate ECN (RFC 9768).
pub const AE: u16 = 0x100;

/// ECN field of the IP header: capable, code point 0.
pub const ECT0: u8 = 2;
/// ECN field of the IP header: congestion experienced.
pub const CE: u8 = 3;

/// TCP port of every receiver (iperf3's, so that tools name it).
pub const RECEIVER_PORT: u16 = 5201;
/// UDP port of every receiver (QUIC's).
pub const DATAGRAM_PORT: u16 = 443;
/// Port of the sender of flow 0; flow n has the n-th after it, wrapping within the dynamic ports.
pub const SENDER_PORT_FIRST: u16 = 49_152;

/// Bytes of a datagram's payload that a capture holds.
pub const HEAD_LEN_MAX: usize = 24;

const ETHERNET_LEN: usize = 14;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_ARP: u16 = 0x0806;
/// SACK blocks that fit next to time stamps: 40 - 12 - 4 bytes, 8 per block (RFC 2018 section 3).
pub const SACK_BLOCKS_MAX: usize = 3;
/// Flows that the address plan distinguishes: 23 bits of 10.0.0.0/8, one bit says which end.
pub const FLOWS_MAX: u32 = 1 << 23;
/// Largest window scale (RFC 7323 section 2.3).
const WINDOW_SCALE_MAX: u8 = 14;

/// What a SYN or SYN-ACK announces. SACK and time stamps are always announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// Largest payload that the end accepts, bytes (1460 on Ethernet).
    pub mss: u16,
    /// Left shift of the windows that this end sends later, 0 to 14.
    pub window_scale: u8,
}

/// One segment as it passes the sender's network interface.
///
/// Sequence numbers are those on the wire (mod 2^32). A connection should begin with its SYN: the
/// window scale is remembered from there, and is 0 before.
#[derive(Clone, Copy, Debug, Default)]
pub struct PcapSegment<'a> {
    pub flow: u32,
    /// Whether the data sender sent it (data) or the receiver (acknowledgements).
    pub from_sender: bool,
    pub seq: u32,
    pub ack: u32,
    /// [`SYN`], [`ACK`], ...
    pub flags: u16,
    /// Receive window in bytes. The header holds it shifted; what does not fit is capped.
    pub window: u32,
    /// Bytes.
    pub payload_len: u32,
    /// Time stamp option: this end's clock, and the echo of the other's, milliseconds.
    pub ts_val: u32,
    pub ts_ecr: u32,
    /// SACK blocks `[left, right)`, at most [`SACK_BLOCKS_MAX`]; a D-SACK is the first (RFC 2883).
    pub sack: &'a [(u32, u32)],
    /// ECN field of the IP header: 0, [`ECT0`] or [`CE`].
    pub ecn: u8,
    /// Set on SYN and SYN-ACK.
    pub syn: Option<SynOptions>,
}

/// One UDP datagram as it passes the sender's network interface.
#[derive(Clone, Copy, Debug, Default)]
pub struct PcapDatagram<'a> {
    pub flow: u32,
    /// Whether the data sender sent it or the receiver.
    pub from_sender: bool,
    /// Bytes after the UDP header.
    pub payload_len: u32,
    /// What the payload begins with, at most [`HEAD_LEN_MAX`] bytes; the rest is zeros and not stored.
    pub head: &'a [u8],
    /// ECN field of the IP header: 0, [`ECT0`] or [`CE`].
    pub ecn: u8,
}

/// A capture on its way to its file.
pub struct PcapWriter {
    path: PathBuf,
    file: BufWriter<File>,
    /// Window scale of the sender and the receiver of each flow.
    scale: Vec<[u8; 2]>,
    /// IP identification, counted by packet.
    ip_id: u16,
    failed: Option<Error>,
}

impl PcapWriter {
    /// Creates the file and writes its header.
    ///
    /// # Errors
    /// [`RecordError::Io`] when the file cannot be created.
    pub fn create(path: &Path) -> Result<PcapWriter, RecordError> {
        let file = File::create(path)
            .map_err(|source| RecordError::Io { path: path.to_path_buf(), source })?;
        let mut file = BufWriter::with_capacity(1 << 20, file);
        let failed = file.write_all(&file_header()).err();
        Ok(PcapWriter { path: path.to_path_buf(), file, scale: Vec::new(), ip_id: 0, failed })
    }

    /// Appends a segment seen at `t_ns` nanoseconds after the start of the run (the capture's 1970).
    /// Never fails; see the crate's contracts.
    ///
    /// # Panics
    /// If the segment cannot exist: more than [`SACK_BLOCKS_MAX`] blocks, more payload than an IP
    /// packet holds, or a flow number of [`FLOWS_MAX`] or more.
    pub fn write_segment(&mut self, t_ns: u64, segment: &PcapSegment<'_>) {
        if self.failed.is_some() {
            return;
        }
        let window = self.wire_window(segment);
        self.ip_id = self.ip_id.wrapping_add(1);
        self.write(t_ns, &Frame::tcp(segment, window, self.ip_id), segment.payload_len);
    }

    /// Appends a datagram; as [`PcapWriter::write_segment`].
    ///
    /// # Panics
    /// If it cannot exist: more payload than an IP packet holds, a head that is longer than that or than
    /// [`HEAD_LEN_MAX`], or a flow number of [`FLOWS_MAX`] or more.
    pub fn write_datagram(&mut self, t_ns: u64, datagram: &PcapDatagram<'_>) {
        if self.failed.is_some() {
            return;
        }
        let (head, flow) = (datagram.head.len(), datagram.flow);
        assert!(flow < FLOWS_MAX, "flow {flow} of at most {FLOWS_MAX}");
        let fits = head <= HEAD_LEN_MAX && head as u32 <= datagram.payload_len;
        assert!(fits, "{head} bytes of a payload of {}", datagram.payload_len);
        self.ip_id = self.ip_id.wrapping_add(1);
        self.write(t_ns, &Frame::udp(datagram, self.ip_id), datagram.payload_len - head as u32);
    }

    /// Appends an ARP frame of a flow: its sender asks for the link address of the receiver, or that
    /// answers (RFC 826); as [`PcapWriter::write_segment`].
    pub fn write_arp(&mut self, t_ns: u64, flow: u32, is_answer: bool) {
        if self.failed.is_none() {
            assert!(flow < FLOWS_MAX, "flow {flow} of at most {FLOWS_MAX}");
            self.write(t_ns, &Frame::arp(flow, is_answer), 0);
        }
    }

    /// A frame, of which `left_out` bytes at the end are not stored.
    fn write(&mut self, t_ns: u64, frame: &Frame, left_out: u32) {
        let stored = frame.bytes();
        let wire_len = stored.len() as u32 + left_out;
        let header = record_header(t_ns, stored.len() as u32, wire_len);
        self.failed = self.file.write_all(&header).and_then(|()| self.file.write_all(stored)).err();
    }

    /// Appends a real IPv4 packet, its headers only, after an Ethernet header without addresses. Never fails;
    /// see the crate's contracts.
    pub fn write_ip(&mut self, t_ns: u64, packet: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let stored = packet.len().min(HEADERS_LEN_MAX - ETHERNET_LEN);
        let mut bytes = [0; HEADERS_LEN_MAX];
        bytes[ETHERNET_LEN - 2..ETHERNET_LEN].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
        bytes[ETHERNET_LEN..ETHERNET_LEN + stored].copy_from_slice(&packet[..stored]);
        let (stored, wire) = (ETHERNET_LEN + stored, ETHERNET_LEN + packet.len());
        let header = record_header(t_ns, stored as u32, wire as u32);
        let written = self.file.write_all(&header);
        self.failed = written.and_then(|()| self.file.write_all(&bytes[..stored])).err();
    }

    /// Writes what is buffered and closes the file.
    ///
    /// # Errors
    /// The first error since the file was created.
    pub fn finish(mut self) -> Result<(), RecordError> {
        match self.failed.take().or_else(|| self.file.flush().err()) {
            Some(source) => Err(RecordError::Io { path: self.path, source }),
            None => Ok(()),
        }
    }

    /// The window field of the header: unscaled on a SYN (RFC 7323 section 2.2), scaled after it.
    fn wire_window(&mut self, segment: &PcapSegment<'_>) -> u16 {
        assert!(segment.flow < FLOWS_MAX, "flow {} of at most {FLOWS_MAX}", segment.flow);
        let (flow, end) = (segment.flow as usize, usize::from(!segment.from_sender));
        if self.scale.len() <= flow {
            self.scale.resize(flow + 1, [0; 2]);
        }
        let shift = match segment.syn {
            Some(syn) => {
                self.scale[flow][end] = syn.window_scale.min(WINDOW_SCALE_MAX);
                0
            }
            None => self.scale[flow][end],
        };
        (segment.window >> shift).min(u32::from(u16::MAX)) as u16
    }
}

/// Little-endian pcap 2.4, nanoseconds, Ethernet.
fn file_header() -> [u8; 24] {
    let mut header = [0; 24];
    header[0..4].copy_from_slice(&0xa1b2_3c4d_u32.to_le_bytes());
    header[4..6].copy_from_slice(&2_u16.to_le_bytes());
    header[6..8].copy_from_slice(&4_u16.to_le_bytes());
    header[16..20].copy_from_slice(&(HEADERS_LEN_MAX as u32).to_le_bytes());
    header[20..24].copy_from_slice(&1_u32.to_le_bytes());
    header
}

fn record_header(t_ns: u64, stored_len: u32, wire_len: u32) -> [u8; 16] {
    let fields =
        [(t_ns / 1_000_000_000) as u32, (t_ns % 1_000_000_000) as u32, stored_len, wire_len];
    let mut header = [0; 16];
    for (to, field) in header.chunks_exact_mut(4).zip(fields) {
        to.copy_from_slice(&field.to_le_bytes());
    }
    header
}
