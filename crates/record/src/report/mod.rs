//! What every back end says of a run that has ended: totals of its flows and links become rows of
//! `flows.parquet`, a summary and warnings here, and nowhere else, whatever counted them.
//!
//! | module | what |
//! | --- | --- |
//! | [`totals`] | what a back end counted of a flow, a link, and of the run |
//! | [`summary`] | the figures that most callers want without opening a table |
//! | [`warnings`] | reasons to read the figures with care |
//! | [`columns`] | tables and summary of a run that was measured elsewhere, from JSON |

pub mod columns;
pub mod summary;
pub mod totals;
pub mod warnings;

pub use columns::{write_measured, MeasuredError};
pub use summary::{FlowSummary, LinkSummary, Summary};
pub use totals::{percentile, Delays, FlowTotals, LinkTotals, QueueDelay, RunTotals, Waits};
