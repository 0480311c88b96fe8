//! Single messages on a private communicator, for what is measured before there is a transport, or without one.

use super::comm::{Communicator, byte, check};
use super::convert::c_rank;
use super::ffi;
use crate::error::TransportError;
use optiq_trace::ids::Rank;
use std::ffi::c_int;

/// The tag of these messages. Nothing else moves on the communicator meanwhile.
const TAG: c_int = 0;

/// A message that is being sent or received, with its memory.
pub struct Message {
    request: ffi::MPI_Request,
    memory: Vec<u8>,
}

impl Communicator {
    /// Begins to send the first `bytes` of some memory, which [`Message::test`] gives back.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    ///
    /// # Panics
    /// If the memory is shorter, or longer than MPI can count.
    pub fn start_send(&self, memory: Vec<u8>, bytes: usize, to: Rank) -> Result<Message, TransportError> {
        assert!(bytes <= memory.len() && c_int::try_from(bytes).is_ok(), "the memory that is sent");
        // SAFETY: a constant; overwritten.
        let mut message = Message { request: unsafe { ffi::RSMPI_REQUEST_NULL }, memory };
        let from = message.memory.as_ptr().cast();
        // SAFETY: `bytes` bytes that stay until the request is complete; the communicator is ours.
        let code =
            unsafe { ffi::PMPI_Isend(from, bytes as c_int, byte(), c_rank(to), TAG, self.raw(), &mut message.request) };
        check(code, "MPI_Isend")?;
        Ok(message)
    }

    /// Begins to receive a message of at most as many bytes as there is memory, which [`Message::test`] gives back.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    ///
    /// # Panics
    /// If the memory is longer than MPI can count.
    pub fn start_receive(&self, memory: Vec<u8>, from: Rank) -> Result<Message, TransportError> {
        assert!(c_int::try_from(memory.len()).is_ok(), "the memory that is received into");
        // SAFETY: a constant; overwritten.
        let mut message = Message { request: unsafe { ffi::RSMPI_REQUEST_NULL }, memory };
        let (into, bytes) = (message.memory.as_mut_ptr().cast(), message.memory.len() as c_int);
        // SAFETY: memory that stays until the request is complete; the communicator is ours.
        let code = unsafe { ffi::PMPI_Irecv(into, bytes, byte(), c_rank(from), TAG, self.raw(), &mut message.request) };
        check(code, "MPI_Irecv")?;
        Ok(message)
    }

    /// Begins to receive a message that has been announced, from whomever, into memory that `memory` gives for its bytes; `None` if
    /// there is none.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    ///
    /// # Panics
    /// If the memory is shorter than the message.
    pub fn receive_any(
        &self,
        memory: impl FnOnce(usize) -> Vec<u8>,
    ) -> Result<Option<(Rank, Message)>, TransportError> {
        let (mut found, mut bytes) = (0, 0);
        // SAFETY: the communicator is ours; MPI fills handle and status if there is a message, and only then are they read.
        let (code, mut handle, from) = unsafe {
            let mut handle = ffi::RSMPI_MESSAGE_NULL;
            let mut status: ffi::MPI_Status = std::mem::zeroed();
            let any = ffi::RSMPI_ANY_SOURCE;
            let code = ffi::PMPI_Improbe(any, TAG, self.raw(), &mut found, &mut handle, &mut status);
            if code == ffi::MPI_SUCCESS as c_int && found != 0 {
                ffi::PMPI_Get_count(&status, byte(), &mut bytes);
            }
            (code, handle, status.MPI_SOURCE)
        };
        check(code, "MPI_Improbe")?;
        if found == 0 {
            return Ok(None);
        }
        let memory = memory(bytes.max(0) as usize);
        assert!(bytes.max(0) as usize <= memory.len(), "the memory that is received into");
        // SAFETY: a constant; overwritten.
        let mut message = Message { request: unsafe { ffi::RSMPI_REQUEST_NULL }, memory };
        // SAFETY: as many bytes as the message has, which stay until the request is complete; the message was found above.
        let code = unsafe {
            let into = message.memory.as_mut_ptr().cast();
            ffi::PMPI_Imrecv(into, bytes, byte(), &mut handle, &mut message.request)
        };
        check(code, "MPI_Imrecv")?;
        Ok(Some((Rank(from as u32), message)))
    }
}

impl Message {
    /// Once it is complete: its memory, and how many bytes were received (of a message that was sent, a number without
    /// meaning).
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn test(&mut self) -> Result<Option<(Vec<u8>, usize)>, TransportError> {
        let (mut done, mut bytes) = (0, 0);
        // SAFETY: a request of ours, active or null; MPI fills the status that it then counts.
        let code = unsafe {
            let mut status = std::mem::zeroed();
            let code = ffi::PMPI_Test(&mut self.request, &mut done, &mut status);
            if code == ffi::MPI_SUCCESS as c_int && done != 0 {
                ffi::PMPI_Get_count(&status, byte(), &mut bytes);
            }
            code
        };
        check(code, "MPI_Test")?;
        Ok((done != 0).then(|| (std::mem::take(&mut self.memory), bytes.max(0) as usize)))
    }
}

impl Drop for Message {
    /// One that is given up before it is complete leaves its memory to MPI.
    fn drop(&mut self) {
        // SAFETY: a constant.
        if self.request != unsafe { ffi::RSMPI_REQUEST_NULL } {
            std::mem::forget(std::mem::take(&mut self.memory));
        }
    }
}
