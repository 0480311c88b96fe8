//! A question for loopless shortest paths.

use optiq_net::NodeId;

/// What the paths are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Where the paths start.
    pub src: NodeId,
    /// Where they end; another vertex.
    pub dst: NodeId,
    /// [`optiq_net::Network::distances_to`] `dst`.
    pub distance: &'a [u32],
    /// The most paths.
    pub k: usize,
    /// The most links of a path.
    pub max_hops: u32,
    /// By how much each vertex rotates the order of its outgoing links for breaking ties.
    pub rotation: u32,
}
