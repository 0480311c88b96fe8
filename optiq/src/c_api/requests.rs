//! Persistent exchanges for C: handles, and the calls on them.

use super::arguments::{class_of, read};
use super::calls;
use super::handles::{HandleKind, Handles, place};
use super::message::{guard, remember, report};
use super::progress;
use super::sessions::{Sessions, Shared};
use crate::error::Error;
use crate::session::{Arguments, FallbackArgs, Local, Operation};
use optiq_transport::Backoff;
use optiq_transport::mpi::{ffi, in_place};
use parking_lot::Mutex;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// A planned exchange that can be started many times. 0 is none.
pub type Request = u64;

/// One exchange and the session that it belongs to.
struct Held {
    session: Arc<Shared>,
    comm: ffi::MPI_Comm,
    operation: Operation,
}

// SAFETY: an operation is reached only under the session's mutex, like the session itself.
unsafe impl Send for Held {}

static REQUESTS: Handles<Held> = Handles::new(HandleKind::Request);

/// Drops what the program forgot to free; communicators are about to go.
pub(super) fn forget() {
    REQUESTS.forget();
}

fn find(request: *const Request, function: &str) -> Result<Arc<Mutex<Held>>, Error> {
    // SAFETY: NULL or a valid pointer by the callers' contract.
    unsafe { REQUESTS.at(request, function) }
}

/// Plans an exchange that will be started many times, as `MPI_Alltoallv_init` (MPI 4.0, section 6.13.8): all arguments
/// are those of `optiq_alltoallv`; the arrays may be changed afterwards, the buffers must stay. Collective over `comm`.
/// Since 0.1.
///
/// Returns 0 or a status code, and in `request` a handle that `optiq_alltoallv_free` frees (0 after an error).
///
/// # Safety
/// As for `optiq_alltoallv`; the buffers must be valid until the request is freed; `request` must be valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_alltoallv_init(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: ffi::MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: ffi::MPI_Datatype,
    comm: ffi::MPI_Comm,
    request: *mut Request,
) -> c_int {
    let (send, receive) = ((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype));
    let arguments = Arguments::new(send, receive);
    // SAFETY: by this function's contract.
    guard(|| unsafe { hold(Ok(arguments), 0, comm, request, "optiq_alltoallv_init") })
}

/// Plans an exchange as `optiq_alltoallv_init`, in a priority class from 0 (as it comes, as all other exchanges) to 255 (most urgent),
/// the same on all ranks. Exchanges of different classes that were started move at one time: at every rank, of those that send and
/// of those that forward, chunks of a more urgent one leave before new chunks of the others. Exchanges of one class move one at a
/// time, in the order of the starts. Up to four classes, 0 among them, move at one time; further ones share the turn of the nearest.
/// An exchange waits for those that were started before it if their buffer memory together does not fit `OPTIQ_BUDGET`. With
/// `OPTIQ_TRACE` or `OPTIQ_POSTCARDS`, and with transports other than `two-sided`, exchanges move one at a time. What plain MPI serves
/// has no class. For a class of each message, make a list of jobs (`optiq_jobs_set_class`). Since 0.1.
///
/// Returns 0 or a status code, and in `request` a handle that `optiq_alltoallv_free` frees (0 after an error).
///
/// # Safety
/// As for `optiq_alltoallv_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_alltoallv_init_class(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: ffi::MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: ffi::MPI_Datatype,
    priority_class: c_int,
    comm: ffi::MPI_Comm,
    request: *mut Request,
) -> c_int {
    let (send, receive) = ((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype));
    let arguments = Arguments::new(send, receive);
    // SAFETY: by this function's contract.
    guard(|| unsafe { hold(Ok(arguments), priority_class, comm, request, "optiq_alltoallv_init_class") })
}

/// Plans an exchange of a priority class and keeps it under a handle. A rank that has no arguments, because they are wrong, tells the others.
///
/// # Safety
/// As for [`optiq_alltoallv_init`].
pub(super) unsafe fn hold(
    arguments: Result<Arguments, Error>,
    priority_class: c_int,
    comm: ffi::MPI_Comm,
    request: *mut Request,
    function: &'static str,
) -> Result<(), Error> {
    // SAFETY: by this function's contract.
    unsafe { place(request, "request")? };
    let (arguments, class) = match class_of(priority_class) {
        Ok(class) => (arguments, class),
        Err(error) => (Err(error), 0),
    };
    let session = Sessions::intra(comm, function)?;
    let locked = session.lock();
    let ranks = locked.size() as usize;
    let mut kept = None;
    let local = match arguments {
        Ok(arguments) => {
            // SAFETY: by this function's contract. What is sent in place changes between starts: MPI's business.
            let local = unsafe { read(&arguments, ranks, 0, &mut Vec::new()) };
            if local.is_ok() {
                // SAFETY: by this function's contract.
                kept = Some(unsafe { FallbackArgs::new(&arguments, ranks) }?);
            }
            let left = || Local::OnlyMpi("MPI_IN_PLACE in an exchange that is started is left to MPI".into());
            local.map(|local| if arguments.send == in_place() { left() } else { local })
        }
        Err(error) => Err(error),
    };
    let made = locked.init(local, kept, class);
    let operation = made.map_err(|e| report(&locked, comm, function, e))?;
    remember(operation.decision());
    drop(locked);
    // SAFETY: `place` has written there.
    unsafe { REQUESTS.hold(Held { session, comm, operation }, request) };
    Ok(())
}

