//! A packet capture of the simulated segments, as `tcpdump` at the sender would write it.
//!
//! The file is classic pcap with nanosecond time stamps: Ethernet, IPv4 and TCP headers with right
//! lengths, valid checksums and the options that Linux sends. Payload is not stored (a snap length);
//! it counts as zeros in the checksum and in the lengths. RFC 791, RFC 9293, RFC 7323 (time stamps,
//! window scale), RFC 2018 and 2883 (SACK, D-SACK), RFC 3168 (ECN).
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

use crate::RecordError;
use std::fs::File;
use std::io::{BufWriter, Error, Write};
use std::path::{Path, PathBuf};

/// TCP flags, as in the header.
pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const PSH: u8 = 0x08;
pub const ACK: u8 = 0x10;
/// Congestion experienced, echoed by the receiver.
pub const ECE: u8 = 0x40;
/// Congestion window reduced.
pub const CWR: u8 = 0x80;

/// ECN field of the IP header: capable, code point 0.
pub const ECT0: u8 = 2;
/// ECN field of the IP header: congestion experienced.
pub const CE: u8 = 3;

/// Port of every receiver (iperf3's, so that tools name it).
pub const RECEIVER_PORT: u16 = 5201;
/// Port of the sender of flow 0; flow n has the n-th after it, wrapping within the dynamic ports.
pub const SENDER_PORT_FIRST: u16 = 49_152;

const ETHERNET_LEN: usize = 14;
const ETHERTYPE_IPV4: u16 = 0x0800;
const IPV4_LEN: usize = 20;
const TCP_LEN: usize = 20;
/// Largest TCP options (RFC 9293: data offset of 15 words).
const OPTIONS_LEN_MAX: usize = 40;
const HEADERS_LEN_MAX: usize = ETHERNET_LEN + IPV4_LEN + TCP_LEN + OPTIONS_LEN_MAX;
/// SACK blocks that fit beside time stamps: 40 - 12 - 4 bytes, 8 a block (RFC 2018 section 3).
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
    pub flags: u8,
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
        let mut packet = Packet::new();
        packet.ethernet(segment);
        packet.ipv4(segment, self.ip_id);
        packet.tcp(segment, window);
        packet.close(segment.payload_len);
        let stored = packet.bytes();
        let wire_len = stored.len() as u32 + segment.payload_len;
        let header = record_header(t_ns, stored.len() as u32, wire_len);
        self.failed = self.file.write_all(&header).and_then(|()| self.file.write_all(stored)).err();
    }

    /// Appends a real IPv4 packet, its headers only, behind an Ethernet header without addresses. Never fails;
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

/// IPv4 address of one end of a flow: 10, one bit for the end, the flow number plus one.
fn address(flow: u32, sender: bool) -> [u8; 4] {
    let host = (flow + 1) & (FLOWS_MAX - 1) | if sender { 0 } else { FLOWS_MAX };
    (0x0a00_0000 | host).to_be_bytes()
}

fn ports(segment: &PcapSegment<'_>) -> (u16, u16) {
    let dynamic = u32::from(u16::MAX - SENDER_PORT_FIRST) + 1;
    let sender = SENDER_PORT_FIRST + (segment.flow % dynamic) as u16;
    if segment.from_sender {
        (sender, RECEIVER_PORT)
    } else {
        (RECEIVER_PORT, sender)
    }
}

/// Headers of one packet under construction, network byte order.
struct Packet {
    buffer: [u8; HEADERS_LEN_MAX],
    len: usize,
}

impl Packet {
    const IP: usize = ETHERNET_LEN;
    const TCP: usize = ETHERNET_LEN + IPV4_LEN;

