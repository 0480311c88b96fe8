//! One path at one rank: where its chunks come from, where they go, and which memory is theirs.

use crate::path::Header;
use optiq_trace::ids::{PathId, Rank};

/// Where a rank puts what it receives on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// Into the receive buffer; it is the destination.
    Deliver,
    /// Into slots, from which it is sent on.
    Forward,
}

/// The receiving end of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The rank that sends.
    pub from: Rank,
    /// Tells this path from others on the same leg; counted from 0 per (sender, receiver).
    pub tag: u32,
    /// What happens to the chunks.
    pub sink: Sink,
    /// How many chunks may be in flight or unfreed.
    pub window: u64,
    /// First byte of this path's slots in the receiver's slot memory.
    pub slots: u64,
}

/// The sending end of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The rank that receives.
    pub to: Rank,
    /// As the receiver's [`Incoming::tag`].
    pub tag: u32,
    /// As the receiver's [`Incoming::window`].
    pub window: u64,
    /// As the receiver's [`Incoming::slots`]: where a one-sided transport puts.
    pub slots: u64,
    /// How many bytes may be in flight to the receiver, on all paths together; at least one chunk always may.
    pub in_flight_limit: u64,
}

/// One path's row in a rank's table: (path, previous, next) as in thesis 4.2.3, with sizes and windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The path.
    pub path: PathId,
    /// Its source rank.
    pub source: Rank,
    /// Its destination rank.
    pub destination: Rank,
    /// Its bytes.
    pub bytes: u64,
    /// Chunk size; every chunk but the last has it.
    pub chunk: u64,
    /// Where its bytes start in the source's send buffer.
    pub source_offset: u64,
    /// Where they go in the destination's receive buffer.
    pub destination_offset: u64,
    /// As [`crate::Path::starts_at`].
    pub starts_at: Option<u64>,
    /// As [`crate::Path::class`].
    pub class: u8,
    /// Where it comes from; `None` at the source.
    pub incoming: Option<Incoming>,
    /// Where it goes; `None` at the destination.
    pub outgoing: Option<Outgoing>,
}

impl Hop {
    /// Number of chunks on this path.
    pub fn chunks(&self) -> u64 {
        self.bytes.div_ceil(self.chunk)
    }

    /// Size in bytes of chunk `sequence`.
    pub fn chunk_bytes(&self, sequence: u64) -> u64 {
        self.chunk.min(self.bytes - sequence * self.chunk)
    }

    /// What chunk `sequence` says about itself.
    pub fn header(&self, sequence: u64) -> Header {
        Header {
            path: self.path,
            sequence,
            source: self.source,
            destination: self.destination,
            bytes: self.chunk_bytes(sequence),
            offset: self.destination_offset + sequence * self.chunk,
        }
    }
}

/// What a rank is in an exchange (thesis 4.2.3): any of these, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// Its own bytes leave.
    pub source: bool,
    /// Bytes arrive for it.
    pub destination: bool,
    /// It passes bytes of others on.
    pub forwarder: bool,
}

impl Roles {
    /// Neither source nor destination nor forwarder.
    pub fn idle(self) -> bool {
        self == Roles::default()
    }
}
