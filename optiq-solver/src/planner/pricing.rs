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
//! sweep of Dijkstra's algorithm for each distinct source (or destination, whichever are fewer) gives all distances. A
//! demand's cheapest path that costs less than the cheapest of its candidates is a column with negative reduced cost of
//! the linear program over the candidates: column generation by pricing (Ford and Fulkerson 1958).
//!
//! Any costs prove a bound, so they may be whole numbers ([`whole_costs`]): distances are then exact, and the queue
//! compares single words. Every link costs at least 1, so that among paths that are free otherwise the one with the
//! fewest links is the cheapest. Sweeps from different roots are independent and are shared among threads; what they
//! find is put in order afterwards.

use crate::demands::Demand;
use optiq_net::{LinkId, Network, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The cost of the dearest link. A path of 255 such links still fits 32 bits.
const DEAREST: f64 = (1 << 24) as f64;

/// Sums of prices are rounded; what they prove is lowered by this part.
pub(super) const ROUNDING: f64 = 1e-9;

/// A cost that no path has.
pub(super) const UNREACHED: u32 = u32::MAX;

/// Costs in proportion to `prices` (not negative), rounded down to whole numbers, and 1 more.
pub(super) fn whole_costs(prices: &[f64]) -> Vec<u32> {
    let most = prices.iter().copied().fold(0.0, f64::max);
    let scale = if most > 0.0 { DEAREST / most } else { 0.0 };
    prices.iter().map(|price| 1 + (price * scale) as u32).collect()
}

/// What a [`sweep`] found.
#[derive(Debug, Default)]
pub(super) struct Cheapest {
    /// Per demand, the cost of a byte on the cheapest path; [`UNREACHED`] if there is none; 0 for demands without bytes.
    pub cost: Vec<u32>,
    /// Those cheapest paths that cost less than `limit`, with their demands, in their order.
    pub paths: Vec<(usize, Vec<u32>)>,
}

/// The demands that start at the same host, or that end at the same host: what a [`sweep`] goes through.
pub(super) struct Roots<'a> {
    demands: &'a [Demand],
    forward: bool,
    /// Demands with bytes, by root.
    order: Vec<usize>,
    /// `order[starts[r]..starts[r + 1]]` have the same root.
    starts: Vec<usize>,
}

impl<'a> Roots<'a> {
    /// For demands on `net`.
    pub fn new(net: &'a Network, demands: &'a [Demand]) -> Self {
        let mut order: Vec<usize> = (0..demands.len()).filter(|&j| demands[j].bytes > 0).collect();
        let distinct = |end: &dyn Fn(usize) -> NodeId| {
            let mut seen = vec![false; net.vertices()];
            order.iter().filter(|&&j| !std::mem::replace(&mut seen[end(j).index()], true)).count()
        };
        let forward = distinct(&|j| demands[j].src) <= distinct(&|j| demands[j].dst);
        let root = |j: usize| if forward { demands[j].src } else { demands[j].dst };
        order.sort_by_key(|&j| (root(j), j));
        let mut starts: Vec<usize> =
            (0..order.len()).filter(|&i| i == 0 || root(order[i - 1]) != root(order[i])).collect();
        starts.push(order.len());
        Roots { demands, forward, order, starts }
    }

    /// The number of roots.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Root and leaf of a demand.
    fn ends(&self, demand: usize) -> (NodeId, NodeId) {
        let d = &self.demands[demand];
        if self.forward { (d.src, d.dst) } else { (d.dst, d.src) }
    }
}

/// Finds for every demand with bytes the cheapest path over links that cost `costs`, on up to `threads` threads;
/// paths that cost `limit(demand)` or more are not kept. `None` if `stop` said so meanwhile; it is asked before each root.
pub(super) fn sweep(
    net: &Network,
    roots: &Roots,
    costs: &[u32],
    threads: usize,
    limit: &(dyn Fn(usize) -> u32 + Sync),
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Cheapest> {
    let count = roots.count();
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut tree = Tree::new(net, costs, roots.forward);
        let (mut found, mut paths) = (Vec::new(), Vec::new());
        loop {
            let r = next.fetch_add(1, Ordering::Relaxed);
            if r >= count {
                break;
            }
            if stop() {
                stopped.store(true, Ordering::Relaxed);
                break;
            }
            let of_root = &roots.order[roots.starts[r]..roots.starts[r + 1]];
            let root = roots.ends(of_root[0]).0;
            tree.grow(root, of_root.iter().map(|&j| roots.ends(j).1));
            for &j in of_root {
                let leaf = roots.ends(j).1;
                let cost = tree.cost[leaf.index()];
                found.push((j, cost));
                if cost < limit(j) {
                    paths.push((j, tree.path(root, leaf)));
                }
            }
        }
        (found, paths)
    };
    let threads = threads.clamp(1, count.max(1));
    let parts: Vec<_> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut parts = vec![work()];
        // A thread that panicked has nothing to join; its roots are then missing, which the check below sees.
        parts.extend(others.into_iter().filter_map(|thread| thread.join().ok()));
        parts
    });
    let mut cheapest = Cheapest { cost: vec![0; roots.demands.len()], paths: Vec::new() };
    let mut seen = 0;
    for (found, paths) in parts {
        seen += found.len();
        found.into_iter().for_each(|(j, cost)| cheapest.cost[j] = cost);
        cheapest.paths.extend(paths);
    }
    cheapest.paths.sort_unstable_by_key(|path| path.0);
    (seen == roots.order.len() && !stopped.into_inner()).then_some(cheapest)
}

