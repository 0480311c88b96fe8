//! The interface between what is decided and what is carried out.

use crate::capabilities::Capabilities;
use crate::error::TransportError;
use crate::memory::Memory;
use crate::protocol::{Credit, Event, Post, Transmit};
use crate::schedule::Schedule;
use optiq_trace::Meter;

/// Carries chunks and credits between ranks.
///
/// Per path, chunks arrive in the order in which they were sent, and [`Event::Sent`] comes in that order too.
/// [`Transport::begin`] may wait for ranks that are on their way into the same call, and [`Transport::poll`] inside a flush
/// if [`Capabilities::flush_blocks`]; nothing else blocks. Between `begin` and `end`, the caller polls.
pub trait Transport {
    /// What it can do; the same on all ranks, and the same in every call.
    fn capabilities(&self) -> Capabilities;

    /// Its name; see [`Capabilities::name`].
    fn name(&self) -> &'static str {
        self.capabilities().name
    }

    /// Gets ready for an exchange: slot memory of the size that the schedule asks for.
    ///
    /// # Errors
    /// What the back end reports.
    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError>;

    /// Gets ready to receive a chunk.
    ///
    /// # Errors
    /// What the back end reports.
    fn post(&mut self, memory: &Memory<'_>, post: &Post) -> Result<(), TransportError>;

    /// Starts to send a chunk, whose bytes stay untouched until [`Event::Sent`].
    ///
    /// # Errors
    /// What the back end reports.
    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError>;

    /// Tells a sender that it may send more.
    ///
    /// # Errors
    /// What the back end reports.
    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError>;

    /// Makes progress without waiting and appends what happened to `events`.
    ///
    /// # Errors
    /// What the back end reports.
    fn poll(&mut self, memory: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError>;

    /// Works towards the end of an exchange whose scheduler is done, without waiting. To be called until it returns
    /// true: then no operation touches the caller's memory, and the next exchange may begin.
    ///
    /// # Errors
    /// What the back end reports.
    fn end(&mut self) -> Result<bool, TransportError>;

    /// Gives an exchange up after an error: cancels what can be cancelled, so that the caller's memory is not
    /// written any more where the back end can promise that.
    fn abandon(&mut self);

    /// Gives the slot memory back that it keeps for the next exchange, where that takes no other rank; between exchanges.
    fn release(&mut self) {}

    /// Where a back end that copies bytes itself, or waits inside a call, measures that; a trace switches it on.
    fn meter(&mut self) -> Option<&mut Meter> {
        None
    }
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError> {
        (**self).begin(schedule)
    }

    fn post(&mut self, memory: &Memory<'_>, post: &Post) -> Result<(), TransportError> {
        (**self).post(memory, post)
    }

    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError> {
        (**self).send(memory, transmit)
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError> {
        (**self).credit(credit)
    }

    fn poll(&mut self, memory: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError> {
        (**self).poll(memory, events)
    }

    fn end(&mut self) -> Result<bool, TransportError> {
        (**self).end()
    }

    fn abandon(&mut self) {
        (**self).abandon();
    }

    fn release(&mut self) {
        (**self).release();
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        (**self).meter()
    }
}
