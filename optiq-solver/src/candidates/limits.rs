//! How many candidate paths there may be.

/// The largest number of candidate paths per demand that can be asked for.
pub const MAX_K: usize = 10_000;

/// The largest number of candidate paths that are kept for all demands together.
pub const MAX_PATHS: usize = 1 << 26;
