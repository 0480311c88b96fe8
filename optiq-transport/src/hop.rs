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

/// Of a path whose chunks may leave when the receiver grants them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Its number among the granted paths that end there, from the next sender before the receiver on.
    pub place: u32,
    /// Bytes of all of those paths.
    pub received: u64,
    /// How many chunks leave without a grant: 1 or 0, see [`Granted::within`]. `None` while its window alone holds it back.
    pub unasked: Option<u64>,
}

impl Granted {
    /// With `limit` bytes granted at one time, and chunks of `chunk` bytes: so many paths begin unasked as fit the limit together, one at least.
    #[must_use]
    pub fn within(self, limit: u64, chunk: u64) -> Self {
        let fits = self.place == 0 || (u64::from(self.place) + 1).saturating_mul(chunk) <= limit;
        Self { unasked: Some(fits.into()), ..self }
    }
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
    /// Its place among the paths whose chunks receivers may grant (`grants.rs`); the same at both ends.
    pub granted: Option<Granted>,
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

    /// How many chunks leave before the first credit: a window of `window` chunks, or one or none where the receiver grants them.
    pub fn unasked(&self, window: u64) -> u64 {
        self.granted.and_then(|granted| granted.unasked).unwrap_or(window)
    }

    /// Whether its receiver grants its chunks.
    pub fn is_granted(&self) -> bool {
        self.granted.is_some_and(|granted| granted.unasked.is_some())
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
