//! The pages of a column chunk that we encode ourselves, and what the end of the file says of them: the same as the Parquet
//! library says of a file as `table.rs` opens it, with Snappy, pages of the first version, and statistics.

use super::BATCH;
use parquet::basic::{BoundaryOrder, Compression, Encoding, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, LevelHistogram, OffsetIndexBuilder, PageEncodingStats,
};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// The least and the largest of some values; none of none.
pub type Range<V> = Option<(V, V)>;

/// A Parquet type of which we encode columns.
pub trait Paged: DataType {
    /// A value, in the order of the type.
    type Value: Clone + Ord;
    /// How a page holds them.
    const ENCODING: Encoding;
    /// A value as statistics have it.
    fn bytes(value: &Self::Value) -> Vec<u8>;
    /// Statistics of a whole chunk, from its smallest and largest value and its number of nulls.
    fn statistics(range: Range<Self::Value>, nulls: u64) -> Statistics;
}

/// Rows of a page or of a whole chunk.
#[derive(Clone)]
pub struct Extent<V> {
    pub rows: usize,
    pub nulls: usize,
    /// Of the values that are there.
    pub range: Range<V>,
    /// Bytes of the values that are there, where these are text.
    pub text_bytes: Option<i64>,
}

impl<V: Clone + Ord> Extent<V> {
    pub const NONE: Self = Extent { rows: 0, nulls: 0, range: None, text_bytes: None };

    pub fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.nulls += other.nulls;
        self.range = match (self.range.take(), other.range) {
            (Some((least, most)), Some((low, high))) => Some((least.min(low), most.max(high))),
            (one, other) => one.or(other),
        };
        let sum = |bytes| self.text_bytes.unwrap_or(0) + bytes;
        self.text_bytes = other.text_bytes.map(sum).or(self.text_bytes);
    }

    /// Rows by level: 0 is a null.
    fn levels(&self) -> LevelHistogram {
        LevelHistogram::from(vec![self.nulls as i64, (self.rows - self.nulls) as i64])
    }
}

/// See the module documentation.
pub struct Pages<T: Paged> {
    of: ColumnDescPtr,
    written: TrackedWrite<Vec<u8>>,
    all: Extent<T::Value>,
    /// Length of the dictionary with its header, of columns that have one.
    dictionary: Option<usize>,
    count: i32,
    /// Bytes of the pages with their headers, before compression.
    uncompressed: usize,
    column_index: ColumnIndexBuilder,
    offset_index: OffsetIndexBuilder,
    order: Order<T::Value>,
}

/// After how many rows a page ends: the library looks after each batch.
pub fn rows_per_page(with: &WriterPropertiesPtr) -> usize {
    with.data_page_row_count_limit().next_multiple_of(BATCH)
}

impl<T: Paged> Pages<T> {
    /// None yet.
    pub fn new(of: &ColumnDescPtr) -> Pages<T> {
        Pages {
            of: of.clone(),
            written: TrackedWrite::new(Vec::new()),
            all: Extent::NONE,
            dictionary: None,
            count: 0,
            uncompressed: 0,
            column_index: ColumnIndexBuilder::new(of.physical_type()),
            offset_index: OffsetIndexBuilder::new(),
            order: Order::default(),
        }
    }

    pub fn is_nullable(&self) -> bool {
        self.of.max_def_level() > 0
    }

    /// Writes the page of the values that the others refer to by number; it is the first.
    pub fn put_dictionary(&mut self, values: usize, plain: &[u8]) -> Result<()> {
        let buf = compressed(plain)?.into();
        let num_values = values as u32;
        let page =
            Page::DictionaryPage { buf, num_values, encoding: Encoding::PLAIN, is_sorted: false };
        let page = CompressedPage::new(page, plain.len());
        let done = SerializedPageWriter::new(&mut self.written).write_page(page)?;
        self.uncompressed += done.uncompressed_size;
        self.dictionary = Some(done.compressed_size);
        Ok(())
    }

