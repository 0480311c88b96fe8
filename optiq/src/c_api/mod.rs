//! The C interface. Declared in `optiq/include/optiq.h`, which is generated from this file.
//!
//! Every function returns a status code, catches panics, and leaves a sentence for [`optiq_last_message`]. A
//! session is attached to each communicator on its first use, as an MPI attribute, so that it lives exactly as long
//! as the communicator does.

mod sessions;

use crate::blocks::{Blocks, ints};
use crate::session::{Arguments, Local};
use crate::{Config, Error, Status, VERSION, logger};
use optiq_transport::mpi::{check, contiguous_bytes, ffi, in_place, is_initialized};
use sessions::Sessions;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::new(CString::default());
    static DECISION: RefCell<CString> = RefCell::new(CString::default());
}

fn c_string(text: &str) -> CString {
    // A zero byte in the middle would cut the text off for C; none of ours has one.
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Runs a function body, turns its error into a code, and keeps panics on this side of the boundary.
fn guard(body: impl FnOnce() -> Result<(), Error>) -> c_int {
    let (status, text) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => (Status::Success, String::new()),
        Ok(Err(error)) => (error.status(), error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            (Status::Internal, format!("internal error in OPTIQ: {}", text.unwrap_or_default()))
        }
    };
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
        let read = Config::from_env();
        let mut rank = 0;
        // SAFETY: MPI is initialised.
        check(unsafe { ffi::PMPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank) }, "MPI_Comm_rank")?;
        logger::init(&format!(" [rank {rank}]"), read.config.log);
        if rank == 0 {
            for name in &read.unknown {
                log::warn!("{name} is set, but OPTIQ has no such option");
            }
        }
        let mut config = read.config;
        if let Some(error) = read.error {
            if config.strict {
                if started_mpi {
                    // SAFETY: we initialised it just now.
                    check(unsafe { ffi::PMPI_Finalize() }, "MPI_Finalize")?;
                }
                return Err(error.into());
            }
            if rank == 0 {
                log::warn!("{error}; all calls go to plain MPI");
            }
            config.algorithm = crate::Algorithm::Mpi;
        }
        Sessions::open(config, started_mpi)
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
/// Returns 0 or a status code. If a rank's arguments are wrong, or counts disagree, all ranks get an error and no
/// data is moved. Without a topology, and for errors of the MPI library, the communicator's error handler is called
/// first, as MPI does; by default it ends the job. Thread-safe for different communicators as far as the program's MPI thread level allows.
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
    guard(|| {
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
        let Some(session) = Sessions::get(comm, "optiq_alltoallv")? else {
            remember("MPI_Alltoallv: the communicator is an inter-communicator");
            // SAFETY: by this function's contract.
            return Ok(unsafe { arguments.hand_over(comm) }?);
        };
        let session = session.lock();
        let mut staged = Vec::new();
        // SAFETY: by this function's contract.
        let local = unsafe { read(&arguments, session.size() as usize, session.budget(), &mut staged) };
        // SAFETY: by this function's contract; `staged` lives until the exchange is over.
        let result = unsafe { session.exchange(local, Some(arguments)) };
        if let Err(error) = &result
            && !session.is_agreed(error)
        {
            // Other ranks may be waiting inside MPI for this one. MPI would call the communicator's error handler,
            // which by default ends the job; so do we.
            log::error!("optiq_alltoallv: {error}");
            // SAFETY: a valid communicator by this function's contract.
            unsafe { ffi::PMPI_Comm_call_errhandler(comm, ffi::MPI_ERR_OTHER as c_int) };
        }
        result?;
        remember(&session.decision().to_string());
        Ok(())
    })
}

fn remember(decision: &str) {
    DECISION.with(|d| *d.borrow_mut() = c_string(decision));
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
    MESSAGE.with(|m| m.borrow().as_ptr())
}

/// What served the last [`optiq_alltoallv`] from this thread, and why; empty before the first. Valid until the next
/// call from this thread. Never NULL. Since 0.1. Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_last_decision() -> *const c_char {
    DECISION.with(|d| d.borrow().as_ptr())
}

/// The library's version: major * 10000 + minor * 100 + patch. Since 0.1. Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_version() -> c_int {
    VERSION
}
