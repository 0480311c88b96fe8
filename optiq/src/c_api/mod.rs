//! The C interface. Declared in `optiq/include/optiq.h`, which is generated from this file.
//!
//! Every function returns a status code, catches panics, and leaves a sentence for [`optiq_last_message`]. A
//! session is attached to each communicator on its first use, as an MPI attribute, so that it lives exactly as long
//! as the communicator does.

// For the Fortran module, not for C programs.
/// cbindgen:ignore
mod fortran;
mod handles;
pub mod interpose;
mod io;
mod jobs;
mod progress;
mod requests;
mod schedule;
mod sessions;
mod settings;
mod threads;
mod topology;

use crate::blocks::{Blocks, ints};
use crate::error::{Error, Status};
use crate::session::Session;
use crate::session::{Arguments, Local, signature};
use crate::{VERSION, gpu, logger};
pub use io::*;
pub use jobs::*;
use optiq_lower::decide::Decision;
use optiq_transport::mpi::{check, contiguous_bytes, ffi, in_place, is_initialized};
pub use requests::*;
pub use schedule::*;
use sessions::Sessions;
pub use settings::*;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
pub use topology::*;

thread_local! {
    /// Whether the last call of this thread succeeded, so that there is no message; and whether it was left to plain MPI
    /// without a word, so that its session knows the decision. No destructor: cheap to set.
    static QUIET: Cell<(bool, bool)> = const { Cell::new((true, false)) };
    static MESSAGE: RefCell<CString> = RefCell::new(CString::default());
    /// What served the last call that was agreed upon, and in words, once somebody has asked.
    static DECISION: RefCell<(Option<Arc<Decision>>, CString)> = RefCell::new((None, CString::default()));
}

fn c_string(text: &str) -> CString {
    // A zero byte in the middle would cut the text off for C; none of ours has one.
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Runs a function body, turns its error into a code, and keeps panics on this side of the boundary.
fn guard(body: impl FnOnce() -> Result<(), Error>) -> c_int {
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

/// Initialises OPTIQ; MPI as well, with the arguments of `main`, if that has not been done. Call it once, from all
/// ranks, before any other function. `argc` and `argv` may be NULL. Options are read from `OPTIQ_*` environment
/// variables. Since 0.1.
///
/// Returns 0 or a status code. Not thread-safe.
///
/// # Safety
/// `argc` and `argv` must be NULL or point to those of `main`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    guard(|| {
        let mut started_mpi = false;
        let mut initialized = 0;
        // SAFETY: an out-parameter; may be called at any time.
        check(unsafe { ffi::PMPI_Initialized(&mut initialized) }, "MPI_Initialized")?;
        if initialized == 0 {
            // SAFETY: by this function's contract.
            check(unsafe { ffi::PMPI_Init(argc, argv) }, "MPI_Init")?;
            started_mpi = true;
        }
        if !is_initialized() {
            return Err(Error::Argument("optiq_init was called after MPI_Finalize".into()));
        }
        let settings = settings::at_init();
        let mut read = settings.resolve();
        let mut rank = 0;
        // SAFETY: MPI is initialised.
        check(unsafe { ffi::PMPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank) }, "MPI_Comm_rank")?;
        logger::init(&format!(" [rank {rank}]"), read.config.log);
        if rank == 0 {
            read.warnings.iter().for_each(|warning| log::warn!("{warning}"));
        }
        if let Some(error) = read.error.take() {
            if read.config.strict {
                if started_mpi {
                    // SAFETY: we initialised it just now.
                    check(unsafe { ffi::PMPI_Finalize() }, "MPI_Finalize")?;
                }
                return Err(error.into());
            }
            if rank == 0 {
                log::warn!("{error}; all calls go to plain MPI");
            }
        }
        threads::learn_level();
        progress::configure(read.config.progress);
        Sessions::open(settings, started_mpi)
    })
}

/// Ends OPTIQ and frees everything that it keeps for communicators; finalises MPI if [`optiq_init`] initialised
/// it. Collective over all communicators that were used. Called by itself at `MPI_Finalize` if it was forgotten.
/// Since 0.1.
///
/// Returns 0 or a status code. Not thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_finalize() -> c_int {
    guard(|| {
        let started_mpi = Sessions::close()?;
        if started_mpi {
            // SAFETY: we initialised MPI, and nothing of ours uses it any more.
            check(unsafe { ffi::PMPI_Finalize() }, "MPI_Finalize")?;
        }
        Ok(())
    })
}