/// Starts an exchange with the arguments of `optiq_alltoallv` and returns before its data has moved:
/// `optiq_alltoallv_init` and `optiq_alltoallv_start` in one. Collective, and no further non-blocking than that: the ranks
/// agree, and plan if the demands are new, before it returns; what follows is the same as after `optiq_alltoallv_start`. Since
/// 0.1.
///
/// Returns 0 or a status code, and in `request` a handle that `optiq_alltoallv_free` frees (0 after an error).
///
/// # Safety
/// As for `optiq_alltoallv_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_ialltoallv(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: ffi::MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: ffi::MPI_Datatype,
    comm: ffi::MPI_Comm,
    request: *mut Request,
) -> c_int {
    let (send, receive) = ((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype));
    let arguments = Arguments::new(send, receive);
    guard(|| {
        // SAFETY: by this function's contract.
        unsafe {
            hold(Ok(arguments), 0, comm, request, "optiq_ialltoallv")?;
            start(request, "optiq_ialltoallv")
        }
    })
}

/// Starts an exchange as `optiq_ialltoallv`, in a priority class: `optiq_alltoallv_init_class` and `optiq_alltoallv_start` in one.
/// Since 0.1.
///
/// Returns 0 or a status code, and in `request` a handle that `optiq_alltoallv_free` frees (0 after an error).
///
/// # Safety
/// As for `optiq_alltoallv_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_ialltoallv_class(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: ffi::MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: ffi::MPI_Datatype,
    priority_class: c_int,
    comm: ffi::MPI_Comm,
    request: *mut Request,
) -> c_int {
    let (send, receive) = ((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype));
    let arguments = Arguments::new(send, receive);
    guard(|| {
        // SAFETY: by this function's contract.
        unsafe {
            hold(Ok(arguments), priority_class, comm, request, "optiq_ialltoallv_class")?;
            start(request, "optiq_ialltoallv_class")
        }
    })
}

/// Starts a planned exchange and returns at once. The send buffer must not be changed, and the receive buffer not be
/// touched, until `optiq_alltoallv_test` or `optiq_alltoallv_wait` says that it is complete. All ranks must start the
/// exchanges of a communicator in the same order. Progress is made inside OPTIQ's calls, or by a thread if
/// `OPTIQ_PROGRESS=1` is set and MPI was initialised with `MPI_THREAD_MULTIPLE`. Since 0.1.
///
/// Returns 0 or a status code; starting what is under way is an error.
///
/// # Safety
/// `request` must be NULL or valid for reading, and the buffers of its `optiq_alltoallv_init` valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_alltoallv_start(request: *mut Request) -> c_int {
    // SAFETY: by this function's contract.
    guard(|| unsafe { start(request, "optiq_alltoallv_start") })
}

/// # Safety
/// As for [`optiq_alltoallv_start`].
pub(super) unsafe fn start(request: *mut Request, function: &'static str) -> Result<(), Error> {
    let held = find(request, function)?;
    let Held { session, comm, operation } = &mut *held.lock();
    let locked = session.lock();
    // SAFETY: by this function's contract.
    let started = unsafe { locked.start(operation) };
    remember(operation.decision());
    let told = |e| if matches!(e, Error::Argument(_)) { e } else { report(&locked, *comm, function, e) };
    started.map_err(told)?;
    calls::count("started exchanges", operation.decision());
    drop(locked);
    progress::watch(session);
    Ok(())
}

/// Makes progress with a started exchange and says in `flag` whether it is complete (1 also if it was never started).
/// Since 0.1.
///
/// Returns 0 or a status code.
///
/// # Safety
/// `request` must be NULL or valid for reading, `flag` NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_alltoallv_test(request: *mut Request, flag: *mut c_int) -> c_int {
    guard(|| {
        let held = find(request, "optiq_alltoallv_test")?;
        // SAFETY: by this function's contract.
        let Some(flag) = (unsafe { flag.as_mut() }) else {
            return Err(Error::Argument("the place for the flag is NULL".into()));
        };
        let Held { session, comm, operation } = &mut *held.lock();
        let locked = session.lock();
        let done = locked.test(operation).map_err(|e| report(&locked, *comm, "optiq_alltoallv_test", e))?;
        *flag = c_int::from(done);
        drop(locked);
        progress::advance_others(session);
        Ok(())
    })
}

/// Waits until a started exchange is complete; returns at once if it was never started. Since 0.1.
///
/// Returns 0 or a status code.
///
/// # Safety
/// `request` must be NULL or valid for reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_alltoallv_wait(request: *mut Request) -> c_int {
    guard(|| {
        let held = find(request, "optiq_alltoallv_wait")?;
        let Held { session, comm, operation } = &mut *held.lock();
        let mut backoff = Backoff::default();
        loop {
            let locked = session.lock();
            if locked.test(operation).map_err(|e| report(&locked, *comm, "optiq_alltoallv_wait", e))? {
                return Ok(());
            }
            drop(locked);
            progress::advance_others(session);
            backoff.idle();
        }
    })
}

/// Frees a planned exchange and sets `request` to 0. It must not be under way. Local. Since 0.1.
///
/// Returns 0 or a status code.
///
/// # Safety
/// `request` must be NULL or valid for reading and writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_alltoallv_free(request: *mut Request) -> c_int {
    guard(|| {
        let held = find(request, "optiq_alltoallv_free")?;
        if held.lock().operation.is_active() {
            return Err(Error::Argument("the request is active; wait for it before it is freed".into()));
        }
        // SAFETY: by this function's contract.
        unsafe { REQUESTS.free(request, "optiq_alltoallv_free") }
    })
}
