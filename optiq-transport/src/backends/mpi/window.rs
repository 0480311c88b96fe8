//! Windows of memory that other ranks put into or get from (MPI 4.0, chapter 12).

use super::comm::{Communicator, check, is_initialized};
use super::ffi;
use crate::constants::LEAST_WINDOW_BYTES;
use crate::error::TransportError;
use std::ffi::{c_int, c_void};

/// A window of slots, the same size on every rank.
pub(super) struct Window {
    pub(super) raw: ffi::MPI_Win,
    pub(super) base: *mut u8,
    pub(super) bytes: u64,
}

impl Window {
    /// Collective.
    fn allocate(comm: &Communicator, bytes: u64) -> Result<Self, TransportError> {
        let mut base: *mut c_void = std::ptr::null_mut();
        // SAFETY: out-parameters of the right types; the communicator is ours.
        unsafe {
            let mut raw = ffi::RSMPI_WIN_NULL;
            let slot = (&raw mut base).cast::<c_void>();
            let size = bytes as ffi::MPI_Aint;
            check(
                ffi::PMPI_Win_allocate(size, 1, ffi::RSMPI_INFO_NULL, comm.raw(), slot, &mut raw),
                "MPI_Win_allocate",
            )?;
            let window = Self { raw, base: base.cast(), bytes };
            check(ffi::PMPI_Win_set_errhandler(raw, ffi::RSMPI_ERRORS_RETURN), "MPI_Win_set_errhandler")?;
            check(ffi::PMPI_Win_lock_all(ffi::MPI_MODE_NOCHECK as c_int, raw), "MPI_Win_lock_all")?;
            Ok(window)
        }
    }

    /// The first one of a transport, which shows whether this MPI library gives windows on a communicator; collective.
    ///
    /// # Errors
    /// What MPI reports, on every rank alike.
    pub(super) fn first(comm: &Communicator) -> Result<Self, TransportError> {
        let tried = Self::allocate(comm, LEAST_WINDOW_BYTES);
        // Some ranks may have got a window and others not: all must use the same back end.
        let mut ok = [i64::from(tried.is_ok())];
        comm.all_min(&mut ok)?;
        match tried {
            Ok(window) if ok[0] == 1 => Ok(window),
            Ok(_) => {
                let message = "another rank could not allocate a window".into();
                Err(TransportError::Mpi { call: "MPI_Win_allocate", message })
            }
            Err(e) => Err(e),
        }
    }

    /// This one, or a larger one in its place; collective, with the same number on every rank.
    pub(super) fn of_at_least(old: Option<Self>, comm: &Communicator, needed: u64) -> Result<Self, TransportError> {
        match old {
            Some(window) if window.bytes >= needed => Ok(window),
            old => {
                if let Some(window) = old {
                    window.free();
                }
                // The window may grow: making a window is a collective operation, and slowly growing exchanges would make
                // one each time.
                let bytes = grown(needed);
                log::debug!("rank {}: a window of {bytes} bytes, for slots of {needed} bytes", comm.rank());
                Self::allocate(comm, bytes)
            }
        }
    }

    /// Collective.
    pub(super) fn free(mut self) {
        if is_initialized() {
            // SAFETY: ours, locked by `allocate`. An error cannot be reported here.
            unsafe {
                ffi::PMPI_Win_unlock_all(self.raw);
                ffi::PMPI_Win_free(&mut self.raw);
            }
        }
    }
}

/// The size of the window for `needed` bytes: the next power of two, at least a page.
fn grown(needed: u64) -> u64 {
    needed.max(LEAST_WINDOW_BYTES).checked_next_power_of_two().unwrap_or(needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow_by_powers_of_two() {
        assert_eq!([grown(0), grown(4096), grown(4097), grown(u64::MAX)], [4096, 4096, 8192, u64::MAX]);
    }
}
