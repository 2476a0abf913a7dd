//! One column of a row group: values and, when the column is nullable, which of them are there.

use crate::cell::Cell;
use crate::chunk::{Chunk, Rows, Stored, ROWS_TOGETHER};
use crate::table::ROWS_BUFFERED;
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
    /// The values that are there of the rows that are not encoded yet.
    values: Vec<<C::Stored as DataType>::T>,
    /// Which of these rows have a value, where the column is nullable: one bit a row, [`ROWS_TOGETHER`] in each number.
    present: [u64; ROWS_BUFFERED / ROWS_TOGETHER],
    /// All rows before them, encoded; from the first rows of a row group to its end.
    chunk: Option<<C::Stored as Stored>::Chunk>,
}

impl<C: Cell> Default for Column<C> {
    fn default() -> Column<C> {
        Column { values: Vec::new(), present: Default::default(), chunk: None }
    }
}

impl<C: Cell> Column<C> {
    /// Stores a cell as number `row` of the rows that are not encoded yet. Rows are stored in order, from 0.
    #[inline]
    pub fn set(&mut self, row: usize, cell: &C) {
        let stored = cell.store();
        if C::NULLABLE {
            let some = &mut self.present[row / ROWS_TOGETHER];
            *some |= u64::from(stored.is_some()) << (row % ROWS_TOGETHER);
        }
        if let Some(value) = stored {
            self.values.push(value);
        }
    }

    /// Encodes the `rows` rows that are not: [`ROWS_BUFFERED`] of them, or fewer at the end of a row group.
    pub fn encode(
        &mut self,
        rows: usize,
        of: &ColumnDescPtr,
        with: &WriterPropertiesPtr,
    ) -> Result<()> {
        let chunk = self.chunk.get_or_insert_with(|| Chunk::begin(of, with));
        let mut values = self.values.as_mut_slice();
        for (first, present) in (0..rows).step_by(ROWS_TOGETHER).zip(&mut self.present) {
            let mut some = Rows::full(ROWS_TOGETHER.min(rows - first));
            if C::NULLABLE {
                some.present = std::mem::take(present);
            }
            let (these, others) = values.split_at_mut(some.values());
            chunk.write(these, some)?;
            values = others;
        }
        self.values.clear();
        Ok(())
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
