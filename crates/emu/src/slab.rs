//! The bytes of the frames that are under way. Buffers are taken and given back by number, so that what
//! queues hold is a few words; memory comes in pieces that stay where they are.

use crate::burst::VNET_BYTES;

/// Room of a buffer: the driver's header and the largest IP packet that an interface with an MTU of 1500 hands
/// over.
pub const BUFFER_BYTES: usize = 1536;
/// Buffers that are made at once.
const PIECE: usize = 1024;
/// Most buffers that are made before a run begins.
const RESERVED_MAX: u64 = 8_192;

struct Buffer {
    bytes: [u8; BUFFER_BYTES],
    length: u16,
    /// Copies of the frame that are under way.
    copies: u32,
}

/// See the module documentation.
#[derive(Default)]
pub struct Slab {
    pieces: Vec<Box<[Buffer]>>,
    free: Vec<u32>,
}

impl Slab {
    /// Room for the frames that may be under way at once: a second at the bottleneck's rate, within reason.
    pub fn for_rate(rate_bps: u64) -> Slab {
        let mut slab = Slab::default();
        slab.reserve((rate_bps / 8 / 1514).clamp(64, RESERVED_MAX) as usize);
        slab
    }

    /// Makes sure of room for so many frames, in memory that is there and stays there if the process may
    /// lock it.
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
        // SAFETY: memory of our own, which moves nowhere until the slab is dropped; a refusal does no harm.
        unsafe { libc::mlock(piece.as_ptr().cast(), size_of_val(&*piece)) };
        self.pieces.push(piece);
        self.free.extend((first..first + PIECE as u32).rev());
    }

    fn buffer(&mut self, number: u32) -> &mut Buffer {
        &mut self.pieces[number as usize / PIECE][number as usize % PIECE]
    }

    /// A buffer with all its room, for one copy of a frame.
    pub fn take(&mut self) -> (u32, &mut [u8]) {
        if self.free.is_empty() {
            self.grow();
        }
        let number = self.free.pop().expect("grown when empty");
        let buffer = self.buffer(number);
        buffer.copies = 1;
        (number, &mut buffer.bytes)
    }

    /// So many bytes of a buffer are in use, the driver's header included.
    pub fn set_length(&mut self, number: u32, length: usize) {
        self.buffer(number).length = length as u16;
    }

    /// The frame.
    pub fn bytes(&mut self, number: u32) -> &mut [u8] {
        &mut self.room(number)[VNET_BYTES..]
    }

    /// The frame with the driver's header before it.
    pub fn room(&mut self, number: u32) -> &mut [u8] {
        let buffer = self.buffer(number);
        &mut buffer.bytes[..usize::from(buffer.length)]
    }

    /// There is one more copy of a frame.
    pub fn copy(&mut self, number: u32) {
        self.buffer(number).copies += 1;
    }

    /// A copy of a frame is no more.
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
        let mut slab = Slab::default();
        let (first, room) = slab.take();
        room[VNET_BYTES..VNET_BYTES + 3].copy_from_slice(b"abc");
        slab.set_length(first, VNET_BYTES + 3);
        slab.copy(first);
        slab.give_back(first);
        assert_eq!((slab.bytes(first).to_vec(), slab.in_use()), (b"abc".to_vec(), 1));
        slab.give_back(first);
        assert_eq!(slab.in_use(), 0);
    }

    #[test]
    fn buffers_in_use_are_never_handed_out_again() {
        let mut slab = Slab::default();
        let mut taken: Vec<u32> = (0..3 * PIECE).map(|_| slab.take().0).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 3 * PIECE);
        assert_eq!(slab.in_use(), 3 * PIECE);
    }

    #[test]
    #[should_panic(expected = "given back and not in use")]
    fn giving_back_twice_is_a_bug() {
        let mut slab = Slab::default();
        let (number, _) = slab.take();
        slab.give_back(number);
        slab.give_back(number);
    }
}
