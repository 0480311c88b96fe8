//! Small helpers around raw MPI and the C interface.

use optiq::Status;
use optiq::c_api::{optiq_alltoallv, optiq_init, optiq_last_message, optiq_strerror};
use optiq_transport::mpi::ffi;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

/// `MPI_COMM_WORLD`.
pub fn world() -> ffi::MPI_Comm {
    // SAFETY: a constant.
    unsafe { ffi::RSMPI_COMM_WORLD }
}

/// `optiq_init` without arguments.
pub fn init() -> Result<(), String> {
    // SAFETY: NULL is allowed.
    succeeds("optiq_init", unsafe { optiq_init(null_mut(), null_mut()) })
}

/// `optiq_alltoallv` of bytes: (buffer, counts, displacements) on both sides.
pub fn alltoallv(
    (send, counts, displacements): (&[u8], &[c_int], &[c_int]),
    (receive, receive_counts, receive_displacements): (&mut [u8], &[c_int], &[c_int]),
    comm: ffi::MPI_Comm,
) -> c_int {
    // SAFETY: arrays of as many elements as there are ranks; buffers that fit the counts, or counts that must be refused.
    unsafe {
        optiq_alltoallv(
            send.as_ptr().cast(),
            counts.as_ptr(),
            displacements.as_ptr(),
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            receive_counts.as_ptr(),
            receive_displacements.as_ptr(),
            ffi::RSMPI_UINT8_T,
            comm,
        )
    }
}

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
