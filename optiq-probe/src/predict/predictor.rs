//! What all predictors are.

use crate::error::ProbeError;

/// Trained on a table; asked for a pair.
pub trait Predictor {
    /// The name of the method.
    fn name(&self) -> &'static str;

    /// How much slower the first application is beside the second one: 0.5 for one and a half times as long.
    ///
    /// # Errors
    /// [`ProbeError::Pair`]: an application that the table does not have.
    fn predict(&self, victim: &str, aggressor: &str) -> Result<f64, ProbeError>;
}
