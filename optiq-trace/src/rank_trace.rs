//! The trace of one rank, as its file has it.

use crate::ids::{PathId, Rank};
use crate::record::{Call, Record};
use std::path::PathBuf;

/// One path at one rank: where it comes from, and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The path.
    pub path: PathId,
    /// Its source.
    pub source: Rank,
    /// Its destination.
    pub destination: Rank,
    /// The rank before this one; `None` at the source.
    pub from: Option<Rank>,
    /// The rank after this one; `None` at the destination.
    pub to: Option<Rank>,
    /// Its bytes.
    pub bytes: u64,
    /// Its chunk size in bytes.
    pub chunk: u64,
}

impl Leg {
    /// Number of chunks on the path.
    pub fn chunks(&self) -> u64 {
        self.bytes.div_ceil(self.chunk)
    }

    /// Size in bytes of chunk `sequence`, which must be below [`Leg::chunks`].
    pub fn chunk_bytes(&self, sequence: u64) -> u64 {
        self.chunk.min(self.bytes - sequence * self.chunk)
    }
}

/// The paths of an exchange at one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its number in the file.
    pub number: u32,
    /// The paths, ascending.
    pub legs: Vec<Leg>,
}

/// What one rank's file contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankTrace {
    /// The file.
    pub path: PathBuf,
    /// The same on all ranks of a session.
    pub session: u64,
    /// Which rank.
    pub rank: Rank,
    /// How many there are.
    pub ranks: u32,
    /// Nanoseconds since 1970 at the trace's beginning.
    pub wall: u64,
    /// To be added to a time stamp to have rank 0's.
    pub offset: i64,
    /// How wrong `offset` may be.
    pub error: u64,
    /// Records that the ring holds.
    pub capacity: u64,
    /// The transport's name.
    pub transport: String,
    /// Paths, by the numbers that calls give.
    pub tables: Vec<Table>,
    /// Calls, ascending.
    pub calls: Vec<Call>,
    /// Records, in the order in which they were made.
    pub records: Vec<Record>,
    /// Whether the rank finished its trace.
    pub complete: bool,
}

impl RankTrace {
    /// The table of a call.
    pub fn table(&self, call: &Call) -> Option<&Table> {
        let number = call.table?;
        self.tables.iter().find(|t| t.number == number)
    }
}
