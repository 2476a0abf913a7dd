//! A sender that is polled (Zhang's `DqcSender::Process` of 2019): it sends and runs its alarms only then.

use units::{Span, Time};

/// When the sender is polled, and what it has done then.
#[derive(Clone, Copy, Debug)]
pub struct Poll {
    period: Span,
    /// Of the first poll after the start of the run.
    offset: Span,
    /// The poll that a packet left in.
    used: Time,
    /// When the pacer's alarm goes off, while it is set.
    pub alarm: Option<Time>,
}

impl Poll {
    /// A poll every `period`; `None` where that is zero.
    pub fn every(period: Span, offset: Span) -> Option<Poll> {
        let poll = Poll { period, offset, used: Time::NEVER, alarm: None };
        (period > Span::ZERO).then_some(poll)
    }

    /// The first poll at `time` or after it.
    pub fn at_or_after(&self, time: Time) -> Time {
        let since = time.as_ns().saturating_sub(self.offset.as_ns());
        Time::from_ns(since.next_multiple_of(self.period.as_ns())) + self.offset
    }

    /// The next poll that a packet may leave in.
    pub fn next_free(&self, now: Time) -> Time {
        let next = self.at_or_after(now);
        if next == self.used {
            next + self.period
        } else {
            next
        }
    }

    /// A packet leaves in the poll of `now`.
    pub fn take(&mut self, now: Time) {
        self.used = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::from_ns(us * 1_000)
    }

    #[test]
    fn polls_come_at_their_offset_and_each_takes_one_packet() {
        let mut poll = Poll::every(Span::from_us(500), Span::from_us(3)).unwrap();
        assert_eq!(poll.at_or_after(at(3)), at(3));
        assert_eq!(poll.at_or_after(at(4)), at(503));
        assert_eq!(poll.next_free(at(503)), at(503));
        poll.take(at(503));
        assert_eq!(poll.next_free(at(503)), at(1_003));
        assert!(Poll::every(Span::ZERO, Span::ZERO).is_none());
    }
}
