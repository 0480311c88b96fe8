//! The numbers by which ranks and paths are known, to traces and to transports.
//!
//! They are defined here, in the lowest crate that needs them, and `optiq-transport` takes them from here: a trace of a
//! transport's work needs no conversion, and this crate needs nothing of the transport's.

use std::fmt;

/// A process, by its rank in the communicator that the transport serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

impl Rank {
    /// The position in a list with an entry for each rank.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A path, by a number that all ranks agree on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Stands for the rank on the other side where there is none.
pub const NO_PEER: Rank = Rank(u32::MAX);
