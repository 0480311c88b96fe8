//! Chunks as ordinary messages: a receive per chunk is posted ahead straight into its final place, so only the
//! MPI library copies it. No header travels: the tag names the path on this leg, MPI's order per
//! (sender, tag) gives the sequence, and the schedule gives the rest.
//!
//! Chunks are sent in synchronous mode (`MPI_Issend`): complete once the receiver has matched them, which it confirms
//! with a few bytes. An ordinary send is complete when a copy lies somewhere on the way, which would not tell
//! the scheduler how much is on the wires. A chunk below the eager limit still travels at once.

use super::comm::{Communicator, byte, check};
use super::control::{Control, ControlKind, ControlRecord};
use super::convert::{LARGEST_COUNT, c_count, c_rank};
use super::ffi;
use super::library::Library;
use super::requests::Requests;
use super::tally;
use crate::capabilities::{Capabilities, SendCompletion};
use crate::constants::EAGER;
use crate::error::TransportError;
use crate::in_order::InOrder;
use crate::memory::Memory;
use crate::protocol::{Credit, Event, Post, Transmit};
use crate::schedule::Schedule;
use crate::transport::Transport;
use optiq_trace::ids::PathId;
use std::ffi::c_int;
use std::rc::Rc;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Receive { path: PathId, sequence: u64, bytes: u64 },
    Send { path: PathId, sequence: u64 },
}

/// The two-sided MPI back end (`MPI_Issend`, `MPI_Irecv`).
pub struct TwoSided {
    comm: Rc<Communicator>,
    control: Control,
    slots: Vec<u8>,
    operations: Requests<Operation>,
    received: InOrder,
    sent: InOrder,
}

impl TwoSided {
    /// What it can do. The eager limit is that of Open MPI's TCP transport; that of other libraries and networks is unknown.
    pub const CAPABILITIES: Capabilities = Capabilities {
        name: "mpi-two-sided",
        largest_eager_bytes: match Library::CURRENT {
            Library::OpenMpi => Some(EAGER),
            Library::Mpich | Library::Other => None,
        },
        largest_chunk_bytes: Some(LARGEST_COUNT),
        delivers_in_place: true,
        send_completion: SendCompletion::Matched,
        flush_blocks: false,
        end_waits_for_all_ranks: false,
        puts_need_target_progress: None,
        drop_is_collective: false,
        largest_bytes_in_flight: None,
    };

    /// On a private communicator.
    ///
    /// # Errors
    /// What MPI reports.
    pub fn new(comm: Rc<Communicator>) -> Result<Self, TransportError> {
        let control = Control::new(Rc::clone(&comm))?;
        Ok(Self {
            comm,
            control,
            slots: Vec::new(),
            operations: Requests::default(),
            received: InOrder::default(),
            sent: InOrder::default(),
        })
    }

    /// Data tags follow the control tag.
    fn tag(&self, tag: u32, path: PathId) -> Result<c_int, TransportError> {
        let largest = self.comm.largest_tag();
        if tag < largest { Ok(tag as c_int + 1) } else { Err(too_many_paths(path, largest)) }
    }
}

fn too_many_paths(path: PathId, largest: u32) -> TransportError {
    log::debug!("path {path} needs a tag above {largest}, the largest that MPI allows");
    TransportError::BadPath { path, what: format!("shares a leg with more paths than MPI has tags ({largest})") }
}

impl Transport for TwoSided {
    fn capabilities(&self) -> Capabilities {
        Self::CAPABILITIES
    }

    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError> {
        let needed = schedule.forward_bytes() as usize;
        if self.slots.len() < needed {
            self.slots.resize(needed, 0);
        }
        self.received.clear();
        self.sent.clear();
        Ok(())
    }

    fn post(&mut self, memory: &Memory<'_>, post: &Post) -> Result<(), TransportError> {
        let tag = self.tag(post.tag, post.header.path)?;
        let count = c_count(&post.header)?;
        // SAFETY: `execute` has checked the memory for this schedule and keeps it alive and untouched until the
        // receive is complete or abandoned; `begin` has sized the slots. The request is overwritten.
        let request = unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (address, _) = memory.address(post.into, self.slots.as_mut_ptr());
            let (from, comm) = (c_rank(post.from), self.comm.raw());
            check(ffi::PMPI_Irecv(address.cast(), count, byte(), from, tag, comm, &mut request), "MPI_Irecv")?;
            request
        };
        let (path, sequence, bytes) = (post.header.path, post.header.sequence, post.header.bytes);
        self.operations.push(request, Operation::Receive { path, sequence, bytes });
        Ok(())
    }

    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError> {
        let tag = self.tag(transmit.tag, transmit.header.path)?;
        let count = c_count(&transmit.header)?;
        // SAFETY: as in `post`; the scheduler frees a slot only after the send is complete.
        let request = unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (address, _) = memory.address(transmit.data, self.slots.as_mut_ptr());
            let (to, comm) = (c_rank(transmit.to), self.comm.raw());
            check(ffi::PMPI_Issend(address.cast(), count, byte(), to, tag, comm, &mut request), "MPI_Issend")?;
            tally::message(transmit.header.bytes, to, comm);
            request
        };
        let (path, sequence) = (transmit.header.path, transmit.header.sequence);
        self.operations.push(request, Operation::Send { path, sequence });
        Ok(())
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError> {
        self.control
            .queue(credit.to, ControlRecord { kind: ControlKind::Credit, path: credit.path, number: credit.chunks });
        Ok(())
    }

    fn poll(&mut self, _: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError> {
        self.control.poll(|r| events.push(Event::Credit { path: r.path, chunks: r.number }))?;
        let (received, sent, rank) = (&mut self.received, &mut self.sent, self.comm.rank());
        self.operations.test(|status, operation| {
            match operation {
                Operation::Send { path, sequence } => {
                    events.extend(sent.due(path, sequence).map(|sequence| Event::Sent { path, sequence }));
                }
                Operation::Receive { path, sequence, bytes } => {
                    let mut count: c_int = 0;
                    // SAFETY: a status that MPI_Testsome filled in.
                    check(unsafe { ffi::PMPI_Get_count(status, byte(), &mut count) }, "MPI_Get_count")?;
                    if count as u64 != bytes {
                        let what = format!("chunk {sequence} of path {path} with {count} bytes instead of {bytes}");
                        log::warn!("rank {rank} rejects {what}, from rank {}", status.MPI_SOURCE);
                        return Err(TransportError::Unexpected { rank, what });
                    }
                    events.extend(received.due(path, sequence).map(|sequence| Event::Received { path, sequence }));
                }
            }
            Ok(())
        })
    }

    fn end(&mut self) -> Result<bool, TransportError> {
        // The scheduler is done: all chunks have come and gone. Credits may still be on their way out.
        self.control.poll(|_| ())?;
        Ok(self.control.is_quiet())
    }

    fn abandon(&mut self) {
        self.operations.cancel();
    }

    fn release(&mut self) {
        self.slots = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule_options::ScheduleOptions;

    #[test]
    fn the_default_options_are_within_its_capabilities() {
        let capabilities = TwoSided::CAPABILITIES;
        assert!(capabilities.send_completion.is_confirmed_by_target() && !capabilities.flush_blocks);
        let options = ScheduleOptions::default();
        assert_eq!(options.within(&capabilities), options);
    }
}
