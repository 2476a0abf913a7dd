//! Integers as bit-packed differences: `DELTA_BINARY_PACKED` of Parquet's
//! [encodings](https://parquet.apache.org/docs/file-format/data-pages/encodings/), in the layout that the Parquet library
//! writes.

use super::pages::Range;
use parquet::data_type::{DataType, Int32Type, Int64Type};

/// Miniblocks of a block, each of which has a width of its own.
const MINIBLOCKS: usize = 4;

/// A Parquet type of integers, with the arithmetic of its width: differences wrap around.
pub trait Integer: DataType<T: Copy + Ord> {
    /// Values of a miniblock.
    const MINIBLOCK: usize;
    fn minus(left: Self::T, right: Self::T) -> i64;
    /// A difference less the smallest one of its block.
    fn above(difference: i64, least: i64) -> i64;
    /// As a signed number of 64 bits.
    fn wide(value: Self::T) -> i64;
}

impl Integer for Int32Type {
    const MINIBLOCK: usize = 32;

    #[inline(always)]
    fn minus(left: i32, right: i32) -> i64 {
        i64::from(left.wrapping_sub(right))
    }

    #[inline(always)]
    fn above(difference: i64, least: i64) -> i64 {
        i64::from(difference.wrapping_sub(least) as u32)
    }

    fn wide(value: i32) -> i64 {
        i64::from(value)
    }
}

impl Integer for Int64Type {
    const MINIBLOCK: usize = 64;

    #[inline(always)]
    fn minus(left: i64, right: i64) -> i64 {
        left.wrapping_sub(right)
    }

    #[inline(always)]
    fn above(difference: i64, least: i64) -> i64 {
        difference.wrapping_sub(least)
    }

    fn wide(value: i64) -> i64 {
        value
    }
}

/// The values of a page.
pub struct Deltas<T: Integer> {
    /// Values so far, and the first and the last of them.
    count: usize,
    ends: Option<(T::T, T::T)>,
    /// Differences of the block in progress, as many as `filled`, and the smallest of them.
    differences: Box<[i64]>,
    filled: usize,
    least: i64,
    /// The blocks before it.
    blocks: Vec<u8>,
}

impl<T: Integer> Default for Deltas<T> {
    fn default() -> Self {
        let differences = vec![0; Self::BLOCK].into_boxed_slice();
        Deltas { count: 0, ends: None, differences, filled: 0, least: i64::MAX, blocks: Vec::new() }
    }
}

impl<T: Integer> Deltas<T> {
    /// Differences of a block.
    const BLOCK: usize = MINIBLOCKS * T::MINIBLOCK;

    /// Appends values; returns their range.
    pub fn put(&mut self, values: &[T::T]) -> Range<T::T> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: this processor has these instructions.
            return unsafe { self.put_by_fours(values) };
        }
        self.put_any(values)
    }

    /// The same with instructions for four values at a time, which most processors have, but not all.
    ///
    /// # Safety
    /// The processor has AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn put_by_fours(&mut self, values: &[T::T]) -> Range<T::T> {
        self.put_any(values)
    }

    /// The same with the instructions of whoever calls it: it is compiled once for each.
    #[inline(always)]
    fn put_any(&mut self, values: &[T::T]) -> Range<T::T> {
        let (&first, &last) = (values.first()?, values.last()?);
        let mut range = (first, first);
        for &value in values {
            range = (range.0.min(value), range.1.max(value));
        }
        let begin = match self.ends {
            None => first,
            Some((begin, before)) => {
                self.add(&[before, first]);
                begin
            }
        };
        self.add(values);
        self.count += values.len();
        self.ends = Some((begin, last));
        Some(range)
    }

    /// Appends the differences between these values, and packs each block that is full.
    #[inline(always)]
    fn add(&mut self, mut values: &[T::T]) {
        while values.len() > 1 {
            let free = &mut self.differences[self.filled..];
            let count = free.len().min(values.len() - 1);
            for ((difference, &one), &next) in free.iter_mut().zip(values).zip(&values[1..]) {
                *difference = T::minus(next, one);
            }
            self.least = free[..count].iter().fold(self.least, |least, &one| least.min(one));
            self.filled += count;
            values = &values[count..];
            if self.filled == Self::BLOCK {
                self.end_block();
            }
        }
    }

    /// Appends the page's bytes and starts the next page.
    pub fn take(&mut self, page: &mut Vec<u8>) {
        self.end_block();
        put_varint(page, Self::BLOCK as u64);
        put_varint(page, MINIBLOCKS as u64);
        put_varint(page, self.count as u64);
        put_zigzag(page, self.ends.map_or(0, |(first, _)| T::wide(first)));
        page.append(&mut self.blocks);
        self.count = 0;
        self.ends = None;
    }

    /// Packs the block in progress: each difference, less the smallest of the block, in as many bits as the largest of its
    /// miniblock needs.
    #[inline(always)]
    fn end_block(&mut self) {
        if self.filled == 0 {
            return;
        }
        let least = std::mem::replace(&mut self.least, i64::MAX);
        put_zigzag(&mut self.blocks, least);
        let widths_at = self.blocks.len();
        self.blocks.resize(widths_at + MINIBLOCKS, 0);
        // What lacks of the last miniblock is zero when it is packed.
        let whole = self.filled.next_multiple_of(T::MINIBLOCK);
        self.differences[self.filled..whole].fill(least);
        let miniblocks = self.differences[..whole].chunks_exact_mut(T::MINIBLOCK);
        for (width_at, miniblock) in (widths_at..).zip(miniblocks) {
            let mut bits = 0;
            for difference in miniblock.iter_mut() {
                *difference = T::above(*difference, least);
                bits |= *difference;
            }
            let width = u64::BITS - bits.leading_zeros();
            self.blocks[width_at] = width as u8;
            pack(&mut self.blocks, miniblock, width);
        }
        self.filled = 0;
    }
}

