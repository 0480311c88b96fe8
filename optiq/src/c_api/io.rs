//! Collective file access for C.
//!
//! MPI has no attributes on files to keep a session with, and a handle's value may be used again after `MPI_File_close`.
//! Sessions are therefore kept by the processes that opened a file, in their order: what any earlier file of the same
//! processes has learned serves the next one, and nothing is kept of a file itself.

use super::calls;
use super::message::guard;
use super::sessions::Sessions;
use crate::error::Error;
use crate::io::{Call, FileDirection, FileHandle, FileSession, Group, without_session};
use optiq_transport::mpi::{check, ffi};
use parking_lot::Mutex;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// The session of one list of processes.
struct Held {
    group: Group,
    session: FileSession,
}

// SAFETY: a session is reached only under its mutex, and the program must have asked MPI for a thread level that allows
// calls from several threads if it makes them. What it holds has no thread affinity of its own.
unsafe impl Send for Held {}

/// In the order of first use. They stay until OPTIQ ends: which of them go unused is not the same on all ranks.
static HELD: Mutex<Vec<Arc<Mutex<Held>>>> = Mutex::new(Vec::new());

/// Ends all sessions of files; MPI is about to go.
pub(super) fn forget() {
    let held = std::mem::take(&mut *HELD.lock());
    // In the order of first use, so that ranks free their communicators in the same order.
    held.into_iter().for_each(drop);
}

/// The session of the processes that opened a file, made on first use (collectively); `None` if they were not started
/// together.
///
/// # Safety
/// An open file.
unsafe fn session(file: FileHandle, function: &'static str) -> Result<Option<Arc<Mutex<Held>>>, Error> {
    Sessions::must_be_open(function)?;
    file.check()?;
    // SAFETY: by this function's contract.
    let group = unsafe { file.group()? };
    let known: Vec<_> = HELD.lock().clone();
    for held in known {
        if held.lock().group.is(&group)? {
            return Ok(Some(held));
        }
    }
    let Some(mut comm) = group.communicator()? else { return Ok(None) };
    // SAFETY: a communicator of ours, which the session duplicates.
    let made = Sessions::config(function).and_then(|config| unsafe { FileSession::new(comm, config) });
    // SAFETY: ours.
    check(unsafe { ffi::PMPI_Comm_free(&mut comm) }, "MPI_Comm_free")?;
    let held = Arc::new(Mutex::new(Held { group, session: made? }));
    HELD.lock().push(Arc::clone(&held));
    Ok(Some(held))
}

const APART: &str = "the file's processes are not all in one MPI_COMM_WORLD";

/// # Safety
/// As for [`optiq_file_write_at_all`] and [`optiq_file_read_at_all`].
unsafe fn access(call: Call, function: &'static str) -> Result<(), Error> {
    // SAFETY: by this function's contract.
    let decision = unsafe {
        match session(call.file, function)? {
            Some(held) => held.lock().session.access(call)?.decision,
            None => Arc::new(without_session(&call, APART.into())?),
        }
    };
    calls::record("collective file accesses", &decision);
    Ok(())
}

/// As `MPI_File_write_at_all` (MPI 4.0, section 14.4.2): `offset` counts elements of the file's view. The data is moved
/// over many paths to the I/O hosts that the topology marks (or `OPTIQ_IO_HOSTS`), and written there in large pieces,
/// within `OPTIQ_IO_BUDGET` bytes of memory. What OPTIQ does not serve itself is handed to the MPI library: views and
/// datatypes that are not contiguous, views that differ between ranks, atomic mode, ranks that write to the same bytes;
/// `optiq_last_decision` says which of both it was. Collective over the processes that opened the file; the file stays the
/// program's. Since 0.1.
///
/// Returns 0 or a status code. If a rank's arguments are wrong, or an I/O host's rank cannot write, all ranks get an error,
/// and `optiq_last_message` says which rank could not write what, and why; what earlier calls wrote is in the file then, and
/// any part of this one may be. With `OPTIQ_IO_TIMEOUT` ranks that do not come in time are an error at all that wait for
/// them; afterwards these processes cannot access files through OPTIQ any more, and memory of the call may still be in use.
/// A handle that is not open, and errors of accesses that the MPI library serves, are the rank's own, as in MPI. `status` is
/// filled after a success, and may be `MPI_STATUS_IGNORE` or NULL. Files of the same processes must not be used from two
/// threads at a time.
///
/// # Safety
/// As for `MPI_File_write_at_all`: an open file, a buffer that holds what `count` and `datatype` say, valid handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_file_write_at_all(
    fh: ffi::MPI_File,
    offset: ffi::MPI_Offset,
    buf: *const c_void,
    count: c_int,
    datatype: ffi::MPI_Datatype,
    status: *mut ffi::MPI_Status,
) -> c_int {
    let (direction, file, buffer) = (FileDirection::Write, FileHandle(fh), buf.cast_mut());
    let call = Call { direction, file, offset, buffer, count, datatype, status };
    // SAFETY: by this function's contract.
    guard(|| unsafe { access(call, "optiq_file_write_at_all") })
}

/// As `MPI_File_read_at_all` (MPI 4.0, section 14.4.2), the way back of `optiq_file_write_at_all`: I/O hosts read large
/// pieces and the data is moved over many paths to the ranks. Several ranks may read the same bytes. Where the file ends,
/// `status` tells fewer elements, or none, and the buffer keeps what it held. Collective over the processes that opened the
/// file. Since 0.1.
///
/// Returns 0 or a status code, as `optiq_file_write_at_all`; after an error the buffer's contents are unspecified.
///
/// # Safety
/// As for `MPI_File_read_at_all`: an open file, a buffer with room for what `count` and `datatype` say, valid handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_file_read_at_all(
    fh: ffi::MPI_File,
    offset: ffi::MPI_Offset,
    buf: *mut c_void,
    count: c_int,
    datatype: ffi::MPI_Datatype,
    status: *mut ffi::MPI_Status,
) -> c_int {
    let call =
        Call { direction: FileDirection::Read, file: FileHandle(fh), offset, buffer: buf, count, datatype, status };
    // SAFETY: by this function's contract.
    guard(|| unsafe { access(call, "optiq_file_read_at_all") })
}

/// The most buffer memory in bytes that accesses to files of the processes of `fh` had at this rank.
///
/// For tests of the budget; not part of the header.
///
/// # Safety
/// An open file.
pub unsafe fn peak_buffer_bytes(fh: ffi::MPI_File) -> Result<u64, Error> {
    // SAFETY: by this function's contract.
    let held = unsafe { session(FileHandle(fh), "peak_buffer_bytes")? };
    Ok(held.map_or(0, |h| h.lock().session.peak_buffer_bytes()))
}
