//! A program of a job file with real messages, as every rank runs it under `mpirun`.

mod clocks;
mod messages;
pub mod places;
pub mod run;
