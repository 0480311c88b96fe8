//! Both sides of a call, for combined messages.

use super::arguments::Arguments;
use crate::error::Error;
use crate::gpu;
use optiq_transport::TransportError;
use optiq_transport::mpi::{Side, Sides, ffi, in_place};
use std::ffi::{c_int, c_void};

/// Of the arguments of `MPI_Alltoallv`.
///
/// # Errors
/// What MPI reports.
///
/// # Safety
/// As for `MPI_Alltoallv`.
pub(crate) unsafe fn sides_of_each(a: &Arguments, ranks: u32) -> Result<Sides, Error> {
    // SAFETY: passed on.
    unsafe {
        let receive = Side::new(a.receive, a.receive_counts, a.receive_displacements, a.receive_type)?;
        let send = || Side::new(a.send.cast_mut(), a.send_counts, a.send_displacements, a.send_type);
        sides(a.send == in_place(), send, receive, ranks)
    }
}

/// Of the arguments of `MPI_Alltoall`: buffer, count and datatype of both sides.
///
/// # Errors
/// What MPI reports.
///
/// # Safety
/// As for `MPI_Alltoall`.
pub(crate) unsafe fn sides_of_equal(
    (send, send_count, send_type): (*const c_void, c_int, ffi::MPI_Datatype),
    (receive, count, datatype): (*mut c_void, c_int, ffi::MPI_Datatype),
    ranks: u32,
) -> Result<Sides, Error> {
    // SAFETY: passed on.
    unsafe {
        let receive = Side::equal(receive, count, datatype)?;
        sides(send == in_place(), || Side::equal(send.cast_mut(), send_count, send_type), receive, ranks)
    }
}

fn sides(
    in_place: bool,
    send: impl FnOnce() -> Result<Side, TransportError>,
    receive: Side,
    ranks: u32,
) -> Result<Sides, Error> {
    // One block of a GPU's memory stands for all of the buffer.
    let readable = |side: Side| match side.first_used(ranks) {
        Some(first) if gpu::is_device(first, 1) => side.only_by_mpi(),
        _ => side,
    };
    let receive = readable(receive);
    let send = if in_place { receive } else { readable(send()?) };
    Ok(Sides { send, receive, in_place })
}
