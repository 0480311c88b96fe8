//! Rows of next hops for shortest-path routing on any graph ([`crate::routes`] computes and follows them).
//!
//! From every vertex the next hop is the link with the smallest index among those that lead one hop closer to the
//! destination: a per-destination forwarding table. Rows of that table are computed when they are first needed and
//! kept, as long as all of them together would stay within [`MAX_ENTRIES`].

use std::sync::{Arc, OnceLock};

/// The most next hops that are kept: 64 MiB of them.
const MAX_ENTRIES: usize = 1 << 24;

/// No next hop: the destination itself, or a vertex from which it cannot be reached.
pub(crate) const NONE: u32 = u32::MAX;

/// The rows of the forwarding table that were computed so far; clones share them.
#[derive(Clone, Debug)]
pub(crate) struct ShortestRows {
    /// One row for each destination; none at all in a network that is too large.
    pub(crate) rows: Arc<[OnceLock<Box<[u32]>>]>,
}

impl ShortestRows {
    pub fn new(vertices: usize) -> Self {
        ShortestRows { rows: kept_rows(vertices) }
    }
}

/// An empty row for each destination, or none at all in a network that is too large.
pub(crate) fn kept_rows(vertices: usize) -> Arc<[OnceLock<Box<[u32]>>]> {
    let kept = if vertices.saturating_mul(vertices) <= MAX_ENTRIES { vertices } else { 0 };
    (0..kept).map(|_| OnceLock::new()).collect()
}
