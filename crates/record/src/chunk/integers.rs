//! Column chunks of integers, which are most of a table's cells. They have the bytes that the Parquet library would write, to
//! which a property holds them (`tests/chunks.rs`), for some two thirds of its instructions.

use super::delta::{Deltas, Integer};
use super::levels::Levels;
use super::pages::{rows_per_page, statistics, Extent, Paged, Pages, Range};
use super::{Chunk, Rows};
use parquet::basic::Encoding;
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::AsBytes;
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;

/// See the module documentation.
pub struct Integers<T: Integer> {
    /// Rows after which a page ends.
    rows_per_page: usize,
    /// The page that is not over: its values, its levels where the column is nullable, what they are.
    values: Deltas<T>,
    levels: Levels,
    page: Extent<T::T>,
    /// The pages before it.
    pages: Pages<T>,
}

impl<T: Integer> Paged for T {
    type Value = T::T;
    const ENCODING: Encoding = Encoding::DELTA_BINARY_PACKED;

    fn bytes(value: &T::T) -> Vec<u8> {
        value.as_bytes().to_vec()
    }

    fn statistics(range: Range<T::T>, nulls: u64) -> Statistics {
        statistics(range, nulls, true)
    }
}

impl<T: Integer> Chunk<T> for Integers<T> {
    fn begin(of: &ColumnDescPtr, with: &WriterPropertiesPtr) -> Self {
        Integers {
            rows_per_page: rows_per_page(with),
            values: Deltas::default(),
            levels: Levels::default(),
            page: Extent::NONE,
            pages: Pages::new(of),
        }
    }

    fn write(&mut self, values: &mut [T::T], rows: Rows) -> Result<()> {
        let range = self.values.put(values);
        if self.pages.is_nullable() {
            self.levels.put(rows);
        }
        let nulls = rows.count - values.len();
        self.page.add(Extent { rows: rows.count, nulls, range, text_bytes: None });
        if self.page.rows == self.rows_per_page {
            self.end_page()?;
        }
        Ok(())
    }

    fn close(mut self) -> Result<(Vec<u8>, ColumnCloseResult)> {
        if self.page.rows > 0 {
            self.end_page()?;
        }
        self.pages.close()
    }
}

impl<T: Integer> Integers<T> {
    fn end_page(&mut self) -> Result<()> {
        let mut plain = Vec::new();
        if self.pages.is_nullable() {
            self.levels.take(&mut plain);
        }
        self.values.take(&mut plain);
        self.pages.put(std::mem::replace(&mut self.page, Extent::NONE), &plain)
    }
}
