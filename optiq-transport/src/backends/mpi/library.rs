//! Which MPI library this is built with.

use super::ffi;

/// The families of MPI libraries that differ in how programs are started and what their transports can do. Each has its own
/// binary interface: a program linked with one cannot be started by the launcher of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Library {
    /// Open MPI.
    OpenMpi,
    /// MPICH, and what is derived from it.
    Mpich,
    /// Another library.
    Other,
}

impl Library {
    /// The library that this crate is built with, as `mpi.h` told the build script.
    pub const CURRENT: Library = if cfg!(optiq_mpi = "openmpi") {
        Library::OpenMpi
    } else if cfg!(optiq_mpi = "mpich") {
        Library::Mpich
    } else {
        Library::Other
    };

    /// The name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Library::OpenMpi => "Open MPI",
            Library::Mpich => "MPICH",
            Library::Other => "an MPI library of another kind",
        }
    }
}

// The crate mpi-sys looks for the library once per target directory and does not notice when MPICC changes; what is built
// here does. Mixing the two headers would crash at run time. Open MPI's handles are pointers, MPICH's are ints.
const _: () = {
    let handle = size_of::<ffi::MPI_Comm>();
    let expected = match Library::CURRENT {
        Library::OpenMpi => size_of::<*const u8>(),
        Library::Mpich => size_of::<std::ffi::c_int>(),
        Library::Other => handle,
    };
    assert!(
        handle == expected,
        "mpi-sys in this target directory was built with another MPI library than MPICC names now; build with a \
         CARGO_TARGET_DIR of its own for each library"
    );
};
