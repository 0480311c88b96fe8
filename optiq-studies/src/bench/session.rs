//! A session of all ranks of the job.

use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use optiq::{Config, Session};

/// Collective; a measurement drops it before MPI is finalised.
///
/// # Errors
/// Why there is no session.
pub(super) fn open(world: &SimpleCommunicator, config: Config) -> Result<Session, String> {
    // SAFETY: a valid communicator, and the session is dropped before MPI is finalised, by this function's contract.
    unsafe { Session::new(world.as_raw(), config) }.map_err(|e| e.to_string())
}
