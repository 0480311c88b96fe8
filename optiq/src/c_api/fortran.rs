//! What the Fortran module (`optiq/fortran/optiq.f90`) calls where C's functions do not do: Fortran's handles are integers,
//! its `MPI_IN_PLACE` is a variable, and a call without an error argument ends the program if it fails. Everything else of
//! the module calls C's own functions. Not for C programs, so not in `optiq.h`.
//!
//! Each function is the one of C's with the same name after `optiq_fortran_`, with its safety conditions; two with `_c` at the
//! end have 64-bit counts and displacements where C has those of 32 bits only.

use super::alltoallv::{optiq_alltoallv, optiq_alltoallv_c};
use super::arguments::longs;
use super::handles::place;
use super::io::{optiq_file_read_at_all, optiq_file_write_at_all};
use super::jobs::{JobList, optiq_execute_jobs, optiq_execute_jobs_from_file};
use super::message::guard;
use super::requests::{
    Request, hold, optiq_alltoallv_init, optiq_alltoallv_init_class, optiq_ialltoallv, optiq_ialltoallv_class, start,
};
use super::schedule::{TransportHandle, optiq_transport_init};
use super::sessions::Sessions;
use super::settings::{optiq_comm_set_info, optiq_comm_set_option};
use super::topology::{Topology, optiq_topology_init};
use crate::error::Error;
use crate::session::Arguments;
use optiq_transport::mpi::{
    buffer_from_fortran, comm_from_fortran, ffi, file_from_fortran, ignores_status, in_place, info_from_fortran,
    is_initialized, status_to_fortran, type_from_fortran,
};
use std::ffi::{c_char, c_int, c_void};

/// # Safety
/// As for [`optiq_alltoallv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_alltoallv(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    let (send, receive) = (buffer_from_fortran(sendbuf), buffer_from_fortran(recvbuf).cast_mut());
    let (send_type, receive_type) = (type_from_fortran(sendtype), type_from_fortran(recvtype));
    let comm = comm_from_fortran(comm);
    // SAFETY: by this function's contract.
    unsafe { optiq_alltoallv(send, sendcounts, sdispls, send_type, receive, recvcounts, rdispls, receive_type, comm) }
}

/// # Safety
/// As for [`optiq_alltoallv_c`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_alltoallv_c(
    sendbuf: *const c_void,
    sendcounts: *const i64,
    sdispls: *const i64,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const i64,
    rdispls: *const i64,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    let (send, receive) = (buffer_from_fortran(sendbuf), buffer_from_fortran(recvbuf).cast_mut());
    let (send_type, receive_type) = (type_from_fortran(sendtype), type_from_fortran(recvtype));
    let comm = comm_from_fortran(comm);
    // SAFETY: by this function's contract.
    unsafe { optiq_alltoallv_c(send, sendcounts, sdispls, send_type, receive, recvcounts, rdispls, receive_type, comm) }
}

/// # Safety
/// As for [`optiq_alltoallv_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_alltoallv_init(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: c_int,
    comm: c_int,
    request: *mut Request,
) -> c_int {
    let (send, receive) = (buffer_from_fortran(sendbuf), buffer_from_fortran(recvbuf).cast_mut());
    let (sent, received) = (type_from_fortran(sendtype), type_from_fortran(recvtype));
    let comm = comm_from_fortran(comm);
    // SAFETY: by this function's contract.
    unsafe {
        optiq_alltoallv_init(send, sendcounts, sdispls, sent, receive, recvcounts, rdispls, received, comm, request)
    }
}

/// # Safety
/// As for [`optiq_ialltoallv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_ialltoallv(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: c_int,
    comm: c_int,
    request: *mut Request,
) -> c_int {
    let (send, receive) = (buffer_from_fortran(sendbuf), buffer_from_fortran(recvbuf).cast_mut());
    let (sent, received) = (type_from_fortran(sendtype), type_from_fortran(recvtype));
    let comm = comm_from_fortran(comm);
    // SAFETY: by this function's contract.
    unsafe { optiq_ialltoallv(send, sendcounts, sdispls, sent, receive, recvcounts, rdispls, received, comm, request) }
}

/// Lists of 64-bit integers in 32 bits, or why that cannot be.
///
/// # Safety
/// Each list must be NULL or have an element for each of the ranks.
unsafe fn to_c_ints(lists: [*const i64; 4], ranks: usize, in_place: bool) -> Result<[Vec<c_int>; 4], Error> {
    const WHAT: [&str; 4] = [
        "the array of send counts",
        "the array of send displacements",
        "the array of receive counts",
        "the array of receive displacements",
    ];
    let mut short = [const { Vec::new() }; 4];
    for ((what, list), short) in WHAT.into_iter().zip(lists).zip(&mut short) {
        if in_place && what.contains("send") {
            *short = vec![0; ranks];
            continue;
        }
        // SAFETY: by this function's contract.
        for (rank, number) in unsafe { longs(what, list, ranks, false)? }.into_iter().enumerate() {
            let text = || format!("{what} has {number} for rank {rank}; exchanges that are started count to 2^31 - 1");
            short.push(c_int::try_from(number).map_err(|_| Error::Argument(text()))?);
        }
    }
    Ok(short)
}

