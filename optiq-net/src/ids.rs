//! Numbers of vertices and links, and what a link is.

use serde::{Deserialize, Serialize};

/// A vertex of the network: a host if its index is below [`crate::network::Network::hosts`], a switch otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// A directed link, an index into [`crate::network::Network::links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkId(pub u32);

impl NodeId {
    /// The vertex's position in arrays that are indexed by vertex.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// The link's position in arrays that are indexed by link.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A directed link, or a bundle of parallel ones between the same two vertices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The vertex that sends.
    pub from: NodeId,
    /// The vertex that receives.
    pub to: NodeId,
    /// How many physical links the bundle holds; at least 1.
    pub lanes: u32,
    /// Bytes per second of all lanes together; finite and above zero.
    pub capacity: f64,
}
