//! The bytes of the frames on the path. Buffers are taken and given back by number, so that queues hold a few words;
//! memory is allocated in pieces that do not move.

use crate::gso::VNET_BYTES;

/// Size of a buffer: the driver's header and the largest IP packet of an interface with an MTU of 1500.
pub const BUFFER_BYTES: usize = 1536;
/// Buffers that are allocated at once.
const PIECE: usize = 1024;
/// Maximum number of buffers that are allocated before a run begins.
const RESERVED_MAX: u64 = 8_192;

struct Buffer {
    bytes: [u8; BUFFER_BYTES],
    length: u16,
    /// Copies of the frame on the path.
    copies: u32,
}

/// See the module documentation.
#[derive(Default)]
pub struct BufferPool {
    pieces: Vec<Box<[Buffer]>>,
    free: Vec<u32>,
}

impl BufferPool {
    /// Buffers for one second of frames at the bottleneck's rate, 64 to [`RESERVED_MAX`].
    pub fn for_rate(rate_bps: u64) -> BufferPool {
        let mut pool = BufferPool::default();
        pool.reserve((rate_bps / 8 / 1514).clamp(64, RESERVED_MAX) as usize);
        pool
    }

    /// Allocates until this many buffers are free, in memory that is locked if the process may.
    fn reserve(&mut self, frames: usize) {
        while self.free.len() < frames {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let empty = || Buffer { bytes: [0; BUFFER_BYTES], length: 0, copies: 0 };
        let piece: Box<[Buffer]> = (0..PIECE).map(|_| empty()).collect();
        let first = (self.pieces.len() * PIECE) as u32;
        let start = piece.as_ptr().cast_mut().cast();
        // SAFETY: memory of our own, which does not move until the pool is dropped. A refusal does no harm.
        let _ = unsafe { rustix::mm::mlock(start, size_of_val(&*piece)) };
        self.pieces.push(piece);
        self.free.extend((first..first + PIECE as u32).rev());
    }

    fn buffer(&mut self, number: u32) -> &mut Buffer {
        &mut self.pieces[number as usize / PIECE][number as usize % PIECE]
    }

    /// A free buffer, whole, for one copy of a frame.
    pub fn take(&mut self) -> (u32, &mut [u8]) {
        if self.free.is_empty() {
            self.grow();
        }
        let number = self.free.pop().expect("grown when empty");
        let buffer = self.buffer(number);
        buffer.copies = 1;
        (number, &mut buffer.bytes)
    }

    /// Sets how many bytes of a buffer are in use, the driver's header included.
    pub fn set_length(&mut self, number: u32, length: usize) {
        self.buffer(number).length = length as u16;
    }

    /// The frame.
    pub fn frame(&mut self, number: u32) -> &mut [u8] {
        &mut self.packet(number)[VNET_BYTES..]
    }

    /// The driver's header and the frame.
    pub fn packet(&mut self, number: u32) -> &mut [u8] {
        let buffer = self.buffer(number);
        &mut buffer.bytes[..usize::from(buffer.length)]
    }

    /// The same, to read several at once.
    pub fn read(&self, number: u32) -> &[u8] {
        let buffer = &self.pieces[number as usize / PIECE][number as usize % PIECE];
        &buffer.bytes[..usize::from(buffer.length)]
    }

    /// Counts one more copy of a frame.
    pub fn copy(&mut self, number: u32) {
        self.buffer(number).copies += 1;
    }

    /// Gives one copy of a frame back; the buffer is free after the last.
    pub fn give_back(&mut self, number: u32) {
        let buffer = self.buffer(number);
        assert!(buffer.copies > 0, "buffer {number} is given back and not in use");
        buffer.copies -= 1;
        if buffer.copies == 0 {
            self.free.push(number);
        }
    }

    /// Buffers in use.
    #[cfg(test)]
    pub fn in_use(&self) -> usize {
        self.pieces.len() * PIECE - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_free_again_when_its_last_copy_is_gone() {
        let mut pool = BufferPool::default();
        let (first, bytes) = pool.take();
        bytes[VNET_BYTES..VNET_BYTES + 3].copy_from_slice(b"abc");
        pool.set_length(first, VNET_BYTES + 3);
        pool.copy(first);
        pool.give_back(first);
        assert_eq!((pool.frame(first).to_vec(), pool.in_use()), (b"abc".to_vec(), 1));
        pool.give_back(first);
        assert_eq!(pool.in_use(), 0);
    }

    #[test]
    fn buffers_in_use_are_never_handed_out_again() {
        let mut pool = BufferPool::default();
        let mut taken: Vec<u32> = (0..3 * PIECE).map(|_| pool.take().0).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 3 * PIECE);
        assert_eq!(pool.in_use(), 3 * PIECE);
    }

    #[test]
    #[should_panic(expected = "given back and not in use")]
    fn giving_back_twice_is_a_bug() {
        let mut pool = BufferPool::default();
        let (number, _) = pool.take();
        pool.give_back(number);
        pool.give_back(number);
    }
}