/// As `MPI_Alltoallv` (MPI 4.0, section 6.8), over many paths where that is faster. Everything that `MPI_Alltoallv`
/// accepts is accepted; what OPTIQ does not move itself is handed to the MPI library. Collective over `comm`.
/// Since 0.1.
///
/// Returns 0 or a status code. If a rank's arguments are wrong, or counts disagree, in a call that ranks agree on, all
/// ranks get an error and no data is moved. In calls that go to plain MPI without an agreement, because earlier ones
/// were small, an error is the rank's own, as in MPI; OPTIQ_CHECK=1 makes ranks agree on every call. Without a topology,
/// in calls without an agreement, and for errors of the MPI library, the communicator's error handler is called first,
/// as MPI does; by default it ends the job. Thread-safe for different communicators as far as the program's MPI thread
/// level allows.
///
/// # Safety
/// As for `MPI_Alltoallv`: arrays of as many elements as `comm` has ranks, buffers that hold what the counts and
/// displacements say, valid handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_alltoallv(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: ffi::MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: ffi::MPI_Datatype,
    comm: ffi::MPI_Comm,
) -> c_int {
    let (send, receive) = ((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype));
    let arguments = Arguments::new(send, receive);
    // SAFETY: by this function's contract.
    if let Some(status) = unsafe { left_to_mpi(&arguments, comm) } {
        return status;
    }
    guard(|| {
        let Some(session) = Sessions::get(comm, "optiq_alltoallv")? else {
            remember(&Arc::new(Decision::Mpi { reason: "the communicator is an inter-communicator".into() }));
            // SAFETY: by this function's contract.
            return Ok(unsafe { arguments.hand_over(comm) }?);
        };
        let session = session.lock();
        let mut staged = Vec::new();
        let ranks = session.size() as usize;
        // SAFETY: by this function's contract.
        let local = unsafe { read(&arguments, ranks, session.budget(), &mut staged) };
        // SAFETY: as above; what could be read are arrays of ints.
        let signature = if local.is_ok() { unsafe { arguments_signature(&arguments, ranks) } } else { 0 };
        // SAFETY: by this function's contract; `staged` lives until the exchange is over.
        let result = unsafe { session.exchange(local, Some(arguments), signature) };
        result.map_err(|e| report(&session, comm, "optiq_alltoallv", e))?;
        remember(&session.decided());
        Ok(())
    })
}

/// As `optiq_alltoallv` with 64-bit counts and displacements, in the manner of `MPI_Alltoallv_c` (MPI 4.0, section 6.8).
/// Beyond 2^31 - 1 elements OPTIQ moves the bytes itself, for which it needs a network; then datatypes must be plain runs of
/// bytes, and `MPI_IN_PLACE` is an error. Collective over `comm`. Since 0.1.
///
/// Returns 0 or a status code, as `optiq_alltoallv`; counts beyond 2^31 - 1 in a call that ranks do not agree on, because
/// earlier ones were small, end the job (OPTIQ_CHECK=1 makes them agree).
///
/// # Safety
/// As for `optiq_alltoallv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_alltoallv_c(
    sendbuf: *const c_void,
    sendcounts: *const i64,
    sdispls: *const i64,
    sendtype: ffi::MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const i64,
    rdispls: *const i64,
    recvtype: ffi::MPI_Datatype,
    comm: ffi::MPI_Comm,
) -> c_int {
    let function = "optiq_alltoallv_c";
    let mut narrow = None;
    let status = guard(|| {
        let Some(session) = Sessions::get(comm, function)? else {
            let text = "the communicator is an inter-communicator, whose counts optiq_alltoallv takes";
            return Err(Error::Argument(text.into()));
        };
        let session = session.lock();
        let ranks = session.size() as usize;
        let in_place = sendbuf == in_place();
        let lists = [
            ("the array of send counts", sendcounts),
            ("the array of send displacements", sdispls),
            ("the array of receive counts", recvcounts),
            ("the array of receive displacements", rdispls),
        ];
        // SAFETY: by this function's contract.
        let wide = |(what, list): (&str, *const i64)| unsafe { longs(what, list, ranks, in_place) };
        let wide = lists.map(wide).into_iter().collect::<Result<Vec<_>, Error>>();
        if let Ok(wide) = &wide {
            let short = |list: &Vec<i64>| list.iter().map(|&n| c_int::try_from(n).ok()).collect::<Option<Vec<_>>>();
            narrow = wide.iter().map(short).collect::<Option<Vec<_>>>();
            if narrow.is_some() {
                return Ok(());
            }
        }
        // SAFETY: by this function's contract.
        let local = wide.and_then(|w| unsafe { read_wide(&w, (sendbuf, sendtype), (recvbuf, recvtype)) });
        // SAFETY: by this function's contract.
        unsafe { session.exchange(local, None, 0) }.map_err(|e| report(&session, comm, function, e))?;
        remember(&session.decided());
        Ok(())
    });
    match narrow {
        Some(n) => {
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| n[i].as_ptr());
            // SAFETY: the same arguments in shorter words.
            unsafe { optiq_alltoallv(sendbuf, a, b, sendtype, recvbuf, c, d, recvtype, comm) }
        }
        None => status,
    }
}

