//! The lines of a trace, read through a buffer; what is refused and why.
//!
//! The rules are `mm-link`'s (`LinkQueue::LinkQueue`, src/frontend/link_queue.cc; numbers by `strtol`): blanks
//! and a plus may lead, nothing may follow the digits, so CR LF is refused, and so are empty lines, the
//! last one too. It takes negative times for huge ones, which are refused here.

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
    /// It has no line.
    NoTimes,
    /// A line is empty.
    EmptyLine,
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
            TraceErrorKind::NoTimes => write!(f, "a trace must have one line or more, got none"),
            TraceErrorKind::EmptyLine => write!(f, "a line must hold a time, got an empty one"),
            TraceErrorKind::NotATime(text) => {
                let accepted = u32::MAX;
                write!(
                    f,
                    "a time must be a whole number of ms from 0 to {accepted}, got {text:?}"
                )?;
                let is_crlf = text.ends_with('\r');
                if is_crlf {
                    write!(f, " (lines end with CR LF)")
                } else {
                    Ok(())
                }
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
    last_ms: u32,
}

impl<R: BufRead> Lines<R> {
    /// A trace from its beginning.
    pub fn new(source: R) -> Self {
        Lines { source, line: 0, last_ms: 0 }
    }

    /// The next time, ms; `None` after the last line.
    pub fn next(&mut self) -> Result<Option<u32>, TraceError> {
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
        let ms = parse(&line[..length]).map_err(|kind| self.error(kind))?;
        if ms < self.last_ms {
            return Err(self.error(TraceErrorKind::Decreasing { ms, before: self.last_ms }));
        }
        self.last_ms = ms;
        Ok(Some(ms))
    }

    /// Judges the trace as a whole once all lines are read.
    pub fn finish(&self) -> Result<(), TraceError> {
        match (self.line, self.last_ms) {
            (0, _) => Err(self.error(TraceErrorKind::NoTimes)),
            (_, 0) => Err(self.error(TraceErrorKind::NoLength)),
            _ => Ok(()),
        }
    }

    /// Lines read.
    pub fn count(&self) -> u64 {
        self.line
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

/// The time on a line, ms.
fn parse(line: &[u8]) -> Result<u32, TraceErrorKind> {
    if line.is_empty() {
        return Err(TraceErrorKind::EmptyLine);
    }
    let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let number = &line[blanks..];
    let digits = number.strip_prefix(b"+").unwrap_or(number);
    let time = digits.iter().try_fold(0_u32, |ms, &byte| match byte {
        b'0'..=b'9' => ms.checked_mul(10)?.checked_add(u32::from(byte - b'0')),
        _ => None,
    });
    match time {
        Some(ms) if !digits.is_empty() && line.len() < LINE_LENGTH_MAX => Ok(ms),
        _ => Err(TraceErrorKind::NotATime(shown(line))),
    }
}

fn shown(line: &[u8]) -> String {
    let start = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
    format!("{start}{}", if line.len() > SHOWN { "..." } else { "" })
}