/// Plans an exchange with 64-bit counts and displacements that fit into 32.
///
/// # Safety
/// As for [`optiq_alltoallv_init`].
unsafe fn hold_wide(
    (send, send_type): (*const c_void, c_int),
    (receive, receive_type): (*mut c_void, c_int),
    lists: [*const i64; 4],
    priority_class: c_int,
    comm: c_int,
    request: *mut Request,
    function: &'static str,
) -> Result<(), Error> {
    let comm = comm_from_fortran(comm);
    let send = buffer_from_fortran(send);
    // SAFETY: by this function's contract.
    unsafe { place(request, "request")? };
    let ranks = Sessions::get(comm, function)?.map_or(0, |s| s.lock().size() as usize);
    // SAFETY: by this function's contract.
    let short = unsafe { to_c_ints(lists, ranks, send == in_place()) };
    let (arguments, _lists) = match short {
        Err(error) => (Err(error), Default::default()),
        Ok(lists) => {
            let [a, b, c, d] = lists.each_ref().map(|list| list.as_ptr());
            let receive = buffer_from_fortran(receive).cast_mut();
            let (send_type, receive_type) = (type_from_fortran(send_type), type_from_fortran(receive_type));
            (Ok(Arguments::new((send, a, b, send_type), (receive, c, d, receive_type))), lists)
        }
    };
    // SAFETY: by this function's contract; the lists are here, and are copied.
    unsafe { hold(arguments, priority_class, comm, request, function) }
}

/// # Safety
/// As for [`optiq_alltoallv_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_alltoallv_init_c(
    sendbuf: *const c_void,
    sendcounts: *const i64,
    sdispls: *const i64,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const i64,
    rdispls: *const i64,
    recvtype: c_int,
    comm: c_int,
    request: *mut Request,
) -> c_int {
    let lists = [sendcounts, sdispls, recvcounts, rdispls];
    let function = "optiq_alltoallv_init";
    // SAFETY: by this function's contract.
    guard(|| unsafe { hold_wide((sendbuf, sendtype), (recvbuf, recvtype), lists, 0, comm, request, function) })
}

/// # Safety
/// As for [`optiq_ialltoallv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_ialltoallv_c(
    sendbuf: *const c_void,
    sendcounts: *const i64,
    sdispls: *const i64,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const i64,
    rdispls: *const i64,
    recvtype: c_int,
    comm: c_int,
    request: *mut Request,
) -> c_int {
    let lists = [sendcounts, sdispls, recvcounts, rdispls];
    let function = "optiq_ialltoallv";
    // SAFETY: by this function's contract.
    guard(|| unsafe {
        hold_wide((sendbuf, sendtype), (recvbuf, recvtype), lists, 0, comm, request, function)?;
        start(request, function)
    })
}

/// # Safety
/// As for [`optiq_alltoallv_init_class`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_alltoallv_init_class(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: c_int,
    priority_class: c_int,
    comm: c_int,
    request: *mut Request,
) -> c_int {
    let (send, receive) = (buffer_from_fortran(sendbuf), buffer_from_fortran(recvbuf).cast_mut());
    let (sent, received) = (type_from_fortran(sendtype), type_from_fortran(recvtype));
    let comm = comm_from_fortran(comm);
    // SAFETY: by this function's contract.
    unsafe {
        optiq_alltoallv_init_class(
            send,
            sendcounts,
            sdispls,
            sent,
            receive,
            recvcounts,
            rdispls,
            received,
            priority_class,
            comm,
            request,
        )
    }
}

/// # Safety
/// As for [`optiq_ialltoallv_class`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_ialltoallv_class(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: c_int,
    priority_class: c_int,
    comm: c_int,
    request: *mut Request,
) -> c_int {
    let (send, receive) = (buffer_from_fortran(sendbuf), buffer_from_fortran(recvbuf).cast_mut());
    let (sent, received) = (type_from_fortran(sendtype), type_from_fortran(recvtype));
    let comm = comm_from_fortran(comm);
    // SAFETY: by this function's contract.
    unsafe {
        optiq_ialltoallv_class(
            send,
            sendcounts,
            sdispls,
            sent,
            receive,
            recvcounts,
            rdispls,
            received,
            priority_class,
            comm,
            request,
        )
    }
}

/// # Safety
/// As for [`optiq_alltoallv_init_class`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_alltoallv_init_class_c(
    sendbuf: *const c_void,
    sendcounts: *const i64,
    sdispls: *const i64,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const i64,
    rdispls: *const i64,
    recvtype: c_int,
    priority_class: c_int,
    comm: c_int,
    request: *mut Request,
) -> c_int {
    let lists = [sendcounts, sdispls, recvcounts, rdispls];
    let function = "optiq_alltoallv_init_class";
    // SAFETY: by this function's contract.
    guard(|| unsafe {
        hold_wide((sendbuf, sendtype), (recvbuf, recvtype), lists, priority_class, comm, request, function)
    })
}

