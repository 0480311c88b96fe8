//! Middleware that writes postcards of marked chunks: it tells an [`optiq_trace::postcards::RankRecorder`] what is sent and what arrives.

use super::tracing::leg_of;
use crate::capabilities::Capabilities;
use crate::error::TransportError;
use crate::memory::Memory;
use crate::protocol::{Credit, Event, Post, Transmit};
use crate::schedule::Schedule;
use crate::transport::Transport;
use optiq_trace::Meter;
use optiq_trace::postcards::RankRecorder;

/// A transport whose marked chunks leave postcards.
#[derive(Debug)]
pub struct Marked<T> {
    inner: T,
    recorder: RankRecorder,
}

impl<T: Transport> Marked<T> {
    /// Marks chunks of `inner`.
    pub fn new(inner: T, recorder: RankRecorder) -> Self {
        Self { inner, recorder }
    }
}

impl<T: Transport> Transport for Marked<T> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError> {
        self.recorder.begin(schedule.hops().iter().map(leg_of));
        self.inner.begin(schedule)
    }

    fn post(&mut self, memory: &Memory<'_>, post: &Post) -> Result<(), TransportError> {
        self.inner.post(memory, post)
    }

    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError> {
        self.recorder.sends(transmit.header.path, transmit.header.sequence);
        self.inner.send(memory, transmit)
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError> {
        self.inner.credit(credit)
    }

    fn poll(&mut self, memory: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError> {
        let before = events.len();
        let result = self.inner.poll(memory, events);
        for event in &events[before..] {
            if let Event::Received { path, sequence } = *event {
                self.recorder.received(path, sequence);
            }
        }
        if events.len() == before {
            self.recorder.idle();
        }
        result
    }

    fn end(&mut self) -> Result<bool, TransportError> {
        let ended = self.inner.end()?;
        match ended {
            true => self.recorder.ended(),
            false => self.recorder.idle(),
        }
        Ok(ended)
    }

    fn abandon(&mut self) {
        self.inner.abandon();
        self.recorder.abandoned();
    }

    fn release(&mut self) {
        self.inner.release();
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        self.inner.meter()
    }
}
