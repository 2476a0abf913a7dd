//! Values that change in steps, once or over and over: a rate (the paths of Yang et al. 2021, whose rate
//! moves by 5 Mbit/s every two seconds), a delay, a share of losses.

use std::fmt;
use units::{Rate, Span, Time};

/// A piecewise constant course of values. The first step is at time zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps<T> {
    steps: Vec<(Time, T)>,
    /// After this time the steps begin again; otherwise the last value stays.
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
    /// The period does not lie after the last step.
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
                write!(f, "the period must end after the last step at {last}, got {period}")
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

    /// After which time the steps begin again.
    pub fn period(&self) -> Option<Span> {
        self.period
    }
}

/// A piecewise constant rate. A rate of zero is an outage.
///
/// What can leave up to each step is known beforehand, so that a look at any time costs a search among the
/// steps, however short they are beside the time that it spans.
#[derive(Clone, Debug)]
pub struct Schedule {
    steps: Steps<Rate>,
    /// What can leave from the start until each step, bits times 10^9.
    until: Vec<u128>,
    /// What can leave in a period; 0 without one.
    round: u128,
}

impl Schedule {
    /// A schedule of `steps` in ascending order.
    ///
    /// # Panics
    /// When there is none, the first is not at zero, they do not ascend, the period does not lie after the last
    /// step, or an outage has no end ([`Schedule::is_endless_outage`]).
    pub fn new(steps: Vec<(Time, Rate)>, period: Option<Span>) -> Schedule {
        match Steps::new(steps, period) {
            Ok(steps) => Schedule::from_steps(steps),
            Err(error) => panic!("{error}"),
        }
    }

    /// Whether nothing can leave any more from some time on.
    pub fn is_endless_outage(steps: &Steps<Rate>) -> bool {
        let rates = steps.as_slice();
        match steps.period() {
            Some(_) => rates.iter().all(|step| step.1.as_bps() == 0),
            None => rates.last().is_none_or(|last| last.1.as_bps() == 0),
        }
    }

    /// The same of steps that are known to be in order.
    ///
    /// # Panics
    /// When an outage has no end.
    pub fn from_steps(steps: Steps<Rate>) -> Schedule {
        assert!(!Schedule::is_endless_outage(&steps), "an outage ends");
        let mut until = Vec::with_capacity(steps.as_slice().len());
        let mut sum = 0;
        for pair in steps.as_slice().windows(2) {
            until.push(sum);
            sum += bit_ns(pair[0].1, pair[1].0.since(pair[0].0));
        }
        until.push(sum);
        let last = steps.as_slice()[until.len() - 1];
        let round =
            steps.period().map_or(0, |p| sum + bit_ns(last.1, (Time::ZERO + p).since(last.0)));
        Schedule { steps, until, round }
    }

    /// The rate at `at`, and when it changes next.
    pub fn at(&self, at: Time) -> (Rate, Time) {
        self.steps.at(at)
    }

    /// What can leave between two times, bits times 10^9.
    pub fn bit_ns(&self, from: Time, to: Time) -> u128 {
        if to <= from {
            return 0;
        }
        let (rate, end) = self.at(from);
        if to <= end {
            return bit_ns(rate, to.since(from));
        }
        self.left_by(to) - self.left_by(from)
    }

    /// When `bit_ns` more have left, counted from `from`; rounded up to a nanosecond. [`Time::NEVER`] where that is
    /// later than any time.
    pub fn after(&self, from: Time, amount: u128) -> Time {
        if amount == 0 {
            return from;
        }
        let (rate, end) = self.at(from);
        let bps = u128::from(rate.as_bps());
        if bps > 0 {
            let span = amount.div_ceil(bps);
            if span <= u128::from(end.since(from).as_ns()) {
                return from + Span::from_ns(span as u64);
            }
        }
        self.when_left(self.left_by(from) + amount)
    }

