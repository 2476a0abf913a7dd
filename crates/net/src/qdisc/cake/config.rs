//! What can be set, and what follows from it.

use super::overhead::Overhead;
use super::tin::Tin;
use super::tins::Params;
use super::{AckFilter, Diffserv, Framing, Isolation};
use crate::settings::{settings, MEMORY, RATES, TIMES};
use units::{Bytes, Rate, Span};

settings! {
    /// CAKE (Høiland-Jørgensen, Täht and Morton 2018), which shapes to the link's rate by itself.
    // Defaults are the kernel's and tc's.
    pub struct Config for "cake" {
        /// Rate of its shaper; without one it does not shape.
        bandwidth "bandwidth_bps": Option<Rate> [512..=*RATES.end(), Link] = None;
        /// Round-trip time that signals allow for; the target is a twentieth of it.
        // COBALT's interval; the target in whole microseconds
        rtt "rtt_ns": Span [TIMES] = Span::from_ms(100);
        /// Classes of service.
        diffserv "diffserv": Diffserv = Diffserv::Diffserv3;
        /// What gets an equal share.
        isolation "isolation": Isolation = Isolation::Triple;
        /// Bytes added to a packet's network length; without it a packet counts as it is on the wire.
        // tc's range
        overhead "overhead_bytes": Option<i32> [-64..=256] = None;
        /// Minimum bytes that a packet counts as, before framing.
        mpu "mpu_bytes": u32 [0..=256] = 0;
        /// Cells of the link below.
        framing "framing": Framing = Framing::None;
        /// Drops superfluous acknowledgements.
        ack_filter "ack_filter": AckFilter = AckFilter::Off;
        /// Dropped packets count against the rate, because they have crossed the link already.
        ingress "ingress": bool = false;
        /// Clears the DSCP of every packet.
        // Once its tin is known
        wash "wash": bool = false;
        /// Memory that packets may take (`truesize`); by the rate unless given.
        // Four intervals at the rate, at least 4 MiB and at most 10240 packets of full size
        memory_limit "memory_limit_bytes": Option<Bytes> [MEMORY, Memory] = None;
    }
    given {
        /// Largest packet with its link header, bytes (`psched_mtu`).
        mtu: Bytes = Bytes::new(1514);
    }
}

/// Packets of full size in the largest default buffer (`cake_init`'s limit).
const PACKETS_MAX: u64 = 10240;
/// Smallest default buffer of a shaper, bytes.
const BUFFER_MIN: u32 = 4 << 20;

impl Config {
    fn rate(&self) -> u64 {
        self.bandwidth.map_or(0, |rate| rate.as_bps() / 8)
    }

    /// What the shaper charges for a packet.
    pub(super) fn overhead(&self) -> Overhead {
        Overhead {
            from_network_header: self.overhead.is_some(),
            bytes: self.overhead.unwrap_or(0),
            mpu: self.mpu,
            framing: self.framing,
        }
    }

    /// Target and interval, us.
    fn times(&self) -> (u64, u64) {
        let interval = self.rtt.as_us().max(1);
        ((interval / 20).max(1), interval)
    }

    /// The end of `cake_reconfigure`, which counts in 32 bits.
    pub(super) fn buffer_limit(&self) -> u64 {
        let configured = self.memory_limit.map_or(0, Bytes::get);
        let limit = if configured > 0 {
            configured
        } else if self.rate() > 0 {
            let four_intervals = u128::from(self.rate()) * u128::from(self.times().1) / 250_000;
            u64::from((four_intervals as u32).max(BUFFER_MIN))
        } else {
            u64::from(u32::MAX)
        };
        limit.min((PACKETS_MAX * self.mtu.get()).max(configured))
    }

    /// The tins, empty.
    ///
    /// # Panics
    /// When the bandwidth is below 512 bit/s.
    pub(super) fn tins(&self) -> Vec<Tin> {
        let bandwidth = self.bandwidth;
        assert!(
            bandwidth.is_none_or(|rate| rate.as_bps() >= 512),
            "cake's bandwidth must be at least 512 bit/s, got {bandwidth:?}"
        );
        let (target, interval) = self.times();
        let (target, interval) = (Span::from_us(target), Span::from_us(interval));
        let shares = self.diffserv.shares(self.rate());
        let params = shares
            .into_iter()
            .map(|(rate, weight)| Params::new(rate, weight, self.mtu.get(), target, interval));
        params.map(|params| Tin::new(params, self.isolation)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_holds_four_intervals_within_bounds() {
        let limit = |mbps: u64, memory_limit: Option<u64>| {
            let bandwidth = (mbps > 0).then(|| Rate::from_bps(mbps * 1_000_000));
            let memory_limit = memory_limit.map(Bytes::new);
            Config { bandwidth, memory_limit, ..Config::default() }.buffer_limit()
        };
        assert_eq!(limit(10, None), 4 << 20);
        assert_eq!(limit(200, None), 10_000_000);
        assert_eq!(limit(1000, None), 10240 * 1514);
        assert_eq!(limit(0, None), 10240 * 1514);
        assert_eq!(limit(10, Some(100_000)), 100_000);
        assert_eq!(limit(10, Some(32_000_000)), 32_000_000);
    }

    #[test]
    fn the_target_is_a_twentieth_of_the_round_trip_time() {
        let times = |us| Config { rtt: Span::from_us(us), ..Config::default() }.times();
        assert_eq!(times(100_000), (5_000, 100_000));
        assert_eq!(times(100), (5, 100));
        assert_eq!(times(10), (1, 10));
    }
}
