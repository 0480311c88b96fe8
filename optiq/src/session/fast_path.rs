//! The fast path: calls that go to plain MPI without an agreement.
//!
//! An exchange of one byte between two ranks of a node takes a microsecond, of which a lock, an attribute look-up and the
//! size of a datatype would be a tenth. So what such a call reads is kept here, in atomics: calls on one communicator
//! come one after the other (MPI demands it), whichever thread makes them.

use optiq_transport::mpi::{element_bytes, ffi, handle_bits};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Large calls without an agreement, of which ranks tell each other in the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LargeCalls {
    /// None.
    None,
    /// Only such as are known to go to plain MPI anyway.
    Known,
    /// Another one, which planned paths might have served.
    Mispredicted,
}

impl LargeCalls {
    /// As the minimum over all ranks carries the greatest.
    pub(super) fn word(self) -> i64 {
        -(self as i64)
    }

    pub(super) fn of_word(word: i64) -> Self {
        match word {
            0.. => Self::None,
            -1 => Self::Known,
            _ => Self::Mispredicted,
        }
    }
}

/// See the top of the file.
#[derive(Debug)]
pub(crate) struct FastPath {
    /// All calls go to plain MPI for good.
    always: bool,
    /// Calls that still go there before ranks agree again.
    calls: AtomicU64,
    /// Of these, calls that ask the session who serves them.
    watched: AtomicU64,
    /// Calls since the last agreement.
    passed: AtomicU32,
    /// [`LargeCalls`] among them: of `large_bytes` or more at this rank.
    large: AtomicU8,
    large_bytes: u64,
    /// The last call took the fast path.
    last: AtomicBool,
    /// An exchange was started since all were last completed.
    started: AtomicBool,
    comm: ffi::MPI_Comm,
    ranks: usize,
    /// The datatype that was seen last, and its size. A handle can be freed and come again with another size; then a
    /// misprediction goes unnoticed, and nothing else.
    datatype: AtomicUsize,
    size: AtomicU64,
}

// SAFETY: an MPI handle is an opaque value that any thread may use as far as the program's thread level allows.
unsafe impl Send for FastPath {}
// SAFETY: as above; all that changes is atomic.
unsafe impl Sync for FastPath {}

impl FastPath {
    /// For a private communicator.
    pub(super) fn new(comm: ffi::MPI_Comm, ranks: usize, always: bool, large_bytes: u64) -> Self {
        Self {
            always,
            calls: AtomicU64::new(0),
            watched: AtomicU64::new(0),
            passed: AtomicU32::new(0),
            large: AtomicU8::new(LargeCalls::None as u8),
            large_bytes,
            last: AtomicBool::new(false),
            started: AtomicBool::new(false),
            comm,
            ranks,
            datatype: AtomicUsize::new(0),
            size: AtomicU64::new(0),
        }
    }

    /// Whether this call goes to plain MPI, on [`FastPath::comm`]. `known_fallback` is asked for large ones.
    #[inline]
    pub(crate) fn skips(&self, bytes: u64, known_fallback: impl FnOnce() -> bool) -> bool {
        if !self.always {
            let calls = self.calls.load(Relaxed);
            if calls == 0 {
                return false;
            }
            if bytes >= self.large_bytes && self.large.load(Relaxed) < LargeCalls::Mispredicted as u8 {
                let large = if known_fallback() { LargeCalls::Known } else { LargeCalls::Mispredicted };
                self.large.store(large as u8, Relaxed);
            }
            self.calls.store(calls - 1, Relaxed);
            self.passed.store(self.passed.load(Relaxed).wrapping_add(1), Relaxed);
        }
        self.last.store(true, Relaxed);
        true
    }

