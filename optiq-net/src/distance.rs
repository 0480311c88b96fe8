//! Distances in hops: closed forms on grids, breadth-first search elsewhere.

use crate::geometry::Geometry;
use crate::ids::NodeId;
use crate::network::Network;
use std::collections::VecDeque;

impl Network {
    /// The vertices that a link from `node` leads to, ascending.
    pub fn neighbours(&self, node: NodeId) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        self.out_links(node).map(|l| self.link(l).to)
    }

    /// Number of links on a shortest path from `a` to `b`, through whatever vertices; `u32::MAX` if there is none.
    pub fn distance(&self, a: NodeId, b: NodeId) -> u32 {
        match &self.geometry {
            Geometry::Grid(grid) => grid.distance(a, b),
            Geometry::General => {
                let closed = self.switched.as_ref().and_then(|shape| shape.distance(a, b));
                closed.unwrap_or_else(|| self.search(b, Some(a))[a.index()])
            }
        }
    }

    /// The distance of every vertex to `dst`; `u32::MAX` where `dst` cannot be reached.
    pub fn distances_to(&self, dst: NodeId) -> Vec<u32> {
        match &self.geometry {
            Geometry::Grid(grid) => grid.distances_to(dst),
            Geometry::General => self.search(dst, None),
        }
    }

    /// The largest distance between two hosts, of those pairs that are connected.
    ///
    /// Closed form on grids; elsewhere one breadth-first search for each host, or for each switch with single-ported hosts.
    pub fn diameter(&self) -> u32 {
        match &self.geometry {
            Geometry::Grid(grid) => grid.diameter(),
            Geometry::General => {
                let farthest = |dst: u32| {
                    let distances = self.search(NodeId(dst), None);
                    distances[..self.hosts].iter().copied().filter(|&d| d != u32::MAX).max()
                };
                // Hosts that hang on the same vertex by one link are equally far from everything: one of them will do.
                let mut seen = vec![false; self.vertices()];
                let mut first = |dst: &u32| {
                    self.attachment(NodeId(*dst)).is_none_or(|at| !std::mem::replace(&mut seen[at.index()], true))
                };
                (0..self.hosts as u32).filter(|dst| first(dst)).filter_map(farthest).max().unwrap_or(0)
            }
        }
    }

    /// The neighbour of a vertex that has one link out and one in, both with the same neighbour.
    fn attachment(&self, node: NodeId) -> Option<NodeId> {
        let to = self.neighbours(node).next()?;
        let single = self.out_range(node).len() == 1;
        match self.in_links(node) {
            &[back] if single && self.link(back).from == to => Some(to),
            _ => None,
        }
    }

    /// Breadth-first search against the links from `dst`, ended early when `until` is found.
    fn search(&self, dst: NodeId, until: Option<NodeId>) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.vertices()];
        distance[dst.index()] = 0;
        let mut queue = VecDeque::from([dst]);
        while let Some(v) = queue.pop_front() {
            if Some(v) == until {
                break;
            }
            for &link in self.in_links(v) {
                let from = self.link(link).from;
                if distance[from.index()] == u32::MAX {
                    distance[from.index()] = distance[v.index()] + 1;
                    queue.push_back(from);
                }
            }
        }
        distance
    }
}
