//! Middleware that holds events back for a random number of polls: a network whose parts are slow at random.
//!
//! Wraps any transport. The order of events per path is kept, as the trait promises; everything else may overtake.

use crate::{Credit, Event, Memory, PathId, Post, Schedule, Transmit, Transport, TransportError};
use std::collections::VecDeque;

/// A transport whose events are delayed by a seeded random number of polls.
#[derive(Debug)]
pub struct Delayed<T> {
    inner: T,
    state: u64,
    longest: u64,
    poll: u64,
    held: VecDeque<(u64, Event)>,
}

impl<T> Delayed<T> {
    /// Delays each event of `inner` by up to `longest` polls; the same `seed` gives the same delays.
    pub fn new(inner: T, seed: u64, longest: u64) -> Self {
        Self { inner, state: seed, longest, poll: 0, held: VecDeque::new() }
    }

    /// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
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

impl<T: Transport> Transport for Delayed<T> {
    fn name(&self) -> &'static str {
        self.inner.name()
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
            let wait = self.random() % (self.longest + 1);
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

    fn end(&mut self) -> Result<(), TransportError> {
        self.inner.end()
    }

    fn abandon(&mut self) {
        self.held.clear();
        self.inner.abandon();
    }
}