/// # Safety
/// As for [`optiq_ialltoallv_class`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_ialltoallv_class_c(
    sendbuf: *const c_void,
    sendcounts: *const i64,
    sdispls: *const i64,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const i64,
    rdispls: *const i64,
    recvtype: c_int,
    priority_class: c_int,
    comm: c_int,
    request: *mut Request,
) -> c_int {
    let lists = [sendcounts, sdispls, recvcounts, rdispls];
    let function = "optiq_ialltoallv_class";
    // SAFETY: by this function's contract.
    guard(|| unsafe {
        hold_wide((sendbuf, sendtype), (recvbuf, recvtype), lists, priority_class, comm, request, function)?;
        start(request, function)
    })
}

/// # Safety
/// As for [`optiq_execute_jobs`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_execute_jobs(jobs: JobList, comm: c_int) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { optiq_execute_jobs(jobs, comm_from_fortran(comm)) }
}

/// # Safety
/// As for [`optiq_execute_jobs_from_file`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_execute_jobs_from_file(
    jobfile: *const c_char,
    datasize: i64,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvbytes: i64,
    comm: c_int,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { optiq_execute_jobs_from_file(jobfile, datasize, sendbuf, recvbuf, recvbytes, comm_from_fortran(comm)) }
}

/// # Safety
/// As for [`optiq_file_write_at_all`]; `status` is `MPI_STATUS_IGNORE` or has room for `MPI_STATUS_SIZE` integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_file_write_at_all(
    fh: c_int,
    offset: i64,
    buf: *const c_void,
    count: c_int,
    datatype: c_int,
    status: *mut c_int,
) -> c_int {
    let (file, buffer, datatype) = (file_from_fortran(fh), buffer_from_fortran(buf), type_from_fortran(datatype));
    // SAFETY: by this function's contract.
    unsafe { with_status(status, |s| optiq_file_write_at_all(file, offset, buffer, count, datatype, s)) }
}

/// # Safety
/// As for [`optiq_file_read_at_all`]; `status` is `MPI_STATUS_IGNORE` or has room for `MPI_STATUS_SIZE` integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_file_read_at_all(
    fh: c_int,
    offset: i64,
    buf: *mut c_void,
    count: c_int,
    datatype: c_int,
    status: *mut c_int,
) -> c_int {
    let (file, datatype) = (file_from_fortran(fh), type_from_fortran(datatype));
    let buffer = buffer_from_fortran(buf).cast_mut();
    // SAFETY: by this function's contract.
    unsafe { with_status(status, |s| optiq_file_read_at_all(file, offset, buffer, count, datatype, s)) }
}

/// Makes a call with a status of C's, and hands that to Fortran after a success.
///
/// # Safety
/// `status` is `MPI_STATUS_IGNORE` or has room for `MPI_STATUS_SIZE` integers.
unsafe fn with_status(status: *mut c_int, call: impl FnOnce(*mut ffi::MPI_Status) -> c_int) -> c_int {
    // SAFETY: addresses are compared; before MPI is initialised the call below says so.
    if unsafe { ignores_status(status) } {
        return call(std::ptr::null_mut());
    }
    // SAFETY: integers and addresses, for which zeros are a value; overwritten by MPI.
    let mut of_c: ffi::MPI_Status = unsafe { std::mem::zeroed() };
    let code = call(&mut of_c);
    if code == crate::error::Status::Success as c_int {
        // SAFETY: by this function's contract.
        return guard(|| Ok(unsafe { status_to_fortran(&of_c, status) }?));
    }
    code
}

/// # Safety
/// As for [`optiq_transport_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_transport_init(comm: c_int, transport: *mut TransportHandle) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { optiq_transport_init(comm_from_fortran(comm), transport) }
}

/// # Safety
/// As for [`optiq_topology_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_topology_init(comm: c_int, topology: *mut Topology) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { optiq_topology_init(comm_from_fortran(comm), topology) }
}

/// # Safety
/// As for [`optiq_comm_set_option`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_comm_set_option(
    comm: c_int,
    name: *const c_char,
    value: *const c_char,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { optiq_comm_set_option(comm_from_fortran(comm), name, value) }
}

/// # Safety
/// As for [`optiq_comm_set_info`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_fortran_comm_set_info(comm: c_int, info: c_int) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { optiq_comm_set_info(comm_from_fortran(comm), info_from_fortran(info)) }
}

/// Ends the program with a status: all of its ranks, if MPI is there. The module has said why.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_fortran_abort(status: c_int) {
    if is_initialized() {
        // MPICH's launcher drops what it has not read when the job is aborted: the sentence would be lost at times.
        std::thread::sleep(std::time::Duration::from_millis(200));
        // SAFETY: MPI is initialised.
        unsafe { ffi::PMPI_Abort(ffi::RSMPI_COMM_WORLD, status) };
    }
    std::process::exit(status)
}
