//! What the commands do that run under `mpirun`.

use crate::failure::Failure;
use crate::progress::Progress;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;
use std::io::Write;
use std::time::Duration;

/// How long other ranks wait for rank 0 to say what is wrong.
const RANK_0_FIRST: Duration = Duration::from_millis(500);

/// Initialises MPI and runs `work` on every rank; what it gives, which only rank 0 has, goes to `print` before MPI is
/// finalised, which not every MPI library survives. An error of `work` ends the whole job, since ranks may differ in it.
///
/// # Errors
/// One sentence if there is no MPI; what `print` returns.
pub fn run<T>(
    work: impl FnOnce(&SimpleCommunicator) -> Result<Option<T>, String>,
    print: impl FnOnce(T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let missing = || Failure::Work("MPI could not be initialised".into());
    let universe = mpi::initialize().ok_or_else(missing)?;
    let world = universe.world();
    match work(&world) {
        Ok(Some(document)) => print(document),
        Ok(None) => Ok(()),
        Err(error) => {
            // What all ranks find rank 0 says, and ends the job for all. What it does not find, others say a little later.
            if world.rank() != 0 {
                std::thread::sleep(RANK_0_FIRST);
            }
            let _ = writeln!(std::io::stderr(), "optiq: rank {}: {error}", world.rank());
            world.abort(1)
        }
    }
}

/// As [`run`], for measurements of what crosses a network: one rank is refused.
///
/// # Errors
/// As [`run`].
pub fn run_on_several<T>(
    work: impl FnOnce(&SimpleCommunicator) -> Result<Option<T>, String>,
    print: impl FnOnce(T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut ranks = 0;
    let checked = |world: &SimpleCommunicator| {
        ranks = world.size();
        if ranks < 2 { Ok(None) } else { work(world) }
    };
    run(checked, print)?;
    if ranks < 2 {
        let text = "this is one rank, which sends nothing over a network; two or more are expected: mpirun -n 2 optiq bench ...";
        return Err(Failure::Input(text.into()));
    }
    Ok(())
}

/// A spinner on rank 0; the other ranks show nothing.
pub fn progress(world: &SimpleCommunicator, doing: &str) -> Progress {
    if world.rank() == 0 { Progress::start(doing) } else { Progress::none() }
}