    fn new() -> Packet {
        Packet { buffer: [0; HEADERS_LEN_MAX], len: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    fn put(&mut self, bytes: &[u8]) {
        self.buffer[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn put_u16(&mut self, value: u16) {
        self.put(&value.to_be_bytes());
    }

    fn put_u32(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }

    /// Locally administered addresses that end in the IP address.
    fn ethernet(&mut self, segment: &PcapSegment<'_>) {
        for sender in [!segment.from_sender, segment.from_sender] {
            self.put(&[0x02, 0x00]);
            self.put(&address(segment.flow, sender));
        }
        self.put_u16(0x0800);
    }

    /// Total length and checksum are filled in by [`Packet::close`].
    fn ipv4(&mut self, segment: &PcapSegment<'_>, id: u16) {
        self.put(&[0x45, segment.ecn & 3]);
        self.put_u16(0);
        self.put_u16(id);
        self.put_u16(0x4000); // do not fragment
        self.put(&[64, 6]); // hops, TCP
        self.put_u16(0);
        self.put(&address(segment.flow, segment.from_sender));
        self.put(&address(segment.flow, !segment.from_sender));
    }

    /// Data offset and checksum are filled in by [`Packet::close`].
    fn tcp(&mut self, segment: &PcapSegment<'_>, window: u16) {
        let (from, to) = ports(segment);
        self.put_u16(from);
        self.put_u16(to);
        self.put_u32(segment.seq);
        self.put_u32(segment.ack);
        self.put(&[0, segment.flags]);
        self.put_u16(window);
        self.put_u32(0);
        match segment.syn {
            Some(syn) => self.syn_options(segment, syn),
            None => self.options(segment),
        }
    }

    /// In the order and padding of Linux: MSS, SACK permitted, time stamps, window scale.
    fn syn_options(&mut self, segment: &PcapSegment<'_>, syn: SynOptions) {
        self.put(&[2, 4]);
        self.put_u16(syn.mss);
        self.put(&[4, 2, 8, 10]);
        self.put_u32(segment.ts_val);
        self.put_u32(segment.ts_ecr);
        self.put(&[1, 3, 3, syn.window_scale.min(WINDOW_SCALE_MAX)]);
    }

    fn options(&mut self, segment: &PcapSegment<'_>) {
        self.put(&[1, 1, 8, 10]);
        self.put_u32(segment.ts_val);
        self.put_u32(segment.ts_ecr);
        let blocks = segment.sack.len();
        assert!(blocks <= SACK_BLOCKS_MAX, "{blocks} SACK blocks, at most {SACK_BLOCKS_MAX} fit");
        if blocks > 0 {
            self.put(&[1, 1, 5, 2 + 8 * blocks as u8]);
            for &(left, right) in segment.sack {
                self.put_u32(left);
                self.put_u32(right);
            }
        }
    }

    /// Fills in lengths and checksums.
    fn close(&mut self, payload_len: u32) {
        let tcp_header_len = self.len - Self::TCP;
        debug_assert_eq!(tcp_header_len % 4, 0, "options are padded to words");
        let tcp_len = tcp_header_len as u32 + payload_len;
        let total_len = u16::try_from(tcp_len + IPV4_LEN as u32)
            .unwrap_or_else(|_| panic!("payload of {payload_len} bytes exceeds an IP packet"));
        self.set_u16(Self::IP + 2, total_len);
        self.buffer[Self::TCP + 12] = (tcp_header_len as u8 / 4) << 4;
        let ip = checksum(sum(&self.buffer[Self::IP..Self::TCP]));
        self.set_u16(Self::IP + 10, ip);
        // Pseudo header: both addresses, the protocol and the TCP length (RFC 9293 section 3.1).
        let pseudo = sum(&self.buffer[Self::IP + 12..Self::TCP]) + 6 + tcp_len;
        let tcp = checksum(pseudo + sum(&self.buffer[Self::TCP..self.len]));
        self.set_u16(Self::TCP + 16, tcp);
    }

    fn set_u16(&mut self, at: usize, value: u16) {
        self.buffer[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }
}

/// Sum of the 16-bit words; headers have even lengths, and at most 100 bytes cannot overflow.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

/// One's complement of the folded sum (RFC 1071).
fn checksum(sum: u32) -> u16 {
    let folded = (sum >> 16) + (sum & 0xffff);
    !((folded >> 16) + (folded & 0xffff)) as u16
}
