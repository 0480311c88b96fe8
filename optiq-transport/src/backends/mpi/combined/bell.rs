//! Waiting for ranks of the same node in memory that they share.
//!
//! Where ranks share processors, one that polls takes the processor from the one that it waits for. So it sleeps until another one
//! rings, or for [`COMBINED_SLEEP_MICROSECONDS`]: MPI makes progress with the program's other messages only while it is called.

use super::layout::Layout;
use crate::constants::COMBINED_SLEEP_MICROSECONDS;
use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

unsafe extern "C" {
    fn optiq_mpi_sleep_on(word: *const u32, value: u32, nanoseconds: c_long);
    fn optiq_mpi_wake(word: *const u32, sleepers: c_int);
}

/// The words on which the ranks of a node sleep.
#[derive(Clone, Copy)]
pub(super) struct Bell {
    base: *mut u8,
}

impl Bell {
    /// In memory that is laid out as [`Layout`] says, and outlives the bell.
    pub(super) fn new(base: *mut u8) -> Self {
        Self { base }
    }

    fn word(&self, at: u64) -> &AtomicU32 {
        // SAFETY: aligned words in shared memory, which all ranks only use as atomics.
        unsafe { &*self.base.add(at as usize).cast::<AtomicU32>() }
    }

    /// How often it rang: to be asked before looking for what one waits for.
    pub(super) fn rung(&self) -> u32 {
        self.word(Layout::BELL).load(SeqCst)
    }

    /// Something changed that others of the node may wait for.
    pub(super) fn ring(&self) {
        self.word(Layout::BELL).fetch_add(1, SeqCst);
        if self.word(Layout::SLEEPERS).load(SeqCst) > 0 {
            // SAFETY: an aligned word in shared memory.
            unsafe { optiq_mpi_wake(self.word(Layout::BELL).as_ptr(), c_int::MAX) };
        }
    }

    /// Sleeps until it rings, unless it has rung since `rung`; for a moment at most.
    pub(super) fn sleep(&self, rung: u32) {
        self.word(Layout::SLEEPERS).fetch_add(1, SeqCst);
        // SAFETY: as above.
        unsafe {
            let longest = 1000 * COMBINED_SLEEP_MICROSECONDS as c_long;
            optiq_mpi_sleep_on(self.word(Layout::BELL).as_ptr(), rung, longest);
        }
        self.word(Layout::SLEEPERS).fetch_sub(1, SeqCst);
    }
}