    /// What can leave from the start until `at`.
    fn left_by(&self, at: Time) -> u128 {
        let (rounds, offset) = match self.steps.period() {
            Some(p) => (at.as_ns() / p.as_ns(), Time::from_ns(at.as_ns() % p.as_ns())),
            None => (0, at),
        };
        let i = self.steps.as_slice().partition_point(|step| step.0 <= offset) - 1;
        let (since, rate) = self.steps.as_slice()[i];
        u128::from(rounds) * self.round + self.until[i] + bit_ns(rate, offset.since(since))
    }

    /// The first time by which `total`, above zero, has left since the start.
    fn when_left(&self, total: u128) -> Time {
        // A round's last bits belong to it, and not to the next one.
        let rounds = (total - 1).checked_div(self.round).unwrap_or(0);
        let rest = total - rounds * self.round;
        let i = self.until.partition_point(|&sum| sum < rest) - 1;
        let (since, rate) = self.steps.as_slice()[i];
        let bps = u128::from(rate.as_bps());
        let period = self.steps.period().map_or(0, Span::as_ns);
        let start = rounds * u128::from(period) + u128::from(since.as_ns());
        let at = start + (rest - self.until[i]).div_ceil(bps);
        u64::try_from(at).map_or(Time::NEVER, Time::from_ns)
    }
}

/// What a rate yields in a span, bits times 10^9.
fn bit_ns(rate: Rate, span: Span) -> u128 {
    u128::from(rate.as_bps()) * u128::from(span.as_ns())
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
            "the period must end after the last step at 7ns, got 7ns"
        );
    }

    #[test]
    fn a_link_may_begin_with_an_outage() {
        let ms = |n: u64| Time::from_ns(n * 1_000_000);
        let steps = vec![(ms(0), Rate::from_bps(0)), (ms(10), Rate::from_bps(8_000_000))];
        let s = Schedule::new(steps, None);
        assert_eq!(s.after(ms(0), 8_000 * 1_000_000_000), ms(11));
        assert_eq!(s.after(ms(0), 0), ms(0));
    }

    #[test]
    fn an_outage_without_end_is_told_from_one_that_ends() {
        let rates = |bps: &[u64], period| {
            let at = |i: usize| Time::from_ns(i as u64 * 10);
            let steps = bps.iter().enumerate().map(|(i, &bps)| (at(i), Rate::from_bps(bps)));
            Steps::new(steps.collect(), period).unwrap()
        };
        let period = Some(Span::from_ns(30));
        assert!(Schedule::is_endless_outage(&rates(&[1, 0], None)));
        assert!(Schedule::is_endless_outage(&rates(&[0, 0], period)));
        assert!(!Schedule::is_endless_outage(&rates(&[1, 0], period)));
        assert!(!Schedule::is_endless_outage(&rates(&[0, 1], None)));
    }

    #[test]
    fn steps_of_a_nanosecond_are_not_walked_through() {
        let at = |ns, bps| (Time::from_ns(ns), Rate::from_bps(bps));
        let steps = vec![at(0, 1_000_000), at(1, 2_000_000), at(2, 0)];
        let s = Schedule::new(steps, Some(Span::from_ns(3)));
        // A day, a million times: one by one these were 10^19 steps.
        let day = 86_400_000_000_000;
        for i in 0..1_000_000 {
            let to = Time::from_ns(day - i);
            let sum = s.bit_ns(Time::ZERO, to);
            let until = s.after(Time::ZERO, sum);
            assert!(until <= to && to.since(until).as_ns() <= 1, "{to} {until}");
        }
    }

    #[test]
    fn what_would_leave_later_than_any_time_leaves_never() {
        let at = |ns, bps| (Time::from_ns(ns), Rate::from_bps(bps));
        let s = Schedule::new(vec![at(0, 1), at(1, 0)], Some(Span::from_ns(1 << 62)));
        assert_eq!(s.after(Time::ZERO, 1_000), Time::NEVER);
        assert_eq!(s.after(Time::ZERO, 2), Time::from_ns((1 << 62) + 1));
    }
}
