//! Who slows whom: predictors behind one trait, trained on a table that has no pair of applications in it.

pub mod accuracy;
pub mod cross_validation;
pub mod curve;
pub mod lookup;
pub mod phase_aware;
pub mod predictor;
pub mod queue;
pub mod table;
pub mod training;