    /// Writes the next page: its levels where the column is nullable, and its values.
    pub fn put(&mut self, page: Extent<T::Value>, plain: &[u8]) -> Result<()> {
        let data = Page::DataPage {
            buf: compressed(plain)?.into(),
            num_values: page.rows as u32,
            encoding: T::ENCODING,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        self.note(page);
        let data = CompressedPage::new(data, plain.len());
        let done = SerializedPageWriter::new(&mut self.written).write_page(data)?;
        self.uncompressed += done.uncompressed_size;
        self.offset_index.append_offset_and_size(done.offset as i64, done.compressed_size as i32);
        Ok(())
    }

    /// Notes in the indices what a page has.
    fn note(&mut self, page: Extent<T::Value>) {
        self.count += 1;
        self.all.add(page.clone());
        let (least, most) = match &page.range {
            Some((least, most)) => (T::bytes(least), T::bytes(most)),
            None => Default::default(),
        };
        self.column_index.append(page.range.is_none(), least, most, page.nulls as i64, None);
        let levels = self.is_nullable().then(|| page.levels());
        self.column_index.append_histograms(&None, &levels);
        self.offset_index.append_row_count(page.rows as i64);
        self.offset_index.append_unencoded_byte_array_data_bytes(page.text_bytes);
        if let Some(range) = page.range {
            self.order.next(range);
        }
    }

    /// The bytes of all pages, and what the end of the file says of them.
    pub fn close(mut self) -> Result<(Vec<u8>, ColumnCloseResult)> {
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

    fn metadata(&self) -> Result<ColumnChunkMetaData> {
        let page = PageEncodingStats {
            page_type: PageType::DATA_PAGE,
            encoding: T::ENCODING,
            count: self.count,
        };
        let dictionary = self.dictionary.map(|_| PageEncodingStats {
            page_type: PageType::DICTIONARY_PAGE,
            encoding: Encoding::PLAIN,
            count: 1,
        });
        let plain = dictionary.as_ref().map(|dictionary| dictionary.encoding);
        let encodings = plain.into_iter().chain([Encoding::RLE, T::ENCODING]).collect();
        let range = self.all.range.clone();
        ColumnChunkMetaData::builder(self.of.clone())
            .set_compression(Compression::SNAPPY)
            .set_encodings(encodings)
            .set_page_encoding_stats(dictionary.into_iter().chain([page]).collect())
            .set_total_compressed_size(self.written.bytes_written() as i64)
            .set_total_uncompressed_size(self.uncompressed as i64)
            .set_num_values(self.all.rows as i64)
            .set_data_page_offset(self.dictionary.unwrap_or(0) as i64)
            .set_dictionary_page_offset(self.dictionary.map(|_| 0))
            .set_statistics(T::statistics(range, self.all.nulls as u64))
            .set_unencoded_byte_array_data_bytes(self.all.text_bytes)
            .set_definition_level_histogram(self.is_nullable().then(|| self.all.levels()))
            .build()
    }
}

/// The statistics of a chunk; older readers know those of signed numbers in another place, too.
pub fn statistics<V>(range: Range<V>, nulls: u64, is_signed: bool) -> Statistics
where
    V: parquet::data_type::AsBytes,
    ValueStatistics<V>: Into<Statistics>,
{
    let (least, most) = range.unzip();
    ValueStatistics::new(least, most, None, Some(nulls), false)
        .with_backwards_compatible_min_max(is_signed)
        .into()
}

fn compressed(plain: &[u8]) -> Result<Vec<u8>> {
    let compressed = snap::raw::Encoder::new().compress_vec(plain);
    compressed.map_err(|source| ParquetError::External(Box::new(source)))
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

impl<V: Ord> Order<V> {
    fn next(&mut self, (least, most): (V, V)) {
        if let Some((low, high)) = &self.last {
            self.grows &= *low <= least && *high <= most;
            self.falls &= *low >= least && *high >= most;
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
