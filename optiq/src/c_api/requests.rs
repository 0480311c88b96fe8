//! Persistent exchanges for C: handles, and the calls on them.
//!
//! A handle is a number, which is looked up; so one that was freed, or never made, is found out instead of followed.

use super::progress;
use super::sessions::{Sessions, Shared};
use super::{guard, read, remember, report};
use crate::Error;
use crate::session::{Arguments, Kept, Local, Operation};
use optiq_transport::Patience;
use optiq_transport::mpi::{ffi, in_place};
use parking_lot::Mutex;
use std::collections::BTreeMap;
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

struct Requests {
    next: Request,
    held: BTreeMap<Request, Arc<Mutex<Held>>>,
}

static REQUESTS: Mutex<Requests> = Mutex::new(Requests { next: 1, held: BTreeMap::new() });

/// Drops what the program forgot to free; communicators are about to go.
pub(super) fn forget() {
    REQUESTS.lock().held.clear();
}

fn find(request: *const Request, function: &str) -> Result<Arc<Mutex<Held>>, Error> {
    // SAFETY: NULL or a valid pointer by the callers' contract.
    let Some(&request) = (unsafe { request.as_ref() }) else {
        return Err(Error::Argument(format!("the request that {function} was given is NULL")));
    };
    let unknown =
        || Error::Argument(format!("{function} was given the request {request}, which was freed or never made"));
    REQUESTS.lock().held.get(&request).cloned().ok_or_else(unknown)
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
    guard(|| {
        if request.is_null() {
            return Err(Error::Argument("the place for the request is NULL".into()));
        }
        // SAFETY: valid for writing by this function's contract.
        unsafe { *request = 0 };
        let arguments = Arguments {
            send: sendbuf,
            send_counts: sendcounts,
            send_displacements: sdispls,
            send_type: sendtype,
            receive: recvbuf,
            receive_counts: recvcounts,
            receive_displacements: rdispls,
            receive_type: recvtype,
        };
        let Some(session) = Sessions::get(comm, "optiq_alltoallv_init")? else {
            return Err(Error::Argument("the communicator is an inter-communicator".into()));
        };
        let locked = session.lock();
        let ranks = locked.size() as usize;
        // SAFETY: by this function's contract. What is sent in place changes between starts: MPI's business.
        let local = unsafe { read(&arguments, ranks, 0, &mut Vec::new()) };
        let in_place = sendbuf == in_place();
        let local = match local {
            Ok(_) if in_place => Ok(Local::OnlyMpi("MPI_IN_PLACE in a persistent exchange is left to MPI".into())),
            local => local,
        };
        let kept = match &local {
            // SAFETY: by this function's contract.
            Ok(_) => Some(unsafe { Kept::new(&arguments, ranks) }?),
            Err(_) => None,
        };
        let made = locked.init(local, kept);
        let operation = made.map_err(|e| report(&locked, comm, "optiq_alltoallv_init", e))?;
        remember(operation.decision());
        drop(locked);
        let mut requests = REQUESTS.lock();
        let number = requests.next;
        requests.next += 1;
        requests.held.insert(number, Arc::new(Mutex::new(Held { session, comm, operation })));
        // SAFETY: valid for writing by this function's contract.
        unsafe { *request = number };
        Ok(())
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
    guard(|| {
        let held = find(request, "optiq_alltoallv_start")?;
        let Held { session, comm, operation } = &mut *held.lock();
        let locked = session.lock();
        // SAFETY: by this function's contract.
        let started = unsafe { locked.start(operation) };
        remember(operation.decision());
        started.map_err(|e| {
            if matches!(e, Error::Argument(_)) { e } else { report(&locked, *comm, "optiq_alltoallv_start", e) }
        })?;
        drop(locked);
        progress::watch(session);
        Ok(())
    })
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
        let mut patience = Patience::default();
        loop {
            let locked = session.lock();
            if locked.test(operation).map_err(|e| report(&locked, *comm, "optiq_alltoallv_wait", e))? {
                return Ok(());
            }
            drop(locked);
            patience.idle();
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
            return Err(Error::Argument("the request is under way; wait for it before it is freed".into()));
        }
        // SAFETY: `find` has read it.
        unsafe {
            REQUESTS.lock().held.remove(&*request);
            *request = 0;
        }
        Ok(())
    })
}
