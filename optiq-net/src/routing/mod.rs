//! The fabric's own routing: which links the network takes from one vertex to another when nobody interferes.
//!
//! A routing is a function of source and destination. Where it is a function of the *current* vertex and the
//! destination ([`Routing::is_destination_based`]), forwarding tables can express it.

mod dimension_order;
mod shortest;
mod table;
mod zone;

pub use dimension_order::{DimensionOrder, Ties};
pub(crate) use shortest::ShortestRows;
pub use table::NextHops;
pub(crate) use table::Rule;
pub use zone::Zone;

use crate::error::NetError;
use crate::fingerprint::Hasher;
use crate::geometry::Grid;
use crate::network::{LinkId, Network, NodeId};

/// How the fabric routes.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// A shortest path, the same for all sources that meet on the way: from every vertex the link with the smallest
    /// index that leads closer to the destination. Traffic passes through hosts only in a network without switches,
    /// where every host has a router of its own.
    Shortest,
    /// Dimension by dimension on a grid.
    DimensionOrder(DimensionOrder),
    /// One of Blue Gene/Q's four routing zones on a grid.
    Zone(Zone),
    /// Next hops from a table, or computed: d-mod-k and s-mod-k on fat trees, minimal routing on dragonflies.
    Table(NextHops),
}

impl Routing {
    /// Whether the next hop depends on the current vertex and the destination only, so that per-destination
    /// forwarding tables can express the routing.
    pub fn is_destination_based(&self) -> bool {
        match self {
            Routing::Shortest => true,
            Routing::Table(table) => table.is_destination_based(),
            Routing::DimensionOrder(order) => order.is_destination_based(),
            Routing::Zone(_) => false,
        }
    }

    /// The order of the dimensions of `grid` and the tie rule, if they are the same for all packets.
    pub(crate) fn fixed_order(&self, grid: &Grid) -> Option<(Vec<u8>, Ties)> {
        match self {
            Routing::DimensionOrder(order) => Some((order.order().to_vec(), order.ties())),
            Routing::Zone(zone) => zone.fixed_order(grid),
            Routing::Shortest | Routing::Table(_) => None,
        }
    }

    /// The number of the host that chooses among equally good ways, where a closed form does.
    pub(crate) fn key(&self, src: NodeId, dst: NodeId) -> Option<u32> {
        match self {
            Routing::Table(table) => table.key(src, dst),
            _ => None,
        }
    }

    /// Whether the routing fits the network.
    pub(crate) fn check(&self, network: &Network) -> Result<(), NetError> {
        match self {
            Routing::Shortest => Ok(()),
            Routing::DimensionOrder(order) => order.check(grid_of(network, "dimension-order routing")?),
            Routing::Zone(_) => grid_of(network, "zone routing").map(|_| ()),
            Routing::Table(table) => table.check(network),
        }
    }

    /// Appends the links from `src` to `dst` to `route`; leaves `route` as it was on failure.
    pub(crate) fn route(
        &self,
        network: &Network,
        src: NodeId,
        dst: NodeId,
        route: &mut Vec<LinkId>,
    ) -> Result<(), NetError> {
        let before = route.len();
        let done = match self {
            Routing::Shortest => network.shortest.route(network, src, dst, route),
            Routing::DimensionOrder(order) => order.route(network, src, dst, route),
            Routing::Zone(zone) => zone.route(network, src, dst, route),
            Routing::Table(table) => table.route(network, src, src, dst, route),
        };
        if done.is_none() {
            route.truncate(before);
            return Err(network.unreachable(src, dst));
        }
        Ok(())
    }

    /// Adds everything that decides routes to a fingerprint.
    pub(crate) fn fingerprint(&self, h: &mut Hasher) {
        match self {
            Routing::Shortest => h.u64(0),
            Routing::DimensionOrder(order) => {
                h.u64(1);
                order.fingerprint(h);
            }
            Routing::Zone(zone) => {
                h.u64(2);
                h.u64(u64::from(zone.id()));
                h.u64(if zone.is_random() { zone.seed() } else { 0 });
            }
            Routing::Table(table) => table.fingerprint(h),
        }
    }
}

fn grid_of<'n>(network: &'n Network, what: &str) -> Result<&'n Grid, NetError> {
    let none = || NetError::Routing(format!("{what} needs a mesh or a torus; this network has no grid"));
    network.geometry.grid().ok_or_else(none)
}

impl Network {
    /// Whether software chooses the port by which `host` sends (its *rail*): it has several links, and all of them lead
    /// to switches. Where hosts are joined directly, each has a router of its own, which chooses the port.
    pub fn chooses_port(&self, host: NodeId) -> bool {
        host.index() < self.hosts
            && self.out_range(host).len() > 1
            && self.neighbours(host).all(|neighbour| !self.is_host(neighbour))
    }

    /// Appends the links that packets to the host `dst` take if their source sends them by its link `port`: that link,
    /// and the fabric's own route from where it leads. For a host that does not choose ports
    /// ([`Network::chooses_port`]) there is only the one that [`Network::route`] begins with.
    ///
    /// # Errors
    /// [`NetError::Unreachable`] if the fabric has no such route, or one that comes back to the source;
    /// [`NetError::Unknown`] if `port` is not a link or `dst` not a host. `route` is then as it was.
    pub fn route_by_port(&self, port: LinkId, dst: NodeId, route: &mut Vec<LinkId>) -> Result<(), NetError> {
        if port.index() >= self.links.len() || !self.is_host(dst) {
            let text = format!("link {} to vertex {}", port.0, dst.0);
            let expected = format!("a link below {} and a host below {}", self.links.len(), self.hosts);
            return Err(NetError::Unknown { text, expected });
        }
        let (src, at) = (self.link(port).from, self.link(port).to);
        let before = route.len();
        if self.chooses_port(src) {
            route.push(port);
            let done = match &self.routing {
                Routing::Table(table) => table.route(self, src, at, dst, route),
                other => other.route(self, at, dst, route).ok(),
            };
            let comes_back = route[before..].iter().any(|l| self.link(*l).to == src);
            if done.is_some() && !comes_back {
                return Ok(());
            }
        } else if self.route(src, dst, route).is_ok() && route.get(before) == Some(&port) {
            return Ok(());
        }
        route.truncate(before);
        Err(self.unreachable(src, dst))
    }

    pub(crate) fn unreachable(&self, src: NodeId, dst: NodeId) -> NetError {
        NetError::Unreachable { from: self.name(src).to_string(), to: self.name(dst).to_string() }
    }
}
