//! Chunks by `MPI_Put` into slots of the receiver's window, announced by a small message (thesis 6.3, figure 5).
//!
//! The scheduler gives every (path, receiver) its own slots, so a sender with credit may put at once, without a
//! rendezvous. All puts towards a rank since the last poll are completed with one `MPI_Win_flush`, then announced
//! with one message. The receiver needs no posted receives: a chunk that ends here is copied from its slot to its
//! place (which is all that the target does), one that goes on is sent from its slot.
//!
//! Works in the MPI separate and unified memory models (`MPI_Win_sync` before each read), and where puts need the
//! target's progress: every rank stays in the progress loop, or in the final barrier, until all are done. The
//! barrier also keeps a fast rank from putting data of the next exchange over slots of this one.

use super::comm::{Communicator, byte, check};
use super::control::{Control, ControlKind, ControlRecord};
use super::convert::{LARGEST_COUNT, c_count, c_rank};
use super::ending::Ending;
use super::ffi;
use super::monitoring::Counted;
use super::tally;
use super::window::Window;
use crate::capabilities::{Capabilities, SendCompletion};
use crate::error::TransportError;
use crate::in_order::InOrder;
use crate::memory::Memory;
use crate::protocol::{Credit, Event, Post, Region, Transmit};
use crate::schedule::Schedule;
use crate::transport::Transport;
use optiq_trace::Meter;
use optiq_trace::ids::{PathId, Rank};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// The one-sided MPI back end (`MPI_Put`, passive target).
pub struct OneSided {
    comm: Rc<Communicator>,
    control: Control,
    window: Option<Window>,
    /// Receives that the scheduler has posted, per path.
    posted: BTreeMap<PathId, VecDeque<(u64, u64, Region)>>,
    /// Put, but not yet flushed and announced, per receiver.
    unflushed: BTreeMap<Rank, Vec<(PathId, u64)>>,
    arrived: InOrder,
    meter: Meter,
    ending: Ending,
}

impl OneSided {
    /// What it can do. Whether a put needs the target's progress depends on the library and the network; with Open MPI over
    /// TCP it does.
    pub const CAPABILITIES: Capabilities = Capabilities {
        name: "mpi-one-sided",
        largest_eager_bytes: None,
        largest_chunk_bytes: Some(LARGEST_COUNT),
        delivers_in_place: false,
        send_completion: SendCompletion::Remote,
        flush_blocks: true,
        end_waits_for_all_ranks: true,
        puts_need_target_progress: Some(true),
        drop_is_collective: true,
        largest_bytes_in_flight: None,
    };

    /// On a private communicator; collective. Finds out at once whether this MPI library gives windows on it.
    ///
    /// # Errors
    /// What MPI reports, on every rank alike; then use the two-sided back end.
    pub fn new(comm: Rc<Communicator>) -> Result<Self, TransportError> {
        let window = Some(Window::first(&comm)?);
        let control = Control::new(Rc::clone(&comm))?;
        let (posted, unflushed) = (BTreeMap::new(), BTreeMap::new());
        let (arrived, meter) = (InOrder::default(), Meter::default());
        let ending = Ending::new(&comm)?;
        Ok(Self { comm, control, window, posted, unflushed, arrived, meter, ending })
    }

    fn window(&self) -> Result<&Window, TransportError> {
        let gone = || TransportError::Mpi { call: "MPI_Win_allocate", message: "no window after a failure".into() };
        self.window.as_ref().ok_or_else(gone)
    }
}

impl Transport for OneSided {
    fn capabilities(&self) -> Capabilities {
        Self::CAPABILITIES
    }

    fn begin(&mut self, schedule: &Schedule) -> Result<(), TransportError> {
        // The same number on every rank, so all reallocate together or none does.
        self.window = Some(Window::of_at_least(self.window.take(), &self.comm, schedule.largest_slot_bytes())?);
        self.posted.clear();
        self.unflushed.clear();
        self.arrived.clear();
        Ok(())
    }

    fn post(&mut self, _: &Memory<'_>, post: &Post) -> Result<(), TransportError> {
        self.posted.entry(post.header.path).or_default().push_back((post.header.sequence, post.slot, post.into));
        Ok(())
    }

