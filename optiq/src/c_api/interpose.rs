//! The seam for the preload library: pass a call on to the MPI library, or serve it.
//!
//! The library `liboptiq_pmpi.so` has nothing but entry points of the names that programs call; each comes here with its
//! arguments in C's terms and with `next`, which makes the very same call in the next library: another preloaded one,
//! or MPI. What is passed on goes there untouched, on the program's own communicator, so that errors are MPI's own and come
//! through the program's own error handler. What OPTIQ does itself uses `PMPI_*`.
//!
//! # What is passed on
//!
//! Without a topology everything, and nothing is made or attached. With one, each communicator has a state (module
//! `communicators`). Arguments that MPI surely refuses are passed on at once, at this rank alone, as MPI returns at once.
//! Everything else is agreed upon: whatever only one rank knows (a datatype with gaps, GPU memory) goes through the
//! session's reduction, and then all ranks pass the call on together. What goes on while the program does something else is
//! in module `nonblocking`. Module [`profile`] only observes.

mod call;
mod communicators;
mod counts;
mod neighbours;
mod nonblocking;
pub mod profile;
mod serve;
mod started;
mod state;
mod streams;

use crate::config::Config;
pub use call::{Blocks, Call, Place};
pub use counts::Function;
use counts::{CallOutcome, count};
use optiq_transport::mpi::is_initialized;
pub use optiq_transport::mpi::{
    buffer_from_fortran, comm_from_fortran, ffi, info_from_fortran, request_from_fortran, request_to_fortran,
    type_from_fortran, window_from_fortran,
};
use serve::{decide, look};
use state::{BUSY, Busy, PASSING, SERVING, STATE, UNDECIDED, flush};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;

/// A blocking call. Returns what the program is to be given: MPI's own code, wherever MPI serves the call.
///
/// # Safety
/// As for the MPI function; `next` must make the same call.
#[inline]
pub unsafe fn blocking(call: impl FnOnce() -> Call, function: Function, next: impl Fn() -> c_int) -> c_int {
    if !is_looked_at(function) {
        return next();
    }
    // SAFETY: passed on.
    unsafe { look(&call(), &next) }
}

/// Whether a call is passed on for good, which is counted then: the first thing that is asked of a call.
#[inline]
pub fn is_passed(function: Function) -> bool {
    let passed = STATE.now.load(Relaxed) >= PASSING;
    if passed {
        STATE.passed[function as usize].fetch_add(1, Relaxed);
    }
    passed
}

/// Whether a call is looked at: there are communicators then, and handles can be converted. One that is not is counted.
#[inline]
fn is_looked_at(function: Function) -> bool {
    match STATE.now.load(Relaxed) {
        SERVING => true,
        UNDECIDED => {
            let decided = catch_unwind(decide).unwrap_or(Err(CallOutcome::Failed));
            if let Err(reason) = decided
                && !BUSY.get()
            {
                count(function, reason);
            }
            decided.is_ok()
        }
        _ => !is_passed(function),
    }
}

/// A call that gives the program a request, as [`blocking`].
///
/// # Safety
/// As for the MPI function; `next` must make the same call.
#[inline]
pub unsafe fn begin<P: Place>(call: impl FnOnce() -> (Call, P), function: Function, next: impl Fn() -> c_int) -> c_int {
    if !is_looked_at(function) || BUSY.get() {
        return next();
    }
    let _busy = Busy::new();
    let (call, place) = call();
    // SAFETY: the program's place for its request.
    let mut put = |request| unsafe { place.put(request) };
    let begin = || match function {
        // SAFETY: passed on.
        Function::AlltoallvInit | Function::NeighborAlltoallvInit => unsafe {
            nonblocking::alltoallv_init(&call, &mut put)
        },
        // SAFETY: passed on.
        _ => unsafe { nonblocking::ialltoallv(&call, &mut put) },
    };
    match catch_unwind(AssertUnwindSafe(begin)).unwrap_or(Err(CallOutcome::Failed)) {
        Ok(code) => code,
        Err(reason) => {
            count(function, reason);
            next()
        }
    }
}

/// `MPI_Start` and `MPI_Startall`: OPTIQ's requests among those that MPI has started are carried out.
///
/// # Safety
/// `requests` must give as many requests as it says.
#[inline]
pub unsafe fn start<P: Place>(requests: impl FnOnce() -> (c_int, P), next: impl FnOnce() -> c_int) -> c_int {
    let code = next();
    if nonblocking::has_persistent() && !BUSY.get() && code == ffi::MPI_SUCCESS as c_int {
        let (count, place) = requests();
        for at in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: by this function's contract.
            nonblocking::started(unsafe { place.get(at) });
        }
    }
    code
}

/// `MPI_Request_free`: one of OPTIQ's requests is forgotten.
///
/// # Safety
/// As [`start`].
#[inline]
pub unsafe fn free<P: Place>(requests: impl FnOnce() -> (c_int, P), next: impl FnOnce() -> c_int) -> c_int {
    if nonblocking::has_persistent() && !BUSY.get() {
        // SAFETY: by this function's contract.
        nonblocking::freed(unsafe { requests().1.get(0) });
    }
    next()
}

/// `MPI_Init` and `MPI_Init_thread`: what takes all ranks is made there, if it was asked for.
pub fn initialize(next: impl FnOnce() -> c_int) -> c_int {
    let code = next();
    if code == ffi::MPI_SUCCESS as c_int && !BUSY.get() && is_initialized() {
        let _busy = Busy::new();
        // What fails is missing later, and calls are passed on.
        let _ = catch_unwind(|| {
            // For others, nothing is made before the first call.
            if Config::read().config.preload.starts() && decide().is_ok() {
                nonblocking::begun();
            }
        });
    }
    code
}

/// `MPI_Finalize`: ends started exchanges, and makes the report first.
pub fn finalize(next: impl FnOnce() -> c_int) -> c_int {
    if !BUSY.get() {
        let _busy = Busy::new();
        if STATE.now.load(Relaxed) == SERVING && is_initialized() {
            let _ = catch_unwind(nonblocking::ending);
        }
        // A report that fails must not keep a program from ending.
        let _ = catch_unwind(|| {
            flush();
            counts::report();
        });
    }
    next()
}
