//! Jobs with real messages: what a job has measured, and how several of them begin and end together.
//!
//! `optiq bench job` runs one program of a job file under `mpirun` (`bench::job`); what starts several of them beside each other,
//! such as `optiq lab jobs`, tells them when to go and when to end.

pub mod control;
pub mod samples;
