//! The beginning and the end.

use super::message::guard;
use super::sessions::Sessions;
use super::{calls, io, progress, requests, schedule, settings, threads, topology};
use crate::error::Error;
use crate::logger;
use optiq_transport::mpi::{check, ffi, is_initialized};
use std::ffi::{c_char, c_int};

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
        calls::begin(read.config.report && !read.config.disable);
        Sessions::open(settings, started_mpi, forget_all)
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

/// Ends the progress thread, makes the report, and frees what handles of C stand for, before sessions are freed.
fn forget_all() {
    progress::stop();
    calls::report();
    requests::forget();
    io::forget();
    schedule::forget();
    topology::forget();
}
