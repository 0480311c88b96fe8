//! This project's predictor: the queue model with a monotone curve, and with the phases of the aggressor.
//!
//! The source's queue model errs most where the aggressor loads the switch in some phases and not in others (FFTW beside AMG, section
//! 5.2): it takes a mean utilisation for a constant one. Here the aggressor B is in phase `i` for a part `w_i` of its time, with
//! utilisation `U_i`. While B is in that phase A progresses at `1 / (1 + p_A(U_i))` of its speed alone, so that
//!
//! ```text
//!     slowdown of A beside B  =  1 / sum_i ( w_i / (1 + p_A(U_i)) )  -  1
//! ```
//!
//! which is `p_A(U_B)` where B has one phase. `p_A` is the closest curve that nowhere falls as utilisation grows, from no slowdown at no
//! load: more load never helps, and points that say so are noise.

use super::curve::Curve;
use super::predictor::Predictor;
use super::table::{Application, TrainingTable};
use crate::error::ProbeError;

/// See the top of the file.
pub struct PhaseAware<'a> {
    table: &'a TrainingTable,
    utilisations: Vec<f64>,
}

impl<'a> PhaseAware<'a> {
    /// Trained on a table.
    pub fn new(table: &'a TrainingTable) -> Self {
        Self { table, utilisations: table.utilisations() }
    }

    fn curve(&self, victim: &Application) -> Curve {
        let measured = self.utilisations.iter().copied().zip(victim.slowdowns.iter().map(|s| s.max(0.0)));
        Curve::new(measured.chain([(0.0, 0.0)])).monotone()
    }
}

impl Predictor for PhaseAware<'_> {
    fn name(&self) -> &'static str {
        "Phases"
    }

    fn predict(&self, victim: &str, aggressor: &str) -> Result<f64, ProbeError> {
        let aggressor = self.table.application(aggressor)?;
        let curve = self.curve(self.table.application(victim)?);
        let at = |mean_seconds| curve.at(self.table.calibration.utilisation(mean_seconds));
        if aggressor.phases.is_empty() {
            return Ok(at(aggressor.impact.mean_seconds));
        }
        let speed: f64 = aggressor.phases.iter().map(|phase| phase.share / (1.0 + at(phase.mean_seconds))).sum();
        Ok(1.0 / speed - 1.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::super::table::Phase;
    use super::super::table::tests::table;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn phases_by_hand() {
        // Half of the time idle, half at 0.8, where the victim is three times as slow: it progresses at (1 + 1/3) / 2 = 2/3, slowdown 0.5.
        let mut table = table(&[(0.4, 0.5), (0.8, 2.0)], &[("A", 0.1), ("B", 0.6)]);
        let at = |load| table.calibration.latency(load);
        let phases = vec![Phase { share: 0.5, mean_seconds: at(0.0) }, Phase { share: 0.5, mean_seconds: at(0.8) }];
        assert!((PhaseAware::new(&table).predict("A", "B").unwrap() - 1.25).abs() < 1e-9);
        table.applications[1].phases = phases;
        assert!((PhaseAware::new(&table).predict("A", "B").unwrap() - 0.5).abs() < 1e-9);
        // Half of the smallest measured load is half of its slowdown.
        assert!((PhaseAware::new(&table).predict("B", "A").unwrap() - 0.125).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn monotone_and_bounded(
            points in prop::collection::vec((0.01..0.99f64, -0.05..2.0f64), 1..20), a in 0.0..0.99f64, b in 0.0..0.99f64,
        ) {
            let most = points.iter().map(|p| p.1).fold(0.0, f64::max);
            let table = table(&points, &[("low", a.min(b)), ("high", a.max(b))]);
            let found = PhaseAware::new(&table);
            let (low, high) = (found.predict("low", "low").unwrap(), found.predict("low", "high").unwrap());
            prop_assert!(0.0 <= low && low <= high + 1e-9 && high <= most + 1e-9, "{} {}", low, high);
        }
    }
}
