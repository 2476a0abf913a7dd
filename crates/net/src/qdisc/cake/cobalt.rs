//! COBALT: CoDel and BLUE side by side on every flow queue (`cobalt_*`, net/sched/sch_cake.c). CoDel
//! marks or drops flows that respond, BLUE drops at random from those that do not.

use crate::rng::Rng;
use units::{Span, Time};

/// BLUE's steps of the drop probability, Q0.32: up 1/256 when the buffer is full, down 1/4096 when
/// the queue was found empty.
const BLUE_UP: u32 = 1 << 24;
const BLUE_DOWN: u32 = 1 << 20;

/// `2^32 / sqrt(count)`, rounded as the kernel's table of the same name is, because one step of
/// Newton's method is far off there.
const INV_SQRT_CACHE: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// Times that depend on the tin's share of the rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    /// Sojourn above which a queue is congested, and the minimum time between BLUE's steps.
    pub target: Span,
    /// Time before the first signal, and scale of those that follow.
    pub interval: Span,
    /// What a packet of the largest size takes to send.
    pub mtu_time: Span,
}

/// State of one flow queue. A fresh one is all zero, the inverse root too: its first excursion above
/// target is signalled with the second packet, not an interval later.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    /// Signals sent, less what has decayed.
    count: u32,
    /// `2^32 / sqrt(count)`, or 0 in a fresh queue.
    inv_sqrt: u32,
    /// When the next signal is due; while idle, until when the state is kept.
    drop_next: Time,
    /// BLUE's last step. `None` before the first, which any time is far from.
    blue_stepped: Option<Time>,
    /// BLUE's drop probability, Q0.32.
    p_drop: u32,
    dropping: bool,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// It should be dropped, unless it is the last one.
    pub drop: bool,
    /// It was marked CE.
    pub marked: bool,
}

impl Cobalt {
    /// Judges a packet at the head that has waited for `sojourn`. `bulk_flows` raises the target
    /// (ingress mode; 0 otherwise); `mark` marks it if that is possible.
    #[inline]
    pub fn should_drop(
        &mut self,
        params: &Params,
        now: Time,
        sojourn: Span,
        bulk_flows: u32,
        rng: &mut Rng,
        mark: impl FnOnce() -> bool,
    ) -> Verdict {
        let due = self.is_due(now);
        let mut late = now > self.drop_next;
        self.update_dropping(params, now, sojourn, bulk_flows);
        let mut verdict = Verdict { drop: false, marked: false };
        if due && self.dropping {
            verdict.marked = mark();
            verdict.drop = !verdict.marked;
            self.count = self.count.saturating_add(1);
            self.step(params);
        } else if due {
            self.decay(params, now);
        }
        if due {
            late = now > self.drop_next;
        }
        if self.p_drop > 0 {
            verdict.drop |= ((rng.next_u64() >> 32) as u32) < self.p_drop;
        }
        if self.count == 0 {
            self.drop_next = now + params.interval;
        } else if late && !verdict.drop {
            self.drop_next = now;
        }
        verdict
    }

