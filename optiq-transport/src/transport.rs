//! The interface between what is decided and what is carried out.

use crate::trace::Meter;
use crate::{Credit, PathId, Post, Schedule, Transmit, TransportError};
use std::marker::PhantomData;

/// A piece of one of the three memories of an exchange, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// Of the caller's send buffer.
    Send {
        /// First byte.
        offset: u64,
        /// Length.
        bytes: u64,
    },
    /// Of the caller's receive buffer.
    Receive {
        /// First byte.
        offset: u64,
        /// Length.
        bytes: u64,
    },
    /// Of the transport's slot memory.
    Slot {
        /// First byte.
        offset: u64,
        /// Length.
        bytes: u64,
    },
}

/// The caller's two buffers, for the length of one exchange.
///
/// Raw pointers, because parts of the receive buffer are written by the MPI library while others are read here;
/// no `&mut` to the whole may exist meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a> {
    send: *const u8,
    send_bytes: u64,
    receive: *mut u8,
    receive_bytes: u64,
    life: PhantomData<&'a mut [u8]>,
}

impl<'a> Memory<'a> {
    /// From two ordinary slices.
    pub fn new(send: &'a [u8], receive: &'a mut [u8]) -> Self {
        Self {
            send: send.as_ptr(),
            send_bytes: send.len() as u64,
            receive: receive.as_mut_ptr(),
            receive_bytes: receive.len() as u64,
            life: PhantomData,
        }
    }

    /// From raw parts, as they come from C.
    ///
    /// # Safety
    /// For all of `'a`, `send` must be valid for reading `send_bytes` bytes and `receive` for reading and writing
    /// `receive_bytes` bytes, the two must not overlap, and nothing else may write either or read the latter.
    pub unsafe fn from_raw(send: *const u8, send_bytes: u64, receive: *mut u8, receive_bytes: u64) -> Self {
        Self { send, send_bytes, receive, receive_bytes, life: PhantomData }
    }

    /// Checks that the buffers hold what a schedule reads and writes.
    ///
    /// # Errors
    /// [`TransportError::BufferTooSmall`].
    pub fn check(&self, schedule: &Schedule) -> Result<(), TransportError> {
        let check = |which, found, needed| {
            if found < needed { Err(TransportError::BufferTooSmall { which, found, needed }) } else { Ok(()) }
        };
        check("send", self.send_bytes, schedule.send_bytes())?;
        check("receive", self.receive_bytes, schedule.receive_bytes())
    }

    /// The address of a region; `slots` is the base of the transport's slot memory.
    ///
    /// # Safety
    /// The memory must have passed [`Memory::check`] for the schedule that the region comes from, and `slots` must
    /// be the base of slot memory that is large enough for it.
    pub(crate) unsafe fn address(&self, region: Region, slots: *mut u8) -> (*mut u8, usize) {
        match region {
            // SAFETY: within the buffer by `check`; the result is only read through (a C interface wants `*mut`).
            Region::Send { offset, bytes } => (unsafe { self.send.add(offset as usize) }.cast_mut(), bytes as usize),
            // SAFETY: within the buffer by `check`.
            Region::Receive { offset, bytes } => (unsafe { self.receive.add(offset as usize) }, bytes as usize),
            // SAFETY: within the slot memory by this function's contract.
            Region::Slot { offset, bytes } => (unsafe { slots.add(offset as usize) }, bytes as usize),
        }
    }
}

/// What a transport reports to the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A posted chunk has arrived at its place.
    Received {
        /// Its path.
        path: PathId,
        /// Its number on the path.
        sequence: u64,
    },
    /// A chunk's memory may be used again.
    Sent {
        /// Its path.
        path: PathId,
        /// Its number on the path.
        sequence: u64,
    },
    /// A receiver gave credits.
    Credit {
        /// The path.
        path: PathId,
        /// How many.
        chunks: u64,
    },
}

/// Carries chunks and credits between ranks.
///
/// Per path, chunks arrive in the order in which they were sent, and [`Event::Sent`] comes in that order too.
/// Nothing blocks except [`Transport::begin`], and that only for ranks that are on their way into the same call. Between `begin` and `end`, the caller polls.
pub trait Transport {
    /// A name for logs and results: `in-process`, `mpi-two-sided`, `mpi-one-sided`.
    fn name(&self) -> &'static str;

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

    /// Where a back end that copies bytes itself, or waits inside a call, measures that; a trace switches it on.
    fn meter(&mut self) -> Option<&mut Meter> {
        None
    }
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn name(&self) -> &'static str {
        (**self).name()
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

    fn meter(&mut self) -> Option<&mut Meter> {
        (**self).meter()
    }
}
