//! One column of a row group: values and, when the column is nullable, which of them are there.

use crate::cell::Cell;
use crate::chunk::{Chunk, Rows, Stored, ROWS_TOGETHER};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::{ColumnDescPtr, Type};
use std::io::Write;
use std::sync::Arc;

/// The rows of one column since the last row group.
pub struct Column<C: Cell> {
    /// The last ones, each at its place; a null leaves what was there.
    values: [<C::Stored as DataType>::T; ROWS_TOGETHER],
    /// Which of them have a value, where the column is nullable: one bit a row.
    present: u64,
    /// All of them, encoded; from the first rows of a row group to its end.
    chunk: Option<<C::Stored as Stored>::Chunk>,
}

impl<C: Cell> Default for Column<C> {
    fn default() -> Column<C> {
        let values = std::array::from_fn(|_| Default::default());
        Column { values, present: 0, chunk: None }
    }
}

impl<C: Cell> Column<C> {
    /// Stores a cell as number `row` of the rows that are not encoded yet. Rows are stored in order, from 0.
    #[inline]
    pub fn set(&mut self, row: usize, cell: &C) {
        let stored = cell.store();
        if C::NULLABLE {
            self.present |= u64::from(stored.is_some()) << row;
        }
        if let Some(value) = stored {
            self.values[row % ROWS_TOGETHER] = value;
        }
    }

    /// Encodes the first `rows` rows: [`ROWS_TOGETHER`] of them, or fewer at the end of a row group.
    pub fn encode(
        &mut self,
        rows: usize,
        of: &ColumnDescPtr,
        with: &WriterPropertiesPtr,
    ) -> Result<()> {
        let mut rows = Rows::full(rows);
        let mut values = rows.count;
        if C::NULLABLE {
            rows.present = std::mem::take(&mut self.present);
            if !rows.is_full() {
                values = self.close_up(rows);
            }
        }
        let chunk = self.chunk.get_or_insert_with(|| Chunk::begin(of, with));
        chunk.write(&mut self.values[..values], rows)
    }

    /// Moves the values that are there to the front; returns how many.
    fn close_up(&mut self, rows: Rows) -> usize {
        let mut values = 0;
        for (row, _) in rows.each().enumerate().filter(|(_, is_present)| *is_present) {
            self.values.swap(values, row);
            values += 1;
        }
        values
    }

    /// Writes the column as the next one of `group`, and empties it.
    pub fn flush<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let chunk = self.chunk.take().expect("a row group has rows");
        let (bytes, closed) = chunk.close()?;
        group.append_column(&bytes::Bytes::from(bytes), closed)
    }
}

/// The Parquet schema node of a column of type `C`.
pub fn node<C: Cell>(name: &str) -> Result<Type> {
    let physical = <C::Stored as DataType>::get_physical_type();
    let repetition = if C::NULLABLE { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let logical = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
    Type::primitive_type_builder(name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()
}

/// A schema node in the pointer type that Parquet's builders take.
pub(crate) fn shared<C: Cell>(name: &str) -> Result<Arc<Type>> {
    node::<C>(name).map(Arc::new)
}
