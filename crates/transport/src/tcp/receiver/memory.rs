//! The memory that received segments occupy, which depends on the device that they come from (`skb->truesize`).

use super::super::config::{Device, MSS};
use super::tun::Tun;

/// Segments that one buffer of veth holds: those that follow leave their own (`skb_try_coalesce`, `MAX_SKB_FRAGS`).
pub const SEGMENTS_PER_BUFFER: u32 = 17;
/// A sender takes what it writes to pages of 2^15 bytes (`skb_page_frag_refill`): a segment that lies in two counts twice.
const PAGE_SHIFT: u32 = 15;
/// Payload of such a buffer, of full segments, bytes.
const BUFFER: u64 = SEGMENTS_PER_BUFFER as u64 * MSS as u64;
/// Memory of a buffer of veth beside its payload, bytes: the descriptor and the head (2280 for a full segment on Linux 6.12).
const VETH_OVERHEAD: u64 = DESCRIPTOR + SMALL_HEAD;
/// Headers in front of the payload, with timestamps, bytes.
const HEADERS: u64 = 52;
/// Room before the headers in a buffer of tun (`NET_SKB_PAD`), and what ends each buffer (`skb_shared_info`), bytes.
const TUN_PAD: u64 = 64;
const SHARED_INFO: u64 = 320;
/// Memory of the descriptor of a buffer, bytes (`struct sk_buff`, aligned).
const DESCRIPTOR: u64 = 256;
/// A smaller buffer comes from a cache of its own (`SKB_SMALL_HEAD_CACHE_SIZE`), bytes.
const SMALL_HEAD: u64 = 576;

impl Device {
    /// Memory of a segment of `len` bytes.
    pub fn truesize(self, len: u64) -> u64 {
        match self {
            Device::Veth => len + VETH_OVERHEAD,
            Device::Tun => tun_buffer(len) + DESCRIPTOR,
        }
    }

    /// Memory of `count` segments of `len` bytes in one packet: of veth they are pages behind one head (`skb_gro_receive`).
    pub fn truesize_merged(self, len: u64, count: u64) -> u64 {
        match self {
            Device::Veth => self.truesize(len * count),
            Device::Tun => self.truesize(len) * count,
        }
    }

    /// Free bytes behind a segment of `len` bytes in its buffer of tun (`skb_tailroom`).
    pub fn room_in_tun(len: u64) -> u64 {
        tun_buffer(len) - SHARED_INFO - (TUN_PAD + HEADERS + len)
    }

    /// The same without what is shared once it has joined others (`truesize_adjust`).
    pub fn truesize_joined(self, len: u64) -> u64 {
        match self {
            Device::Veth => len,
            Device::Tun => self.truesize(len),
        }
    }
}

/// Size of tun's buffer for a segment of `len` bytes.
fn tun_buffer(len: u64) -> u64 {
    match (TUN_PAD + HEADERS + len).next_multiple_of(64) + SHARED_INFO {
        size if size <= SMALL_HEAD => SMALL_HEAD,
        size => size.next_power_of_two(),
    }
}

/// Payload in the buffer of a receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Bytes in order that were not read, and in how many pieces they are ([`pieces`]).
    pub in_order: u64,
    pub pieces: u32,
    /// Bytes out of order, and the buffers of veth that hold them.
    pub out_of_order: u64,
    pub buffers: u32,
}

/// Pieces of memory of this many segments, which lie between these bytes of the stream. Pages are taken to begin with the
/// stream.
#[inline]
pub fn pieces(segments: u32, from: u64, to: u64) -> u32 {
    let last = to.saturating_sub(1).max(from);
    segments + ((last >> PAGE_SHIFT) - (from >> PAGE_SHIFT)) as u32
}

/// What the buffer of a receiver holds.
#[derive(Debug, Default)]
pub struct Memory {
    device: Device,
    tun: Tun,
}

impl Memory {
    /// An empty buffer.
    pub fn new(device: Device) -> Memory {
        Memory { device, ..Memory::default() }
    }

    /// Segments from `seqs.0` to before `seqs.1`, `len` bytes, arrived in order, after `answers` ACKs.
    #[inline]
    pub fn take_in_order(&mut self, seqs: (u32, u32), len: u64, answers: u64) {
        if self.device == Device::Tun {
            self.tun.take_in_order(seqs, len, answers);
        }
    }

    /// Segment `seq` of `len` bytes is held out of order; it arrived after `answers` ACKs.
    #[inline]
    pub fn take_out_of_order(&mut self, seq: u32, len: u64, answers: u64) {
        if self.device == Device::Tun {
            self.tun.take_out_of_order(seq, len, answers);
        }
    }

    /// What was held before segment `next` is in order now.
    #[inline]
    pub fn advance(&mut self, next: u32) {
        if self.device == Device::Tun {
            self.tun.advance(next);
        }
    }

    /// Payload of the first buffer that the application reads, of `unread` bytes in order.
    pub fn first(&self, unread: u64) -> u64 {
        match self.device {
            Device::Veth => unread.min(BUFFER),
            Device::Tun => self.tun.first(),
        }
    }

    /// The application has read everything in order.
    #[inline]
    pub fn read(&mut self) {
        if self.device == Device::Tun {
            self.tun.read();
        }
    }

    /// Memory of the buffer that holds this payload.
    #[inline]
    pub fn used(&self, held: Held) -> u64 {
        match self.device {
            Device::Veth => {
                let buffers = held.pieces.div_ceil(SEGMENTS_PER_BUFFER) + held.buffers;
                held.in_order + held.out_of_order + u64::from(buffers) * VETH_OVERHEAD
            }
            Device::Tun => {
                let (in_order, out_of_order) = self.tun.used();
                in_order + out_of_order
            }
        }
    }

    /// Memory of what is held out of order.
    #[inline]
    pub fn used_out_of_order(&self, held: Held) -> u64 {
        match self.device {
            Device::Veth => self.used(Held { in_order: 0, pieces: 0, ..held }),
            Device::Tun => self.tun.used().1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_tun_is_a_power_of_two_or_a_small_one() {
        // As `ss -m` shows them on Linux 6.18.
        for (len, memory) in
            [(1, 832), (140, 832), (156, 1280), (588, 1280), (589, 2304), (1448, 2304)]
        {
            assert_eq!(Device::Tun.truesize(len), memory, "{len} bytes");
        }
    }

    #[test]
    fn what_was_out_of_order_is_charged_once() {
        let mut memory = Memory::new(Device::Tun);
        memory.take_out_of_order(1, 1448, 0);
        memory.take_out_of_order(2, 1000, 0);
        assert_eq!(
            (memory.used(Held::default()), memory.used_out_of_order(Held::default())),
            (4608, 4608)
        );
        memory.take_in_order((0, 1), 1000, 0);
        memory.advance(3);
        assert_eq!(
            (memory.used(Held::default()), memory.used_out_of_order(Held::default())),
            (6912, 0)
        );
        assert_eq!(memory.first(3448), 1000);
        memory.read();
        assert_eq!(memory.used(Held::default()), 0);
    }
}
