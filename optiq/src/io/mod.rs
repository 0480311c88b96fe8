//! Collective file access over planned paths: data is moved to the hosts with a way to the storage, and written there.
//!
//! ```text
//!  write:  ranks ── planned paths ──► server rank, half A ──► MPI_File_iwrite_at     round k
//!          ranks ── planned paths ──► server rank, half B ──► ...                    round k + 1, meanwhile
//!  read:   the same, backwards
//! ```
//!
//! `servers.rs` knows the I/O hosts that have a rank, `assign.rs` says which bytes go to which of them, `rounds.rs` cuts
//! that into rounds within a memory budget. These three are pure: every rank computes the same from the offsets and sizes
//! of all ranks. `view.rs` reads a file handle, `agree.rs` is what ranks tell each other, `session.rs` is the collective
//! call, `access.rs` moves the rounds, and `requests.rs` are the accesses to the file that are under way.
//!
//! Why it cannot deadlock, and the memory bound: docs/io.md.

#[cfg(feature = "mpi")]
mod access;
#[cfg(feature = "mpi")]
mod agree;
mod assign;
#[cfg(feature = "mpi")]
mod requests;
mod rounds;
mod servers;
#[cfg(feature = "mpi")]
mod session;
#[cfg(test)]
mod tests;
#[cfg(feature = "mpi")]
mod view;

pub use assign::{Assignment, Extent, Share, assign};
#[cfg(feature = "mpi")]
pub(crate) use requests::Way;
pub use rounds::{LARGE_BYTES, MAX_HALF_BYTES, Message, Piece, Rounds};
pub use servers::{Server, Servers};
#[cfg(feature = "mpi")]
pub(crate) use session::{Call, without_session};
#[cfg(feature = "mpi")]
pub use session::{FileSession, Transfer};
#[cfg(feature = "mpi")]
pub use view::FileHandle;
#[cfg(feature = "mpi")]
pub(crate) use view::Group;