    fn send(&mut self, memory: &Memory<'_>, transmit: &Transmit) -> Result<(), TransportError> {
        let count = c_count(&transmit.header)?;
        let window = self.window()?;
        // SAFETY: `execute` has checked the memory for this schedule and keeps the region untouched until the put is
        // flushed; the target's slot lies inside its window, which is as large as the largest rank needs.
        unsafe {
            let (address, _) = memory.address(transmit.data, window.base);
            let (to, at) = (c_rank(transmit.to), transmit.remote_slot as ffi::MPI_Aint);
            let code = ffi::PMPI_Put(address.cast(), count, byte(), to, at, count, byte(), window.raw);
            check(code, "MPI_Put")?;
            tally::one_sided(Counted::Put, transmit.header.bytes, to, window.raw);
        }
        self.unflushed.entry(transmit.to).or_default().push((transmit.header.path, transmit.header.sequence));
        Ok(())
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), TransportError> {
        self.control
            .queue(credit.to, ControlRecord { kind: ControlKind::Credit, path: credit.path, number: credit.chunks });
        Ok(())
    }

    fn poll(&mut self, memory: &Memory<'_>, events: &mut Vec<Event>) -> Result<(), TransportError> {
        for (to, chunks) in std::mem::take(&mut self.unflushed) {
            let window = self.window()?.raw;
            // SAFETY: the window is locked for all targets.
            check(self.meter.block(|| unsafe { ffi::PMPI_Win_flush(c_rank(to), window) }), "MPI_Win_flush")?;
            for (path, sequence) in chunks {
                self.control.queue(to, ControlRecord { kind: ControlKind::Arrived, path, number: sequence });
                events.push(Event::Sent { path, sequence });
            }
        }
        let arrived = &mut self.arrived;
        let mut ready = Vec::new();
        self.control.poll(|record| match record.kind {
            ControlKind::Credit => events.push(Event::Credit { path: record.path, chunks: record.number }),
            ControlKind::Arrived => {
                ready.extend(arrived.due(record.path, record.number).map(|sequence| (record.path, sequence)));
            }
            // Of the back end that pulls.
            ControlKind::Exposed | ControlKind::Fetched => {}
        })?;
        if ready.is_empty() {
            return Ok(());
        }
        let window = self.window()?;
        let base = window.base;
        // SAFETY: our window. Makes what was put visible to loads.
        check(unsafe { ffi::PMPI_Win_sync(window.raw) }, "MPI_Win_sync")?;
        for (path, sequence) in ready {
            // Credits allow no more than one window of chunks, and as many receives are posted.
            let Some((_, slot, into)) = self.posted.get_mut(&path).and_then(VecDeque::pop_front) else {
                let (rank, what) = (self.comm.rank(), format!("chunk {sequence} of path {path} before its receive"));
                log::warn!("rank {rank} rejects {what}; receives are posted on {} paths", self.posted.len());
                return Err(TransportError::Unexpected { rank, what });
            };
            if matches!(into, Region::Receive { .. }) {
                // SAFETY: `execute` has checked the memory; the slot holds the chunk until its credit is given back.
                unsafe {
                    let (address, bytes) = memory.address(into, base);
                    let from = base.add(slot as usize);
                    self.meter.copy(|| std::ptr::copy_nonoverlapping(from, address, bytes));
                }
            }
            events.push(Event::Received { path, sequence });
        }
        Ok(())
    }

    fn end(&mut self) -> Result<bool, TransportError> {
        self.ending.advance(&mut self.control)
    }

    fn abandon(&mut self) {
        // Puts cannot be cancelled; they touch windows only, never the caller's receive buffer.
        self.unflushed.clear();
    }

    fn meter(&mut self) -> Option<&mut Meter> {
        Some(&mut self.meter)
    }
}

impl Drop for OneSided {
    fn drop(&mut self) {
        if let Some(window) = self.window.take() {
            window.free();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule_options::ScheduleOptions;

    #[test]
    fn the_default_options_are_within_its_capabilities() {
        let capabilities = OneSided::CAPABILITIES;
        assert_eq!(capabilities.send_completion, SendCompletion::Remote);
        assert!(capabilities.flush_blocks && capabilities.end_waits_for_all_ranks && !capabilities.delivers_in_place);
        let options = ScheduleOptions::default();
        assert_eq!(options.within(&capabilities), options);
    }
}
