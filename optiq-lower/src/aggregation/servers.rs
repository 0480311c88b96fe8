//! The I/O hosts that can serve: those with a rank.

use crate::placement::Placement;
use optiq_net::{IoHost, Network, NodeId};
use optiq_transport::Rank;

/// An I/O host, and the rank on it that reads and writes the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Server {
    /// The host.
    pub host: NodeId,
    /// Its first rank.
    pub rank: Rank,
    /// What it can take in, in bytes per second: the smaller of its link to the storage, if that is known, and of all
    /// links that enter it together. At least 1.
    pub weight: u64,
    /// What all links that enter it carry together, in bytes per second; infinite on a network of one host.
    pub enter: f64,
    /// What its link to the storage carries, in bytes per second, if that is known.
    pub storage: Option<f64>,
}

/// All servers of a file, ascending by host, and how far hosts are from them.
#[derive(Clone, Debug)]
pub struct Servers {
    list: Vec<Server>,
    /// Per server, the distance of every host.
    distance: Vec<Vec<u32>>,
    /// Per host, the server that it uses if nobody balances.
    default: Vec<usize>,
}

impl Servers {
    /// The servers among the network's I/O hosts.
    ///
    /// # Errors
    /// Why there are none, as the rest of a sentence.
    pub fn new(network: &Network, placement: &Placement) -> Result<Self, String> {
        let marked = network.io_hosts();
        if marked.is_empty() {
            return Err("the topology marks no I/O hosts (io=HOST+HOST, [[io]], or OPTIQ_IO_HOSTS)".into());
        }
        let server = |io: &IoHost| {
            let rank = *placement.ranks(io.host).first()?;
            let enter: f64 = network.in_links(io.host).iter().map(|&l| network.link(l).capacity).sum();
            // A network of one host has no links.
            let enter = if enter > 0.0 { enter } else { f64::INFINITY };
            let rate = enter.min(io.storage.unwrap_or(f64::INFINITY));
            let weight = if rate.is_finite() { rate as u64 } else { 1 };
            Some(Server { host: io.host, rank, weight: weight.clamp(1, 1 << 60), enter, storage: io.storage })
        };
        let list: Vec<Server> = marked.iter().filter_map(server).collect();
        if list.is_empty() {
            return Err("no rank runs on any of the I/O hosts".into());
        }
        let distance: Vec<Vec<u32>> = list.iter().map(|s| network.distances_to(s.host)).collect();
        let default = (0..network.hosts() as u32).map(NodeId).map(|host| {
            // The network's own rule, among those that can serve.
            let named = network.default_io_host(host).and_then(|io| list.iter().position(|s| s.host == io));
            let nearest = || (0..list.len()).min_by_key(|&s| distance[s][host.index()]);
            named.or_else(nearest).unwrap_or(0)
        });
        let default = default.collect();
        Ok(Self { list, distance, default })
    }

    /// The servers, ascending by host.
    pub fn list(&self) -> &[Server] {
        &self.list
    }

    /// Hops from a host to the server of this number.
    pub(super) fn distance(&self, server: usize, host: NodeId) -> u64 {
        u64::from(self.distance[server][host.index()])
    }

    /// The number of the server that a host uses if nobody balances.
    pub fn default_of(&self, host: NodeId) -> usize {
        self.default[host.index()]
    }
}
