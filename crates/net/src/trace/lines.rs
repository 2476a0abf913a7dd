//! The lines of a trace, read through a buffer; what is refused and why.
//!
//! What `mm-link` takes is taken (`LinkQueue::LinkQueue`, src/frontend/link_queue.cc; numbers by `strtol`): blanks
//! and a plus may lead. Files come from other systems and editors: a byte order mark, CR LF, trailing
//! blanks, empty lines and lines that begin with `#` are passed over, which `mm-link` refuses. It takes
//! negative times for huge ones, which are refused here. `python/dumbbell/scenario/traces.py` has the same rules.

use std::fmt;
use std::io::{self, BufRead};

/// Why a text is no trace, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// From 1; 0 is the trace as a whole.
    pub line: u64,
    /// What is wrong.
    pub kind: TraceErrorKind,
}

/// What may be wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceErrorKind {
    /// It has no time.
    NoTimes,
    /// A line is no time; its start.
    NotATime(String),
    /// A time lies before its predecessor.
    Decreasing {
        /// As given.
        ms: u32,
        /// On the line before.
        before: u32,
    },
    /// The last time is zero, so that the trace would repeat without end at one instant.
    NoLength,
    /// A second reading gave something else than the first.
    Changed,
    /// The source cannot be read.
    Unreadable(io::ErrorKind),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        match &self.kind {
            TraceErrorKind::NoTimes => write!(f, "a trace must have one time or more, got none"),
            TraceErrorKind::NotATime(text) => {
                let accepted = u32::MAX;
                write!(f, "a time must be a whole number of ms from 0 to {accepted}, got {text:?}")
            }
            TraceErrorKind::Decreasing { ms, before } => {
                write!(f, "times must not decrease, got {ms} after {before}")
            }
            TraceErrorKind::NoLength => write!(f, "the last time must be above 0 ms, got 0"),
            TraceErrorKind::Changed => write!(f, "the trace changed while it was used"),
            TraceErrorKind::Unreadable(kind) => write!(f, "the trace cannot be read: {kind}"),
        }
    }
}

impl std::error::Error for TraceError {}

/// Characters of a line that are kept: more than a time has, and enough to recognise a wrong one.
const LINE_LENGTH_MAX: usize = 40;
/// Characters of a wrong line that are shown.
const SHOWN: usize = 24;

/// Reads times line by line, without keeping them.
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    /// Lines read.
    line: u64,
    /// Times read.
    count: u64,
    last_ms: u32,
}

impl<R: BufRead> Lines<R> {
    /// A trace from its beginning.
    pub fn new(source: R) -> Self {
        Lines { source, line: 0, count: 0, last_ms: 0 }
    }

    /// The next time, ms; `None` after the last line.
    pub fn next(&mut self) -> Result<Option<u32>, TraceError> {
        loop {
            let mut line = [0; LINE_LENGTH_MAX];
            let length = match self.read_line(&mut line) {
                Ok(Some(length)) => length,
                Ok(None) => return Ok(None),
                Err(error) => {
                    self.line += 1;
                    return Err(self.error(TraceErrorKind::Unreadable(error.kind())));
                }
            };
            self.line += 1;
            let (kept, is_long) = (&line[..length], length == LINE_LENGTH_MAX);
            let text = if self.line == 1 { unmarked(kept) } else { kept };
            let Some(ms) = parse(text, is_long).map_err(|kind| self.error(kind))? else {
                continue;
            };
            if ms < self.last_ms {
                return Err(self.error(TraceErrorKind::Decreasing { ms, before: self.last_ms }));
            }
            self.last_ms = ms;
            self.count += 1;
            return Ok(Some(ms));
        }
    }

    /// Judges the trace as a whole once all lines are read.
    pub fn finish(&self) -> Result<(), TraceError> {
        match (self.count, self.last_ms) {
            (0, _) => Err(TraceError { line: 0, kind: TraceErrorKind::NoTimes }),
            (_, 0) => Err(self.error(TraceErrorKind::NoLength)),
            _ => Ok(()),
        }
    }

    /// Times read.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The time of the line that was read last, ms.
    pub fn last_ms(&self) -> u32 {
        self.last_ms
    }

    /// What the lines are read from.
    pub fn into_source(self) -> R {
        self.source
    }

    /// An error at the line that was read last.
    pub fn error(&self, kind: TraceErrorKind) -> TraceError {
        TraceError { line: self.line, kind }
    }

    /// Reads a line without its end, and tells how much of it was kept; `None` at the end.
    fn read_line(&mut self, line: &mut [u8; LINE_LENGTH_MAX]) -> io::Result<Option<usize>> {
        let (mut length, mut is_open) = (0, false);
        loop {
            let read = match self.source.fill_buf() {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if read.is_empty() {
                return Ok(is_open.then_some(length));
            }
            let end = read.iter().position(|&byte| byte == b'\n');
            let part = &read[..end.unwrap_or(read.len())];
            let kept = part.len().min(LINE_LENGTH_MAX - length);
            line[length..length + kept].copy_from_slice(&part[..kept]);
            (length, is_open) = (length + kept, true);
            let used = part.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                return Ok(Some(length));
            }
        }
    }
}

/// A first line without its byte order mark.
fn unmarked(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// The time on a line, ms; `None` where it is empty or a remark.
fn parse(line: &[u8], is_long: bool) -> Result<Option<u32>, TraceErrorKind> {
    let number = line.trim_ascii();
    if number.first() == Some(&b'#') || (number.is_empty() && !is_long) {
        return Ok(None);
    }
    let digits = number.strip_prefix(b"+").unwrap_or(number);
    let time = digits.iter().try_fold(0_u32, |ms, &byte| match byte {
        b'0'..=b'9' => ms.checked_mul(10)?.checked_add(u32::from(byte - b'0')),
        _ => None,
    });
    match time {
        Some(ms) if !digits.is_empty() && !is_long => Ok(Some(ms)),
        _ => Err(TraceErrorKind::NotATime(shown(line))),
    }
}

fn shown(line: &[u8]) -> String {
    let start = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
    format!("{start}{}", if line.len() > SHOWN { "..." } else { "" })
}
