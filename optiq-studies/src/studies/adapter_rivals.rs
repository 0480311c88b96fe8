//! How others spread messages over the adapters of a node, as plans: written from their papers, so that links, memory and chunks are those of
//! OPTIQ's own plans, and only the choice of adapters differs.
//!
//! Rank `a` owns adapter `a`; a message from `a` to `b` leaves node(a) by an adapter `l` of it and enters node(b) by an adapter `e` of that:
//! `a -> l` through memory, `l -> e` through the fabric, `e -> b` through memory.
//!
//! - **Rail-matched**: `l` is the adapter of node(a) with the number that `b` has in its node, `e = b` (PXN of NCCL 2.12: each message travels on the
//!   rail of its destination, whatever its size).
//! - **Longest first**: messages in order of falling size, each as a whole by the least loaded adapter of either node (R. Graham, "Bounds on
//!   Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17, 1969): at most 4/3 of the best schedule of whole messages.
//! - **Multiplicative weights**: in [`ROUNDS`] rounds, each message's next part takes the cheapest of all `l` and `e`, where a link of capacity `c` with load `x`
//!   costs `exp(n x / (c T)) / c`; `T` is the bound of the fullest node and `n = ln(links) / ε` (S. Plotkin, D. Shmoys, É. Tardos, "Fast Approximation
//!   Algorithms for Fractional Packing and Covering Problems", Math. Oper. Res. 20, 1995; NIMBLE, arXiv 2604.00317, spreads messages over adapters so).

use crate::failure::Failure;
use optiq_net::{LinkId, Network, NodeId};
use optiq_solver::pipeline::{self, Planned, Timings};
use optiq_solver::{Assignment, Demand, Problem, Report, Share};

/// Parts of each message.
const ROUNDS: u64 = 32;
/// The ε of the weights.
const ACCURACY: f64 = 0.1;

/// Who chooses adapters how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spreading {
    /// By the destination's number in its node.
    RailMatched,
    /// Whole messages, the largest first, to the least loaded adapters.
    LongestFirst,
    /// Parts of messages, to the cheapest adapters.
    Weights,
}

impl Spreading {
    fn name(self) -> &'static str {
        match self {
            Spreading::RailMatched => "rail-matched",
            Spreading::LongestFirst => "longest-first",
            Spreading::Weights => "weights",
        }
    }
}

/// The nodes of a network whose hosts are adapters, `size` consecutive ones each.
struct Nodes<'a> {
    network: &'a Network,
    demands: &'a [Demand],
    size: u32,
}

/// Spreads demands over the adapters of their nodes.
///
/// # Errors
/// [`Failure::Input`] for a network whose hosts are no adapters of nodes; what routes and the check of a plan report.
pub fn spread(network: &Network, demands: &[Demand], spreading: Spreading) -> Result<Planned, Failure> {
    let size = network.switched_shape().and_then(|shape| shape.adapters_per_node());
    let no_nodes = || Failure::Input(format!("{}: nodes= is expected, whose adapters are hosts", network.spec()));
    let nodes = Nodes { network, demands, size: size.ok_or_else(no_nodes)? };
    let shares = match spreading {
        Spreading::RailMatched => nodes.rail_matched(),
        Spreading::LongestFirst => nodes.longest_first(),
        Spreading::Weights => nodes.weights(),
    }?;
    let problem = Problem::new(network, demands, None)?;
    let plan = pipeline::finish(&problem, spreading.name(), Assignment { shares, ..Assignment::default() })?;
    let report = Report::new(&plan, network)?;
    Ok(Planned { plan, report, timings: Timings::default(), verdict: None, trace: Vec::new() })
}

