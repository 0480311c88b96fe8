//! What Fortran passes, in C's terms. The file `fortran.c` says where libraries keep Fortran's constants.

use super::comm::check;
use super::ffi;
use crate::error::TransportError;
use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn optiq_fortran_to_comm(comm: c_int) -> ffi::MPI_Comm;
    fn optiq_fortran_to_type(datatype: c_int) -> ffi::MPI_Datatype;
    fn optiq_fortran_to_info(info: c_int) -> ffi::MPI_Info;
    fn optiq_fortran_to_file(file: c_int) -> ffi::MPI_File;
    fn optiq_fortran_to_win(window: c_int) -> ffi::MPI_Win;
    fn optiq_fortran_ignores(status: *const c_int) -> c_int;
    fn optiq_status_to_fortran(status: *const ffi::MPI_Status, into: *mut c_int) -> c_int;
    fn optiq_fortran_to_request(request: c_int) -> ffi::MPI_Request;
    fn optiq_request_to_fortran(request: ffi::MPI_Request) -> c_int;
    fn optiq_fortran_to_buffer(buffer: *mut c_void) -> *mut c_void;
}

/// A communicator's handle in C, from that in Fortran; a null or invalid one if there is no such communicator or MPI is not
/// initialised.
pub fn comm_from_fortran(comm: c_int) -> ffi::MPI_Comm {
    // SAFETY: any number is accepted, at any time.
    unsafe { optiq_fortran_to_comm(comm) }
}

/// A datatype's handle in C, as [`comm_from_fortran`].
pub fn type_from_fortran(datatype: c_int) -> ffi::MPI_Datatype {
    // SAFETY: as above.
    unsafe { optiq_fortran_to_type(datatype) }
}

/// A window's handle in C, as [`comm_from_fortran`].
pub fn window_from_fortran(window: c_int) -> ffi::MPI_Win {
    // SAFETY: as above.
    unsafe { optiq_fortran_to_win(window) }
}

/// An info object's handle in C, as [`comm_from_fortran`], but an invalid one if there is no such object: the null handle is valid.
pub fn info_from_fortran(info: c_int) -> ffi::MPI_Info {
    // SAFETY: as above.
    unsafe { optiq_fortran_to_info(info) }
}

/// A request's handle in C, from that in Fortran; a null or invalid one if there is no such request.
pub fn request_from_fortran(request: c_int) -> ffi::MPI_Request {
    // SAFETY: as above.
    unsafe { optiq_fortran_to_request(request) }
}

/// A request's handle in Fortran.
///
/// # Safety
/// A valid request.
pub unsafe fn request_to_fortran(request: ffi::MPI_Request) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { optiq_request_to_fortran(request) }
}

/// A buffer's address in C, from that in Fortran: `MPI_IN_PLACE` and `MPI_BOTTOM` are variables there, of which the address
/// counts (MPI 4.0, section 19.3.9). Other addresses are the same.
pub fn buffer_from_fortran(buffer: *const c_void) -> *const c_void {
    // SAFETY: addresses are compared; what is read are variables of the MPI library.
    unsafe { optiq_fortran_to_buffer(buffer.cast_mut()) }
}

/// A file's handle in C, from that in Fortran; a null or invalid one if there is no such file.
pub fn file_from_fortran(file: c_int) -> ffi::MPI_File {
    // SAFETY: MPI accepts any number, at any time.
    unsafe { optiq_fortran_to_file(file) }
}

/// Whether an address that Fortran passes is that of its `MPI_STATUS_IGNORE`.
///
/// # Safety
/// MPI must have been initialised, which is when the libraries note that address. What is at `status` is not read.
pub unsafe fn ignores_status(status: *const c_int) -> bool {
    // SAFETY: by this function's contract; addresses are compared.
    unsafe { optiq_fortran_ignores(status) != 0 }
}

/// Writes a status as Fortran has it.
///
/// # Errors
/// What MPI reports.
///
/// # Safety
/// `into` must have room for `MPI_STATUS_SIZE` integers.
pub unsafe fn status_to_fortran(status: &ffi::MPI_Status, into: *mut c_int) -> Result<(), TransportError> {
    // SAFETY: by this function's contract.
    check(unsafe { optiq_status_to_fortran(status, into) }, "MPI_Status_c2f")
}
