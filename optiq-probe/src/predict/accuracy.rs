//! How far predictions are off, in percentage points of slowdown, as the source counts.

use optiq_measure::statistics::Summary;

/// A pair with what was predicted and what came out; 0.5 for one and a half times as long.
#[derive(Clone, Debug, PartialEq)]
pub struct PairError {
    /// Who was slowed.
    pub victim: String,
    /// By whom.
    pub aggressor: String,
    /// What was predicted.
    pub predicted: f64,
    /// What was measured.
    pub measured: f64,
}

impl PairError {
    /// The distance in percentage points.
    pub fn points(&self) -> f64 {
        (self.predicted - self.measured).abs() * 100.0
    }

    /// The same pairs, when no slowdown at all is predicted of each: what every method has to be better than.
    pub fn of_no_slowdown(errors: &[PairError]) -> Vec<PairError> {
        errors.iter().map(|error| PairError { predicted: 0.0, ..error.clone() }).collect()
    }
}

/// Errors of many pairs, in percentage points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Quartiles, mean, and the largest.
    pub points: Summary,
    /// The part of pairs with less than 10 points.
    pub share_below_10: f64,
}

impl Accuracy {
    /// `None` without pairs, or with one that is no number.
    pub fn of(errors: &[PairError]) -> Option<Self> {
        let points: Vec<f64> = errors.iter().map(PairError::points).collect();
        let below = points.iter().filter(|&&p| p < 10.0).count();
        Some(Self { points: Summary::of(&points)?, share_below_10: below as f64 / points.len() as f64 })
    }
}
