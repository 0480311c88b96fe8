//! Simulated time: whole picoseconds, in which every figure of every preset is exact or rounded once.
//!
//! 64 bits hold 213 days. A link's rate is kept as picoseconds per byte in units of 2^-20, rounded once when the model is
//! built, so that sending `n` bytes takes the same number of picoseconds on every machine, whatever its floating-point
//! unit does.

/// Picoseconds since the start of the simulation, or a length of time.
pub type Time = u64;

/// Later than everything.
pub const NEVER: Time = Time::MAX;

/// A picosecond in units of [`Rate`].
const ONE: u64 = 1 << 20;

/// Picoseconds in a second.
pub const SECOND: Time = 1_000_000_000_000;

/// How long a byte takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(u64);

impl Rate {
    /// Bytes take no time.
    pub const INFINITE: Rate = Rate(0);

    /// From bytes per second, above zero; slower than a byte in 17 seconds counts as that.
    pub fn bytes_per_second(rate: f64) -> Self {
        let units = SECOND as f64 * ONE as f64 / rate;
        if units.is_finite() { Rate((units.round() as u64).max(1)) } else { Rate::INFINITE }
    }

    /// How long `bytes` take, rounded up.
    #[inline]
    pub fn time(self, bytes: u64) -> Time {
        match bytes.checked_mul(self.0) {
            Some(units) => units.div_ceil(ONE),
            None => Time::try_from((u128::from(bytes) * u128::from(self.0)).div_ceil(u128::from(ONE))).unwrap_or(NEVER),
        }
    }
}

/// Seconds, for people.
pub fn seconds(time: Time) -> f64 {
    time as f64 / SECOND as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exact_where_they_can_be() {
        // 80 ps and 500 ps a byte.
        assert_eq!(Rate::bytes_per_second(12.5e9).time(4096), 327_680);
        assert_eq!(Rate::bytes_per_second(2e9).time(512), 256_000);
        assert_eq!(Rate::bytes_per_second(2e9).time(0), 0);
        // 8 MiB at 3 GB/s: 2,796,202,666.67 ps.
        assert!(Rate::bytes_per_second(3e9).time(8 << 20).abs_diff(2_796_202_667) <= 8);
        assert_eq!(Rate::bytes_per_second(1e9).time(u64::MAX / 1000), u64::MAX / 1000 * 1000);
        assert_eq!(Rate::bytes_per_second(1.0).time(u64::MAX), NEVER);
        assert_eq!(Rate::INFINITE.time(1 << 40), 0);
    }
}
