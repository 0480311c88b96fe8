//! The kinds of arguments in the table: how C and Fortran pass each, and how one becomes the other.

use libc::{c_int, c_void};
use optiq::c_api::interpose::{self, comm_from_fortran, ffi, type_from_fortran};
use std::ffi::CStr;
use std::sync::OnceLock;

/// A kind of argument.
pub trait Kind {
    /// How C passes it.
    type C: Copy;
    /// How Fortran does: by reference.
    type Fortran: Copy;
}

/// One that is looked at, and not only passed on.
pub trait Read: Kind {
    /// # Safety
    /// An argument that Fortran has passed.
    unsafe fn to_c(argument: Self::Fortran) -> Self::C;
}

/// A buffer that is read.
pub struct Sent;
/// A buffer that is written.
pub struct Received;
/// An array of counts or displacements. MPI's INTEGER is C's int in all MPI libraries of today.
pub struct Ints;
/// A count.
pub struct Int;
/// A datatype.
pub struct Type;
/// A communicator.
pub struct Comm;
/// An info object.
pub struct Info;
/// Where a request is returned.
pub struct Request;

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

impl Kind for Sent {
    type C = *const c_void;
    type Fortran = *const c_void;
}

impl Read for Sent {
    unsafe fn to_c(argument: *const c_void) -> *const c_void {
        buffer(argument)
    }
}

impl Kind for Received {
    type C = *mut c_void;
    type Fortran = *mut c_void;
}

impl Read for Received {
    unsafe fn to_c(argument: *mut c_void) -> *mut c_void {
        buffer(argument).cast_mut()
    }
}

impl Kind for Ints {
    type C = *const c_int;
    type Fortran = *const c_int;
}

impl Read for Ints {
    unsafe fn to_c(argument: *const c_int) -> *const c_int {
        argument
    }
}

impl Kind for Int {
    type C = c_int;
    type Fortran = *const c_int;
}

impl Read for Int {
    unsafe fn to_c(argument: *const c_int) -> c_int {
        // SAFETY: by this function's contract.
        unsafe { *argument }
    }
}

impl Kind for Type {
    type C = ffi::MPI_Datatype;
    type Fortran = *const c_int;
}

impl Read for Type {
    unsafe fn to_c(argument: *const c_int) -> ffi::MPI_Datatype {
        // SAFETY: by this function's contract.
        type_from_fortran(unsafe { *argument })
    }
}

impl Kind for Comm {
    type C = ffi::MPI_Comm;
    type Fortran = *const c_int;
}

impl Read for Comm {
    unsafe fn to_c(argument: *const c_int) -> ffi::MPI_Comm {
        // SAFETY: by this function's contract.
        comm_from_fortran(unsafe { *argument })
    }
}

impl Kind for Info {
    type C = ffi::MPI_Info;
    type Fortran = *const c_int;
}

impl Kind for Request {
    type C = *mut ffi::MPI_Request;
    type Fortran = *mut c_int;
}
