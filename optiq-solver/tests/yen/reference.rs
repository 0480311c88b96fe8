//! Yen's algorithm as the solver had it first: every cell is searched when it is made, and kept with its path. The
//! oracle for `optiq_solver::candidates::yen`, which searches a cell only when its turn comes and must give the same
//! paths in the same order; also a subject of `benches/candidates.rs`, so that the difference can be measured.
//!
//! A cell's shortest path is found by depth-first search with iterative deepening, pruned by the exact distance to the
//! destination and by larger bounds that the search itself proves.

use optiq_net::{LinkId, Network, NodeId};
use optiq_solver::candidates::yen::Query;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The distance of an unreachable vertex.
const FAR: u32 = u32::MAX;

/// The search's working space for one network, to be used for one pair after another.
pub struct Eager<'n> {
    net: &'n Network,
    search: Search<'n>,
}

/// A cell of the partition, by its representative.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cell {
    hops: usize,
    /// How many cells were found before.
    found: usize,
    links: Vec<LinkId>,
    /// Length of the cell's prefix.
    prefix: usize,
    /// Which list of banned links the cell has.
    banned: usize,
}

impl<'n> Eager<'n> {
    /// Working space of a few words for each vertex of `net`.
    pub fn new(net: &'n Network) -> Self {
        Eager { net, search: Search::new(net) }
    }

    /// The shortest paths in the order described at the module, those that `accept` refuses left out. To keep a
    /// refusing `accept` from searching an exponential number of paths, at most `16 k + 256` paths are offered to it.
    pub fn paths(&mut self, query: Query, mut accept: impl FnMut(&[LinkId]) -> bool) -> Vec<Vec<LinkId>> {
        let most_offers = query.k.saturating_mul(16).saturating_add(256);
        let mut paths = Vec::new();
        let mut banned: Vec<Vec<LinkId>> = vec![Vec::new()];
        let mut cells = BinaryHeap::new();
        let mut found = 0;
        let mut add = |cells: &mut BinaryHeap<_>, prefix: &[LinkId], list: usize, banned: &[LinkId]| {
            let Some(links) = self.representative(&query, prefix, banned) else { return };
            cells.push(Reverse(Cell { hops: links.len(), found, links, prefix: prefix.len(), banned: list }));
            found += 1;
        };
        add(&mut cells, &[], 0, &[]);
        for _ in 0..most_offers {
            if paths.len() == query.k {
                break;
            }
            let Some(Reverse(cell)) = cells.pop() else { break };
            let links = cell.links;
            banned[cell.banned].push(links[cell.prefix]);
            add(&mut cells, &links[..cell.prefix], cell.banned, &banned[cell.banned]);
            for prefix in cell.prefix + 1..links.len() {
                banned.push(vec![links[prefix]]);
                add(&mut cells, &links[..prefix], banned.len() - 1, &banned[banned.len() - 1]);
            }
            if accept(&links) {
                paths.push(links);
            }
        }
        paths
    }

    /// The representative of the cell (`prefix`, `banned`), if it has one within `max_hops`.
    fn representative(&mut self, query: &Query, prefix: &[LinkId], banned: &[LinkId]) -> Option<Vec<LinkId>> {
        let start = prefix.last().map_or(query.src, |&l| self.net.link(l).to);
        let max_hops = query.max_hops.checked_sub(prefix.len() as u32)?;
        self.search.begin();
        for &l in prefix {
            self.search.close(self.net.link(l).from);
        }
        let mut links = prefix.to_vec();
        self.search.shortest(&Query { src: start, max_hops, ..*query }, banned, &mut links).then_some(links)
    }
}

/// Shortest paths that avoid closed vertices; see the module for the method.
struct Search<'n> {
    net: &'n Network,
    /// The number of the current search: `closed` and `bound` entries of earlier ones do not count.
    epoch: u32,
    closed: Vec<u32>,
    /// Proved lower bounds on the distance to the destination, with the epoch they belong to.
    bound: Vec<(u32, u32)>,
    stack: Vec<Frame>,
}

/// A vertex on the way of the depth-first search.
struct Frame {
    node: NodeId,
    /// How many of its links, in rotated order, were looked at.
    tried: u32,
    /// The smallest bound that its neighbours gave so far.
    nearest: u32,
}

impl<'n> Search<'n> {
    fn new(net: &'n Network) -> Self {
        let n = net.vertices();
        Search { net, epoch: 0, closed: vec![0; n], bound: vec![(0, 0); n], stack: Vec::new() }
    }

    /// Starts a new search with nothing closed.
    fn begin(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.closed.fill(0);
            self.bound.fill((0, 0));
            self.epoch = 1;
        }
    }

    /// Keeps paths from passing through `node`.
    fn close(&mut self, node: NodeId) {
        self.closed[node.index()] = self.epoch;
    }

    /// Appends to `links` the shortest path from `query.src` to `query.dst` that does not begin with a `banned` link,
    /// passes no closed vertex and has at most `query.max_hops` links; the first in rotated lexicographic order.
    /// `false`, and `links` as it was, if there is none.
    fn shortest(&mut self, query: &Query, banned: &[LinkId], links: &mut Vec<LinkId>) -> bool {
        self.close(query.src);
        // No loopless path is longer, so a bound beyond it means that there is no path.
        let limit = query.max_hops.min(self.net.vertices() as u32);
        let mut budget = query.distance[query.src.index()];
        while budget <= limit {
            match self.descend(query, banned, budget, links) {
                None => return true,
                // What was proved exceeds the budget; the maximum only says so to the reader.
                Some(proved) => budget = proved.max(budget + 1),
            }
        }
        false
    }

    /// One depth-first search for a path of at most `budget` links. On success the path is appended to `links`;
    /// otherwise returns a proved lower bound on its length, greater than `budget`.
    fn descend(&mut self, query: &Query, banned: &[LinkId], budget: u32, links: &mut Vec<LinkId>) -> Option<u32> {
        self.stack.clear();
        self.stack.push(Frame { node: query.src, tried: 0, nearest: FAR });
        while let Some(frame) = self.stack.last_mut() {
            let range = self.net.out_range(frame.node);
            let degree = range.end - range.start;
            if frame.tried == degree {
                let (node, bound) = (frame.node, frame.nearest.saturating_add(1));
                self.stack.pop();
                let Some(parent) = self.stack.last_mut() else { return Some(bound) };
                parent.nearest = parent.nearest.min(bound);
                self.bound[node.index()] = (self.epoch, bound);
                links.pop();
                continue;
            }
            let link = LinkId(range.start + (frame.tried + query.rotation % degree) % degree);
            let to = self.net.link(link).to;
            frame.tried += 1;
            let depth = self.stack.len() as u32;
            if self.closed[to.index()] == self.epoch || (depth == 1 && banned.contains(&link)) {
                continue;
            }
            if to == query.dst {
                links.push(link);
                return None;
            }
            let bound = match self.bound[to.index()] {
                (epoch, bound) if epoch == self.epoch => bound,
                _ => query.distance[to.index()],
            };
            if bound <= budget - depth {
                links.push(link);
                self.stack.push(Frame { node: to, tried: 0, nearest: FAR });
            } else if let Some(frame) = self.stack.last_mut() {
                frame.nearest = frame.nearest.min(bound);
            }
        }
        Some(FAR)
    }
}
