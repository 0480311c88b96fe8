//! What OPTIQ's cross-crate tests share: the case files, and exchanges that check every byte.
//!
//! One suite of cases (`tests/cases/*.toml`) runs against every planner and every transport. `tests/planners.rs`
//! plans each case with each planner; `tests/in_process.rs` carries each plan out over threads; the program
//! of the package `tests/mpi`, which its tests start under `mpirun`, does so over both MPI back ends.

pub mod cases;
pub mod exchange;
