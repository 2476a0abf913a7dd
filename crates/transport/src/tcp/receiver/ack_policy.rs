//! When data in order is acknowledged: at once in quick-ACK mode, else with the next segment or after a delay that
//! follows the spacing of the data (`tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_send_delayed_ack`).

use super::segment_size::INITIAL;
use crate::common::clock::Tick;
use units::{Span, Time};

/// Segments acknowledged one by one at start (`TCP_MAX_QUICKACKS`).
pub const MAX_QUICKACKS: u32 = 16;
/// Minimum delay of an ACK, ms (`TCP_ATO_MIN`).
const ATO_MIN_MS: u64 = 40;
/// Longest delay of an ACK, ms (`TCP_DELACK_MAX`).
const DELACK_MAX_MS: u64 = 200;

/// See the module documentation.
#[derive(Debug)]
pub struct AckPolicy {
    /// Estimate of the sender's segments, bytes.
    segment: u64,
    /// Quick ACKs left; each packet that grows the window sets bit 0.
    quick: u32,
    /// Estimated time until the next data, ms; 0 before the first data in order, or an ACK that ended quick-ACK mode.
    ato_ms: u64,
    /// When data came in order, before that when the connection opened (`lrcvtime`).
    last_data: Time,
    /// When the delayed ACK leaves.
    delayed_until: Time,
    /// Data came since the last ACK (`ICSK_ACK_SCHED`).
    is_scheduled: bool,
    /// The next ACK is not delayed.
    now: bool,
    /// Since the last ACK a segment came that was short or carried PSH (`ICSK_ACK_PUSHED`).
    pub pushed: bool,
}

impl AckPolicy {
    /// The policy of a new connection.
    pub fn new() -> AckPolicy {
        AckPolicy {
            segment: INITIAL.into(),
            quick: 0,
            ato_ms: 0,
            last_data: Time::ZERO,
            delayed_until: Time::NEVER,
            is_scheduled: false,
            now: false,
            pushed: false,
        }
    }

    /// The estimate of the sender's segments is this, bytes.
    #[inline]
    pub fn set_segment(&mut self, bytes: u32) {
        self.segment = bytes.into();
    }

    /// The connection opens.
    pub fn establish(&mut self, now: Time) {
        self.last_data = now;
    }

    /// Estimated time until the next data, ms.
    pub fn ato_ms(&self) -> u64 {
        self.ato_ms
    }

    /// When the delayed ACK leaves.
    #[inline]
    pub fn delayed_until(&self) -> Time {
        self.delayed_until
    }

    /// The next ACK is not delayed.
    #[inline]
    pub fn ack_now(&mut self) {
        self.now = true;
    }

    /// What arrived is to be acknowledged, now or later.
    #[inline]
    pub fn schedule(&mut self) {
        self.is_scheduled = true;
    }

    /// The packet made the window grow: it is acknowledged at once.
    #[inline]
    pub fn on_window_growth(&mut self) {
        self.quick |= 1;
    }

    /// Data in order arrived: learns its spacing. `window` is what was offered last, bytes, `srtt_us` the
    /// RTT that stands for the sender's.
    #[inline]
    pub fn on_data(&mut self, now: Time, window: u64, srtt_us: u64) {
        let gap = now.since(self.last_data).as_ns() / 1_000_000;
        if self.ato_ms == 0 {
            self.enter_quick(MAX_QUICKACKS, window);
        } else if gap <= ATO_MIN_MS / 2 {
            self.ato_ms = self.ato_ms / 2 + ATO_MIN_MS / 2;
        } else if gap < self.ato_ms {
            self.ato_ms = (self.ato_ms / 2 + gap).min(rto_ms(srtt_us)).min(DELACK_MAX_MS);
        } else if gap > rto_ms(srtt_us) {
            self.add_quick(MAX_QUICKACKS, window);
        }
        self.last_data = now;
    }

    fn add_quick(&mut self, most: u32, window: u64) {
        let by_window = window / (2 * self.segment);
        let quick = if by_window == 0 { 2 } else { by_window.min(u64::from(most)) as u32 };
        self.quick = self.quick.max(quick);
    }

    /// The next segments are acknowledged one by one, `most` at most (`tcp_enter_quickack_mode`).
    pub fn enter_quick(&mut self, most: u32, window: u64) {
        self.add_quick(most, window);
        self.ato_ms = ATO_MIN_MS;
    }

