//! A call of the program, in C's terms.

use super::counts::Function;
use super::neighbours::{Expanded, Neighbours, SideBlocks};
use crate::session::Arguments;
use optiq_transport::mpi::{ffi, in_place};
use parking_lot::MutexGuard;
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
    /// As `MPI_Neighbor_alltoallv`: an element for each destination in the arrays of what is sent, one for each source in the others.
    EachNeighbour {
        /// Elements to send, and where they start.
        send: (*const c_int, *const c_int),
        /// Elements to receive, and where they start.
        receive: (*const c_int, *const c_int),
    },
    /// As `MPI_Neighbor_alltoall`: elements to send to each destination, and to receive from each source.
    SameForNeighbours {
        /// To send.
        send: c_int,
        /// To receive.
        receive: c_int,
    },
}

impl Blocks {
    /// What is sent and what is received, if it is among neighbours.
    pub(super) fn among_neighbours(&self) -> Option<[SideBlocks; 2]> {
        match *self {
            Self::EachNeighbour { send, receive } => {
                Some([SideBlocks::Each(send.0, send.1), SideBlocks::Each(receive.0, receive.1)])
            }
            Self::SameForNeighbours { send, receive } => Some([SideBlocks::Same(send), SideBlocks::Same(receive)]),
            Self::Each { .. } | Self::Same { .. } => None,
        }
    }
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
pub(super) enum Lists<'a> {
    Given([*const c_int; 4]),
    Made([Vec<c_int>; 4]),
    /// Of neighbours, with how many blocks are sent and received.
    Expanded(MutexGuard<'a, Expanded>, [usize; 2]),
}

impl<'a> Lists<'a> {
    /// `None` if a displacement is beyond what `MPI_Alltoallv` counts to. A call among neighbours needs `neighbours`.
    ///
    /// # Safety
    /// The arrays of a call among neighbours must be valid.
    pub(super) unsafe fn new(call: &Call, ranks: usize, neighbours: Option<&'a Neighbours>) -> Option<Self> {
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
            Blocks::EachNeighbour { .. } | Blocks::SameForNeighbours { .. } => {
                let (neighbours, sides) = (neighbours?, call.blocks.among_neighbours()?);
                // SAFETY: by this function's contract.
                Some(Self::Expanded(unsafe { neighbours.expand(sides)? }, neighbours.blocks()))
            }
        }
    }

    pub(super) fn arguments(&self, call: &Call) -> Arguments {
        let [a, b, c, d] = match self {
            Self::Given(lists) => *lists,
            Self::Made(lists) => lists.each_ref().map(|l| l.as_ptr()),
            Self::Expanded(lists, _) => lists.each_ref().map(|l| l.as_ptr()),
        };
        let mut types = [call.send_type, call.receive_type];
        if let Self::Expanded(_, blocks) = self {
            // Without neighbours on a side, its datatype may be anything.
            for (datatype, _) in types.iter_mut().zip(blocks).filter(|(_, blocks)| **blocks == 0) {
                // SAFETY: a constant.
                *datatype = unsafe { ffi::RSMPI_UINT8_T };
            }
        }
        Arguments::new((call.send, a, b, types[0]), (call.receive, c, d, types[1]))
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
