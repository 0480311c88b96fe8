//! The call, and the waiting in it.

use super::super::comm::Communicator;
use super::node::{CombinedOptions, Node};
use super::side::Side;
use super::turn::Turn;
use crate::backoff::Backoff;
use crate::combining::CombiningSchedule;
use crate::error::TransportError;
use optiq_trace::ids::Rank;

/// Combined messages on a communicator. See the top of the module.
pub struct Combined {
    node: Node,
    /// Why no further call can be served.
    broken: Option<TransportError>,
}

impl Combined {
    /// On a duplicate of a communicator whose ranks are on the nodes `ranks`, all of them in one list each, ascending;
    /// collective. The inner error says why it cannot be had, on all ranks alike: no memory that the ranks of a node share, or too
    /// little of it.
    ///
    /// # Errors
    /// What MPI reports.
    ///
    /// # Panics
    /// If a rank is on no node.
    pub fn new(
        comm: &Communicator,
        ranks: Vec<Vec<Rank>>,
        schedule: CombiningSchedule,
        options: CombinedOptions,
    ) -> Result<Result<Self, String>, TransportError> {
        Ok(Node::new(comm, ranks, schedule, options)?.map(|node| Self { node, broken: None }))
    }

    /// Has later calls follow another schedule; the same on all ranks, between the same calls.
    pub fn follow(&mut self, schedule: CombiningSchedule) {
        self.node.schedule = schedule;
    }

    /// What is sent between nodes.
    pub fn schedule(&self) -> &CombiningSchedule {
        &self.node.schedule
    }

    /// The largest message between two ranks that is combined with others, in bytes.
    pub fn message_bytes(&self) -> u64 {
        self.node.message_bytes
    }

    /// The memory of this rank's node, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.node.layout.bytes()
    }

    /// As `MPI_Alltoallv`; collective. With `in_place`, `send` is the same as `receive`, and is sent before it is replaced.
    ///
    /// # Errors
    /// What MPI reports, and [`TransportError::Unexpected`] at a rank to which other bytes were sent than it expects.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`.
    pub unsafe fn exchange(&mut self, send: &Side, receive: &Side, in_place: bool) -> Result<(), TransportError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        self.node.call += 1;
        // SAFETY: passed on.
        let result = unsafe { self.exchange_once(send, receive, in_place) };
        if let Err(error @ TransportError::Mpi { .. }) = &result {
            // The other ranks of the node wait for what this one does not do any more.
            self.broken = Some(error.clone());
        }
        result
    }

    /// # Safety
    /// As [`Combined::exchange`].
    unsafe fn exchange_once(&self, send: &Side, receive: &Side, in_place: bool) -> Result<(), TransportError> {
        // SAFETY: passed on; the turn ends before this function does.
        let mut turn = unsafe { Turn::begin(&self.node, send, receive, in_place)? };
        let bell = self.node.bell();
        let mut backoff = Backoff::default();
        loop {
            let rung = bell.rung();
            let moved = turn.step()?;
            if turn.is_done() {
                return turn.verdict();
            }
            if moved {
                backoff.moved();
            } else if backoff.shares_processor() && turn.waits_for_its_node() {
                bell.sleep(rung);
                self.node.progress();
            } else {
                backoff.idle();
            }
        }
    }
}
