//! Minima and sums of all ranks in one reduction.

use super::comm::{Communicator, check, in_place, is_initialized};
use super::ffi;
use crate::error::TransportError;
use std::ffi::{c_int, c_void};

/// Words of which the minimum is taken; the first of a record.
pub const MINIMA: usize = 15;
/// Words that are added up, modulo 2^64.
const SUMS: usize = 2;

/// What a rank brings to a reduction, and what all have after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ReductionRecord {
    /// The element-wise minimum over all ranks.
    pub minima: [i64; MINIMA],
    /// The element-wise sum over all ranks, modulo 2^64.
    pub sums: [u64; SUMS],
}

/// A reduction operation of ours (MPI 4.0, section 6.9.5), and the datatype that it works on: `MPI_MIN` and `MPI_SUM` take
/// a call each, and what such a call costs is all that an agreement between ranks costs.
#[derive(Debug)]
pub struct Reduction {
    operation: ffi::MPI_Op,
    record: ffi::MPI_Datatype,
    /// Wait as the other collectives of a [`Communicator`] do, in place of MPI's own way, which is faster where each rank has a
    /// processor to itself.
    patient: bool,
}

/// # Safety
/// Called by MPI, with as many records on both sides as `length` says.
unsafe extern "C" fn combine(from: *mut c_void, into: *mut c_void, length: *mut c_int, _: *mut ffi::MPI_Datatype) {
    // SAFETY: by this function's contract; MPI may place the words anywhere in memory.
    unsafe {
        let (from, into) = (from.cast::<ReductionRecord>(), into.cast::<ReductionRecord>());
        for i in 0..(*length).max(0) as usize {
            let (a, b) = (from.add(i).read_unaligned(), into.add(i).read_unaligned());
            into.add(i).write_unaligned(a.with(b));
        }
    }
}

impl ReductionRecord {
    fn with(mut self, other: Self) -> Self {
        self.minima.iter_mut().zip(other.minima).for_each(|(mine, other)| *mine = other.min(*mine));
        self.sums.iter_mut().zip(other.sums).for_each(|(mine, other)| *mine = other.wrapping_add(*mine));
        self
    }
}

impl Reduction {
    /// Makes the operation; local. `patient`, the same on all ranks, where any rank shares its processor.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn new(patient: bool) -> Result<Self, TransportError> {
        const WORDS: c_int = (size_of::<ReductionRecord>() / size_of::<i64>()) as c_int;
        // SAFETY: constants, overwritten; a function of the type that MPI asks for. Both are freed with `self`.
        unsafe {
            let mut operation = ffi::RSMPI_MIN;
            check(ffi::PMPI_Op_create(Some(combine), 1, &mut operation), "MPI_Op_create")?;
            let mut made = Self { operation, record: ffi::RSMPI_DATATYPE_NULL, patient };
            check(ffi::PMPI_Type_contiguous(WORDS, ffi::RSMPI_INT64_T, &mut made.record), "MPI_Type_contiguous")?;
            check(ffi::PMPI_Type_commit(&mut made.record), "MPI_Type_commit")?;
            Ok(made)
        }
    }

    /// Every rank's record becomes what all of them make together; collective.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn reduce(&self, comm: &Communicator, record: &mut ReductionRecord) -> Result<(), TransportError> {
        if self.patient {
            return self.reduce_while(comm, record, || ());
        }
        let words: *mut c_void = std::ptr::from_mut(record).cast();
        // SAFETY: one record; operation, datatype and communicator are ours.
        let code = unsafe { ffi::PMPI_Allreduce(in_place(), words, 1, self.record, self.operation, comm.raw()) };
        check(code, "MPI_Allreduce")
    }

    /// The same, calling `meanwhile` as long as other ranks have not come; all ranks use this form in the same call.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn reduce_while(
        &self,
        comm: &Communicator,
        record: &mut ReductionRecord,
        meanwhile: impl FnMut(),
    ) -> Result<(), TransportError> {
        let words: *mut c_void = std::ptr::from_mut(record).cast();
        // SAFETY: one record, which stays until the operation is complete; the rest is ours.
        let begin = |request: &mut ffi::MPI_Request| unsafe {
            ffi::PMPI_Iallreduce(in_place(), words, 1, self.record, self.operation, comm.raw(), request)
        };
        comm.wait_while("MPI_Iallreduce", begin, meanwhile)
    }
}

impl Drop for Reduction {
    fn drop(&mut self) {
        if !is_initialized() {
            return;
        }
        // SAFETY: ours; no datatype if it could not be made. An error cannot be reported here.
        unsafe {
            ffi::PMPI_Op_free(&mut self.operation);
            if self.record != ffi::RSMPI_DATATYPE_NULL {
                ffi::PMPI_Type_free(&mut self.record);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minima_and_sums_wrap_around_and_do_not_mix() {
        let a = ReductionRecord {
            minima: [1, -2, 3, 0, i64::MIN, i64::MAX, 7, 0, 1, 1, -4, -9, 3, -3, 5],
            sums: [u64::MAX, 1],
        };
        let b = ReductionRecord {
            minima: [-1, 2, 3, 5, 0, i64::MAX, -7, 1, 0, 2, -3, -10, 4, -4, 2],
            sums: [2, u64::MAX - 1],
        };
        let minima = [-1, -2, 3, 0, i64::MIN, i64::MAX, -7, 0, 0, 1, -4, -10, 3, -4, 2];
        let both = ReductionRecord { minima, sums: [1, u64::MAX] };
        assert_eq!(a.with(b), both);
        assert_eq!(b.with(a), both);
    }
}
