//! The fields of IPv4 and TCP headers that the path reads (RFC 791, RFC 9293).

use net::frame::PureAck;

/// Offset of the type-of-service byte: DSCP and ECN (RFC 2474, RFC 3168).
const TOS: usize = 1;
/// Offset of the header checksum.
const CHECKSUM: usize = 10;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Length of a UDP header.
const UDP_HEADER: usize = 8;

/// Bits of the TCP header.
pub mod flag {
    pub const FIN: u16 = 0x001;
    pub const SYN: u16 = 0x002;
    pub const RST: u16 = 0x004;
    pub const PSH: u16 = 0x008;
    pub const ACK: u16 = 0x010;
    pub const URG: u16 = 0x020;
    pub const ECE: u16 = 0x040;
    pub const CWR: u16 = 0x080;
    /// Accurate ECN's third counter bit (RFC 9768).
    pub const AE: u16 = 0x100;
}

/// What is read of an IPv4 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    pub source: u32,
    pub destination: u32,
    /// DSCP and ECN.
    pub tos: u8,
    pub protocol: u8,
    /// Length of the whole packet.
    pub total: u16,
    /// Length of this header.
    header: usize,
    /// Whether this is a later fragment, without ports.
    is_later_fragment: bool,
}

/// What is read of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    pub source: u16,
    pub destination: u16,
    pub seq: u32,
    pub ack: u32,
    /// `flag::*`.
    pub flags: u16,
    /// Payload bytes.
    pub payload: u32,
    /// Where the options are in the packet.
    options: (usize, usize),
}

/// Both ends of a datagram or segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    pub source: u16,
    pub destination: u16,
    pub is_udp: bool,
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Ip {
    /// The header of a packet; `None` for what is not a whole IPv4 packet.
    pub fn parse(bytes: &[u8]) -> Option<Ip> {
        if bytes.len() < 20 || bytes[0] >> 4 != 4 {
            return None;
        }
        let header = usize::from(bytes[0] & 15) * 4;
        let total = be16(bytes, 2);
        if header < 20 || usize::from(total) < header || bytes.len() < usize::from(total) {
            return None;
        }
        Some(Ip {
            source: be32(bytes, 12),
            destination: be32(bytes, 16),
            tos: bytes[TOS],
            protocol: bytes[9],
            total,
            header,
            is_later_fragment: be16(bytes, 6) & 0x1fff != 0,
        })
    }

    /// Length of this header.
    pub fn header_bytes(&self) -> usize {
        self.header
    }

    /// The TCP header that follows it, if there is one.
    pub fn tcp(&self, bytes: &[u8]) -> Option<Tcp> {
        let (start, total) = (self.header, usize::from(self.total));
        if self.protocol != TCP || self.is_later_fragment || start + 20 > total {
            return None;
        }
        let header = usize::from(bytes[start + 12] >> 4) * 4;
        let end = start + header;
        if header < 20 || end > total {
            return None;
        }
        Some(Tcp {
            source: be16(bytes, start),
            destination: be16(bytes, start + 2),
            seq: be32(bytes, start + 4),
            ack: be32(bytes, start + 8),
            flags: be16(bytes, start + 12) & 0x1ff,
            payload: (total - end) as u32,
            options: (start + 20, end),
        })
    }

    /// The ports of the UDP header that follows it, if there is one.
    pub fn udp(&self, bytes: &[u8]) -> Option<Ports> {
        let is_whole = self.header + UDP_HEADER <= usize::from(self.total);
        (self.protocol == UDP && !self.is_later_fragment && is_whole).then(|| Ports {
            source: be16(bytes, self.header),
            destination: be16(bytes, self.header + 2),
            is_udp: true,
        })
    }

    /// The first word that a UDP datagram carries.
    pub fn udp_word(&self, bytes: &[u8]) -> Option<u32> {
        let at = self.header + UDP_HEADER;
        (self.protocol == UDP && at + 4 <= usize::from(self.total)).then(|| be32(bytes, at))
    }

    /// Hash of addresses, protocol and ports, uniform over 32 bits.
    pub fn flow_hash(&self, bytes: &[u8]) -> u32 {
        let has_ports = matches!(self.protocol, TCP | UDP) && !self.is_later_fragment;
        let end = self.header + 4;
        let ports =
            if has_ports && end <= usize::from(self.total) { be32(bytes, self.header) } else { 0 };
        let words = [self.source, self.destination, u32::from(self.protocol), ports];
        words.iter().fold(0, |hash, &word| net::frame::spread(hash ^ word))
    }
}

