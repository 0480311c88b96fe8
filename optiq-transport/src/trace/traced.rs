//! The middleware: a transport that is watched.

use super::{Meter, Tracer};
use crate::{Credit, Event, Memory, Post, Schedule, Transmit, Transport, TransportError};

/// A transport whose exchanges are traced.
#[derive(Debug)]
pub struct Traced<T> {
    inner: T,
    tracer: Tracer,
}

impl<T: Transport> Traced<T> {
    /// Watches `inner`.
    pub fn new(mut inner: T, tracer: Tracer) -> Self {
        if let Some(meter) = inner.meter() {
            meter.switch_on();
        }
        Self { inner, tracer }
    }

    /// Tells the recorder what `inner` has copied; returns for how many nanoseconds it has waited inside calls.
    #[inline]
    fn measured(&mut self) -> u64 {
        let (copied, blocked) = self.inner.meter().map_or((0, 0), Meter::take);
        if copied > 0 {
            self.tracer.0.borrow_mut().copied(copied);
        }
        blocked
    }
}

impl<T: Transport> Transport for Traced<T> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError> {
        self.tracer.0.borrow_mut().begin(schedule);
        self.inner.begin(schedule)
    }

    fn post(&mut self, memory: &Memory<'_>, post: &Post) -> Result<(), TransportError> {
        self.inner.post(memory, post)
    }

    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError> {
        self.tracer.0.borrow_mut().sends(transmit);
        let result = self.inner.send(memory, transmit);
        self.measured();
        result
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError> {
        self.tracer.0.borrow_mut().credits(credit);
        self.inner.credit(credit)
    }

    fn poll(&mut self, memory: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError> {
        self.tracer.0.borrow_mut().poll_begins();
        let before = events.len();
        let result = self.inner.poll(memory, events);
        let blocked = self.measured();
        self.tracer.0.borrow_mut().poll_ends(&events[before..], blocked);
        result
    }

    fn end(&mut self) -> Result<bool, TransportError> {
        self.tracer.0.borrow_mut().poll_begins();
        let ended = self.inner.end()?;
        self.tracer.0.borrow_mut().end_asked(ended);
        Ok(ended)
    }

    fn abandon(&mut self) {
        self.inner.abandon();
        self.tracer.0.borrow_mut().abandoned();
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        self.inner.meter()
    }
}
