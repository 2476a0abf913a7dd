//! A rate that changes in steps, once or over and over: the paths of Yang et al. (2021), whose rate
//! moves by 5 Mbit/s every two seconds, and any other known course.

use units::{Rate, Span, Time};

/// Piecewise constant rate. The first step is at time zero.
#[derive(Clone, Debug)]
pub struct Schedule {
    steps: Vec<(Time, Rate)>,
    /// After this time the steps begin anew; otherwise the last rate stays.
    period: Option<Span>,
}

impl Schedule {
    /// A schedule of `steps` in ascending order.
    ///
    /// # Panics
    /// When there is none, the first is not at zero, they do not ascend, a rate is zero, or the period
    /// does not lie behind the last step.
    pub fn new(steps: Vec<(Time, Rate)>, period: Option<Span>) -> Schedule {
        assert!(steps.first().is_some_and(|s| s.0 == Time::ZERO), "the first step is at 0 s");
        assert!(steps.windows(2).all(|w| w[0].0 < w[1].0), "steps ascend: {steps:?}");
        assert!(steps.iter().all(|s| s.1.as_bps() > 0), "rates are above zero: {steps:?}");
        let last = steps[steps.len() - 1].0;
        assert!(
            period.is_none_or(|p| Time::ZERO + p > last),
            "the period ends behind the last step"
        );
        Schedule { steps, period }
    }

    /// The rate at `at`, and when it changes next.
    pub fn at(&self, at: Time) -> (Rate, Time) {
        let (start, offset) = match self.period {
            Some(p) => (at.as_ns() / p.as_ns() * p.as_ns(), at.as_ns() % p.as_ns()),
            None => (0, at.as_ns()),
        };
        let i = self.steps.partition_point(|s| s.0.as_ns() <= offset) - 1;
        let end = match (self.steps.get(i + 1), self.period) {
            (Some(next), _) => Time::from_ns(start + next.0.as_ns()),
            (None, Some(p)) => Time::from_ns(start) + p,
            (None, None) => Time::NEVER,
        };
        (self.steps[i].1, end)
    }

    /// What can leave between two times, bits times 10^9.
    pub fn bit_ns(&self, from: Time, to: Time) -> u128 {
        let (mut sum, mut at) = (0, from);
        while at < to {
            let (rate, end) = self.at(at);
            let until = end.min(to);
            sum += u128::from(rate.as_bps()) * u128::from(until.since(at).as_ns());
            at = until;
        }
        sum
    }

    /// When `bit_ns` more have left, counted from `from`; rounded up to a nanosecond.
    pub fn after(&self, from: Time, bit_ns: u128) -> Time {
        let (mut left, mut at) = (bit_ns, from);
        loop {
            let (rate, end) = self.at(at);
            let span = left.div_ceil(u128::from(rate.as_bps()));
            if at.as_ns() as u128 + span <= u128::from(end.as_ns()) {
                return at + Span::from_ns(span as u64);
            }
            left -= u128::from(rate.as_bps()) * u128::from(end.since(at).as_ns());
            at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plus_minus_five() -> Schedule {
        let at = |s: u64, mbps: u64| {
            (Time::from_ns(s * 1_000_000_000), Rate::from_bps(mbps * 1_000_000))
        };
        Schedule::new(vec![at(0, 40), at(2, 45)], Some(Span::from_ms(4_000)))
    }

    #[test]
    fn the_steps_repeat() {
        let s = plus_minus_five();
        let rates: Vec<_> =
            (0..6).map(|t| s.at(Time::from_ns(t * 1_000_000_000)).0.as_bps() / 1_000_000).collect();
        assert_eq!(rates, [40, 40, 45, 45, 40, 40]);
        assert_eq!(s.at(Time::from_ns(5_000_000_000)).1, Time::from_ns(6_000_000_000));
    }

    #[test]
    fn what_leaves_in_a_period_is_the_mean_rate() {
        let s = plus_minus_five();
        assert_eq!(s.bit_ns(Time::ZERO, Time::from_ns(8_000_000_000)) / 8_000_000_000, 42_500_000);
    }

    #[test]
    fn after_is_the_inverse_of_bit_ns() {
        let s = plus_minus_five();
        for (from, span) in [(0, 7), (1_999_999_000, 5_000), (3_000_000_000, 9_000_000_001)] {
            let (from, to) = (Time::from_ns(from), Time::from_ns(from + span));
            assert_eq!(s.after(from, s.bit_ns(from, to)), to);
        }
    }
}
