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
    /// Calls since [`Combined::take_partners`], and the partners of this rank's node in them.
    counted: u64,
    partners: u64,
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
        Ok(Node::new(comm, ranks, schedule, options)?.map(|node| Self { node, counted: 0, partners: 0, broken: None }))
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

    /// How many other nodes this rank's node had bytes for, or got bytes from, whichever is more: the mean of the calls since this was asked
    /// last, rounded; none without a call. Known at one rank of the node; 0 at the others.
    pub fn take_partners(&mut self) -> Option<u32> {
        let (calls, partners) = (std::mem::take(&mut self.counted), std::mem::take(&mut self.partners));
        (calls > 0).then(|| ((partners + calls / 2) / calls) as u32)
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
        self.counted += 1;
        self.partners += u64::from(result?);
        Ok(())
    }

    /// The partners of the node, as [`Combined::take_partners`] knows them.
    ///
    /// # Safety
    /// As [`Combined::exchange`].
    unsafe fn exchange_once(&self, send: &Side, receive: &Side, in_place: bool) -> Result<u32, TransportError> {
        // A rank that had nothing to wait for has left the last call before others of the node packed for it. They use the other half of the
        // memory, and counts of packed ranks are those of one call.
        self.poll(|| Ok((self.node.have_packed(self.node.call - 1), false, true)))?;
        // SAFETY: passed on; the turn ends before this function does.
        let mut turn = unsafe { Turn::begin(&self.node, send, receive, in_place)? };
        self.poll(|| {
            let moved = turn.step()?;
            Ok((turn.is_done(), moved, turn.waits_for_its_node()))
        })?;
        turn.verdict()
    }

    /// Repeats a step until it is done; it says whether it is, whether something moved, and whether it waits for ranks of its node only.
    fn poll(&self, mut step: impl FnMut() -> Result<(bool, bool, bool), TransportError>) -> Result<(), TransportError> {
        let bell = self.node.bell();
        let mut backoff = Backoff::default();
        loop {
            let rung = bell.rung();
            let (is_done, moved, waits_for_its_node) = step()?;
            if is_done {
                return Ok(());
            }
            if moved {
                backoff.moved();
            } else if backoff.shares_processor() && waits_for_its_node {
                bell.sleep(rung);
                self.node.progress();
            } else {
                backoff.idle();
            }
        }
    }
}
