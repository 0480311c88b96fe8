//! What a call leaves behind for its thread: a status, a sentence, and the decision.

use super::sessions::Sessions;
use super::threads;
use crate::VERSION;
use crate::error::{Error, Status};
use crate::session::Session;
use optiq_lower::decide::Decision;
use optiq_transport::mpi::ffi;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

thread_local! {
    /// Whether the last call of this thread succeeded, so that there is no message; and whether it took the fast path to plain
    /// MPI, so that its session knows the decision. No destructor: cheap to set.
    pub(super) static QUIET: Cell<(bool, bool)> = const { Cell::new((true, false)) };
    static MESSAGE: RefCell<CString> = RefCell::new(CString::default());
    /// What served the last call that was agreed upon, and in words, once it was asked for.
    static DECISION: RefCell<(Option<Arc<Decision>>, CString)> = RefCell::new((None, CString::default()));
}

fn c_string(text: &str) -> CString {
    // A zero byte in the middle would cut the text off for C; none of ours has one.
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Runs a function body, turns its error into a code, and keeps panics on this side of the boundary.
pub(super) fn guard(body: impl FnOnce() -> Result<(), Error>) -> c_int {
    let body = || {
        let _inside = threads::enter()?;
        body()
    };
    let (status, text) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => {
            QUIET.set((true, QUIET.get().1));
            return Status::Success as c_int;
        }
        Ok(Err(error)) => (error.status(), error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            (Status::Internal, format!("internal error in OPTIQ: {}", text.unwrap_or_default()))
        }
    };
    QUIET.set((false, QUIET.get().1));
    MESSAGE.with(|m| *m.borrow_mut() = c_string(&text));
    status as c_int
}

/// Keeps the decision of a call for [`optiq_last_decision`].
pub(super) fn remember(decision: &Arc<Decision>) {
    QUIET.set((QUIET.get().0, false));
    DECISION.with(|d| {
        let latest = &mut d.borrow_mut().0;
        if !latest.as_ref().is_some_and(|l| Arc::ptr_eq(l, decision)) {
            *latest = Some(Arc::clone(decision));
        }
    });
}

/// Does what MPI does about errors that other ranks do not know of, and passes the error on: they may be waiting inside
/// MPI for this one. The communicator's error handler is called, which by default ends the job.
pub(super) fn report(session: &Session, comm: ffi::MPI_Comm, function: &str, error: Error) -> Error {
    if !session.is_agreed(&error) {
        log::error!("{function}: {error}");
        // SAFETY: a valid communicator by the callers' contracts.
        unsafe { ffi::PMPI_Comm_call_errhandler(comm, ffi::MPI_ERR_OTHER as c_int) };
    }
    error
}

/// One line of English for a status code; never NULL, valid for ever. Since 0.1. Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_strerror(status: c_int) -> *const c_char {
    static UNKNOWN: &CStr = c"unknown status code";
    static TEXTS: OnceLock<Vec<CString>> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| Status::ALL.iter().map(|s| c_string(s.describe())).collect());
    let known = Status::ALL.iter().position(|&s| s as c_int == status);
    known.map_or(UNKNOWN.as_ptr(), |i| texts[i].as_ptr())
}

/// The sentence that explains the last status of a function that was called from this thread; empty after a
/// success. Valid until the next call from this thread. Never NULL. Since 0.1. Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_last_message() -> *const c_char {
    if QUIET.get().0 { c"".as_ptr() } else { MESSAGE.with(|m| m.borrow().as_ptr()) }
}

/// What served the last `optiq_alltoallv` from this thread, and why; empty before the first. Valid until the next
/// call from this thread. Never NULL. Since 0.1. Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_last_decision() -> *const c_char {
    DECISION.with(|d| {
        let (decision, text) = &mut *d.borrow_mut();
        if QUIET.get().1
            && let Some(session) = Sessions::of_this_thread()
        {
            *decision = Some(session.lock().decided());
        }
        *text = decision.as_ref().map(|d| c_string(&d.to_string())).unwrap_or_default();
        text.as_ptr()
    })
}

/// The library's version: major * 10000 + minor * 100 + patch. Since 0.1. Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_version() -> c_int {
    VERSION
}
