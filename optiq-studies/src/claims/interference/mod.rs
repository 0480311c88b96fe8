//! B9 to B18: MPI and I/O on one fat tree, and what keeps them apart (document 000, chapters 5 and 6).
//!
//! `system` has the machine and its two jobs, `baselines` the fit of the machine's two free parameters on runs of one job alone; `io` and `mpi` what each
//! job suffers from the other, `cures` what placements and a throttle change.

pub mod baselines;
pub(super) mod cures;
pub(super) mod io;
pub(super) mod mpi;
mod system;
