//! Calls from threads that MPI was not initialised for are found out before they do harm.
//!
//! Below `MPI_THREAD_MULTIPLE` (MPI 4.0, section 11.6.2) at most one thread at a time may be inside; below
//! `MPI_THREAD_SERIALIZED` only the one that initialised MPI. Calls that go to plain MPI without a word do not come by here:
//! there MPI's own rules hold.

use crate::error::Error;
use optiq_transport::mpi::{ffi, is_initialized};
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// The thread level that MPI provides; not known before `optiq_init`.
static LEVEL: AtomicI32 = AtomicI32::new(ffi::MPI_THREAD_MULTIPLE as c_int);
/// The thread that is inside; 0 is none.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// Asks MPI, which is initialised, for its thread level.
pub(super) fn learn_level() {
    let mut level = 0;
    // SAFETY: an out-parameter.
    if unsafe { ffi::PMPI_Query_thread(&mut level) } == ffi::MPI_SUCCESS as c_int {
        LEVEL.store(level, Ordering::Relaxed);
    }
}

/// A thread that is inside, until it is dropped.
pub(super) struct Inside(bool);

impl Drop for Inside {
    fn drop(&mut self) {
        if self.0 {
            INSIDE.store(0, Ordering::Release);
        }
    }
}

/// A number for the calling thread, never 0.
fn this_thread() -> usize {
    thread_local! { static MARK: u8 = const { 0 } }
    MARK.with(|mark| std::ptr::from_ref(mark).addr())
}

/// Enters a call of the C interface.
pub(super) fn enter() -> Result<Inside, Error> {
    let level = LEVEL.load(Ordering::Relaxed);
    if level >= ffi::MPI_THREAD_MULTIPLE as c_int {
        return Ok(Inside(false));
    }
    let me = this_thread();
    match INSIDE.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
        // A callback of MPI's, inside a call of ours.
        Err(other) if other == me => return Ok(Inside(false)),
        Err(_) => {
            let text = "OPTIQ was called from two threads at a time, which needs MPI_THREAD_MULTIPLE";
            return Err(Error::Argument(text.into()));
        }
        Ok(_) => {}
    }
    let inside = Inside(true);
    if level < ffi::MPI_THREAD_SERIALIZED as c_int && is_initialized() {
        let mut main = 0;
        // SAFETY: an out-parameter.
        let known = unsafe { ffi::PMPI_Is_thread_main(&mut main) } == ffi::MPI_SUCCESS as c_int;
        if known && main == 0 {
            let text = "OPTIQ was called from another thread than the one that initialised MPI, which needs \
                        MPI_THREAD_SERIALIZED";
            return Err(Error::Argument(text.into()));
        }
    }
    Ok(inside)
}
