//! What is done with an intercepted call.
//!
//! Every row of the table (`table.rs`) names the handler of its calls. A handler decides whether a call goes on to whoever is
//! behind, and what happens before and after. Dispatch is static: a call that is passed on must not cost an indirect jump.
//! A handler that only observes wraps another one, and calls it where [`ServeOrPass`] calls `next`.

use optiq::c_api::interpose::{self, Call, Function, Place};
use std::ffi::c_int;

/// One function for each way in which MPI functions are handled. All return MPI's code for the program. `call` and `requests`
/// read the program's arguments when they are called, and need not be called; `next` makes the same call at whoever is behind.
pub trait Handler {
    /// Whether calls of this function go on without a look at their arguments; asked first, on every call.
    fn is_passed(function: Function) -> bool;

    /// A call that is complete when it returns.
    ///
    /// # Safety
    /// As for the MPI function; `next` must make the same call.
    unsafe fn blocking(call: impl FnOnce() -> Call, function: Function, next: impl Fn() -> c_int) -> c_int;

    /// A call that gives the program a request, with where the program wants it.
    ///
    /// # Safety
    /// As for the MPI function; `next` must make the same call.
    unsafe fn begin<P: Place>(call: impl FnOnce() -> (Call, P), function: Function, next: impl Fn() -> c_int) -> c_int;

    /// `MPI_Start` and `MPI_Startall`: `requests` gives how many there are, and where.
    ///
    /// # Safety
    /// As for the MPI function; `next` must make the same call.
    unsafe fn start<P: Place>(
        requests: impl FnOnce() -> (c_int, P),
        function: Function,
        next: impl FnOnce() -> c_int,
    ) -> c_int;

    /// `MPI_Request_free`, as [`Handler::start`].
    ///
    /// # Safety
    /// As for the MPI function; `next` must make the same call.
    unsafe fn free<P: Place>(
        requests: impl FnOnce() -> (c_int, P),
        function: Function,
        next: impl FnOnce() -> c_int,
    ) -> c_int;

    /// `MPI_Init` and `MPI_Init_thread`.
    fn initialize(next: impl FnOnce() -> c_int) -> c_int;

    /// `MPI_Finalize`.
    fn finalize(next: impl FnOnce() -> c_int) -> c_int;
}

/// Serves a call over planned paths, or passes it on ([`optiq::c_api::interpose`]).
pub struct ServeOrPass;

impl Handler for ServeOrPass {
    #[inline]
    fn is_passed(function: Function) -> bool {
        interpose::is_passed(function)
    }

    #[inline]
    unsafe fn blocking(call: impl FnOnce() -> Call, function: Function, next: impl Fn() -> c_int) -> c_int {
        // SAFETY: passed on.
        unsafe { interpose::blocking(call, function, next) }
    }

    #[inline]
    unsafe fn begin<P: Place>(call: impl FnOnce() -> (Call, P), function: Function, next: impl Fn() -> c_int) -> c_int {
        // SAFETY: passed on.
        unsafe { interpose::begin(call, function, next) }
    }

    #[inline]
    unsafe fn start<P: Place>(
        requests: impl FnOnce() -> (c_int, P),
        _function: Function,
        next: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: passed on.
        unsafe { interpose::start(requests, next) }
    }

    #[inline]
    unsafe fn free<P: Place>(
        requests: impl FnOnce() -> (c_int, P),
        _function: Function,
        next: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: passed on.
        unsafe { interpose::free(requests, next) }
    }

    #[inline]
    fn initialize(next: impl FnOnce() -> c_int) -> c_int {
        interpose::initialize(next)
    }

    #[inline]
    fn finalize(next: impl FnOnce() -> c_int) -> c_int {
        interpose::finalize(next)
    }
}
