//! The fabric's own routing: which links the network takes from one vertex to another when software does not choose.
//!
//! A routing is a function of source and destination. Where it is a function of the *current* vertex and the
//! destination ([`Routing::is_destination_based`]), forwarding tables can express it.

pub(crate) mod dimension_order;
pub(crate) mod equal_cost;
pub(crate) mod shortest;
pub(crate) mod table;
pub(crate) mod zone;

use crate::fingerprint::Hasher;
use crate::geometry::Grid;
use crate::ids::NodeId;
use dimension_order::{DimensionOrder, Ties};
use equal_cost::EqualCost;
use table::NextHops;
use zone::Zone;

/// How the fabric routes.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// A shortest path, the same for all sources that meet on the way: from every vertex the link with the smallest
    /// index that leads closer to the destination. Traffic passes through hosts only in a network without switches,
    /// where every host has a router of its own.
    Shortest,
    /// A shortest path, chosen among equal ones by the destination's number or by a hash.
    EqualCost(EqualCost),
    /// Dimension by dimension on a grid.
    DimensionOrder(DimensionOrder),
    /// One of Blue Gene/Q's four routing zones on a grid.
    Zone(Zone),
    /// On a grid, any direction that leads closer, packet by packet (minimal adaptive). Software knows what that puts on links
    /// ([`Network::spread_load`](crate::Network::spread_load)), but of no single packet which links it takes: it controls a path only
    /// hop by hop. [`Network::route`](crate::Network::route) is the escape route, dimension by dimension.
    MinimalAdaptive,
    /// Next hops from a table, or computed: d-mod-k and s-mod-k on fat trees, minimal routing on dragonflies.
    Table(NextHops),
}

impl Routing {
    /// Whether the next hop depends on the current vertex and the destination only, so that per-destination
    /// forwarding tables can express the routing.
    pub fn is_destination_based(&self) -> bool {
        match self {
            Routing::Shortest => true,
            Routing::EqualCost(rule) => rule.is_destination_based(),
            Routing::Table(table) => table.is_destination_based(),
            Routing::DimensionOrder(order) => order.is_destination_based(),
            Routing::Zone(_) | Routing::MinimalAdaptive => false,
        }
    }

    /// Whether routers choose packet by packet, so that a path is controlled hop by hop only.
    pub fn is_adaptive(&self) -> bool {
        *self == Routing::MinimalAdaptive
    }

    /// The order of the dimensions of `grid` and the tie rule, if they are the same for all packets.
    pub(crate) fn fixed_order(&self, grid: &Grid) -> Option<(Vec<u8>, Ties)> {
        match self {
            Routing::DimensionOrder(order) => Some((order.order().to_vec(), order.ties())),
            Routing::Zone(zone) => zone.fixed_order(grid),
            Routing::MinimalAdaptive => Some((DimensionOrder::ascending(grid).order().to_vec(), Ties::Positive)),
            Routing::Shortest | Routing::EqualCost(_) | Routing::Table(_) => None,
        }
    }

    /// The number of the host that chooses among equally good ways, where a closed form does.
    pub(crate) fn key(&self, src: NodeId, dst: NodeId) -> Option<u32> {
        match self {
            Routing::Table(table) => table.key(src, dst),
            _ => None,
        }
    }

    /// Adds everything that decides routes to a fingerprint.
    pub(crate) fn fingerprint(&self, h: &mut Hasher) {
        match self {
            Routing::Shortest => h.u64(0),
            Routing::EqualCost(rule) => rule.fingerprint(h),
            Routing::DimensionOrder(order) => {
                h.u64(1);
                order.fingerprint(h);
            }
            Routing::Zone(zone) => {
                h.u64(2);
                h.u64(u64::from(zone.id()));
                h.u64(if zone.is_random() { zone.seed() } else { 0 });
            }
            Routing::MinimalAdaptive => h.u64(7),
            Routing::Table(table) => table.fingerprint(h),
        }
    }
}
