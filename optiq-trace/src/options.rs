//! Where a trace goes, and how much it keeps.

use crate::clock::Clock;
use crate::ids::Rank;
use std::path::PathBuf;

/// The ending of a trace file's name.
pub const EXTENSION: &str = "optiqtrace";

/// How many records a ring holds by default.
pub const DEFAULT_EVENTS: usize = 1 << 16;
/// The fewest and the most records of a ring; each takes 48 bytes.
pub const EVENTS: std::ops::RangeInclusive<usize> = 16..=1 << 24;

/// Where a trace goes, and which rank writes it.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// The directory; created if it does not exist.
    pub directory: PathBuf,
    /// How many records the ring holds; within [`EVENTS`].
    pub events: usize,
    /// The same number on all ranks of a session, and another one for each session.
    pub session: u64,
    /// This rank.
    pub rank: Rank,
    /// How many ranks there are.
    pub ranks: u32,
    /// This rank's clock.
    pub clock: Clock,
}
