//! What Fortran passes, in C's terms.

use crate::kinds::{
    Aint, Any, ArgumentKind, Comm, File, Group, Info, Int, Ints, Offset, Op, Received, Request, Sent, Type, Win,
};
use optiq::c_api::interpose::{
    Place, buffer_from_fortran, comm_from_fortran, ffi, info_from_fortran, request_from_fortran, request_to_fortran,
    type_from_fortran, window_from_fortran,
};
use std::ffi::{c_int, c_void};

/// A kind of argument that is looked at, and not only passed on.
pub trait Read: ArgumentKind {
    /// As what it is looked at.
    type Seen;

    /// # Safety
    /// An argument that Fortran has passed.
    unsafe fn to_c(argument: Self::Fortran) -> Self::Seen;
}

impl Read for Sent {
    type Seen = <Self as ArgumentKind>::C;

    unsafe fn to_c(argument: *const c_void) -> *const c_void {
        buffer_from_fortran(argument)
    }
}

impl Read for Received {
    type Seen = <Self as ArgumentKind>::C;

    unsafe fn to_c(argument: *mut c_void) -> *mut c_void {
        buffer_from_fortran(argument).cast_mut()
    }
}

impl Read for Ints {
    type Seen = <Self as ArgumentKind>::C;

    unsafe fn to_c(argument: *const c_int) -> *const c_int {
        argument
    }
}

impl Read for Int {
    type Seen = <Self as ArgumentKind>::C;

    unsafe fn to_c(argument: *const c_int) -> c_int {
        // SAFETY: by this function's contract.
        unsafe { *argument }
    }
}

impl Read for Type {
    type Seen = <Self as ArgumentKind>::C;

    unsafe fn to_c(argument: *const c_int) -> ffi::MPI_Datatype {
        // SAFETY: by this function's contract.
        type_from_fortran(unsafe { *argument })
    }
}

impl Read for Comm {
    type Seen = <Self as ArgumentKind>::C;

    unsafe fn to_c(argument: *const c_int) -> ffi::MPI_Comm {
        // SAFETY: by this function's contract.
        comm_from_fortran(unsafe { *argument })
    }
}

impl Read for Info {
    type Seen = <Self as ArgumentKind>::C;

    unsafe fn to_c(argument: *const c_int) -> ffi::MPI_Info {
        // SAFETY: by this function's contract.
        info_from_fortran(unsafe { *argument })
    }
}

impl Read for Win {
    type Seen = <Self as ArgumentKind>::C;

    unsafe fn to_c(argument: *const c_int) -> ffi::MPI_Win {
        // SAFETY: by this function's contract.
        window_from_fortran(unsafe { *argument })
    }
}

/// Arguments that no handler looks at: they stay what Fortran has passed.
macro_rules! not_looked_at {
    ($($kind:ident),*) => {$(
        impl Read for $kind {
            type Seen = <Self as ArgumentKind>::Fortran;

            unsafe fn to_c(argument: Self::Fortran) -> Self::Fortran {
                argument
            }
        }
    )*};
}

not_looked_at!(Aint, Any, File, Group, Offset, Op);

impl Read for Request {
    type Seen = Requests;

    unsafe fn to_c(argument: *mut c_int) -> Requests {
        Requests(argument)
    }
}

/// Requests as Fortran has them.
#[derive(Clone, Copy)]
pub struct Requests(*mut c_int);

impl Place for Requests {
    unsafe fn get(self, at: usize) -> ffi::MPI_Request {
        // SAFETY: by this function's contract.
        request_from_fortran(unsafe { *self.0.add(at) })
    }

    unsafe fn put(self, request: ffi::MPI_Request) {
        // SAFETY: by this function's contract.
        unsafe { *self.0 = request_to_fortran(request) };
    }
}
