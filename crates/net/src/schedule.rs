//! Values that change in steps, once or over and over: a rate (the paths of Yang et al. 2021, whose rate
//! moves by 5 Mbit/s every two seconds), a delay, a share of losses.

use std::fmt;
use units::{Rate, Span, Time};

/// A piecewise constant course of values. The first step is at time zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps<T> {
    steps: Vec<(Time, T)>,
    /// After this time the steps begin anew; otherwise the last value stays.
    period: Option<Span>,
}

/// Why a list of steps is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepsError {
    /// There is no step.
    Empty,
    /// The first step is at this time.
    StartsLate(Time),
    /// This step (from 0) is not later than the one before it.
    NotAscending(usize),
    /// The period does not lie behind the last step.
    PeriodTooShort {
        /// As given.
        period: Span,
        /// When the last step is.
        last: Time,
    },
}

impl fmt::Display for StepsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepsError::Empty => write!(f, "steps must be one or more, got none"),
            StepsError::StartsLate(at) => write!(f, "the first step must be at 0s, got {at}"),
            StepsError::NotAscending(i) => {
                write!(f, "steps must ascend, step {} is not later than step {i}", i + 1)
            }
            StepsError::PeriodTooShort { period, last } => {
                write!(f, "the period must end behind the last step at {last}, got {period}")
            }
        }
    }
}

impl std::error::Error for StepsError {}

impl<T: Copy> Steps<T> {
    /// A course of `steps` in ascending order.
    pub fn new(steps: Vec<(Time, T)>, period: Option<Span>) -> Result<Steps<T>, StepsError> {
        let (Some(&(first, _)), Some(&(last, _))) = (steps.first(), steps.last()) else {
            return Err(StepsError::Empty);
        };
        if first != Time::ZERO {
            return Err(StepsError::StartsLate(first));
        }
        if let Some(i) = steps.windows(2).position(|w| w[0].0 >= w[1].0) {
            return Err(StepsError::NotAscending(i + 1));
        }
        match period {
            Some(period) if Time::ZERO + period <= last => {
                Err(StepsError::PeriodTooShort { period, last })
            }
            _ => Ok(Steps { steps, period }),
        }
    }

    /// A value that never changes.
    pub fn constant(value: T) -> Steps<T> {
        Steps { steps: vec![(Time::ZERO, value)], period: None }
    }

    /// The value at `at`, and when it changes next.
    pub fn at(&self, at: Time) -> (T, Time) {
        let (start, offset) = match self.period {
            Some(p) => (at.as_ns() / p.as_ns() * p.as_ns(), at.as_ns() % p.as_ns()),
            None => (0, at.as_ns()),
        };
        let i = self.steps.partition_point(|s| s.0.as_ns() <= offset) - 1;
        let start = Time::from_ns(start);
        let end = match (self.steps.get(i + 1), self.period) {
            (Some(next), _) => start + Span::from_ns(next.0.as_ns()),
            (None, Some(p)) => start + p,
            (None, None) => Time::NEVER,
        };
        (self.steps[i].1, end)
    }

    /// The values in order, each with the time from which it holds.
    pub fn as_slice(&self) -> &[(Time, T)] {
        &self.steps
    }

    /// After which time the steps begin anew.
    pub fn period(&self) -> Option<Span> {
        self.period
    }
}

/// A piecewise constant rate. A rate of zero is an outage.
#[derive(Clone, Debug)]
pub struct Schedule(Steps<Rate>);

impl Schedule {
    /// A schedule of `steps` in ascending order.
    ///
    /// # Panics
    /// When there is none, the first is not at zero, they do not ascend, the first rate or one that stays
    /// for ever is zero, or the period does not lie behind the last step.
    pub fn new(steps: Vec<(Time, Rate)>, period: Option<Span>) -> Schedule {
        match Steps::new(steps, period) {
            Ok(steps) => Schedule::from_steps(steps),
            Err(error) => panic!("{error}"),
        }
    }

    /// The same of steps that are known to be in order.
    ///
    /// # Panics
    /// When the first rate, or one that stays for ever, is zero.
    pub fn from_steps(steps: Steps<Rate>) -> Schedule {
        let rates = steps.as_slice();
        assert!(rates[0].1.as_bps() > 0, "the first rate is above zero");
        let stays = rates[rates.len() - 1].1;
        assert!(steps.period().is_some() || stays.as_bps() > 0, "the last rate is above zero");
        Schedule(steps)
    }

    /// The rate at `at`, and when it changes next.
    pub fn at(&self, at: Time) -> (Rate, Time) {
        self.0.at(at)
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
            let bps = u128::from(rate.as_bps());
            // An outage lets nothing leave, except the nothing that is left.
            let span = if left == 0 {
                0
            } else {
                left.checked_div(bps).map_or(u128::MAX, |_| left.div_ceil(bps))
            };
            let room = u128::from(end.since(at).as_ns());
            if span <= room {
                return at + Span::from_ns(span as u64);
            }
            if !end.is_set() {
                return Time::NEVER;
            }
            left -= bps * room;
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

    #[test]
    fn an_outage_lets_nothing_leave_and_what_waits_leaves_behind_it() {
        let ms = |n: u64| Time::from_ns(n * 1_000_000);
        let mbps = |n: u64| Rate::from_bps(n * 1_000_000);
        let s = Schedule::new(vec![(ms(0), mbps(8)), (ms(10), mbps(0)), (ms(30), mbps(8))], None);
        let kilobyte = 8_000 * 1_000_000_000;
        assert_eq!(s.after(ms(9), kilobyte), ms(10));
        assert_eq!(s.after(ms(9), 2 * kilobyte), ms(31));
        assert_eq!(s.after(ms(12), kilobyte), ms(31));
        assert_eq!(s.after(ms(12), 0), ms(12));
        assert_eq!(s.bit_ns(ms(10), ms(30)), 0);
    }

    #[test]
    fn steps_out_of_order_are_refused_with_their_number() {
        let at = |ns| (Time::from_ns(ns), ());
        let error = |steps, period| Steps::new(steps, period).unwrap_err().to_string();
        assert_eq!(error(vec![], None), "steps must be one or more, got none");
        assert_eq!(error(vec![at(5)], None), "the first step must be at 0s, got 5ns");
        assert_eq!(
            error(vec![at(0), at(7), at(7)], None),
            "steps must ascend, step 3 is not later than step 2"
        );
        assert_eq!(
            error(vec![at(0), at(7)], Some(Span::from_ns(7))),
            "the period must end behind the last step at 7ns, got 7ns"
        );
    }
}
