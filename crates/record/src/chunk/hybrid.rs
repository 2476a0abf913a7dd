//! Small numbers as runs of equal ones and packed groups of eight: Parquet's
//! [hybrid](https://parquet.apache.org/docs/file-format/data-pages/encodings/), split as the Parquet library splits them.

use super::delta::put_varint;

/// Numbers of a packed group, and the shortest run.
const GROUP: usize = 8;
/// Groups of a packed run, so that its header is one byte.
const MOST_GROUPS: usize = 63;

/// Numbers of a page on their way to bytes.
pub struct Hybrid {
    /// Of a packed number, at most 8.
    bits: usize,
    encoded: Vec<u8>,
    /// A run that is not over: the number, and how often it came.
    number: u8,
    run: usize,
    /// Otherwise, the groups of a packed run that is not over, and the numbers of the next group.
    packed: Vec<u8>,
    groups: usize,
    group: [u8; GROUP],
    filled: usize,
}

impl Hybrid {
    /// None yet; each will be below 2 to the power of `bits`.
    pub fn of_bits(bits: usize) -> Hybrid {
        Hybrid {
            bits,
            encoded: Vec::new(),
            number: 0,
            run: 0,
            packed: Vec::new(),
            groups: 0,
            group: [0; GROUP],
            filled: 0,
        }
    }

    /// Appends a number.
    #[inline]
    pub fn put(&mut self, number: u8) {
        if self.run > 0 {
            if number == self.number {
                self.run += 1;
                return;
            }
            self.end_run();
        }
        self.group[self.filled] = number;
        self.filled += 1;
        if self.filled == GROUP {
            self.end_group();
        }
    }

    /// Appends numbers.
    pub fn put_all(&mut self, numbers: &[u8]) {
        let mut left = numbers;
        while let Some((&number, others)) = left.split_first() {
            match left.first_chunk::<GROUP>() {
                // A whole group, which is no run that goes on.
                Some(group) if self.filled == 0 && (self.run == 0 || number != self.number) => {
                    self.end_run();
                    self.group = *group;
                    self.end_group();
                    left = &left[GROUP..];
                }
                _ => {
                    self.put(number);
                    left = others;
                }
            }
        }
    }

    /// Appends one number, `times` times.
    pub fn put_times(&mut self, number: u8, times: usize) {
        for done in 0..times {
            if self.run > 0 && self.number == number {
                self.run += times - done;
                return;
            }
            self.put(number);
        }
    }

    /// All of them as bytes; the next page begins.
    pub fn take(&mut self) -> Vec<u8> {
        if self.groups == 0 && self.is_equal() {
            self.group_to_run();
        } else {
            self.pack();
        }
        self.end_run();
        self.end_packed();
        std::mem::take(&mut self.encoded)
    }

    /// The group is full.
    #[inline]
    fn end_group(&mut self) {
        self.filled = GROUP;
        if self.group == [self.group[0]; GROUP] {
            self.group_to_run();
        } else {
            self.pack();
        }
    }

    /// Whether all numbers of the group are equal.
    fn is_equal(&self) -> bool {
        self.group[..self.filled].iter().all(|&number| number == self.group[0])
    }

    fn group_to_run(&mut self) {
        self.end_packed();
        if self.filled > 0 {
            self.number = self.group[0];
            self.run = std::mem::take(&mut self.filled);
        }
    }

    /// Packs the group, if it has numbers; what lacks of the last one of a page is zero.
    fn pack(&mut self) {
        if self.filled == 0 {
            return;
        }
        self.group[self.filled..].fill(0);
        self.filled = 0;
        let place = |all, (number, place)| all | u64::from(number) << (place * self.bits);
        let all = self.group.into_iter().zip(0..GROUP).fold(0, place);
        self.packed.extend_from_slice(&all.to_le_bytes()[..self.bits]);
        self.groups += 1;
        if self.groups == MOST_GROUPS {
            self.end_packed();
        }
    }

    fn end_run(&mut self) {
        if self.run > 0 {
            put_varint(&mut self.encoded, (self.run as u64) << 1);
            // None where all numbers are zero.
            self.encoded.extend((self.bits > 0).then_some(self.number));
            self.run = 0;
        }
    }

    fn end_packed(&mut self) {
        if self.groups > 0 {
            self.encoded.push((self.groups as u8) << 1 | 1);
            self.encoded.append(&mut self.packed);
            self.groups = 0;
        }
    }
}