/// Appends the values of a miniblock, each of `width` bits, the lowest bit first. Narrow ones are joined before.
fn pack(to: &mut Vec<u8>, values: &[i64], width: u32) {
    let join =
        |some: &[i64]| some.iter().rev().fold(0, |all: i64, one| all.wrapping_shl(width) | one);
    match width {
        0 => {}
        1..=16 => pack_words(to, values.chunks_exact(4).map(join), 4 * width),
        17..=32 => pack_words(to, values.chunks_exact(2).map(join), 2 * width),
        _ => pack_words(to, values.iter().copied(), width),
    }
}

/// The same of 64 bits or less each.
#[inline(always)]
fn pack_words(to: &mut Vec<u8>, words: impl ExactSizeIterator<Item = i64>, width: u32) {
    let end = to.len() + words.len() * width as usize / 8;
    to.reserve(end - to.len() + 8);
    let (mut next, mut filled) = (0, 0);
    for word in words.map(i64::cast_unsigned) {
        next |= word.wrapping_shl(filled);
        filled += width;
        if filled >= u64::BITS {
            to.extend_from_slice(&u64::to_le_bytes(next));
            filled -= u64::BITS;
            next = word.unbounded_shr(width - filled);
        }
    }
    to.extend_from_slice(&next.to_le_bytes());
    to.truncate(end);
}

/// Appends a number in groups of seven bits, the lowest first (ULEB128).
pub fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// The same of a signed number, small ones of both signs in few bytes.
fn put_zigzag(to: &mut Vec<u8>, value: i64) {
    put_varint(to, ((value << 1) ^ (value >> 63)) as u64);
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// A page of values of all sizes, in pieces of up to 64.
    fn page(
        put: impl Fn(&mut Deltas<Int64Type>, &[i64]) -> Range<i64>,
    ) -> (Vec<u8>, Vec<Range<i64>>) {
        let nth = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 64)).cast_signed();
        let values: Vec<i64> = (0..2_000).map(nth).chain([i64::MIN, i64::MAX, 0]).collect();
        let (mut deltas, mut bytes) = (Deltas::default(), Vec::new());
        let mut rest = values.as_slice();
        let mut ranges = Vec::new();
        for length in (0..=64).cycle() {
            let (some, others) = rest.split_at(length.min(rest.len()));
            ranges.push(put(&mut deltas, some));
            rest = others;
            if rest.is_empty() {
                break;
            }
        }
        deltas.take(&mut bytes);
        (bytes, ranges)
    }

    #[test]
    fn bytes_do_not_depend_on_the_instructions() {
        if !std::arch::is_x86_feature_detected!("avx2") {
            eprintln!("not run: this processor has no AVX2");
            return;
        }
        // SAFETY: this processor has these instructions.
        let by_fours = page(|deltas, values| unsafe { deltas.put_by_fours(values) });
        assert_eq!(by_fours, page(Deltas::put_any));
        let (_, ranges) = by_fours;
        assert_eq!(ranges[0], None);
        assert_eq!(ranges.last().copied().flatten().map(|(least, _)| least), Some(i64::MIN));
    }
}
