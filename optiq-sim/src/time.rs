//! Simulated time: whole picoseconds, in which every figure of every preset is exact or rounded once.
//!
//! 64 bits hold 213 days. A link's rate is kept as picoseconds per byte in units of 2^-20, rounded once when the model is
//! built, so that sending `n` bytes takes the same number of picoseconds on every machine, whatever its floating-point
//! unit does.

use bincode::{Decode, Encode};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

/// Picoseconds since the start of the simulation, or a length of time.
///
/// A type of its own, so that it is not mistaken for a count of bytes or events, or for a token. Its arithmetic is that of
/// `u64`, also where that overflows, and compiles to the same code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[repr(transparent)]
pub struct Time(u64);

impl Time {
    /// The start of the simulation, or no time at all.
    pub const ZERO: Time = Time(0);

    /// The shortest time: nothing happens between a moment and that moment plus this.
    pub const PICOSECOND: Time = Time(1);

    /// A second.
    pub const SECOND: Time = Time(1_000_000_000_000);

    /// Later than everything.
    pub const NEVER: Time = Time(u64::MAX);

    /// So many picoseconds.
    #[inline]
    pub const fn picoseconds(picoseconds: u64) -> Self {
        Time(picoseconds)
    }

    /// From seconds, rounded down to whole picoseconds; what is below zero is zero.
    #[inline]
    pub fn from_seconds(seconds: f64) -> Self {
        Time((seconds * Time::SECOND.0 as f64) as u64)
    }

    /// As picoseconds.
    #[inline]
    pub const fn as_picoseconds(self) -> u64 {
        self.0
    }

    /// As seconds, for people.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / Time::SECOND.0 as f64
    }

    /// The sum, or [`Time::NEVER`] if that is earlier.
    #[inline]
    pub const fn saturating_add(self, other: Self) -> Self {
        Time(self.0.saturating_add(other.0))
    }

    /// The difference, or [`Time::ZERO`] if `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Time(self.0.saturating_sub(other.0))
    }

    /// So many times as long, or [`Time::NEVER`] if that is earlier.
    #[inline]
    pub const fn saturating_mul(self, times: u64) -> Self {
        Time(self.0.saturating_mul(times))
    }

    /// A part of it, rounded up.
    #[inline]
    pub const fn div_ceil(self, parts: u64) -> Self {
        Time(self.0.div_ceil(parts))
    }

    /// Whether it is a whole number of steps.
    #[inline]
    pub const fn is_multiple_of(self, step: Self) -> bool {
        self.0.is_multiple_of(step.0)
    }

    /// The first whole number of steps that is not before it.
    #[inline]
    pub const fn next_multiple_of(self, step: Self) -> Self {
        Time(self.0.next_multiple_of(step.0))
    }
}

impl Add for Time {
    type Output = Time;

    #[inline]
    fn add(self, other: Time) -> Time {
        Time(self.0 + other.0)
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, other: Time) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Time;

    #[inline]
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

impl SubAssign for Time {
    #[inline]
    fn sub_assign(&mut self, other: Time) {
        self.0 -= other.0;
    }
}

/// So many times as long.
impl Mul<u64> for Time {
    type Output = Time;

    #[inline]
    fn mul(self, times: u64) -> Time {
        Time(self.0 * times)
    }
}

/// A part of it, rounded down.
impl Div<u64> for Time {
    type Output = Time;

    #[inline]
    fn div(self, parts: u64) -> Time {
        Time(self.0 / parts)
    }
}

/// How often another time fits.
impl Div for Time {
    type Output = u64;

    #[inline]
    fn div(self, other: Time) -> u64 {
        self.0 / other.0
    }
}

/// What is left when another time fits no more.
impl Rem for Time {
    type Output = Time;

    #[inline]
    fn rem(self, other: Time) -> Time {
        Time(self.0 % other.0)
    }
}

impl Sum for Time {
    #[inline]
    fn sum<I: Iterator<Item = Time>>(times: I) -> Time {
        times.fold(Time::ZERO, Add::add)
    }
}

/// A picosecond in units of [`Rate`].
const ONE: u64 = 1 << 20;

/// How long a byte takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(u64);

impl Rate {
    /// Bytes take no time.
    pub const INFINITE: Rate = Rate(0);

    /// From bytes per second, above zero; slower than a byte in 17 seconds counts as that.
    pub fn bytes_per_second(rate: f64) -> Self {
        let units = Time::SECOND.0 as f64 * ONE as f64 / rate;
        if units.is_finite() { Rate((units.round() as u64).max(1)) } else { Rate::INFINITE }
    }

    /// How long `bytes` take, rounded up.
    #[inline]
    pub fn time(self, bytes: u64) -> Time {
        match bytes.checked_mul(self.0) {
            Some(units) => Time(units.div_ceil(ONE)),
            None => {
                let picoseconds = (u128::from(bytes) * u128::from(self.0)).div_ceil(u128::from(ONE));
                u64::try_from(picoseconds).map_or(Time::NEVER, Time)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_trace::codec;

    #[test]
    fn rates_are_exact_where_they_can_be() {
        let takes = |rate: f64, bytes: u64| Rate::bytes_per_second(rate).time(bytes).as_picoseconds();
        // 80 ps and 500 ps a byte.
        assert_eq!(takes(12.5e9, 4096), 327_680);
        assert_eq!(takes(2e9, 512), 256_000);
        assert_eq!(takes(2e9, 0), 0);
        // 8 MiB at 3 GB/s: 2,796,202,666.67 ps.
        assert!(takes(3e9, 8 << 20).abs_diff(2_796_202_667) <= 8);
        assert_eq!(takes(1e9, u64::MAX / 1000), u64::MAX / 1000 * 1000);
        assert_eq!(Rate::bytes_per_second(1.0).time(u64::MAX), Time::NEVER);
        assert_eq!(Rate::INFINITE.time(1 << 40), Time::ZERO);
    }

    /// Checkpoints have the bytes that they had when times were plain numbers, and tables take no more memory.
    #[test]
    fn times_are_stored_as_their_picoseconds() {
        for picoseconds in [0, 250, 251, 70_000, 5_000_000_000, u64::MAX] {
            let bytes = codec::encode(&Time(picoseconds));
            assert_eq!(bytes, codec::encode(&picoseconds));
            assert_eq!(codec::decode(&bytes), Ok(Time(picoseconds)));
        }
        assert_eq!(size_of::<(Time, u32)>(), size_of::<(u64, u32)>());
    }

    #[test]
    fn seconds_are_converted_as_they_are_shown() {
        assert_eq!(Time::SECOND.seconds(), 1.0);
        assert_eq!(Time(1_500_000).seconds(), 1.5e-6);
        assert_eq!(Time::from_seconds(0.25), Time::SECOND / 4);
        assert_eq!(Time::from_seconds(1e300), Time::NEVER);
    }
}
