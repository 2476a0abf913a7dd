//! A trace that is read as it is used, through a buffer, and from its beginning again at its end.

use super::coarse::Coarse;
use super::lines::{Lines, TraceError, TraceErrorKind};
use std::fmt;
use std::io::{BufReader, Read, Seek, SeekFrom};
use units::Span;

/// What a trace can be read from: a file, or a text in memory.
pub trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

type Buffered = BufReader<Box<dyn Source>>;

/// See the module documentation.
pub struct TraceReader {
    /// Where the reading stands; none while the source is rewound.
    lines: Option<Lines<Buffered>>,
    counts: Coarse,
    /// Opportunities of one round.
    each: u64,
    last_ms: u32,
}

impl fmt::Debug for TraceReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceReader")
            .field("each", &self.each)
            .field("last_ms", &self.last_ms)
            .finish_non_exhaustive()
    }
}

impl TraceReader {
    /// Reads the whole trace once, so that its errors are known before it is used and its capacity too.
    pub fn open(source: Box<dyn Source>) -> Result<TraceReader, TraceError> {
        let mut lines = rewound(BufReader::new(source))?;
        let mut counts = Coarse::new();
        while let Some(ms) = lines.next()? {
            counts.add(ms);
        }
        lines.finish()?;
        let (each, last_ms) = (lines.count(), lines.last_ms());
        let lines = Some(rewound(lines.into_source())?);
        Ok(TraceReader { lines, counts: counts.finish(), each, last_ms })
    }

    /// After which time it repeats.
    pub fn period(&self) -> Span {
        Span::from_ms(u64::from(self.last_ms))
    }

    /// Opportunities of one round.
    pub fn count(&self) -> u64 {
        self.each
    }

    /// The next opportunity of the round, ms; `None` once at its end, where the next call begins again.
    pub fn next_ms(&mut self) -> Result<Option<u32>, TraceError> {
        let gone = TraceError { line: 0, kind: TraceErrorKind::Changed };
        let lines = self.lines.as_mut().ok_or(gone)?;
        if let Some(ms) = lines.next()? {
            return Ok(Some(ms));
        }
        if (lines.count(), lines.last_ms()) != (self.each, self.last_ms) {
            return Err(lines.error(TraceErrorKind::Changed));
        }
        // It was there a moment ago.
        let lines = self.lines.take().expect("checked above");
        self.lines = Some(rewound(lines.into_source())?);
        Ok(None)
    }

    /// Opportunities of one round before this offset, in ms, to about a bin of [`Coarse`].
    pub(super) fn before_ms(&self, offset_ms: u64) -> u64 {
        self.counts.before_ms(offset_ms)
    }
}

fn rewound(mut source: Buffered) -> Result<Lines<Buffered>, TraceError> {
    match source.seek(SeekFrom::Start(0)) {
        Ok(_) => Ok(Lines::new(source)),
        Err(e) => Err(TraceError { line: 0, kind: TraceErrorKind::Unreadable(e.kind()) }),
    }
}
