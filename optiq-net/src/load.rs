//! What a demand list puts on every link under the fabric's own routing (thesis section 6.4.3, "MPI path
//! reconstruction").

use crate::error::NetError;
use crate::ids::{Link, LinkId, NodeId};
use crate::network::Network;

/// Bytes and routes on every link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkLoad {
    /// Bytes on each link (bundle), indexed by [`LinkId`].
    pub bytes: Vec<u64>,
    /// Routes over each link (bundle), indexed by [`LinkId`].
    pub paths: Vec<u64>,
}

/// Figures that describe a [`LinkLoad`]. A *physical link* is one lane of a bundle.
///
/// Bytes on a bundle are shared evenly by its lanes, as everywhere in this crate. Routes cannot be shared: each takes
/// one lane, and `p` routes over `n` lanes occupy `min(p, n)` of them with at most `ceil(p / n)` on one. This is how
/// Table VII of the thesis counts routes per link.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct LoadStatistics {
    /// Seconds that the most loaded link needs: max of bytes / capacity. No execution is faster.
    pub congestion_seconds: f64,
    /// Most bytes on one physical link.
    pub bytes_per_link_max: f64,
    /// Bytes on a physical link, mean over the lanes of all bundles in use.
    pub bytes_per_link_mean: f64,
    /// Most routes on one physical link.
    pub paths_per_link_max: u64,
    /// Routes on a physical link, mean over those that at least one route takes.
    pub paths_per_link_mean: f64,
    /// Physical links that at least one route takes.
    pub links_used: u64,
}

impl LinkLoad {
    /// No load on any link of `network`.
    pub fn empty(network: &Network) -> Self {
        LinkLoad { bytes: vec![0; network.links().len()], paths: vec![0; network.links().len()] }
    }

    /// Adds one path that carries `bytes` over `route`.
    ///
    /// # Errors
    /// [`NetError::Overflow`] if a link's bytes exceed 64 bits; the load is then partly added.
    pub fn add(&mut self, network: &Network, route: &[LinkId], bytes: u64) -> Result<(), NetError> {
        for &id in route {
            let link = network.link(id);
            self.bytes[id.index()] = self.bytes[id.index()].checked_add(bytes).ok_or_else(|| network.overflow(link))?;
            self.paths[id.index()] += 1;
        }
        Ok(())
    }

    /// Adds another load on the links of `network`.
    ///
    /// # Errors
    /// As [`LinkLoad::add`].
    pub fn merge(&mut self, network: &Network, other: &LinkLoad) -> Result<(), NetError> {
        let links = network.links().iter();
        for ((bytes, more), link) in self.bytes.iter_mut().zip(&other.bytes).zip(links) {
            *bytes = bytes.checked_add(*more).ok_or_else(|| network.overflow(link))?;
        }
        self.paths.iter_mut().zip(&other.paths).for_each(|(paths, more)| *paths += more);
        Ok(())
    }

    /// The figures of this load on `network`.
    pub fn statistics(&self, network: &Network) -> LoadStatistics {
        let mut s = LoadStatistics::default();
        let (mut bytes_sum, mut paths_sum, mut lanes_sum) = (0.0, 0, 0);
        for (link, (&bytes, &paths)) in network.links().iter().zip(self.bytes.iter().zip(&self.paths)) {
            if paths == 0 {
                continue;
            }
            let lanes = u64::from(link.lanes);
            s.congestion_seconds = s.congestion_seconds.max(bytes as f64 / link.capacity);
            s.bytes_per_link_max = s.bytes_per_link_max.max(bytes as f64 / lanes as f64);
            s.paths_per_link_max = s.paths_per_link_max.max(paths.div_ceil(lanes));
            s.links_used += paths.min(lanes);
            bytes_sum += bytes as f64;
            paths_sum += paths;
            lanes_sum += lanes;
        }
        if s.links_used > 0 {
            s.bytes_per_link_mean = bytes_sum / lanes_sum as f64;
            s.paths_per_link_mean = paths_sum as f64 / s.links_used as f64;
        }
        s
    }
}

impl Network {
    pub(crate) fn overflow(&self, link: &Link) -> NetError {
        NetError::Overflow { from: self.name(link.from).to_string(), to: self.name(link.to).to_string() }
    }

    /// The load that `demands` (source, destination, bytes) put on every link when each travels on the fabric's own
    /// route; where routers choose, an estimate ([`Network::spread_load`]). A demand of a vertex to itself, or of no
    /// bytes, does not travel.
    ///
    /// # Errors
    /// [`NetError::Unreachable`] for a demand without a route, [`NetError::Unknown`] for one that names a vertex
    /// that does not exist, [`NetError::Overflow`] for sums beyond 64 bits.
    pub fn route_load(&self, demands: impl IntoIterator<Item = (NodeId, NodeId, u64)>) -> Result<LinkLoad, NetError> {
        if self.routing().is_adaptive() {
            return self.spread_load(demands);
        }
        let mut load = LinkLoad::empty(self);
        let mut route = Vec::new();
        for (src, dst, bytes) in demands {
            if src == dst || bytes == 0 {
                continue;
            }
            route.clear();
            self.route(src, dst, &mut route)?;
            load.add(self, &route, bytes)?;
        }
        Ok(load)
    }
}
