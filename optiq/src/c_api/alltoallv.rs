//! `optiq_alltoallv` and its form with 64-bit counts.

use super::arguments::{arguments_signature, longs, read, read_wide};
use super::calls::{self, EXCHANGE};
use super::message::{QUIET, guard, report};
use super::sessions::Sessions;
use crate::error::{Error, Status};
use crate::session::Arguments;
use optiq_lower::decide::Decision;
use optiq_transport::mpi::{check, ffi, in_place};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

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
            let decision = Decision::Mpi { reason: "the communicator is an inter-communicator".into() };
            calls::record(EXCHANGE, &Arc::new(decision));
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
        calls::record(EXCHANGE, &session.decided());
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
    let mut as_c_ints = None;
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
            as_c_ints = wide.iter().map(short).collect::<Option<Vec<_>>>();
            if as_c_ints.is_some() {
                return Ok(());
            }
        }
        // SAFETY: by this function's contract.
        let local = wide.and_then(|w| unsafe { read_wide(&w, (sendbuf, sendtype), (recvbuf, recvtype)) });
        // SAFETY: by this function's contract.
        unsafe { session.exchange(local, None, 0) }.map_err(|e| report(&session, comm, function, e))?;
        calls::record(function, &session.decided());
        Ok(())
    });
    match as_c_ints {
        Some(n) => {
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| n[i].as_ptr());
            // SAFETY: the same arguments in shorter words.
            unsafe { optiq_alltoallv(sendbuf, a, b, sendtype, recvbuf, c, d, recvtype, comm) }
        }
        None => status,
    }
}

/// The fast path: hands a call to plain MPI without an agreement, and gives its status. `None`, and nothing done, if ranks must
/// agree.
///
/// # Safety
/// As for [`optiq_alltoallv`].
#[inline]
unsafe fn left_to_mpi(arguments: &Arguments, comm: ffi::MPI_Comm) -> Option<c_int> {
    // SAFETY: the communicator is in use, so it is not being freed.
    let shared = unsafe { Sessions::latest(comm) }?;
    let fast_path = shared.fast_path();
    // SAFETY: by this function's contract.
    let bytes = unsafe { arguments.bytes(fast_path) }?;
    let known_fallback = || {
        let session = shared.lock();
        // SAFETY: by this function's contract; asked only where `bytes` has found the arrays.
        session.is_known_fallback(unsafe { arguments_signature(arguments, session.size() as usize) })
    };
    if !fast_path.skips(bytes, known_fallback) {
        return None;
    }
    if fast_path.has_started() {
        shared.lock().finish_started();
    }
    if fast_path.is_watched() {
        return Some(guard(|| {
            let session = shared.lock();
            // SAFETY: by this function's contract.
            let served = unsafe { session.unagreed_alltoallv(arguments, fast_path.comm()) };
            served.map_err(|e| report(&session, comm, "optiq_alltoallv", e))?;
            calls::record(EXCHANGE, &session.decided());
            Ok(())
        }));
    }
    if log::max_level() >= log::LevelFilter::Info {
        shared.lock().log_unagreed();
    }
    QUIET.set((true, true));
    calls::count_unagreed();
    // SAFETY: by this function's contract.
    let code = unsafe { arguments.call(fast_path.comm()) };
    if code == ffi::MPI_SUCCESS as c_int {
        return Some(Status::Success as c_int);
    }
    let failed = || check(code, "MPI_Alltoallv").map_err(|e| report(&shared.lock(), comm, "optiq_alltoallv", e.into()));
    Some(guard(failed))
}
