//! How long a collective call takes.

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::CommunicatorCollectives;
use std::time::Instant;

/// Seconds from a barrier until the last rank has returned; collective, and the same on all ranks.
///
/// # Errors
/// What `call` returns, on this rank only: the other ranks then wait in the reduction, and the job must be ended.
pub fn seconds(world: &SimpleCommunicator, call: impl FnOnce() -> Result<(), String>) -> Result<f64, String> {
    world.barrier();
    let start = Instant::now();
    call()?;
    let mine = start.elapsed().as_secs_f64();
    let mut longest = mine;
    world.all_reduce_into(&mine, &mut longest, SystemOperation::max());
    Ok(longest)
}
