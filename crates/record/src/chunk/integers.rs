//! Column chunks of integers, which are most of a table's cells. They have the bytes that the Parquet library would write, to
//! which a property holds them (`tests/chunks.rs`), for some two thirds of its instructions. That is of a file as `table.rs`
//! opens it: with Snappy, pages of the first version, and statistics.

use super::delta::{Deltas, Integer, Range};
use super::levels::Levels;
use super::{Chunk, Rows, BATCH};
use parquet::basic::{BoundaryOrder, Compression, Encoding, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::AsBytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, LevelHistogram, OffsetIndexBuilder, PageEncodingStats,
};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::statistics::ValueStatistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// Rows that a page or a whole chunk has, apart from the values.
#[derive(Clone, Copy)]
struct Extent<V> {
    rows: usize,
    nulls: usize,
    range: Range<V>,
}

impl<V: Copy + Ord> Extent<V> {
    const NONE: Self = Extent { rows: 0, nulls: 0, range: None };

    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.nulls += other.nulls;
        self.range = match (self.range, other.range) {
            (Some((least, most)), Some((low, high))) => Some((least.min(low), most.max(high))),
            (one, other) => one.or(other),
        };
    }

    /// Rows by level: 0 is a null.
    fn levels(&self) -> LevelHistogram {
        LevelHistogram::from(vec![self.nulls as i64, (self.rows - self.nulls) as i64])
    }
}

/// See the module documentation.
pub struct Integers<T: Integer> {
    of: ColumnDescPtr,
    /// Rows after which a page ends.
    rows_per_page: usize,
    /// The page that is not over: its values, its levels where the column is nullable, what they are.
    values: Deltas<T>,
    levels: Levels,
    page: Extent<T::T>,
    /// The pages before it.
    written: TrackedWrite<Vec<u8>>,
    all: Extent<T::T>,
    pages: i32,
    /// Bytes of the pages with their headers, before compression.
    uncompressed: usize,
    column_index: ColumnIndexBuilder,
    offset_index: OffsetIndexBuilder,
    order: Order<T::T>,
}

impl<T: Integer> Chunk<T> for Integers<T> {
    fn begin(of: &ColumnDescPtr, with: &WriterPropertiesPtr) -> Self {
        Integers {
            of: of.clone(),
            rows_per_page: with.data_page_row_count_limit(),
            values: Deltas::default(),
            levels: Levels::default(),
            page: Extent::NONE,
            written: TrackedWrite::new(Vec::new()),
            all: Extent::NONE,
            pages: 0,
            uncompressed: 0,
            column_index: ColumnIndexBuilder::new(of.physical_type()),
            offset_index: OffsetIndexBuilder::new(),
            order: Order::default(),
        }
    }

    fn write(&mut self, values: &mut [T::T], rows: Rows) -> Result<()> {
        let range = self.values.put(values);
        if self.is_nullable() {
            self.levels.put(rows);
        }
        let nulls = rows.count - values.len();
        self.page.add(Extent { rows: rows.count, nulls, range });
        if self.page.rows >= self.rows_per_page && self.page.rows.is_multiple_of(BATCH) {
            self.end_page()?;
        }
        Ok(())
    }

    fn close(mut self) -> Result<(Vec<u8>, ColumnCloseResult)> {
        self.end_page()?;
        self.column_index.set_boundary_order(self.order.name());
        let metadata = self.metadata()?;
        let bytes = self.written.into_inner()?;
        let closed = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.all.rows as u64,
            metadata,
            bloom_filter: None,
            column_index: Some(self.column_index.build()?),
            offset_index: Some(self.offset_index.build()),
        };
        Ok((bytes, closed))
    }
}

impl<T: Integer> Integers<T> {
    fn is_nullable(&self) -> bool {
        self.of.max_def_level() > 0
    }

    /// Writes the page that is not over, if it has rows.
    fn end_page(&mut self) -> Result<()> {
        let page = std::mem::replace(&mut self.page, Extent::NONE);
        if page.rows == 0 {
            return Ok(());
        }
        self.note(page);
        let mut plain = Vec::new();
        if self.is_nullable() {
            self.levels.take(&mut plain);
        }
        self.values.take(&mut plain);
        let compressed = snap::raw::Encoder::new()
            .compress_vec(&plain)
            .map_err(|source| ParquetError::External(Box::new(source)))?;
        let data = Page::DataPage {
            buf: compressed.into(),
            num_values: page.rows as u32,
            encoding: Encoding::DELTA_BINARY_PACKED,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let data = CompressedPage::new(data, plain.len());
        let done = SerializedPageWriter::new(&mut self.written).write_page(data)?;
        self.uncompressed += done.uncompressed_size;
        self.offset_index.append_offset_and_size(done.offset as i64, done.compressed_size as i32);
        Ok(())
    }

    /// Notes in the indices what a page has.
    fn note(&mut self, page: Extent<T::T>) {
        self.pages += 1;
        self.all.add(page);
        let (least, most) = match page.range {
            Some((least, most)) => (least.as_bytes().to_vec(), most.as_bytes().to_vec()),
            None => Default::default(),
        };
        self.column_index.append(page.range.is_none(), least, most, page.nulls as i64, None);
        let levels = self.is_nullable().then(|| page.levels());
        self.column_index.append_histograms(&None, &levels);
        self.offset_index.append_row_count(page.rows as i64);
        self.offset_index.append_unencoded_byte_array_data_bytes(None);
        if let Some(range) = page.range {
            self.order.next(range);
        }
    }

    /// What the end of the file says of the chunk.
    fn metadata(&self) -> Result<ColumnChunkMetaData> {
        let (least, most) = self.all.range.unzip();
        let statistics =
            ValueStatistics::new(least, most, None, Some(self.all.nulls as u64), false);
        ColumnChunkMetaData::builder(self.of.clone())
            .set_compression(Compression::SNAPPY)
            .set_encodings(vec![Encoding::RLE, Encoding::DELTA_BINARY_PACKED])
            .set_page_encoding_stats(vec![PageEncodingStats {
                page_type: PageType::DATA_PAGE,
                encoding: Encoding::DELTA_BINARY_PACKED,
                count: self.pages,
            }])
            .set_total_compressed_size(self.written.bytes_written() as i64)
            .set_total_uncompressed_size(self.uncompressed as i64)
            .set_num_values(self.all.rows as i64)
            .set_data_page_offset(0)
            .set_statistics(statistics.with_backwards_compatible_min_max(true).into())
            .set_definition_level_histogram(self.is_nullable().then(|| self.all.levels()))
            .build()
    }
}

/// Whether the ranges of a column's pages grow or fall, so that readers may search in them.
struct Order<V> {
    grows: bool,
    falls: bool,
    last: Range<V>,
}

impl<V> Default for Order<V> {
    fn default() -> Self {
        Order { grows: true, falls: true, last: None }
    }
}

impl<V: Copy + Ord> Order<V> {
    fn next(&mut self, (least, most): (V, V)) {
        if let Some((low, high)) = self.last {
            self.grows &= low <= least && high <= most;
            self.falls &= low >= least && high >= most;
        }
        self.last = Some((least, most));
    }

    fn name(&self) -> BoundaryOrder {
        match (self.grows, self.falls) {
            (true, _) => BoundaryOrder::ASCENDING,
            (false, true) => BoundaryOrder::DESCENDING,
            (false, false) => BoundaryOrder::UNORDERED,
        }
    }
}