/// # Safety
/// `list` must be NULL or point to `ranks` numbers.
unsafe fn longs(what: &str, list: *const i64, ranks: usize, in_place: bool) -> Result<Vec<i64>, Error> {
    match list.is_null() {
        // What is sent in place is not looked at.
        true if in_place && what.contains("send") => Ok(vec![0; ranks]),
        true => Err(Error::Argument(format!("{what} is NULL; an array of {ranks} 64-bit integers is expected"))),
        // SAFETY: by this function's contract.
        false => Ok(unsafe { std::slice::from_raw_parts(list, ranks) }.to_vec()),
    }
}

/// Reads counts that MPI cannot count.
///
/// # Safety
/// As for [`optiq_alltoallv_c`].
unsafe fn read_wide(
    lists: &[Vec<i64>],
    (send, send_type): (*const c_void, ffi::MPI_Datatype),
    (receive, receive_type): (*mut c_void, ffi::MPI_Datatype),
) -> Result<Local, Error> {
    if send == in_place() {
        return Err(Error::Argument("MPI_IN_PLACE cannot be used with counts beyond 2^31 - 1".into()));
    }
    let size = |datatype, what: &str| {
        let text = format!("the {what} datatype is not a plain run of bytes, as counts beyond 2^31 - 1 need it");
        // SAFETY: a valid handle by the caller's contract.
        unsafe { contiguous_bytes(datatype) }?.ok_or(Error::Argument(text))
    };
    let from = Blocks::new("send", send.cast_mut().cast(), &lists[0], &lists[1], size(send_type, "send")?)?;
    let into = Blocks::new("receive", receive.cast(), &lists[2], &lists[3], size(receive_type, "receive")?)?;
    Ok(Local::Bytes(from, into))
}

/// The short way: a call that goes to plain MPI without an agreement, and its status. Nothing is done if it may not.
///
/// # Safety
/// As for [`optiq_alltoallv`].
#[inline]
unsafe fn left_to_mpi(arguments: &Arguments, comm: ffi::MPI_Comm) -> Option<c_int> {
    // SAFETY: the communicator is in use, so it is not being freed.
    let shared = unsafe { Sessions::latest(comm) }?;
    let quick = shared.quick();
    let receive = (arguments.receive_counts, arguments.receive_type);
    let send = if arguments.send == in_place() { receive } else { (arguments.send_counts, arguments.send_type) };
    // SAFETY: by this function's contract.
    let bytes = unsafe { quick.bytes([send, receive]) }?;
    let known_aside = || {
        let session = shared.lock();
        // SAFETY: by this function's contract; asked only where `bytes` has found the arrays.
        session.is_known_aside(unsafe { arguments_signature(arguments, session.size() as usize) })
    };
    if !quick.skips(bytes, known_aside) {
        return None;
    }
    if log::max_level() >= log::LevelFilter::Info {
        shared.lock().log_unasked();
    }
    QUIET.set((true, true));
    // SAFETY: by this function's contract.
    let code = unsafe { arguments.call(quick.comm()) };
    if code == ffi::MPI_SUCCESS as c_int {
        return Some(Status::Success as c_int);
    }
    let failed = || check(code, "MPI_Alltoallv").map_err(|e| report(&shared.lock(), comm, "optiq_alltoallv", e.into()));
    Some(guard(failed))
}

