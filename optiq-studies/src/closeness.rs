//! How close predictions are to what was measured, or simulated.

use optiq_measure::statistics::mean;
use std::fmt;

/// How close a prediction should be, in percent.
pub const WITHIN: f64 = 15.0;

/// How far a prediction is from what was measured, in percent; positive if it is longer.
pub fn percent_off(predicted: f64, measured: f64) -> f64 {
    (predicted / measured - 1.0) * 100.0
}

/// How close predictions are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closeness {
    /// Within [`WITHIN`] percent.
    pub close: usize,
    /// All of them.
    pub count: usize,
    /// Of how far they are off, in percent, without signs.
    pub mean: Option<f64>,
}

impl Closeness {
    /// Whether a prediction that is off by this percentage is close enough.
    pub fn is_close(percent_off: f64) -> bool {
        percent_off.abs() <= WITHIN
    }

    /// From how far each is off, in percent.
    pub fn of(off: impl Iterator<Item = f64>) -> Self {
        let off: Vec<f64> = off.map(f64::abs).collect();
        Closeness { close: off.iter().filter(|&&o| Self::is_close(o)).count(), count: off.len(), mean: mean(&off) }
    }
}

impl fmt::Display for Closeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.close, self.count)?;
        self.mean.map_or(Ok(()), |mean| write!(f, ", {mean:.1} % off"))
    }
}
