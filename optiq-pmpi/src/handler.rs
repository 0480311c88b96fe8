//! What is done with an intercepted call.
//!
//! Every row of the table (`table.rs`) names the handler of its calls. A handler decides whether a call goes on to the next
//! library, and what happens before and after. Dispatch is static: a call that is passed on must not cost an indirect jump.
//! A handler that only observes wraps another one, and calls it where [`ServeOrPass`] calls `next`.

use optiq::c_api::interpose::profile::{self, Moves};
use optiq::c_api::interpose::{self, Call, Function, Place};
use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;

/// One function for each way in which MPI functions are handled. All return MPI's code for the program. `call` and `requests`
/// read the program's arguments when they are called, and need not be called; `next` makes the same call in the next library.
pub trait Handler {
    /// Whether calls of this function go on without a look at their arguments; asked first, on every call.
    fn is_passed(function: Function) -> bool;

    /// Whether calls that send go on without a look at their arguments; asked first, on every call.
    fn passes_messages() -> bool;

    /// Whether calls that move bytes of files do.
    fn passes_files() -> bool;

    /// A call that sends and is not served: `moves` says what it sends.
    ///
    /// # Safety
    /// As for the MPI function; `next` must make the same call.
    unsafe fn message(moves: impl FnOnce() -> Moves, function: Function, next: impl FnOnce() -> c_int) -> c_int;

    /// A call that reads a file or writes to it, as [`Handler::message`].
    ///
    /// # Safety
    /// As for the MPI function; `next` must make the same call.
    unsafe fn file(moves: impl FnOnce() -> Moves, function: Function, next: impl FnOnce() -> c_int) -> c_int;

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

    /// `MPI_Pcontrol`: `arguments` gives the level, and the second argument, or whatever is in its place if there is none.
    ///
    /// # Safety
    /// As for the MPI function; `next` must make the same call.
    unsafe fn control(
        arguments: impl FnOnce() -> (c_int, *mut c_void),
        function: Function,
        next: impl FnOnce() -> c_int,
    ) -> c_int;
}

/// Serves a call over planned paths, or passes it on ([`optiq::c_api::interpose`]).
pub struct ServeOrPass;

impl Handler for ServeOrPass {
    #[inline]
    fn is_passed(function: Function) -> bool {
        interpose::is_passed(function)
    }

    #[inline]
    fn passes_messages() -> bool {
        true
    }

    #[inline]
    fn passes_files() -> bool {
        true
    }

    #[inline]
    unsafe fn message(_moves: impl FnOnce() -> Moves, _function: Function, next: impl FnOnce() -> c_int) -> c_int {
        next()
    }

    #[inline]
    unsafe fn file(_moves: impl FnOnce() -> Moves, _function: Function, next: impl FnOnce() -> c_int) -> c_int {
        next()
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

    #[inline]
    unsafe fn control(
        _arguments: impl FnOnce() -> (c_int, *mut c_void),
        _function: Function,
        next: impl FnOnce() -> c_int,
    ) -> c_int {
        next()
    }
}

/// Observes what another handler does: a profile begins after its `MPI_Init`, and ends between its part of `MPI_Finalize` and the next
/// library's ([`optiq::c_api::interpose::profile`]). Of calls that send or move bytes of files it learns if a profile wants that.
pub struct Observed<H>(PhantomData<H>);

/// The rows that are observed.
pub type Profiled = Observed<ServeOrPass>;

impl<H: Handler> Handler for Observed<H> {
    #[inline]
    fn is_passed(function: Function) -> bool {
        !profile::watches_messages() && H::is_passed(function)
    }

    #[inline]
    fn passes_messages() -> bool {
        !profile::watches_messages()
    }

    #[inline]
    fn passes_files() -> bool {
        !profile::watches_files()
    }

    #[inline]
    unsafe fn message(moves: impl FnOnce() -> Moves, function: Function, next: impl FnOnce() -> c_int) -> c_int {
        // SAFETY: passed on; the other handler learns nothing of what is moved.
        profile::call(moves, || unsafe { H::message(|| Moves::Other, function, next) })
    }

    #[inline]
    unsafe fn file(moves: impl FnOnce() -> Moves, function: Function, next: impl FnOnce() -> c_int) -> c_int {
        // SAFETY: as above.
        profile::call(moves, || unsafe { H::file(|| Moves::Other, function, next) })
    }

    #[inline]
    unsafe fn blocking(call: impl FnOnce() -> Call, function: Function, next: impl Fn() -> c_int) -> c_int {
        // SAFETY: passed on.
        profile::call(|| Moves::Other, || unsafe { H::blocking(call, function, next) })
    }

    #[inline]
    unsafe fn begin<P: Place>(call: impl FnOnce() -> (Call, P), function: Function, next: impl Fn() -> c_int) -> c_int {
        // SAFETY: passed on.
        profile::call(|| Moves::Other, || unsafe { H::begin(call, function, next) })
    }

    #[inline]
    unsafe fn start<P: Place>(
        requests: impl FnOnce() -> (c_int, P),
        function: Function,
        next: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: passed on.
        profile::call(|| Moves::Other, || unsafe { H::start(requests, function, next) })
    }

    #[inline]
    unsafe fn free<P: Place>(
        requests: impl FnOnce() -> (c_int, P),
        function: Function,
        next: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: passed on.
        unsafe { H::free(requests, function, next) }
    }

    #[inline]
    fn initialize(next: impl FnOnce() -> c_int) -> c_int {
        profile::initialize(|| H::initialize(next))
    }

    #[inline]
    fn finalize(next: impl FnOnce() -> c_int) -> c_int {
        H::finalize(|| {
            profile::finalize();
            next()
        })
    }

    #[inline]
    unsafe fn control(
        arguments: impl FnOnce() -> (c_int, *mut c_void),
        function: Function,
        next: impl FnOnce() -> c_int,
    ) -> c_int {
        let (level, name) = arguments();
        // SAFETY: the name may be anything.
        unsafe {
            profile::control(level, name.cast::<c_char>());
            H::control(|| (level, name), function, next)
        }
    }
}
