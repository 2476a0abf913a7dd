//! Round-trip time, its variance and the retransmission timeout (`tcp_rtt_estimator`,
//! `tcp_set_rto`; RFC 6298 with Linux's floor of srtt + 200 ms).

use cca::TcpSock;

/// What is known of the RTT, in the units of the kernel.
pub struct Estimates<'a> {
    /// Smoothed RTT, 1/8 us; 0 before the first sample.
    pub srtt: &'a mut u32,
    /// Mean deviation, 1/4 us.
    pub mdev: &'a mut u32,
    /// Largest mean deviation, not below the floor, 1/4 us.
    pub rttvar: &'a mut u32,
}

impl Estimates<'_> {
    /// Those of a socket.
    #[inline]
    pub fn of(sk: &mut TcpSock) -> Estimates<'_> {
        Estimates { srtt: &mut sk.srtt_us, mdev: &mut sk.mdev_us, rttvar: &mut sk.rttvar_us }
    }
}

/// Minimum variance that enters the RTO, us (`tcp_rto_min`).
pub const RTO_MIN_US: u32 = 200_000;
/// RTO while there is no sample, us (`TCP_TIMEOUT_INIT` is 1 s; 3 s is the fallback after set-up).
pub const RTO_INIT_US: u64 = 1_000_000;
/// Longest RTO, us.
pub const RTO_MAX_US: u64 = 120_000_000;

/// What the estimator keeps besides `srtt_us`, `mdev_us` and `rttvar_us` of the socket.
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimator {
    /// Largest mean deviation of this round trip, 1/4 us.
    mdev_max_us: u32,
    /// End of this round trip, segment.
    rtt_seq: u32,
}

impl Estimator {
    /// Takes one sample of `rtt_us` while `una..nxt` is outstanding.
    #[inline]
    pub fn sample(&mut self, known: Estimates<'_>, rtt_us: u32, una: u32, nxt: u32) {
        let Estimates { srtt, mdev, rttvar } = known;
        let m = i64::from(rtt_us.max(1));
        if *srtt == 0 {
            *srtt = (m << 3) as u32;
            *mdev = (m << 1) as u32;
            *rttvar = (*mdev).max(RTO_MIN_US);
            self.mdev_max_us = *rttvar;
            self.rtt_seq = nxt;
            return;
        }
        let error = m - i64::from(*srtt >> 3);
        *srtt = (i64::from(*srtt) + error) as u32;
        let mut change = error.abs() - i64::from(*mdev >> 2);
        if error < 0 && change > 0 {
            change >>= 3;
        }
        *mdev = (i64::from(*mdev) + change) as u32;
        if *mdev > self.mdev_max_us {
            self.mdev_max_us = *mdev;
            *rttvar = (*rttvar).max(self.mdev_max_us);
        }
        if una > self.rtt_seq {
            if self.mdev_max_us < *rttvar {
                *rttvar -= (*rttvar - self.mdev_max_us) >> 2;
            }
            self.rtt_seq = nxt;
            self.mdev_max_us = RTO_MIN_US;
        }
    }
}

/// The timeout without backoff, us.
pub fn rto_us(sk: &TcpSock) -> u64 {
    timeout_us(sk.srtt_us, sk.rttvar_us)
}

/// The same of these estimates, in the units of [`Estimates`] (`__tcp_set_rto`, `tcp_bound_rto`).
#[inline]
pub fn timeout_us(srtt: u32, rttvar: u32) -> u64 {
    (u64::from(srtt >> 3) + u64::from(rttvar)).min(RTO_MAX_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_sets_an_rto_of_rtt_plus_200_ms() {
        let mut sk = TcpSock::new();
        Estimator::default().sample(Estimates::of(&mut sk), 40_000, 0, 10);
        assert_eq!((sk.srtt_us, sk.mdev_us), (320_000, 80_000));
        assert_eq!(rto_us(&sk), 240_000);
    }

    #[test]
    fn a_steady_rtt_keeps_the_floor() {
        let mut sk = TcpSock::new();
        let mut e = Estimator::default();
        for i in 0..100 {
            e.sample(Estimates::of(&mut sk), 40_000, i, i + 10);
        }
        assert_eq!(sk.srtt_us >> 3, 40_000);
        assert_eq!(rto_us(&sk), 240_000);
    }

    #[test]
    fn a_sudden_fall_of_the_rtt_moves_the_deviation_eight_times_slower() {
        let mut up = TcpSock::new();
        let mut down = TcpSock::new();
        let (mut a, mut b) = (Estimator::default(), Estimator::default());
        a.sample(Estimates::of(&mut up), 1_000_000, 0, 1);
        b.sample(Estimates::of(&mut down), 1_000_000, 0, 1);
        let before = up.mdev_us;
        a.sample(Estimates::of(&mut up), 1_900_000, 0, 1);
        b.sample(Estimates::of(&mut down), 100_000, 0, 1);
        assert_eq!(up.mdev_us - before, 400_000);
        assert_eq!(down.mdev_us - before, 50_000);
    }
}
