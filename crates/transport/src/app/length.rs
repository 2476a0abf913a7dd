//! How long on, off and think times last.

use net::rng::Rng;
use units::Span;

/// How long something lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always this long.
    Fixed(Span),
    /// Exponentially distributed with this mean.
    Exponential(Span),
}

impl Length {
    /// Its mean.
    pub fn mean(self) -> Span {
        match self {
            Length::Fixed(span) | Length::Exponential(span) => span,
        }
    }

    /// One length.
    pub fn draw(self, rng: &mut Rng) -> Span {
        match self {
            Length::Fixed(span) => span,
            Length::Exponential(mean) => exponential(mean, rng.next_u64()),
        }
    }
}

/// -mean ln(u) for u = (`bits` + 1) / 2^64, by the method of inversion in fixed point: the same on every
/// machine. 32 fractional bits of ln; the longest draw is 44 means.
fn exponential(mean: Span, bits: u64) -> Span {
    /// ln 2 in 2^-32.
    const LN2: u128 = 2_977_044_472;
    let minus_log2 = (64u128 << 32) - log2(u128::from(bits) + 1);
    let minus_ln = (minus_log2 * LN2) >> 32;
    // minus_ln < 2^38 and the mean < 2^64: the product has at most 102 bits.
    Span::from_ns(((u128::from(mean.as_ns()) * minus_ln) >> 32) as u64)
}

/// log2 of 1 to 2^64, in 2^-32: the exponent, then a bit for each squaring of the mantissa.
fn log2(x: u128) -> u128 {
    let exponent = x.ilog2();
    // In 2^-62, so that its square fits into 128 bits.
    let mut mantissa = if exponent <= 62 { x << (62 - exponent) } else { x >> (exponent - 62) };
    let mut log = u128::from(exponent);
    for _ in 0..32 {
        mantissa = (mantissa * mantissa) >> 62;
        let bit = mantissa >> 63;
        mantissa >>= bit;
        log = log << 1 | bit;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_draws_are_minus_the_logarithm_times_the_mean() {
        let mean = Span::from_ms(1000);
        for bits in [0, 1, 7, 1 << 31, (1 << 40) + 12_345, u64::MAX / 3, u64::MAX / 2, u64::MAX] {
            let u = (bits as f64 + 1.0) / 2f64.powi(64);
            let expected = -u.ln() * 1e9;
            let drawn = exponential(mean, bits).as_ns() as f64;
            assert!((drawn - expected).abs() < 40.0, "{bits}: {drawn} for {expected}");
        }
    }

    #[test]
    fn exponential_draws_have_their_mean_and_their_memory_is_none() {
        let mut rng = Rng::stream(3, "off");
        let draws: Vec<u64> = (0..20_000)
            .map(|_| Length::Exponential(Span::from_ms(10)).draw(&mut rng).as_us())
            .collect();
        let mean = draws.iter().sum::<u64>() / 20_000;
        assert!((9_800..=10_200).contains(&mean), "{mean} us");
        // exp(-1) = 36.8 % last longer than the mean, exp(-2) = 13.5 % longer than twice.
        let longer = |us| draws.iter().filter(|&&d| d > us).count();
        assert!((7_150..=7_560).contains(&longer(10_000)), "{}", longer(10_000));
        assert!((2_560..=2_850).contains(&longer(20_000)), "{}", longer(20_000));
    }
}
