//! Observers of a simulation: what is recorded over time, and of each job.

pub(crate) mod jobs;
mod level;
pub mod postcards;
pub(crate) mod recorder;
pub(crate) mod run_observer;
pub(crate) mod series;
