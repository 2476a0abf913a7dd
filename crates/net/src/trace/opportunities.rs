//! The opportunities of a trace one after the other, over its end if it repeats.

use super::{before, Trace, TraceError, TraceReader};
use units::{Span, Time};

/// Where the times come from.
#[derive(Debug)]
enum Rounds {
    Memory { trace: Trace, next: usize },
    Stream(Box<TraceReader>),
}

impl Rounds {
    /// The next opportunity of the round, ms; `None` once at its end.
    fn next_ms(&mut self) -> Result<Option<u32>, TraceError> {
        match self {
            Rounds::Memory { trace, next } => {
                let ms = trace.times_ms().get(*next).copied();
                *next = if ms.is_some() { *next + 1 } else { 0 };
                Ok(ms)
            }
            Rounds::Stream(reader) => reader.next_ms(),
        }
    }

    fn period(&self) -> Span {
        match self {
            Rounds::Memory { trace, .. } => trace.period(),
            Rounds::Stream(reader) => reader.period(),
        }
    }
}

/// See the module documentation.
#[derive(Debug)]
pub struct Opportunities {
    rounds: Rounds,
    repeat: bool,
    /// When the current round began.
    start: Time,
    /// Nothing comes any more.
    over: bool,
    error: Option<TraceError>,
}

impl From<Trace> for Opportunities {
    fn from(trace: Trace) -> Opportunities {
        Opportunities::new(Rounds::Memory { trace, next: 0 })
    }
}

impl From<TraceReader> for Opportunities {
    fn from(reader: TraceReader) -> Opportunities {
        Opportunities::new(Rounds::Stream(Box::new(reader)))
    }
}

impl Opportunities {
    fn new(rounds: Rounds) -> Opportunities {
        Opportunities { rounds, repeat: true, start: Time::ZERO, over: false, error: None }
    }

    /// The trace is used one time (`mm-link --once`); the link is dead after it.
    pub fn once(self) -> Opportunities {
        Opportunities { repeat: false, ..self }
    }

    /// When the next opportunity is; never before an earlier one. `None` after the last one, or once the
    /// trace could not be read on.
    pub fn next_time(&mut self) -> Option<Time> {
        while !self.over {
            match self.rounds.next_ms() {
                Ok(Some(ms)) => return Some(self.start + Span::from_ms(u64::from(ms))),
                Ok(None) if self.repeat => self.start += self.rounds.period(),
                Ok(None) => self.over = true,
                Err(error) => (self.over, self.error) = (true, Some(error)),
            }
        }
        None
    }

    /// Opportunities from the start until before `at`; of a trace that is streamed to about a
    /// 65536th of its length.
    pub fn before(&self, at: Time) -> u64 {
        let period = self.rounds.period();
        let at = match self.repeat {
            true => at,
            // The last opportunities are at the period's very end.
            false => at.min(Time::ZERO + period + Span::from_ns(1)),
        };
        match &self.rounds {
            Rounds::Memory { trace, .. } => {
                let each = trace.times_ms().len() as u64;
                self.clipped(before(at, period, each, |ms| trace.before_ms(ms)), each)
            }
            Rounds::Stream(reader) => {
                let each = reader.count();
                self.clipped(before(at, period, each, |ms| reader.before_ms(ms)), each)
            }
        }
    }

    /// Without repetition there is one round, although the next one's first opportunities may be at the
    /// time of its last.
    fn clipped(&self, count: u64, each: u64) -> u64 {
        if self.repeat {
            count
        } else {
            count.min(each)
        }
    }

    /// Why the trace could not be read on, if so: a result of such a run is not to be trusted.
    pub fn error(&self) -> Option<&TraceError> {
        self.error.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    const TEXT: &str = "0\n2\n2\n5\n";

    fn both() -> [Opportunities; 2] {
        let reader = TraceReader::open(Box::new(Cursor::new(TEXT))).unwrap();
        [Trace::parse(TEXT.as_bytes()).unwrap().into(), reader.into()]
    }

    fn times_ms(opportunities: &mut Opportunities, n: usize) -> Vec<u64> {
        let times = std::iter::from_fn(|| opportunities.next_time());
        times.take(n).map(|t| t.as_ns() / 1_000_000).collect()
    }

    #[test]
    fn the_next_round_begins_at_the_last_time_of_this_one() {
        for mut o in both() {
            assert_eq!(times_ms(&mut o, 10), [0, 2, 2, 5, 5, 7, 7, 10, 10, 12]);
        }
    }

    #[test]
    fn a_trace_that_is_used_once_ends() {
        for o in both() {
            let mut o = o.once();
            assert_eq!(times_ms(&mut o, 10), [0, 2, 2, 5]);
            assert_eq!(o.error(), None);
            assert_eq!(o.before(Time::NEVER), 4);
        }
    }

    #[test]
    fn counts_agree_with_what_comes() {
        for mut o in both() {
            let times = times_ms(&mut o, 40);
            for ns in (0..30_000_000).step_by(500_000) {
                let came = times.iter().filter(|&&ms| ms * 1_000_000 < ns).count() as u64;
                assert_eq!(o.before(Time::from_ns(ns)), came, "before {ns} ns");
            }
        }
    }

    /// A text of which a later reading finds another one.
    struct Shifting(Cursor<Vec<u8>>, usize);

    impl std::io::Read for Shifting {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(to)
        }
    }

    impl std::io::Seek for Shifting {
        fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
            self.1 += 1;
            if self.1 == 3 {
                self.0 = Cursor::new(b"0\n2\nx\n5\n".to_vec());
            }
            self.0.seek(to)
        }
    }

    #[test]
    fn a_trace_that_changes_under_way_ends_with_an_error() {
        let source = Shifting(Cursor::new(TEXT.into()), 0);
        let mut o = Opportunities::from(TraceReader::open(Box::new(source)).unwrap());
        assert_eq!(times_ms(&mut o, 100), [0, 2, 2, 5, 5, 7]);
        assert_eq!(o.error().map(|e| e.line), Some(3));
    }
}
