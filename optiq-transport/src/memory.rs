//! The caller's buffers during an exchange.

use crate::error::TransportError;
use crate::protocol::Region;
use crate::schedule::Schedule;
use std::marker::PhantomData;

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
