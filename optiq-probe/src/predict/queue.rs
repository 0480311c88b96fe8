//! The queue model: A suffers beside B what it suffers beside CompressionB at the utilisation of B, `p_A(U_B)` (source, section 5.2).
//!
//! `p_A` is the victim's slowdown over the utilisation of all configurations, with lines between the points; utilisations are what the
//! table's calibration makes of the mean latency of ImpactB.

use super::curve::Curve;
use super::predictor::Predictor;
use super::table::{Application, TrainingTable};
use crate::error::ProbeError;

/// See the top of the file.
pub struct Queue<'a> {
    table: &'a TrainingTable,
    utilisations: Vec<f64>,
}

impl<'a> Queue<'a> {
    /// Trained on a table.
    pub fn new(table: &'a TrainingTable) -> Self {
        Self { table, utilisations: table.utilisations() }
    }

    /// The victim's slowdown at a utilisation.
    pub fn slowdown(&self, victim: &Application, utilisation: f64) -> f64 {
        Curve::new(self.utilisations.iter().copied().zip(victim.slowdowns.iter().copied())).at(utilisation)
    }
}

impl Predictor for Queue<'_> {
    fn name(&self) -> &'static str {
        "Queue"
    }

    fn predict(&self, victim: &str, aggressor: &str) -> Result<f64, ProbeError> {
        let impact = &self.table.application(aggressor)?.impact;
        let utilisation = self.table.calibration.utilisation(impact.mean_seconds);
        Ok(self.slowdown(self.table.application(victim)?, utilisation))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::super::table::tests::table;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn between_two_configurations() {
        // B loads by 0.4, half-way between 0.2 and 0.6: (0.1 + 0.5) / 2.
        let table = table(&[(0.6, 0.5), (0.2, 0.1), (0.8, 2.0)], &[("A", 0.3), ("B", 0.4)]);
        let found = Queue::new(&table).predict("A", "B").unwrap();
        assert!((found - 0.3).abs() < 1e-9, "{found}");
    }

    proptest! {
        /// Where slowdowns grow with the load, predictions grow with the load of the aggressor, and stay within what was measured.
        #[test]
        fn monotone_and_bounded(
            mut loads in prop::collection::vec(0.01..0.99f64, 2..20), steps in prop::collection::vec(0.0..0.5f64, 20), a in 0.0..0.99f64, b in 0.0..0.99f64,
        ) {
            loads.sort_by(f64::total_cmp);
            let mut sum = 0.0;
            let points: Vec<(f64, f64)> = loads.iter().zip(&steps).map(|(&load, step)| { sum += step; (load, sum) }).collect();
            let table = table(&points, &[("low", a.min(b)), ("high", a.max(b))]);
            let queue = Queue::new(&table);
            let (low, high) = (queue.predict("low", "low").unwrap(), queue.predict("low", "high").unwrap());
            prop_assert!(low <= high + 1e-9 && low >= points[0].1 - 1e-9 && high <= sum + 1e-9);
        }
    }
}