    /// Whether a call that [`FastPath::skips`] asks the session who serves it.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        let watched = self.watched.load(Relaxed);
        if watched == 0 {
            return false;
        }
        self.watched.store(watched - 1, Relaxed);
        true
    }

    /// Whether exchanges that were started may have to be completed before plain MPI serves a call ([`Session::finish_started`](super::Session::finish_started)): in
    /// it this rank would forward nothing for another one that waits for them before it makes this call.
    #[inline]
    pub(crate) fn has_started(&self) -> bool {
        self.started.load(Relaxed)
    }

    /// An exchange was started, or all are complete.
    pub(super) fn set_started(&self, started: bool) {
        self.started.store(started, Relaxed);
    }

    /// What this rank sends or receives, in bytes, whichever is more (0 if it is not needed); none if a count is
    /// negative or an array missing, which takes a closer look.
    ///
    /// # Safety
    /// Arrays of as many ints as there are ranks, or NULL; valid datatypes.
    #[inline]
    pub(crate) unsafe fn bytes(&self, sides: [(*const c_int, ffi::MPI_Datatype); 2]) -> Option<u64> {
        let mut most = 0;
        for (counts, datatype) in sides {
            if counts.is_null() {
                return None;
            }
            // SAFETY: by this function's contract.
            let counts = unsafe { std::slice::from_raw_parts(counts, self.ranks) };
            let (sum, signs) = counts.iter().fold((0i64, 0), |(sum, signs), &c| (sum + i64::from(c), signs | c));
            if signs < 0 {
                return None;
            }
            if !self.always && sum > 0 {
                // SAFETY: by this function's contract.
                most = most.max((sum as u64).saturating_mul(unsafe { self.size_of(datatype) }));
            }
        }
        Some(most)
    }

    /// The same for `MPI_Alltoall`: as many elements from every rank.
    ///
    /// # Safety
    /// A valid datatype.
    #[inline]
    pub(crate) unsafe fn bytes_of_each(&self, count: c_int, datatype: ffi::MPI_Datatype) -> u64 {
        // SAFETY: by this function's contract.
        unsafe { self.bytes_of(count.max(0) as u64 * self.ranks as u64, datatype) }
    }

    /// The bytes of elements of a datatype.
    ///
    /// # Safety
    /// A valid datatype, or no elements.
    #[inline]
    pub(crate) unsafe fn bytes_of(&self, elements: u64, datatype: ffi::MPI_Datatype) -> u64 {
        if elements == 0 {
            return 0;
        }
        // SAFETY: by this function's contract.
        elements.saturating_mul(unsafe { self.size_of(datatype) })
    }

    /// # Safety
    /// A valid datatype.
    #[inline]
    unsafe fn size_of(&self, datatype: ffi::MPI_Datatype) -> u64 {
        let handle = handle_bits(datatype);
        if self.datatype.load(Relaxed) != handle {
            // SAFETY: by this function's contract.
            self.size.store(unsafe { element_bytes(datatype) }, Relaxed);
            self.datatype.store(handle, Relaxed);
        }
        self.size.load(Relaxed)
    }

    /// How many ranks there are.
    #[inline]
    pub(super) fn ranks(&self) -> usize {
        self.ranks
    }

    /// The communicator on which plain MPI serves calls.
    #[inline]
    pub(crate) fn comm(&self) -> ffi::MPI_Comm {
        self.comm
    }

    /// Whether the last call took the fast path.
    pub(super) fn was_last(&self) -> bool {
        self.last.load(Relaxed)
    }

    /// The last call did not take the fast path.
    pub(super) fn is_over(&self) {
        self.last.store(false, Relaxed);
    }

    /// Calls since the last agreement, and the large ones among them; both start anew.
    pub(super) fn take(&self) -> (u32, LargeCalls) {
        let large = LargeCalls::of_word(-i64::from(self.large.swap(LargeCalls::None as u8, Relaxed)));
        (self.passed.swap(0, Relaxed), large)
    }

    /// Whether ranks agree on the next call.
    pub(super) fn is_used_up(&self) -> bool {
        self.calls.load(Relaxed) == 0
    }

    /// The next `calls` calls take the fast path, of which the first `watched` ask the session.
    pub(super) fn allow(&self, calls: u64, watched: u64) {
        self.calls.store(calls, Relaxed);
        self.watched.store(watched, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fast_path(always: bool) -> FastPath {
        // SAFETY: a constant, which nothing is done with.
        FastPath::new(unsafe { ffi::RSMPI_COMM_NULL }, 3, always, 1000)
    }

    #[test]
    fn as_many_calls_as_allowed_and_large_ones_are_mispredictions() {
        let q = fast_path(false);
        assert!(!q.skips(1, || false));
        q.allow(3, 1);
        assert!(q.skips(999, || unreachable!()) && q.was_last() && q.is_watched());
        assert_eq!(q.take(), (1, LargeCalls::None));
        assert!(q.skips(1000, || true) && !q.is_watched());
        assert_eq!(q.take(), (1, LargeCalls::Known));
        assert!(q.skips(1000, || false));
        assert!(!q.skips(1, || false));
        assert_eq!(q.take(), (1, LargeCalls::Mispredicted));
        for large in [LargeCalls::None, LargeCalls::Known, LargeCalls::Mispredicted] {
            assert_eq!(LargeCalls::of_word(large.word()), large);
        }
    }

    #[test]
    fn negative_counts_and_missing_arrays_take_the_long_way() {
        let q = fast_path(true);
        let good = [1, 2, 3];
        let bad = [1, -2, 3];
        // SAFETY: arrays of three; datatypes are not looked at.
        unsafe {
            let none = ffi::RSMPI_DATATYPE_NULL;
            assert_eq!(q.bytes([(good.as_ptr(), none), (good.as_ptr(), none)]), Some(0));
            assert_eq!(q.bytes([(good.as_ptr(), none), (bad.as_ptr(), none)]), None);
            assert_eq!(q.bytes([(std::ptr::null(), none), (good.as_ptr(), none)]), None);
        }
    }
}
