//! Routes on grids: dimension by dimension, in an order that the routing says.

use crate::geometry::Grid;
use crate::ids::{LinkId, NodeId};
use crate::network::Network;
use crate::random::SplitMix64;
use crate::routing::dimension_order::{DimensionOrder, Ties};
use crate::routing::zone::Zone;

impl DimensionOrder {
    pub(super) fn route(&self, network: &Network, src: NodeId, dst: NodeId, route: &mut Vec<LinkId>) -> Option<()> {
        let grid = network.geometry().grid()?;
        let mut at = src;
        for (i, &d) in self.order().iter().enumerate() {
            let up = |d| self.ties().up(grid, src, d, i == 0);
            at = travel(network, grid, at, dst, usize::from(d), up, route)?;
        }
        Some(())
    }
}

impl Zone {
    pub(super) fn route(&self, network: &Network, src: NodeId, dst: NodeId, route: &mut Vec<LinkId>) -> Option<()> {
        let grid = network.geometry().grid()?;
        let pair = u64::from(src.0) << 32 | u64::from(dst.0);
        let mut random = SplitMix64::new(SplitMix64::new(self.seed()).next_u64() ^ pair);
        let mut order = [0; Grid::MAX_DIMENSIONS];
        let order = &mut order[..grid.dims().len()];
        self.order(grid, &mut random, order);
        let mut at = src;
        for &d in order.iter() {
            let up_on_ties = random.next_u64() >> 63 == 0;
            let up = |d| if self.is_random() { up_on_ties } else { Ties::OwnParity.up(grid, src, d, false) };
            at = travel(network, grid, at, dst, d, up, route)?;
        }
        Some(())
    }
}

/// Travels from `at` the shorter way to the coordinate of `dst` in dimension `d`, upwards at a tie if `tie_up(d)`, and
/// returns where that ends.
fn travel(
    network: &Network,
    grid: &Grid,
    mut at: NodeId,
    dst: NodeId,
    d: usize,
    tie_up: impl FnOnce(usize) -> bool,
    route: &mut Vec<LinkId>,
) -> Option<NodeId> {
    let offset = grid.offset(at, dst, d);
    let up = if grid.is_tie(d, offset) { tie_up(d) } else { offset > 0 };
    let (ports, port) = (network.ports()?, 2 * d + usize::from(!up));
    for _ in 0..offset.unsigned_abs() {
        let exit = ports.exit(at, port)?;
        route.push(exit.link);
        at = exit.to;
    }
    Some(at)
}
