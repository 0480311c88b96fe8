//! An exchange over many paths from Rust: every rank sends a megabyte to the rank on the far side.
//!
//! ```sh
//! cargo build --release --features mpi --example alltoallv
//! OPTIQ_TOPOLOGY=star:2 OPTIQ_PLACEMENT=rank mpirun -n 2 target/release/examples/alltoallv
//! ```

use mpi::traits::{AsRaw, Communicator};
use optiq::{Config, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let universe = mpi::initialize().ok_or("MPI was initialised before")?;
    let world = universe.world();
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let config = Config::read().usable()?;
    // SAFETY: a valid communicator; the session is dropped before `universe` finalises MPI.
    let session = unsafe { Session::new(world.as_raw(), config)? };

    let length = 1 << 17;
    let (to, from) = ((rank + ranks / 2) % ranks, (rank + ranks - ranks / 2) % ranks);
    let counts = |peer| (0..ranks).map(|r| if r == peer { length } else { 0 }).collect::<Vec<_>>();
    let zeros = vec![0; ranks];
    let send: Vec<u64> = (0..length as u64).map(|i| rank as u64 * 1_000_000 + i).collect();
    let mut receive = vec![0u64; length];
    session.alltoallv(&send, &counts(to), &zeros, &mut receive, &counts(from), &zeros)?;

    let right = receive.iter().zip(0..).all(|(&x, i)| x == from as u64 * 1_000_000 + i);
    if rank == 0 {
        println!("{}; served by {}", if right { "all is right" } else { "WRONG" }, session.decision());
    }
    drop(session);
    if right { Ok(()) } else { Err("wrong data".into()) }
}
