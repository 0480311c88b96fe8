//! The kinds of arguments in the table, and how C and Fortran pass each.

use optiq::c_api::interpose::ffi;
use std::ffi::{c_int, c_void};

/// A kind of argument.
pub trait ArgumentKind {
    /// How C passes it.
    type C: Copy;
    /// How Fortran does: by reference.
    type Fortran: Copy;
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
/// An operation of a reduction.
pub struct Op;
/// A group of processes.
pub struct Group;
/// A window.
pub struct Win;
/// A file.
pub struct File;
/// An address or a distance in memory.
pub struct Aint;
/// A place in a file.
pub struct Offset;
/// An info object.
pub struct Info;
/// Where a request is, or is returned; an array of them.
pub struct Request;
/// An address that is only passed on.
pub struct Any;

impl ArgumentKind for Sent {
    type C = *const c_void;
    type Fortran = *const c_void;
}

impl ArgumentKind for Received {
    type C = *mut c_void;
    type Fortran = *mut c_void;
}

impl ArgumentKind for Ints {
    type C = *const c_int;
    type Fortran = *const c_int;
}

impl ArgumentKind for Int {
    type C = c_int;
    type Fortran = *const c_int;
}

impl ArgumentKind for Type {
    type C = ffi::MPI_Datatype;
    type Fortran = *const c_int;
}

impl ArgumentKind for Comm {
    type C = ffi::MPI_Comm;
    type Fortran = *const c_int;
}

impl ArgumentKind for Op {
    type C = ffi::MPI_Op;
    type Fortran = *const c_int;
}

impl ArgumentKind for Group {
    type C = ffi::MPI_Group;
    type Fortran = *const c_int;
}

impl ArgumentKind for Win {
    type C = ffi::MPI_Win;
    type Fortran = *const c_int;
}

impl ArgumentKind for File {
    type C = ffi::MPI_File;
    type Fortran = *const c_int;
}

impl ArgumentKind for Aint {
    type C = ffi::MPI_Aint;
    type Fortran = *const ffi::MPI_Aint;
}

impl ArgumentKind for Offset {
    type C = ffi::MPI_Offset;
    type Fortran = *const ffi::MPI_Offset;
}

impl ArgumentKind for Info {
    type C = ffi::MPI_Info;
    type Fortran = *const c_int;
}

impl ArgumentKind for Request {
    type C = *mut ffi::MPI_Request;
    type Fortran = *mut c_int;
}

impl ArgumentKind for Any {
    type C = *mut c_void;
    type Fortran = *mut c_void;
}
