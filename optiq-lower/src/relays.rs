//! The store-and-forward policy: relays where the plan has forwarders, or at every host on the path.
//!
//! # What relays gain, and what they cost
//!
//! Packets of several legs that pass a router wait in one buffer. The first may want a busy link while the one behind it wants a
//! free one: head-of-line blocking, which leaves a switch with many inputs `2 - sqrt(2)` = 59 % of its throughput (M. Karol,
//! M. Hluchyj and S. Morgan, "Input Versus Output Queueing on a Space-Division Packet Switch", IEEE Trans. Communications
//! 35(12), 1987). With relays at every host, paths meet in memory, where each link has a queue of its own. In return a path of
//! `f` forwarders fills the queues of `f` legs first, and a rank handles all chunks that pass its host:
//!
//! ```text
//!     T = max(C / p, o * chunks + m * forwarded bytes at the busiest rank)  +  max over paths of f * (k c / B + l + o + m c)
//! ```
//!
//! with the link efficiency `p` of either policy ([`CostModel::planned_link_efficiency`],
//! [`CostModel::store_and_forward_link_efficiency`]), the link bound `C`, `k` chunks of `c` bytes in flight on a leg, and the
//! other letters of [`crate::model`]. Where forwarders copy, that limits relays at every host first: each byte is copied on every leg but
//! the first. A chunk then waits for chunks of other paths, so all chunks have one size. Relays at every
//! host pay for large exchanges; they do not where a message takes about as long as its path takes to fill. On a fabric whose routers
//! choose ([`Routing::MinimalAdaptive`](optiq_net::Routing::MinimalAdaptive)) every plan has them.

use crate::choices::LegsChoice;
use crate::constants::QUEUED_CHUNKS;
use crate::model::{CostModel, ExecutionTime};
use crate::placement::Placement;
use optiq_net::{NetError, Network};
use optiq_transport::{ChunkCost, ChunkRule, Path};
use std::collections::BTreeSet;

/// Adds a relay to paths at every host on the path that has ranks. Paths of hosts on switches do not change, nor does a path that
/// would pass a rank twice. The same on every rank.
///
/// # Errors
/// What the fabric's own routing reports.
pub fn relay_at_every_host(paths: &mut [Path], network: &Network, placement: &Placement) -> Result<(), NetError> {
    let (mut links, mut seen) = (Vec::new(), BTreeSet::new());
    for (number, path) in paths.iter_mut().enumerate() {
        let mut ranks = vec![path.ranks[0]];
        for leg in path.ranks.windows(2) {
            links.clear();
            network.route(placement.host(leg[0]), placement.host(leg[1]), &mut links)?;
            let inner = links.iter().take(links.len().saturating_sub(1)).map(|&l| network.link(l).to);
            ranks.extend(inner.filter(|&v| network.is_host(v)).filter_map(|host| placement.carrier(host, number)));
            ranks.push(leg[1]);
        }
        seen.clear();
        if ranks.iter().all(|&rank| seen.insert(rank)) {
            path.ranks = ranks;
        }
    }
    Ok(())
}

/// What the choice between relays at the plan's forwarders and at every host depends on, apart from the paths.
#[derive(Clone, Copy, Debug)]
pub struct RelayPolicy<'a> {
    /// The network.
    pub network: &'a Network,
    /// Where ranks run.
    pub placement: &'a Placement,
    /// What things cost.
    pub model: &'a CostModel,
    /// Sizes of chunks with relays as planned.
    pub chunk: ChunkRule,
    /// The plan's link bound, in seconds.
    pub congestion_seconds: f64,
}

