//! What minimal adaptive routing puts on the links of a grid: an estimate.
//!
//! A router with minimal adaptive routing sends a packet by the emptiest of the ports that lead closer to its destination (J. Duato, "A
//! New Theory of Deadlock-Free Adaptive Routing in Wormhole Networks", IEEE TPDS 4(12), 1993). Here each demand is cut into
//! `n` = [`PIECES`] pieces, which play packets: piece 1 of all demands goes first, then piece 2 of all, and so on, and each goes hop by hop
//! by the port of least
//!
//! ```text
//!     (bytes on the link so far) / (capacity of the link),
//! ```
//!
//! of equal ones by the first after the one that the piece before took. At exactly half of a ring both directions lead closer; in a ring of
//! two both are one link. It takes `n` times the hops of all demands, times the dimensions.
//!
//! What has been sent so far stands for what waits: a link with more of it has the longer queue while all are busy. An even split over
//! all shortest paths, which has a closed form, is no estimate of this routing: for the thesis's patterns it has nearly twice the load
//! on the worst link that simulated routers reach. It is no bound either: routers know queues at every moment, and chance moves them.

use crate::error::NetError;
use crate::geometry::Grid;
use crate::ids::NodeId;
use crate::load::LinkLoad;
use crate::network::Network;
use crate::ports::{Exit, Ports};

/// Pieces of a demand. With more, loads come closer to those of single packets; 32 leave a twentieth of a demand's part of a link open.
pub const PIECES: u64 = 32;

/// A demand on its way.
struct Routed {
    src: NodeId,
    dst: NodeId,
    bytes: u64,
    /// The port from which its last piece started to look, so that equal ones take turns.
    turn: usize,
}

/// The links, as pieces fill them.
struct Spreader<'n> {
    network: &'n Network,
    grid: &'n Grid,
    ports: &'n Ports,
    load: LinkLoad,
    /// The last demand that was counted on a link, from 1.
    counted: Vec<u64>,
}

impl Spreader<'_> {
    /// Sends one piece.
    fn send(&mut self, demand: &mut Routed, bytes: u64, number: u64) -> Result<(), NetError> {
        let mut at = demand.src;
        while at != demand.dst {
            let Some((port, exit)) = self.emptiest(at, demand) else {
                return Err(self.network.unreachable(demand.src, demand.dst));
            };
            let link = exit.link.index();
            let sum = self.load.bytes[link].checked_add(bytes);
            self.load.bytes[link] = sum.ok_or_else(|| self.network.overflow(self.network.link(exit.link)))?;
            if std::mem::replace(&mut self.counted[link], number) != number {
                self.load.paths[link] += 1;
            }
            demand.turn = port + 1;
            at = exit.to;
        }
        Ok(())
    }

    /// The emptiest port that leads closer, of equal ones the first from the demand's turn on.
    fn emptiest(&self, at: NodeId, demand: &Routed) -> Option<(usize, Exit)> {
        let ports = 2 * self.grid.dims().len();
        let mut best: Option<(f64, usize, Exit)> = None;
        for port in (0..ports).map(|i| (demand.turn + i) % ports) {
            let d = port / 2;
            let left = self.grid.offset(at, demand.dst, d);
            // In a ring of two the link down counts as the link up.
            let both = self.grid.is_tie(d, left) && self.grid.dims()[d] > 2;
            if left == 0 || !(both || (port % 2 == 0) == (left > 0)) {
                continue;
            }
            let exit = self.ports.exit(at, port).or_else(|| self.ports.exit(at, port ^ 1))?;
            let seconds = self.load.bytes[exit.link.index()] as f64 / self.network.link(exit.link).capacity;
            if best.is_none_or(|(least, ..)| seconds < least) {
                best = Some((seconds, port, exit));
            }
        }
        best.map(|(_, port, exit)| (port, exit))
    }
}

