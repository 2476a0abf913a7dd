//! What the sender remembers of each packet: a ring addressed by packet number.
//!
//! Numbers below `base` are forgotten. From there to `una` everything is acknowledged or lost; lost
//! packets stay for a while, so that a late acknowledgement shows that the loss was spurious. A packet that
//! `owns` its segment is the one whose loss makes the sender send that segment again: of each segment
//! that was sent and not delivered there is one owner, or it waits to be sent again.

use crate::common::Stamps;

/// The packet is in flight.
pub const IN_FLIGHT: u8 = 1;
/// It was acknowledged.
pub const ACKED: u8 = 2;
/// It was declared lost.
pub const LOST: u8 = 4;
/// Its loss makes the sender send its segment again.
pub const OWNER: u8 = 8;
/// Its segment had been sent before.
pub const RETRANS: u8 = 16;
/// The flow was application-limited when it was sent.
pub const APP_LIMITED: u8 = 32;
/// It left with an ECN code point.
pub const ECT: u8 = 64;

/// One packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// State when it was sent; microseconds truncated to 32 bit.
    pub stamps: Stamps,
    /// Segment of the stream that it carries.
    pub segment: u32,
    /// Bytes sent so far, this one included; wraps.
    pub sent: u32,
    /// That number of the last packet acknowledged before it left.
    pub sent_at_acked: u32,
    /// Bytes acknowledged before it left; wraps.
    pub acked: u32,
    /// When it was declared lost, us, truncated.
    pub lost_us: u32,
    /// Bits of this module.
    pub flags: u8,
}

impl Sent {
    /// Whether all of these bits are set.
    #[inline]
    pub fn is(&self, bits: u8) -> bool {
        self.flags & bits == bits
    }
}

/// See the module documentation.
#[derive(Debug)]
pub struct SentPackets {
    slots: Vec<Sent>,
    base: u32,
    una: u32,
    next: u32,
}

impl Default for SentPackets {
    fn default() -> Self {
        SentPackets { slots: vec![Sent::default(); 64], base: 0, una: 0, next: 0 }
    }
}

impl SentPackets {
    /// Number of the next packet.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Lowest number in flight; `next` when nothing is.
    #[inline]
    pub fn una(&self) -> u32 {
        self.una
    }

    /// Lowest number that is remembered (what STOP_WAITING says).
    #[inline]
    pub fn base(&self) -> u32 {
        self.base
    }

    /// The packet `number`, if it is remembered.
    #[inline]
    pub fn find(&mut self, number: u32) -> Option<&mut Sent> {
        let known = self.base <= number && number < self.next;
        known.then(|| self.at_mut(number))
    }

    /// The packet `number`, which is remembered.
    #[inline]
    pub fn at(&self, number: u32) -> &Sent {
        debug_assert!(self.base <= number && number < self.next, "{number} is not remembered");
        &self.slots[number as usize & (self.slots.len() - 1)]
    }

    /// As [`SentPackets::at`].
    #[inline]
    pub fn at_mut(&mut self, number: u32) -> &mut Sent {
        debug_assert!(self.base <= number && number < self.next, "{number} is not remembered");
        let mask = self.slots.len() - 1;
        &mut self.slots[number as usize & mask]
    }

    /// A packet was sent; returns its number, which no other packet ever gets.
    pub fn push(&mut self, packet: Sent) -> u32 {
        if (self.next - self.base) as usize == self.slots.len() {
            self.grow();
        }
        let number = self.next;
        assert!(number < u32::MAX, "a connection is limited to 2^32 packets");
        self.next += 1;
        *self.at_mut(number) = packet;
        number
    }

    /// Moves `una` past what is not in flight.
    pub fn advance(&mut self) {
        while self.una < self.next && !self.at(self.una).is(IN_FLIGHT) {
            self.una += 1;
        }
    }

    /// Forgets acknowledged packets, and lost ones once `keep_us` have passed; true when a lost one is
    /// among them.
    pub fn forget(&mut self, now_us: u32, keep_us: u32) -> bool {
        let mut forgot_lost = false;
        while self.base < self.una {
            let packet = *self.at(self.base);
            if packet.is(LOST) && now_us.wrapping_sub(packet.lost_us) < keep_us {
                break;
            }
            forgot_lost |= packet.is(LOST);
            self.base += 1;
        }
        forgot_lost
    }

    fn grow(&mut self) {
        let mut slots = vec![Sent::default(); 2 * self.slots.len()];
        let mask = slots.len() - 1;
        for number in self.base..self.next {
            slots[number as usize & mask] = *self.at(number);
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(segment: u32) -> Sent {
        Sent { segment, flags: IN_FLIGHT, ..Sent::default() }
    }

    #[test]
    fn growing_keeps_every_packet_under_its_number() {
        let mut packets = SentPackets::default();
        for i in 0..1000 {
            assert_eq!(packets.push(sent(2 * i)), i);
            if i < 30 {
                packets.at_mut(i).flags = ACKED;
                packets.advance();
                packets.forget(0, 0);
            }
        }
        assert_eq!((packets.base(), packets.una(), packets.next()), (30, 30, 1000));
        assert!((30..1000).all(|i| packets.at(i).segment == 2 * i));
        assert!(packets.find(29).is_none() && packets.find(1000).is_none());
    }

    #[test]
    fn a_lost_packet_is_remembered_for_a_while() {
        let mut packets = SentPackets::default();
        (0..3).for_each(|i| assert_eq!(packets.push(sent(i)), i));
        *packets.at_mut(0) = Sent { flags: LOST, lost_us: 100, ..sent(0) };
        packets.at_mut(1).flags = ACKED;
        packets.advance();
        assert_eq!(packets.una(), 2);
        assert!(!packets.forget(149, 50));
        assert_eq!(packets.base(), 0);
        assert!(packets.forget(150, 50));
        assert_eq!(packets.base(), 2);
    }
}
