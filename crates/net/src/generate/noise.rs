//! Random courses in integers, the same on every machine.

use crate::rng::Rng;

/// One, in the fixed point of this module (16 bits of fraction).
pub const ONE: i64 = 1 << 16;

/// Normal with deviation one, cut at six: the sum of twelve uniform draws.
pub fn normal(rng: &mut Rng) -> i64 {
    (0..12).map(|_| rng.below(ONE as u64) as i64).sum::<i64>() - 6 * ONE
}

/// Exponential of `x` in fixed point, for |x| up to 6: (1 + x/1024)^1024, at most 2 % off there.
pub fn exp(x: i64) -> u64 {
    // 40 bits of fraction; 6/1024 leaves the base positive, e^6 squared stays far below 2^128.
    let x = x.clamp(-6 * ONE, 6 * ONE);
    let mut power = ((1_i64 << 40) + (x << 14)) as u128;
    for _ in 0..10 {
        power = (power * power) >> 40;
    }
    (power >> 24) as u64
}

/// A process that wanders around zero (Ornstein and Uhlenbeck), one step at a time.
pub struct Wander {
    /// Now, in units of its own deviation.
    x: i64,
    /// Share of the way home that a step makes, its inverse: the correlation time in steps.
    memory: i64,
    /// What a step adds, in fixed point.
    noise: i64,
}

impl Wander {
    /// It starts where it may be at any time; its correlation time is this many steps.
    pub fn new(memory: i64, rng: &mut Rng) -> Wander {
        // A step forgets 1/m and adds noise of sqrt(2/m), so that the deviation stays one: the largest n
        // with n^2 m <= 2 * 2^32.
        let noise = (0..17).rev().fold(0_i64, |n, bit| {
            let more = n | 1 << bit;
            if more * more * memory <= 2 << 32 {
                more
            } else {
                n
            }
        });
        Wander { x: normal(rng), memory, noise }
    }

    /// Goes a step, and tells where it is.
    pub fn step(&mut self, rng: &mut Rng) -> i64 {
        self.x += normal(rng) * self.noise / ONE - self.x / self.memory;
        self.x
    }

    /// Begins again somewhere else.
    pub fn jump(&mut self, rng: &mut Rng) {
        self.x = normal(rng);
    }
}

/// Times without and with something, each of a geometric length.
pub struct Spells {
    /// Steps that are left of the spell.
    left: u64,
    /// Mean steps between spells, and of a spell beyond `minimum`.
    between: u64,
    mean: u64,
    /// The shortest spell, steps.
    minimum: u64,
}

impl Spells {
    /// No spell yet.
    pub fn new(between: u64, minimum: u64, mean: u64) -> Spells {
        Spells { left: 0, between, mean, minimum }
    }

    /// Goes a step: whether it lies within a spell, and whether a spell just ended.
    pub fn step(&mut self, rng: &mut Rng) -> (bool, bool) {
        if self.left > 0 {
            self.left -= 1;
            return (self.left > 0, self.left == 0);
        }
        if rng.below(self.between) == 0 {
            self.left = self.minimum;
            while rng.below(self.mean - self.minimum + 1) != 0 {
                self.left += 1;
            }
        }
        (self.left > 0, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_right_to_two_percent() {
        for tenth in -60..=60 {
            let x = f64::from(tenth) / 10.0;
            let got = exp((x * ONE as f64) as i64) as f64 / ONE as f64;
            assert!((got / x.exp() - 1.0).abs() < 0.03, "e^{x}: {got}");
        }
    }

    #[test]
    fn what_wanders_keeps_its_deviation_and_forgets_in_its_time() {
        let mut rng = Rng::stream(1, "test");
        let mut wander = Wander::new(50, &mut rng);
        let x: Vec<f64> = (0..200_000).map(|_| wander.step(&mut rng) as f64 / ONE as f64).collect();
        let moment = |lag: usize| {
            x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum::<f64>() / (x.len() - lag) as f64
        };
        assert!((0.9..1.1).contains(&moment(0)), "variance {}", moment(0));
        let kept = moment(50) / moment(0);
        assert!((0.30..0.43).contains(&kept), "{kept} left after its time, expected 1/e");
    }

    #[test]
    fn spells_take_their_share_of_the_time() {
        let mut rng = Rng::stream(1, "test");
        let mut spells = Spells::new(100, 10, 25);
        let n = (0..500_000).filter(|_| spells.step(&mut rng).0).count();
        // 25 of 125 steps.
        assert!((92_000..108_000).contains(&n), "{n}, expected about 100000");
    }
}
