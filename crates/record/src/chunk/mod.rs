//! A column of one row group on its way to bytes: whoever encodes it takes the values batch by batch, while they are in the
//! cache of the processor's core, and keeps the encoded pages until the row group is full.
//!
//! | module | what |
//! | --- | --- |
//! | [`library`] | any column, by the Parquet library |
//! | [`integers`] | columns of integers, faster than by the library and with the same bytes |
//! | [`texts`] | the same of columns of few texts |
//! | [`pages`] | the pages of these two |
//! | [`delta`] | integers as bit-packed differences |
//! | [`hybrid`] | small numbers as runs and packed groups |
//! | [`levels`] | which rows of a nullable column have a value |

use parquet::basic::Encoding;
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::schema::types::ColumnDescPtr;

pub mod delta;
pub mod hybrid;
pub mod integers;
pub mod levels;
pub mod library;
pub mod pages;
pub mod texts;

/// Rows whose cells of one column are encoded together.
pub const ROWS_TOGETHER: usize = 64;

/// Rows after which whoever encodes looks for the end of a page. The library does so by itself in what it is given at once,
/// so that pages are those of one write of the whole row group.
const BATCH: usize = 1024;

/// Some rows of a column, one after the other: which of them have a value.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// At most [`ROWS_TOGETHER`].
    pub count: usize,
    /// One bit a row, the lowest first; all of them where the column is not nullable.
    pub present: u64,
}

impl Rows {
    /// `count` rows without a null.
    pub fn full(count: usize) -> Rows {
        Rows { count, present: u64::MAX.unbounded_shr((ROWS_TOGETHER - count) as u32) }
    }

    /// Whether none of them is null.
    pub fn is_full(self) -> bool {
        self.present == Rows::full(self.count).present
    }

    /// How many of them have a value.
    pub fn values(self) -> usize {
        self.present.count_ones() as usize
    }

    /// Whether each of them has a value.
    pub fn each(self) -> impl Iterator<Item = bool> {
        (0..self.count).map(move |row| self.present >> row & 1 == 1)
    }
}

/// The pages of one column in one row group.
pub trait Chunk<T: DataType>: Sized + Send {
    /// One without rows, for the column and the properties of its file.
    fn begin(of: &ColumnDescPtr, with: &WriterPropertiesPtr) -> Self;

    /// Takes the values that are there of [`ROWS_TOGETHER`] rows, or of what is left of a row group.
    fn write(&mut self, values: &mut [T::T], rows: Rows) -> Result<()>;

    /// Its bytes, and what the end of the file says of it.
    fn close(self) -> Result<(Vec<u8>, ColumnCloseResult)>;
}

/// A Parquet type that cells are stored as.
pub trait Stored: DataType + Sized {
    /// What encodes it.
    type Chunk: Chunk<Self>;
    /// How; `None` is a dictionary, which suits text and the few distinct gains of a controller. Differences are small where
    /// counters and times grow.
    const ENCODING: Option<Encoding>;
}

impl Stored for Int32Type {
    type Chunk = integers::Integers<Int32Type>;
    const ENCODING: Option<Encoding> = Some(Encoding::DELTA_BINARY_PACKED);
}

impl Stored for Int64Type {
    type Chunk = integers::Integers<Int64Type>;
    const ENCODING: Option<Encoding> = Some(Encoding::DELTA_BINARY_PACKED);
}

impl Stored for DoubleType {
    type Chunk = library::Library<DoubleType>;
    const ENCODING: Option<Encoding> = None;
}

impl Stored for ByteArrayType {
    type Chunk = texts::Texts;
    const ENCODING: Option<Encoding> = None;
}
