//! What a method's error is before any two applications have met.
//!
//! Each configuration of CompressionB in turn is left out of the table and takes the part of an aggressor: every application's slowdown
//! beside it is predicted from the others. So a pair that is predicted is never in what a method is trained on: neither the pair of
//! application and left-out configuration, nor any pair of applications, of which a table has none. The victim's own slowdowns beside the
//! other configurations do train: without them nothing is known of how it reacts.

use super::accuracy::PairError;
use super::table::{Application, TrainingTable};
use super::training::Method;
use crate::error::ProbeError;

/// The errors of a method, of each application beside each configuration; none of a table with one configuration.
///
/// # Errors
/// [`ProbeError::Pair`] is not to be expected: all names are the table's.
pub fn leave_one_out(table: &TrainingTable, method: Method) -> Result<Vec<PairError>, ProbeError> {
    let mut errors = Vec::with_capacity(table.applications.len() * table.configurations.len());
    for left_out in 0..table.configurations.len() {
        let mut rest = table.clone();
        let aggressor = rest.configurations.remove(left_out);
        if rest.configurations.is_empty() {
            break;
        }
        for application in &mut rest.applications {
            application.slowdowns.remove(left_out);
        }
        let slowdowns = vec![0.0; rest.configurations.len()];
        let impact = aggressor.impact;
        rest.applications.push(Application { name: aggressor.name.clone(), impact, slowdowns, phases: Vec::new() });
        let predictor = method.train(&rest);
        for application in &table.applications {
            errors.push(PairError {
                victim: application.name.clone(),
                aggressor: aggressor.name.clone(),
                predicted: predictor.predict(&application.name, &aggressor.name)?,
                measured: application.slowdowns[left_out],
            });
        }
    }
    Ok(errors)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::super::table::tests::table;
    use super::*;

    #[test]
    fn what_is_left_out_does_not_train() {
        // Slowdowns on a line, but for the one in the middle, which is far off. Left out, it is predicted from its neighbours.
        let table = table(&[(0.2, 0.2), (0.4, 9.0), (0.6, 0.6)], &[("A", 0.3)]);
        let found = leave_one_out(&table, Method::Queue).unwrap();
        assert_eq!(found.len(), 3);
        let middle = found.iter().find(|e| e.aggressor == "C1").unwrap();
        assert!((middle.predicted - 0.4).abs() < 1e-9 && middle.measured == 9.0);
        // Every method gives something for every configuration.
        for method in Method::ALL {
            assert_eq!(leave_one_out(&table, method).unwrap().len(), 3);
        }
    }
}
