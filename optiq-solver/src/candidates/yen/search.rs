//! Shortest paths that avoid closed vertices: depth-first search with iterative deepening, pruned by exact distances.
//!
//! R. E. Korf, "Depth-first iterative-deepening: an optimal admissible tree search", Artificial Intelligence 27 (1985);
//! A. Reinefeld and T. A. Marsland, "Enhanced iterative-deepening search", IEEE Transactions on Pattern Analysis and
//! Machine Intelligence 16 (1994), for what is remembered of vertices that were given up.
//!
//! The distance `d(v)` to the destination in the whole network is a lower bound of the distance `d'(v)` in what the
//! closed vertices leave of it. A search with the budget `B` goes from a vertex at depth `i` only to neighbours `u`
//! with `i + 1 + b(u) <= B`, where `b(u)` is the best bound known. Giving up at `v` proves
//! `d'(v) >= 1 + min b(u)` over its open neighbours, which exceeds what was left of the budget; it is remembered.
//! Already when `v` is entered at depth `i`, `d'(v) >= B - i` is known, as `B` is a bound itself: so no vertex is entered
//! again at a greater depth, or at the same one once it was given up, and the search does not run in circles. Closing
//! more vertices only lengthens `d'`, so bounds stay valid while the set of closed vertices grows.
//!
//! No bound exceeds a true distance. So the first path within a budget that is itself a bound is a shortest one, and
//! the order of the search makes it the first of those in lexicographic order. It is loopless, because a path with a
//! loop would be longer than the one without.

use crate::candidates::yen::query::Query;
use optiq_net::{LinkId, Network, NodeId};

/// No distance, and the bound of closed vertices.
pub(super) const FAR: u32 = u32::MAX;

/// Working space for one network.
pub(crate) struct Search<'n> {
    net: &'n Network,
    /// Per link: where it leads; the only part of a link that the search reads, in a sixth of the memory.
    to: Vec<u32>,
    /// The number of the current search: entries of `bound` and `banned` with another one do not count.
    epoch: u32,
    /// Per vertex: a proved lower bound on its distance to the destination, with the epoch it belongs to.
    bound: Vec<(u32, u32)>,
    /// Per link: the epoch in which it must not be the first of a path.
    banned: Vec<u32>,
    stack: Vec<Frame>,
    /// A degree, and the rotation modulo that degree: most vertices have the degree of the one before.
    turn: (u32, u32),
}

/// A vertex on the way of the depth-first search.
struct Frame {
    node: u32,
    /// The next link to look at, how many are left, and the end of the vertex's range of links.
    next: u32,
    left: u32,
    end: u32,
    /// The smallest bound that its neighbours gave so far.
    nearest: u32,
}

impl<'n> Search<'n> {
    pub(crate) fn new(net: &'n Network) -> Self {
        let to: Vec<u32> = net.links().iter().map(|l| l.to.0).collect();
        let (bound, banned) = (vec![(0, 0); net.vertices()], vec![0; to.len()]);
        Search { net, to, epoch: 0, bound, banned, stack: Vec::new(), turn: (1, 0) }
    }

    /// Starts a new search with nothing closed, nothing banned and no bounds but the distances.
    pub(crate) fn begin(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.bound.fill((0, 0));
            self.banned.fill(0);
            self.epoch = 1;
        }
    }

    /// Keeps paths from passing through `node`.
    pub(crate) fn close(&mut self, node: NodeId) {
        self.bound[node.index()] = (self.epoch, FAR);
    }

    /// Keeps paths from beginning with `link`.
    pub(super) fn ban(&mut self, link: LinkId) {
        self.banned[link.index()] = self.epoch;
    }

    /// Where a link leads.
    pub(super) fn to(&self, link: LinkId) -> NodeId {
        NodeId(self.to[link.index()])
    }

    /// Appends to `links` the shortest path from `query.src` to `query.dst` that does not begin with a `banned` link,
    /// passes no closed vertex and has at most `query.max_hops` links; the first in rotated lexicographic order.
    /// `false`, and `links` as it was, if there is none.
    pub(crate) fn shortest(&mut self, query: &Query, banned: &[LinkId], links: &mut Vec<LinkId>) -> bool {
        self.close(query.src);
        for &link in banned {
            self.ban(link);
        }
        // No loopless path is longer, so a bound beyond it means that there is no path.
        let limit = query.max_hops.min(self.net.vertices() as u32);
        let mut budget = query.distance[query.src.index()];
        while budget <= limit {
            match self.descend(query, query.src, budget, links) {
                None => return true,
                Some(proved) => budget = proved,
            }
        }
        false
    }

    /// One depth-first search for a path of at most `budget` links from `start`, a closed vertex, to `query.dst`,
    /// where no path is shorter than `budget`. On success the path is appended to `links`; otherwise returns a proved
    /// lower bound on its length, greater than `budget`.
    pub(super) fn descend(
        &mut self,
        query: &Query,
        start: NodeId,
        budget: u32,
        links: &mut Vec<LinkId>,
    ) -> Option<u32> {
        // The turn of an earlier query may be for another rotation.
        self.turn = (1, 0);
        self.stack.clear();
        self.enter(start.0, query.rotation);
        let base = links.len();
        'deeper: while let Some(frame) = self.stack.last_mut() {
            let depth = (links.len() - base) as u32 + 1;
            // A vertex is entered only if what is left of the budget suffices for one link at least.
            let room = budget - depth;
            while frame.left > 0 {
                let link = frame.next;
                frame.left -= 1;
                frame.next =
                    if link + 1 == frame.end { self.net.out_range(NodeId(frame.node)).start } else { link + 1 };
                let to = self.to[link as usize];
                let bound = match self.bound[to as usize] {
                    (epoch, bound) if epoch == self.epoch => bound,
                    _ => query.distance[to as usize],
                };
                if depth == 1 && self.banned[link as usize] == self.epoch {
                    continue;
                }
                if bound <= room {
                    links.push(LinkId(link));
                    if bound == 0 {
                        return None;
                    }
                    // Every path through `to` has `depth` links at least before it and `budget` in all.
                    self.bound[to as usize] = (self.epoch, room);
                    self.enter(to, query.rotation);
                    continue 'deeper;
                }
                frame.nearest = frame.nearest.min(bound);
            }
            let (node, bound) = (frame.node, frame.nearest.saturating_add(1));
            self.stack.pop();
            let Some(parent) = self.stack.last_mut() else {
                // What was proved exceeds the budget; the maximum only says so to the reader.
                return Some(bound.max(budget + 1));
            };
            parent.nearest = parent.nearest.min(bound);
            self.bound[node as usize] = (self.epoch, bound);
            links.pop();
        }
        Some(FAR)
    }

    /// Puts a vertex on the stack, its first link chosen by `rotation`.
    fn enter(&mut self, node: u32, rotation: u32) {
        let range = self.net.out_range(NodeId(node));
        let degree = range.end - range.start;
        if degree != self.turn.0 && degree > 0 {
            self.turn = (degree, rotation % degree);
        }
        let next = range.start + if degree > 0 { self.turn.1 } else { 0 };
        self.stack.push(Frame { node, next, left: degree, end: range.end, nearest: FAR });
    }
}
