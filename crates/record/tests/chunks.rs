//! Columns of integers and of text have the same bytes, and the file says the same of them, whether the Parquet library
//! encodes them or we do.

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, Type};
use proptest::collection::vec;
use proptest::prelude::*;
use record::chunk::integers::Integers;
use record::chunk::library::Library;
use record::chunk::texts::Texts;
use record::chunk::{Chunk, Rows as Few, Stored, ROWS_TOGETHER};
use std::sync::Arc;

/// Rows after which a page ends: the first batch of 1,024 that comes to 20,000.
const PAGE: usize = 20_480;

/// Rows that have something in common.
#[derive(Clone, Debug)]
enum Rows {
    Null,
    /// Grows by as much each row.
    Counter(i64, i64),
    /// So many bits, any of them.
    Noise(u32, u64),
    /// One row in this many is null; the others have this value.
    Gaps(usize, i64),
    Extremes,
}

fn any_rows() -> impl Strategy<Value = Rows> {
    prop_oneof![
        Just(Rows::Null),
        (any::<i64>(), -3_i64..1_000_000_007).prop_map(|(from, by)| Rows::Counter(from, by)),
        (0_u32..=64, any::<u64>()).prop_map(|(bits, seed)| Rows::Noise(bits, seed)),
        (2_usize..40, any::<i64>()).prop_map(|(every, value)| Rows::Gaps(every, value)),
        Just(Rows::Extremes),
    ]
}

/// Few rows, or some batches, or about a page.
fn any_count() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 1_usize..300, 2 => 1_usize..3_000, 1 => PAGE - 1_100..PAGE + 1_100]
}

fn cells(rows: &Rows, count: usize) -> Vec<Option<i64>> {
    let nth = |i: usize| match *rows {
        Rows::Null => None,
        Rows::Counter(from, by) => Some(from.wrapping_add(by.wrapping_mul(i as i64))),
        Rows::Noise(bits, seed) => {
            let mixed = (seed ^ i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
            Some(mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9).unbounded_shr(64 - bits) as i64)
        }
        Rows::Gaps(every, value) => (!i.is_multiple_of(every)).then_some(value),
        Rows::Extremes => Some(if i.is_multiple_of(2) { i64::MIN } else { i64::MAX }),
    };
    (0..count).map(nth).collect()
}

fn any_cells() -> impl Strategy<Value = Vec<Option<i64>>> {
    vec((any_rows(), any_count()), 1..6)
        .prop_map(|parts| parts.iter().flat_map(|(rows, count)| cells(rows, *count)).collect())
}

fn column<T: Stored>(is_nullable: bool) -> (ColumnDescPtr, WriterPropertiesPtr) {
    let repetition = if is_nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let is_text = T::get_physical_type() == Physical::BYTE_ARRAY;
    let builder = Type::primitive_type_builder("cell", T::get_physical_type())
        .with_logical_type(is_text.then_some(LogicalType::String));
    let node = Arc::new(builder.with_repetition(repetition).build().expect("a type"));
    let path = ColumnPath::from("cell");
    let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    if let Some(encoding) = T::ENCODING {
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path.clone(), encoding);
    }
    let column = ColumnDescriptor::new(node, i16::from(is_nullable), 0, path);
    (Arc::new(column), Arc::new(properties.build()))
}

/// The bytes, and what is said of them.
fn written<T: Stored, C: Chunk<T>>(
    cells: &[Option<T::T>],
    (of, with): &(ColumnDescPtr, WriterPropertiesPtr),
) -> (Vec<u8>, String) {
    let mut chunk = C::begin(of, with);
    for rows in cells.chunks(ROWS_TOGETHER) {
        let mut values: Vec<T::T> = rows.iter().flatten().cloned().collect();
        let bits = rows.iter().rev().fold(0, |bits, cell| bits << 1 | u64::from(cell.is_some()));
        let rows = Few { count: rows.len(), present: bits };
        chunk.write(&mut values, rows).expect("memory takes it");
    }
    let (bytes, closed) = chunk.close().expect("memory takes it");
    (bytes, format!("{closed:#?}"))
}

fn check<T: Stored, C: Chunk<T>>(cells: &[Option<T::T>]) {
    let column = column::<T>(cells.iter().any(Option::is_none));
    let (ours, said) = written::<T, C>(cells, &column);
    let (theirs, wanted) = written::<T, Library<T>>(cells, &column);
    assert!(ours == theirs, "{} and {} bytes of {cells:?}", ours.len(), theirs.len());
    assert_eq!(said, wanted);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn integers_have_the_bytes_of_the_library(cells in any_cells()) {
        check::<Int64Type, Integers<_>>(&cells);
        let narrow: Vec<_> = cells.iter().map(|cell| cell.map(|wide| wide as i32)).collect();
        check::<Int32Type, Integers<_>>(&narrow);
    }
}

/// A text for each cell that has a number, one of `different` texts, which that number chooses. Some are empty, some long.
fn texts(cells: &[Option<i64>], different: u64, long: usize) -> Vec<Option<ByteArray>> {
    let text = |number: u64| "é".repeat((number % 7) as usize) + &format!("{number:>0$}", long);
    let known: Vec<_> = (0..different)
        .map(|number| if number % 5 == 3 { String::new() } else { text(number) })
        .map(|text| ByteArray::from(text.as_str()))
        .collect();
    let one = |value: i64| known[(value as u64 % different) as usize].clone();
    cells.iter().map(|cell| cell.map(one)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn texts_have_the_bytes_of_the_library(
        cells in any_cells(),
        different in prop_oneof![4 => 1_u64..20, 2 => 200_u64..400],
        long in prop_oneof![4 => 1_usize..10, 1 => 40_usize..80],
    ) {
        check::<ByteArrayType, Texts>(&texts(&cells, different, long));
    }
}

#[test]
fn pages_of_texts_that_are_exactly_full_have_the_bytes_of_the_library() {
    for rows in [PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 65_536] {
        for different in [1, 2, 3, 9, 256, 400] {
            check::<ByteArrayType, Texts>(&texts(&cells(&Rows::Counter(0, 5), rows), different, 1));
            check::<ByteArrayType, Texts>(&texts(&cells(&Rows::Gaps(3, 7), rows), different, 1));
        }
        check::<ByteArrayType, Texts>(&texts(&cells(&Rows::Null, rows), 1, 1));
    }
}

#[test]
fn each_width_of_a_text_s_number_has_the_bytes_of_the_library() {
    for different in 1..300 {
        let cells: Vec<_> = (0..1_000).map(|i: i64| Some(i * i / 3)).collect();
        check::<ByteArrayType, Texts>(&texts(&cells, different, 1));
    }
}

#[test]
fn pages_that_are_exactly_full_have_the_bytes_of_the_library() {
    for rows in [PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 65_536] {
        check::<Int64Type, Integers<_>>(&cells(&Rows::Counter(0, 5), rows));
        check::<Int64Type, Integers<_>>(&cells(&Rows::Gaps(3, 7), rows));
        check::<Int64Type, Integers<_>>(&cells(&Rows::Null, rows));
    }
}

#[test]
fn every_width_of_a_difference_has_the_bytes_of_the_library() {
    for bits in 0..=64 {
        check::<Int64Type, Integers<_>>(&cells(&Rows::Noise(bits, 1), 1_000));
    }
}
