//! Column chunks of text, most of which is one of a few: names of states, kinds and notes of events. They have the bytes that
//! the Parquet library would write, to which a property holds them (`tests/chunks.rs`): each different text once, and of
//! each row its number. A chunk with many texts, or with long ones, is left to the library.

use super::hybrid::Hybrid;
use super::levels::Levels;
use super::library::Library;
use super::pages::{rows_per_page, statistics, Extent, Paged, Pages, Range};
use super::{Chunk, Rows, ROWS_TOGETHER};
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;

/// Different texts that a chunk may have here: their numbers take a byte.
const MOST: usize = 256;
/// Bytes of the longest text here: longer ones are cut short in statistics.
const LONGEST: usize = 64;

/// See the module documentation.
pub struct Texts {
    of: ColumnDescPtr,
    with: WriterPropertiesPtr,
    /// The different texts, in the order in which they came.
    texts: Vec<ByteArray>,
    /// By where a text lies in memory, the number of the last one that lay there.
    places: [u8; 32],
    /// Rows so far, and the numbers of those that have a text.
    rows: Vec<Rows>,
    numbers: Vec<u8>,
    /// Who has them all instead, once there are too many texts.
    library: Option<Box<Library<ByteArrayType>>>,
}

impl Paged for ByteArrayType {
    type Value = Bytes;
    const ENCODING: Encoding = Encoding::RLE_DICTIONARY;

    fn bytes(value: &Bytes) -> Vec<u8> {
        value.to_vec()
    }

    fn statistics(range: Range<Bytes>, nulls: u64) -> Statistics {
        let range = range.map(|(least, most)| (ByteArray::from(least), ByteArray::from(most)));
        statistics(range, nulls, false)
    }
}

impl Chunk<ByteArrayType> for Texts {
    fn begin(of: &ColumnDescPtr, with: &WriterPropertiesPtr) -> Self {
        Texts {
            of: of.clone(),
            with: with.clone(),
            texts: Vec::new(),
            places: [0; 32],
            rows: Vec::new(),
            numbers: Vec::new(),
            library: None,
        }
    }

    fn write(&mut self, values: &mut [ByteArray], rows: Rows) -> Result<()> {
        if self.library.is_none() {
            let before = self.numbers.len();
            if values.iter().all(|text| self.put(text)) {
                self.rows.push(rows);
                return Ok(());
            }
            self.numbers.truncate(before);
        }
        let library = match self.library.take() {
            Some(library) => library,
            None => Box::new(self.given_up()?),
        };
        self.library.insert(library).write(values, rows)
    }

    fn close(self) -> Result<(Vec<u8>, ColumnCloseResult)> {
        match self.library {
            Some(library) => library.close(),
            None => self.encoded(),
        }
    }
}

impl Texts {
    /// Appends a text; false if it is one too many.
    fn put(&mut self, text: &ByteArray) -> bool {
        let bytes = text.data();
        // Mostly it is a piece of memory that came before, which needs no look at what it holds.
        let place = bytes.as_ptr() as usize / 8 % self.places.len();
        let near = self.places[place];
        if self.texts.get(usize::from(near)).is_some_and(|known| std::ptr::eq(known.data(), bytes))
        {
            self.numbers.push(near);
            return true;
        }
        let number = match self.texts.iter().position(|known| known.data() == bytes) {
            Some(number) => number,
            None if self.texts.len() == MOST || bytes.len() > LONGEST => return false,
            None => {
                self.texts.push(text.clone());
                self.texts.len() - 1
            }
        };
        self.places[place] = number as u8;
        self.numbers.push(number as u8);
        true
    }

    /// The library with all rows so far.
    fn given_up(&mut self) -> Result<Library<ByteArrayType>> {
        let mut library = Library::begin(&self.of, &self.with);
        let mut numbers = self.numbers.as_slice();
        for rows in std::mem::take(&mut self.rows) {
            let (these, others) = numbers.split_at(rows.values());
            let text = |&number: &u8| self.texts[usize::from(number)].clone();
            let mut values: Vec<_> = these.iter().map(text).collect();
            library.write(&mut values, rows)?;
            numbers = others;
        }
        Ok(library)
    }

    /// The pages.
    fn encoded(self) -> Result<(Vec<u8>, ColumnCloseResult)> {
        let mut pages = Pages::<ByteArrayType>::new(&self.of);
        pages.put_dictionary(self.texts.len(), &self.dictionary())?;
        let mut numbers = self.numbers.as_slice();
        let mut known = 0;
        for rows in self.rows.chunks(rows_per_page(&self.with) / ROWS_TOGETHER) {
            let count = rows.iter().map(|rows| rows.values()).sum();
            let (these, others) = numbers.split_at(count);
            numbers = others;
            // The width of a number is that of those which are known at the end of the page.
            known = these.iter().map(|&number| usize::from(number) + 1).fold(known, usize::max);
            let bits = usize::BITS - known.saturating_sub(1).leading_zeros();
            let mut plain = Vec::new();
            if pages.is_nullable() {
                let mut levels = Levels::default();
                rows.iter().for_each(|&rows| levels.put(rows));
                levels.take(&mut plain);
            }
            plain.push(bits as u8);
            let mut hybrid = Hybrid::of_bits(bits as usize);
            hybrid.put_all(these);
            plain.append(&mut hybrid.take());
            let all = rows.iter().map(|rows| rows.count).sum();
            pages.put(self.extent(these, all), &plain)?;
        }
        pages.close()
    }

    /// Each text with its length before it.
    fn dictionary(&self) -> Vec<u8> {
        let mut plain = Vec::new();
        for text in &self.texts {
            plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
            plain.extend_from_slice(text.data());
        }
        plain
    }

    /// Nulls, range and length of a page of `rows` rows, whose texts have these numbers.
    fn extent(&self, numbers: &[u8], rows: usize) -> Extent<Bytes> {
        let mut times = [0; MOST];
        numbers.iter().for_each(|&number| times[usize::from(number)] += 1);
        let came = || self.texts.iter().zip(times).filter(|(_, times)| *times > 0);
        let least = came().map(|(text, _)| text.data()).min();
        let most = came().map(|(text, _)| text.data()).max();
        let range = least
            .zip(most)
            .map(|(least, most)| (Bytes::copy_from_slice(least), Bytes::copy_from_slice(most)));
        let text_bytes = came().map(|(text, times)| text.len() as i64 * times).sum();
        let nulls = rows - numbers.len();
        Extent { rows, nulls, range, text_bytes: Some(text_bytes) }
    }
}
