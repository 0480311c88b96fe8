//! Small helpers around raw MPI and the C interface.

use optiq::Status;
use optiq::c_api::{optiq_last_message, optiq_strerror};
use optiq_transport::mpi::{Library, ffi};
use std::ffi::{CStr, c_char, c_int};

/// This process's rank in the world; 0 before MPI is there.
pub fn rank() -> u32 {
    let mut rank = 0;
    // SAFETY: an out-parameter.
    unsafe { ffi::PMPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank) };
    rank as u32
}

/// Number of ranks in the world.
pub fn size() -> u32 {
    let mut size = 0;
    // SAFETY: an out-parameter.
    unsafe { ffi::PMPI_Comm_size(ffi::RSMPI_COMM_WORLD, &mut size) };
    size as u32
}

/// Text that the C interface returned.
pub fn text(pointer: *const c_char) -> String {
    assert!(!pointer.is_null(), "the C interface promises texts that are never NULL");
    // SAFETY: a C string of the library, copied at once.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// The sentence behind the last status.
pub fn last_message() -> String {
    text(optiq_last_message())
}

/// Requires a status and a piece of the sentence that explains it.
pub fn expect(what: &str, found: c_int, status: Status, sentence: &str) -> Result<(), String> {
    let message = last_message();
    if found == status as c_int && message.contains(sentence) {
        return Ok(());
    }
    let known = text(optiq_strerror(found));
    Err(format!(
        "{what}: status {found} ({known}) with \"{message}\" instead of {} with \"...{sentence}...\"",
        status as c_int
    ))
}

/// Requires success.
pub fn succeeds(what: &str, found: c_int) -> Result<(), String> {
    expect(what, found, Status::Success, "")
}

/// An empty message from every rank to every other one, before `MPI_Finalize`, with MPICH.
///
/// MPICH 4.0's finalisation over UCX closes the connections, waits for every peer to acknowledge, and then waits for all
/// ranks without answering any more. A rank that has sent to a peer which never sent back waits for ever if it comes later
/// than that peer. Where both have sent, the acknowledgement follows the peer's own request on the same connection.
pub fn farewell() {
    if Library::CURRENT != Library::Mpich {
        return;
    }
    let (ranks, tag) = (size() as c_int, 0);
    // SAFETY: empty messages, which need no buffer; each request is completed by MPI_Waitall.
    unsafe {
        let (byte, world) = (ffi::RSMPI_UINT8_T, ffi::RSMPI_COMM_WORLD);
        let mut requests = vec![ffi::RSMPI_REQUEST_NULL; 2 * ranks as usize];
        for (peer, pair) in (0..ranks).zip(requests.chunks_exact_mut(2)) {
            ffi::PMPI_Irecv(std::ptr::null_mut(), 0, byte, peer, tag, world, &mut pair[0]);
            ffi::PMPI_Isend(std::ptr::null(), 0, byte, peer, tag, world, &mut pair[1]);
        }
        ffi::PMPI_Waitall(2 * ranks, requests.as_mut_ptr(), ffi::RSMPI_STATUSES_IGNORE);
    }
}
