//! A call of the program, in C's terms.

use super::counts::Function;
use crate::session::Arguments;
use optiq_transport::mpi::{ffi, in_place};
use std::ffi::{c_int, c_void};

/// Which blocks a call moves.
pub enum Blocks {
    /// As `MPI_Alltoallv`: an element for each rank in every array.
    Each {
        /// Elements to send, and where they start.
        send: (*const c_int, *const c_int),
        /// Elements to receive, and where they start.
        receive: (*const c_int, *const c_int),
    },
    /// As `MPI_Alltoall`: elements to send to each rank, and to receive from each.
    Same {
        /// To send.
        send: c_int,
        /// To receive.
        receive: c_int,
    },
}

/// A call of the program, in C's terms.
pub struct Call {
    /// Which function.
    pub function: Function,
    /// The send buffer.
    pub send: *const c_void,
    /// Its datatype.
    pub send_type: ffi::MPI_Datatype,
    /// The receive buffer.
    pub receive: *mut c_void,
    /// Its datatype.
    pub receive_type: ffi::MPI_Datatype,
    /// What is moved.
    pub blocks: Blocks,
    /// The program's communicator.
    pub comm: ffi::MPI_Comm,
}

/// A call's counts and displacements as `MPI_Alltoallv` has them.
pub(super) enum Lists {
    Given([*const c_int; 4]),
    Made([Vec<c_int>; 4]),
}

impl Lists {
    /// `None` if a displacement is beyond what `MPI_Alltoallv` counts to.
    pub(super) fn new(call: &Call, ranks: usize) -> Option<Self> {
        match &call.blocks {
            Blocks::Each { send, receive } => Some(Self::Given([send.0, send.1, receive.0, receive.1])),
            Blocks::Same { send, receive } => {
                // In place, the send count is not significant.
                let send = if call.send == in_place() { receive } else { send };
                let starts = |count: c_int| {
                    (0..ranks).map(|r| c_int::try_from(r).ok()?.checked_mul(count)).collect::<Option<Vec<_>>>()
                };
                Some(Self::Made([vec![*send; ranks], starts(*send)?, vec![*receive; ranks], starts(*receive)?]))
            }
        }
    }

    pub(super) fn arguments(&self, call: &Call) -> Arguments {
        let [a, b, c, d] = match self {
            Self::Given(lists) => *lists,
            Self::Made(lists) => lists.each_ref().map(|l| l.as_ptr()),
        };
        Arguments::new((call.send, a, b, call.send_type), (call.receive, c, d, call.receive_type))
    }
}

/// Where the program keeps requests.
pub trait Place: Copy {
    /// One of them.
    ///
    /// # Safety
    /// There must be more than `at`.
    unsafe fn get(self, at: usize) -> ffi::MPI_Request;

    /// Writes the first one.
    ///
    /// # Safety
    /// There must be one.
    unsafe fn put(self, request: ffi::MPI_Request);
}

impl Place for *mut ffi::MPI_Request {
    unsafe fn get(self, at: usize) -> ffi::MPI_Request {
        // SAFETY: by this function's contract.
        unsafe { *self.add(at) }
    }

    unsafe fn put(self, request: ffi::MPI_Request) {
        // SAFETY: by this function's contract.
        unsafe { *self = request };
    }
}
