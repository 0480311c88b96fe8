//! Observers of a simulation: what is recorded over time.

mod level;
pub(crate) mod recorder;
pub(crate) mod series;