fn remember(decision: &Arc<Decision>) {
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
fn report(session: &Session, comm: ffi::MPI_Comm, function: &str, error: Error) -> Error {
    if !session.is_agreed(&error) {
        log::error!("{function}: {error}");
        // SAFETY: a valid communicator by the callers' contracts.
        unsafe { ffi::PMPI_Comm_call_errhandler(comm, ffi::MPI_ERR_OTHER as c_int) };
    }
    error
}

/// # Safety
/// As for [`optiq_alltoallv`], and both arrays of counts must be there, or only the second if `MPI_IN_PLACE` is sent.
unsafe fn arguments_signature(a: &Arguments, ranks: usize) -> u64 {
    // SAFETY: by this function's contract.
    unsafe {
        let receive = std::slice::from_raw_parts(a.receive_counts, ranks);
        let in_place = a.send == in_place();
        let send = if in_place { receive } else { std::slice::from_raw_parts(a.send_counts, ranks) };
        let mut size = 0;
        ffi::PMPI_Type_size(a.receive_type, &mut size);
        signature([send, receive], size as u64)
    }
}

/// Reads the arguments of a call into runs of bytes; `staged` receives a copy of the receive buffer's blocks if they
/// are to be sent in place.
///
/// # Safety
/// As for [`optiq_alltoallv`].
unsafe fn read(a: &Arguments, ranks: usize, budget: u64, staged: &mut Vec<u8>) -> Result<Local, Error> {
    let side = |what: &str, counts, displacements| {
        // SAFETY: arrays of `ranks` ints by the caller's contract.
        unsafe {
            let counts = ints(&format!("the array of {what} counts"), counts, ranks)?;
            Ok::<_, Error>((counts, ints(&format!("the array of {what} displacements"), displacements, ranks)?))
        }
    };
    // SAFETY: a valid handle by the caller's contract.
    let Some(size) = (unsafe { contiguous_bytes(a.receive_type)? }) else {
        return Ok(Local::OnlyMpi("the receive datatype is not a plain run of bytes".into()));
    };
    let (counts, displacements) = side("receive", a.receive_counts, a.receive_displacements)?;
    let receive = Blocks::new("receive", a.receive.cast(), &counts, &displacements, size)?;
    if gpu::is_device(receive.base, receive.extent) {
        return Ok(Local::OnlyMpi("the receive buffer is GPU memory".into()));
    }
    if a.send == in_place() {
        // MPI 4.0, 6.8: the blocks of the receive buffer are sent, and replaced by what arrives.
        if receive.total() > budget {
            let reason = format!("MPI_IN_PLACE would copy {} bytes, more than OPTIQ_BUDGET", receive.total());
            return Ok(Local::OnlyMpi(reason));
        }
        let mut send = receive.clone();
        for (offset, &bytes) in send.offsets.iter_mut().zip(&receive.bytes) {
            // SAFETY: a block of the caller's receive buffer.
            let block = unsafe {
                let start = receive.base.wrapping_add(*offset as usize);
                if bytes == 0 { &[] } else { std::slice::from_raw_parts(start, bytes as usize) }
            };
            *offset = staged.len() as u64;
            staged.extend_from_slice(block);
        }
        send.base = staged.as_mut_ptr();
        send.extent = staged.len() as u64;
        return Ok(Local::Bytes(send, receive));
    }
    // SAFETY: a valid handle by the caller's contract.
    let Some(size) = (unsafe { contiguous_bytes(a.send_type)? }) else {
        return Ok(Local::OnlyMpi("the send datatype is not a plain run of bytes".into()));
    };
    let (counts, displacements) = side("send", a.send_counts, a.send_displacements)?;
    let send = Blocks::new("send", a.send.cast_mut().cast(), &counts, &displacements, size)?;
    if gpu::is_device(send.base, send.extent) {
        return Ok(Local::OnlyMpi("the send buffer is GPU memory".into()));
    }
    Ok(Local::Bytes(send, receive))
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

/// What served the last [`optiq_alltoallv`] from this thread, and why; empty before the first. Valid until the next
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
