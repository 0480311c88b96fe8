//! What can go wrong while data moves.

use optiq_trace::ids::{PathId, Rank};
use thiserror::Error;

/// Why a schedule could not be made or carried out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransportError {
    /// A malformed path: fewer than two ranks, a rank twice or out of range, no bytes, an id twice.
    #[error("path {path} {what}")]
    BadPath {
        /// The path's number.
        path: PathId,
        /// What is wrong with it.
        what: String,
    },
    /// The memory budget cannot hold one byte of every path that a rank must receive.
    #[error("rank {rank} receives {paths} paths at once, which do not fit into a memory budget of {budget} bytes")]
    Budget {
        /// The rank that would need the memory.
        rank: Rank,
        /// How many paths end at it or pass through it.
        paths: u64,
        /// The budget in bytes.
        budget: u64,
    },
    /// A buffer is smaller than the schedule needs.
    #[error("the {which} buffer holds {found} bytes, but the schedule reaches to byte {needed}")]
    BufferTooSmall {
        /// "send" or "receive".
        which: &'static str,
        /// Its size in bytes.
        found: u64,
        /// What is needed, in bytes.
        needed: u64,
    },
    /// An event that contradicts the schedule: another rank follows another plan, or a transport is broken.
    #[error("rank {rank} was told of {what}, which its schedule does not contain")]
    Unexpected {
        /// The rank that noticed.
        rank: Rank,
        /// What it was told.
        what: String,
    },
    /// Nothing moved for longer than the caller allows.
    #[error("rank {rank} gave up after {seconds} seconds without progress; it waits for {waiting_for}")]
    Stalled {
        /// The rank that gave up.
        rank: Rank,
        /// For how long nothing moved.
        seconds: u64,
        /// The first thing that it waits for.
        waiting_for: String,
    },
    /// The other side of an in-process transport is gone.
    #[error("rank {peer} has left the exchange")]
    PeerGone {
        /// The rank that left.
        peer: Rank,
    },
    /// A function that the program gave did not do what it should.
    #[error("the transport {name}: {call} {problem}")]
    Functions {
        /// The name that the program gave.
        name: &'static str,
        /// The function.
        call: &'static str,
        /// What it did.
        problem: String,
    },
    /// The MPI library returned an error.
    #[error("{call} failed: {message}")]
    Mpi {
        /// The MPI function.
        call: &'static str,
        /// What `MPI_Error_string` says.
        message: String,
    },
}
