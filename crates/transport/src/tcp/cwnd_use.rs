//! Validation of the window (RFC 7661 as Linux does it): one that the application leaves unused shrinks.

use crate::common::Socket;

/// How much of the window a sender used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// All of it, or in slow start more than half.
    Full,
    /// Less, for shorter than an RTO.
    Part,
    /// Less, for an RTO.
    Idle,
}

/// How much of the window was in use.
#[derive(Clone, Copy, Debug, Default)]
pub struct CwndUse {
    /// The round in which the window was the limit, or was used most, ends before this segment.
    round_end: u32,
    /// Most segments out since the window was last its limit (`snd_cwnd_used`).
    used: u32,
}

impl CwndUse {
    /// Segments up to `nxt` were sent, of which `una` is the first unacknowledged one, or the window let none out
    /// (`tcp_cwnd_validate`).
    #[inline]
    pub fn validate(
        &mut self,
        sk: &mut Socket,
        una: u32,
        nxt: u32,
        is_cwnd_limited: bool,
    ) -> Usage {
        sk.validate_cwnd(&mut self.round_end, una, nxt, is_cwnd_limited);
        let is_in_slow_start = sk.snd_cwnd < sk.snd_ssthresh;
        if sk.is_cwnd_limited != 0 || (is_in_slow_start && sk.snd_cwnd < 2 * sk.max_packets_out) {
            self.used = 0;
            sk.snd_cwnd_stamp = sk.jiffies;
            return Usage::Full;
        }
        self.used = self.used.max(sk.packets_out);
        let idle = sk.jiffies.wrapping_sub(sk.snd_cwnd_stamp) as i32;
        if idle >= sk.icsk_rto as i32 {
            Usage::Idle
        } else {
            Usage::Part
        }
    }

    /// The application left the window unused for an RTO: half of that is given up
    /// (`tcp_cwnd_application_limited`), down to the `least` window, that of the start. `ssthresh` is the current threshold.
    pub fn give_up_unused(&mut self, sk: &mut Socket, ssthresh: u32, least: u32) {
        sk.note_own_cwnd();
        let used = self.used.max(least);
        if used < sk.snd_cwnd {
            sk.snd_ssthresh = ssthresh;
            sk.snd_cwnd = (sk.snd_cwnd + used) / 2;
        }
        self.used = 0;
    }

    /// The window restarted after idle time.
    pub fn restart(&mut self) {
        self.used = 0;
    }
}
