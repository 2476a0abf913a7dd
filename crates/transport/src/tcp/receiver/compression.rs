//! Compression of selective ACKs: while data is missing, duplicate ACKs after the first three are merged for up to
//! 1 ms or 5 % of the RTT (`__tcp_ack_snd_check` in net/ipv4/tcp_input.c), or until the timer of delayed ACKs fires, which runs
//! on after the ACK that it was set for has left (`tcp_delack_timer_handler` in net/ipv4/tcp_timer.c).

use units::{Span, Time};

/// Duplicate ACKs that go out at once before compression starts.
const FASTRETRANS_THRESH: u32 = 3;
/// Most ACKs that are held back (`sysctl_tcp_comp_sack_nr`).
const COMP_SACK_NR: u32 = 44;
/// Longest time an ACK is compressed (`sysctl_tcp_comp_sack_delay_ns`).
const COMP_SACK_DELAY: Span = Span::from_ms(1);
/// Slack of that timer (`sysctl_tcp_comp_sack_slack_ns`).
const COMP_SACK_SLACK: Span = Span::from_us(100);

/// See the module documentation.
#[derive(Debug)]
pub struct Compression {
    /// Duplicate ACKs sent for `dup_acks_at`.
    dup_acks: u32,
    dup_acks_at: u32,
    /// ACKs held back.
    held: u32,
    /// When they leave, as one.
    ends_at: Time,
}

impl Default for Compression {
    fn default() -> Self {
        Compression { dup_acks: 0, dup_acks_at: 0, held: 0, ends_at: Time::NEVER }
    }
}

impl Compression {
    /// When the ACKs that are held back leave, as one.
    #[inline]
    pub fn ends_at(&self) -> Time {
        self.ends_at
    }

    /// Whether ACKs are held back.
    #[inline]
    pub fn holds(&self) -> bool {
        self.held > 0
    }

    /// An ACK for everything before `rcv_nxt` is to leave; true when it does at once, otherwise it is held back.
    /// `rtt_us` is the RTT as far as the receiver knows, `delack` the time that the timer of delayed ACKs was set to last.
    #[inline]
    pub fn passes(&mut self, now: Time, rcv_nxt: u32, rtt_us: u64, delack: Time) -> bool {
        if self.held >= COMP_SACK_NR {
            return true;
        }
        if self.dup_acks_at != rcv_nxt {
            self.dup_acks_at = rcv_nxt;
            self.dup_acks = 0;
        }
        if self.dup_acks < FASTRETRANS_THRESH {
            self.dup_acks += 1;
            return true;
        }
        self.held += 1;
        if !self.ends_at.is_set() {
            let delay = COMP_SACK_DELAY.min(Span::from_ns(rtt_us * 1000 / 20));
            self.ends_at = now + delay + COMP_SACK_SLACK;
            if delack > now {
                self.ends_at = self.ends_at.min(delack);
            }
        }
        false
    }

    /// The timer fired; true when an ACK is to be sent.
    pub fn on_timeout(&mut self) -> bool {
        self.ends_at = Time::NEVER;
        self.held > 0
    }

    /// An ACK leaves, which says all that those that were held back would.
    #[inline]
    pub fn on_ack_sent(&mut self) {
        self.held = 0;
        self.ends_at = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fourth_duplicate_waits_for_a_twentieth_of_the_rtt_but_at_most_a_millisecond() {
        for (rtt_us, wait_us) in [(2_000, 200), (100_000, 1_100)] {
            let mut compression = Compression::default();
            assert!((0..3).all(|_| compression.passes(Time::ZERO, 7, rtt_us, Time::ZERO)));
            assert!(!compression.passes(Time::ZERO, 7, rtt_us, Time::ZERO));
            assert_eq!(compression.ends_at(), Time::ZERO + Span::from_us(wait_us));
            assert!(compression.on_timeout());
        }
    }

    #[test]
    fn the_timer_of_a_delayed_ack_that_has_left_ends_the_wait() {
        let (now, at) = (Time::ZERO + Span::from_ms(40), |us| Time::ZERO + Span::from_us(us));
        for (delack, ends) in
            [(at(40_000), at(41_100)), (at(40_300), at(40_300)), (at(80_000), at(41_100))]
        {
            let mut compression = Compression::default();
            (0..4).for_each(|_| _ = compression.passes(now, 7, 100_000, delack));
            assert_eq!(compression.ends_at(), ends);
        }
    }

    #[test]
    fn an_advance_of_the_left_edge_counts_duplicates_from_zero() {
        let mut compression = Compression::default();
        assert!((0..3).all(|_| compression.passes(Time::ZERO, 7, 100_000, Time::ZERO)));
        assert!(compression.passes(Time::ZERO, 8, 100_000, Time::ZERO));
    }

    #[test]
    fn at_most_44_are_held_back() {
        let mut compression = Compression::default();
        let held = (0..1000).take_while(|_| {
            !compression.passes(Time::ZERO, 7, 1, Time::ZERO) || !compression.holds()
        });
        assert_eq!(held.count(), 3 + 44);
    }
}
