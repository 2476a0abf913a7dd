//! Column chunks by the Parquet library.

use super::{Chunk, Rows, BATCH};
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// The library's writer of a column, whose pages stay in memory.
pub struct Library<T: DataType> {
    writer: ColumnWriterImpl<'static, T>,
    /// What it has not got yet, less than a batch: values, and one level a row (1 present, 0 null).
    values: Vec<T::T>,
    levels: Vec<i16>,
    pages: Pages,
}

impl<T: DataType> Library<T> {
    fn end_batch(&mut self) -> Result<()> {
        let is_nullable = self.writer.get_descriptor().max_def_level() > 0;
        let levels = is_nullable.then_some(self.levels.as_slice());
        self.writer.write_batch(&self.values, levels, None)?;
        self.values.clear();
        self.levels.clear();
        Ok(())
    }
}

impl<T: DataType> Chunk<T> for Library<T> {
    fn begin(of: &ColumnDescPtr, with: &WriterPropertiesPtr) -> Self {
        let pages = Pages::default();
        let sink = PageSink(TrackedWrite::new(pages.clone()));
        let writer = ColumnWriterImpl::new(of.clone(), with.clone(), Box::new(sink));
        Library { writer, values: Vec::new(), levels: Vec::new(), pages }
    }

    fn write(&mut self, values: &mut [T::T], rows: Rows) -> Result<()> {
        self.values.extend(values.iter_mut().map(std::mem::take));
        self.levels.extend(rows.each().map(i16::from));
        if self.levels.len() == BATCH {
            self.end_batch()?;
        }
        Ok(())
    }

    fn close(mut self) -> Result<(Vec<u8>, ColumnCloseResult)> {
        self.end_batch()?;
        let closed = self.writer.close()?;
        Ok((self.pages.take(), closed))
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
