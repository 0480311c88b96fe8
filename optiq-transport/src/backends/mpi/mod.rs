//! The two MPI back ends, and the few raw MPI calls that the rest of OPTIQ needs.
//!
//! Only `PMPI_*` functions are called, always on a private duplicate of the user's communicator: a profiler or
//! our own preload library on top of MPI never sees, and never disturbs, what happens in here.

mod align;
mod combined;
mod comm;
mod control;
mod convert;
mod datatype;
mod ending;
pub mod ffi;
mod fortran;
mod info;
mod library;
mod messages;
pub mod monitoring;
mod one_sided;
mod pull;
mod reduction;
mod requests;
mod shared;
pub mod tally;
mod two_sided;
mod window;

pub use combined::{Combined, CombinedOptions, Side, Sides};
pub use comm::{
    Communicator, Pending, PendingWords, check, in_place, is_initialized, library_version, processor_name, quietly,
};
pub use datatype::{contiguous_bytes, element_bytes, handle_bits, is_committed, is_named};
pub use fortran::{
    buffer_from_fortran, comm_from_fortran, file_from_fortran, ignores_status, info_from_fortran, request_from_fortran,
    request_to_fortran, status_to_fortran, type_from_fortran, window_from_fortran,
};
pub use info::{entries_of, info_entries};
pub use library::Library;
pub use messages::Message;
pub use one_sided::OneSided;
pub use pull::Pull;
pub use reduction::{MINIMA, Reduction, ReductionRecord};
pub use shared::HostMemory;
pub use two_sided::TwoSided;
