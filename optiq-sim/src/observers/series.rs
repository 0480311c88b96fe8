//! The series that a simulation has recorded: what links carried and what waited in queues, over time.

use crate::time::Time;
use optiq_net::{LinkId, NodeId};

/// What is recorded over time; see [`crate::RunOptions::series`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    /// Nothing, which costs nothing.
    #[default]
    Nothing,
    /// What links carry, and what waits at their ends.
    Links,
    /// Also what waits in each queue: [`Series::queues`].
    Queues,
}

/// Over time; see [`crate::RunOptions::series`].
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The width of an interval.
    pub interval: Time,
    /// Per interval, per link: bytes that were put on it, headers included; packets count where they begin.
    pub bytes: Vec<Vec<u64>>,
    /// Per interval, per link: bytes that waited in the buffers at its end, on average over the interval.
    pub waiting_bytes: Vec<Vec<u64>>,
    /// Per link: the most bytes that ever waited there at one time, in the buffers of all its lanes and virtual channels.
    pub waiting_most: Vec<u64>,
    /// If they were wanted, the queues in which something ever waited: by kind, then in the order of the network.
    pub queues: Option<Vec<QueueSeries>>,
    /// What belongs to each job; empty if there is only one.
    pub jobs: Vec<JobSeries>,
}

/// One job over time, in the intervals of its [`Series`].
#[derive(Clone, Debug, PartialEq)]
pub struct JobSeries {
    /// Per interval: bytes of messages that arrived, packet by packet, as in [`crate::JobOutcome::payload_bytes`].
    pub delivered_bytes: Vec<u64>,
    /// Per interval, per link: its part of [`Series::bytes`].
    pub bytes: Vec<Vec<u64>>,
}

/// Where packets and messages wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueKind {
    /// The input buffer of a virtual channel, at the end of a link's lane.
    Input,
    /// The buffer between a host's memory and its router, where hosts are joined directly.
    Injection,
    /// A host's memory: messages that may leave and wait for others. Messages that wait for a grant are not among them.
    Memory,
}

/// One queue over time.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSeries {
    /// What it is.
    pub kind: QueueKind,
    /// Where the link begins, or the host.
    pub from: NodeId,
    /// The link that it is at the end of, or the one by which what waits at a host leaves: the queue's own, where routers
    /// choose. None where a host that is joined directly has no queues of links.
    pub link: Option<LinkId>,
    /// The link's lane; 0 for a host's queue where hosts are joined directly.
    pub lane: u32,
    /// Its number among those of the same lane, or of the same host.
    pub virtual_channel: u32,
    /// Per interval: bytes that waited, on average over it. Packets count with their headers, messages in a host's memory
    /// without.
    pub waiting_bytes: Vec<u64>,
    /// Per interval: the most bytes that waited at one time, if only for a moment.
    pub waiting_most: Vec<u64>,
}

impl QueueSeries {
    /// The most bytes that ever waited at one time.
    pub fn most(&self) -> u64 {
        self.waiting_most.iter().copied().max().unwrap_or(0)
    }
}
