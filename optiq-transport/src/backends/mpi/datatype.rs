//! Which datatypes are plain runs of bytes.

use super::comm::{Communicator, check};
use super::ffi;
use crate::error::TransportError;
use std::ffi::c_int;

unsafe extern "C" {
    fn optiq_mpi_combiner(combiner: c_int) -> c_int;
}

const NAMED: c_int = 0;
const DUP: c_int = 1;
const CONTIGUOUS: c_int = 2;
const VECTOR: c_int = 3;
const RESIZED: c_int = 4;

/// How deep a chain of derived datatypes is followed.
const DEPTH: usize = 32;

/// The size in bytes of one element if `count` elements of `datatype` are `count` times that many bytes in a row,
/// in the order of the type map; `None` if not, or if this cannot be told.
///
/// Size equal to extent is necessary but not sufficient: a struct may list its fields in another order. So the
/// constructors are followed (MPI 4.0, 5.1.13): named types, duplicates, contiguous, vectors without gaps, and
/// resized types that are resized to what they were.
///
/// # Errors
/// [`TransportError::Mpi`] with what MPI reports.
///
/// # Safety
/// `datatype` must be a valid datatype handle.
pub unsafe fn contiguous_bytes(datatype: ffi::MPI_Datatype) -> Result<Option<u64>, TransportError> {
    // SAFETY: by this function's contract.
    unsafe { walk(datatype, DEPTH) }
}

/// The bytes of an element without its gaps (`MPI_Type_size`); 0 if MPI cannot count them, or refuses.
///
/// # Safety
/// A valid datatype.
pub unsafe fn element_bytes(datatype: ffi::MPI_Datatype) -> u64 {
    let mut size = 0;
    // SAFETY: by this function's contract; an out-parameter.
    unsafe { ffi::PMPI_Type_size(datatype, &mut size) };
    size.max(0) as u64
}

/// A datatype's handle as a number, for comparing it: a pointer in some MPI libraries, an int in others.
#[inline]
pub fn handle_bits(datatype: ffi::MPI_Datatype) -> usize {
    const { assert!(size_of::<ffi::MPI_Datatype>() <= size_of::<usize>()) };
    let mut bits = 0usize;
    // SAFETY: plain bytes, no more than there is room for.
    unsafe {
        let from = (&raw const datatype).cast::<u8>();
        std::ptr::copy_nonoverlapping(from, (&raw mut bits).cast(), size_of::<ffi::MPI_Datatype>());
    }
    bits
}

/// Whether a datatype is one of MPI's own, which cannot be freed.
///
/// # Safety
/// `datatype` must be a valid datatype handle.
pub unsafe fn is_named(datatype: ffi::MPI_Datatype) -> bool {
    let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
    // SAFETY: a valid handle by this function's contract, and out-parameters; the combiner's kind is a pure function.
    unsafe {
        let code = ffi::PMPI_Type_get_envelope(datatype, &mut integers, &mut addresses, &mut types, &mut combiner);
        code == ffi::MPI_SUCCESS as c_int && optiq_mpi_combiner(combiner) == NAMED
    }
}

/// Whether MPI accepts a datatype in communication: it is one, and it was committed. `quiet` is a communicator whose
/// errors are returned.
pub fn is_committed(datatype: ffi::MPI_Datatype, quiet: &Communicator) -> bool {
    // MPI has no call that tells. A send to MPI_PROC_NULL checks its arguments (MPICH: if the count is not 0) and does
    // nothing else.
    static NOT_READ: u64 = 0;
    let buffer = (&raw const NOT_READ).cast();
    // SAFETY: there is no receiver, so that nothing is read.
    let code = unsafe { ffi::PMPI_Send(buffer, 1, datatype, ffi::RSMPI_PROC_NULL, 0, quiet.raw()) };
    code == ffi::MPI_SUCCESS as c_int
}

unsafe fn walk(datatype: ffi::MPI_Datatype, depth: usize) -> Result<Option<u64>, TransportError> {
    let mut size: ffi::MPI_Count = 0;
    let (mut lower, mut extent) = (0, 0);
    let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
    // SAFETY: a valid handle, and out-parameters of the right types.
    unsafe {
        check(ffi::PMPI_Type_size_x(datatype, &mut size), "MPI_Type_size_x")?;
        check(ffi::PMPI_Type_get_extent(datatype, &mut lower, &mut extent), "MPI_Type_get_extent")?;
        let code = ffi::PMPI_Type_get_envelope(datatype, &mut integers, &mut addresses, &mut types, &mut combiner);
        check(code, "MPI_Type_get_envelope")?;
    }
    if depth == 0 || size <= 0 || lower != 0 || size as i128 != extent as i128 {
        return Ok(None);
    }
    let whole = Ok(Some(size as u64));
    // SAFETY: a pure function.
    let kind = unsafe { optiq_mpi_combiner(combiner) };
    if kind == NAMED {
        return whole;
    }
    if !matches!(kind, DUP | CONTIGUOUS | VECTOR | RESIZED) || types != 1 {
        return Ok(None);
    }
    let mut ints = vec![0; integers as usize];
    let mut addrs = vec![0; addresses as usize];
    let mut inner = [datatype];
    // SAFETY: arrays of the sizes that the envelope asks for.
    let code = unsafe {
        let (i, a, t) = (ints.as_mut_ptr(), addrs.as_mut_ptr(), inner.as_mut_ptr());
        ffi::PMPI_Type_get_contents(datatype, integers, addresses, types, i, a, t)
    };
    check(code, "MPI_Type_get_contents")?;
    // SAFETY: MPI_Type_get_contents returned a valid handle.
    let inside = unsafe { walk(inner[0], depth - 1) };
    // SAFETY: derived handles that it returned must be freed, named ones must not.
    unsafe { free_if_derived(inner[0])? };
    let gapless = match kind {
        // Arguments of MPI_Type_vector: count, block length, stride.
        VECTOR => ints.len() == 3 && (ints[1] == ints[2] || ints[0] == 1),
        _ => true,
    };
    if inside?.is_some() && gapless { whole } else { Ok(None) }
}

unsafe fn free_if_derived(mut datatype: ffi::MPI_Datatype) -> Result<(), TransportError> {
    let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
    // SAFETY: a valid handle by the caller's contract.
    unsafe {
        let code = ffi::PMPI_Type_get_envelope(datatype, &mut integers, &mut addresses, &mut types, &mut combiner);
        check(code, "MPI_Type_get_envelope")?;
        if optiq_mpi_combiner(combiner) != NAMED {
            check(ffi::PMPI_Type_free(&mut datatype), "MPI_Type_free")?;
        }
    }
    Ok(())
}
