//! How a delay varies from packet to packet, in netem's words (`tabledist`, net/sched/sch_netem.c).

use super::table::{self, Table, SCALE};
use crate::correlated::CorrelatedRng;
use crate::rng::Rng;
use crate::settings::{settings, words, Refused, DELAYS, SHARES};
use units::Span;

words! {
    /// How a delay varies around its mean; a delay below zero is zero.
    pub enum Distribution {
        /// MEAN - SPREAD + U(0, 2 SPREAD), as `netem delay MEAN SPREAD` without a table.
        #[default]
        Uniform = "uniform",
        /// Normal with standard deviation SPREAD: the sum of twelve uniform draws, cut at six deviations.
        /// With correlation it is `NormalTable`.
        Gaussian = "gaussian",
        /// Normal by `tc`'s table, as `netem delay MEAN SPREAD distribution normal`: 4096 values from -4.00
        /// to +3.52 deviations.
        NormalTable = "normal",
        /// `distribution pareto`: shape 3, from -0.67 to +4.00 times SPREAD, its mean 0.03 below zero.
        Pareto = "pareto",
        /// `distribution paretonormal`: a quarter normal and three quarters Pareto of the same rank.
        ParetoNormal = "paretonormal",
    }
}

settings! {
    /// Random variation of a one-way delay; a delay below zero counts as zero.
    pub struct Jitter for "jitter" {
        /// Distribution: uniform over delay +- spread; gaussian (twelve uniform draws); or netem's tables.
        distribution "distribution": Distribution = Distribution::Uniform;
        /// Half width of a uniform distribution, standard deviation of a Gaussian one, netem's jitter otherwise.
        spread "spread_ns": Span [DELAYS];
        /// netem's correlation with the previous packet's draw.
        // Next to nothing is left of it (`Deviations::below`)
        correlation "correlation_ppb": u64 [SHARES, Share] = 0;
        /// Whether packets may overtake one another, as in netem; false keeps them in order.
        // netem without a rate
        reorder "reorder": bool = true;
    }
    also Jitter::check_correlated;
}

impl Jitter {
    /// netem's numbers have 32 bits.
    fn check_correlated(&self) -> Result<(), Refused> {
        if self.correlation > 0 && self.spread.as_ns() >= 1 << 31 {
            let wanted = "below 2.147 s with a correlation";
            return Err(Refused::new("spread_ns", self.spread.as_ns(), wanted));
        }
        Ok(())
    }
}

/// Draws deviations from the mean.
#[derive(Clone, Debug)]
pub struct Deviations {
    jitter: Jitter,
    rng: CorrelatedRng,
}

impl Deviations {
    /// Deviations from the first on.
    ///
    /// # Panics
    /// If a correlation is above 10^9 ppb, or the spread with one above 2^31 - 1 ns (netem's largest).
    pub fn new(jitter: Jitter, rng: Rng) -> Deviations {
        let Jitter { spread, correlation, .. } = jitter;
        let fits = correlation == 0 || spread.as_ns() < 1 << 31;
        assert!(fits, "correlated jitter is below 2.147 s, got {spread}");
        Deviations { jitter, rng: CorrelatedRng::new(correlation, rng) }
    }

    /// The next deviation, ns.
    pub fn next_ns(&mut self) -> i64 {
        let spread = self.jitter.spread.as_ns();
        if spread == 0 {
            return 0;
        }
        match (self.jitter.distribution, self.rng.is_correlated()) {
            (Distribution::Uniform, false) => {
                self.rng.uniform().below(2 * spread) as i64 - spread as i64
            }
            (Distribution::Uniform, true) => self.below(2 * spread) as i64 - spread as i64,
            // The sum of twelve U(0, 1) has mean 6 and variance 1; integers, so that it is the same
            // everywhere.
            (Distribution::Gaussian, false) => {
                let sum: u64 = (0..12).map(|_| self.rng.uniform().below(spread)).sum();
                sum as i64 - 6 * spread as i64
            }
            (Distribution::Gaussian, true) | (Distribution::NormalTable, _) => {
                self.of_table(table::normal())
            }
            (Distribution::Pareto, _) => self.of_table(table::pareto()),
            (Distribution::ParetoNormal, _) => self.of_table(table::pareto_normal()),
        }
    }

    /// A number in `0..n`; `n` at most 2^32. It is a remainder, as in netem: only the high bits of a correlated number are
    /// correlated, so that next to nothing is left of the correlation, unless the spread is of the order of a second.
    fn below(&mut self, n: u64) -> u64 {
        u64::from(self.rng.next_u32()) % n
    }

