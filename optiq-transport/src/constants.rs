//! The tuned constants of this crate.

/// The largest automatic chunk.
pub const EAGER: u64 = (64 << 10) - 256;
/// The smallest automatic chunk.
pub const LEAST_CHUNK: u64 = 8 << 10;
