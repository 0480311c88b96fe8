//! What is to be moved, in terms of ranks and bytes.

use optiq_trace::ids::{PathId, Rank};

/// A share of one (source, destination) message and the chain of ranks that carries it.
///
/// Each pair of consecutive ranks is one leg, which the fabric carries by its own route; the ranks between the
/// first and the last forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Number of the path; unique, and the same on every rank.
    pub id: PathId,
    /// Source, forwarders, destination: at least two ranks, no rank twice.
    pub ranks: Vec<Rank>,
    /// Bytes that travel on this path; above zero.
    pub bytes: u64,
    /// Where these bytes start in the source's send buffer, in bytes.
    pub source_offset: u64,
    /// Where they end up in the destination's receive buffer, in bytes.
    pub destination_offset: u64,
    /// When its first byte leaves in the exchange's timetable (`timetable.rs`), in bytes that a port has carried by then;
    /// `None` for a path that goes as soon as it can. Only direct paths have a place in a timetable.
    pub starts_at: Option<u64>,
    /// The priority class of its bytes; higher ones are more urgent, and go first at every rank (thesis 7.2.3).
    pub class: u8,
}

impl Path {
    /// The rank whose bytes these are.
    pub fn source(&self) -> Rank {
        self.ranks[0]
    }

    /// The rank that wants them.
    pub fn destination(&self) -> Rank {
        self.ranks[self.ranks.len() - 1]
    }

    /// How many legs it has.
    pub fn legs(&self) -> u64 {
        (self.ranks.len() as u64).saturating_sub(1)
    }
}

/// What a chunk says about itself (thesis 4.2.3): message id, source, destination, size, original offset, path.
///
/// Transports that deliver in order and know the path of what arrives rebuild it instead of sending it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The path that it travels on.
    pub path: PathId,
    /// Its number on that path, counted from 0; path and sequence together are the message's id.
    pub sequence: u64,
    /// The rank that it comes from originally.
    pub source: Rank,
    /// The rank that it is for.
    pub destination: Rank,
    /// Its size in bytes.
    pub bytes: u64,
    /// Where it belongs in the destination's receive buffer, in bytes.
    pub offset: u64,
}
