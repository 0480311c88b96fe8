//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): pseudo-random words that are the same on every machine and in
//! every version. The workspace's one generator.

/// A stream of pseudo-random words from a seed.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// Where the stream is: the seed of what is left of it.
    pub fn state(&self) -> u64 {
        self.0
    }

    /// The next word.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, each equally likely (Lemire's multiply and reject); 0 for `n = 0`.
    pub fn below(&mut self, n: u64) -> u64 {
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            // What is at least `n` is at least the remainder, too: no division, nearly always.
            if wide as u64 >= n || n == 0 || wide as u64 >= n.wrapping_neg() % n {
                return (wide >> 64) as u64;
            }
        }
    }

    /// A number in `0..=n`, each equally likely.
    pub fn up_to(&mut self, n: u64) -> u64 {
        if n == u64::MAX { self.next_u64() } else { self.below(n + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_stream() {
        // First outputs of the reference implementation for seed 1234567.
        let mut rng = SplitMix64::new(1_234_567);
        assert_eq!(rng.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn below_stays_below_and_reaches_everything() {
        let mut rng = SplitMix64::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[rng.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.up_to(0), 0);
    }
}
