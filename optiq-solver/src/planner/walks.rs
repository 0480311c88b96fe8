//! Cheap paths on grids that are too large for Dijkstra's algorithm: walks dimension by dimension, priced by prefix sums.
//!
//! A *walk* takes the dimensions in which a pair differs in some order, each in one straight run, up or down, the shorter
//! way round the ring or the longer one. With the costs of links added up along every ring, any run costs two look-ups,
//! whatever its length. Where a walk is does not depend on the order of the runs before, only on which they were: so the
//! cheapest walk of all `D! 2^D` is found by dynamic programming over the `2^D` sets of dimensions, `D 2^D` runs in all (64
//! for four dimensions), where Dijkstra's algorithm visits every link of the network. What there is besides walks is
//! offered in part: a hop by any port of the source before, a hop by any port of the destination behind, or both.
//!
//! This finds paths, but proves nothing: distances are those of these paths, not of all. It serves where cuts prove what
//! can be reached and paths are what is missing: on a torus with as many nodes that all cheapest paths take minutes.

use crate::demands::Demand;
use optiq_net::{Grid, LinkId, Network, NodeId, Ports};
use std::sync::Arc;

/// A cost that no run has.
const NONE: u64 = u64::MAX;

/// The most dimensions in which a pair may differ: `2^D` sums for each are kept on the stack.
const MOST_DIMENSIONS: usize = 8;

/// How many forced hops are tried besides plain walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ForcedHops {
    None,
    /// The first or the last.
    One,
    /// The first, the last, and both.
    Both,
}

/// A grid whose walks can be priced.
pub(super) struct Walks<'n> {
    grid: &'n Grid,
    ports: &'n Arc<Ports>,
    /// Dimensions longer than 1.
    dims: Vec<usize>,
    strides: Vec<u32>,
    /// `places[i][v]`: where vertex `v` is in the sums along dimension `dims[i]`.
    places: Vec<Vec<u32>>,
}

/// Working space of dynamic programming over sets of dimensions.
struct Scratch {
    cost: [u64; 1 << MOST_DIMENSIONS],
    /// The last run of the cheapest walk to a set: which of the dimensions, and its port.
    by: [(u8, u8); 1 << MOST_DIMENSIONS],
    /// The vertex where the runs of a set lead.
    at: [i64; 1 << MOST_DIMENSIONS],
}

/// The ports of up to one run for each dimension, then [`NO_RUN`].
type Runs = [u8; MOST_DIMENSIONS];

const NO_RUN: u8 = u8::MAX;

/// Costs added up along rings. For each ring of `L` vertices `L + 1` sums: `up` of the links that lead up from coordinates
/// below, `down` of those that lead down from coordinates 1 up to this one; the one from 0 down, round the ring, counts as
/// from `L`.
struct Sums {
    up: Vec<u64>,
    down: Vec<u64>,
}

/// The cheapest walk of a pair: a hop by a port, runs of ports, a hop.
#[derive(Clone, Copy, Debug)]
struct Walk {
    first: Option<u8>,
    runs: Runs,
    last: Option<u8>,
}

impl<'n> Walks<'n> {
    /// `None` where a network is no grid whose links are all legs, or has too many dimensions.
    pub fn new(net: &'n Network) -> Option<Self> {
        let (grid, ports) = (net.geometry().grid()?, net.ports()?);
        ports.order()?;
        let dims: Vec<usize> = (0..grid.dims().len()).filter(|&d| grid.dims()[d] > 1).collect();
        if dims.len() > MOST_DIMENSIONS {
            return None;
        }
        let mut strides = vec![1u32; grid.dims().len()];
        for d in (1..strides.len()).rev() {
            strides[d - 1] = strides[d] * grid.dims()[d];
        }
        let place = |&d: &usize| {
            let (stride, length) = (strides[d], grid.dims()[d]);
            let of = |v: u32| {
                let ring = v / (stride * length) * stride + v % stride;
                ring * (length + 1) + v / stride % length
            };
            (0..grid.nodes() as u32).map(of).collect()
        };
        let places = dims.iter().map(place).collect();
        Some(Walks { grid, ports, dims, strides, places })
    }

    /// Look-ups that pricing one demand takes at most.
    pub fn look_ups(&self, hops: ForcedHops) -> f64 {
        let (d, ports) = (self.dims.len() as i32, 2.0 * self.dims.len() as f64);
        let walks = match hops {
            ForcedHops::None => 1.0,
            ForcedHops::One => 1.0 + 2.0 * ports,
            ForcedHops::Both => (1.0 + ports) * (1.0 + ports),
        };
        4.0 * f64::from(d) * 2f64.powi(d - 1) * walks
    }

