//! Rows into row groups into a Parquet file. A table is a row struct declared by [`table!`](crate::table!).

use crate::{RecordError, SCHEMA_VERSION};
use parquet::basic::{Compression, Encoding};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that go to a file together.
const PIECE: usize = 65_536;
/// Rows that wait to be encoded. What encodes them and what it needs drive the engine's code and state out of a processor's
/// first caches, so it runs seldom.
pub const ROWS_BUFFERED: usize = 512;
/// Rows of a row group, which waits in memory, encoded and compressed; fewer would cost readers more row groups.
pub const ROWS_PER_GROUP: usize = 65_536;

/// What a column means, for the reference in `docs/results.md`.
pub struct ColumnDoc {
    pub name: &'static str,
    /// Name of the Parquet type.
    pub kind: &'static str,
    pub nullable: bool,
    /// Unit of the value; `-` for text and numbers of things without one.
    pub unit: &'static str,
    pub doc: &'static str,
}

/// A row type with its schema. Implemented by [`table!`](crate::table!) only.
pub trait Table {
    /// File name without `.parquet`.
    const NAME: &'static str;
    /// What one row is.
    const DOC: &'static str;
    /// The columns in file order.
    const COLUMNS: &'static [ColumnDoc];
    /// Buffers of the columns.
    type Columns: Default + Send;
    /// The schema nodes in file order.
    fn nodes() -> ParquetResult<Vec<Arc<Type>>>;
    /// The encodings in file order; `None` is a dictionary.
    fn encodings() -> Vec<Option<Encoding>>;
    /// Stores this row in the buffers as number `row` of those that are not encoded yet.
    fn append(&self, columns: &mut Self::Columns, row: usize);
    /// The row whose cells these are, by column; a column may be missing where it may be null.
    ///
    /// # Errors
    /// The name of a column that is missing or of another type.
    fn read<'a>(cell: &dyn Fn(&str) -> Option<&'a Value>) -> Result<Self, &'static str>
    where
        Self: Sized;
    /// Encodes the first `rows` rows of the buffers: [`ROWS_BUFFERED`] of them, or fewer at the end of a row group.
    fn encode(
        columns: &mut Self::Columns,
        rows: usize,
        file: &SerializedFileWriter<Sink>,
    ) -> ParquetResult<()>;
    /// Writes all that is encoded as one row group.
    fn flush(
        columns: &mut Self::Columns,
        group: &mut SerializedRowGroupWriter<'_, Sink>,
    ) -> ParquetResult<()>;
}

