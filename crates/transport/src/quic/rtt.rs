//! Round-trip time and what is derived from it (RFC 9002 sections 5, 6.1.2, 6.2.1 and 7.6.1), kept in
//! the fields of the socket that the controllers read.

use super::config::Config;
use crate::common::socket::MIN_RTT_S;
use cca::{MinMax, TcpSock};
use units::Span;

/// Minimum time that a timer is set for, us (RFC 9002 section 6.1.2, kGranularity).
pub const GRANULARITY_US: u64 = 1_000;
/// PTOs that must pass without an acknowledgement (RFC 9002 section 7.6.1).
const PERSISTENT_THRESHOLD: u64 = 3;

/// What the estimator keeps besides `srtt_us`, `mdev_us`, `rttvar_us` and `rtt_min` of the socket.
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimator {
    /// The last sample, us; 0 before the first.
    pub latest_us: u32,
    /// When the first sample was taken, us of the host's clock.
    pub first_at_us: Option<u64>,
    /// The next sample is the new minimum, because persistent congestion may mean another path.
    restart_min: bool,
}

impl Estimator {
    /// Takes a sample (RFC 9002 section 5.3). `mdev_us` and `rttvar_us` of the socket are four times
    /// RFC 9002's rttvar, `srtt_us` is eight times its smoothed_rtt.
    pub fn sample(&mut self, sk: &mut TcpSock, rtt_us: u32, ack_delay: Span, config: &Config) {
        let rtt_us = rtt_us.max(1);
        self.latest_us = rtt_us;
        self.take_min(sk, rtt_us);
        self.first_at_us.get_or_insert(sk.tcp_mstamp);
        if sk.srtt_us == 0 {
            sk.srtt_us = rtt_us << 3;
            sk.mdev_us = rtt_us << 1;
            sk.rttvar_us = sk.mdev_us;
            return;
        }
        let delay_us = ack_delay.as_us().min(config.max_ack_delay.as_us()) as u32;
        let floor = sk.rtt_min.value().saturating_add(delay_us);
        let adjusted = if rtt_us >= floor { rtt_us - delay_us } else { rtt_us };
        let error = i64::from(adjusted) - i64::from(sk.srtt_us >> 3);
        let mdev = i64::from(sk.mdev_us);
        sk.mdev_us = (mdev + error.abs() - (mdev >> 2)) as u32;
        sk.rttvar_us = sk.mdev_us;
        sk.srtt_us = (i64::from(sk.srtt_us) + error) as u32;
    }

    fn take_min(&mut self, sk: &mut TcpSock, rtt_us: u32) {
        let mut filter = sk.rtt_min;
        if std::mem::take(&mut self.restart_min) {
            filter = MinMax::new(sk.jiffies, rtt_us);
        }
        cca::minmax_running_min(&mut filter, MIN_RTT_S * sk.hz, sk.jiffies, rtt_us);
        sk.rtt_min = filter;
    }

    /// The minimum RTT no longer holds (RFC 9002 section 5.2).
    pub fn restart_min(&mut self) {
        self.restart_min = true;
    }

    /// Smoothed RTT, or the initial one, us.
    pub fn smoothed_us(sk: &TcpSock, config: &Config) -> u64 {
        match sk.srtt_us {
            0 => config.initial_rtt.as_us(),
            srtt => u64::from(srtt >> 3),
        }
    }

    /// Probe timeout without backoff and without the peer's delay, us (RFC 9002 section 6.2.1; 6.2.2
    /// before the first sample).
    pub fn timeout_us(sk: &TcpSock, config: &Config) -> u64 {
        let variance = match sk.srtt_us {
            0 => 2 * config.initial_rtt.as_us(),
            _ => u64::from(sk.rttvar_us),
        };
        Self::smoothed_us(sk, config) + variance.max(GRANULARITY_US)
    }

    /// Probe timeout without backoff once data flows, us.
    pub fn pto_us(sk: &TcpSock, config: &Config) -> u64 {
        Self::timeout_us(sk, config) + config.max_ack_delay.as_us()
    }

    /// The RTT that the age of lost packets is judged by, us: the larger of the smoothed and the last (RFC 9002
    /// section 6.1.2).
    pub fn larger_us(&self, sk: &TcpSock) -> u32 {
        (sk.srtt_us >> 3).max(self.latest_us)
    }

    /// Time without any acknowledgement that means persistent congestion, us.
    pub fn persistent_us(sk: &TcpSock, config: &Config) -> u64 {
        PERSISTENT_THRESHOLD * Self::pto_us(sk, config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(samples: &[(u32, u64)]) -> (Box<TcpSock>, Estimator) {
        let (mut sk, mut estimator) = (TcpSock::new(), Estimator::default());
        for &(rtt_us, delay_us) in samples {
            estimator.sample(&mut sk, rtt_us, Span::from_us(delay_us), &Config::default());
        }
        (sk, estimator)
    }

    #[test]
    fn before_the_first_sample_the_timeout_is_three_initial_rtts() {
        assert_eq!(Estimator::timeout_us(&TcpSock::new(), &Config::default()), 999_000);
    }

    #[test]
    fn the_first_sample_makes_the_timeout_three_times_the_rtt() {
        let (sk, _) = sampled(&[(40_000, 0)]);
        assert_eq!(Estimator::timeout_us(&sk, &Config::default()), 120_000);
        assert_eq!(Estimator::pto_us(&sk, &Config::default()), 145_000);
        assert_eq!(Estimator::persistent_us(&sk, &Config::default()), 435_000);
    }

    #[test]
    fn the_delay_of_the_ack_is_taken_off_the_sample_but_not_below_the_minimum_rtt() {
        // 40 + (60 - 20 - 40)/8: nothing changes but the variance, which shrinks by a quarter.
        let (sk, _) = sampled(&[(40_000, 0), (60_000, 20_000)]);
        assert_eq!((sk.srtt_us >> 3, sk.rttvar_us), (40_000, 60_000));
        // 60 - 20 would be less than the minimum RTT of 45.
        let (sk, _) = sampled(&[(45_000, 0), (60_000, 20_000)]);
        assert_eq!(sk.srtt_us >> 3, 45_000 + 15_000 / 8);
        assert_eq!(sk.rtt_min.value(), 45_000);
    }

    #[test]
    fn a_delay_beyond_the_announced_one_is_not_believed() {
        let (sk, _) = sampled(&[(40_000, 0), (120_000, 60_000)]);
        assert_eq!(sk.srtt_us >> 3, 40_000 + (120_000 - 25_000 - 40_000) / 8);
    }

    #[test]
    fn a_steady_rtt_leaves_the_granularity_as_variance() {
        let (sk, estimator) = sampled(&[(40_000, 0); 100]);
        assert_eq!(Estimator::timeout_us(&sk, &Config::default()), 41_000);
        assert_eq!(estimator.larger_us(&sk), 40_000);
    }

    #[test]
    fn losses_are_judged_by_the_larger_of_the_last_rtt_and_the_smoothed_one() {
        assert_eq!(sampled(&[(40_000, 0), (80_000, 0)]).1.latest_us, 80_000);
        let (sk, estimator) = sampled(&[(80_000, 0), (40_000, 0)]);
        assert_eq!(estimator.larger_us(&sk), 75_000);
    }
}