    fn sums(&self, costs: &[u32]) -> Vec<Sums> {
        let of = |(i, &d): (usize, &usize)| {
            let (length, stride) = (self.grid.dims()[d], self.strides[d]);
            let rings = self.grid.nodes() / length as usize;
            let mut sums =
                Sums { up: vec![0; rings * (length as usize + 1)], down: vec![0; rings * (length as usize + 1)] };
            let cost = |v: u32, port: usize| match self.ports.exit(NodeId(v), port) {
                Some(exit) => u64::from(costs[exit.link.index()]),
                // Beyond the edge: dearer than any path, but still a number that can be added.
                None => NONE >> 16,
            };
            // In a ring of two both ports are the same link, which counts as up.
            let down_port = 2 * d + usize::from(length > 2 || !self.grid.wrap()[d]);
            let places = &self.places[i];
            for start in (0..self.grid.nodes() as u32).filter(|v| v / stride % length == 0) {
                let base = places[start as usize] as usize;
                for c in 0..length {
                    let v = start + c * stride;
                    sums.up[base + c as usize + 1] = sums.up[base + c as usize] + cost(v, 2 * d);
                    let below = start + (c + 1) % length * stride;
                    sums.down[base + c as usize + 1] = sums.down[base + c as usize] + cost(below, down_port);
                }
            }
            sums
        };
        self.dims.iter().enumerate().map(of).collect()
    }

