//! How long the packet at the head of a queue has waited, over time: the queueing delay as one would read it
//! off at any instant, exact at every rate, on traces and in outages.
//!
//! ```text
//! age |      /|      /|           A packet that leaves after s, and g after the one before it, was the head
//!     |    /  |  /| / |           while its age grew from s - g to s. An empty queue has age 0.
//!     |  /    |/  |/  |____/|
//!     +--------------------------- time
//! ```

use crate::histogram::{Place, Weights};
use record::QueueDelay;
use units::{Span, Time};

/// See the module documentation.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    /// Twice the integral of the age over time, ns^2.
    twice: u128,
    /// Time at each age.
    spent: Weights,
    /// When the last packet left, or the head last changed.
    left: Time,
    /// When the head came, where that is followed.
    head: Option<Time>,
}

impl Waiting {
    /// A packet that came at `since` leaves at `now`, which is no earlier than the last.
    #[inline]
    pub fn on_left(&mut self, now: Time, since: Time) {
        let age = now.since(since);
        self.on_left_aged(now, age, Place::of_span(age));
    }

    /// The same of a packet of this age, which has that place.
    #[inline]
    pub fn on_left_aged(&mut self, now: Time, age: Span, place: Place) {
        let age = age.as_ns();
        let gap = now.since(self.left).as_ns().min(age);
        self.left = now;
        if gap > 0 {
            self.twice += twice_between(gap, age);
            self.spent.add(age - gap, age, place);
        }
    }

    /// The head is from `now` on the packet that came at `head`: for queues where a packet may overtake the
    /// head until it leaves. They call this whenever something comes or leaves, and [`Waiting::on_left`] never.
    #[inline]
    pub fn on_changed(&mut self, now: Time, head: Option<Time>) {
        match self.head {
            Some(since) => self.on_left(now, since),
            None => self.left = now,
        }
        self.head = head;
    }

    /// Twice the integral of the age from the start to `now`, ns^2, where the head of the queue has been there since
    /// `head`.
    pub fn twice_until(&self, now: Time, head: Option<Time>) -> u128 {
        let age = head.map_or(0, |since| now.since(since).as_ns());
        self.twice + twice_between(now.since(self.left).as_ns().min(age), age)
    }

    /// Mean and quantiles from the start to `end`, where the head of the queue has been there since `head`.
    pub fn until(&self, end: Time, head: Option<Time>) -> QueueDelay {
        let mut whole = self.clone();
        if let Some(since) = head {
            whole.on_left(end, since);
        }
        let ns = end.as_ns().max(1);
        let quantile_us = |thousandths| whole.spent.quantile_us(ns, thousandths);
        QueueDelay {
            mean_us: whole.twice as f64 / 2.0 / ns as f64 / 1e3,
            p50_us: quantile_us(500),
            p95_us: quantile_us(950),
            p99_us: quantile_us(990),
        }
    }
}

/// Twice the integral of an age over the `gap` in which it grew to `age`.
#[inline]
fn twice_between(gap: u64, age: u64) -> u128 {
    u128::from(gap) * u128::from(2 * age - gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_ns(n * 1_000_000)
    }

    #[test]
    fn the_age_of_the_head_is_averaged_over_time_and_nothing_waits_between() {
        let mut waiting = Waiting::default();
        // Two come at 0 and leave at 10 and 20; one comes at 60 and leaves at 80.
        for (now, since) in [(10, 0), (20, 0), (80, 60)] {
            waiting.on_left(ms(now), ms(since));
        }
        // 0 to 20 in 20 ms, 0 to 20 in 20 ms again, then nothing: 2 x 200 in 100 ms.
        let delay = waiting.until(ms(100), None);
        assert!((delay.mean_us - 4_000.0).abs() < 1e-6, "{delay:?}");
        // It is above 17.5 ms for 2 x 2.5 ms of 100, above 19.5 for 2 x 0.5, and nothing waits for 60 of 100.
        assert!(delay.p95_us.abs_diff(17_500) <= 17_500 / 60, "{delay:?}");
        assert!(delay.p99_us.abs_diff(19_500) <= 19_500 / 60, "{delay:?}");
        assert_eq!(delay.p50_us, 0);
    }

    #[test]
    fn what_waits_at_the_end_counts_until_then() {
        let mut waiting = Waiting::default();
        waiting.on_left(ms(10), ms(0));
        // After it, one that came at 5 waits through an outage.
        let delay = waiting.until(ms(1_005), Some(ms(5)));
        let area = 50.0 + (1_000.0f64.powi(2) - 5.0f64.powi(2)) / 2.0;
        assert!((delay.mean_us - area / 1_005.0 * 1e3).abs() < 1e-3, "{delay:?}");
        assert!(delay.p95_us.abs_diff(949_750) <= 949_750 / 60, "{delay:?}");
        // The integral so far is the mean over the time, at the end and on the way there.
        let ms2 = 1_000_000_000_000;
        assert_eq!(
            waiting.twice_until(ms(1_005), Some(ms(5))),
            (100 + 1_000 * 1_000 - 5 * 5) * ms2
        );
        assert_eq!(waiting.twice_until(ms(12), Some(ms(5))), (100 + 7 * 7 - 5 * 5) * ms2);
        assert_eq!(waiting.twice_until(ms(12), None), 100 * ms2);
        assert_eq!(Waiting::default().until(ms(7), None), QueueDelay::default());
    }

    #[test]
    fn the_head_may_be_overtaken_by_a_younger_packet() {
        let mut waiting = Waiting::default();
        // One that came at 0 waits; from 10 on one is before it that came then and leaves at 12; the
        // other leaves at 14.
        for (now, head) in [(0, Some(0)), (10, Some(10)), (12, Some(0)), (14, None), (20, None)] {
            waiting.on_changed(ms(now), head.map(ms));
        }
        let delay = waiting.until(ms(20), None);
        let area = 50.0 + 2.0 + (14.0 * 14.0 - 12.0 * 12.0) / 2.0;
        assert!((delay.mean_us - area / 20.0 * 1e3).abs() < 1e-6, "{delay:?}");
    }

    #[test]
    fn a_queue_that_is_empty_most_of_the_time_has_no_quantile_above_zero() {
        let mut waiting = Waiting::default();
        waiting.on_left(ms(4), ms(0));
        assert_eq!(waiting.until(ms(100), None).p95_us, 0);
        assert!(waiting.until(ms(50), None).p95_us > 0);
    }
}
