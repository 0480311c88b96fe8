//! What prices of links prove about every routing, and which paths they ask for.
//!
//! Let links cost `y_l / c_l` per byte, with `y >= 0` and `sum_l y_l = 1`. A routing with congestion `t` pays
//! `sum_l y_l load_l / c_l <= t`, and pays for every demand at least `b_j` times the cheapest path there is. So
//!
//! ```text
//! t >= sum_j b_j dist_y(src_j, dst_j)
//! ```
//!
//! over *all* paths: the dual of maximum concurrent flow (Shahrokhi and Matula 1990), strong at the optimal `y`. One
//! sweep of
//! Dijkstra's algorithm for each distinct source (or destination, whichever are fewer) gives all distances. A
//! demand's cheapest path that costs less than the cheapest of its candidates is what a linear program over the
//! candidates lacks: column generation by pricing (Ford and Fulkerson 1958).
//!
//! Most links cost nothing. Among equally cheap paths the one with the fewest links is taken, then the one found
//! first in the order of vertices and links.

use crate::demands::Demand;
use optiq_net::{LinkId, Network, NodeId};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What a byte costs from the root, and the links it passes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost(f64, u32);

impl Cost {
    const NONE: Cost = Cost(f64::INFINITY, u32::MAX);

    fn cmp(self, other: Cost) -> Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// An entry of the queue; the greatest is the cheapest, and among equals the lowest vertex.
#[derive(PartialEq)]
struct Entry(Cost, u32);

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(std::cmp::Ord::cmp(self, other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.cmp(self.0).then(other.1.cmp(&self.1))
    }
}

/// Calls `found` for every demand with bytes (in the order of roots, then of demands) with the cost per byte of its
/// cheapest path and that path, given what each link costs (not negative). A demand without any path has an infinite
/// cost
/// and no links. Ends early, and gives false, when `stop` says so, which is asked before each sweep.
pub(super) fn sweep(
    net: &Network,
    demands: &[Demand],
    costs: &[f64],
    stop: &dyn Fn() -> bool,
    mut found: impl FnMut(usize, f64, &mut dyn FnMut() -> Vec<LinkId>),
) -> bool {
    let mut order: Vec<usize> = (0..demands.len()).filter(|&j| demands[j].bytes > 0).collect();
    let distinct = |end: &dyn Fn(usize) -> NodeId| {
        let mut ends: Vec<NodeId> = order.iter().map(|&j| end(j)).collect();
        ends.sort_unstable();
        ends.dedup();
        ends.len()
    };
    let forward = distinct(&|j| demands[j].src) <= distinct(&|j| demands[j].dst);
    let ends = |j: usize| {
        let d = &demands[j];
        if forward { (d.src, d.dst) } else { (d.dst, d.src) }
    };
    order.sort_by_key(|&j| (ends(j).0, j));
    let mut tree = Tree::new(net, costs, forward);
    for demands_of_root in order.chunk_by(|&a, &b| ends(a).0 == ends(b).0) {
        if stop() {
            return false;
        }
        let root = ends(demands_of_root[0]).0;
        tree.grow(root, demands_of_root.iter().map(|&j| ends(j).1));
        for &j in demands_of_root {
            let leaf = ends(j).1;
            found(j, tree.cost[leaf.index()].0, &mut || tree.path(root, leaf));
        }
    }
    true
}

/// Cheapest paths from (or to) a root.
struct Tree<'a> {
    net: &'a Network,
    costs: &'a [f64],
    /// From the root, or else towards it.
    forward: bool,
    cost: Vec<Cost>,
    /// The link by which a vertex is reached.
    by: Vec<LinkId>,
    wanted: Vec<bool>,
    queue: BinaryHeap<Entry>,
}

impl<'a> Tree<'a> {
    fn new(net: &'a Network, costs: &'a [f64], forward: bool) -> Self {
        let n = net.vertices();
        let (cost, by, wanted) = (vec![Cost::NONE; n], vec![LinkId(0); n], vec![false; n]);
        Tree { net, costs, forward, cost, by, wanted, queue: BinaryHeap::new() }
    }

    /// Dijkstra's algorithm, until all `leaves` are reached.
    fn grow(&mut self, root: NodeId, leaves: impl Iterator<Item = NodeId>) {
        self.cost.fill(Cost::NONE);
        self.wanted.fill(false);
        let mut open = 0;
        for leaf in leaves {
            open += usize::from(!std::mem::replace(&mut self.wanted[leaf.index()], true));
        }
        self.queue.clear();
        self.cost[root.index()] = Cost(0.0, 0);
        self.queue.push(Entry(Cost(0.0, 0), root.0));
        while let Some(Entry(cost, v)) = self.queue.pop() {
            if cost.cmp(self.cost[v as usize]) == Ordering::Greater {
                continue;
            }
            if std::mem::take(&mut self.wanted[v as usize]) {
                open -= 1;
                if open == 0 {
                    return;
                }
            }
            if self.forward {
                self.net.out_links(NodeId(v)).for_each(|l| self.relax(cost, l, self.net.link(l).to));
            } else {
                self.net.in_links(NodeId(v)).iter().for_each(|&l| self.relax(cost, l, self.net.link(l).from));
            }
        }
    }

    fn relax(&mut self, cost: Cost, link: LinkId, to: NodeId) {
        let through = Cost(cost.0 + self.costs[link.index()], cost.1 + 1);
        if through.cmp(self.cost[to.index()]) == Ordering::Less {
            self.cost[to.index()] = through;
            self.by[to.index()] = link;
            self.queue.push(Entry(through, to.0));
        }
    }

    /// The path between the root and a leaf, from source to destination; empty if there is none.
    fn path(&self, root: NodeId, leaf: NodeId) -> Vec<LinkId> {
        let mut links = Vec::new();
        let mut at = leaf;
        while at != root && self.cost[at.index()] != Cost::NONE {
            let link = self.by[at.index()];
            links.push(link);
            at = if self.forward { self.net.link(link).from } else { self.net.link(link).to };
        }
        if self.forward {
            links.reverse();
        }
        links
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Ring of four; the link from 0 to 1 costs 5 and that from 0 to 3 costs 1: from 0 to 1 and 2 one goes down.
    #[test]
    fn the_cheapest_way_round() {
        let net = Network::from_spec("torus:4").unwrap();
        let link = |a, b| net.link_between(NodeId(a), NodeId(b)).unwrap();
        let mut costs = vec![0.0; net.links().len()];
        costs[link(0, 1).index()] = 5.0;
        costs[link(0, 3).index()] = 1.0;
        let demand = |src, dst, bytes| Demand::new(NodeId(src), NodeId(dst), bytes);
        let way = [link(0, 3), link(3, 2), link(2, 1)];
        for demands in [
            vec![demand(0, 2, 1), demand(0, 3, 0), demand(0, 1, 1)],
            // More sources than destinations: the same, from the other side.
            vec![demand(0, 1, 1), demand(2, 1, 1)],
        ] {
            let mut found = Vec::new();
            assert!(sweep(&net, &demands, &costs, &|| false, |j, cost, path| found.push((j, cost, path()))));
            let expected = match demands.len() {
                3 => vec![(0, 1.0, way[..2].to_vec()), (2, 1.0, way.to_vec())],
                _ => vec![(0, 1.0, way.to_vec()), (1, 0.0, vec![way[2]])],
            };
            assert_eq!(found, expected);
        }
        assert!(!sweep(&net, &[demand(0, 1, 1)], &costs, &|| true, |_, _, _| ()));
    }
}