impl Tcp {
    /// A segment without options, for tests of what looks at numbers and flags only.
    #[cfg(test)]
    pub(crate) fn plain(flags: u16, seq: u32, ack: u32, payload: u32) -> Tcp {
        Tcp { source: 50_000, destination: 5_201, seq, ack, flags, payload, options: (0, 0) }
    }

    /// Its ports.
    pub fn ports(&self) -> Ports {
        Ports { source: self.source, destination: self.destination, is_udp: false }
    }

    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }

    /// What an ACK filter compares, where this is an acknowledgement without data.
    pub fn pure_ack(&self, bytes: &[u8]) -> Option<PureAck> {
        let ends = flag::SYN | flag::FIN | flag::RST;
        if self.payload > 0 || !self.has(flag::ACK) || self.flags & ends != 0 {
            return None;
        }
        let bit = |flag: u16, bit: u8| if self.has(flag) { bit } else { 0 };
        let mut ack = PureAck {
            ack: self.ack,
            ts_val: 0,
            ecn_flags: bit(flag::ECE, 1) | bit(flag::CWR, 2) | bit(flag::AE, 4),
            is_dsack: false,
            sacks: [(0, 0); 3],
            n_sacks: 0,
        };
        self.read_options(bytes, &mut ack);
        ack.is_dsack = is_dsack(&ack);
        Some(ack)
    }

    /// Timestamps and selective acknowledgements (RFC 7323, RFC 2018).
    fn read_options(&self, bytes: &[u8], ack: &mut PureAck) {
        let (mut at, end) = self.options;
        while at < end {
            match bytes[at] {
                0 => break,
                1 => at += 1,
                kind => {
                    let Some(&length) = bytes[..end].get(at + 1) else { break };
                    let next = at + usize::from(length);
                    if length < 2 || next > end {
                        break;
                    }
                    if kind == 8 && length == 10 {
                        ack.ts_val = be32(bytes, at + 2);
                    }
                    if kind == 5 {
                        let blocks = (usize::from(length) - 2) / 8;
                        for (block, i) in ack.sacks.iter_mut().zip(0..blocks) {
                            let start = at + 2 + 8 * i;
                            *block = (be32(bytes, start), be32(bytes, start + 4));
                            ack.n_sacks = i as u8 + 1;
                        }
                    }
                    at = next;
                }
            }
        }
    }
}

/// The first block reports a duplicate: it is acknowledged already, or within the second (RFC 2883).
fn is_dsack(ack: &PureAck) -> bool {
    let before = |a: u32, b: u32| (a.wrapping_sub(b) as i32) < 0;
    if ack.n_sacks == 0 {
        return false;
    }
    let (start, end) = ack.sacks[0];
    let within = |(first, last): (u32, u32)| !before(start, first) && !before(last, end);
    before(start, ack.ack) || (ack.n_sacks > 1 && within(ack.sacks[1]))
}

/// Writes another type of service, and the checksum that belongs to it (RFC 1624, equation 3).
pub fn set_tos(bytes: &mut [u8], tos: u8) {
    let old = be16(bytes, 0);
    let new = old & 0xff00 | u16::from(tos);
    let sum = u32::from(!be16(bytes, CHECKSUM)) + u32::from(!old) + u32::from(new);
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((folded & 0xffff) + (folded >> 16)) as u16);
    bytes[TOS] = tos;
    bytes[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests;
