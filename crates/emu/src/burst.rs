//! What one read of a device brings: a frame, or a burst that the sender's stack has left in one piece
//! (TSO), cut here into the frames that a wire would carry.
//!
//! The kernel's own software segmentation does the same a step later (`tcp_gso_segment`, `inet_gso_segment`),
//! at the price of a socket buffer and a read for each frame. Its rules hold here: the IP identification
//! counts up, CWR is in the first frame only, PSH and FIN in the last.
//!
//! TCP checksums stay as the kernel hands them over, half done (`CHECKSUM_PARTIAL`): the field has the
//! pseudo-header's sum and the driver's header says so. The receiving kernel takes that for a right
//! checksum, as it does from a veth or a virtual machine. [`complete`] does the rest where bytes are shown.

use crate::header::{flag, Ip, Tcp};

/// Bytes of the driver's header before a packet (`struct virtio_net_hdr`, include/uapi/linux/virtio_net.h).
pub const VNET_BYTES: usize = 10;
/// The largest burst (`GSO_LEGACY_MAX_SIZE`).
const BURST_BYTES: usize = 65_536;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV4`; the bit for CWR (`VIRTIO_NET_HDR_GSO_ECN`) may be set beside it.
const TCP4: u8 = 1;
const CWR_ONCE: u8 = 0x80;
/// Where the checksum is in a TCP header.
const TCP_CHECKSUM: usize = 16;
const TCP_PROTOCOL: u32 = 6;

/// Numbers of the driver's header are in the machine's own byte order.
fn ne16(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// See the module documentation.
pub struct Burst {
    /// The driver's header and the packet.
    room: Box<[u8]>,
    length: usize,
    /// What of its payload is cut already.
    done: usize,
    cut: Option<Cut>,
}

/// How a burst is cut.
#[derive(Clone, Copy)]
struct Cut {
    ip: Ip,
    tcp: Tcp,
    /// Bytes of IP and TCP headers.
    headers: usize,
    /// Payload of a frame but the last.
    mss: usize,
}

impl Default for Burst {
    fn default() -> Burst {
        let room = vec![0; VNET_BYTES + BURST_BYTES].into_boxed_slice();
        Burst { room, length: 0, done: 0, cut: None }
    }
}

impl Burst {
    /// Room for what a device has next.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.room
    }

    /// So many bytes are there now.
    pub fn set_length(&mut self, length: usize) {
        self.length = length.max(VNET_BYTES);
        self.done = 0;
        self.cut = self.how();
    }

    /// Puts the next frame behind its driver's header into `room`, and tells the length of both.
    pub fn next(&mut self, room: &mut [u8]) -> Option<usize> {
        match self.cut {
            None => self.whole(room),
            Some(cut) => self.piece(&cut, room),
        }
    }

    /// A packet that is one frame already; nothing if it is none that a wire would carry.
    fn whole(&mut self, room: &mut [u8]) -> Option<usize> {
        let length = std::mem::take(&mut self.length);
        if length <= VNET_BYTES || length > room.len() {
            return None;
        }
        room[..length].copy_from_slice(&self.room[..length]);
        Some(length)
    }

    fn how(&self) -> Option<Cut> {
        let (vnet, packet) = self.room[..self.length].split_at(VNET_BYTES);
        let mss = usize::from(ne16(vnet, 4));
        if vnet[1] & !CWR_ONCE != TCP4 || mss == 0 {
            return None;
        }
        let ip = Ip::parse(packet)?;
        let tcp = ip.tcp(packet)?;
        Some(Cut { ip, tcp, headers: usize::from(ip.total) - tcp.payload as usize, mss })
    }

    fn piece(&mut self, cut: &Cut, room: &mut [u8]) -> Option<usize> {
        let whole = cut.tcp.payload as usize;
        let size = cut.mss.min(whole - self.done);
        let length = cut.headers + size;
        if size == 0 || VNET_BYTES + length > room.len() {
            return None;
        }
        let (vnet, frame) = room[..VNET_BYTES + length].split_at_mut(VNET_BYTES);
        let packet = &self.room[VNET_BYTES..];
        frame[..cut.headers].copy_from_slice(&packet[..cut.headers]);
        let start = cut.headers + self.done;
        frame[cut.headers..].copy_from_slice(&packet[start..start + size]);
        cut.set_headers(frame, self.done, self.done + size == whole);
        cut.set_vnet(vnet);
        self.done += size;
        Some(VNET_BYTES + length)
    }
}

impl Cut {
    /// What differs between the frames of a burst; `done` bytes of its payload went before this one.
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

/// Completes the checksum of a frame behind its driver's header where that says it is half done
/// (as `skb_checksum_help` does).
pub fn complete(room: &mut [u8]) {
    let (vnet, frame) = room.split_at_mut(VNET_BYTES);
    let start = usize::from(ne16(vnet, 6));
    let at = start + usize::from(ne16(vnet, 8));
    if vnet[0] & NEEDS_CHECKSUM == 0 || at + 2 > frame.len() {
        return;
    }
    vnet.fill(0);
    let checksum = match !fold(sum(&frame[start..])) {
        // UDP takes 0 for none (RFC 768).
        0 => 0xffff,
        checksum => checksum,
    };
    put(frame, at, checksum);
}

/// Sum of 16-bit words (RFC 1071), of less than 128 KiB.
fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    let rest = words.remainder().first().map_or(0, |&byte| u32::from(byte) << 8);
    words.fold(rest, |sum, word| sum + u32::from(u16::from_be_bytes([word[0], word[1]])))
}

fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests;
