//! Regions of the code, for profiles.
//!
//! A region is told to whoever stands in for `MPI_Pcontrol`: our preload library, or another profiler that follows the same convention
//! (IPM's: level 1 and a name begin a region, -1 and the name end it). This is why that function, and not `PMPI_Pcontrol`, is called.

use super::interpose::profile::{LONGEST_NAME, is_region_name};
use super::message::guard;
use super::settings::string;
use crate::error::Error;
use optiq_transport::mpi::{check, ffi, is_initialized};
use std::ffi::{CString, c_char, c_int};

/// Begins a region of the code: what this process sends until its end is counted apart by `optiq profile`. Regions may lie within
/// each other. `name` has 1 to 128 bytes of printable UTF-8 text, which are copied. Without a profiler it does nothing. Local. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe; the regions are the process's, not the thread's.
///
/// # Safety
/// `name` must be NULL or a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_region_begin(name: *const c_char) -> c_int {
    // SAFETY: passed on.
    guard(|| unsafe { control(1, name, "optiq_region_begin") })
}

/// Ends the region of this name, and those that were begun within it and not ended. Local. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe; the regions are the process's, not the thread's.
///
/// # Safety
/// `name` must be NULL or a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_region_end(name: *const c_char) -> c_int {
    // SAFETY: passed on.
    guard(|| unsafe { control(-1, name, "optiq_region_end") })
}

/// # Safety
/// `name` must be NULL or a string that ends with a zero byte.
unsafe fn control(level: c_int, name: *const c_char, function: &str) -> Result<(), Error> {
    // SAFETY: by this function's contract.
    let name = unsafe { string(name, "the name of the region") }?;
    if !is_region_name(&name) {
        let what = format!(
            "the name of the region has {} bytes; 1 to {LONGEST_NAME} of printable text are expected",
            name.len()
        );
        return Err(Error::Argument(what));
    }
    if !is_initialized() {
        return Err(Error::Argument(format!("{function} was called before MPI_Init or after MPI_Finalize")));
    }
    let name = CString::new(name).map_err(|_| Error::Argument("the name of the region has a zero byte".into()))?;
    // SAFETY: a string that lives until the call returns.
    check(unsafe { ffi::MPI_Pcontrol(level, name.as_ptr()) }, "MPI_Pcontrol")?;
    Ok(())
}
