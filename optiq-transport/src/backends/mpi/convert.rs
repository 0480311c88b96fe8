//! Numbers as MPI's C interface wants them.

use crate::error::TransportError;
use crate::path::Header;
use optiq_trace::ids::Rank;
use std::ffi::c_int;

/// A rank as MPI's C interface wants it.
pub(super) fn c_rank(rank: Rank) -> c_int {
    // Ranks come from a communicator whose size is a C int.
    rank.0 as c_int
}

/// The largest byte count of a call: MPI before version 4 counts in C ints.
pub(super) const LARGEST_COUNT: u64 = c_int::MAX as u64;

/// A byte count as MPI's C interface wants it.
///
/// # Errors
/// [`TransportError::BadPath`] for a chunk beyond 2 GiB; chunk rules stay far below.
pub(super) fn c_count(header: &Header) -> Result<c_int, TransportError> {
    c_int::try_from(header.bytes).map_err(|_| {
        let (path, bytes) = (header.path, header.bytes);
        log::debug!("chunk {} of path {path} has {bytes} bytes, and a call carries {LARGEST_COUNT}", header.sequence);
        TransportError::BadPath { path, what: format!("has chunks of {bytes} bytes; MPI counts to {LARGEST_COUNT}") }
    })
}
