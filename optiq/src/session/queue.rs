//! Exchanges that were started and are not complete.

use super::plans::Staged;
use crate::error::Error;
use optiq_lower::decide::Decision;
use optiq_transport::mpi::Pending;
use optiq_transport::{Execution, Memory, Running, Schedule};
use std::collections::VecDeque;
use std::sync::Arc;

/// What was started and is not complete, in order.
#[derive(Default)]
pub(super) struct Queue {
    /// The number of the first one.
    pub(super) first: u64,
    pub(super) waiting: VecDeque<Started>,
    pub(super) failed: Vec<(u64, Error)>,
    /// What the last one that completed did.
    pub(super) execution: Execution,
}

/// An exchange that was started.
pub(super) struct Started {
    pub(super) decision: Arc<Decision>,
    pub(super) schedule: Arc<Schedule>,
    pub(super) staged: Option<Arc<Staged>>,
    pub(super) send: *const u8,
    pub(super) receive: *mut u8,
    /// What the transport reads and writes: the user's buffers, or the host's staging areas.
    pub(super) memory: Memory<'static>,
    /// The staging areas, from the start of a gathered exchange on.
    pub(super) area: *mut u8,
    pub(super) phase: Phase,
}

/// What a step of an exchange did.
pub(super) enum Step {
    Idle,
    Moved,
    Done(Execution),
}

/// How far an exchange is. Those that are not gathered go straight to `Moving`.
pub(super) enum Phase {
    New,
    /// This rank's messages are in the outgoing area; the other ranks' may not be.
    Gathering(Pending),
    Moving(Box<Running<Arc<Schedule>>>),
    /// All that this rank carries is in the incoming area; what others carry may not be.
    Scattering(Pending, Execution),
}

impl Queue {
    /// Removes the first one, with the error that ended it.
    pub(super) fn pop(&mut self, error: Option<Error>) {
        self.waiting.pop_front();
        self.failed.extend(error.map(|e| (self.first, e)));
        self.first += 1;
    }
}
