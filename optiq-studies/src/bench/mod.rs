//! Measurements under `mpirun`, as every rank runs them: plain MPI and OPTIQ in turn in one job, every byte checked.
//!
//! What was measured is a document, with its text for people and its page; `optiq bench` prints them.

pub mod alltoallv;
pub mod cases;
pub mod comparison;
mod exchange;
pub mod io;
pub mod timing;
