//! Routes over equally short paths; [`crate::routing::equal_cost`] says which.

use crate::ids::{LinkId, NodeId};
use crate::network::Network;
use crate::random::SplitMix64;
use crate::routes::shortest::{follow, hops_to};
use crate::routing::Routing;
use crate::routing::equal_cost::{EqualCost, EqualCostRows};
use crate::routing::shortest::{NONE, kept_rows};
use std::collections::VecDeque;

/// Destinations, of different switches, whose paths are looked at for equal ones that stay unused.
const LOOKED_AT: usize = 64;

impl EqualCost {
    /// Appends the route from `at` to `dst` of packets that `src` has sent; `None` if there is none.
    pub(super) fn route(
        self,
        network: &Network,
        src: NodeId,
        at: NodeId,
        dst: NodeId,
        route: &mut Vec<LinkId>,
    ) -> Option<()> {
        let rows = network.derived.equal_cost.get_or_init(|| EqualCostRows::new(network));
        let compute = || match self {
            EqualCost::DModK => rows.next_hops_to(network, dst),
            EqualCost::Ecmp { .. } => hops_to(network, dst).into_boxed_slice(),
        };
        let computed;
        let row = match rows.rows.get(dst.index()) {
            Some(row) => row.get_or_init(compute),
            None => {
                computed = compute();
                &computed
            }
        };
        let EqualCost::Ecmp { seed } = self else { return follow(network, row, at, dst, route) };
        let pair = u64::from(src.0) << 32 | u64::from(dst.0);
        let flow = SplitMix64::new(SplitMix64::new(seed).next_u64() ^ pair).next_u64();
        let (mut at, mut ways) = (at, Vec::new());
        while at != dst {
            ways_closer(network, row, at, dst, &mut ways);
            let hash = SplitMix64::new(flow ^ u64::from(at.0)).next_u64();
            let link = by_lane(network, &mut ways, hash)?;
            route.push(link);
            at = network.link(link).to;
        }
        Some(())
    }
}

impl EqualCostRows {
    fn new(network: &Network) -> Self {
        let levels = levels(network);
        let mut ways_up = vec![1u64; levels.iter().filter(|&&l| l != u32::MAX).max().map_or(0, |&l| l as usize) + 1];
        for v in (0..network.vertices() as u32).map(NodeId) {
            let level = levels[v.index()];
            let up = network.neighbours(v).filter(|n| level.checked_add(1) == Some(levels[n.index()])).count();
            if let Some(most) = ways_up.get_mut(level as usize) {
                *most = (*most).max(up as u64);
            }
        }
        let mut of_level = vec![1u64];
        for &ways in &ways_up {
            of_level.push(of_level[of_level.len() - 1].saturating_mul(ways));
        }
        let divisors = levels.iter().map(|&l| of_level.get(l as usize).copied().unwrap_or(1)).collect();
        let mut hosts: Vec<NodeId> = (0..network.hosts() as u32).map(NodeId).collect();
        hosts.sort_by_cached_key(|&h| (network.neighbours(h).find(|&v| !network.is_host(v)), h));
        let mut keys = vec![0; hosts.len()];
        (0..).zip(&hosts).for_each(|(key, host)| keys[host.index()] = key);
        EqualCostRows { divisors, keys, rows: kept_rows(network.vertices()) }
    }

    /// The next hop of every vertex towards `dst` under d-mod-k.
    fn next_hops_to(&self, network: &Network, dst: NodeId) -> Box<[u32]> {
        let hops = hops_to(network, dst);
        let key = u64::from(self.keys.get(dst.index()).copied().unwrap_or(dst.0));
        let mut ways = Vec::new();
        let next = |at: NodeId| {
            ways_closer(network, &hops, at, dst, &mut ways);
            by_lane(network, &mut ways, key / self.divisors[at.index()]).map_or(NONE, |link| link.0)
        };
        (0..network.vertices() as u32).map(NodeId).map(next).collect()
    }
}

