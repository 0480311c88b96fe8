//! What Fortran passes, in C's terms.

use crate::kinds::{Comm, Int, Ints, Kind, Received, Sent, Type};
use optiq::c_api::interpose::{buffer_from_fortran, comm_from_fortran, ffi, type_from_fortran};
use std::ffi::{c_int, c_void};

/// A kind of argument that is looked at, and not only passed on.
pub trait Read: Kind {
    /// # Safety
    /// An argument that Fortran has passed.
    unsafe fn to_c(argument: Self::Fortran) -> Self::C;
}

impl Read for Sent {
    unsafe fn to_c(argument: *const c_void) -> *const c_void {
        buffer_from_fortran(argument)
    }
}

impl Read for Received {
    unsafe fn to_c(argument: *mut c_void) -> *mut c_void {
        buffer_from_fortran(argument).cast_mut()
    }
}

impl Read for Ints {
    unsafe fn to_c(argument: *const c_int) -> *const c_int {
        argument
    }
}

impl Read for Int {
    unsafe fn to_c(argument: *const c_int) -> c_int {
        // SAFETY: by this function's contract.
        unsafe { *argument }
    }
}

impl Read for Type {
    unsafe fn to_c(argument: *const c_int) -> ffi::MPI_Datatype {
        // SAFETY: by this function's contract.
        type_from_fortran(unsafe { *argument })
    }
}

impl Read for Comm {
    unsafe fn to_c(argument: *const c_int) -> ffi::MPI_Comm {
        // SAFETY: by this function's contract.
        comm_from_fortran(unsafe { *argument })
    }
}
