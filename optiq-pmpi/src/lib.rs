//! `liboptiq_pmpi.so`: the functions that are taken over from the MPI library, under the names that programs call.
//!
//! ```text
//! mpirun -x LD_PRELOAD=liboptiq_pmpi.so -x OPTIQ_TOPOLOGY=torus:4x4 ./app
//! ```
//!
//! Two tables have the prototypes, `table.rs` of what is served, `watched.rs` of what profiles look at; this crate makes from it an entry point in C and, where the MPI library's
//! Fortran functions do not call those of C, one for every name that Fortran compilers make of it. Each hands its arguments
//! to the row's handler (`handler.rs`), together with a way to make the same call in the next library (`next.rs`): another
//! preloaded one, or MPI. Loading the library does nothing, as it is loaded into every program that a job script starts.
#![cfg(feature = "mpi")]

#[cfg(optiq_fortran)]
mod fortran;
mod handler;
mod kinds;
mod next;
mod table;
mod watched;
