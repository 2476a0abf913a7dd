//! How many opportunities lie before a time, in bounded memory: counts in bins that widen as the trace
//! grows, so that the utilisation of a trace of any length is known to about a bin.

/// Bins at most: half a megabyte of counts. Up to 65.5 s a bin is one millisecond and counts are exact.
const BINS_MAX: usize = 1 << 16;

/// Counts of opportunities by their time.
#[derive(Clone, Debug)]
pub struct Coarse {
    /// Opportunities before the start of each bin, once `finish` was called; those in it until then.
    bins: Vec<u64>,
    /// A power of two.
    width_ms: u64,
}

impl Coarse {
    /// No opportunity yet.
    pub fn new() -> Coarse {
        Coarse { bins: Vec::new(), width_ms: 1 }
    }

    /// Counts an opportunity; their times ascend.
    pub fn add(&mut self, ms: u32) {
        while u64::from(ms) / self.width_ms >= BINS_MAX as u64 {
            self.bins = self.bins.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.width_ms *= 2;
        }
        let bin = (u64::from(ms) / self.width_ms) as usize;
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
    }

    /// All are counted.
    pub fn finish(mut self) -> Coarse {
        let mut sum = 0;
        for bin in &mut self.bins {
            (sum, *bin) = (sum + *bin, sum);
        }
        self.bins.push(sum);
        self
    }

    /// Opportunities before this time, in ms; within a bin they are taken to lie evenly.
    pub fn before_ms(&self, ms: u64) -> u64 {
        let bin = (ms / self.width_ms) as usize;
        match (self.bins.get(bin), self.bins.get(bin + 1)) {
            (Some(low), Some(high)) => low + (high - low) * (ms % self.width_ms) / self.width_ms,
            _ => self.bins.last().copied().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_traces_are_counted_exactly() {
        let mut counts = Coarse::new();
        [0, 3, 3, 17].into_iter().for_each(|ms| counts.add(ms));
        let counts = counts.finish();
        let before: Vec<u64> = [0, 1, 3, 4, 17, 18, 900].map(|ms| counts.before_ms(ms)).into();
        assert_eq!(before, [0, 1, 1, 3, 3, 4, 4]);
    }

    #[test]
    fn long_traces_are_counted_to_a_bin_in_the_same_memory() {
        let mut counts = Coarse::new();
        let times = || (0..1_000_000_u32).map(|i| i * 3_600);
        times().for_each(|ms| counts.add(ms));
        let counts = counts.finish();
        assert!(counts.bins.len() <= BINS_MAX + 1, "{} bins", counts.bins.len());
        for ms in [0, 1_000_000, 123_456_789, 3_599_996_401] {
            let exact = times().take_while(|&t| u64::from(t) < ms).count() as u64;
            let bin = counts.width_ms / 3_600 + 1;
            assert!(counts.before_ms(ms).abs_diff(exact) <= bin, "before {ms} ms: {exact}");
        }
    }
}
