//! What a run leaves behind: Parquet tables with fixed schemas, five always and others where asked for, a packet capture,
//! and qlog.
//!
//! ```no_run
//! use record::{EventKind, EventRow, Options, Tables};
//!
//! let mut tables = Tables::create("out/run".as_ref(), Options::default())?;
//! tables.events.push(&EventRow { t_ns: 0, flow: Some(0), kind: EventKind::Start, value: None, note: None });
//! tables.finish()?;
//! # Ok::<(), record::RecordError>(())
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`schema`] | the rows, each column once: name, type, unit, meaning |
//! | [`table`] | rows into row groups into a file |
//! | [`column`] | one column of a row group |
//! | [`cell`] | what a cell may be |
//! | [`chunk`] | the values of a column into pages |
//! | [`pcap`] | segments, datagrams and ARP into a capture that `tshark` reads |
//! | [`qlog`] | what senders do, as events that readers of qlog know |
//! | [`report`] | rows, summary and warnings of a run, from what a back end counted |
//! | [`watch`] | rows for who watches a run |
//! | [`reference`](mod@reference) | the schemas as the tables of `docs/results.md` |
//!
//! Contracts. The same rows give the same bytes: no time stamp, host name or version enters a file.
//! `push` and `write_segment` never fail: the first error is kept, everything after it is ignored, and
//! `finish` reports it. Once the buffers have grown, `push` allocates by batches of rows and by row
//! groups, not by rows, and `write_segment` never.

pub mod cell;
pub mod chunk;
pub mod column;
pub mod pcap;
pub mod qlog;
pub mod reference;
pub mod report;
pub mod schema;
pub mod table;
pub mod watch;

pub use pcap::{PcapDatagram, PcapSegment, PcapWriter, SynOptions};
pub use report::{Delays, FlowTotals, LinkSummary, LinkTotals, QueueDelay, RunTotals, Summary};
pub use schema::{
    Estimates, EventKind, EventRow, FlowRow, LimitRow, MessageRow, ProbeRow, QueueRow, SampleRow,
    VariableRow, CA_STATES, LIMITS,
};
pub use table::{Table, TableWriter};
pub use watch::Watch;

use std::path::{Path, PathBuf};

/// Version of the table schemas; it changes when a column is removed or changes its meaning.
pub const SCHEMA_VERSION: u32 = 2;
/// Version of the manifest, which holds the plan: 3 has one list of links and routes that are written out.
pub const MANIFEST_VERSION: u32 = 3;

/// A result file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system refused (disk full, no such folder, no permission).
    #[error("cannot write {}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// The Parquet encoder refused.
    #[error("cannot write {}: {source}", path.display())]
    Parquet { path: PathBuf, source: parquet::errors::ParquetError },
}

/// Which tables get rows. A table that is off exists all the same, with its schema and no row, so
/// that whoever reads a result folder needs no special case. `flows` and `messages` are always on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub samples: bool,
    pub queue: bool,
    pub events: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { samples: true, queue: true, events: true }
    }
}

/// The five tables of one run, streamed to their files in row groups of
/// [`table::ROWS_PER_GROUP`] rows, so that memory does not grow with the length of the run.
pub struct Tables {
    pub flows: TableWriter<FlowRow>,
    pub samples: TableWriter<SampleRow>,
    pub queue: TableWriter<QueueRow>,
    pub events: TableWriter<EventRow>,
    pub messages: TableWriter<MessageRow>,
}

impl Tables {
    /// Creates `flows.parquet`, `samples.parquet`, `queue.parquet`, `events.parquet` and `messages.parquet` in `dir`,
    /// which must exist.
    ///
    /// # Errors
    /// [`RecordError::Io`] when a file cannot be created.
    pub fn create(dir: &Path, options: Options) -> Result<Tables, RecordError> {
        Ok(Tables {
            flows: TableWriter::create(dir, true)?,
            samples: TableWriter::create(dir, options.samples)?,
            queue: TableWriter::create(dir, options.queue)?,
            events: TableWriter::create(dir, options.events)?,
            messages: TableWriter::create(dir, true)?,
        })
    }

    /// Writes what is still buffered and closes the files.
    ///
    /// # Errors
    /// The first error of any table, also one that happened while rows were pushed.
    pub fn finish(self) -> Result<(), RecordError> {
        self.flows.finish()?;
        self.samples.finish()?;
        self.queue.finish()?;
        self.events.finish()?;
        self.messages.finish()
    }
}
