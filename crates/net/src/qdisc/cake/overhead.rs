//! What a packet occupies on the link behind the shaper: `cake_calc_overhead` (net/sched/sch_cake.c)
//! and the keywords of tc-cake(8).

/// Bytes before the network header, which [`wire_bytes`](crate::Frame::wire_bytes) counts and a link
/// behind the next hop may not carry.
const LINK_HEADER: i64 = 14;
/// Payload and size of an ATM cell, bytes.
const CELL: (u64, u64) = (48, 53);
/// PTM's 64b/65b coding adds a byte to each of so many.
const PTM_BLOCK: u64 = 64;

/// How the link packs what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Framing {
    /// As it is (tc `noatm`).
    #[default]
    None,
    /// In cells of 53 bytes that hold 48 (tc `atm`).
    Atm,
    /// With one more byte for each 64 or part of them (tc `ptm`).
    Ptm,
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

/// tc's keywords: name, framing that it sets, overhead that it adds, least packet that it sets
/// (iproute2, tc/q_cake.c).
const KEYWORDS: [(&str, Option<Framing>, i32, Option<u32>); 13] = [
    ("ipoa-vcmux", Some(Framing::Atm), 8, None),
    ("ipoa-llcsnap", Some(Framing::Atm), 16, None),
    ("bridged-vcmux", Some(Framing::Atm), 24, None),
    ("bridged-llcsnap", Some(Framing::Atm), 32, None),
    ("pppoa-vcmux", Some(Framing::Atm), 10, None),
    ("pppoa-llc", Some(Framing::Atm), 14, None),
    ("pppoe-vcmux", Some(Framing::Atm), 32, None),
    ("pppoe-llcsnap", Some(Framing::Atm), 40, None),
    ("pppoe-ptm", Some(Framing::Ptm), 30, None),
    ("bridged-ptm", Some(Framing::Ptm), 22, None),
    ("ethernet", None, 38, Some(84)),
    ("ether-vlan", None, 4, None),
    ("docsis", Some(Framing::None), 18, Some(64)),
];

impl Overhead {
    /// This and one more of tc's keywords, which add up (`ethernet ether-vlan`); `raw` and
    /// `conservative` replace what came before. `None` for an unknown word.
    pub fn with(self, keyword: &str) -> Option<Overhead> {
        match keyword {
            "raw" => return Some(Overhead { mpu: self.mpu, ..Overhead::default() }),
            "conservative" => {
                let framing = Framing::Atm;
                return Some(Overhead { from_network_header: true, bytes: 48, framing, ..self });
            }
            _ => {}
        }
        let (_, framing, bytes, mpu) = KEYWORDS.iter().find(|(name, ..)| *name == keyword)?;
        Some(Overhead {
            from_network_header: true,
            bytes: self.bytes + bytes,
            mpu: mpu.unwrap_or(self.mpu),
            framing: framing.unwrap_or(self.framing),
        })
    }

    /// Bytes that a packet of so many wire bytes is charged.
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

    fn charged(keywords: &str, wire_bytes: u64) -> u64 {
        let overhead = keywords.split(' ').try_fold(Overhead::default(), Overhead::with);
        overhead.expect("the keywords are tc's").charged(wire_bytes)
    }

    #[test]
    fn raw_charges_the_wire_bytes() {
        assert_eq!(charged("raw", 1514), 1514);
        assert_eq!(charged("conservative raw", 66), 66);
    }

    #[test]
    fn keywords_count_from_the_network_header_and_add_the_links_own() {
        // 1500 and 52 bytes of IP; an Ethernet frame with preamble and gap takes 84 at least.
        assert_eq!(charged("ethernet", 1514), 1500 + 38);
        assert_eq!(charged("ethernet", 66), 52 + 38);
        assert_eq!(charged("ethernet", 54), 84);
        assert_eq!(charged("ethernet ether-vlan", 1514), 1500 + 42);
        assert_eq!(charged("docsis", 1514), 1500 + 18);
        assert_eq!(charged("docsis", 54), 64);
    }

    #[test]
    fn atm_fills_whole_cells_and_ptm_pays_a_byte_in_sixty_four() {
        // 1500 + 40 = 1540 = 32.08 cells; 52 + 8 = 60 = 1.25 cells; 1500 + 48 = 32.25 cells.
        assert_eq!(charged("pppoe-llcsnap", 1514), 33 * 53);
        assert_eq!(charged("ipoa-vcmux", 66), 2 * 53);
        assert_eq!(charged("conservative", 1514), 33 * 53);
        // 1500 + 30 = 1530 = 23.9 blocks; 1500 + 22 = 1522 = 23.8 blocks; 42 + 22 = 64 = one.
        assert_eq!(charged("pppoe-ptm", 1514), 1530 + 24);
        assert_eq!(charged("bridged-ptm", 1514), 1522 + 24);
        assert_eq!(charged("bridged-ptm", 56), 65);
    }

    #[test]
    fn a_negative_overhead_stops_at_the_least_packet() {
        let overhead = Overhead { bytes: -64, mpu: 20, ..Overhead::default() };
        assert_eq!(overhead.charged(66), 20);
        assert_eq!(overhead.charged(100), 36);
    }

    #[test]
    fn an_unknown_word_is_refused() {
        assert_eq!(Overhead::default().with("via-pigeon"), None);
    }
}