impl Nodes<'_> {
    /// The adapters of a host's node.
    fn of_node(&self, host: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        let first = host.0 / self.size * self.size;
        (first..first + self.size).map(NodeId)
    }

    fn is_between(&self, demand: &Demand) -> bool {
        demand.src.0 / self.size != demand.dst.0 / self.size
    }

    /// The links of a demand that leaves and enters by these adapters.
    fn path(&self, demand: &Demand, [leaves, enters]: [NodeId; 2]) -> Result<Vec<LinkId>, Failure> {
        let mut links = Vec::new();
        let stops = [demand.src, leaves, enters, demand.dst];
        for leg in stops.windows(2).filter(|leg| leg[0] != leg[1]) {
            self.network.route(leg[0], leg[1], &mut links)?;
        }
        Ok(links)
    }

    /// The whole of a demand by these adapters.
    fn whole(&self, demand: &Demand, by: [NodeId; 2]) -> Result<Vec<Share>, Failure> {
        Ok(vec![Share { links: self.path(demand, by)?, bytes: demand.bytes }])
    }

    fn rail_matched(&self) -> Result<Vec<Vec<Share>>, Failure> {
        let by = |d: &Demand| {
            let first = d.src.0 / self.size * self.size;
            let leaves = if self.is_between(d) { NodeId(first + d.dst.0 % self.size) } else { d.src };
            self.whole(d, [leaves, d.dst])
        };
        self.demands.iter().map(by).collect()
    }

    /// The seconds that bytes take over the first link of the fabric's route between two adapters, or over its last one.
    fn port_seconds(&self, between: [NodeId; 2], is_first: bool, bytes: u64) -> Result<f64, Failure> {
        let mut links = Vec::new();
        self.network.route(between[0], between[1], &mut links)?;
        let port = if is_first { links.first() } else { links.last() };
        Ok(port.map_or(0.0, |&link| bytes as f64 / self.network.link(link).capacity))
    }

    fn longest_first(&self) -> Result<Vec<Vec<Share>>, Failure> {
        let mut order: Vec<usize> = (0..self.demands.len()).collect();
        order.sort_by_key(|&i| (std::cmp::Reverse(self.demands[i].bytes), i));
        let mut shares = vec![Vec::new(); self.demands.len()];
        let mut busy = [vec![0.0; self.network.hosts()], vec![0.0; self.network.hosts()]];
        for i in order {
            let d = &self.demands[i];
            let mut by = [d.src, d.dst];
            if self.is_between(d) {
                for (side, host) in [d.src, d.dst].into_iter().enumerate() {
                    let mut best = f64::INFINITY;
                    // Of equals its own adapter, for which nothing is copied.
                    for adapter in std::iter::once(host).chain(self.of_node(host)) {
                        let ends = if side == 0 { [adapter, d.dst] } else { [d.src, adapter] };
                        let seconds = busy[side][adapter.index()] + self.port_seconds(ends, side == 0, d.bytes)?;
                        if seconds < best {
                            (best, by[side]) = (seconds, adapter);
                        }
                    }
                    busy[side][by[side].index()] = best;
                }
            }
            shares[i] = self.whole(d, by)?;
        }
        Ok(shares)
    }

    /// All paths of a demand, by its own adapters first.
    fn paths(&self, demand: &Demand) -> Result<Vec<Vec<LinkId>>, Failure> {
        let mut paths = vec![self.path(demand, [demand.src, demand.dst])?];
        if self.is_between(demand) {
            for leaves in self.of_node(demand.src) {
                for enters in self.of_node(demand.dst).filter(|&enters| (leaves, enters) != (demand.src, demand.dst)) {
                    paths.push(self.path(demand, [leaves, enters])?);
                }
            }
        }
        Ok(paths)
    }

    fn weights(&self) -> Result<Vec<Vec<Share>>, Failure> {
        let capacity: Vec<f64> = self.network.links().iter().map(|link| link.capacity).collect();
        let rate = (capacity.len() as f64).ln() / ACCURACY;
        let bound = optiq_solver::bound::lower_bound(self.network, self.demands)?.seconds;
        let mut cost: Vec<f64> = capacity.iter().map(|capacity| capacity.recip()).collect();
        let mut load = vec![0u64; capacity.len()];
        let paths = self.demands.iter().map(|d| self.paths(d)).collect::<Result<Vec<_>, _>>()?;
        let mut bytes: Vec<Vec<u64>> = paths.iter().map(|paths| vec![0; paths.len()]).collect();
        for round in 0..ROUNDS {
            for (i, d) in self.demands.iter().enumerate() {
                let part = d.bytes * (round + 1) / ROUNDS - d.bytes * round / ROUNDS;
                let price = |path: &Vec<LinkId>| path.iter().map(|link| cost[link.index()]).sum::<f64>();
                let cheapest = (0..paths[i].len()).min_by(|&a, &b| price(&paths[i][a]).total_cmp(&price(&paths[i][b])));
                let at = cheapest.unwrap_or(0);
                bytes[i][at] += part;
                for link in &paths[i][at] {
                    let link = link.index();
                    load[link] += part;
                    cost[link] = (rate * load[link] as f64 / (capacity[link] * bound)).exp() / capacity[link];
                }
            }
        }
        let shares = |(paths, bytes): (Vec<Vec<LinkId>>, Vec<u64>)| {
            let used = paths.into_iter().zip(bytes).filter(|&(_, bytes)| bytes > 0);
            used.map(|(links, bytes)| Share { links, bytes }).collect()
        };
        Ok(paths.into_iter().zip(bytes).map(shares).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Two nodes of two adapters, 1 B/s each.
    fn planned(of: &[(u32, u32, u64)], spreading: Spreading) -> Planned {
        let network = Network::from_spec("star:4,capacity=1B/s,nodes=2@100B/s").unwrap();
        let demands: Vec<Demand> =
            of.iter().map(|&(from, to, bytes)| Demand::new(NodeId(from), NodeId(to), bytes)).collect();
        let planned = spread(&network, &demands, spreading).unwrap();
        planned.plan.check(&network).unwrap();
        planned
    }

    #[test]
    fn rails_are_those_of_destinations() {
        // By hand: 0 -> 3 leaves by adapter 1, beside what 1 sends to 3 itself; 0 -> 2 and 0 -> 1 stay.
        let found = planned(&[(0, 3, 60), (1, 3, 30), (0, 2, 40), (0, 1, 5)], Spreading::RailMatched);
        let stops: Vec<Vec<u32>> =
            found.plan.flows.iter().map(|flows| flows[0].stops.iter().map(|s| s.0).collect()).collect();
        assert_eq!(stops, [vec![0, 1, 3], vec![1, 3], vec![0, 2], vec![0, 1]]);
        assert_eq!((found.plan.congestion_seconds, found.report.forwarded_bytes), (90.0, 60));
    }

    #[test]
    fn the_longest_goes_first_and_messages_stay_whole() {
        // 60 by 0 into 2, then 50 by 1 into 3 though it is 0's and for 2, then 20 by 1 into 3.
        let found = planned(&[(0, 2, 20), (0, 2, 60), (0, 2, 50)], Spreading::LongestFirst);
        assert!(found.plan.flows.iter().all(|flows| flows.len() == 1));
        assert_eq!((found.plan.congestion_seconds, found.plan.bound_seconds), (70.0, 65.0));
    }

    #[test]
    fn weights_come_near_the_bound() {
        let found = planned(&[(0, 2, 3200)], Spreading::Weights);
        assert_eq!(found.plan.bound_seconds, 1600.0);
        assert!(found.plan.congestion_seconds <= 1.05 * 1600.0, "{}", found.plan.congestion_seconds);
    }
}
