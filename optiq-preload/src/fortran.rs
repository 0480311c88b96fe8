//! What Fortran passes, in C's terms.

use crate::kinds::{Comm, Int, Ints, Kind, Received, Sent, Type};
use optiq::c_api::interpose::{self, comm_from_fortran, ffi, type_from_fortran};
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

/// A kind of argument that is looked at, and not only passed on.
pub trait Read: Kind {
    /// # Safety
    /// An argument that Fortran has passed.
    unsafe fn to_c(argument: Self::Fortran) -> Self::C;
}

/// A buffer's address in C's terms: Open MPI's Fortran has variables in the place of C's constants, whose addresses count.
fn buffer(address: *const c_void) -> *const c_void {
    /// The names of the variables, as Fortran compilers mangle them.
    const IN_PLACE: [&CStr; 4] =
        [c"mpi_fortran_in_place_", c"mpi_fortran_in_place__", c"mpi_fortran_in_place", c"MPI_FORTRAN_IN_PLACE"];
    const BOTTOM: [&CStr; 4] =
        [c"mpi_fortran_bottom_", c"mpi_fortran_bottom__", c"mpi_fortran_bottom", c"MPI_FORTRAN_BOTTOM"];
    static KNOWN: OnceLock<[[usize; 4]; 2]> = OnceLock::new();
    // SAFETY: C strings.
    let find = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    let [in_place, bottom] = KNOWN.get_or_init(|| [IN_PLACE.map(find), BOTTOM.map(find)]);
    match address as usize {
        0 => address,
        a if in_place.contains(&a) => interpose::in_place(),
        // MPI_BOTTOM.
        a if bottom.contains(&a) => std::ptr::null(),
        _ => address,
    }
}

impl Read for Sent {
    unsafe fn to_c(argument: *const c_void) -> *const c_void {
        buffer(argument)
    }
}

impl Read for Received {
    unsafe fn to_c(argument: *mut c_void) -> *mut c_void {
        buffer(argument).cast_mut()
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
