//! The back ends: what carries chunks, and middleware around it.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`in_process`] | ranks as threads of one process, joined by channels, optionally at limited rates |
//! | `mpi` | two-sided (`MPI_Issend`) and one-sided (`MPI_Put`), with the feature `mpi` |
//! | [`functions`] | any library, by functions that a program gives (`optiq_set_transport` in C) |
//! | [`fault_injection`] | middleware that delivers events late |
//! | [`postcards`] | middleware that follows single chunks |
//! | [`tracing`] | middleware that records what happens |
//!
//! What each of them can do, and what its confirmations mean, is in its [`crate::Capabilities`].

pub mod fault_injection;
pub mod functions;
pub mod in_process;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod postcards;
pub mod tracing;
