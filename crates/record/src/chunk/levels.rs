//! Which rows of a nullable column have a value: one bit a row.

use super::hybrid::Hybrid;
use super::Rows;

/// The levels of a page: whether each row has a value.
pub struct Levels(Hybrid);

impl Default for Levels {
    fn default() -> Levels {
        Levels(Hybrid::of_bits(1))
    }
}

impl Levels {
    /// Appends rows.
    pub fn put(&mut self, rows: Rows) {
        if rows.is_full() || rows.present == 0 {
            self.0.put_times(u8::from(rows.is_full()), rows.count);
        } else {
            rows.each().for_each(|level| self.0.put(u8::from(level)));
        }
    }

    /// Appends them to a page, with their length before them, and starts the next page.
    pub fn take(&mut self, page: &mut Vec<u8>) {
        let levels = self.0.take();
        page.extend_from_slice(&(levels.len() as u32).to_le_bytes());
        page.extend_from_slice(&levels);
    }
}
