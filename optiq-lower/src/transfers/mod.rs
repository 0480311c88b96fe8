//! Transfers: bytes from one rank to another, and the paths that they take (thesis Tables IV and V).
//!
//! ```text
//!   file ──► TransferList ──► checked against network and ranks ──► Assignment ──► Plan ──► as any other exchange
//! ```
//!
//! Paths are found beforehand, where it matters that a program spends no time on them: they are lists of the network's
//! vertices, each with its share of the transfer's bytes, or without shares, as candidates for a planner. Sizes may change
//! between executions; the shares keep their proportions: path `i` of `n`, with share `s_i` of `S = s_1 + .. + s_n`, gets the
//! bytes between `floor(B (s_1 + .. + s_{i-1}) / S)` and `floor(B (s_1 + .. + s_i) / S)` of the transfer's `B`, so that nothing is
//! lost to rounding.
//!
//! A pair of ranks has at most one transfer.

mod file;
mod list;
mod planning;

pub use list::{Transfer, TransferList, TransferPath};