/// Declares a row struct, its column buffers and its schema in one place.
///
/// Each field is `/// meaning`, `name: type [unit]`. The type is a [`Cell`](crate::cell::Cell).
#[macro_export]
macro_rules! table {
    (
        $(#[doc = $row_doc:literal])+
        $row:ident, $columns:ident = $file:literal {
            $( $(#[doc = $doc:literal])+ $name:ident: $cell:ty [$unit:literal], )+
        }
    ) => {
        $(#[doc = $row_doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $row {
            $( $(#[doc = $doc])+ #[doc = concat!(" Unit: ", $unit, ".")] pub $name: $cell, )+
        }

        #[doc = concat!("Column buffers of [`", stringify!($row), "`].")]
        #[derive(Default)]
        pub struct $columns {
            $( $name: $crate::column::Column<$cell>, )+
        }

        impl $crate::table::Table for $row {
            const NAME: &'static str = $file;
            const DOC: &'static str = concat!($($row_doc),+);
            const COLUMNS: &'static [$crate::table::ColumnDoc] = &[
                $( $crate::table::ColumnDoc {
                    name: stringify!($name),
                    kind: <$cell as $crate::cell::Cell>::NAME,
                    nullable: <$cell as $crate::cell::Cell>::NULLABLE,
                    unit: $unit,
                    doc: concat!($($doc),+),
                }, )+
            ];
            type Columns = $columns;

            fn nodes() -> parquet::errors::Result<Vec<std::sync::Arc<parquet::schema::types::Type>>> {
                Ok(vec![ $( $crate::column::shared::<$cell>(stringify!($name))?, )+ ])
            }

            fn encodings() -> Vec<Option<parquet::basic::Encoding>> {
                vec![ $( <<$cell as $crate::cell::Cell>::Stored as $crate::chunk::Stored>::ENCODING, )+ ]
            }

            #[inline]
            fn append(&self, columns: &mut $columns, row: usize) {
                $( columns.$name.set(row, &self.$name); )+
            }

            fn read<'a>(
                cell: &dyn Fn(&str) -> Option<&'a serde_json::Value>,
            ) -> Result<$row, &'static str> {
                Ok($row {
                    $( $name: <$cell as $crate::cell::Cell>::read(cell(stringify!($name)))
                        .ok_or(stringify!($name))?, )+
                })
            }

            fn encode(
                columns: &mut $columns,
                rows: usize,
                file: &parquet::file::writer::SerializedFileWriter<$crate::table::Sink>,
            ) -> parquet::errors::Result<()> {
                let mut described = file.schema_descr().columns().iter();
                $( {
                    let of = described.next().expect("the schema has one column per field of the row");
                    columns.$name.encode(rows, of, file.properties())?;
                } )+
                Ok(())
            }

            fn flush(
                columns: &mut $columns,
                group: &mut parquet::file::writer::SerializedRowGroupWriter<'_, $crate::table::Sink>,
            ) -> parquet::errors::Result<()> {
                $( columns.$name.flush(group)?; )+
                Ok(())
            }
        }
    };
}

/// A file that gets its bytes in few pieces: Parquet's writer flushes after every column, and a short run has 75.
pub struct Sink(BufWriter<File>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    /// What is left goes to the file when the table is finished.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One table on its way to its file.
pub struct TableWriter<R: Table> {
    path: PathBuf,
    /// A table that is off drops its rows.
    on: bool,
    columns: Box<R::Columns>,
    /// Rows of the row group in progress: not encoded yet, and encoded.
    buffered: usize,
    encoded: usize,
    file: SerializedFileWriter<Sink>,
    /// The first error; once it is there nothing more is written.
    failed: Option<ParquetError>,
}

impl<R: Table> TableWriter<R> {
    /// Creates `dir/NAME.parquet`. Rows are kept only if `on`.
    ///
    /// # Errors
    /// [`RecordError::Io`] when the file cannot be created.
    pub fn create(dir: &Path, on: bool) -> Result<TableWriter<R>, RecordError> {
        let path = dir.join(format!("{}.parquet", R::NAME));
        let file =
            File::create(&path).map_err(|source| RecordError::Io { path: path.clone(), source })?;
        let file = open::<R>(file)
            .map_err(|source| RecordError::Parquet { path: path.clone(), source })?;
        Ok(TableWriter {
            path,
            on,
            columns: Box::default(),
            buffered: 0,
            encoded: 0,
            file,
            failed: None,
        })
    }

    /// Appends one row. Never fails; see the crate's contracts.
    #[inline]
    pub fn push(&mut self, row: &R) {
        if !self.on {
            return;
        }
        row.append(&mut self.columns, self.buffered);
        self.buffered += 1;
        if self.buffered == ROWS_BUFFERED {
            self.encode();
        }
    }

    /// Encodes the rows that are not; the last ones of a row group are followed by writing that.
    #[cold]
    fn encode(&mut self) {
        let rows = std::mem::take(&mut self.buffered);
        if self.failed.is_some() {
            return;
        }
        self.failed = R::encode(&mut self.columns, rows, &self.file).err();
        self.encoded += rows;
        if self.encoded == ROWS_PER_GROUP {
            self.flush();
        }
        // Rows that cannot be written any more would fill the memory.
        self.on = self.failed.is_none();
    }

    /// Writes the rows, all of which are encoded, as one row group.
    fn flush(&mut self) {
        self.encoded = 0;
        if self.failed.is_some() {
            return;
        }
        let (file, columns) = (&mut self.file, &mut self.columns);
        let done = file.next_row_group().and_then(|mut group| {
            R::flush(columns, &mut group)?;
            group.close().map(|_| ())
        });
        self.failed = done.err();
    }

    /// Writes what is buffered and closes the file.
    ///
    /// # Errors
    /// The first error since the file was created.
    pub fn finish(mut self) -> Result<(), RecordError> {
        if self.buffered > 0 {
            self.encode();
        }
        if self.encoded > 0 {
            self.flush();
        }
        let closed = match self.failed {
            Some(source) => Err(source),
            None => self.file.into_inner().and_then(|mut sink| Ok(sink.0.flush()?)),
        };
        closed.map_err(|source| RecordError::Parquet { path: self.path, source })
    }
}

/// Starts a Parquet file with the schema of `R`.
fn open<R: Table>(file: File) -> ParquetResult<SerializedFileWriter<Sink>> {
    let schema = Type::group_type_builder(R::NAME).with_fields(R::nodes()?).build()?;
    let version = KeyValue::new("schema_version".to_string(), SCHEMA_VERSION.to_string());
    let mut properties = WriterProperties::builder()
        .set_created_by("dumbbell".to_string())
        .set_key_value_metadata(Some(vec![version]))
        .set_compression(Compression::SNAPPY);
    for (column, encoding) in R::COLUMNS.iter().zip(R::encodings()) {
        if let Some(encoding) = encoding {
            let path = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, encoding);
        }
    }
    SerializedFileWriter::new(
        Sink(BufWriter::with_capacity(PIECE, file)),
        Arc::new(schema),
        Arc::new(properties.build()),
    )
}
