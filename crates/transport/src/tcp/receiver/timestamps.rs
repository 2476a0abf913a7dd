//! The timestamp option at the receiver: which one is echoed, what is too old (PAWS), and the RTT that the echo
//! tells (RFC 7323; `tcp_paws_discard`, `tcp_replace_ts_recent`, `tcp_rcv_rtt_measure_ts`).

use super::super::rtt::RTO_MIN_US;
use crate::common::clock::{host_ns, since_echo_ms, timestamp_ms};
use units::Time;

/// PAWS takes a segment for an old duplicate when its timestamp is more than this older than the one last echoed
/// (`TCP_PAWS_WINDOW`, RFC 7323 section 5). So segments that a path with jitter delivers late are dropped while
/// retransmissions fill the left edge.
const PAWS_WINDOW_MS: i32 = 1;

/// See the module documentation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timestamps {
    /// The one that is echoed (`ts_recent`), ms.
    recent: u32,
    /// The host's own RTT, us, and its timeout: of the handshake, and of requests. They bound delays.
    srtt_us: u64,
    rto_us: u64,
    /// RTT by the sender's echoes, or less by how fast it fills the window, us; 0 before the first.
    rcv_rtt_us: u64,
    /// When the window was measured, and the byte that ended it then; 0 before the first data.
    filled_from: (Time, u64),
    last_ts_ecr: u32,
    /// When the only SYN-ACK was sent; never after a second one.
    synack_at: Time,
}

impl Timestamps {
    /// The first SYN, with this timestamp, is answered.
    pub fn on_syn(&mut self, now: Time, ts_val: u32) {
        self.recent = ts_val;
        self.synack_at = now;
    }

    /// A SYN that was sent again is answered. The answer echoes the first one: nothing of a later one is noted
    /// (`tcp_check_req`). So the sender's first RTT has the time in it that went by.
    pub fn on_syn_again(&mut self) {
        self.synack_at = Time::NEVER;
    }

    /// The handshake is over, with a packet that echoes this timestamp, which says which SYN-ACK arrived
    /// (`tcp_synack_rtt_meas`).
    pub fn establish(&mut self, now: Time, ts_ecr: u32) {
        self.srtt_us = if self.synack_at.is_set() {
            now.since(self.synack_at).as_us()
        } else {
            let echoed = since_echo_ms(timestamp_ms(host_ns(now)), ts_ecr);
            u64::from(echoed.unwrap_or(1).max(1)) * 1000
        };
        self.rto_us = self.srtt_us + (2 * self.srtt_us).max(RTO_MIN_US.into());
    }

    /// A request told more of the RTT.
    pub fn set_own(&mut self, srtt_us: u64, rto_us: u64) {
        (self.srtt_us, self.rto_us) = (srtt_us, rto_us);
    }

    /// The host's own retransmission timeout, us.
    #[inline]
    pub fn rto_us(&self) -> u64 {
        self.rto_us
    }

    /// The timestamp to be echoed.
    #[inline]
    pub fn recent(&self) -> u32 {
        self.recent
    }

    /// Whether PAWS takes a segment with this timestamp for an old duplicate.
    #[inline]
    pub fn is_old(&self, ts_val: u32) -> bool {
        self.recent.wrapping_sub(ts_val) as i32 > PAWS_WINDOW_MS
    }

    /// A segment at the left edge of what is not acknowledged yet has this timestamp.
    #[inline]
    pub fn on_left_edge(&mut self, ts_val: u32) {
        if self.recent.wrapping_sub(ts_val) as i32 <= 0 {
            self.recent = ts_val;
        }
    }

    /// A segment echoes this timestamp; says whether the one before echoed another.
    #[inline]
    pub fn is_new_echo(&mut self, ts_ecr: u32) -> bool {
        std::mem::replace(&mut self.last_ts_ecr, ts_ecr) != ts_ecr
    }

    /// A full segment was the first to echo this timestamp, which tells the RTT, and only a smaller one if `only_smaller`.
    pub fn measure(&mut self, now: Time, ts_ecr: u32, only_smaller: bool) {
        let echoed = since_echo_ms(timestamp_ms(host_ns(now)), ts_ecr);
        let Some(ms @ 1..) = echoed else { return };
        let sample = u64::from(ms) * 1000;
        if self.rcv_rtt_us == 0 || sample < self.rcv_rtt_us {
            self.rcv_rtt_us = sample;
        } else if !only_smaller {
            self.rcv_rtt_us = self.rcv_rtt_us - self.rcv_rtt_us / 8 + sample / 8;
        }
    }

    /// Data in order up to byte `next` arrived, while `window` bytes are offered: what fills a window in less than the RTT known
    /// tells a smaller one (`tcp_rcv_rtt_measure`).
    #[inline]
    pub fn measure_by_window(&mut self, now: Time, next: u64, window: u64) {
        let (from, end) = self.filled_from;
        if next < end {
            return;
        }
        let sample = now.since(from).as_us().max(1);
        if end > 0 && (self.rcv_rtt_us == 0 || sample < self.rcv_rtt_us) {
            self.rcv_rtt_us = sample;
        }
        self.filled_from = (now, next + window);
    }

    /// RTT by the sender's echoes, us; 0 before the first.
    pub fn rcv_rtt_us(&self) -> u64 {
        self.rcv_rtt_us
    }

    /// The host's own RTT, us.
    #[inline]
    pub fn srtt_us(&self) -> u64 {
        self.srtt_us
    }

    /// RTT in which the application's reading is measured, us; 0 while none is known.
    #[inline]
    pub fn read_rtt_us(&self) -> u64 {
        match self.rcv_rtt_us {
            0 => self.srtt_us,
            rtt_us => rtt_us,
        }
    }

    /// RTT by which ACKs are compressed, us: the smaller of both.
    pub fn compression_rtt_us(&self) -> u64 {
        match self.srtt_us {
            0 => self.rcv_rtt_us,
            srtt_us => srtt_us.min(self.rcv_rtt_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_millisecond_late_is_taken_and_two_are_not() {
        let mut ts = Timestamps::default();
        ts.on_left_edge(100);
        assert!(!ts.is_old(99) && ts.is_old(98));
    }

    #[test]
    fn a_window_that_is_filled_faster_than_the_rtt_tells_a_smaller_one() {
        let at = |ms| Time::ZERO + units::Span::from_ms(ms);
        let mut ts = Timestamps { rcv_rtt_us: 50_000, ..Timestamps::default() };
        for (ms, next, rtt_us) in
            [(10, 1000, 50_000), (12, 4000, 50_000), (14, 5000, 4_000), (30, 9000, 4_000)]
        {
            ts.measure_by_window(at(ms), next, 4000);
            assert_eq!(ts.rcv_rtt_us(), rtt_us, "at {ms} ms");
        }
    }

    #[test]
    fn an_older_timestamp_at_the_left_edge_is_not_echoed() {
        let mut ts = Timestamps::default();
        ts.on_left_edge(100);
        ts.on_left_edge(99);
        assert_eq!(ts.recent(), 100);
        ts.on_left_edge(101);
        assert_eq!(ts.recent(), 101);
    }
}
