//! One column of a row group: values and, when the column is nullable, which of them are there.

use crate::schema::EventKind;
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::{SerializedColumnWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
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

/// The rows of one column since the last row group.
pub struct Column<C: Cell> {
    values: Vec<<C::Stored as DataType>::T>,
    /// One definition level a row (1 present, 0 null); empty when the column is not nullable.
    levels: Vec<i16>,
}

impl<C: Cell> Default for Column<C> {
    fn default() -> Column<C> {
        Column { values: Vec::new(), levels: Vec::new() }
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

    /// Writes the column as the next one of `group` and empties it, keeping its memory.
    pub fn flush<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let mut writer: SerializedColumnWriter<'_> =
            group.next_column()?.expect("the schema has one column per field of the row");
        let typed: &mut ColumnWriterImpl<'_, C::Stored> = writer.typed::<C::Stored>();
        let levels = C::NULLABLE.then_some(self.levels.as_slice());
        typed.write_batch(&self.values, levels, None)?;
        writer.close()?;
        self.values.clear();
        self.levels.clear();
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
