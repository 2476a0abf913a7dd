//! What a packet occupies on the link behind the shaper: `cake_calc_overhead` (net/sched/sch_cake.c)
//! and the keywords of tc-cake(8).

use crate::settings::words;

/// Bytes before the network header, which [`wire_bytes`](crate::Frame::wire_bytes) counts and a link
/// behind the next hop may not carry.
const LINK_HEADER: i64 = 14;
/// Payload and size of an ATM cell, bytes.
const CELL: (u64, u64) = (48, 53);
/// PTM's 64b/65b coding adds a byte to each group of this many.
const PTM_BLOCK: u64 = 64;

words! {
    /// How the link packs what it sends.
    pub enum Framing {
        /// As it is (tc `noatm`).
        #[default]
        None = "none",
        /// In cells of 53 bytes that hold 48 (tc `atm`).
        Atm = "atm",
        /// With one more byte for each 64 or part of them (tc `ptm`).
        Ptm = "ptm",
    }
}

/// The length that the shaper charges for a packet. The default is tc's `raw`: the wire bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Overhead {
    /// Count from the network header on, and add `bytes` to that: every keyword of tc but `raw`.
    pub from_network_header: bool,
    /// Added to each packet (tc `overhead`, -64 to 256).
    pub bytes: i32,
    /// No packet is charged less, before framing (tc `mpu`, 0 to 256; default 0).
    pub mpu: u32,
    /// Packing of the link.
    pub framing: Framing,
}

impl Overhead {
    /// Bytes that a packet of this many wire bytes is charged.
    #[inline]
    pub fn charged(&self, wire_bytes: u64) -> u64 {
        let header = if self.from_network_header { LINK_HEADER } else { 0 };
        let len = wire_bytes as i64 - header + i64::from(self.bytes);
        let len = len.max(i64::from(self.mpu)) as u64;
        match self.framing {
            Framing::None => len,
            Framing::Atm => len.div_ceil(CELL.0) * CELL.1,
            Framing::Ptm => len + len.div_ceil(PTM_BLOCK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the keywords of tc-cake(8) with this overhead and framing charge.
    fn charged(bytes: i32, framing: Framing, wire_bytes: u64) -> u64 {
        let from_network_header = true;
        Overhead { from_network_header, bytes, mpu: 0, framing }.charged(wire_bytes)
    }

    #[test]
    fn raw_charges_the_wire_bytes() {
        assert_eq!(Overhead::default().charged(1514), 1514);
    }

    #[test]
    fn an_overhead_counts_from_the_network_header_on() {
        // `ethernet`: 1500 and 52 bytes of IP; a frame with preamble and gap takes 84 at least.
        let ethernet =
            Overhead { from_network_header: true, bytes: 38, mpu: 84, framing: Framing::None };
        let wire = [1514, 66, 54];
        assert_eq!(wire.map(|bytes| ethernet.charged(bytes)), [1500 + 38, 52 + 38, 84]);
    }

    #[test]
    fn atm_fills_whole_cells_and_ptm_pays_a_byte_in_sixty_four() {
        // 1500 + 40 = 1540 = 32.08 cells; 52 + 8 = 60 = 1.25 cells; 1500 + 48 = 32.25 cells.
        assert_eq!(charged(40, Framing::Atm, 1514), 33 * 53);
        assert_eq!(charged(8, Framing::Atm, 66), 2 * 53);
        assert_eq!(charged(48, Framing::Atm, 1514), 33 * 53);
        // 1500 + 30 = 1530 = 23.9 blocks; 1500 + 22 = 1522 = 23.8 blocks; 42 + 22 = 64 = one.
        assert_eq!(charged(30, Framing::Ptm, 1514), 1530 + 24);
        assert_eq!(charged(22, Framing::Ptm, 1514), 1522 + 24);
        assert_eq!(charged(22, Framing::Ptm, 56), 65);
    }

    #[test]
    fn a_negative_overhead_stops_at_the_smallest_packet() {
        let overhead = Overhead { bytes: -64, mpu: 20, ..Overhead::default() };
        assert_eq!([66, 100].map(|bytes| overhead.charged(bytes)), [20, 36]);
    }
}
