//! `MPI_Alltoallv`'s arguments for a later fallback to `MPI_Ialltoallv`.

use super::arguments::Arguments;
use crate::error::Error;
use optiq_transport::mpi::{check, ffi, in_place, is_initialized, is_named};
use std::ffi::{c_int, c_void};

/// `MPI_Alltoallv`'s arguments, kept: copies of the arrays, and datatypes of our own that are the same. Duplicates would
/// not do: to make one calls the copy functions of the program's attributes.
pub(crate) struct FallbackArgs {
    pub(super) send: *const c_void,
    pub(super) receive: *mut c_void,
    pub(super) arrays: [Vec<c_int>; 4],
    pub(super) types: [ffi::MPI_Datatype; 2],
}

impl FallbackArgs {
    /// # Safety
    /// Arrays of `ranks` ints and valid datatypes.
    pub(crate) unsafe fn new(a: &Arguments, ranks: usize) -> Result<Self, Error> {
        // SAFETY: by this function's contract; MPI ignores what is NULL if a rank has nothing to say there.
        let copy = |array: *const c_int| unsafe {
            if array.is_null() { vec![0; ranks] } else { std::slice::from_raw_parts(array, ranks).to_vec() }
        };
        let arrays = [a.send_counts, a.send_displacements, a.receive_counts, a.receive_displacements].map(copy);
        let mut types = [a.receive_type; 2];
        for (copy, original) in types.iter_mut().zip([a.send_type, a.receive_type]) {
            // In place, the send type is not significant and may be anything.
            let original = if a.send == in_place() { a.receive_type } else { original };
            // SAFETY: a valid datatype by this function's contract.
            unsafe {
                if is_named(original) {
                    *copy = original;
                } else {
                    check(ffi::PMPI_Type_contiguous(1, original, copy), "MPI_Type_contiguous")?;
                    check(ffi::PMPI_Type_commit(copy), "MPI_Type_commit")?;
                }
            }
        }
        Ok(Self { send: a.send, receive: a.receive, arrays, types })
    }

    /// The same arguments, as long as `self` lives.
    pub(crate) fn arguments(&self) -> Arguments {
        let [send_counts, send_displacements, receive_counts, receive_displacements] =
            self.arrays.each_ref().map(|a| a.as_ptr());
        Arguments {
            send: self.send,
            send_counts,
            send_displacements,
            send_type: self.types[0],
            receive: self.receive,
            receive_counts,
            receive_displacements,
            receive_type: self.types[1],
        }
    }

    pub(super) fn start(&self, comm: ffi::MPI_Comm) -> Result<ffi::MPI_Request, Error> {
        let [a, b, c, d] = &self.arrays;
        // SAFETY: the caller's buffers, which stay valid until the operation is complete; the request is overwritten.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (s, r) = (self.types[0], self.types[1]);
            let (b, d) = (b.as_ptr(), d.as_ptr());
            let code =
                ffi::PMPI_Ialltoallv(self.send, a.as_ptr(), b, s, self.receive, c.as_ptr(), d, r, comm, &mut request);
            check(code, "MPI_Ialltoallv")?;
            Ok(request)
        }
    }
}

impl Drop for FallbackArgs {
    fn drop(&mut self) {
        if is_initialized() {
            for datatype in &mut self.types {
                // SAFETY: one of MPI's, or our own. An error cannot be reported.
                unsafe {
                    if !is_named(*datatype) {
                        ffi::PMPI_Type_free(datatype);
                    }
                }
            }
        }
    }
}