/// The distance of every vertex from the nearest host.
fn levels(network: &Network) -> Vec<u32> {
    let mut levels = vec![u32::MAX; network.vertices()];
    levels[..network.hosts()].fill(0);
    let mut queue: VecDeque<NodeId> = (0..network.hosts() as u32).map(NodeId).collect();
    while let Some(v) = queue.pop_front() {
        for next in network.neighbours(v) {
            if levels[next.index()] == u32::MAX {
                levels[next.index()] = levels[v.index()] + 1;
                queue.push_back(next);
            }
        }
    }
    levels
}

/// The links of `at` that lead one hop closer to `dst`, with their lanes; hosts on the way do not forward where there are
/// switches.
fn ways_closer(network: &Network, hops: &[u32], at: NodeId, dst: NodeId, ways: &mut Vec<(LinkId, u32)>) {
    ways.clear();
    let here = hops[at.index()];
    if here == 0 || here == u32::MAX {
        return;
    }
    let hosts_forward = network.hosts() == network.vertices();
    ways.extend(network.out_links(at).filter_map(|id| {
        let link = network.link(id);
        let forwards = link.to == dst || hosts_forward || !network.is_host(link.to);
        (forwards && hops[link.to.index()] == here - 1).then_some((id, link.lanes))
    }));
}

/// The way whose turn it is, when ways take turns and one of more lanes has as many turns. Leaves `ways` changed.
fn by_lane(network: &Network, ways: &mut Vec<(LinkId, u32)>, number: u64) -> Option<LinkId> {
    let lanes: u64 = ways.iter().map(|way| u64::from(way.1)).sum();
    let mut turn = number.checked_rem(lanes)?;
    debug_assert!(ways.iter().all(|way| network.link(way.0).lanes == way.1));
    loop {
        // As many rounds as all of them take part in.
        let rounds = ways.iter().map(|way| way.1).min()?;
        let (rounds, count) = (u64::from(rounds), ways.len() as u64);
        if turn < rounds * count {
            return ways.get((turn % count) as usize).map(|way| way.0);
        }
        turn -= rounds * count;
        ways.retain_mut(|way| {
            way.1 -= rounds as u32;
            way.1 > 0
        });
    }
}

impl Network {
    /// Where the network's routing leaves equally short paths unused: a vertex and a destination host towards which it
    /// has several ways of one length, when the routing takes the lowest-numbered link everywhere
    /// ([`Routing::Shortest`]). `None` for any other routing, and where there are no such ways towards the hosts that
    /// are looked at. No fabric routes like that, so nothing is gained over it.
    ///
    /// It is computed once and kept.
    pub fn unused_equal_paths(&self) -> Option<(NodeId, NodeId)> {
        *self.derived.unused.get_or_init(|| self.find_unused_equal_paths())
    }

    fn find_unused_equal_paths(&self) -> Option<(NodeId, NodeId)> {
        if *self.routing() != Routing::Shortest {
            return None;
        }
        // Hosts of one switch are reached alike.
        let mut seen = vec![false; self.vertices()];
        let mut first = |dst: &NodeId| {
            let at = self.neighbours(*dst).next().unwrap_or(*dst);
            !std::mem::replace(&mut seen[at.index()], true)
        };
        let mut ways = Vec::new();
        let mut several = |dst: NodeId| {
            let hops = hops_to(self, dst);
            // A host with several ports chooses one itself.
            let at = (0..self.vertices() as u32).map(NodeId).find(|&at| {
                ways_closer(self, &hops, at, dst, &mut ways);
                ways.len() > 1 && !self.chooses_port(at)
            })?;
            Some((at, dst))
        };
        (0..self.hosts() as u32).map(NodeId).filter(|dst| first(dst)).take(LOOKED_AT).find_map(&mut several)
    }

    /// What is doubtful in how the network is described, a sentence each; nothing is wrong with it.
    pub fn warnings(&self) -> Vec<String> {
        let unused = self.unused_equal_paths().map(|(at, dst)| {
            format!(
                "topology {}: all routes take the lowest-numbered link (routing shortest) and leave equal paths unused, as \
                 from {} towards {}; routing dmodk or ecmp takes them all, as fabrics do",
                self.spec(),
                self.name(at),
                self.name(dst)
            )
        });
        unused.into_iter().collect()
    }
}
