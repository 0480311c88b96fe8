//! What the traces of all ranks say together: chunks, calls, ranks, waits, pairs.

use crate::ids::{PathId, Rank};
use crate::record::{EventKind, Outcome};

/// A chunk: its call, its path, its number on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkKey {
    /// The call.
    pub call: u32,
    /// The path.
    pub path: PathId,
    /// Its number on the path.
    pub sequence: u64,
}

/// A chunk at one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The rank.
    pub rank: Rank,
    /// When it arrived; `None` at the source.
    pub received: Option<u64>,
    /// When it was sent on; `None` at the destination.
    pub sent: Option<u64>,
    /// When its memory could be used again.
    pub completed: Option<u64>,
}

/// What a chunk did at each rank of its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journey {
    /// Its size in bytes.
    pub bytes: u64,
    /// What is recorded of it, in the order of its path; ranks that recorded nothing are missing.
    pub steps: Vec<Step>,
}

/// A rank's sums over calls. Times are in nanoseconds; see the head of the crate for what they mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankSummary {
    /// The rank.
    pub rank: Rank,
    /// Its calls.
    pub calls: u64,
    /// All time in calls.
    pub time: u64,
    /// Of it, waiting.
    pub waiting: u64,
    /// Of `waiting`, until a chunk arrived, as far as records exist.
    pub for_chunks: u64,
    /// Of `waiting`, until a chunk that was sent was confirmed, as far as records exist.
    pub for_confirmations: u64,
    /// Of it, copying.
    pub copying: u64,
    /// Of it, forwarding.
    pub forwarding: u64,
    /// Of it, with its own chunks.
    pub own: u64,
    /// Of it, in plain MPI.
    pub plain: u64,
    /// Chunks and bytes that it sent as their source.
    pub sent: (u64, u64),
    /// Chunks and bytes that it passed on.
    pub forwarded: (u64, u64),
    /// Chunks and bytes that ended here.
    pub delivered: (u64, u64),
    /// Records in the file.
    pub records: u64,
    /// Records that a full ring dropped.
    pub dropped: u64,
    /// Whether the rank finished its trace.
    pub complete: bool,
}

/// A call, over all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSummary {
    /// Its number.
    pub number: u32,
    /// The start of its first rank.
    pub start: u64,
    /// The end of its last rank.
    pub end: u64,
    /// What served it; failed if it failed anywhere.
    pub outcome: Outcome,
    /// What served it, and why.
    pub served_by: String,
    /// Ranks that recorded it.
    pub ranks: usize,
    /// Paths of it that are known.
    pub paths: usize,
    /// Chunks that left their sources.
    pub chunks: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Bytes that were passed on, once for each forwarder.
    pub forwarded_bytes: u64,
}

/// A time during which nothing moved at a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSummary {
    /// The rank that waited.
    pub rank: Rank,
    /// Its call.
    pub call: u32,
    /// When it began.
    pub start: u64,
    /// How long it lasted, in nanoseconds.
    pub duration: u64,
    /// What ended it; `None` for the end of the call.
    pub cause: Option<EventKind>,
    /// The rank that ended it.
    pub peer: Option<Rank>,
    /// The path of what ended it.
    pub path: PathId,
    /// The chunk's number, or the number of chunks for credits.
    pub sequence: u64,
}

/// Chunks of one message that took the same ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairPath {
    /// Source, forwarders, destination; forwarders are missing after one that left no trace.
    pub ranks: Vec<Rank>,
    /// Whether all of them are known.
    pub known: bool,
    /// Bytes, over all calls.
    pub bytes: u64,
    /// Paths of these ranks, over all calls.
    pub paths: u64,
    /// Chunks that were recorded anywhere.
    pub chunks: u64,
    /// When the first one was sent.
    pub first: Option<u64>,
    /// When the last one arrived at the destination.
    pub last: Option<u64>,
    /// The leg that took longest.
    pub slowest: Option<SlowestLeg>,
}

/// How long chunks took from one rank to the next, from being sent to having arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowestLeg {
    /// The rank that sent.
    pub from: Rank,
    /// The rank that received.
    pub to: Rank,
    /// The mean over chunks, in nanoseconds.
    pub mean: u64,
    /// The number of chunks.
    pub chunks: u64,
}

/// A stretch of one rank's time, and what it was spent on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// The rank.
    pub rank: Rank,
    /// The call.
    pub call: u32,
    /// When it began.
    pub start: u64,
    /// How long it lasted, in nanoseconds.
    pub duration: u64,
    /// Nanoseconds of it waiting.
    pub waiting: u64,
    /// Nanoseconds of it copying.
    pub copying: u64,
    /// Nanoseconds of it forwarding.
    pub forwarding: u64,
    /// Nanoseconds of it in plain MPI. The rest is for the rank's own chunks.
    pub plain: u64,
    /// What ended a wait, and which rank.
    pub cause: Option<(EventKind, Rank)>,
}
