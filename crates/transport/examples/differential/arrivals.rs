//! What arrives at a receiver in one scenario, when, and how its application reads. Drawn by set and seed.

use net::rng::Rng;
use std::ops::RangeInclusive;

/// The sets, each with another stress.
pub const SETS: [&str; 8] = [
    "rcv-plain",
    "rcv-loss",
    "rcv-dup",
    "rcv-odd",
    "rcv-short",
    "rcv-small",
    "rcv-slow",
    "rcv-ecn",
];

/// Payload of a full segment, bytes.
pub const MSS: u32 = 1448;
/// Time from one segment to the next at least, us: neither this nor twice as much is near the 1.1 ms for which selective
/// ACKs are compressed.
const SPACING: u64 = 750;
/// Pauses between flights, us: none is near a delayed ACK (40 to 56 ms) or the RTO (220 to 320 ms).
const PAUSES: [u64; 3] = [8_000, 130_000, 900_000];
/// Pauses that are not drawn, us: the next segment would come near the timer of the delayed ACK, or near a limit of the
/// estimate that sets this timer, and a late machine decides on which side.
const NEAR_TIMER: RangeInclusive<u64> = 16_000..=62_000;
/// Receive buffers, bytes.
const DEFAULTS: &[u64] = &[131_072, 540_000, 4_194_304];
const SMALL: &[u64] = &[8_192, 20_000, 40_000, 65_536];
const MIDDLE: &[u64] = &[65_536, 131_072];
const LARGE: &[u64] = &[4_194_304];
/// Two segments of this length do not fit into one buffer of tun; the kernel copies shorter ones behind the one before.
/// Only `rcv-odd` and `rcv-short` have shorter ones.
const LEN_ALONE: u32 = 810;
/// Bytes for which a slow reader waits.
const WAITS: [u32; 4] = [4_000, 10_000, 20_000, 32_768];

/// A segment arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// Since the handshake, us.
    pub at: u64,
    pub segment: usize,
    pub push: bool,
    pub ce: bool,
    pub cwr: bool,
}

/// See the module documentation. Times in microseconds, sizes in bytes.
#[derive(Clone, Debug)]
pub struct Arrivals {
    pub rtt: u64,
    /// Payload of each segment of the stream.
    pub lens: Vec<u32>,
    pub order: Vec<Arrival>,
    pub rcvbuf: u64,
    /// The reader wakes when this many bytes are there.
    pub rcvlowat: u32,
    pub ecn: bool,
}

impl Arrivals {
    /// The scenario of a set and seed.
    pub fn draw(set: &str, seed: u64) -> Arrivals {
        let mut rng = Rng::stream(seed, &format!("differential.{set}"));
        let buffers = match set {
            "rcv-small" => SMALL,
            "rcv-short" => MIDDLE,
            "rcv-odd" => LARGE,
            _ => DEFAULTS,
        };
        let mut s = Arrivals {
            rtt: (20 + rng.below(80)) * 1000 + 500,
            lens: (0..20 + rng.below(40)).map(|_| len(set, &mut rng)).collect(),
            order: Vec::new(),
            rcvbuf: buffers[rng.below(buffers.len() as u64) as usize],
            rcvlowat: match set {
                "rcv-slow" => WAITS[rng.below(WAITS.len() as u64) as usize],
                _ => 1,
            },
            ecn: set == "rcv-ecn",
        };
        s.draw_order(set, &mut rng);
        s
    }

    fn draw_order(&mut self, set: &str, rng: &mut Rng) {
        let lost = if set == "rcv-loss" { 4 + rng.below(20) } else { rng.below(5) };
        let again = if set == "rcv-dup" { 20 } else { rng.below(3) };
        let late = rng.below(6);
        let gap = if rng.below(2) == 0 { SPACING } else { 3_000 };
        let (mut at, mut left) = (SPACING, 1 + rng.below(12));
        let mut cwr_from = u64::MAX;
        for segment in 0..self.lens.len() {
            let mut arrival =
                Arrival { at, segment, push: rng.below(12) == 0, ce: false, cwr: false };
            if self.ecn {
                arrival.ce = rng.below(10) == 0;
                arrival.cwr = at >= cwr_from;
                cwr_from = if arrival.cwr { u64::MAX } else { cwr_from };
                cwr_from = if arrival.ce { cwr_from.min(at + self.rtt) } else { cwr_from };
            }
            if rng.below(100) < lost {
                arrival.at += self.rtt + rng.below(3) * SPACING;
            } else if rng.below(100) < late {
                arrival.at += rng.below(self.rtt);
            }
            self.order.push(arrival);
            if rng.below(100) < again {
                arrival.at += SPACING + rng.below(self.rtt);
                self.order.push(arrival);
            }
            at += gap;
            left -= 1;
            if left == 0 {
                at += PAUSES[rng.below(3) as usize] + rng.below(4) * 500;
                left = 1 + rng.below(12);
            }
        }
        self.order.sort();
        let (mut before, mut later) = (0, 0);
        for arrival in &mut self.order {
            let at = (arrival.at + later).max(before + SPACING);
            later += if NEAR_TIMER.contains(&(at - before)) {
                NEAR_TIMER.end() - (at - before)
            } else {
                0
            };
            arrival.at = (arrival.at + later).max(before + SPACING);
            before = arrival.at;
        }
    }

    /// The same with one thing less, each in turn.
    pub fn simpler(&self) -> Vec<Arrivals> {
        let mut out = Vec::new();
        let mut less = |order: Vec<Arrival>| out.push(Arrivals { order, ..self.clone() });
        for parts in [2, 4] {
            less(self.order[..self.order.len() * (parts - 1) / parts].to_vec());
        }
        less(self.order[..self.order.len().saturating_sub(1)].to_vec());
        for i in 0..self.order.len().min(12) {
            let mut order = self.order.clone();
            order[i].push = false;
            if order != self.order {
                less(order);
            }
        }
        out
    }
}

fn len(set: &str, rng: &mut Rng) -> u32 {
    let shortest = match set {
        "rcv-odd" | "rcv-short" => 1,
        _ if rng.below(10) == 0 => LEN_ALONE,
        _ => MSS,
    };
    shortest + rng.below(u64::from(MSS - shortest) + 1) as u32
}
