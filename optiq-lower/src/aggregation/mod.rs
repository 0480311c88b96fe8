//! Collective file access: which bytes of a file go to which I/O host, and in which rounds.
//!
//! [`servers`] knows the I/O hosts that have a rank, [`mod@assign`] says which bytes go to which of them, [`rounds`] cuts that into
//! rounds within a memory budget. Every rank computes the same from the offsets and sizes of all ranks.

pub mod assign;
pub mod rounds;
pub mod servers;
#[cfg(test)]
mod tests;

pub use assign::{Assignment, Extent, Share, assign};
pub use rounds::{LARGE_BYTES, MAX_HALF_BYTES, Message, Piece, Rounds};
pub use servers::{Server, Servers};
