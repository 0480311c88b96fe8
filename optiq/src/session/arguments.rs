//! The arguments of a call, as C has them and as they were read.

use super::fast_path::FastPath;
use crate::blocks::Blocks;
use optiq_transport::TransportError;
use optiq_transport::mpi::{check, ffi, in_place};
use std::ffi::{c_int, c_void};

/// `MPI_Alltoallv`'s arguments in C terms, for falling back to it.
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    pub(crate) send: *const c_void,
    pub(crate) send_counts: *const c_int,
    pub(crate) send_displacements: *const c_int,
    pub(crate) send_type: ffi::MPI_Datatype,
    pub(crate) receive: *mut c_void,
    pub(crate) receive_counts: *const c_int,
    pub(crate) receive_displacements: *const c_int,
    pub(crate) receive_type: ffi::MPI_Datatype,
}

/// A buffer of C's with its counts, displacements and datatype.
pub(crate) type ArgumentSide<B> = (B, *const c_int, *const c_int, ffi::MPI_Datatype);

impl Arguments {
    /// What is sent, and what is received.
    pub(crate) fn new(send: ArgumentSide<*const c_void>, receive: ArgumentSide<*mut c_void>) -> Self {
        let (send, send_counts, send_displacements, send_type) = send;
        let (receive, receive_counts, receive_displacements, receive_type) = receive;
        Self {
            send,
            send_counts,
            send_displacements,
            send_type,
            receive,
            receive_counts,
            receive_displacements,
            receive_type,
        }
    }

    /// What this rank sends or receives, in bytes, as [`FastPath::bytes`] says.
    ///
    /// # Safety
    /// As there, on both sides that are not `MPI_IN_PLACE`.
    #[inline]
    pub(crate) unsafe fn bytes(&self, fast_path: &FastPath) -> Option<u64> {
        let receive = (self.receive_counts, self.receive_type);
        let send = if self.send == in_place() { receive } else { (self.send_counts, self.send_type) };
        // SAFETY: by this function's contract.
        unsafe { fast_path.bytes([send, receive]) }
    }

    /// Falls back to the MPI library.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`.
    pub(crate) unsafe fn hand_over(&self, comm: ffi::MPI_Comm) -> Result<(), TransportError> {
        // SAFETY: passed on.
        check(unsafe { self.call(comm) }, "MPI_Alltoallv")
    }

    /// The same, with MPI's own code.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`.
    #[inline]
    pub(crate) unsafe fn call(&self, comm: ffi::MPI_Comm) -> c_int {
        // SAFETY: the caller's arguments, passed on.
        unsafe {
            ffi::PMPI_Alltoallv(
                self.send,
                self.send_counts,
                self.send_displacements,
                self.send_type,
                self.receive,
                self.receive_counts,
                self.receive_displacements,
                self.receive_type,
                comm,
            )
        }
    }
}

/// How plain MPI serves a call that falls back to it.
pub(crate) enum ByMpi<'a> {
    /// With these arguments, on a duplicate of the communicator.
    Arguments(Arguments),
    /// The caller does it, on the program's own communicator, and keeps MPI's code, which is returned here as well; with the arguments if
    /// combined messages may serve the call instead.
    Caller(&'a dyn Fn() -> c_int, Option<Arguments>),
}

impl ByMpi<'_> {
    /// # Safety
    /// As for `MPI_Alltoallv`.
    pub(super) unsafe fn hand_over(&self, comm: ffi::MPI_Comm) -> Result<(), TransportError> {
        match self {
            // SAFETY: passed on.
            ByMpi::Arguments(arguments) => unsafe { arguments.hand_over(comm) },
            ByMpi::Caller(call, _) => check(call(), "MPI_Alltoallv"),
        }
    }
}

/// Local view of a call after its arguments were read.
pub(crate) enum Local {
    /// Runs of bytes on both sides.
    Bytes(Blocks, Blocks),
    /// Something that only MPI can move; with the reason.
    OnlyMpi(String),
}

/// Tells a rank's counts from others.
pub(crate) fn signature(counts: [&[c_int]; 2], size: u64) -> u64 {
    let mut hasher = xxhash_rust::xxh3::Xxh3::with_seed(size);
    for list in counts {
        for count in list {
            hasher.update(&count.to_le_bytes());
        }
    }
    hasher.digest()
}
