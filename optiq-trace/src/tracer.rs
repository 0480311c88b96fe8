//! The handle by which a session and its transport's middleware record what happens.

use crate::error::TraceError;
use crate::event::{ChunkEvent, SentChunk, SentCredit};
use crate::options::TraceOptions;
use crate::rank_trace::Leg;
use crate::recorder::Recorder;
use std::cell::RefCell;
use std::rc::Rc;

/// A rank's trace; clones share it. The file is complete once the last of them is dropped.
#[derive(Clone, Debug)]
pub struct Tracer(Rc<RefCell<Recorder>>);

impl Tracer {
    /// Begins a trace, for a transport of that name: allocates the ring and writes the head of the file.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the directory or the file cannot be created.
    pub fn create(options: &TraceOptions, transport: &str) -> Result<Self, TraceError> {
        Ok(Self(Rc::new(RefCell::new(Recorder::create(options, transport)?))))
    }

    /// Says in words what will serve the exchange that is about to begin. Without it the exchange has no description.
    pub fn open(&self, served_by: impl std::fmt::Display) {
        self.0.borrow_mut().open(served_by.to_string());
    }

    /// Does a copy outside the transport. Its time belongs to the current exchange, or to the next one if there is none.
    pub fn copy<R>(&self, copy: impl FnOnce() -> R) -> R {
        self.0.borrow_mut().copy_begins();
        let result = copy();
        self.0.borrow_mut().copy_ends();
        result
    }

    /// Records a call that plain MPI serves, and lets `serve` do it.
    pub fn plain<R>(&self, served_by: impl std::fmt::Display, serve: impl FnOnce() -> R) -> R {
        let start = self.0.borrow().clock.now();
        let result = serve();
        self.0.borrow_mut().plain(served_by.to_string(), start);
        result
    }

    /// An exchange begins, with this rank's part of each path, ascending by path. This may allocate: no chunk is on its way at
    /// this rank.
    pub fn begin(&self, legs: impl Iterator<Item = Leg> + Clone) {
        self.0.borrow_mut().begin(legs);
    }

    /// The transport is about to send a chunk.
    pub fn sends(&self, chunk: &SentChunk) {
        self.0.borrow_mut().sends(chunk);
    }

    /// The transport is about to give credits.
    pub fn credits(&self, credit: &SentCredit) {
        self.0.borrow_mut().credits(credit);
    }

    /// The transport has copied for `nanoseconds` since the last call of this function.
    pub fn copied(&self, nanoseconds: u64) {
        self.0.borrow_mut().copied(nanoseconds);
    }

    /// The transport is about to be polled, or asked for the end of the exchange.
    pub fn poll_begins(&self) {
        self.0.borrow_mut().poll_begins();
    }

    /// The poll returned `events`, after it had waited inside calls for `blocked` nanoseconds.
    pub fn poll_ends(&self, events: impl ExactSizeIterator<Item = ChunkEvent> + Clone, blocked: u64) {
        self.0.borrow_mut().poll_ends(events, blocked);
    }

    /// The transport was asked for the end of the exchange, and said whether it is reached.
    pub fn end_asked(&self, ended: bool) {
        self.0.borrow_mut().end_asked(ended);
    }

    /// The exchange was given up after an error.
    pub fn abandoned(&self) {
        self.0.borrow_mut().abandoned();
    }
}
