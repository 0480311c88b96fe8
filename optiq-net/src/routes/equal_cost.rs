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
        let (mut at, mut links) = (at, Vec::new());
        while at != dst {
            next_links(network, row, at, dst, &mut links);
            let hash = SplitMix64::new(flow ^ u64::from(at.0)).next_u64();
            let link = by_lane(network, &mut links, hash)?;
            route.push(link);
            at = network.link(link).to;
        }
        Some(())
    }
}

impl EqualCostRows {
    fn new(network: &Network) -> Self {
        let levels = levels(network);
        let mut links_up = vec![1u64; levels.iter().filter(|&&l| l != u32::MAX).max().map_or(0, |&l| l as usize) + 1];
        for v in (0..network.vertices() as u32).map(NodeId) {
            let level = levels[v.index()];
            let up = network.neighbours(v).filter(|n| level.checked_add(1) == Some(levels[n.index()])).count();
            if let Some(most) = links_up.get_mut(level as usize) {
                *most = (*most).max(up as u64);
            }
        }
        let mut of_level = vec![1u64];
        for &count in &links_up {
            of_level.push(of_level[of_level.len() - 1].saturating_mul(count));
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
        let mut links = Vec::new();
        let next = |at: NodeId| {
            next_links(network, &hops, at, dst, &mut links);
            by_lane(network, &mut links, key / self.divisors[at.index()]).map_or(NONE, |link| link.0)
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
fn next_links(network: &Network, hops: &[u32], at: NodeId, dst: NodeId, links: &mut Vec<(LinkId, u32)>) {
    links.clear();
    let here = hops[at.index()];
    if here == 0 || here == u32::MAX {
        return;
    }
    let hosts_forward = network.hosts() == network.vertices();
    links.extend(network.out_links(at).filter_map(|id| {
        let link = network.link(id);
        let forwards = link.to == dst || hosts_forward || !network.is_host(link.to);
        (forwards && hops[link.to.index()] == here - 1).then_some((id, link.lanes))
    }));
}

/// The link that has turn `number`, where links are taken round robin, each as often as it has lanes. Changes `links`.
fn by_lane(network: &Network, links: &mut Vec<(LinkId, u32)>, number: u64) -> Option<LinkId> {
    let lanes: u64 = links.iter().map(|link| u64::from(link.1)).sum();
    let mut turn = number.checked_rem(lanes)?;
    debug_assert!(links.iter().all(|link| network.link(link.0).lanes == link.1));
    loop {
        // As many rounds as all of them take part in.
        let rounds = links.iter().map(|link| link.1).min()?;
        let (rounds, count) = (u64::from(rounds), links.len() as u64);
        if turn < rounds * count {
            return links.get((turn % count) as usize).map(|link| link.0);
        }
        turn -= rounds * count;
        links.retain_mut(|link| {
            link.1 -= rounds as u32;
            link.1 > 0
        });
    }
}

impl Network {
    /// Where the network's routing leaves equally short paths unused: a vertex and a destination host towards which it
    /// has several paths of one length, when the routing takes the lowest-numbered link everywhere
    /// ([`Routing::Shortest`]). `None` for any other routing, and where there are no such paths to the hosts that
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
        let mut links = Vec::new();
        let mut several = |dst: NodeId| {
            let hops = hops_to(self, dst);
            // A host with several ports chooses one itself.
            let at = (0..self.vertices() as u32).map(NodeId).find(|&at| {
                next_links(self, &hops, at, dst, &mut links);
                links.len() > 1 && !self.chooses_port(at)
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