    /// The spread times an entry of the table, rounded away from zero at a half.
    fn of_table(&mut self, table: &Table) -> i64 {
        let entry = i64::from(table[self.below(table.len() as u64) as usize]);
        let spread = self.jitter.spread.as_ns() as i64;
        let rest = spread % SCALE * entry;
        let half = if rest >= 0 { SCALE / 2 } else { -SCALE / 2 };
        (rest + half) / SCALE + spread / SCALE * entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jitter(distribution: Distribution) -> Jitter {
        Jitter { distribution, spread: Span::from_ms(1), ..Jitter::default() }
    }

    fn draws(mut deviations: Deviations) -> Vec<i64> {
        (0..20_000).map(|_| deviations.next_ns()).collect()
    }

    fn independent(distribution: Distribution) -> Vec<i64> {
        draws(Deviations::new(jitter(distribution), Rng::stream(1, "test")))
    }

    fn mean(x: &[i64]) -> i64 {
        x.iter().sum::<i64>() / x.len() as i64
    }

    #[test]
    fn a_gaussian_has_the_mean_and_deviation_it_was_given() {
        for distribution in [Distribution::Gaussian, Distribution::NormalTable] {
            let draws = independent(distribution);
            let variance = draws.iter().map(|d| (d / 1000) * (d / 1000)).sum::<i64>() / 20_000;
            assert!(mean(&draws).abs() < 30_000, "{} ns", mean(&draws));
            assert!((960_000..1_040_000).contains(&variance), "{variance} us^2");
            let outside = draws.iter().filter(|d| d.abs() > 2_000_000).count();
            assert!(
                (700..1_100).contains(&outside),
                "{outside} of 20000 beyond two deviations, expected 910"
            );
        }
    }

    #[test]
    fn draws_without_correlation_are_those_of_a_plain_stream() {
        let mut rng = Rng::stream(1, "test");
        let plain: Vec<i64> =
            (0..20_000).map(|_| rng.below(2_000_000) as i64 - 1_000_000).collect();
        assert_eq!(independent(Distribution::Uniform), plain);
    }

    #[test]
    fn a_table_ends_where_tcs_does() {
        let range = |distribution| {
            let draws = independent(distribution);
            (*draws.iter().min().unwrap(), *draws.iter().max().unwrap())
        };
        // Entries -32768 and 28858, -5461 and 32767, -12305 and 31789 of 8192, times 1 ms.
        assert_eq!(range(Distribution::NormalTable), (-4_000_000, 3_522_705));
        assert_eq!(range(Distribution::Pareto), (-666_626, 3_999_878));
        let (low, high) = range(Distribution::ParetoNormal);
        assert!((-1_502_300..=-1_502_000).contains(&low), "{low}");
        assert!((3_880_300..=3_880_800).contains(&high), "{high}");
    }

    /// Correlation of neighbours, per mille, and the deviation, us.
    fn of_correlated(distribution: Distribution) -> (i64, i64) {
        let rng = Rng::stream(1, "test");
        let jitter = Jitter { correlation: 800_000_000, ..jitter(distribution) };
        let x = draws(Deviations::new(jitter, rng));
        let m = mean(&x);
        let x: Vec<i64> = x.iter().map(|v| (v - m) / 100).collect();
        let variance: i64 = x.iter().map(|v| v * v).sum();
        let alike = 1000 * x.windows(2).map(|w| w[0] * w[1]).sum::<i64>() / variance;
        (alike, ((variance / 20_000) as f64).sqrt() as i64 / 10)
    }

    #[test]
    fn netems_remainder_leaves_nothing_of_a_correlation_and_all_of_the_spread() {
        for distribution in [Distribution::Uniform, Distribution::Gaussian, Distribution::Pareto] {
            let (alike, _) = of_correlated(distribution);
            assert!(alike.abs() < 30, "{distribution:?}: {alike} per mille");
        }
        // Half widths of 1 ms have a deviation of 1 / sqrt(3) ms; the Gaussian is the table's.
        for (distribution, wanted) in [(Distribution::Uniform, 577), (Distribution::Gaussian, 1000)]
        {
            let (_, deviation) = of_correlated(distribution);
            assert!((deviation - wanted).abs() < 20, "{distribution:?}: {deviation} us");
        }
    }
}
