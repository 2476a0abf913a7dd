//! How well the loop kept time.

use path::histogram::Histogram;
use units::Span;

/// An event that is later than this has missed its deadline.
pub const LATE: Span = Span::from_ms(1);

/// How the loop itself did.
#[derive(Clone, Debug, Default)]
pub struct Conduct {
    /// How late events were.
    pub lateness: Histogram,
    pub latest: Span,
    /// Events later than [`LATE`].
    pub missed: u64,
    pub events: u64,
    /// Frames that a device refused.
    pub refused: u64,
    /// Processor time of the loop.
    pub cpu: Span,
    /// Of it, what went by waiting without sleep.
    pub spun: Span,
    /// Whether the loop ran before all ordinary threads.
    pub is_realtime: bool,
}

impl Conduct {
    /// An event was so late.
    #[inline]
    pub fn on_event(&mut self, late: Span) {
        self.events += 1;
        self.lateness.add_span(late);
        self.latest = self.latest.max(late);
        self.missed += u64::from(late > LATE);
    }
}
