//! Small helpers around raw MPI and the C interface.

use optiq::Status;
use optiq::c_api::{optiq_last_message, optiq_strerror};
use optiq_transport::mpi::ffi;
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
