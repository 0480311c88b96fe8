//! Memory that the ranks of a host share (MPI 4.0, 12.2.3), and the communicator of those ranks.

use super::comm::{Communicator, Pending, check, is_initialized};
use super::ffi;
use crate::constants::LEAST_WINDOW_BYTES;
use crate::error::TransportError;
use optiq_trace::ids::Rank;
use std::ffi::{c_int, c_void};

/// The ranks of one host, and a piece of memory that all of them see.
pub struct HostMemory {
    comm: Communicator,
    window: Option<Window>,
}

struct Window {
    raw: ffi::MPI_Win,
    base: *mut u8,
    bytes: u64,
}

impl HostMemory {
    /// For the ranks of `comm` that give the same `host`; collective. `None`, on all ranks alike, if the ranks of some
    /// host do not share memory.
    ///
    /// # Errors
    /// What MPI reports.
    pub fn new(comm: &Communicator, host: u32) -> Result<Option<Self>, TransportError> {
        let here = comm.split(host)?;
        // SAFETY: the communicator is ours; the new one is freed at once.
        let one_node = unsafe {
            let (mut shared, mut size) = (ffi::RSMPI_COMM_NULL, 0);
            let kind = ffi::MPI_COMM_TYPE_SHARED as c_int;
            let code = ffi::PMPI_Comm_split_type(here.raw(), kind, 0, ffi::RSMPI_INFO_NULL, &mut shared);
            check(code, "MPI_Comm_split_type")?;
            check(ffi::PMPI_Comm_size(shared, &mut size), "MPI_Comm_size")?;
            ffi::PMPI_Comm_free(&mut shared);
            size as u32 == here.size()
        };
        let mut memory = Self { comm: here, window: None };
        // Whether memory is available is found out now, and not in the middle of an exchange.
        let reserved = one_node.then(|| memory.reserve(LEAST_WINDOW_BYTES));
        let mut agreed = [i64::from(matches!(reserved, Some(Ok(()))))];
        comm.all_min(&mut agreed)?;
        if agreed[0] != 1 {
            let why = match &reserved {
                None => format!("the {} ranks of this host are on several nodes", memory.comm.size()),
                Some(Err(error)) => error.to_string(),
                Some(Ok(())) => "another rank has none".into(),
            };
            log::debug!("rank {}: no shared memory, because {why}", comm.rank());
        }
        Ok((agreed[0] == 1).then_some(memory))
    }

    /// Reserves at least `bytes`; collective over the host's ranks, which must ask for the same. What was
    /// there before is lost.
    ///
    /// # Errors
    /// What MPI reports; then there is no memory.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), TransportError> {
        if self.window.as_ref().is_some_and(|w| w.bytes >= bytes) {
            return Ok(());
        }
        self.release();
        // The first rank's piece is all of it; the others ask where it is.
        let mine = if self.comm.rank() == Rank(0) { bytes } else { 0 };
        let mut base: *mut c_void = std::ptr::null_mut();
        // SAFETY: out-parameters of the right types; the communicator is ours.
        unsafe {
            let mut raw = ffi::RSMPI_WIN_NULL;
            let (slot, info) = ((&raw mut base).cast::<c_void>(), ffi::RSMPI_INFO_NULL);
            let code = ffi::PMPI_Win_allocate_shared(mine as ffi::MPI_Aint, 1, info, self.comm.raw(), slot, &mut raw);
            check(code, "MPI_Win_allocate_shared")?;
            let (mut size, mut unit) = (0, 0);
            let code = ffi::PMPI_Win_shared_query(raw, 0, &mut size, &mut unit, slot);
            self.window = Some(Window { raw, base: base.cast(), bytes });
            check(code, "MPI_Win_shared_query")
        }
    }

    /// The first byte; null if nothing was reserved. Valid until more is reserved.
    pub fn base(&self) -> *mut u8 {
        self.window.as_ref().map_or(std::ptr::null_mut(), |w| w.base)
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> u64 {
        self.window.as_ref().map_or(0, |w| w.bytes)
    }

    /// Begins a barrier of the ranks of the host. What they wrote before it, all see afterwards.
    ///
    /// # Errors
    /// What MPI reports.
    pub fn start_barrier(&self) -> Result<Pending, TransportError> {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        self.comm.start_barrier()
    }

    fn release(&mut self) {
        if let Some(mut window) = self.window.take()
            && is_initialized()
        {
            // SAFETY: ours. An error cannot be reported here.
            unsafe { ffi::PMPI_Win_free(&mut window.raw) };
        }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        self.release();
    }
}