    /// The buffer is more than half full: no more quick ACKs (`__tcp_select_window`).
    #[inline]
    pub fn leave_quick(&mut self) {
        self.quick = 0;
    }

    /// Whether the next ACK leaves at once, whatever it acknowledges.
    #[inline]
    pub fn is_quick(&self) -> bool {
        self.quick > 0 || self.now
    }

    /// Whether an ACK for `unacked` bytes leaves at once.
    #[inline]
    pub fn is_due(&self, unacked: u64) -> bool {
        unacked > self.segment || self.is_quick()
    }

    /// Delays the ACK (`tcp_send_delayed_ack`); true when it leaves at once, because one that waits would soon.
    #[inline]
    pub fn delay(&mut self, now: Time, tick: Tick, srtt_us: u64) -> bool {
        let mut delay_ms = self.ato_ms;
        if delay_ms > ATO_MIN_MS {
            let rtt_ms = (srtt_us / 1000).max(ATO_MIN_MS);
            delay_ms = delay_ms.min(500).min(if srtt_us > 0 { rtt_ms } else { u64::MAX });
        }
        let delay_ms = delay_ms.min(DELACK_MAX_MS - 1);
        if self.delayed_until.is_set() && self.delayed_until <= now + Span::from_ms(self.ato_ms / 4)
        {
            return true;
        }
        let at = tick.wheel(now, tick.from_us(delay_ms * 1000));
        self.delayed_until = self.delayed_until.min(at);
        false
    }

    /// The delayed ACK is due: the next one waits longer.
    pub fn on_timeout(&mut self) {
        self.ato_ms = (self.ato_ms * 2).min(DELACK_MAX_MS);
    }

    /// An ACK leaves. It uses up a quick one unless nothing was to be acknowledged (`tcp_dec_quickack_mode`).
    #[inline]
    pub fn on_ack_sent(&mut self) {
        self.delayed_until = Time::NEVER;
        self.now = false;
        self.pushed = false;
        if std::mem::take(&mut self.is_scheduled) && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato_ms = ATO_MIN_MS;
            }
        }
    }
}

/// The own timeout, ms, which knows the RTT of the handshake only (`tcp_rtt_estimator`).
fn rto_ms(srtt_us: u64) -> u64 {
    let srtt_ms = srtt_us / 1000;
    srtt_ms + (2 * srtt_ms).max(200)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// After the sixteen quick ACKs of a start with a large window.
    fn settled() -> AckPolicy {
        let mut policy = AckPolicy::new();
        policy.set_segment(1448);
        policy.on_data(at(0), 1 << 20, 100_000);
        for _ in 0..MAX_QUICKACKS {
            assert!(policy.is_due(1448));
            policy.schedule();
            policy.on_ack_sent();
        }
        policy
    }

    #[test]
    fn after_the_quick_acks_every_second_segment_is_acknowledged() {
        let policy = settled();
        assert!(!policy.is_due(1448) && policy.is_due(2 * 1448));
    }

    #[test]
    fn a_lone_segment_is_acknowledged_after_40_ms() {
        let mut policy = settled();
        assert!(!policy.delay(at(100), Tick::new(1000), 100_000));
        assert_eq!(policy.delayed_until(), at(141));
        policy.on_ack_sent();
        assert!(!policy.delayed_until().is_set());
    }

    #[test]
    fn a_first_segment_out_of_order_leaves_no_sixteen_quick_acks() {
        let mut policy = AckPolicy::new();
        policy.set_segment(1448);
        policy.establish(at(0));
        policy.on_window_growth();
        policy.schedule();
        policy.on_ack_sent();
        policy.on_data(at(1), 1 << 20, 100_000);
        assert!(!policy.is_due(1448));
    }

    #[test]
    fn the_answer_to_an_old_duplicate_uses_up_no_quick_ack() {
        let mut policy = settled();
        policy.enter_quick(1, 1 << 20);
        policy.on_ack_sent();
        assert!(policy.is_quick());
        policy.schedule();
        policy.on_ack_sent();
        assert!(!policy.is_quick());
    }

    #[test]
    fn data_after_a_long_pause_is_acknowledged_one_by_one_again() {
        let mut policy = settled();
        policy.on_data(at(200), 1 << 20, 100_000);
        assert!(!policy.is_due(1448));
        policy.on_data(at(501), 1 << 20, 100_000);
        assert!(policy.is_due(1448));
    }
}