    /// For every demand with bytes the cheapest walk over links that cost `costs`, where it costs less than
    /// `limit(demand)`, with that cost, in the order of demands; on up to `threads` threads. `stop` is asked now and
    /// then; what is found by then is given.
    pub fn cheapest(
        &self,
        demands: &[Demand],
        costs: &[u32],
        hops: ForcedHops,
        threads: usize,
        limit: &(dyn Fn(usize) -> u64 + Sync),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Vec<(usize, u64, Vec<u32>)> {
        let sums = self.sums(costs);
        let part = demands.len().div_ceil(threads.max(1)).max(1);
        let work = |begin: usize| {
            let mut scratch = Scratch::new();
            let mut found = Vec::new();
            for (j, d) in demands.iter().enumerate().skip(begin).take(part) {
                if j % 256 == 0 && stop() {
                    break;
                }
                if d.bytes == 0 {
                    continue;
                }
                let limit = limit(j);
                let walk = self.of_pair(&sums, costs, (d.src, d.dst), hops, limit, &mut scratch);
                if let Some(links) = walk.and_then(|walk| self.links(d.src, d.dst, &walk)) {
                    let cost = links.iter().map(|&l| u64::from(costs[l as usize])).sum();
                    if cost < limit {
                        found.push((j, cost, links));
                    }
                }
            }
            found
        };
        let begins: Vec<usize> = (0..demands.len()).step_by(part).collect();
        std::thread::scope(|scope| {
            let work = &work;
            let others: Vec<_> = begins.iter().skip(1).map(|&begin| scope.spawn(move || work(begin))).collect();
            let mut found = begins.first().map(|&begin| work(begin)).unwrap_or_default();
            // Without what a thread that panicked found there are fewer paths, all of them sound.
            others.into_iter().for_each(|thread| found.extend(thread.join().unwrap_or_default()));
            found
        })
    }

    /// The cheapest walk of a pair, if one costs less than `limit`.
    fn of_pair(
        &self,
        sums: &[Sums],
        costs: &[u32],
        (src, dst): (NodeId, NodeId),
        hops: ForcedHops,
        limit: u64,
        scratch: &mut Scratch,
    ) -> Option<Walk> {
        let mut best: Option<Walk> = None;
        let mut most = limit;
        let mut offer = |from: NodeId, to: NodeId, before: u64, first: Option<u8>, last: Option<u8>| {
            if let Some((cost, runs)) = self.runs(sums, from, to, most.saturating_sub(before), scratch) {
                most = before + cost;
                best = Some(Walk { first, runs, last });
            }
        };
        offer(src, dst, 0, None, None);
        if hops == ForcedHops::None {
            return best;
        }
        let ports = 0..2 * self.grid.dims().len();
        let exits = |v: NodeId| ports.clone().filter_map(move |p| Some((p as u8, self.ports.exit(v, p)?)));
        let cost = |link: LinkId| u64::from(costs[link.index()]);
        for (first, exit) in exits(src).filter(|(_, exit)| exit.to != dst) {
            offer(exit.to, dst, cost(exit.link), Some(first), None);
        }
        // The last hop is the reverse of a hop from the destination.
        for (port, back) in exits(dst) {
            let last = port ^ 1;
            let Some(exit) = self.ports.exit(back.to, usize::from(last)).filter(|_| back.to != src) else { continue };
            offer(src, back.to, cost(exit.link), None, Some(last));
            if hops == ForcedHops::Both {
                for (first, begin) in exits(src).filter(|(_, begin)| begin.to != dst && begin.to != back.to) {
                    offer(begin.to, back.to, cost(begin.link) + cost(exit.link), Some(first), Some(last));
                }
            }
        }
        best
    }

    /// The cheapest runs from one vertex to another, if they cost less than `limit`: their cost and their ports.
    fn runs(&self, sums: &[Sums], from: NodeId, to: NodeId, limit: u64, scratch: &mut Scratch) -> Option<(u64, Runs)> {
        // The dimensions in which they differ: position in `dims`, coordinates, and by how much a run changes the number.
        let mut differ = [(0usize, 0u32, 0u32, 0i64); MOST_DIMENSIONS];
        let mut n = 0;
        for (i, &d) in self.dims.iter().enumerate() {
            let (stride, length) = (self.strides[d], self.grid.dims()[d]);
            let (a, b) = (from.0 / stride % length, to.0 / stride % length);
            if a != b {
                differ[n] = (i, a, b, (i64::from(b) - i64::from(a)) * i64::from(stride));
                n += 1;
            }
        }
        let Scratch { cost, by, at } = scratch;
        cost[..1 << n].fill(NONE);
        (cost[0], at[0]) = (0, i64::from(from.0));
        for set in 1usize..1 << n {
            let lowest = set.trailing_zeros() as usize;
            at[set] = at[set & (set - 1)] + differ[lowest].3;
        }
        for set in 0usize..1 << n {
            if cost[set] >= limit {
                continue;
            }
            for (e, &(i, a, b, _)) in differ[..n].iter().enumerate().filter(|(e, _)| set & 1 << e == 0) {
                let base = (self.places[i][at[set] as usize] - a) as usize;
                let (a, b, length) = (a as usize, b as usize, self.grid.dims()[self.dims[i]] as usize);
                let (up, down) = (&sums[i].up[base..=base + length], &sums[i].down[base..=base + length]);
                let (upwards, downwards) = match a < b {
                    true => (up[b] - up[a], down[a] + (down[length] - down[b])),
                    false => (up[length] - up[a] + up[b], down[a] - down[b]),
                };
                let (run, port) = if upwards <= downwards { (upwards, 0) } else { (downwards, 1) };
                let next = set | 1 << e;
                if cost[set] + run < cost[next] {
                    cost[next] = cost[set] + run;
                    by[next] = (e as u8, 2 * self.dims[i] as u8 + port);
                }
            }
        }
        let all = (1usize << n) - 1;
        if n == 0 || cost[all] >= limit {
            return None;
        }
        let (mut runs, mut set) = ([NO_RUN; MOST_DIMENSIONS], all);
        for run in (0..n).rev() {
            let (e, port) = by[set];
            runs[run] = port;
            set &= !(1 << e);
        }
        Some((cost[all], runs))
    }

    /// The links of a walk; `None` if it passes a vertex twice.
    fn links(&self, src: NodeId, dst: NodeId, walk: &Walk) -> Option<Vec<u32>> {
        let (mut links, mut passed) = (Vec::with_capacity(16), vec![src]);
        let mut step = |at: NodeId, port: u8| {
            let exit = self.ports.exit(at, usize::from(port))?;
            links.push(exit.link.0);
            passed.push(exit.to);
            Some(exit.to)
        };
        let mut at = src;
        if let Some(first) = walk.first {
            at = step(at, first)?;
        }
        // Where the last hop begins.
        let end = match walk.last {
            Some(last) => self.ports.exit(dst, usize::from(last ^ 1))?.to,
            None => dst,
        };
        for port in walk.runs.into_iter().take_while(|&port| port != NO_RUN) {
            let d = usize::from(port / 2);
            let target = self.grid.coordinate(end, d);
            while self.grid.coordinate(at, d) != target {
                at = step(at, port)?;
            }
        }
        if let Some(last) = walk.last {
            at = step(at, last)?;
        }
        passed.sort_unstable();
        let simple = passed.windows(2).all(|pair| pair[0] != pair[1]);
        (at == dst && simple).then_some(links)
    }
}

impl Scratch {
    fn new() -> Self {
        let size = [0; 1 << MOST_DIMENSIONS];
        Scratch { cost: size, by: [(0, 0); 1 << MOST_DIMENSIONS], at: size.map(|zero| zero as i64) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn cheapest(net: &Network, costs: &[u32], pair: (u32, u32), hops: ForcedHops) -> Option<(u64, Vec<u32>)> {
        let demands = [Demand::new(NodeId(pair.0), NodeId(pair.1), 1)];
        let walks = Walks::new(net).unwrap();
        let found = walks.cheapest(&demands, costs, hops, 2, &|_| 1 << 40, &|| false);
        found.into_iter().next().map(|(_, cost, links)| (cost, links))
    }

    /// On a ring of 5 with links of cost 1 from 0 to 2 is 2 links up; where the first of them costs 9, 3 links down.
    #[test]
    fn both_ways_round_a_ring() {
        let net = Network::from_spec("torus:5").unwrap();
        let link = |a, b| net.link_between(NodeId(a), NodeId(b)).unwrap();
        let mut costs = vec![1; net.links().len()];
        let up = vec![link(0, 1).0, link(1, 2).0];
        assert_eq!(cheapest(&net, &costs, (0, 2), ForcedHops::None), Some((2, up)));
        costs[link(0, 1).index()] = 9;
        let down = vec![link(0, 4).0, link(4, 3).0, link(3, 2).0];
        assert_eq!(cheapest(&net, &costs, (0, 2), ForcedHops::Both), Some((3, down)));
        // From 4 to 1 up leads through 0: 1 + 9; down there are three links.
        assert_eq!(cheapest(&net, &costs, (4, 1), ForcedHops::None).map(|found| found.0), Some(3));
    }

    /// On a 4x4 mesh, from corner (0,0) to (0,3), all links of row 0 cost 10: a walk in one dimension costs 30, beside the
    /// row 5, which takes a hop out of it and one back.
    #[test]
    fn forced_hops_leave_a_dear_row() {
        let net = Network::from_spec("mesh:4x4").unwrap();
        let costs: Vec<u32> = net.links().iter().map(|l| if l.from.0 < 4 && l.to.0 < 4 { 10 } else { 1 }).collect();
        assert_eq!(cheapest(&net, &costs, (0, 3), ForcedHops::None).map(|found| found.0), Some(30));
        let (cost, links) = cheapest(&net, &costs, (0, 3), ForcedHops::One).unwrap();
        assert_eq!((cost, links.len()), (5, 5));
        let nodes = crate::legs::nodes(&net, &links.into_iter().map(LinkId).collect::<Vec<_>>()).unwrap();
        assert_eq!(nodes.iter().map(|v| v.0).collect::<Vec<_>>(), [0, 4, 5, 6, 7, 3]);
    }

    /// The cheapest walk is that of all orders and directions, tried one by one.
    #[test]
    fn no_walk_is_cheaper() {
        for spec in ["torus:4x3x5", "torus:2x4x3", "mesh:3x4x2"] {
            let net = Network::from_spec(spec).unwrap();
            let (grid, ports) = (net.geometry().grid().unwrap(), net.ports().unwrap());
            let mut rng = optiq_net::random::SplitMix64::new(7);
            let costs: Vec<u32> = (0..net.links().len()).map(|_| 1 + rng.below(20) as u32).collect();
            for (src, dst) in (0..60).map(|i| (i % grid.nodes() as u32, (7 * i + 11) % grid.nodes() as u32)) {
                if src == dst {
                    continue;
                }
                let mut least = u64::MAX;
                for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                    for ways in 0..8 {
                        let (mut at, mut cost) = (NodeId(src), Some(0u64));
                        for d in order {
                            while grid.coordinate(at, d) != grid.coordinate(NodeId(dst), d) && cost.is_some() {
                                let exit = ports.exit(at, 2 * d + (ways >> d & 1)).or_else(|| {
                                    // In a ring of two both ways are the same.
                                    (grid.wrap()[d] && grid.dims()[d] == 2).then(|| ports.exit(at, 2 * d)).flatten()
                                });
                                cost = exit.and_then(|e| Some(cost? + u64::from(costs[e.link.index()])));
                                at = exit.map_or(at, |e| e.to);
                            }
                        }
                        least = least.min(cost.unwrap_or(u64::MAX));
                    }
                }
                let found = cheapest(&net, &costs, (src, dst), ForcedHops::None).unwrap();
                assert_eq!(found.0, least, "{spec} {src} {dst}");
                let forced = cheapest(&net, &costs, (src, dst), ForcedHops::Both).unwrap();
                assert!(forced.0 <= least);
            }
        }
    }
}
