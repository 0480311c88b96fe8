//! Whom links join each vertex to, and which vertices are joined at all.

use crate::ids::NodeId;
use crate::network::Network;

/// Per vertex: whom links join it to in either direction, ascending, each once.
pub type Adjacency = Vec<Vec<u32>>;

/// The neighbours of a network's vertices.
pub(super) fn neighbours(network: &Network) -> Adjacency {
    let of = |v: NodeId| {
        let out = network.out_links(v).map(|l| network.link(l).to.0);
        let mut all: Vec<u32> = out.chain(network.in_links(v).iter().map(|&l| network.link(l).from.0)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    (0..network.vertices() as u32).map(|v| of(NodeId(v))).collect()
}

/// Connected parts of the vertices for which `inside` holds, joined by the edges for which `kept` holds: per vertex the lowest vertex
/// of its part, itself if it is outside.
pub fn parts(neighbours: &[Vec<u32>], inside: impl Fn(usize) -> bool, kept: impl Fn(usize, usize) -> bool) -> Vec<u32> {
    let mut part: Vec<u32> = (0..neighbours.len() as u32).collect();
    let mut seen = vec![false; neighbours.len()];
    let mut next = Vec::new();
    for start in (0..neighbours.len()).filter(|&v| inside(v)) {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        next.push(start);
        while let Some(v) = next.pop() {
            part[v] = start as u32;
            for w in neighbours[v].iter().map(|&w| w as usize).filter(|&w| inside(w) && kept(v, w)) {
                if !std::mem::replace(&mut seen[w], true) {
                    next.push(w);
                }
            }
        }
    }
    part
}
