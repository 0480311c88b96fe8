//! Median and quartiles of timed repetitions, as documents and tables of measurements have them.

use optiq_measure::statistics::Summary;
use optiq_view::table;
use serde::{Deserialize, Serialize};

/// The quartiles that stand beside a median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quartiles {
    /// A quarter of the repetitions are below.
    pub first_quartile_seconds: f64,
    /// Three quarters of the repetitions are below.
    pub third_quartile_seconds: f64,
}

/// The median of these repetitions in seconds, and their quartiles; all zero if there are no repetitions.
pub fn median_and_quartiles(seconds: &[f64]) -> (f64, Quartiles) {
    let [median, first_quartile_seconds, third_quartile_seconds] =
        Summary::of(seconds).map_or([0.0; 3], |s| [s.median, s.first_quartile, s.third_quartile]);
    (median, Quartiles { first_quartile_seconds, third_quartile_seconds })
}

impl Quartiles {
    /// A median with these quartiles in a cell: `400 ms (380 ms to 420 ms)`.
    pub fn beside(&self, median_seconds: f64) -> String {
        let [low, high] = [self.first_quartile_seconds, self.third_quartile_seconds].map(table::seconds);
        format!("{} ({low} to {high})", table::seconds(median_seconds))
    }
}

/// A median between its quartiles, in documents whose columns are not flat.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MedianAndQuartiles {
    /// A quarter of the repetitions took less.
    pub first_seconds: f64,
    /// Half of them took less.
    pub median_seconds: f64,
    /// Three quarters of them took less.
    pub third_seconds: f64,
}

impl MedianAndQuartiles {
    /// None if there are no repetitions.
    pub fn of(seconds: &[f64]) -> Option<Self> {
        let Summary { first_quartile, median, third_quartile, .. } = Summary::of(seconds)?;
        Some(Self { first_seconds: first_quartile, median_seconds: median, third_seconds: third_quartile })
    }

    /// In a cell, as [`Quartiles::beside`] has it.
    pub fn text(&self) -> String {
        let (first_quartile_seconds, third_quartile_seconds) = (self.first_seconds, self.third_seconds);
        Quartiles { first_quartile_seconds, third_quartile_seconds }.beside(self.median_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_five() {
        let (median, quartiles) = median_and_quartiles(&[0.5, 0.1, 0.2, 0.4, 0.3]);
        assert_eq!(quartiles.beside(median), "300 ms (200 ms to 400 ms)");
        assert_eq!(median_and_quartiles(&[]).0, 0.0);
    }
}
