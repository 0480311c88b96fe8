//! Reading info objects (MPI 4.0, chapter 10).

use super::comm::check;
use super::ffi;
use crate::error::TransportError;
use std::ffi::{CStr, c_char, c_int};

/// The keys and values of the hints that the MPI library keeps with a communicator.
///
/// # Errors
/// What MPI reports.
pub fn info_entries(comm: ffi::MPI_Comm) -> Result<Vec<(String, String)>, TransportError> {
    // SAFETY: a constant, overwritten by MPI with an object that is ours to free.
    unsafe {
        let mut info = ffi::RSMPI_INFO_NULL;
        check(ffi::PMPI_Comm_get_info(comm, &mut info), "MPI_Comm_get_info")?;
        let entries = entries_of(info);
        check(ffi::PMPI_Info_free(&mut info), "MPI_Info_free")?;
        entries
    }
}

/// The keys and values of an info object, in its order; none for `MPI_INFO_NULL`.
///
/// # Errors
/// What MPI reports.
///
/// # Safety
/// A valid info object, or `MPI_INFO_NULL`.
pub unsafe fn entries_of(info: ffi::MPI_Info) -> Result<Vec<(String, String)>, TransportError> {
    // SAFETY: by this function's contract; all buffers are as long as MPI asks for.
    unsafe {
        if info == ffi::RSMPI_INFO_NULL {
            return Ok(Vec::new());
        }
        let mut keys = 0;
        check(ffi::PMPI_Info_get_nkeys(info, &mut keys), "MPI_Info_get_nkeys")?;
        let mut entries = Vec::new();
        for number in 0..keys {
            let mut key = vec![0 as c_char; ffi::MPI_MAX_INFO_KEY as usize + 1];
            check(ffi::PMPI_Info_get_nthkey(info, number, key.as_mut_ptr()), "MPI_Info_get_nthkey")?;
            let (mut length, mut found): (c_int, c_int) = (0, 0);
            let code = ffi::PMPI_Info_get_valuelen(info, key.as_ptr(), &mut length, &mut found);
            check(code, "MPI_Info_get_valuelen")?;
            let mut value = vec![0 as c_char; length.max(0) as usize + 1];
            if found != 0 {
                let code = ffi::PMPI_Info_get(info, key.as_ptr(), length, value.as_mut_ptr(), &mut found);
                check(code, "MPI_Info_get")?;
            }
            if found != 0 {
                let text = |buffer: &[c_char]| CStr::from_ptr(buffer.as_ptr()).to_string_lossy().into_owned();
                entries.push((text(&key), text(&value)));
            }
        }
        Ok(entries)
    }
}
