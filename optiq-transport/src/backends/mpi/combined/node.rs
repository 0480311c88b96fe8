//! A rank's place among the ranks of its node, and the memory that they share.

use super::super::comm::Communicator;
use super::super::ffi;
use super::super::shared::HostMemory;
use super::bell::Bell;
use super::layout::Layout;
use crate::combining::{CombiningSchedule, ahead, behind};
use crate::constants::LEAST_COMBINED_BYTES;
use crate::error::TransportError;
use optiq_trace::ids::Rank;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering::Acquire};

/// The tag of no message.
pub(super) const NO_TAG: c_int = 32_767;

/// What memory may be used for.
#[derive(Clone, Copy, Debug)]
pub struct CombinedOptions {
    /// Memory of each rank, in bytes: a node uses as much as its ranks have together.
    pub budget: u64,
    /// The largest message between two ranks that is combined with others, in bytes; less where the budget is small.
    pub message_bytes: u64,
}

/// The ranks of a communicator by node, and the memory of this rank's node.
pub(super) struct Node {
    pub(super) comm: Communicator,
    memory: HostMemory,
    /// The ranks of each node.
    ranks: Vec<Vec<Rank>>,
    /// This rank's node, and its number there.
    node: u32,
    pub(super) local: usize,
    /// Larger messages are sent by themselves.
    pub(super) message_bytes: u64,
    pub(super) layout: Layout,
}

impl Node {
    /// On a duplicate of a communicator whose ranks are on the nodes `ranks`, all of them in one list each, ascending;
    /// collective. The inner error says why it cannot be had, on all ranks alike: no memory that the ranks of a node share, or too
    /// little of it.
    ///
    /// # Errors
    /// What MPI reports.
    ///
    /// # Panics
    /// If a rank is on no node.
    pub(super) fn new(
        comm: &Communicator,
        ranks: Vec<Vec<Rank>>,
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
        Ok(Ok(Self { comm: own, memory, ranks, node, local, message_bytes, layout }))
    }

    /// Lets MPI make progress with what else the program has in flight.
    pub(super) fn progress(&self) {
        let mut found = 0;
        // SAFETY: out-parameters; no message has this tag. An error shows in calls that matter.
        unsafe {
            let mut status = std::mem::zeroed();
            let (any, tag) = (ffi::RSMPI_ANY_SOURCE, NO_TAG);
            ffi::PMPI_Iprobe(any, tag, self.comm.raw(), &mut found, &mut status);
        }
    }

    pub(super) fn bell(&self) -> Bell {
        Bell::new(self.memory.base())
    }

    /// The byte at an offset.
    pub(super) fn at(&self, offset: u64) -> *mut u8 {
        self.memory.base().wrapping_add(offset as usize)
    }

    pub(super) fn counter(&self, offset: u64) -> &AtomicU64 {
        // SAFETY: aligned words of shared memory, which all ranks only use as atomics.
        unsafe { &*self.at(offset).cast::<AtomicU64>() }
    }

    /// The word of this number in a list.
    pub(super) fn word(&self, list: u64, number: usize) -> u32 {
        // SAFETY: lists are in shared memory; they are read after the counters that say that they are complete.
        unsafe { self.at(list).cast::<u32>().add(number).read() }
    }

    pub(super) fn put_word(&self, list: u64, number: usize, value: u64) {
        // SAFETY: as above; each word has one writer.
        unsafe { self.at(list).cast::<u32>().add(number).write(value as u32) };
    }

    /// The ranks of the node `distance` ahead.
    pub(super) fn ahead(&self, distance: u32) -> &[Rank] {
        &self.ranks[ahead(self.ranks.len() as u32, self.node, distance) as usize]
    }

    /// The ranks of the node `distance` behind.
    pub(super) fn behind(&self, distance: u32) -> &[Rank] {
        &self.ranks[behind(self.ranks.len() as u32, self.node, distance) as usize]
    }

    /// The ranks of this rank's node.
    pub(super) fn here(&self) -> &[Rank] {
        &self.ranks[self.node as usize]
    }

    /// The count of packed ranks from which on all of the node have packed for a call.
    pub(super) fn all_packed(&self, call: u64) -> u64 {
        call * self.here().len() as u64
    }

    /// Whether all ranks of the node have packed for a call.
    pub(super) fn have_packed(&self, call: u64) -> bool {
        self.counter(Layout::PACKED).load(Acquire) >= self.all_packed(call)
    }

    /// Whether this rank carries no messages.
    pub(super) fn is_no_carrier(&self, schedule: &CombiningSchedule) -> bool {
        let here = self.here().len();
        (0..schedule.messages.len()).all(|number| schedule.carrier(number, here) != self.local)
    }

    /// Whether a block has come as far as a round of a call takes it.
    pub(super) fn has_come(&self, call: u64, distance: u32, round: u32) -> bool {
        self.counter(self.layout.flag(distance)).load(Acquire) >= mark(call, round)
    }
}

/// The value of a block's flag after a round of a call.
pub(super) fn mark(call: u64, round: u32) -> u64 {
    // Fewer than 64 rounds: there are fewer than 2^32 nodes.
    64 * call + u64::from(round) + 1
}
