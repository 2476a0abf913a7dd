//! One column of a row group: values and, when the column is nullable, which of them are there.

use crate::schema::EventKind;
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, Type};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// A Rust type that a column can hold.
pub trait Cell {
    /// The Parquet type that stores it.
    type Stored: DataType;
    /// Whether the column may hold nulls.
    const NULLABLE: bool = false;
    /// Name of the type in `docs/results.md`.
    const NAME: &'static str;
    /// The value to store; `None` is null.
    fn store(&self) -> Option<<Self::Stored as DataType>::T>;
    /// The cell for a JSON value; `None` if the value has another type or is missing.
    fn read(value: Option<&Value>) -> Option<Self>
    where
        Self: Sized;
}

impl Cell for i32 {
    type Stored = Int32Type;
    const NAME: &'static str = "int32";
    #[inline]
    fn store(&self) -> Option<i32> {
        Some(*self)
    }
    fn read(value: Option<&Value>) -> Option<i32> {
        value?.as_i64()?.try_into().ok()
    }
}

impl Cell for i64 {
    type Stored = Int64Type;
    const NAME: &'static str = "int64";
    #[inline]
    fn store(&self) -> Option<i64> {
        Some(*self)
    }
    fn read(value: Option<&Value>) -> Option<i64> {
        value?.as_i64()
    }
}

impl Cell for f64 {
    type Stored = DoubleType;
    const NAME: &'static str = "double";
    #[inline]
    fn store(&self) -> Option<f64> {
        Some(*self)
    }
    fn read(value: Option<&Value>) -> Option<f64> {
        value?.as_f64()
    }
}

/// Static text is stored by reference: nothing is copied per row.
impl Cell for &'static str {
    type Stored = ByteArrayType;
    const NAME: &'static str = "utf8";
    #[inline]
    fn store(&self) -> Option<ByteArray> {
        Some(ByteArray::from(parquet_bytes(self)))
    }
    fn read(value: Option<&Value>) -> Option<&'static str> {
        value?.as_str().map(interned)
    }
}

impl Cell for String {
    type Stored = ByteArrayType;
    const NAME: &'static str = "utf8";
    fn store(&self) -> Option<ByteArray> {
        Some(ByteArray::from(self.as_str()))
    }
    fn read(value: Option<&Value>) -> Option<String> {
        value?.as_str().map(str::to_string)
    }
}

impl Cell for EventKind {
    type Stored = ByteArrayType;
    const NAME: &'static str = "utf8";
    #[inline]
    fn store(&self) -> Option<ByteArray> {
        self.as_str().store()
    }
    fn read(value: Option<&Value>) -> Option<EventKind> {
        let text = value?.as_str()?;
        EventKind::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl<C: Cell> Cell for Option<C> {
    type Stored = C::Stored;
    const NULLABLE: bool = true;
    const NAME: &'static str = C::NAME;
    #[inline]
    fn store(&self) -> Option<<C::Stored as DataType>::T> {
        self.as_ref().and_then(Cell::store)
    }
    fn read(value: Option<&Value>) -> Option<Option<C>> {
        match value {
            None | Some(Value::Null) => Some(None),
            some => C::read(some).map(Some),
        }
    }
}

/// A text that lasts as long as the process; each different one is kept once.
fn interned(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    match kept.get(text) {
        Some(&found) => found,
        None => {
            let made: &'static str = Box::leak(text.into());
            kept.insert(made);
            made
        }
    }
}

#[inline]
fn parquet_bytes(text: &'static str) -> bytes::Bytes {
    bytes::Bytes::from_static(text.as_bytes())
}

/// Rows that are encoded together. The writer looks for the end of a page after as many values, so that pages are those of
/// one write of the whole row group.
pub const BATCH: usize = 1024;

/// The rows of one column since the last row group: those of a batch that is not full, and pages of the ones before, which
/// are encoded while the run goes on, as long as they are in the cache of the processor's core.
pub struct Column<C: Cell> {
    values: Vec<<C::Stored as DataType>::T>,
    /// One definition level a row (1 present, 0 null); empty when the column is not nullable.
    levels: Vec<i16>,
    /// From the first batch of a row group to its end.
    writer: Option<ColumnWriterImpl<'static, C::Stored>>,
    pages: Pages,
}

impl<C: Cell> Default for Column<C> {
    fn default() -> Column<C> {
        Column { values: Vec::new(), levels: Vec::new(), writer: None, pages: Pages::default() }
    }
}

impl<C: Cell> Column<C> {
    /// Appends one row.
    #[inline]
    pub fn push(&mut self, cell: &C) {
        let stored = cell.store();
        if C::NULLABLE {
            self.levels.push(i16::from(stored.is_some()));
        }
        if let Some(value) = stored {
            self.values.push(value);
        }
    }

    /// Encodes the rows that were appended since the last time: [`BATCH`] of them, or what is left of a row group.
    pub fn encode(&mut self, of: &ColumnDescPtr, with: &WriterPropertiesPtr) -> Result<()> {
        let writer = self.writer.get_or_insert_with(|| {
            let sink = TrackedWrite::new(self.pages.clone());
            ColumnWriterImpl::new(of.clone(), with.clone(), Box::new(PageSink(sink)))
        });
        let levels = C::NULLABLE.then_some(self.levels.as_slice());
        writer.write_batch(&self.values, levels, None)?;
        self.values.clear();
        self.levels.clear();
        Ok(())
    }

    /// Writes the column, which is encoded, as the next one of `group` and empties it.
    pub fn flush<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let writer = self.writer.take().expect("a row group has rows, which are encoded");
        let closed = writer.close()?;
        group.append_column(&bytes::Bytes::from(self.pages.take()), closed)
    }
}

/// The pages of a column, shared by the column and its writer.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<Vec<u8>>>);

impl Pages {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Pages {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes pages as into a file; the library's own writer of pages lives no longer than a borrow of the file.
struct PageSink(TrackedWrite<Pages>);

impl PageWriter for PageSink {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec> {
        SerializedPageWriter::new(&mut self.0).write_page(page)
    }

    fn close(&mut self) -> Result<()> {
        self.0.flush()?;
        Ok(())
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

/// How a column of type `C` is encoded: integers as bit-packed differences (counters and times cost
/// little then); `None` for what a dictionary suits, text and the few distinct gains of a controller.
pub fn encoding<C: Cell>() -> Option<Encoding> {
    match <C::Stored as DataType>::get_physical_type() {
        Physical::INT32 | Physical::INT64 => Some(Encoding::DELTA_BINARY_PACKED),
        _ => None,
    }
}

/// A schema node in the pointer type that Parquet's builders take.
pub(crate) fn shared<C: Cell>(name: &str) -> Result<Arc<Type>> {
    node::<C>(name).map(Arc::new)
}
