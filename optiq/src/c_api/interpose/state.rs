//! Whether this process serves calls at all, and whether a thread is inside one.

use super::counts::{self, CallOutcome, FUNCTIONS};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The state of the process: 0 undecided, 1 serving, 2 + a reason: all calls are passed on.
pub(super) static STATE: State = State {
    now: AtomicUsize::new(UNDECIDED),
    taken: AtomicUsize::new(0),
    passed: [const { AtomicU64::new(0) }; FUNCTIONS.len()],
};
pub(super) const UNDECIDED: usize = 0;
pub(super) const SERVING: usize = 1;
pub(super) const PASSING: usize = 2;

/// All that a call touches that is passed on for good, in one line of the cache (but for the last two functions): where several ranks
/// share a core, all of it comes from memory at every call.
#[repr(align(64))]
pub(super) struct State {
    pub(super) now: AtomicUsize,
    /// The functions that are taken over, as bits; known when the state is.
    pub(super) taken: AtomicUsize,
    /// How many calls of each function were passed on for the reason that `now` says.
    pub(super) passed: [AtomicU64; FUNCTIONS.len()],
}

impl State {
    pub(super) fn set(&self, now: usize) {
        let before = self.now.swap(now, Relaxed);
        if let Some(reason) = before.checked_sub(PASSING).and_then(counts::reason) {
            for (function, passed) in self.passed.iter().enumerate() {
                counts::add(function, reason, passed.swap(0, Relaxed));
            }
        }
    }
}

thread_local! {
    /// Whether this thread is inside a call that came here: what MPI, a profiler behind us or an error handler calls
    /// meanwhile is part of it.
    pub(super) static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Passes everything on for good.
pub(super) fn pass_all(reason: CallOutcome) {
    STATE.set(PASSING + reason as usize);
}

/// MPI is being finalised.
pub(super) fn ended() {
    pass_all(CallOutcome::Outside);
}

/// Brings the calls that were passed on for good into the table of counts.
pub(super) fn flush() {
    STATE.set(STATE.now.load(Relaxed));
}

/// Marks this thread as busy for a while.
pub(super) struct Busy;

impl Busy {
    pub(super) fn new() -> Self {
        BUSY.set(true);
        Self
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.set(false);
    }
}
