//! Sweeps: the runs of a job file with lists, one for each combination of their values.

pub mod axis;
pub mod file;
pub mod identity;
pub mod plan;
mod template;
