//! Named streams of random numbers: each use of randomness has its own, so that adding a flow or an
//! impairment does not shift another's draws.

/// xoshiro256** (Blackman and Vigna 2018), seeded through splitmix64 from (seed, name).
#[derive(Clone, Debug)]
pub struct Rng {
    s: [u64; 4],
}

impl Rng {
    /// The stream `name` of a run with this seed.
    pub fn stream(seed: u64, name: &str) -> Rng {
        let mut x = seed ^ 0x6475_6d62_6265_6c6c;
        for byte in name.bytes() {
            x = splitmix(&mut (x ^ u64::from(byte)));
        }
        let mut s = [0; 4];
        for word in &mut s {
            *word = splitmix(&mut x);
        }
        Rng { s }
    }

    /// 64 uniform random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.s;
        let out = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// Uniform in `0..n`; `n` at least 1.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0);
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }
}

fn splitmix(x: &mut u64) -> u64 {
    *x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *x;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_only() {
        let mut a = Rng::stream(1, "flow0.loss");
        let mut b = Rng::stream(1, "flow0.loss");
        let mut c = Rng::stream(1, "flow1.loss");
        let mut d = Rng::stream(2, "flow0.loss");
        let x = a.next_u64();
        assert_eq!(x, b.next_u64());
        assert_ne!(x, c.next_u64());
        assert_ne!(x, d.next_u64());
    }

    #[test]
    fn below_is_uniform_enough() {
        let mut r = Rng::stream(7, "test");
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[r.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|&c| (9_500..10_500).contains(&c)), "{counts:?}");
    }
}
