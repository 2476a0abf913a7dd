//! The datagrams under way, which packets of the path name by an index.
//!
//! Stream data is zeros, and so are tags: only what comes before the trailing zeros is kept, some 40 bytes. The
//! buffers are used again. A datagram that the path loses is not told; its buffer is free again after
//! [`KEPT`], longer than anything stays on a path. A second copy of a datagram finds nothing, and quinn would have
//! refused its packet number.

use std::collections::VecDeque;
use units::{Span, Time};

/// How long a datagram may be under way.
const KEPT: Span = Span::from_ms(600_000);
/// How many are looked at for each that is added: more than one, so that those that are over go faster than others come.
const SWEPT: usize = 2;
/// How many bytes are asked at once whether they are zeros.
const BLOCK: usize = 128;

/// What a packet of the path carries instead of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub index: u32,
    /// Which use of the buffer it is.
    pub generation: u32,
    /// Length of the datagram, bytes.
    pub len: u16,
}

#[derive(Debug, Default)]
struct Slot {
    head: Vec<u8>,
    generation: u32,
    is_held: bool,
}

/// See the module documentation.
#[derive(Debug, Default)]
pub struct Datagrams {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// When each was sent, oldest first.
    sent: VecDeque<(Time, u32, u32)>,
}

impl Datagrams {
    /// Keeps a datagram that leaves now.
    pub fn put(&mut self, now: Time, datagram: &[u8]) -> Ticket {
        self.sweep(now);
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.head.clear();
        slot.head.extend_from_slice(without_trailing_zeros(datagram));
        slot.generation = slot.generation.wrapping_add(1);
        slot.is_held = true;
        self.sent.push_back((now, index, slot.generation));
        Ticket { index, generation: slot.generation, len: datagram.len() as u16 }
    }

    /// What a datagram begins with; nothing when it has arrived before.
    pub fn head(&self, ticket: Ticket) -> Option<&[u8]> {
        let slot = &self.slots[ticket.index as usize];
        (slot.is_held && slot.generation == ticket.generation).then_some(&slot.head)
    }

    /// The datagram arrives: it is not kept any longer.
    pub fn drop_held(&mut self, ticket: Ticket) {
        self.release(ticket.index, ticket.generation);
    }

    fn release(&mut self, index: u32, generation: u32) {
        let slot = &mut self.slots[index as usize];
        if slot.is_held && slot.generation == generation {
            slot.is_held = false;
            self.free.push(index);
        }
    }

    /// Forgets what has arrived, and what has been under way for too long.
    fn sweep(&mut self, now: Time) {
        for _ in 0..SWEPT {
            let Some(&(at, index, generation)) = self.sent.front() else { return };
            let slot = &self.slots[index as usize];
            let is_over = !slot.is_held || slot.generation != generation;
            if !is_over && now.since(at) < KEPT {
                return;
            }
            self.sent.pop_front();
            self.release(index, generation);
        }
    }
}

/// Blocks at a time, then words: datagrams are mostly zeros. The compiler makes a few vector instructions of a block.
fn without_trailing_zeros(datagram: &[u8]) -> &[u8] {
    let mut end = datagram.len();
    while let Some(block) = datagram[..end].last_chunk::<BLOCK>() {
        if block.iter().fold(0, |all, byte| all | byte) != 0 {
            break;
        }
        end -= BLOCK;
    }
    while let Some(word) = datagram[..end].last_chunk() {
        // The last bytes are the highest.
        let zeros = u128::from_le_bytes(*word).leading_zeros() as usize / 8;
        end -= zeros;
        if zeros < word.len() {
            return &datagram[..end];
        }
    }
    while end > 0 && datagram[end - 1] == 0 {
        end -= 1;
    }
    &datagram[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::from_ns(s * 1_000_000_000)
    }

    #[test]
    fn a_datagram_arrives_once_without_its_trailing_zeros() {
        let mut datagrams = Datagrams::default();
        let mut bytes = vec![0; 1200];
        bytes[..3].copy_from_slice(&[7, 0, 9]);
        let ticket = datagrams.put(at(0), &bytes);
        assert_eq!((datagrams.head(ticket), ticket.len), (Some(&[7, 0, 9][..]), 1200));
        datagrams.drop_held(ticket);
        assert_eq!(datagrams.head(ticket), None);
        datagrams.drop_held(ticket);
        let next = datagrams.put(at(0), &[1; 40]);
        assert_eq!(next.index, ticket.index, "its buffer is used again");
        assert_eq!(datagrams.head(ticket), None);
        assert_eq!(datagrams.put(at(0), &[2; 40]).index, 1, "and is free once");
    }

    #[test]
    fn the_last_byte_that_is_not_zero_is_found_wherever_it_is() {
        for len in [0, 1, 15, 16, 17, 127, 128, 129, 1200, 1448] {
            assert!(without_trailing_zeros(&vec![0; len]).is_empty(), "{len}");
            for last in 0..len {
                let mut bytes = vec![0; len];
                bytes[last] = 1;
                assert_eq!(without_trailing_zeros(&bytes), &bytes[..=last], "{last} of {len}");
            }
        }
    }

    #[test]
    fn the_buffers_of_lost_datagrams_are_free_after_ten_minutes() {
        let mut datagrams = Datagrams::default();
        for i in 0..100 {
            datagrams.put(at(0), &[i; 40]);
        }
        for i in 0..100 {
            let ticket = datagrams.put(at(700), &[i; 40]);
            datagrams.drop_held(ticket);
        }
        assert!(datagrams.slots.len() <= 101, "{}", datagrams.slots.len());
        assert!(datagrams.sent.len() <= 1, "{}", datagrams.sent.len());
    }
}
