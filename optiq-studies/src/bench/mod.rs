//! Measurements under `mpirun`, as every rank runs them: plain MPI and OPTIQ in turn in one job, every byte checked.
//!
//! A measurement gives a document, which `optiq bench` prints as JSON, as text, or as a page.

pub mod alltoallv;
pub mod calibration;
pub mod calls;
pub mod cases;
pub mod classes;
pub mod comparison;
mod exchange;
pub mod io;
pub mod job;
pub mod probe;
mod session;
pub mod timing;
