//! Tori and meshes: any direction that leads closer (minimal adaptive).
//!
//! J. Duato, "A New Theory of Deadlock-Free Adaptive Routing in Wormhole Networks", IEEE TPDS 4(12), 1993, with what virtual
//! cut-through makes simpler. In each direction there is an adaptive class of virtual channels and an *escape* class, which
//! follows dimension order. A packet takes, of all directions that lead closer and have unreserved space in the adaptive
//! class, the one with the shortest queue, and reserves its space. If there is none, it waits for the escape class. At
//! exactly half a ring both directions lead closer.
//!
//! No packet waits for space in an adaptive class. So packets wait for escape buffers only, and a packet in one waits only for
//! one that follows in dimension order: in a higher dimension, or in the same ring. There the class is 0 as long as
//! the path to the destination's position still leads around the ring's end, over which it goes in class 0, and 1 if
//! not (Dally and Seitz's dateline, as a function of where the packet is and not of where it was: it may have come there by
//! adaptive channels). Class 0 leads from position to position up to the ring's end and into class 1, which leads never
//! over it; so there is no cycle.

use super::ports::channels_of;
use super::router_view::{Choice, Place, RouterView};
use crate::router::fabric::Fabric;
use optiq_net::{Network, NodeId, Ports};

/// Escape classes: two if there are rings in which a packet can go around the end.
pub(crate) fn escapes(grid: &optiq_net::Grid) -> u32 {
    1 + u32::from(grid.wrap().iter().zip(grid.dims()).any(|(&wrap, &length)| wrap && length > 2))
}

pub(crate) struct Grid<'n> {
    network: &'n Network,
    grid: &'n optiq_net::Grid,
    ports: &'n Ports,
    /// The class above the escape classes.
    adaptive: u32,
}

impl<'n> Grid<'n> {
    pub(crate) fn new(network: &'n Network) -> Option<Self> {
        let (grid, ports) = (network.geometry().grid()?, network.ports()?);
        Some(Self { network, grid, ports, adaptive: escapes(grid) })
    }

    /// The signed number of steps that are left in a dimension.
    fn left(&self, at: u32, dst: u32, d: usize) -> i64 {
        self.grid.offset(NodeId(at), NodeId(dst), d)
    }

    pub(crate) fn decide(&self, fabric: &Fabric, place: Place, view: &mut impl RouterView) -> Choice {
        let Place { at, dst, .. } = place;
        if at == dst {
            return Choice::new(fabric.ejection(dst), 0);
        }
        let (mut best, mut ties) = (None, 0);
        let mut first = None;
        for d in 0..self.grid.dims().len() {
            let left = self.left(at, dst, d);
            if left == 0 {
                continue;
            }
            first.get_or_insert((d, left));
            // In a ring of two both directions are one link.
            let both = self.grid.is_tie(d, left) && self.grid.dims()[d] > 2;
            for port in [2 * d, 2 * d + 1].into_iter().filter(|p| both || (p % 2 == 0) == (left > 0)) {
                let Some(exit) = self.ports.exit(NodeId(at), port) else { continue };
                for channel in channels_of(self.network, fabric, exit.link) {
                    let Some(vc) = view.space(channel, self.adaptive) else { continue };
                    let queue = view.queue(channel, self.adaptive);
                    match best {
                        Some((least, _)) if queue > least => continue,
                        Some((least, _)) if queue == least => ties += 1,
                        _ => ties = 1,
                    }
                    if ties == 1 || view.random(ties) == 0 {
                        best = Some((queue, Choice { channel, class: self.adaptive, reserve: Some(vc) }));
                    }
                }
            }
        }
        // A packet that is not at its destination has a dimension left.
        let escape =
            || first.map_or(Choice::new(fabric.ejection(dst), 0), |(d, left)| self.escape(fabric, at, d, left));
        best.map_or_else(escape, |(_, choice)| choice)
    }

    /// By the escape class, `left` steps in dimension `d`.
    fn escape(&self, fabric: &Fabric, at: u32, d: usize, left: i64) -> Choice {
        let length = i64::from(self.grid.dims()[d]);
        let end = i64::from(self.grid.coordinate(NodeId(at), d)) + left;
        let around = end < 0 || end >= length;
        let port = 2 * d + usize::from(left < 0);
        // In a ring of two the link down counts as the link up.
        let exit = self.ports.exit(NodeId(at), port).or_else(|| self.ports.exit(NodeId(at), port ^ 1));
        let channel = exit.map_or(fabric.ejection(at), |exit| fabric.channel(exit.link));
        Choice::new(channel, if self.adaptive > 1 { u32::from(!around) } else { 0 })
    }
}
