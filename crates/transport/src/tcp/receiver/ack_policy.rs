//! When data in order is acknowledged: at once in quick-ACK mode, else with the next segment or after a delay that
//! follows the spacing of the data (`tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_send_delayed_ack`).

use super::segment_size::INITIAL;
use crate::common::clock::Tick;
use units::Time;

/// Segments acknowledged one by one at start (`TCP_MAX_QUICKACKS`).
pub const MAX_QUICKACKS: u32 = 16;
/// See the module documentation.
#[derive(Debug)]
pub struct AckPolicy {
    /// Estimate of the sender's segments, bytes.
    segment: u64,
    /// Quick ACKs left; each packet that grows the window sets bit 0.
    quick: u32,
    tick: Tick,
    /// Minimum delay of an ACK (`TCP_ATO_MIN`) and the longest one (`TCP_DELACK_MAX`), ticks; and the most that one is
    /// delayed: a tick less than the minimum RTO, which is as long (`tcp_delack_max`).
    ato_min: u32,
    delay_max: u32,
    delay_most: u32,
    /// Estimated time until the next data, ticks; 0 before the first data in order, or an ACK that ended quick-ACK mode.
    ato: u32,
    /// The tick in which data came in order, before that the one in which the connection opened (`lrcvtime`).
    last_data: u32,
    /// When the delayed ACK leaves, and the tick that this was set to: the timer wheel is later than that.
    delayed_until: Time,
    delayed_to: u32,
    /// When the timer fires that was set for the last delayed ACK, even if that has left by then.
    timer_until: Time,
    /// Data came since the last ACK (`ICSK_ACK_SCHED`).
    is_scheduled: bool,
    /// The next ACK is not delayed.
    now: bool,
    /// Since the last ACK a segment came that was short or carried PSH (`ICSK_ACK_PUSHED`), and a short one after that
    /// (`ICSK_ACK_PUSHED2`).
    pushed: bool,
    pushed_twice: bool,
    /// The host sends data in answer to data, with which ACKs can leave (`inet_csk_in_pingpong_mode`).
    is_interactive: bool,
}

impl AckPolicy {
    /// The policy of a new connection.
    pub fn new(tick: Tick) -> AckPolicy {
        let hz = tick.hz();
        AckPolicy {
            segment: INITIAL.into(),
            quick: 0,
            tick,
            ato_min: if hz < 100 { 4 } else { hz / 25 },
            delay_max: hz / 5,
            delay_most: (hz / 5).min((hz / 5).max(2) - 1),
            ato: 0,
            last_data: tick.jiffies(Time::ZERO),
            delayed_until: Time::NEVER,
            delayed_to: 0,
            timer_until: Time::ZERO,
            is_scheduled: false,
            now: false,
            pushed: false,
            pushed_twice: false,
            is_interactive: false,
        }
    }

    /// The host's tick.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// The estimate of the sender's segments is this, bytes.
    #[inline]
    pub fn set_segment(&mut self, bytes: u32) {
        self.segment = bytes.into();
    }

    /// A SYN-ACK left, `timeouts` of them by this timer, which nothing else needs before the connection is open: the next
    /// one leaves after 1 s, 2 s, 4 s, ... (`tcp_reqsk_timeout`).
    pub fn await_handshake(&mut self, now: Time, timeouts: u8) {
        self.delayed_until = self.tick.wheel(now, self.tick.hz() << timeouts);
    }

    /// Nothing is awaited any more.
    pub fn give_up(&mut self) {
        self.delayed_until = Time::NEVER;
    }

    /// The connection opens.
    pub fn establish(&mut self, now: Time) {
        self.delayed_until = Time::NEVER;
        self.last_data = self.tick.jiffies(now);
    }

    /// Estimated time until the next data, us, as far as it delays an ACK.
    pub fn ato_us(&self) -> u64 {
        self.tick.to_us(self.ato.min(self.delay_most))
    }

    /// When the delayed ACK leaves.
    #[inline]
    pub fn delayed_until(&self) -> Time {
        self.delayed_until
    }

