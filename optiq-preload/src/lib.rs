//! `liboptiq_preload.so`: the functions that are taken over from the MPI library, under the names that programs call.
//!
//! ```text
//! mpirun -x LD_PRELOAD=liboptiq_preload.so -x OPTIQ_TOPOLOGY=torus:4x4 ./app
//! ```
//!
//! One table (`table.rs`) has the prototypes; this crate makes from it an entry point in C and, where the MPI library's
//! Fortran functions do not call those of C, one for every name that Fortran compilers make of it. Each hands its arguments
//! to [`optiq::c_api::interpose`], together with a way to make the same call at whoever is behind. Nothing is done when the
//! library is loaded, which happens in every program that a job script starts.
#![cfg(feature = "mpi")]

#[cfg(optiq_fortran)]
mod fortran;
mod kinds;
mod next;
mod table;