impl RelayPolicy<'_> {
    /// Adds relays to paths as `choice` says. Returns what was chosen, never [`LegsChoice::Auto`], and the rule for the sizes of
    /// chunks: with relays at every host, one size for all ([`ChunkRule::settle`]). The same on every rank that has the same paths
    /// and the same model.
    ///
    /// # Errors
    /// What the fabric's own routing reports.
    pub fn apply(&self, paths: &mut Vec<Path>, choice: LegsChoice) -> Result<(LegsChoice, ChunkRule), NetError> {
        let RelayPolicy { network, placement, model, chunk, .. } = *self;
        let as_planned = Ok((LegsChoice::Planned, chunk));
        // Where routers choose, plans have a relay at every host.
        let choice = if network.routing().is_adaptive() { LegsChoice::Hops } else { choice };
        match choice {
            LegsChoice::Planned => return as_planned,
            LegsChoice::Hops => relay_at_every_host(paths, network, placement)?,
            // Nothing can be gained.
            LegsChoice::Auto if model.store_and_forward_link_efficiency <= model.planned_link_efficiency => {
                log::debug!(
                    "relays as planned: a link efficiency of {} at every host gains nothing over {}",
                    model.store_and_forward_link_efficiency,
                    model.planned_link_efficiency
                );
                return as_planned;
            }
            LegsChoice::Auto => {
                let mut relayed = paths.clone();
                relay_at_every_host(&mut relayed, network, placement)?;
                if relayed == *paths {
                    log::debug!("relays as planned: no other host on {} paths could relay", paths.len());
                    return as_planned;
                }
                let planned = self.execution(paths, chunk, model.planned_link_efficiency).seconds();
                let settled = self.settled(&relayed);
                let hops = self.execution(&relayed, settled, model.store_and_forward_link_efficiency).seconds();
                let chosen = if planned <= hops { "as planned" } else { "at every host" };
                log::debug!("relays {chosen}: predicted {planned:.6} s as planned, {hops:.6} s at every host");
                if planned <= hops {
                    return as_planned;
                }
                *paths = relayed;
            }
        }
        Ok((LegsChoice::Hops, self.settled(paths)))
    }

    /// The formula at the top, for paths with the relays and the rule for chunks that [`RelayPolicy::apply`] gave.
    pub fn predict(&self, paths: &[Path], legs: LegsChoice, chunk: ChunkRule) -> ExecutionTime {
        let efficiency = match legs {
            LegsChoice::Hops => self.model.store_and_forward_link_efficiency,
            LegsChoice::Planned | LegsChoice::Auto => self.model.planned_link_efficiency,
        };
        self.execution(paths, chunk, efficiency)
    }

    /// The rule for the sizes of chunks with relays at every host.
    fn settled(&self, paths: &[Path]) -> ChunkRule {
        self.chunk.settle(paths.iter().map(|path| (path.bytes, path.legs())), ChunkCost::default())
    }

    /// The formula at the top.
    fn execution(&self, paths: &[Path], chunk: ChunkRule, efficiency: f64) -> ExecutionTime {
        let RelayPolicy { network, model, congestion_seconds, .. } = *self;
        let paths = paths.iter().map(|path| (path.bytes as f64, path.ranks.iter().copied()));
        model.execution(paths, congestion_seconds / efficiency, network.unit_capacity(), chunk, QUEUED_CHUNKS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementRule;
    use optiq_net::NodeId;
    use optiq_transport::{PathId, Rank};

    fn path(ranks: &[u32], bytes: u64) -> Path {
        let ranks = ranks.iter().copied().map(Rank).collect();
        Path { id: PathId(0), ranks, bytes, source_offset: 0, destination_offset: 0, starts_at: None, class: 0 }
    }

    #[test]
    fn every_host_on_the_way_that_has_ranks_relays() {
        let stops = |spec: &str, ranks: &[u32], hosts: &[u32]| {
            let network = Network::from_spec(spec).unwrap();
            let names: Vec<String> = hosts.iter().map(|&h| network.name(NodeId(h)).to_owned()).collect();
            let placement = Placement::new(&network, &names, &PlacementRule::Names).unwrap();
            let mut paths = [path(ranks, 1)];
            relay_at_every_host(&mut paths, &network, &placement).unwrap();
            paths[0].ranks.iter().map(|r| r.0).collect::<Vec<u32>>()
        };
        assert_eq!(stops("mesh:6", &[0, 4], &[0, 1, 2, 3, 4, 5]), [0, 1, 2, 3, 4]);
        // Host 2 has no rank.
        assert_eq!(stops("mesh:6", &[0, 3], &[0, 1, 3, 4]), [0, 1, 2, 3]);
        // There and back would pass rank 2 twice: as planned.
        assert_eq!(stops("mesh:6", &[1, 3, 0], &[0, 1, 2, 3, 4, 5]), [1, 3, 0]);
        // Paths between hosts on switches pass no other host.
        let all: Vec<u32> = (0..16).collect();
        assert_eq!(stops("fattree:k=4", &[0, 15], &all), [0, 15]);
    }

    #[test]
    fn relays_at_every_host_are_chosen_where_they_are_faster_by_hand() {
        // One path along a mesh, 0 to 2 to 4: one forwarder as planned, three at every host. Links of 1 GB/s, chunks of 100 kB,
        // 1 us of latency and 9 us of work for a chunk.
        let network = Network::from_spec("mesh:5,capacity=1GB/s").unwrap();
        let placement = Placement::by_rank(&network, 5, 1).unwrap();
        let model = CostModel {
            latency_seconds: 1e-6,
            chunk_seconds: 9e-6,
            planned_link_efficiency: 0.5,
            store_and_forward_link_efficiency: 1.0,
            ..CostModel::default()
        };
        let chosen = |bytes: u64, model: &CostModel, choice| {
            let (chunk, congestion_seconds) = (ChunkRule::Fixed(100_000), bytes as f64 / 1e9);
            let policy = RelayPolicy { network: &network, placement: &placement, model, chunk, congestion_seconds };
            let mut paths = vec![path(&[0, 2, 4], bytes)];
            let seconds = policy.execution(&paths, chunk, model.planned_link_efficiency).seconds();
            let (chosen, rule) = policy.apply(&mut paths, choice).unwrap();
            assert_eq!(rule, chunk);
            assert_eq!(paths[0].ranks.len(), if chosen == LegsChoice::Hops { 5 } else { 3 });
            (chosen, seconds)
        };
        // 10 MB: 20 ms and a queue of 110 us, or 10 ms and three of them.
        let (choice, seconds) = chosen(10_000_000, &model, LegsChoice::Auto);
        assert_eq!(choice, LegsChoice::Hops);
        assert!((seconds - (20e-3 + 110e-6)).abs() < 1e-9, "{seconds}");
        // 100 kB, one chunk: 200 us and 110 us, or 100 us and 330 us.
        let (choice, seconds) = chosen(100_000, &model, LegsChoice::Auto);
        assert_eq!(choice, LegsChoice::Planned);
        assert!((seconds - 310e-6).abs() < 1e-9, "{seconds}");
        // Work: 100 chunks of 1 ms are longer than the links take, either way.
        let slow = CostModel { chunk_seconds: 1e-3, ..model };
        assert_eq!(chosen(10_000_000, &slow, LegsChoice::Auto).0, LegsChoice::Planned);
        // A forwarder copies at a third of the links' rate: 30 ms, however many of them there are; at twice their rate, 5 ms beside 10 of links.
        let copies = |seconds| CostModel { copy_seconds_per_byte: seconds, ..model };
        assert_eq!(chosen(10_000_000, &copies(3e-9), LegsChoice::Auto).0, LegsChoice::Planned);
        assert_eq!(chosen(10_000_000, &copies(0.5e-9), LegsChoice::Auto).0, LegsChoice::Hops);
        // Nothing to gain; or asked for.
        let equal = CostModel { store_and_forward_link_efficiency: 0.5, ..model };
        assert_eq!(chosen(10_000_000, &equal, LegsChoice::Auto).0, LegsChoice::Planned);
        assert_eq!(chosen(100_000, &model, LegsChoice::Hops).0, LegsChoice::Hops);
        assert_eq!(chosen(10_000_000, &model, LegsChoice::Planned).0, LegsChoice::Planned);
    }
}