    /// When the timer of delayed ACKs fires, or fired last.
    #[inline]
    pub fn timer_until(&self) -> Time {
        self.timer_until
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

    /// A segment came that seems to end what was written; it is shorter than others.
    #[inline]
    pub fn on_end(&mut self, is_short: bool) {
        self.pushed_twice |= self.pushed && is_short;
        self.pushed = true;
    }

    /// Whether a reader that has read everything acknowledges the end of what was written (`__tcp_cleanup_rbuf`).
    #[inline]
    pub fn is_end_due(&self) -> bool {
        self.pushed_twice || self.pushed && !self.is_interactive
    }

    /// The host sends data: if that answers what came within the last delay of an ACK, ACKs wait for such data from now on
    /// (`tcp_event_data_sent`).
    pub fn on_data_sent(&mut self, now: Time) {
        self.is_interactive |= self.tick.jiffies(now).wrapping_sub(self.last_data) < self.ato;
    }

    /// Data in order arrived: learns its spacing. `window` is what was offered last, bytes, `rto_us` the host's own
    /// retransmission timeout.
    #[inline(always)]
    pub fn on_data(&mut self, now: Time, window: u64, rto_us: u64) {
        let jiffies = self.tick.jiffies(now);
        let gap = jiffies.wrapping_sub(self.last_data);
        if self.ato == 0 {
            self.add_quick(MAX_QUICKACKS, window);
            self.ato = self.ato_min;
        } else if gap <= self.ato_min / 2 {
            self.ato = self.ato / 2 + self.ato_min / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(self.delay_max);
        } else if gap > self.tick.from_us(rto_us) {
            self.add_quick(MAX_QUICKACKS, window);
        }
        self.last_data = jiffies;
    }

    #[cold]
    fn add_quick(&mut self, most: u32, window: u64) {
        let by_window = window / (2 * self.segment);
        let quick = if by_window == 0 { 2 } else { by_window.min(u64::from(most)) as u32 };
        self.quick = self.quick.max(quick);
    }

    /// The next segments are acknowledged one by one, `most` at most (`tcp_enter_quickack_mode`).
    pub fn enter_quick(&mut self, most: u32, window: u64) {
        self.add_quick(most, window);
        self.is_interactive = false;
        self.ato = self.ato_min;
    }

    /// The buffer is more than half full: no more quick ACKs (`__tcp_select_window`).
    #[inline]
    pub fn leave_quick(&mut self) {
        self.quick = 0;
    }

    /// Whether the next ACK leaves at once, whatever it acknowledges.
    #[inline]
    pub fn is_quick(&self) -> bool {
        self.quick > 0 && !self.is_interactive || self.now
    }

    /// Whether an ACK for `unacked` bytes leaves at once.
    #[inline]
    pub fn is_due(&self, unacked: u64) -> bool {
        unacked > self.segment || self.is_quick()
    }

    /// Delays the ACK of the data that came just now (`tcp_send_delayed_ack`); true when it leaves at once, because one that
    /// waits would soon.
    #[inline(always)]
    pub fn delay(&mut self, now: Time, srtt_us: u64) -> bool {
        let mut ato = self.ato;
        if ato > self.ato_min && srtt_us > 0 {
            ato = ato.min(self.tick.from_us(srtt_us).max(self.ato_min));
        }
        let ato = ato.min(self.delay_most);
        let jiffies = self.last_data;
        debug_assert_eq!(jiffies, self.tick.jiffies(now), "on_data comes first");
        if self.delayed_until.is_set() {
            let left = self.delayed_to.wrapping_sub(jiffies) as i32;
            if left <= ato as i32 / 4 {
                return true;
            }
            if ato as i32 >= left {
                return false;
            }
        }
        self.delayed_to = jiffies.wrapping_add(ato);
        self.delayed_until = self.tick.wheel_at(jiffies, ato);
        self.timer_until = self.delayed_until;
        false
    }

    /// The delayed ACK is due: the next one waits longer; or nothing answered that it could have left with
    /// (`tcp_delack_timer_handler`).
    pub fn on_timeout(&mut self) {
        if std::mem::take(&mut self.is_interactive) {
            self.ato = self.ato_min;
        } else {
            self.ato = (self.ato * 2).min(self.delay_max);
        }
    }

    /// An ACK leaves. It uses up a quick one unless nothing was to be acknowledged (`tcp_dec_quickack_mode`).
    #[inline]
    pub fn on_ack_sent(&mut self) {
        self.delayed_until = Time::NEVER;
        self.now = false;
        self.pushed = false;
        self.pushed_twice = false;
        if std::mem::take(&mut self.is_scheduled) && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.ato_min;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// After the sixteen quick ACKs of a start with a large window.
    fn settled() -> AckPolicy {
        let mut policy = AckPolicy::new(Tick::new(1000));
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
        policy.on_data(at(100), 1 << 20, 100_000);
        assert!(!policy.delay(at(100), 100_000));
        assert_eq!(policy.delayed_until(), at(141));
        policy.on_ack_sent();
        assert!(!policy.delayed_until().is_set());
    }

    #[test]
    fn a_first_segment_out_of_order_leaves_no_sixteen_quick_acks() {
        let mut policy = AckPolicy::new(Tick::new(1000));
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
        policy.on_data(at(200), 1 << 20, 300_000);
        assert!(!policy.is_due(1448));
        policy.on_data(at(501), 1 << 20, 300_000);
        assert!(policy.is_due(1448));
    }

    #[test]
    fn a_host_that_answers_data_with_data_delays_its_acks() {
        let mut policy = AckPolicy::new(Tick::new(1000));
        policy.set_segment(1448);
        policy.on_data_sent(at(0));
        policy.on_data(at(1), 1 << 20, 300_000);
        assert!(policy.is_due(1448), "before any data there is nothing to answer");
        policy.on_data_sent(at(40));
        assert!(!policy.is_due(1448), "39 ticks are within the delay of 40");
        policy.enter_quick(2, 1 << 20);
        assert!(policy.is_due(1448), "a duplicate ends it");
        policy.on_data_sent(at(41));
        assert!(policy.is_due(1448), "40 ticks are not within 40");
    }

    #[test]
    fn a_delayed_ack_that_no_data_took_along_ends_the_interactive_mode() {
        let mut policy = AckPolicy::new(Tick::new(1000));
        policy.set_segment(1448);
        policy.on_data(at(1), 1 << 20, 300_000);
        policy.on_data_sent(at(2));
        assert!(!policy.is_due(1448));
        policy.on_timeout();
        assert!(policy.is_due(1448) && policy.ato_us() == 40_000, "and the delay is not doubled");
    }

    #[test]
    fn an_interactive_reader_acknowledges_the_second_end_only() {
        let mut policy = AckPolicy::new(Tick::new(1000));
        policy.on_data(at(1), 1 << 20, 300_000);
        policy.on_end(true);
        assert!(policy.is_end_due());
        policy.on_data_sent(at(2));
        assert!(!policy.is_end_due());
        policy.on_end(false);
        assert!(!policy.is_end_due(), "a full segment with PSH is no second one");
        policy.on_end(true);
        assert!(policy.is_end_due());
    }

    #[test]
    fn the_spacing_of_data_counts_in_ticks() {
        // Seed 5023 of the differential's `rcv-loss`: a delayed ACK has left, so the next may wait 80 ms. Data come 77.25 ms after
        // the ones before, which is 20 ticks where the last begins in time, and 19 elsewhere.
        for (phase_us, ato_us) in [(450_u64, 80_000), (2_000, 116_000)] {
            let mut policy = AckPolicy::new(Tick::new(250));
            let at = |us| Time::ZERO + Span::from_us(phase_us + us);
            policy.enter_quick(1, 1 << 20);
            policy.on_data(at(1_575_456), 1 << 20, 62_000);
            policy.on_timeout();
            policy.on_data(at(1_652_706), 1 << 20, 62_000);
            assert_eq!(policy.ato_us(), ato_us);
        }
    }
}
