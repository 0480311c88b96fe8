//! Tracing: when each chunk was sent, received and passed on, and what this rank's time went into.
//!
//! [`Traced`] wraps a transport and sees every order that the progress loop gives and every event that it gets back, so
//! neither the loop nor the scheduler knows of it, and a session that does not trace does not pay for it. What it sees
//! goes into a ring of [`Record`]s that is allocated once. During an exchange nothing is allocated and nothing is
//! written; between two exchanges the ring goes to the rank's file when half of it is full, and all of it at the end.
//! If a ring overflows, its oldest records give way and are counted. The sums of a call ([`Call`]) do not depend on the
//! ring and stay exact.
//!
//! # Where the time goes
//!
//! The time line of a call is cut at polls and sends. Every nanosecond from the call's start to its end is in exactly
//! one of:
//!
//! ```text
//!   waiting     from the start of a poll that returned nothing to the start of the next one that returned something,
//!               whatever lies between (yields, naps, for a started exchange also what the program does itself); and
//!               inside a poll, calls that return when another rank has answered (MPI_Win_flush), measured there
//!   copying     memory copies of our own, measured where they are made (Meter, Tracer::copy)
//!   forwarding  sending chunks of others, and their part of polls: a poll that returned n events, f of them about
//!               chunks of others, is forwarding for f/n of its time, less its copies
//!   own         the rest: sending and receiving this rank's own chunks, their part of polls, scheduling
//!   plain       inside MPI_Alltoallv, for a call that plain MPI serves
//! ```
//!
//! So `waiting + copying + forwarding + own + plain = end - start`, which a test checks.
//!
//! # Time stamps
//!
//! Nanoseconds of a monotonic clock since the trace's beginning on this rank ([`Clock`]), one reading before each poll,
//! one after each poll that returned something, one before each send. A chunk is stamped as sent before the send begins and
//! as received after the poll returned, so that on one clock no chunk arrives before it leaves.

mod clock;
mod file;
mod merge;
mod recorder;
mod traced;

pub use clock::Clock;
pub use file::{Leg, RankTrace, Table, TraceError};
pub use merge::{CallSummary, ChunkKey, Journey, PairPath, RankSummary, Run, SlowestLeg, Step, Stretch, WaitSummary};
pub use recorder::{Meter, TraceOptions, Tracer};
pub use traced::Traced;

use crate::{PathId, Rank};

/// The ending of a trace file's name.
pub const EXTENSION: &str = "optiqtrace";

/// How many records a ring holds if nothing else is asked for.
pub const DEFAULT_EVENTS: usize = 1 << 16;
/// The fewest and the most records of a ring; each takes 48 bytes.
pub const EVENTS: std::ops::RangeInclusive<usize> = 16..=1 << 24;

/// What a [`Record`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// This rank was about to send a chunk to `peer`.
    Sent = 1,
    /// The memory of a chunk that was sent to `peer` may be used again.
    Completed = 2,
    /// A chunk from `peer` was there.
    Received = 3,
    /// This rank let `peer` send `sequence` chunks more.
    CreditSent = 4,
    /// `peer` let this rank send `sequence` chunks more.
    CreditReceived = 5,
    /// Nothing moved for `duration`; what ended it is in `cause`, with its path, sequence, peer and bytes.
    Waited = 6,
    /// Something moved all the time for `duration`; `sequence` nanoseconds of it forwarding, `bytes` nanoseconds copying.
    Worked = 7,
}

impl Kind {
    fn from_code(code: u8) -> Option<Kind> {
        use Kind::*;
        [Sent, Completed, Received, CreditSent, CreditReceived, Waited, Worked].into_iter().find(|k| *k as u8 == code)
    }
}

/// Something that happened, or a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, or when it began, in nanoseconds since the trace's beginning on this rank.
    pub time: u64,
    /// How long a stretch lasted, in nanoseconds; 0 for what happened at once.
    pub duration: u64,
    /// The chunk's number on its path; see [`Kind`] for other uses.
    pub sequence: u64,
    /// The chunk's size in bytes; see [`Kind`] for other uses.
    pub bytes: u64,
    /// The call that it belongs to.
    pub call: u32,
    /// The path.
    pub path: PathId,
    /// The rank on the other side; [`NOBODY`] where there is none.
    pub peer: Rank,
    /// What it is.
    pub kind: Kind,
    /// What ended a wait; `None` for the end of the call.
    pub cause: Option<Kind>,
}

/// A peer that is none.
pub const NOBODY: Rank = Rank::MAX;

/// What served a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Planned paths, to the end.
    #[default]
    Planned,
    /// Planned paths, given up after an error.
    Failed,
    /// `MPI_Alltoallv`.
    Plain,
}

/// The head of a call: what served it, and this rank's sums. Times are in nanoseconds since the trace's beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Counted from 0, alike on all ranks of a session.
    pub number: u32,
    /// Its start at this rank.
    pub start: u64,
    /// Its end at this rank.
    pub end: u64,
    /// What served it.
    pub outcome: Outcome,
    /// What served it, and why, in words.
    pub served_by: String,
    /// The number of its [`Table`]; `None` for plain MPI.
    pub table: Option<u32>,
    /// Nanoseconds waiting; see the module's head for all five.
    pub waiting: u64,
    /// Nanoseconds copying.
    pub copying: u64,
    /// Nanoseconds forwarding.
    pub forwarding: u64,
    /// Nanoseconds with its own chunks.
    pub own: u64,
    /// Nanoseconds in plain MPI.
    pub plain: u64,
    /// Chunks that it sent as their source.
    pub sent: u64,
    /// Bytes of these.
    pub sent_bytes: u64,
    /// Chunks of others that it passed on.
    pub forwarded: u64,
    /// Bytes of these.
    pub forwarded_bytes: u64,
    /// Chunks that ended here.
    pub delivered: u64,
    /// Bytes of these.
    pub delivered_bytes: u64,
    /// Records of this call that gave way in a full ring.
    pub dropped: u64,
}