    /// The buffer was full and a packet of this queue had to go.
    pub fn on_full(&mut self, params: &Params, now: Time) {
        if self.may_step(params, now) {
            self.p_drop = self.p_drop.saturating_add(BLUE_UP);
            self.blue_stepped = Some(now);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was served and empty. Tells whether some state is left to decay.
    pub fn on_empty(&mut self, params: &Params, now: Time) -> bool {
        if self.p_drop > 0 && self.may_step(params, now) {
            self.p_drop = self.p_drop.saturating_sub(BLUE_DOWN);
            self.blue_stepped = Some(now);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.count -= 1;
            self.step(params);
        }
        self.p_drop > 0 || self.count > 0 || now < self.drop_next
    }

    /// Enters and leaves the dropping state.
    fn update_dropping(&mut self, params: &Params, now: Time, sojourn: Span, bulk_flows: u32) {
        let over = sojourn > params.target
            && sojourn > params.mtu_time * u64::from(bulk_flows) * 2
            && sojourn > params.mtu_time * 4;
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control_law(params, now);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
    }

    /// As often as a signal would have been due without congestion, one is forgotten.
    fn decay(&mut self, params: &Params, now: Time) {
        loop {
            self.count -= 1;
            self.step(params);
            if !self.is_due(now) {
                return;
            }
        }
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    fn may_step(&self, params: &Params, now: Time) -> bool {
        self.blue_stepped.is_none_or(|at| now.since(at) > params.target)
    }

    /// The count has changed: its root, and when the next signal is due.
    fn step(&mut self, params: &Params) {
        self.inv_sqrt = match INV_SQRT_CACHE.get(self.count as usize) {
            Some(&cached) => cached,
            None => newton(self.inv_sqrt, self.count),
        };
        self.drop_next = self.control_law(params, self.drop_next);
    }

    /// CoDel's control law, `t + interval / sqrt(count)`; the interval counts in 32 bits
    /// (`reciprocal_scale`).
    fn control_law(&self, params: &Params, t: Time) -> Time {
        let interval = u64::from(params.interval.as_ns() as u32);
        t + Span::from_ns((interval * u64::from(self.inv_sqrt)) >> 32)
    }
}

/// One step towards `2^32 / sqrt(count)`: `x/2 * (3 - count * x^2)` (`cobalt_newton_step`).
fn newton(inv_sqrt: u32, count: u32) -> u32 {
    let x = u64::from(inv_sqrt);
    let square = (x * x) >> 32;
    let val = (3u64 << 32).wrapping_sub(u64::from(count) * square);
    ((val >> 2).wrapping_mul(x) >> 31) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: Params =
        Params { target: Span::from_ms(5), interval: Span::from_ms(100), mtu_time: Span::ZERO };

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    /// Judges a markable packet.
    fn should_drop(cobalt: &mut Cobalt, now: Time, sojourn_ms: u64) -> Verdict {
        let mut rng = Rng::stream(1, "cobalt");
        cobalt.should_drop(&PARAMS, now, Span::from_ms(sojourn_ms), 0, &mut rng, || true)
    }

    #[test]
    fn a_fresh_queue_signals_with_the_second_packet_over_target() {
        let mut cobalt = Cobalt::default();
        assert!(!should_drop(&mut cobalt, ms(50), 4).marked);
        assert!(!should_drop(&mut cobalt, ms(60), 6).marked);
        assert!(should_drop(&mut cobalt, ms(61), 6).marked);
        // Count is 2: interval / sqrt(2) after 60 ms, when the first was due.
        assert_eq!(cobalt.drop_next, Time::from_ns(60_000_000 + 70_710_678));
    }

    #[test]
    fn once_decayed_to_nothing_a_queue_waits_a_full_interval() {
        let mut cobalt = Cobalt::default();
        should_drop(&mut cobalt, ms(60), 6);
        // Under target one interval long: 1 decays to 0, and the root is 1.
        assert!(!should_drop(&mut cobalt, ms(200), 1).marked);
        assert_eq!((cobalt.count, cobalt.inv_sqrt), (0, u32::MAX));
        assert!(!should_drop(&mut cobalt, ms(290), 6).marked);
        assert!(!should_drop(&mut cobalt, ms(389), 6).marked);
        assert!(should_drop(&mut cobalt, ms(390), 6).marked);
    }

    #[test]
    fn after_an_interval_without_packets_the_second_over_target_is_signalled_again() {
        let mut cobalt = Cobalt::default();
        should_drop(&mut cobalt, ms(60), 6);
        should_drop(&mut cobalt, ms(200), 1);
        // Until 300 ms the state is kept; the first packet after that sets the due time to its own.
        assert!(!should_drop(&mut cobalt, ms(301), 6).marked);
        assert!(should_drop(&mut cobalt, ms(302), 6).marked);
    }

    #[test]
    fn signals_come_faster_by_the_root_of_their_count() {
        let mut cobalt = Cobalt::default();
        should_drop(&mut cobalt, ms(0), 6);
        let mut times = Vec::new();
        for us in 1..400_000 {
            if should_drop(&mut cobalt, Time::from_ns(us * 1_000), 6).marked {
                times.push(us);
            }
        }
        // Sums of 100 ms / sqrt(n) from n = 2 on, each signalled at the next microsecond.
        let expected: Vec<u64> = (2..7)
            .scan(0.0, |sum, n| {
                *sum += 100_000.0 / f64::from(n).sqrt();
                Some(*sum as u64 + 1)
            })
            .collect();
        assert_eq!(times[0], 1);
        assert_eq!(times[1..6], expected);
    }

    #[test]
    fn delays_that_the_tins_rate_explains_are_not_congestion() {
        let mut rng = Rng::stream(1, "cobalt");
        let params = Params { mtu_time: Span::from_ms(10), ..PARAMS };
        let mut over = |sojourn_ms, bulk_flows| {
            let mut cobalt = Cobalt::default();
            let sojourn = Span::from_ms(sojourn_ms);
            cobalt.should_drop(&params, ms(100), sojourn, bulk_flows, &mut rng, || true);
            cobalt.dropping
        };
        assert!(!over(40, 0) && over(41, 0));
        assert!(!over(60, 3) && over(61, 3));
    }

    #[test]
    fn blue_steps_up_at_most_once_a_target_and_down_when_empty() {
        let mut cobalt = Cobalt::default();
        cobalt.on_full(&PARAMS, ms(1));
        assert_eq!((cobalt.p_drop, cobalt.count), (BLUE_UP, 1));
        cobalt.on_full(&PARAMS, ms(6));
        assert_eq!(cobalt.p_drop, BLUE_UP);
        cobalt.on_full(&PARAMS, Time::from_ns(6_000_001));
        assert_eq!(cobalt.p_drop, 2 * BLUE_UP);
        assert!(cobalt.on_empty(&PARAMS, ms(11)));
        assert_eq!(cobalt.p_drop, 2 * BLUE_UP);
        assert!(cobalt.on_empty(&PARAMS, ms(12)));
        assert_eq!(cobalt.p_drop, 2 * BLUE_UP - BLUE_DOWN);
    }

    #[test]
    fn blue_drops_what_codel_has_just_marked() {
        let mut cobalt = Cobalt { p_drop: u32::MAX, ..Cobalt::default() };
        should_drop(&mut cobalt, ms(60), 6);
        assert_eq!(should_drop(&mut cobalt, ms(61), 6), Verdict { drop: true, marked: true });
    }

    #[test]
    fn what_cannot_be_marked_is_dropped() {
        let mut rng = Rng::stream(1, "cobalt");
        let mut cobalt = Cobalt::default();
        should_drop(&mut cobalt, ms(60), 6);
        let verdict = cobalt.should_drop(&PARAMS, ms(61), Span::from_ms(6), 0, &mut rng, || false);
        assert_eq!(verdict, Verdict { drop: true, marked: false });
    }

    #[test]
    fn from_sixteen_on_one_newton_step_follows_the_root() {
        let mut root = INV_SQRT_CACHE[15];
        for count in 16..1000u32 {
            root = newton(root, count);
            let exact = 4_294_967_296.0 / f64::from(count).sqrt();
            assert!((f64::from(root) / exact - 1.0).abs() < 0.002, "{count}: {root} {exact}");
        }
    }

    #[test]
    fn the_cached_roots_are_the_roots() {
        for (count, root) in INV_SQRT_CACHE.iter().enumerate().skip(1) {
            let exact = 4_294_967_296.0 / (count as f64).sqrt();
            assert!((f64::from(*root) - exact).abs() < 1.5, "{count}");
        }
    }
}
