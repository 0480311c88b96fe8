//! What the scheduler and a transport say to each other: orders in one direction, events in the other.

use crate::path::Header;
use optiq_trace::ids::{PathId, Rank};

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

/// Order to the transport: be ready to receive this chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Post {
    /// The rank that will send it.
    pub from: Rank,
    /// See `Incoming::tag` of the schedule.
    pub tag: u32,
    /// What will arrive.
    pub header: Header,
    /// Where it goes: the receive buffer, or a slot.
    pub into: Region,
    /// Its place in the slot memory, for transports that cannot receive into `into` directly.
    pub slot: u64,
}

/// Order to the transport: send this chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The rank that receives it.
    pub to: Rank,
    /// See `Outgoing::tag` of the schedule.
    pub tag: u32,
    /// What it is.
    pub header: Header,
    /// Where its bytes are: the send buffer, or a slot.
    pub data: Region,
    /// The slot that the receiver keeps for it, as an offset into the receiver's slot memory.
    pub remote_slot: u64,
}

/// Order to the transport, and what the other side is told: `chunks` more may be sent on `path`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// The rank that may send.
    pub to: Rank,
    /// The path.
    pub path: PathId,
    /// How many chunks more.
    pub chunks: u64,
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
