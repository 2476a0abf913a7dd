//! What a cell of a table may be, and how Parquet stores it.

use crate::chunk::Stored;
use crate::schema::EventKind;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// A Rust type that a column can hold.
pub trait Cell {
    /// The Parquet type that stores it.
    type Stored: Stored;
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
