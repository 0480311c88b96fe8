//! AverageLT, AverageStDevLT and PDFLT: the configuration of CompressionB that is closest to the aggressor (source, section 4.1).
//!
//! With `f_B` the distribution of ImpactB's latencies beside the aggressor B, `mu_B` and `sigma_B` its mean and standard deviation, and
//! `C_i` the configurations:
//!
//! ```text
//!     AverageLT        least    |mu_B - mu_Ci|
//!     AverageStDevLT   longest  [mu_B - sigma_B, mu_B + sigma_B]  in common with  [mu_Ci - sigma_Ci, mu_Ci + sigma_Ci]
//!     PDFLT            largest  integral of f_B f_Ci
//! ```
//!
//! The prediction is what the victim A suffers beside that configuration; the source's text on AverageLT says B, where its other
//! methods, and its sense, say A. Of configurations that are as close, the first counts; where no interval has anything in common, the
//! one with the smallest gap.

use super::predictor::Predictor;
use super::table::{Perturbation, TrainingTable};
use crate::error::ProbeError;

/// How close two perturbations are: larger is closer.
type Closeness = fn(&TrainingTable, &Perturbation, &Perturbation) -> f64;

/// One of the three; see the top of the file.
pub struct Lookup<'a> {
    table: &'a TrainingTable,
    name: &'static str,
    closeness: Closeness,
}

impl<'a> Lookup<'a> {
    /// AverageLT.
    pub fn average(table: &'a TrainingTable) -> Self {
        Self { table, name: "AverageLT", closeness: |_, b, c| -(b.mean_seconds - c.mean_seconds).abs() }
    }

    /// AverageStDevLT.
    pub fn deviation(table: &'a TrainingTable) -> Self {
        Self { table, name: "AverageStDevLT", closeness: |_, b, c| in_common(b, c) }
    }

    /// PDFLT.
    pub fn density(table: &'a TrainingTable) -> Self {
        Self { table, name: "PDFLT", closeness: |table, b, c| product(b, c) / table.bin_seconds }
    }

    /// The number of the configuration that is closest to this.
    pub fn closest(&self, to: &Perturbation) -> usize {
        let closeness = |i: usize| (self.closeness)(self.table, to, &self.table.configurations[i].impact);
        // The first of the closest: a later one must be closer.
        (1..self.table.configurations.len()).fold(0, |best, i| if closeness(i) > closeness(best) { i } else { best })
    }
}

impl Predictor for Lookup<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn predict(&self, victim: &str, aggressor: &str) -> Result<f64, ProbeError> {
        let victim = self.table.application(victim)?;
        Ok(victim.slowdowns[self.closest(&self.table.application(aggressor)?.impact)])
    }
}

/// The length that both intervals have in common; below zero, the gap between them.
fn in_common(b: &Perturbation, c: &Perturbation) -> f64 {
    let high = (b.mean_seconds + b.deviation_seconds).min(c.mean_seconds + c.deviation_seconds);
    let low = (b.mean_seconds - b.deviation_seconds).max(c.mean_seconds - c.deviation_seconds);
    high - low
}

/// The sum over all bins of the product of both shares; over the width of a bin it is the integral.
fn product(b: &Perturbation, c: &Perturbation) -> f64 {
    let total = |p: &Perturbation| p.counts.iter().sum::<u64>().max(1) as f64;
    let sum: f64 = b.counts.iter().zip(&c.counts).map(|(&b, &c)| b as f64 * c as f64).sum();
    sum / (total(b) * total(c))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::super::table::tests::table;
    use super::*;

    fn perturbation(mean: f64, deviation: f64, counts: &[u64]) -> Perturbation {
        Perturbation { mean_seconds: mean, deviation_seconds: deviation, counts: counts.to_vec() }
    }

    #[test]
    fn each_takes_another_configuration_by_hand() {
        let mut table = table(&[(0.1, 0.1), (0.3, 0.3), (0.6, 0.6)], &[("A", 0.2), ("B", 0.2)]);
        table.configurations[0].impact = perturbation(2.0e-6, 0.1e-6, &[9, 1, 0]);
        table.configurations[1].impact = perturbation(3.5e-6, 0.5e-6, &[0, 5, 5]);
        table.configurations[2].impact = perturbation(5.0e-6, 3.0e-6, &[2, 8, 0]);
        table.applications[1].impact = perturbation(2.6e-6, 0.5e-6, &[1, 8, 1]);
        table.applications[0].slowdowns = vec![0.1, 0.3, 0.6];
        let predicted = |lookup: Lookup<'_>| lookup.predict("A", "B").unwrap();
        // |2.6 - 2.0| is the least. [2.1, 3.1] has nothing in common with [1.9, 2.1] but its end, 0.1 with [3.0, 4.0], and all of its
        // length 1.0 with [2.0, 8.0]. Products: (9 + 8) / 100, (40 + 5) / 100, (2 + 64) / 100.
        assert_eq!(predicted(Lookup::average(&table)), 0.1);
        assert_eq!(predicted(Lookup::deviation(&table)), 0.6);
        assert_eq!(predicted(Lookup::density(&table)), 0.6);
        assert!((product(&table.applications[1].impact, &table.configurations[1].impact) - 0.45).abs() < 1e-12);
        // Without the wide one the second has the most in common, by 0.1.
        table.configurations.truncate(2);
        table.applications.iter_mut().for_each(|a| a.slowdowns.truncate(2));
        assert_eq!(Lookup::deviation(&table).predict("A", "B").unwrap(), 0.3);
    }

    #[test]
    fn gaps_decide_where_nothing_is_in_common_and_the_first_of_equals() {
        let mut table = table(&[(0.1, 0.1), (0.3, 0.3)], &[("A", 0.2)]);
        table.configurations[0].impact = perturbation(1e-6, 0.0, &[1]);
        table.configurations[1].impact = perturbation(3e-6, 0.0, &[1]);
        table.applications[0].impact = perturbation(2.4e-6, 0.0, &[1]);
        assert_eq!(Lookup::deviation(&table).predict("A", "A").unwrap(), 0.3);
        table.applications[0].impact.mean_seconds = 2e-6;
        assert_eq!(Lookup::average(&table).predict("A", "A").unwrap(), 0.1);
        assert!(Lookup::density(&table).predict("A", "C").unwrap_err().to_string().contains("no application \"C\""));
    }
}
