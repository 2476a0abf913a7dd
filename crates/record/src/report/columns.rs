//! The result of a run that was measured elsewhere (real hosts, through their own programs): columns and
//! totals come as JSON, and become the same tables and summary that the engines write.

use super::summary::Summary;
use super::totals::RunTotals;
use crate::table::{Table, TableWriter};
use crate::{
    EventRow, LimitRow, MessageRow, Options, ProbeRow, QueueRow, RecordError, SampleRow, Tables,
    VariableRow,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;

/// A measured run cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum MeasuredError {
    /// Not the JSON that is expected.
    #[error("measured run: {0}")]
    Json(#[from] serde_json::Error),
    /// A column that is not that of its table.
    #[error("measured run: {table}.{column}, row {row}: {problem}")]
    Column {
        /// Name of the table.
        table: &'static str,
        /// Name of the column.
        column: String,
        /// Number of the row, from 0.
        row: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// There is no bottleneck.
    #[error("measured run: totals.links: wanted one or more, got none")]
    NoLink,
    /// A table cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// See the module documentation. Columns that a table may leave null can be left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    totals: RunTotals,
    #[serde(default)]
    samples: Map<String, Value>,
    #[serde(default)]
    queue: Map<String, Value>,
    #[serde(default)]
    events: Map<String, Value>,
    #[serde(default)]
    messages: Map<String, Value>,
    #[serde(default)]
    probes: Map<String, Value>,
    /// None where the run does not keep them.
    #[serde(default)]
    variables: Option<Map<String, Value>>,
    /// The same.
    #[serde(default)]
    limits: Option<Map<String, Value>>,
}

/// Writes the tables of the run that `json` describes into `out`, which must exist, and sums up.
///
/// # Errors
/// When the JSON is not that of a run, or a table cannot be written.
pub fn write_measured(out: &Path, json: &str, options: Options) -> Result<Summary, MeasuredError> {
    let measured: Measured = serde_json::from_str(json)?;
    if measured.totals.links.is_empty() {
        return Err(MeasuredError::NoLink);
    }
    let mut tables = Tables::create(out, options)?;
    fill::<SampleRow>(&measured.samples, &mut tables.samples)?;
    fill::<QueueRow>(&measured.queue, &mut tables.queue)?;
    fill::<EventRow>(&measured.events, &mut tables.events)?;
    fill::<MessageRow>(&measured.messages, &mut tables.messages)?;
    for (i, flow) in measured.totals.flows.iter().enumerate() {
        tables.flows.push(&flow.row(i));
    }
    tables.finish()?;
    if !measured.probes.is_empty() {
        write::<ProbeRow>(&measured.probes, out)?;
    }
    if let Some(variables) = &measured.variables {
        write::<VariableRow>(variables, out)?;
    }
    if let Some(limits) = &measured.limits {
        write::<LimitRow>(limits, out)?;
    }
    Ok(measured.totals.summary())
}

/// Writes a table that not every run has.
fn write<R: Table>(columns: &Map<String, Value>, out: &Path) -> Result<(), MeasuredError> {
    let mut table = TableWriter::<R>::create(out, true)?;
    fill(columns, &mut table)?;
    Ok(table.finish()?)
}

/// Appends the rows of some columns, which are of one length.
fn fill<R: Table>(
    columns: &Map<String, Value>,
    table: &mut TableWriter<R>,
) -> Result<(), MeasuredError> {
    let wrong = |column: &str, row, problem| {
        Err(MeasuredError::Column { table: R::NAME, column: column.to_string(), row, problem })
    };
    if let Some(name) = columns.keys().find(|name| R::COLUMNS.iter().all(|c| c.name != *name)) {
        return wrong(name, 0, "there is no such column");
    }
    let rows = columns.values().next().and_then(Value::as_array).map_or(0, Vec::len);
    if let Some((name, _)) = columns.iter().find(|(_, c)| c.as_array().map(Vec::len) != Some(rows))
    {
        return wrong(name, rows, "columns are lists of one length");
    }
    for row in 0..rows {
        match R::read(&|column| columns.get(column).map(|values| &values[row])) {
            Ok(cells) => table.push(&cells),
            Err(column) => return wrong(column, row, "missing, or of another type"),
        }
    }
    Ok(())
}
