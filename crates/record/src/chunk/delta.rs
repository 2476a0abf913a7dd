//! Integers as bit-packed differences: `DELTA_BINARY_PACKED` of Parquet's
//! [encodings](https://parquet.apache.org/docs/file-format/data-pages/encodings/), in the layout that the Parquet library
//! writes.

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
    /// Differences of the block in progress, and the smallest of them.
    differences: Vec<i64>,
    least: i64,
    /// The blocks before it.
    blocks: Vec<u8>,
}

impl<T: Integer> Default for Deltas<T> {
    fn default() -> Self {
        let differences = Vec::with_capacity(Self::BLOCK);
        Deltas { count: 0, ends: None, differences, least: i64::MAX, blocks: Vec::new() }
    }
}

impl<T: Integer> Deltas<T> {
    /// Differences of a block.
    const BLOCK: usize = MINIBLOCKS * T::MINIBLOCK;

    /// Appends values.
    pub fn put(&mut self, values: &[T::T]) {
        let (Some(&first), Some(&last)) = (values.first(), values.last()) else { return };
        let begin = match self.ends {
            None => first,
            Some((begin, before)) => {
                self.add(std::iter::once(T::minus(first, before)));
                begin
            }
        };
        self.add(values.iter().zip(&values[1..]).map(|(&one, &next)| T::minus(next, one)));
        self.count += values.len();
        self.ends = Some((begin, last));
    }

    /// Appends differences, and packs each block that is full.
    #[inline(always)]
    fn add(&mut self, mut new: impl ExactSizeIterator<Item = i64>) {
        while new.len() > 0 {
            let before = self.differences.len();
            self.differences.extend(new.by_ref().take(Self::BLOCK - before));
            if let Some((least, _)) = range(&self.differences[before..]) {
                self.least = self.least.min(least);
            }
            if self.differences.len() == Self::BLOCK {
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
    fn end_block(&mut self) {
        if self.differences.is_empty() {
            return;
        }
        let least = std::mem::replace(&mut self.least, i64::MAX);
        put_zigzag(&mut self.blocks, least);
        let widths_at = self.blocks.len();
        self.blocks.resize(widths_at + MINIBLOCKS, 0);
        // What lacks of the last miniblock is zero when it is packed.
        let whole = self.differences.len().next_multiple_of(T::MINIBLOCK);
        self.differences.resize(whole, least);
        let miniblocks = self.differences.chunks_exact_mut(T::MINIBLOCK);
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
        self.differences.clear();
    }
}

/// The least and the largest of some values; none of none.
pub type Range<V> = Option<(V, V)>;

/// See [`Range`]. Each comparison waits for the one before it, so there are four series of them.
#[inline]
pub fn range<V: Copy + Ord>(values: &[V]) -> Range<V> {
    const SERIES: usize = 4;
    let first = *values.first()?;
    let (mut least, mut most) = ([first; SERIES], [first; SERIES]);
    let fours = values.chunks_exact(SERIES);
    let widen = |least: &mut V, most: &mut V, value: V| {
        *least = value.min(*least);
        *most = value.max(*most);
    };
    fours.remainder().iter().for_each(|&value| widen(&mut least[0], &mut most[0], value));
    for four in fours {
        for i in 0..SERIES {
            widen(&mut least[i], &mut most[i], four[i]);
        }
    }
    Some((*least.iter().min()?, *most.iter().max()?))
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
