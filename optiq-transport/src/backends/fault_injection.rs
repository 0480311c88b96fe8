//! Middleware that holds events back for some polls: a network whose parts are slow at random.
//!
//! Wraps any transport. The order of events per path is kept, as the trait promises; everything else may overtake.

use crate::capabilities::Capabilities;
use crate::error::TransportError;
use crate::memory::Memory;
use crate::protocol::{Credit, Event, Post, Transmit};
use crate::schedule::Schedule;
use crate::transport::Transport;
use optiq_trace::Meter;
use optiq_trace::ids::PathId;
use std::collections::VecDeque;

/// A transport whose events come later than they happened.
#[derive(Debug)]
pub struct Delayed<T, D> {
    inner: T,
    delays: D,
    poll: u64,
    held: VecDeque<(u64, Event)>,
}

impl<T, D: FnMut() -> u64> Delayed<T, D> {
    /// Holds each event of `inner` back for as many polls as `delays` says.
    pub fn new(inner: T, delays: D) -> Self {
        Self { inner, delays, poll: 0, held: VecDeque::new() }
    }
}

/// Events of the same kind on the same path must not overtake each other.
fn lane(event: &Event) -> (PathId, u8) {
    match *event {
        Event::Received { path, .. } => (path, 0),
        Event::Sent { path, .. } => (path, 1),
        Event::Credit { path, .. } => (path, 2),
    }
}

impl<T: Transport, D: FnMut() -> u64> Transport for Delayed<T, D> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError> {
        self.inner.begin(schedule)
    }

    fn post(&mut self, memory: &Memory<'_>, post: &Post) -> Result<(), TransportError> {
        self.inner.post(memory, post)
    }

    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError> {
        self.inner.send(memory, transmit)
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError> {
        self.inner.credit(credit)
    }

    fn poll(&mut self, memory: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError> {
        self.poll += 1;
        let mut fresh = Vec::new();
        self.inner.poll(memory, &mut fresh)?;
        for event in fresh {
            let wait = (self.delays)();
            let after = self.held.iter().filter(|(_, e)| lane(e) == lane(&event)).map(|(due, _)| *due).max();
            self.held.push_back((after.unwrap_or(0).max(self.poll + wait), event));
        }
        let now = self.poll;
        self.held.retain(|&(due, event)| {
            if due <= now {
                events.push(event);
            }
            due > now
        });
        Ok(())
    }

    fn end(&mut self) -> Result<bool, TransportError> {
        self.inner.end()
    }

    fn abandon(&mut self) {
        self.held.clear();
        self.inner.abandon();
    }

    fn release(&mut self) {
        self.inner.release();
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        self.inner.meter()
    }
}
