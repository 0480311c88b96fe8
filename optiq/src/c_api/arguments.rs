//! Arguments of C, read into what sessions take.

use crate::blocks::{Blocks, ints};
use crate::error::Error;
use crate::gpu;
use crate::session::{Arguments, Local, signature};
use optiq_transport::mpi::{contiguous_bytes, element_bytes, ffi, in_place};
use std::ffi::{c_int, c_void};

/// Reads a priority class.
pub(super) fn class_of(priority_class: c_int) -> Result<u8, Error> {
    let wrong = |_| Error::Argument(format!("the class {priority_class} is given; 0 to 255 are expected"));
    u8::try_from(priority_class).map_err(wrong)
}

/// Reads an array of 64-bit numbers.
///
/// # Safety
/// `list` must be NULL or point to `ranks` numbers.
pub(super) unsafe fn longs(what: &str, list: *const i64, ranks: usize, in_place: bool) -> Result<Vec<i64>, Error> {
    match list.is_null() {
        // What is sent in place is not looked at.
        true if in_place && what.contains("send") => Ok(vec![0; ranks]),
        true => Err(Error::Argument(format!("{what} is NULL; an array of {ranks} 64-bit integers is expected"))),
        // SAFETY: by this function's contract.
        false => Ok(unsafe { std::slice::from_raw_parts(list, ranks) }.to_vec()),
    }
}

/// Reads counts that MPI cannot count.
///
/// # Safety
/// As for `optiq_alltoallv_c`.
pub(super) unsafe fn read_wide(
    lists: &[Vec<i64>],
    (send, send_type): (*const c_void, ffi::MPI_Datatype),
    (receive, receive_type): (*mut c_void, ffi::MPI_Datatype),
) -> Result<Local, Error> {
    if send == in_place() {
        return Err(Error::Argument("MPI_IN_PLACE cannot be used with counts beyond 2^31 - 1".into()));
    }
    let size = |datatype, what: &str| {
        let text = format!("the {what} datatype is not a plain run of bytes, as counts beyond 2^31 - 1 need it");
        // SAFETY: a valid handle by the caller's contract.
        unsafe { contiguous_bytes(datatype) }?.ok_or(Error::Argument(text))
    };
    let from = Blocks::new("send", send.cast_mut().cast(), &lists[0], &lists[1], size(send_type, "send")?)?;
    let into = Blocks::new("receive", receive.cast(), &lists[2], &lists[3], size(receive_type, "receive")?)?;
    Ok(Local::Bytes(from, into))
}

/// A number that tells the counts of a call from others.
///
/// # Safety
/// As for `optiq_alltoallv`, and both arrays of counts must be there, or only the second if `MPI_IN_PLACE` is sent.
pub(super) unsafe fn arguments_signature(a: &Arguments, ranks: usize) -> u64 {
    // SAFETY: by this function's contract.
    unsafe {
        let receive = std::slice::from_raw_parts(a.receive_counts, ranks);
        let in_place = a.send == in_place();
        let send = if in_place { receive } else { std::slice::from_raw_parts(a.send_counts, ranks) };
        signature([send, receive], element_bytes(a.receive_type))
    }
}

/// Reads the arguments of a call into runs of bytes; `staged` receives a copy of the receive buffer's blocks if they
/// are to be sent in place.
///
/// # Safety
/// As for `optiq_alltoallv`.
pub(super) unsafe fn read(a: &Arguments, ranks: usize, budget: u64, staged: &mut Vec<u8>) -> Result<Local, Error> {
    let side = |what: &str, counts, displacements| {
        // SAFETY: arrays of `ranks` ints by the caller's contract.
        unsafe {
            let counts = ints(&format!("the array of {what} counts"), counts, ranks)?;
            Ok::<_, Error>((counts, ints(&format!("the array of {what} displacements"), displacements, ranks)?))
        }
    };
    // SAFETY: a valid handle by the caller's contract.
    let Some(size) = (unsafe { contiguous_bytes(a.receive_type)? }) else {
        return Ok(Local::OnlyMpi("the receive datatype is not a plain run of bytes".into()));
    };
    let (counts, displacements) = side("receive", a.receive_counts, a.receive_displacements)?;
    let receive = Blocks::new("receive", a.receive.cast(), &counts, &displacements, size)?;
    if gpu::is_device(receive.base, receive.extent) {
        return Ok(Local::OnlyMpi("the receive buffer is GPU memory".into()));
    }
    if a.send == in_place() {
        // MPI 4.0, 6.8: the blocks of the receive buffer are sent, and replaced by what arrives.
        if receive.total() > budget {
            let reason = format!("MPI_IN_PLACE would copy {} bytes, more than OPTIQ_BUDGET", receive.total());
            return Ok(Local::OnlyMpi(reason));
        }
        let mut send = receive.clone();
        for (offset, &bytes) in send.offsets.iter_mut().zip(&receive.bytes) {
            // SAFETY: a block of the caller's receive buffer.
            let block = unsafe {
                let start = receive.base.wrapping_add(*offset as usize);
                if bytes == 0 { &[] } else { std::slice::from_raw_parts(start, bytes as usize) }
            };
            *offset = staged.len() as u64;
            staged.extend_from_slice(block);
        }
        send.base = staged.as_mut_ptr();
        send.extent = staged.len() as u64;
        return Ok(Local::Bytes(send, receive));
    }
    // SAFETY: a valid handle by the caller's contract.
    let Some(size) = (unsafe { contiguous_bytes(a.send_type)? }) else {
        return Ok(Local::OnlyMpi("the send datatype is not a plain run of bytes".into()));
    };
    let (counts, displacements) = side("send", a.send_counts, a.send_displacements)?;
    let send = Blocks::new("send", a.send.cast_mut().cast(), &counts, &displacements, size)?;
    if gpu::is_device(send.base, send.extent) {
        return Ok(Local::OnlyMpi("the send buffer is GPU memory".into()));
    }
    Ok(Local::Bytes(send, receive))
}