/// Cheapest paths from (or to) a root.
struct Tree<'a> {
    net: &'a Network,
    costs: &'a [u32],
    /// From the root, or else towards it.
    forward: bool,
    cost: Vec<u32>,
    /// The link by which a vertex is reached.
    by: Vec<LinkId>,
    wanted: Vec<bool>,
    /// Cost in the upper half, vertex in the lower: the cheapest comes first, and among equals the lowest vertex.
    queue: BinaryHeap<Reverse<u64>>,
}

impl<'a> Tree<'a> {
    fn new(net: &'a Network, costs: &'a [u32], forward: bool) -> Self {
        let n = net.vertices();
        let (cost, by, wanted) = (vec![UNREACHED; n], vec![LinkId(0); n], vec![false; n]);
        Tree { net, costs, forward, cost, by, wanted, queue: BinaryHeap::new() }
    }

    /// Dijkstra's algorithm, until all `leaves` are reached.
    fn grow(&mut self, root: NodeId, leaves: impl Iterator<Item = NodeId>) {
        self.cost.fill(UNREACHED);
        self.wanted.fill(false);
        let mut open = 0;
        for leaf in leaves {
            open += usize::from(!std::mem::replace(&mut self.wanted[leaf.index()], true));
        }
        self.queue.clear();
        self.cost[root.index()] = 0;
        self.queue.push(Reverse(u64::from(root.0)));
        while let Some(Reverse(entry)) = self.queue.pop() {
            let (cost, v) = ((entry >> 32) as u32, NodeId(entry as u32));
            if cost > self.cost[v.index()] {
                continue;
            }
            if std::mem::take(&mut self.wanted[v.index()]) {
                open -= 1;
                if open == 0 {
                    return;
                }
            }
            if self.forward {
                self.net.out_links(v).for_each(|l| self.relax(cost, l, self.net.link(l).to));
            } else {
                self.net.in_links(v).iter().for_each(|&l| self.relax(cost, l, self.net.link(l).from));
            }
        }
    }

    #[inline]
    fn relax(&mut self, cost: u32, link: LinkId, to: NodeId) {
        // A path too long for 32 bits counts as none: no bound is proved then, rather than a wrong one.
        let through = cost.saturating_add(self.costs[link.index()]);
        if through < self.cost[to.index()] {
            self.cost[to.index()] = through;
            self.by[to.index()] = link;
            self.queue.push(Reverse(u64::from(through) << 32 | u64::from(to.0)));
        }
    }

    /// The path between the root and a reached leaf, from source to destination.
    fn path(&self, root: NodeId, leaf: NodeId) -> Vec<u32> {
        let mut links = Vec::new();
        let mut at = leaf;
        while at != root {
            let link = self.by[at.index()];
            links.push(link.0);
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

    /// Ring of four; the link from 0 to 1 costs 5 and that from 0 to 3 costs 2, all others 1: from 0 to 1 and 2 one
    /// goes down.
    #[test]
    fn the_cheapest_way_round() {
        let net = Network::from_spec("torus:4").unwrap();
        let link = |a, b| net.link_between(NodeId(a), NodeId(b)).unwrap();
        let mut costs = vec![1; net.links().len()];
        costs[link(0, 1).index()] = 5;
        costs[link(0, 3).index()] = 2;
        let demand = |src, dst, bytes| Demand::new(NodeId(src), NodeId(dst), bytes);
        let way = [link(0, 3).0, link(3, 2).0, link(2, 1).0];
        for threads in [1, 3] {
            let find = |demands: &[Demand]| {
                sweep(&net, &Roots::new(&net, demands), &costs, threads, &|_| 4, &|| false).unwrap()
            };
            let found = find(&[demand(0, 2, 1), demand(0, 3, 0), demand(0, 1, 1)]);
            assert_eq!(found.cost, [3, 0, 4]);
            // 4 is not below the limit.
            assert_eq!(found.paths, [(0, way[..2].to_vec())]);
            // More sources than destinations: the same, from the other side.
            let found = find(&[demand(0, 1, 1), demand(2, 1, 1)]);
            assert_eq!(found.cost, [4, 1]);
            assert_eq!(found.paths, [(1, vec![way[2]])]);
        }
        assert!(sweep(&net, &Roots::new(&net, &[demand(0, 1, 1)]), &costs, 1, &|_| 0, &|| true).is_none());
    }

    #[test]
    fn costs_are_whole_and_never_free() {
        assert_eq!(whole_costs(&[0.0, 0.5, 1.0]), [1, 1 + (1 << 23), 1 + (1 << 24)]);
        assert_eq!(whole_costs(&[0.0, 0.0]), [1, 1]);
    }
}