impl Network {
    /// The load of `demands` (source, destination, bytes) under minimal adaptive routing, as the head of this file estimates it.
    /// [`LinkLoad::paths`] counts the demands that take a link.
    ///
    /// # Errors
    /// [`NetError::Routing`] without a grid, [`NetError::Unknown`] for a vertex that does not exist, [`NetError::Overflow`] for sums
    /// beyond 64 bits.
    pub fn spread_load(&self, demands: impl IntoIterator<Item = (NodeId, NodeId, u64)>) -> Result<LinkLoad, NetError> {
        let (Some(grid), Some(ports)) = (self.geometry().grid(), self.ports()) else {
            let what = "minimal adaptive routing needs a mesh or a torus; this network has no grid";
            return Err(NetError::Routing(what.into()));
        };
        let mut routed = Vec::new();
        for (src, dst, bytes) in demands {
            if let Some(v) = [src, dst].into_iter().find(|v| v.index() >= self.vertices()) {
                let expected = format!("an index below {}", self.vertices());
                return Err(NetError::Unknown { text: v.0.to_string(), expected });
            }
            if src != dst && bytes > 0 {
                routed.push(Routed { src, dst, bytes, turn: routed.len() % (2 * grid.dims().len()) });
            }
        }
        let (load, counted) = (LinkLoad::empty(self), vec![0; self.links().len()]);
        let mut spreader = Spreader { network: self, grid, ports, load, counted };
        for piece in 0..PIECES {
            for (demand, number) in routed.iter_mut().zip(1..) {
                // The first pieces have the bytes that cannot be divided.
                let bytes = demand.bytes / PIECES + u64::from(piece < demand.bytes % PIECES);
                if bytes > 0 {
                    spreader.send(demand, bytes, number)?;
                }
            }
        }
        Ok(spreader.load)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    fn load(spec: &str, demands: &[(u32, u32, u64)]) -> (Network, LinkLoad) {
        let network = Network::from_spec(spec).unwrap();
        let load = network.spread_load(demands.iter().map(|&(s, d, b)| (NodeId(s), NodeId(d), b))).unwrap();
        (network, load)
    }

    fn on(network: &Network, load: &LinkLoad, from: u32, to: u32) -> u64 {
        load.bytes[network.link_between(NodeId(from), NodeId(to)).unwrap().index()]
    }

    /// From (0,0) to (1,1): two paths, half each. A demand from (0,0) to (0,1) that was there before leaves less of the other on its link:
    /// 32 pieces of 2 beside 32 of 1 on two links are 48 on each.
    #[test]
    fn the_emptier_port_by_hand() {
        let (network, split) = load("mesh:2x2", &[(0, 3, 64)]);
        // Row-major: (a, b) is 2 a + b.
        assert_eq!([(0, 1), (0, 2), (1, 3), (2, 3)].map(|(a, b)| on(&network, &split, a, b)), [32; 4]);
        let (network, split) = load("mesh:2x2", &[(0, 1, 32), (0, 3, 64)]);
        let loads = [(0, 1), (0, 2)].map(|(a, b)| on(&network, &split, a, b));
        assert_eq!(loads.iter().sum::<u64>(), 96);
        assert!(loads[0].abs_diff(loads[1]) <= 2, "{loads:?}");
    }

    /// Half of a ring: both ways round, half of the bytes each. In a ring of two there is one link.
    #[test]
    fn ties_are_split() {
        let (ring, split) = load("torus:4", &[(0, 2, 100)]);
        let loads = [(0, 1), (1, 2), (0, 3), (3, 2)].map(|(a, b)| on(&ring, &split, a, b));
        assert!(loads.iter().all(|&b| b.abs_diff(50) <= 4) && loads[0] + loads[2] == 100, "{loads:?}");
        let (pair, split) = load("torus:2", &[(0, 1, 100)]);
        assert_eq!(on(&pair, &split, 0, 1), 100);
    }

    #[test]
    fn no_grid_no_load() {
        let star = Network::from_spec("star:4").unwrap();
        let error = star.spread_load([(NodeId(0), NodeId(1), 1)]).unwrap_err().to_string();
        assert!(error.contains("needs a mesh or a torus"), "{error}");
        let ring = Network::from_spec("torus:4").unwrap();
        assert!(ring.spread_load([(NodeId(0), NodeId(9), 1)]).is_err());
        let most = [(NodeId(0), NodeId(1), u64::MAX), (NodeId(0), NodeId(1), u64::MAX)];
        assert!(matches!(ring.spread_load(most), Err(NetError::Overflow { .. })));
    }

    /// What routers choose is no worse than dimension order, and never below what sources and destinations allow.
    #[test]
    fn the_thesis_s_patterns_are_spread() {
        let network = Network::from_spec("bgq:512").unwrap();
        let worst = |load: &LinkLoad| load.statistics(&network).congestion_seconds;
        let demands: Vec<_> =
            (0..32u32).flat_map(|i| (0..8).map(move |j| (NodeId(i), NodeId(256 + 8 * i + j), 1u64 << 20))).collect();
        let spread = network.spread_load(demands.iter().copied()).unwrap();
        let routed = network.route_load(demands.iter().copied()).unwrap();
        // 8 MiB leave each source by ten links of 1.8 GB/s.
        assert!(worst(&spread) >= 8.0 * f64::from(1u32 << 20) / 18e9);
        assert!(worst(&spread) < 0.5 * worst(&routed), "{} and {}", worst(&spread), worst(&routed));
    }

    proptest! {
        /// Every byte leaves its source, and takes as many links as the distance: no more, no fewer.
        #[test]
        fn every_byte_takes_a_shortest_path(
            spec in prop::sample::select(vec!["torus:4x4x2", "mesh:3x4", "torus:5x6", "bgq:512"]),
            (a, b) in (0u32..4096, 0u32..4096),
            bytes in 0u64..1 << 40,
        ) {
            let network = Network::from_spec(spec).unwrap();
            let hosts = network.hosts() as u32;
            let (src, dst) = (NodeId(a % hosts), NodeId(b % hosts));
            let load = network.spread_load([(src, dst, bytes)]).unwrap();
            let distance = network.distance(src, dst);
            prop_assert_eq!(load.bytes.iter().sum::<u64>(), bytes * u64::from(distance));
            let leaves: u64 = network.out_range(src).map(|l| load.bytes[l as usize]).sum();
            prop_assert!(src == dst || leaves == bytes);
            // Only links that lead closer are taken.
            for ((link, &bytes), &paths) in network.links().iter().zip(&load.bytes).zip(&load.paths) {
                let closer = network.distance(link.from, dst) == network.distance(link.to, dst) + 1;
                let on_the_way = network.distance(src, link.from) + network.distance(link.from, dst) == distance;
                prop_assert!(bytes == 0 || closer && on_the_way);
                prop_assert_eq!(paths, u64::from(bytes > 0));
            }
        }
    }
}
