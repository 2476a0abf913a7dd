//! Round-trip time, its variance and the retransmission timeout (`tcp_rtt_estimator`,
//! `tcp_set_rto`; RFC 6298 with Linux's floor of srtt + 200 ms).

use cca::TcpSock;

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
    pub fn sample(&mut self, sk: &mut TcpSock, rtt_us: u32, una: u32, nxt: u32) {
        let m = i64::from(rtt_us.max(1));
        if sk.srtt_us == 0 {
            sk.srtt_us = (m << 3) as u32;
            sk.mdev_us = (m << 1) as u32;
            sk.rttvar_us = sk.mdev_us.max(RTO_MIN_US);
            self.mdev_max_us = sk.rttvar_us;
            self.rtt_seq = nxt;
            return;
        }
        let error = m - i64::from(sk.srtt_us >> 3);
        sk.srtt_us = (i64::from(sk.srtt_us) + error) as u32;
        let mut change = error.abs() - i64::from(sk.mdev_us >> 2);
        if error < 0 && change > 0 {
            change >>= 3;
        }
        sk.mdev_us = (i64::from(sk.mdev_us) + change) as u32;
        if sk.mdev_us > self.mdev_max_us {
            self.mdev_max_us = sk.mdev_us;
            sk.rttvar_us = sk.rttvar_us.max(self.mdev_max_us);
        }
        if una > self.rtt_seq {
            if self.mdev_max_us < sk.rttvar_us {
                sk.rttvar_us -= (sk.rttvar_us - self.mdev_max_us) >> 2;
            }
            self.rtt_seq = nxt;
            self.mdev_max_us = RTO_MIN_US;
        }
    }
}

/// The timeout without backoff, us.
pub fn rto_us(sk: &TcpSock) -> u64 {
    (u64::from(sk.srtt_us >> 3) + u64::from(sk.rttvar_us)).min(RTO_MAX_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_sets_an_rto_of_rtt_plus_200_ms() {
        let mut sk = TcpSock::new();
        Estimator::default().sample(&mut sk, 40_000, 0, 10);
        assert_eq!((sk.srtt_us, sk.mdev_us), (320_000, 80_000));
        assert_eq!(rto_us(&sk), 240_000);
    }

    #[test]
    fn a_steady_rtt_keeps_the_floor() {
        let mut sk = TcpSock::new();
        let mut e = Estimator::default();
        for i in 0..100 {
            e.sample(&mut sk, 40_000, i, i + 10);
        }
        assert_eq!(sk.srtt_us >> 3, 40_000);
        assert_eq!(rto_us(&sk), 240_000);
    }

    #[test]
    fn a_sudden_fall_of_the_rtt_moves_the_deviation_eight_times_slower() {
        let mut up = TcpSock::new();
        let mut down = TcpSock::new();
        let (mut a, mut b) = (Estimator::default(), Estimator::default());
        a.sample(&mut up, 1_000_000, 0, 1);
        b.sample(&mut down, 1_000_000, 0, 1);
        let before = up.mdev_us;
        a.sample(&mut up, 1_900_000, 0, 1);
        b.sample(&mut down, 100_000, 0, 1);
        assert_eq!(up.mdev_us - before, 400_000);
        assert_eq!(down.mdev_us - before, 50_000);
    }
}
