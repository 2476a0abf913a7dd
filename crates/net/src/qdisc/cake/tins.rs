//! Tins: classes of service by DSCP, each with a share of the rate, a weight and the times that
//! follow from its share (`cake_set_rate`, `cake_config_*`, net/sched/sch_cake.c).

use super::cobalt;
use super::shaper::TimePerByte;
use crate::settings::words;
use units::Span;

/// Most tins of any mode.
pub(super) const TINS_MAX: usize = 8;
/// Bounds of a flow's quantum, bytes.
const QUANTUM: (u64, u64) = (300, 1514);

words! {
    /// How packets are divided over tins.
    pub enum Diffserv {
        /// One tin for all.
        BestEffort = "besteffort",
        /// Eight, by the old precedence bits.
        Precedence = "precedence",
        /// Best effort, bulk and voice.
        #[default]
        Diffserv3 = "diffserv3",
        /// Best effort, bulk, video and voice.
        Diffserv4 = "diffserv4",
        /// Eight, by code point.
        Diffserv8 = "diffserv8",
    }
}

impl Diffserv {
    /// The tin of a code point.
    #[inline]
    pub const fn tin(self, dscp: u8) -> usize {
        match self {
            Diffserv::BestEffort => 0,
            Diffserv::Precedence => (dscp >> 3) as usize & 7,
            Diffserv::Diffserv8 => diffserv8(dscp),
            Diffserv::Diffserv4 => diffserv4(dscp),
            Diffserv::Diffserv3 => diffserv3(dscp),
        }
    }

    /// Threshold rate of each tin in byte/s, of a whole, and its weight where nothing is shaped.
    pub(super) fn shares(self, rate: u64) -> Vec<(u64, u32)> {
        match self {
            Diffserv::BestEffort => vec![(rate, 65535)],
            Diffserv::Precedence | Diffserv::Diffserv8 => {
                let next =
                    |&(rate, weight): &(u64, u32)| Some(((rate * 7) >> 3, (weight * 7) >> 3));
                std::iter::successors(Some((rate, 256)), next).take(TINS_MAX).collect()
            }
            Diffserv::Diffserv4 => {
                vec![(rate, 1024), (rate >> 4, 64), (rate >> 1, 512), (rate >> 2, 256)]
            }
            Diffserv::Diffserv3 => vec![(rate, 1024), (rate >> 4, 64), (rate >> 2, 256)],
        }
    }
}

/// LE and CS1 are bulk; TOS4, VA, EF, CS6 and CS7 are voice.
const fn diffserv3(dscp: u8) -> usize {
    match dscp {
        1 | 8 => 1,
        4 | 44 | 46 | 48 | 56 => 2,
        _ => 0,
    }
}

/// LE and CS1 are bulk; TOS4, CS2, AF2x, CS3, AF3x and AF4x are video; CS4 to CS7, VA and EF are voice.
const fn diffserv4(dscp: u8) -> usize {
    match dscp {
        1 | 8 => 1,
        4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
        32 | 40 | 44 | 46 | 48 | 56 => 3,
        _ => 0,
    }
}

/// From background (LE) over high throughput, best effort (2), video, transactions, shell and
/// minimum latency to network control.
const fn diffserv8(dscp: u8) -> usize {
    match dscp {
        1 => 0,
        2 | 8 | 10 | 12 | 14 => 1,
        24 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
        4 | 18 | 20 | 22 => 4,
        16 => 5,
        32 | 40 | 44 | 46 => 6,
        48 | 56 => 7,
        _ => 2,
    }
}

/// What a tin's share of the rate makes of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    pub time_per_byte: TimePerByte,
    /// Added to a flow's deficit in each round, bytes.
    pub quantum: u32,
    /// Added to the tin's deficit where nothing is shaped, bytes.
    pub weight: u32,
    pub cobalt: cobalt::Params,
}

impl Params {
    /// Of a threshold rate in byte/s (0: unlimited). At low rates target and interval grow, so that
    /// one full packet in the queue is not congestion.
    pub fn new(rate: u64, weight: u32, mtu: u64, target: Span, interval: Span) -> Params {
        let quantum = if rate == 0 { QUANTUM.1 } else { (rate >> 12).clamp(QUANTUM.0, QUANTUM.1) };
        let time_per_byte = TimePerByte::of(rate);
        let mtu_time = time_per_byte.span(mtu);
        let tin_target = target.max(Span::from_ns(mtu_time.as_ns() * 3 / 2));
        let tin_interval = (interval + tin_target - target).max(tin_target * 2);
        let cobalt = cobalt::Params { target: tin_target, interval: tin_interval, mtu_time };
        Params { time_per_byte, quantum: quantum as u32, weight, cobalt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantum of tin 0, and target and interval in tenths of a millisecond of each tin.
    fn table(mbps: u64) -> (u32, Vec<(u64, u64)>) {
        let tenths = |span: Span| (span.as_us() + 50) / 100;
        let params: Vec<Params> = Diffserv::Diffserv3
            .shares(mbps * 125_000)
            .into_iter()
            .map(|(rate, weight)| {
                Params::new(rate, weight, 1514, Span::from_ms(5), Span::from_ms(100))
            })
            .collect();
        let times = params.iter().map(|p| (tenths(p.cobalt.target), tenths(p.cobalt.interval)));
        (params[0].quantum, times.collect())
    }

    #[test]
    fn target_and_interval_grow_where_a_packet_takes_long() {
        // 1514 bytes take 12.1 ms at 1 Mbit/s; target is 1.5 packets, interval 95 ms more or twice it.
        assert_eq!(table(1), (300, vec![(182, 1132), (2907, 5814), (727, 1677)]));
        assert_eq!(table(10), (305, vec![(50, 1000), (291, 1241), (73, 1023)]));
        assert_eq!(table(50), (1514, vec![(50, 1000), (58, 1008), (50, 1000)]));
    }

    #[test]
    fn an_unlimited_tin_keeps_target_and_interval() {
        let params = Params::new(0, 1024, 1514, Span::from_ms(5), Span::from_ms(100));
        assert_eq!(params.quantum, 1514);
        assert_eq!(params.cobalt.mtu_time, Span::ZERO);
        assert_eq!(params.cobalt.target, Span::from_ms(5));
        assert_eq!(params.cobalt.interval, Span::from_ms(100));
    }

    #[test]
    fn eight_tins_have_seven_eighths_of_the_one_before() {
        let shares = Diffserv::Precedence.shares(1_000_000);
        assert_eq!(shares[..3], [(1_000_000, 256), (875_000, 224), (765_625, 196)]);
        assert_eq!(shares.len(), 8);
        assert_eq!(shares[7].1, 98); // over 171, 149, 130 and 113
    }

    #[test]
    fn code_points_go_where_their_service_is() {
        let tins = |mode: Diffserv| [0, 1, 4, 8, 16, 32, 34, 40, 46, 48].map(|dscp| mode.tin(dscp));
        assert_eq!(tins(Diffserv::BestEffort), [0; 10]);
        assert_eq!(tins(Diffserv::Diffserv3), [0, 1, 2, 1, 0, 0, 0, 0, 2, 2]);
        assert_eq!(tins(Diffserv::Diffserv4), [0, 1, 2, 1, 2, 3, 2, 3, 3, 3]);
        assert_eq!(tins(Diffserv::Diffserv8), [2, 0, 4, 1, 5, 6, 3, 6, 6, 7]);
        assert_eq!(tins(Diffserv::Precedence), [0, 0, 0, 1, 2, 4, 4, 5, 5, 6]);
    }
}
