//! Collective file access over planned paths: data is moved to the hosts that are connected to the storage, and written there.
//!
//! ```text
//!  write:  ranks ── planned paths ──► server rank, half A ──► MPI_File_iwrite_at     round k
//!          ranks ── planned paths ──► server rank, half B ──► ...                    round k + 1, meanwhile
//!  read:   the same, backwards
//! ```
//!
//! [`optiq_lower::aggregation`] knows the I/O hosts that have a rank, says which bytes go to which of them, and cuts that into
//! rounds within a memory budget. `view.rs` reads a file handle, `agree.rs` is what ranks tell each other, `session.rs` is the collective
//! call, `access.rs` moves the rounds, and `requests.rs` are the accesses to the file that were started.
//!
//! Why it cannot deadlock, and the memory bound: docs/io.md.

#[cfg(feature = "mpi")]
mod access;
#[cfg(feature = "mpi")]
mod agree;
#[cfg(feature = "mpi")]
mod file_session;
#[cfg(feature = "mpi")]
mod requests;
#[cfg(feature = "mpi")]
mod session;
#[cfg(feature = "mpi")]
mod view;

#[cfg(feature = "mpi")]
pub use file_session::FileSession;
pub use optiq_lower::aggregation::{
    Assignment, Extent, LARGE_BYTES, MAX_HALF_BYTES, Message, Piece, Rounds, Server, Servers, Share, assign,
};
#[cfg(feature = "mpi")]
pub(crate) use requests::FileDirection;
#[cfg(feature = "mpi")]
pub use session::FileTransfer;
#[cfg(feature = "mpi")]
pub(crate) use session::{Call, without_session};
#[cfg(feature = "mpi")]
pub use view::FileHandle;
#[cfg(feature = "mpi")]
pub(crate) use view::Group;
