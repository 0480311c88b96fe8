//! `MPI_Alltoallv` with the messages of a node's ranks combined: gathered in memory that they share, carried between nodes by some of
//! them as a [`CombiningSchedule`] says, and handed out where they arrive.
//!
//! Ranks need no agreement before a call, whatever its sizes: what a rank sends, it writes into shared memory with the sizes; what it
//! receives, it knows, and tells the other ranks of its node there as well. So a carrier knows both ends of every message whose block
//! comes straight from its own node, and nothing is sent where there is nothing; messages that carry blocks on have
//! their sizes in front. A message between two ranks of more than [`CombinedOptions::message_bytes`] is sent by itself, which both ends
//! know from its size alone.
//!
//! A byte is copied four times on its way, besides what MPI copies: into the slice of its rank, into the message, out of the message's
//! place in shared memory, where MPI receives it, into the receive buffer; and twice more at each node that only passes it on. Ranks
//! of a node wait for each other twice: until all have packed, and until what they receive has come.

mod bell;
mod layout;
mod side;
mod turn;

use super::comm::Communicator;
use super::shared::HostMemory;
use crate::backoff::Backoff;
use crate::combining::CombiningSchedule;
use crate::constants::LEAST_COMBINED_BYTES;
use crate::error::TransportError;
use bell::Bell;
use layout::Layout;
use optiq_trace::ids::Rank;
pub use side::Side;
use std::sync::atomic::{AtomicU64, Ordering::Acquire};
use turn::Turn;

/// What memory may be used for.
#[derive(Clone, Copy, Debug)]
pub struct CombinedOptions {
    /// Memory of each rank, in bytes: a node uses as much as its ranks have together.
    pub budget: u64,
    /// The largest message between two ranks that is combined with others, in bytes; less where the budget is small.
    pub message_bytes: u64,
}

/// The ranks of a communicator by node, and the memory of this rank's node. See the top of the file.
pub struct Combined {
    comm: Communicator,
    memory: HostMemory,
    schedule: CombiningSchedule,
    /// The ranks of each node.
    ranks: Vec<Vec<Rank>>,
    /// This rank's node, and its number there.
    node: u32,
    local: usize,
    /// Larger messages are sent by themselves.
    message_bytes: u64,
    layout: Layout,
    /// Calls so far.
    call: u64,
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
        let me = comm.rank();
        let place = (0..).zip(&ranks).find_map(|(node, there)| Some((node, there.iter().position(|&r| r == me)?)));
        let (node, local): (u32, usize) = place.expect("every rank is on a node");
        let sizes: Vec<usize> = ranks.iter().map(Vec::len).collect();
        let CombinedOptions { budget, message_bytes } = options;
        let Some(message_bytes) = Layout::message_bytes(&sizes, budget, message_bytes, LEAST_COMBINED_BYTES) else {
            let ranks: usize = sizes.iter().sum();
            return Ok(Err(format!(
                "{budget} bytes of each rank are too few for messages of {LEAST_COMBINED_BYTES} bytes between {ranks} ranks"
            )));
        };
        let Some(mut memory) = HostMemory::new(comm, node)? else {
            return Ok(Err("the ranks of a host do not share memory".into()));
        };
        let layout = Layout::new(&sizes, node as usize, message_bytes);
        let reserved = memory.reserve(layout.bytes());
        let mut agreed = [i64::from(reserved.is_ok())];
        comm.all_min(&mut agreed)?;
        if agreed[0] != 1 {
            let why = reserved.err().map_or("another host has none".into(), |e| e.to_string());
            return Ok(Err(format!("no {} bytes of shared memory: {why}", layout.bytes())));
        }
        if local == 0 {
            // SAFETY: the beginning of what was reserved; the others wait.
            unsafe { std::ptr::write_bytes(memory.base(), 0, layout.counters() as usize) };
        }
        // SAFETY: the communicator is valid as long as it is borrowed.
        let own = unsafe { Communicator::duplicate(comm.raw())? };
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        own.barrier()?;
        Ok(Ok(Self { comm: own, memory, schedule, ranks, node, local, message_bytes, layout, call: 0, broken: None }))
    }

    /// Has later calls follow another schedule; the same on all ranks, between the same calls.
    pub fn follow(&mut self, schedule: CombiningSchedule) {
        self.schedule = schedule;
    }

    /// What is sent between nodes.
    pub fn schedule(&self) -> &CombiningSchedule {
        &self.schedule
    }

    /// The largest message between two ranks that is combined with others, in bytes.
    pub fn message_bytes(&self) -> u64 {
        self.message_bytes
    }

    /// The memory of this rank's node, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.layout.bytes()
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
        self.call += 1;
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
        let mut turn = unsafe { Turn::begin(self, send, receive, in_place)? };
        let bell = self.bell();
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
                self.progress();
            } else {
                backoff.idle();
            }
        }
    }

    /// Lets MPI make progress with what else the program has in flight.
    fn progress(&self) {
        let mut found = 0;
        // SAFETY: out-parameters; nobody sends with this tag. An error shows in calls that matter.
        unsafe {
            let mut status = std::mem::zeroed();
            let (any, tag) = (super::ffi::RSMPI_ANY_SOURCE, turn::NO_TAG);
            super::ffi::PMPI_Iprobe(any, tag, self.comm.raw(), &mut found, &mut status);
        }
    }

    fn bell(&self) -> Bell {
        Bell::new(self.memory.base())
    }

    /// The byte at an offset.
    fn at(&self, offset: u64) -> *mut u8 {
        self.memory.base().wrapping_add(offset as usize)
    }

    fn counter(&self, offset: u64) -> &AtomicU64 {
        // SAFETY: aligned words of shared memory, which all ranks only use as atomics.
        unsafe { &*self.at(offset).cast::<AtomicU64>() }
    }

    /// The word of this number in a list.
    fn word(&self, list: u64, number: usize) -> u32 {
        // SAFETY: lists are in shared memory; they are read after the counters that say that they are complete.
        unsafe { self.at(list).cast::<u32>().add(number).read() }
    }

    fn put_word(&self, list: u64, number: usize, value: u64) {
        // SAFETY: as above; each word has one writer.
        unsafe { self.at(list).cast::<u32>().add(number).write(value as u32) };
    }

    /// The ranks of the node `distance` ahead.
    fn ahead(&self, distance: u32) -> &[Rank] {
        &self.ranks[self.schedule.ahead(self.node, distance) as usize]
    }

    /// The ranks of the node `distance` behind.
    fn behind(&self, distance: u32) -> &[Rank] {
        &self.ranks[self.schedule.behind(self.node, distance) as usize]
    }

    /// The ranks of this rank's node.
    fn here(&self) -> &[Rank] {
        &self.ranks[self.node as usize]
    }

    /// The value of a block's flag after a round.
    fn mark(&self, round: u32) -> u64 {
        // Fewer than 64 rounds: there are fewer than 2^32 nodes.
        64 * self.call + u64::from(round) + 1
    }

    /// Whether a block has come as far as a round takes it.
    fn has_come(&self, distance: u32, round: u32) -> bool {
        self.counter(self.layout.flag(distance)).load(Acquire) >= self.mark(round)
    }
}
