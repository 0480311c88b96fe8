//! What a communicator has of exchanges that go on while the program does something else.

use super::streams::Stream;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The streams of a communicator.
#[derive(Default)]
pub(super) struct Started {
    pub(super) stream: Mutex<Option<Arc<Stream>>>,
    pub(super) slots: Mutex<Vec<Arc<Slot>>>,
}

/// A stream of persistent exchanges, one at a time.
pub(super) struct Slot {
    pub(super) stream: Arc<Stream>,
    pub(super) taken: AtomicBool,
}
