//! Middleware that traces a transport: it tells an [`optiq_trace::Tracer`] every order and every event.

use crate::capabilities::Capabilities;
use crate::error::TransportError;
use crate::hop::Hop;
use crate::memory::Memory;
use crate::protocol::{Credit, Event, Post, Transmit};
use crate::schedule::Schedule;
use crate::transport::Transport;
use optiq_trace::{ChunkEvent, Leg, Meter, SentChunk, SentCredit, Tracer};

/// A transport whose exchanges are traced.
#[derive(Debug)]
pub struct Traced<T> {
    inner: T,
    tracer: Tracer,
}

impl<T: Transport> Traced<T> {
    /// Traces `inner`.
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
            self.tracer.copied(copied);
        }
        blocked
    }
}

/// What a trace keeps of a path at this rank.
pub(super) fn leg_of(hop: &Hop) -> Leg {
    let Hop { path, source, destination, bytes, chunk, .. } = *hop;
    let (from, to) = (hop.incoming.map(|i| i.from), hop.outgoing.map(|o| o.to));
    Leg { path, source, destination, from, to, bytes, chunk }
}

fn chunk_event(event: &Event) -> ChunkEvent {
    match *event {
        Event::Received { path, sequence } => ChunkEvent::Received { path, sequence },
        Event::Sent { path, sequence } => ChunkEvent::Sent { path, sequence },
        Event::Credit { path, chunks } => ChunkEvent::Credit { path, chunks },
    }
}

impl<T: Transport> Transport for Traced<T> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError> {
        self.tracer.begin(schedule.hops().iter().map(leg_of));
        self.inner.begin(schedule)
    }

    fn post(&mut self, memory: &Memory<'_>, post: &Post) -> Result<(), TransportError> {
        self.inner.post(memory, post)
    }

    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError> {
        let header = &transmit.header;
        self.tracer.sends(&SentChunk {
            path: header.path,
            sequence: header.sequence,
            bytes: header.bytes,
            source: header.source,
            to: transmit.to,
        });
        let result = self.inner.send(memory, transmit);
        self.measured();
        result
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError> {
        self.tracer.credits(&SentCredit { path: credit.path, to: credit.to, chunks: credit.chunks });
        self.inner.credit(credit)
    }

    fn poll(&mut self, memory: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError> {
        self.tracer.poll_begins();
        let before = events.len();
        let result = self.inner.poll(memory, events);
        let blocked = self.measured();
        self.tracer.poll_ends(events[before..].iter().map(chunk_event), blocked);
        result
    }

    fn end(&mut self) -> Result<bool, TransportError> {
        self.tracer.poll_begins();
        let ended = self.inner.end()?;
        self.tracer.end_asked(ended);
        Ok(ended)
    }

    fn abandon(&mut self) {
        self.inner.abandon();
        self.tracer.abandoned();
    }

    fn release(&mut self) {
        self.inner.release();
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        self.inner.meter()
    }
}
