//! Routes: the links that the fabric takes between two vertices, by the network's [`Routing`].

mod equal_cost;
mod grid;
mod shortest;
mod spread;
mod table;

use crate::error::NetError;
use crate::geometry::Grid;
use crate::ids::{LinkId, NodeId};
use crate::network::{Derived, Network};
use crate::routing::Routing;
use crate::routing::dimension_order::DimensionOrder;

fn grid_of<'n>(network: &'n Network, what: &str) -> Result<&'n Grid, NetError> {
    let none = || NetError::Routing(format!("{what} needs a mesh or a torus; this network has no grid"));
    network.geometry.grid().ok_or_else(none)
}

impl Network {
    /// The same network under another routing function. [`Network::spec`] stays as it is.
    ///
    /// # Errors
    /// [`NetError::Routing`] if the routing does not fit the network (dimension order without a grid, a table of
    /// another size).
    pub fn with_routing(mut self, routing: Routing) -> Result<Self, NetError> {
        self.check_routing(&routing)?;
        self.routing = routing;
        self.derived = Derived::default();
        Ok(self)
    }

    /// Appends the links that the fabric's own routing takes from `src` to `dst` to `route` (none if they are equal).
    ///
    /// # Errors
    /// [`NetError::Unreachable`] if the fabric has no route, [`NetError::Unknown`] if `src` or `dst` is not a vertex;
    /// `route` is then as it was.
    pub fn route(&self, src: NodeId, dst: NodeId, route: &mut Vec<LinkId>) -> Result<(), NetError> {
        if let Some(v) = [src, dst].into_iter().find(|v| v.index() >= self.vertices()) {
            let expected = format!("an index below {}", self.vertices());
            return Err(NetError::Unknown { text: v.0.to_string(), expected });
        }
        self.append_route(src, dst, route)
    }

    /// Whether software chooses the port by which `host` sends (its *rail*): it has several links, and all of them lead
    /// to switches. Where hosts are joined directly, each has a router of its own, which chooses the port.
    pub fn chooses_port(&self, host: NodeId) -> bool {
        host.index() < self.hosts
            && self.out_range(host).len() > 1
            && self.neighbours(host).all(|neighbour| !self.is_host(neighbour))
    }

    /// The links by which the bytes of `host` leave its node: all but the one to the memory of a node of several adapters (`nodes=`).
    pub fn adapter_links(&self, host: NodeId) -> impl Iterator<Item = LinkId> + use<'_> {
        let memory = self.switched.as_ref().and_then(|shape| shape.memory(host.0)).map(|memory| NodeId(memory.0));
        self.out_links(host).filter(move |&link| Some(self.link(link).to) != memory)
    }

    /// Whether messages of `host` can be striped: it chooses the port ([`Network::chooses_port`]), and several lead out of its node.
    pub fn has_rails(&self, host: NodeId) -> bool {
        self.chooses_port(host) && self.adapter_links(host).nth(1).is_some()
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
                Routing::EqualCost(rule) => rule.route(self, src, at, dst, route),
                _ => self.append_route(at, dst, route).ok(),
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

    /// Whether a routing fits the network.
    pub(crate) fn check_routing(&self, routing: &Routing) -> Result<(), NetError> {
        match routing {
            Routing::Shortest | Routing::EqualCost(_) => Ok(()),
            Routing::DimensionOrder(order) => order.check(grid_of(self, "dimension-order routing")?),
            Routing::Zone(_) => grid_of(self, "zone routing").map(|_| ()),
            Routing::MinimalAdaptive => grid_of(self, "minimal adaptive routing").map(|_| ()),
            Routing::Table(table) => table.check(self),
        }
    }

    /// Appends the links from `src` to `dst` to `route`; leaves `route` as it was on failure.
    fn append_route(&self, src: NodeId, dst: NodeId, route: &mut Vec<LinkId>) -> Result<(), NetError> {
        let before = route.len();
        let done = match &self.routing {
            Routing::Shortest => self.shortest.route(self, src, dst, route),
            Routing::EqualCost(rule) => rule.route(self, src, src, dst, route),
            Routing::DimensionOrder(order) => order.route(self, src, dst, route),
            Routing::Zone(zone) => zone.route(self, src, dst, route),
            Routing::MinimalAdaptive => {
                let grid = self.geometry.grid();
                grid.and_then(|grid| DimensionOrder::ascending(grid).route(self, src, dst, route))
            }
            Routing::Table(table) => table.route(self, src, src, dst, route),
        };
        if done.is_none() {
            route.truncate(before);
            return Err(self.unreachable(src, dst));
        }
        Ok(())
    }
}
