//! The two MPI back ends, and the few raw MPI calls that the rest of OPTIQ needs.
//!
//! Only `PMPI_*` functions are called, always on a private duplicate of the user's communicator: a profiler or
//! our own preload library on top of MPI never sees, and never disturbs, what happens in here.

mod align;
mod comm;
mod control;
mod datatype;
mod fortran;
mod in_order;
mod info;
mod library;
mod one_sided;
mod reduction;
mod requests;
mod shared;
mod two_sided;

pub use ::mpi::ffi;
pub use comm::{Communicator, Pending, PendingWords, check, in_place, is_initialized, quietly};
pub use datatype::{contiguous_bytes, handle_bits, is_committed, is_named};
pub use fortran::{
    buffer_from_fortran, comm_from_fortran, file_from_fortran, ignores_status, info_from_fortran, request_from_fortran,
    request_to_fortran, status_to_fortran, type_from_fortran,
};
pub use info::{entries_of, info_entries};
pub use library::Library;
pub use one_sided::OneSided;
pub use reduction::{MINIMA, Record, Reduction};
pub use shared::HostMemory;
pub use two_sided::TwoSided;

/// A rank as MPI's C interface wants it.
fn c_rank(rank: crate::Rank) -> std::os::raw::c_int {
    // Ranks come from a communicator whose size is a C int.
    rank as std::os::raw::c_int
}

/// A byte count as MPI's C interface wants it.
///
/// # Errors
/// [`crate::TransportError::BadPath`] for a chunk beyond 2 GiB; chunk rules stay far below.
fn c_count(header: &crate::Header) -> Result<std::os::raw::c_int, crate::TransportError> {
    std::os::raw::c_int::try_from(header.bytes).map_err(|_| crate::TransportError::BadPath {
        path: header.path,
        what: format!("has chunks of {} bytes; MPI counts to {}", header.bytes, std::os::raw::c_int::MAX),
    })
}
