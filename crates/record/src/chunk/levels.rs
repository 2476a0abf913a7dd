//! Which rows of a nullable column have a value: one bit a row, as runs of equal ones and packed groups of eight
//! (Parquet's [hybrid](https://parquet.apache.org/docs/file-format/data-pages/encodings/)), split as the Parquet library
//! splits them.

use super::delta::put_varint;
use super::Rows;

/// Rows of a packed group, and the shortest run.
const GROUP: usize = 8;
/// Groups of a packed run, so that its header is one byte.
const MOST_GROUPS: usize = 63;

/// The levels of a page: whether each row has a value.
#[derive(Default)]
pub struct Levels {
    encoded: Vec<u8>,
    /// A run that is not over: the level, and how often it came.
    level: bool,
    run: usize,
    /// Otherwise, groups of a packed run that is not over, and the rows of the next group.
    packed: Vec<u8>,
    group: Vec<bool>,
}

impl Levels {
    /// Appends rows.
    pub fn put(&mut self, rows: Rows) {
        let goes_on = if self.level { rows.is_full() } else { rows.present == 0 };
        if self.run > 0 && goes_on {
            self.run += rows.count;
        } else {
            rows.each().for_each(|level| self.put_one(level));
        }
    }

    fn put_one(&mut self, level: bool) {
        if self.run > 0 && level == self.level {
            self.run += 1;
            return;
        }
        self.end_run();
        self.group.push(level);
        if self.group.len() == GROUP {
            if self.is_equal() {
                self.group_to_run();
            } else {
                self.pack();
            }
        }
    }

    /// Appends them to a page, with their length before them, and starts the next page.
    pub fn take(&mut self, page: &mut Vec<u8>) {
        if self.packed.is_empty() && self.is_equal() {
            self.group_to_run();
        } else {
            self.pack();
        }
        self.end_run();
        self.end_packed();
        page.extend_from_slice(&(self.encoded.len() as u32).to_le_bytes());
        page.append(&mut self.encoded);
    }

    /// Whether all levels of the group are equal.
    fn is_equal(&self) -> bool {
        self.group.iter().all(|&level| level == self.group[0])
    }

    fn group_to_run(&mut self) {
        self.end_packed();
        if let Some(&level) = self.group.first() {
            self.level = level;
            self.run = self.group.len();
            self.group.clear();
        }
    }

    /// Packs the group, if it has rows; what lacks of the last one of a page is zero.
    fn pack(&mut self) {
        if self.group.is_empty() {
            return;
        }
        let place = |bits, (place, level): (u32, bool)| bits | u8::from(level) << place;
        self.packed.push((0..).zip(self.group.drain(..)).fold(0, place));
        if self.packed.len() == MOST_GROUPS {
            self.end_packed();
        }
    }

    fn end_run(&mut self) {
        if self.run > 0 {
            put_varint(&mut self.encoded, (self.run as u64) << 1);
            self.encoded.push(u8::from(self.level));
            self.run = 0;
        }
    }

    fn end_packed(&mut self) {
        if !self.packed.is_empty() {
            self.encoded.push((self.packed.len() as u8) << 1 | 1);
            self.encoded.append(&mut self.packed);
        }
    }
}
