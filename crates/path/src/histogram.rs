//! Counts of times by size, for quantiles of millions of packets in a few kilobytes: 32 buckets an
//! octave, so a quantile is within 1.6 % of the true one.

use net::fetch::fetch;
use units::Span;

/// Bits of a value below its highest that tell buckets apart.
const DETAIL: u32 = 5;
/// Values below this each have a bucket of their own.
const EXACT: u32 = 2 << DETAIL;
/// Buckets for 32-bit values.
const BUCKETS: usize = ((32 - DETAIL + 1) << DETAIL) as usize;

/// See the module documentation; values are whole microseconds up to 71 minutes.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Of all buckets; empty before the first value, because most of many flows may never have one.
    counts: Vec<u32>,
    sum_us: u64,
}

impl Histogram {
    /// Counts it this many times.
    #[inline]
    pub fn add(&mut self, value_us: u32, times: u32) {
        self.add_at(Place::of(value_us), times);
    }

    /// The same of a value whose place is known.
    #[inline]
    pub fn add_at(&mut self, place: Place, times: u32) {
        match self.counts.get_mut(place.bucket()) {
            Some(count) => *count += times,
            None => self.begin(place.bucket(), times),
        }
        self.sum_us += u64::from(place.value_us) * u64::from(times);
    }

    /// Asks for the memory of the bucket of a value that is counted soon.
    #[inline]
    pub fn fetch(&self, value_us: u32) {
        if let Some(count) = self.counts.get(Place::of(value_us).bucket()) {
            fetch(count);
        }
    }

    /// The first value.
    #[cold]
    fn begin(&mut self, bucket: usize, times: u32) {
        self.counts.resize(BUCKETS, 0);
        self.counts[bucket] += times;
    }

    /// Counts it this many times; longer than the range counts as its end.
    #[inline]
    pub fn add_span(&mut self, value: Span, times: u32) {
        self.add_at(Place::of_span(value), times);
    }

    /// How many were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&n| u64::from(n)).sum()
    }

    /// Their mean in microseconds; `None` for none.
    pub fn mean_us(&self) -> Option<f64> {
        self.mean_of(self.total())
    }

    /// The same, where there are `total`.
    pub(crate) fn mean_of(&self, total: u64) -> Option<f64> {
        (total > 0).then(|| self.sum_us as f64 / total as f64)
    }

    /// The value at rank ⌈n x `per_mille` / 1000⌉ in microseconds, the middle of its bucket; `None` for none.
    pub fn quantile_us(&self, per_mille: u64) -> Option<u32> {
        self.quantile_of(self.total(), per_mille)
    }

    /// The same, where there are `total`.
    pub(crate) fn quantile_of(&self, total: u64, per_mille: u64) -> Option<u32> {
        let rank = (total * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        let reaches = |&n: &u32| {
            seen += u64::from(n);
            seen >= rank
        };
        self.counts.iter().position(reaches).map(middle)
    }
}

/// A value and where it is counted: worked out once for a value that several counts take.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    value_us: u32,
    /// Bits that its bucket leaves out.
    octave: u32,
}

impl Place {
    /// That of a value.
    #[inline]
    pub fn of(value_us: u32) -> Place {
        Place { value_us, octave: (value_us | (EXACT - 1)).ilog2() - DETAIL }
    }

    /// That of a length of time; longer than the range counts as its end.
    #[inline]
    pub fn of_span(value: Span) -> Place {
        Place::of((value.as_ns() / 1000).min(u64::from(u32::MAX)) as u32)
    }

    #[inline]
    fn bucket(self) -> usize {
        ((self.octave << DETAIL) + (self.value_us >> self.octave)) as usize
    }

    /// Smallest value of its bucket, ns.
    #[inline]
    fn begin_ns(self) -> u64 {
        u64::from(self.value_us >> self.octave << self.octave) * 1000
    }
}

/// Lengths of time by the value that held meanwhile: what [`Histogram`] is for packets, for time.
///
/// A value that grows through many buckets is noted at the first and the last of them, however many lie between.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Time in each bucket while the value grew through a part of it, ns.
    parts: Box<[u64; BUCKETS]>,
    /// How much more often the value grew through the whole of each bucket than through the whole of the one before.
    passes: Box<[i64; BUCKETS]>,
}

impl Default for Weights {
    fn default() -> Self {
        Weights { parts: Box::new([0; BUCKETS]), passes: Box::new([0; BUCKETS]) }
    }
}

impl Weights {
    /// The value grew from `low` to `high` (ns both), which has that place, as time went by.
    #[inline]
    pub fn add(&mut self, low: u64, high: u64, place: Place) {
        let last = place.bucket();
        if low >= place.begin_ns() {
            self.parts[last] += high - low;
        } else {
            self.spread(low, high, last);
        }
    }

