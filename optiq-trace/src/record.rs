//! What a trace records: events, stretches of time, and the sums of calls.

use crate::ids::{PathId, Rank};

/// What a [`Record`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum EventKind {
    /// This rank was about to send a chunk to `peer`.
    Sent = 1,
    /// The memory of a chunk that was sent to `peer` may be used again.
    Completed = 2,
    /// A chunk from `peer` arrived.
    Received = 3,
    /// This rank gave `peer` credits for `sequence` chunks more.
    CreditSent = 4,
    /// `peer` gave this rank credits for `sequence` chunks more.
    CreditReceived = 5,
    /// Nothing moved for `duration`; what ended it is in `cause`, with its path, sequence, peer and bytes.
    Waited = 6,
    /// Something moved all the time for `duration`; `sequence` nanoseconds of it forwarding, `bytes` nanoseconds copying.
    Worked = 7,
}

impl EventKind {
    pub(crate) fn from_code(code: u8) -> Option<EventKind> {
        use EventKind::*;
        [Sent, Completed, Received, CreditSent, CreditReceived, Waited, Worked].into_iter().find(|k| *k as u8 == code)
    }
}

/// Something that happened, or a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, or when it began, in nanoseconds since the trace's beginning on this rank.
    pub time: u64,
    /// How long a stretch lasted, in nanoseconds; 0 for an event.
    pub duration: u64,
    /// The chunk's number on its path; see [`EventKind`] for other uses.
    pub sequence: u64,
    /// The chunk's size in bytes; see [`EventKind`] for other uses.
    pub bytes: u64,
    /// The call that it belongs to.
    pub call: u32,
    /// The path.
    pub path: PathId,
    /// The rank on the other side; [`crate::ids::NO_PEER`] where there is none.
    pub peer: Rank,
    /// What it is.
    pub kind: EventKind,
    /// What ended a wait; `None` for the end of the call.
    pub cause: Option<EventKind>,
}

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
    /// The number of its [`crate::rank_trace::Table`]; `None` for plain MPI.
    pub table: Option<u32>,
    /// Nanoseconds waiting; see the head of the crate for all five.
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
    /// Records of this call that a full ring dropped.
    pub dropped: u64,
}
