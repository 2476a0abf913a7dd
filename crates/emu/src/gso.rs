//! One read of a device: a frame, or a burst that the sender's stack has left in one piece (TSO), which is cut here
//! into the frames that a wire would carry.
//!
//! The kernel's own software segmentation does the same a step later (`tcp_gso_segment`, `inet_gso_segment`),
//! with a socket buffer and a read for each frame. Its rules hold here: the IP identification counts up, CWR is in
//! the first frame only, PSH and FIN in the last.
//!
//! TCP checksums stay as the kernel hands them over, half done (`CHECKSUM_PARTIAL`): the field has the
//! pseudo-header's sum and the driver's header says so. The receiving kernel accepts that, as it does from a veth or
//! a virtual machine. [`complete`] finishes the checksum for a capture.

use crate::header::{flag, Ip, Tcp};

/// Bytes of the driver's header before a packet (`struct virtio_net_hdr`, include/uapi/linux/virtio_net.h).
pub const VNET_BYTES: usize = 10;
/// The largest burst (`GSO_LEGACY_MAX_SIZE`).
const BURST_BYTES: usize = 65_536;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
pub const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV4`; the bit for CWR (`VIRTIO_NET_HDR_GSO_ECN`) may be set in addition.
pub const TCP4: u8 = 1;
const CWR_ONCE: u8 = 0x80;
/// Where the checksum is in a TCP header.
pub const TCP_CHECKSUM: usize = 16;
pub const TCP_PROTOCOL: u32 = 6;

/// Numbers of the driver's header are in the machine's own byte order.
fn ne16(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// Writes a number of a header.
pub fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// See the module documentation.
pub struct Segmenter {
    /// The driver's header and what was read.
    packet: Box<[u8]>,
    length: usize,
    /// Bytes of its payload that were cut off already.
    done: usize,
    burst: Option<Layout>,
}

/// A burst, and how it is cut.
#[derive(Clone, Copy)]
struct Layout {
    ip: Ip,
    tcp: Tcp,
    /// Bytes of IP and TCP headers.
    headers: usize,
    /// Payload of each frame; the last may have less.
    mss: usize,
}

impl Default for Segmenter {
    fn default() -> Segmenter {
        let packet = vec![0; VNET_BYTES + BURST_BYTES].into_boxed_slice();
        Segmenter { packet, length: 0, done: 0, burst: None }
    }
}

impl Segmenter {
    /// The buffer to read a device into.
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.packet
    }

    /// Starts with what was read, of this length.
    pub fn set_length(&mut self, length: usize) {
        self.length = length.max(VNET_BYTES);
        self.done = 0;
        self.burst = self.layout();
    }

    /// Writes the driver's header and the next frame into `out`, and returns the length of both.
    pub fn next(&mut self, out: &mut [u8]) -> Option<usize> {
        match self.burst {
            None => self.whole(out),
            Some(burst) => self.piece(&burst, out),
        }
    }

    /// A packet that is one frame already; `None` if it is too long for a wire.
    fn whole(&mut self, out: &mut [u8]) -> Option<usize> {
        let length = std::mem::take(&mut self.length);
        if length <= VNET_BYTES || length > out.len() {
            return None;
        }
        out[..length].copy_from_slice(&self.packet[..length]);
        Some(length)
    }

    fn layout(&self) -> Option<Layout> {
        let (vnet, packet) = self.packet[..self.length].split_at(VNET_BYTES);
        let mss = usize::from(ne16(vnet, 4));
        if vnet[1] & !CWR_ONCE != TCP4 || mss == 0 {
            return None;
        }
        let ip = Ip::parse(packet)?;
        let tcp = ip.tcp(packet)?;
        Some(Layout { ip, tcp, headers: usize::from(ip.total) - tcp.payload as usize, mss })
    }

    fn piece(&mut self, burst: &Layout, out: &mut [u8]) -> Option<usize> {
        let whole = burst.tcp.payload as usize;
        let size = burst.mss.min(whole - self.done);
        let length = burst.headers + size;
        if size == 0 || VNET_BYTES + length > out.len() {
            return None;
        }
        let (vnet, frame) = out[..VNET_BYTES + length].split_at_mut(VNET_BYTES);
        let packet = &self.packet[VNET_BYTES..];
        frame[..burst.headers].copy_from_slice(&packet[..burst.headers]);
        let start = burst.headers + self.done;
        frame[burst.headers..].copy_from_slice(&packet[start..start + size]);
        burst.set_headers(frame, self.done, self.done + size == whole);
        burst.set_vnet(vnet);
        self.done += size;
        Some(VNET_BYTES + length)
    }
}

impl Layout {
    /// Sets what differs between the frames of a burst; `done` bytes of its payload are in earlier ones.
    fn set_headers(&self, frame: &mut [u8], done: usize, is_last: bool) {
        let (at, length) = (self.ip.header_bytes(), frame.len());
        let id = u16::from_be_bytes([frame[4], frame[5]]).wrapping_add((done / self.mss) as u16);
        put(frame, 2, length as u16);
        put(frame, 4, id);
        put(frame, 10, 0);
        let header = !fold(sum(&frame[..at]));
        put(frame, 10, header);
        frame[at + 4..at + 8]
            .copy_from_slice(&self.tcp.seq.wrapping_add(done as u32).to_be_bytes());
        if done > 0 {
            frame[at + 13] &= !(flag::CWR as u8);
        }
        if !is_last {
            frame[at + 13] &= !((flag::PSH | flag::FIN) as u8);
        }
        let pseudo = sum(&frame[12..20]) + TCP_PROTOCOL + (length - at) as u32;
        put(frame, at + TCP_CHECKSUM, fold(pseudo));
    }

    fn set_vnet(&self, vnet: &mut [u8]) {
        vnet.fill(0);
        vnet[0] = NEEDS_CHECKSUM;
        vnet[6..8].copy_from_slice(&(self.ip.header_bytes() as u16).to_ne_bytes());
        vnet[8..10].copy_from_slice(&(TCP_CHECKSUM as u16).to_ne_bytes());
    }
}

/// Completes the checksum of a frame, after its driver's header, where that says it is half done
/// (as `skb_checksum_help` does).
pub fn complete(packet: &mut [u8]) {
    let (vnet, frame) = packet.split_at_mut(VNET_BYTES);
    let start = usize::from(ne16(vnet, 6));
    let at = start + usize::from(ne16(vnet, 8));
    if vnet[0] & NEEDS_CHECKSUM == 0 || at + 2 > frame.len() {
        return;
    }
    vnet.fill(0);
    let checksum = match !fold(sum(&frame[start..])) {
        // In UDP 0 means none (RFC 768).
        0 => 0xffff,
        checksum => checksum,
    };
    put(frame, at, checksum);
}

/// Sum of 16-bit words (RFC 1071), of less than 128 KiB.
pub fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    let rest = words.remainder().first().map_or(0, |&byte| u32::from(byte) << 8);
    words.fold(rest, |sum, word| sum + u32::from(u16::from_be_bytes([word[0], word[1]])))
}

pub fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests;
