//! Mahimahi traces: recorded delivery opportunities of a link (Winstein, Sivaraman and Balakrishnan 2013;
//! Netravali et al. 2015, the trace files of `mm-link`).
//!
//! One line is one opportunity: the millisecond at which one full packet may leave. Times do not
//! decrease; equal ones are several opportunities. The trace repeats, and its period is its last
//! time: the first line of the next round counts from there.
//!
//! A [`Trace`] lies in memory, four bytes an opportunity, and is shared by who uses it. A [`TraceReader`]
//! reads through a buffer and rewinds at the end, in constant memory however long the trace is.
//! Both become [`Opportunities`], which a link takes one by one.

mod coarse;
mod lines;
mod opportunities;
mod reader;

pub use lines::{TraceError, TraceErrorKind};
pub use opportunities::Opportunities;
pub use reader::{Source, TraceReader};

use lines::Lines;
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use units::{Span, Time};

/// A trace in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Milliseconds, never decreasing; the last one is above zero.
    times_ms: Arc<[u32]>,
}

impl Trace {
    /// Reads a trace.
    pub fn parse(text: impl BufRead) -> Result<Trace, TraceError> {
        let mut lines = Lines::new(text);
        let mut times = Vec::new();
        while let Some(ms) = lines.next()? {
            times.push(ms);
        }
        lines.finish()?;
        Ok(Trace { times_ms: times.into() })
    }

    /// A trace of these milliseconds. The line of an error is their number from 1.
    pub fn from_ms(times_ms: Vec<u32>) -> Result<Trace, TraceError> {
        let mut before = 0;
        for (i, &ms) in times_ms.iter().enumerate() {
            if ms < before {
                let kind = TraceErrorKind::Decreasing { ms, before };
                return Err(TraceError { line: i as u64 + 1, kind });
            }
            before = ms;
        }
        match times_ms.last() {
            None => Err(TraceError { line: 0, kind: TraceErrorKind::NoTimes }),
            Some(0) => {
                Err(TraceError { line: times_ms.len() as u64, kind: TraceErrorKind::NoLength })
            }
            Some(_) => Ok(Trace { times_ms: times_ms.into() }),
        }
    }

    /// Writes it as it is read.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        self.times_ms.iter().try_for_each(|ms| writeln!(to, "{ms}"))
    }

    /// The opportunities' milliseconds in order.
    pub fn times_ms(&self) -> &[u32] {
        &self.times_ms
    }

    /// After which time it repeats.
    pub fn period(&self) -> Span {
        // A trace has a line by construction.
        Span::from_ms(u64::from(*self.times_ms.last().expect("never empty")))
    }

    /// Opportunities of one round before this offset, in ms.
    fn before_ms(&self, offset_ms: u64) -> u64 {
        self.times_ms.partition_point(|&ms| u64::from(ms) < offset_ms) as u64
    }
}

/// Of a link that repeats rounds of `period` with `each` opportunities: how many lie before `at`. `before`
/// counts those of one round before an offset in ms.
fn before(at: Time, period: Span, each: u64, before: impl Fn(u64) -> u64) -> u64 {
    let (rounds, rest) = (at.as_ns() / period.as_ns(), at.as_ns() % period.as_ns());
    match (rounds, rest) {
        (0, rest) => before(rest.div_ceil(1_000_000)),
        // At the end of a round its last opportunities are not over yet.
        (rounds, 0) => (rounds - 1) * each + before(period.as_ns() / 1_000_000),
        (rounds, rest) => rounds * each + before(rest.div_ceil(1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Trace::parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_trace_is_read_and_written_as_it_was() {
        let text = "0\n3\n3\n17\n";
        let trace = Trace::parse(text.as_bytes()).unwrap();
        assert_eq!(trace.times_ms(), [0, 3, 3, 17]);
        assert_eq!(trace.period(), Span::from_ms(17));
        let mut written = Vec::new();
        trace.write(&mut written).unwrap();
        assert_eq!(written, text.as_bytes());
    }

    #[test]
    fn what_mahimahi_takes_is_taken() {
        for text in ["1\n2", " 1\n\t2\n", "+1\n2\n", "001\n02\n"] {
            assert_eq!(Trace::parse(text.as_bytes()).unwrap().times_ms(), [1, 2], "{text:?}");
        }
    }

    #[test]
    fn what_other_systems_and_editors_add_is_passed_over() {
        let remark = format!("# {}\n1\n2\n", "x".repeat(100));
        for text in [
            "1\r\n2\r\n",
            "\u{feff}1\n2\n",
            "\u{feff}# a remark\r\n1\r\n2",
            "1\n\n2\n\n\n",
            "1 \n2\t \n",
            "1\n # of 2\n2\n#\n",
            &remark,
        ] {
            assert_eq!(Trace::parse(text.as_bytes()).unwrap().times_ms(), [1, 2], "{text:?}");
        }
        assert_eq!(error("# one\n\n1\nx\n").split(':').next(), Some("line 4"));
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_line() {
        let number = "a time must be a whole number of ms from 0 to 4294967295";
        for nothing in ["", "\n\r\n", "# a remark\n"] {
            assert_eq!(error(nothing), "a trace must have one time or more, got none");
        }
        assert_eq!(error("1\n\u{feff}2\n").split(':').next(), Some("line 2"));
        assert_eq!(error("1\nx\n"), format!("line 2: {number}, got \"x\""));
        assert_eq!(error("1 2\n"), format!("line 1: {number}, got \"1 2\""));
        assert_eq!(error("1.5\n"), format!("line 1: {number}, got \"1.5\""));
        assert_eq!(error("+\n"), format!("line 1: {number}, got \"+\""));
        assert_eq!(error("5\n4\n"), "line 2: times must not decrease, got 4 after 5");
        assert_eq!(error("0\n0\n"), "line 2: the last time must be above 0 ms, got 0");
    }

    #[test]
    fn negative_and_huge_times_are_refused_where_mahimahi_would_wrap_them() {
        let number = "a time must be a whole number of ms from 0 to 4294967295";
        assert_eq!(error("-5\n"), format!("line 1: {number}, got \"-5\""));
        assert_eq!(error("4294967296\n"), format!("line 1: {number}, got \"4294967296\""));
        let long = "9".repeat(1_000_000);
        let shown = format!("line 1: {number}, got \"{}...\"", "9".repeat(24));
        assert_eq!(error(&long), shown);
    }

    #[test]
    fn times_that_were_computed_are_judged_alike() {
        assert!(Trace::from_ms(vec![1, 5, 5]).is_ok());
        for bad in [vec![], vec![0], vec![5, 4]] {
            let text: String = bad.iter().map(|ms| format!("{ms}\n")).collect();
            assert_eq!(Trace::from_ms(bad).unwrap_err().to_string(), error(&text));
        }
    }
}
