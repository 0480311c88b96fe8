//! Shortest-path routes on any graph: one breadth-first tree towards every destination.

use crate::ids::{LinkId, NodeId};
use crate::network::Network;
use crate::routing::shortest::{NONE, ShortestRows};
use std::collections::VecDeque;

impl ShortestRows {
    /// Appends the route from `src` to `dst`; `None` if there is none.
    pub fn route(&self, network: &Network, src: NodeId, dst: NodeId, route: &mut Vec<LinkId>) -> Option<()> {
        let computed;
        let row = match self.rows.get(dst.index()) {
            Some(row) => row.get_or_init(|| next_hops_to(network, dst)),
            None => {
                computed = next_hops_to(network, dst);
                &computed
            }
        };
        follow(network, row, src, dst, route)
    }
}

/// Follows the next hops `row` towards `dst` from `src`; stops at a vertex without one.
pub(super) fn follow(network: &Network, row: &[u32], src: NodeId, dst: NodeId, route: &mut Vec<LinkId>) -> Option<()> {
    let mut at = src;
    while at != dst {
        let link = row[at.index()];
        if link == NONE {
            return None;
        }
        route.push(LinkId(link));
        at = network.link(LinkId(link)).to;
    }
    Some(())
}

/// The next hop of every vertex towards `dst`: the link of the smallest index that leads closer.
fn next_hops_to(network: &Network, dst: NodeId) -> Box<[u32]> {
    let mut row = vec![NONE; network.vertices()].into_boxed_slice();
    search(network, dst, |from, link| row[from.index()] = row[from.index()].min(link.0));
    row
}

/// The hops of every vertex to `dst` on paths on which only switches forward, or hosts where there are no switches;
/// `u32::MAX` where there is no such path.
pub(super) fn hops_to(network: &Network, dst: NodeId) -> Vec<u32> {
    search(network, dst, |_, _| {})
}

/// Breadth-first search against the links from `dst`; `closer` is told every link that leads closer, and from where.
fn search(network: &Network, dst: NodeId, mut closer: impl FnMut(NodeId, LinkId)) -> Vec<u32> {
    let mut hops = vec![u32::MAX; network.vertices()];
    let mut queue = VecDeque::from([dst]);
    hops[dst.index()] = 0;
    let hosts_forward = network.hosts() == network.vertices();
    while let Some(v) = queue.pop_front() {
        if v != dst && network.is_host(v) && !hosts_forward {
            continue;
        }
        for &link in network.in_links(v) {
            let from = network.link(link).from;
            if hops[from.index()] == u32::MAX {
                hops[from.index()] = hops[v.index()] + 1;
                queue.push_back(from);
            }
            // The vertices of one level come from the queue in no order of their links.
            if hops[from.index()] == hops[v.index()] + 1 {
                closer(from, link);
            }
        }
    }
    hops
}