    /// The same over several buckets, of which `last` is the last.
    #[inline(never)]
    fn spread(&mut self, low: u64, high: u64, last: usize) {
        let first = Place::of_span(Span::from_ns(low)).bucket();
        self.parts[first] += lowest_ns(first + 1) - low;
        self.parts[last] += high - lowest_ns(last);
        self.passes[first + 1] += 1;
        self.passes[last] -= 1;
    }

    /// Time in each bucket, ns, from the last one down: nothing grows beyond that.
    fn spent(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let mut passes = 0;
        (0..BUCKETS).rev().map(move |bucket| {
            let whole = if passes == 0 { 0 } else { lowest_ns(bucket + 1) - lowest_ns(bucket) };
            let ns = self.parts[bucket] + passes as u64 * whole;
            passes -= self.passes[bucket];
            (bucket, ns)
        })
    }

    /// What the value does not exceed in `per_mille` of `total` ns, us, the middle of its bucket; time that
    /// nobody added counts as 0.
    pub fn quantile_us(&self, total: u64, per_mille: u64) -> u32 {
        let above = total - (u128::from(total) * u128::from(per_mille)).div_ceil(1000) as u64;
        let mut seen = 0;
        let mut exceeds = |ns| {
            seen += ns;
            seen > above
        };
        self.spent().find(|&(_, ns)| exceeds(ns)).map_or(0, |(bucket, _)| middle(bucket))
    }
}

/// Bits of a value that its bucket leaves out.
#[inline]
fn octave(bucket: usize) -> u32 {
    ((bucket as u32) >> DETAIL).saturating_sub(1)
}

/// Smallest value of a bucket.
#[inline]
fn lowest(bucket: usize) -> u32 {
    let octave = octave(bucket);
    ((bucket as u32) - (octave << DETAIL)) << octave
}

/// The same in nanoseconds.
#[inline]
fn lowest_ns(bucket: usize) -> u64 {
    u64::from(lowest(bucket)) * 1000
}

/// Middle of a bucket, rounded down.
fn middle(bucket: usize) -> u32 {
    lowest(bucket) + ((1 << octave(bucket)) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_again_within_its_bucket() {
        for value in (0..100_000).chain([1 << 20, 1 << 31, u32::MAX]) {
            let found = middle(Place::of(value).bucket());
            let error = value.abs_diff(found);
            assert!(u64::from(error) * 62 <= u64::from(value), "{value} found as {found}");
        }
    }

    #[test]
    fn time_is_counted_once_however_many_buckets_a_value_grows_through() {
        for (low, high) in
            [(0, 0), (0, 999), (500, 70_500), (0, 3_000_000_000), (7_000_000, 7_000_001)]
        {
            let mut weights = Weights::default();
            weights.add(low, high, Place::of_span(Span::from_ns(high)));
            assert_eq!(
                weights.spent().map(|(_, ns)| ns).sum::<u64>(),
                high - low,
                "{low} to {high}"
            );
            for (bucket, ns) in weights.spent().filter(|&(bucket, _)| lowest_ns(bucket) <= high) {
                let (begin, end) = (lowest_ns(bucket), lowest_ns(bucket + 1));
                assert_eq!(ns, high.min(end).saturating_sub(low.max(begin)), "{low} to {high}");
            }
        }
    }

    #[test]
    fn what_several_growths_took_in_a_bucket_adds_up() {
        let mut weights = Weights::default();
        // Through bucket 5 whole, in its second half, and not at all.
        for (low, high) in [(0, 9_000), (5_500, 7_000), (8_000, 40_000)] {
            weights.add(low, high, Place::of_span(Span::from_ns(high)));
        }
        let spent: Vec<u64> = (0..10)
            .map(|us| weights.spent().find(|&(bucket, _)| bucket == us).map_or(0, |(_, ns)| ns))
            .collect();
        assert_eq!(spent, [1000, 1000, 1000, 1000, 1000, 1500, 2000, 1000, 2000, 1000]);
    }

    #[test]
    fn quantiles_of_a_thousand_even_values() {
        let mut h = Histogram::default();
        (1..=1000).for_each(|ms| h.add(ms * 1000, 1));
        assert_eq!(h.total(), 1000);
        assert_eq!(h.mean_us(), Some(500_500.0));
        for (per_mille, expected) in [(500, 500_000), (950, 950_000), (1000, 1_000_000)] {
            let got = h.quantile_us(per_mille).expect("values");
            assert!(got.abs_diff(expected) <= expected / 60, "{per_mille}: {got}");
        }
    }

    #[test]
    fn nothing_counted_has_no_quantile() {
        assert_eq!(Histogram::default().quantile_us(500), None);
        assert_eq!(Histogram::default().mean_us(), None);
    }
}
