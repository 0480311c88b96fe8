//! The raw C interface of MPI, as rsmpi binds it.

pub use ::mpi::ffi::*;
