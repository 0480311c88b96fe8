//! What a transport's middleware tells the tracer, in numbers that mean the same to both.

use crate::ids::{PathId, Rank};

/// What a poll of the transport returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkEvent {
    /// A chunk has arrived.
    Received {
        /// Its path.
        path: PathId,
        /// Its number on the path.
        sequence: u64,
    },
    /// The memory of a chunk that was sent may be used again.
    Sent {
        /// Its path.
        path: PathId,
        /// Its number on the path.
        sequence: u64,
    },
    /// The next rank gave credits.
    Credit {
        /// The path.
        path: PathId,
        /// How many chunks more may be sent.
        chunks: u64,
    },
}

impl ChunkEvent {
    /// The path that it is about.
    pub fn path(&self) -> PathId {
        match *self {
            ChunkEvent::Received { path, .. } | ChunkEvent::Sent { path, .. } | ChunkEvent::Credit { path, .. } => path,
        }
    }
}

/// A chunk that is about to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentChunk {
    /// Its path.
    pub path: PathId,
    /// Its number on the path.
    pub sequence: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The rank that it comes from originally.
    pub source: Rank,
    /// The rank that receives it next.
    pub to: Rank,
}

/// Credits that are about to be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentCredit {
    /// The path.
    pub path: PathId,
    /// The rank that may send.
    pub to: Rank,
    /// How many chunks more.
    pub chunks: u64,
}
