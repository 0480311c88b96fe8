//! Routes that routers choose hop by hop.
//!
//! When a packet whose route ends before its destination ([`crate::engine::packet::Route`]) comes to the head of its buffer, the
//! router decides where it goes. The decision stands: requests are never withdrawn. It is a function of
//!
//! - the router, the destination, and what the packet remembers ([`RouteState`]);
//! - the router's own outputs: the credits of the buffers behind them, and the requests that wait ([`RouterView::queue`],
//!   [`RouterView::space`]). The state of other routers is not used: a real router does not know it either, and what happens
//!   elsewhere at the same time must not make a difference to simulations on several threads;
//! - random draws that are a hash of the seed, the packet and its hop ([`RouterView::random`]), so that they do not depend on
//!   what else is drawn.
//!
//! # Why nothing deadlocks
//!
//! In virtual cut-through a packet that has to wait is in one buffer and, as it has decided, waits for space in one other.
//! So there is no deadlock if the graph of all (channel, class) pairs, with an arc wherever some packet may wait in the one
//! for the other, has no cycle (Dally and Seitz 1987). Each file says why its graph has none; `tests.rs` builds it from
//! every decision in every state that can be reached. Where a decision *reserves* free space, the packet does not
//! wait for the buffer, which needs no arc; so Duato's escape channels ("A New Theory of Deadlock-Free Adaptive Routing
//! in Wormhole Networks", IEEE TPDS 4(12), 1993) are all that is waited for in `grid.rs`.

pub(crate) mod dependencies;
mod dragonfly;
mod dragonfly_plus;
mod fat_tree;
mod grid;
mod ports;
pub(crate) mod router_view;
#[cfg(test)]
mod tests;

use self::router_view::{Choice, Place, RouterView};
use crate::engine::packet::RouteState;
use crate::error::SimError;
use crate::model::Model;
use crate::router::fabric::Fabric;
use crate::router::policy::Policy;
use optiq_net::{Class, Network, ShapeKind};
use std::ops::Range;

enum Topology<'n> {
    Grid(grid::Grid<'n>),
    FatTree(fat_tree::FatTree<'n>),
    Dragonfly(dragonfly::Dragonfly<'n>),
    DragonflyPlus(dragonfly_plus::DragonflyPlus),
}

/// A routing on a network, ready to decide.
pub(crate) struct Adaptive<'n> {
    topology: Topology<'n>,
    seed: u64,
    /// A packet of the largest size, on the wire.
    packet: u64,
}

/// How many classes of virtual channels a routing needs; `None` if it is the fabric's own.
///
/// # Errors
/// [`SimError::Routing`] if it does not fit the network.
pub(crate) fn classes(network: &Network, policy: Policy) -> Result<Option<u32>, SimError> {
    let shape = network.switched_shape();
    let several = shape.as_ref().is_some_and(|shape| shape.rails() > 1);
    let kind = shape.map(|shape| shape.kind());
    let needs = |what: &str| {
        let spec: String = network.spec().chars().take(80).collect();
        let spec = if spec.is_empty() { "this network" } else { &spec };
        Err(SimError::Routing(format!("routing {} needs a {what}; {spec} is not one", policy.name())))
    };
    Ok(Some(match (policy, kind) {
        (Policy::Fabric, _) => return Ok(None),
        (Policy::MinimalAdaptive, _) => match network.geometry().grid() {
            Some(shape) => grid::escapes(shape) + 1,
            None => return needs("torus or mesh"),
        },
        (Policy::RandomUp | Policy::AdaptiveUp, Some(ShapeKind::FatTree { .. })) => 1,
        (Policy::RandomUp | Policy::AdaptiveUp, _) => return needs("fat tree"),
        // Their virtual channels and detours are numbered through one plane.
        (Policy::Valiant | Policy::Ugal | Policy::Par | Policy::Fpar { .. }, Some(_)) if several => {
            return needs("network of one rail");
        }
        (Policy::Valiant | Policy::Ugal, Some(ShapeKind::Dragonfly { .. })) => 3,
        (Policy::Par, Some(ShapeKind::Dragonfly { .. })) => 4,
        (Policy::Valiant | Policy::Ugal | Policy::Par, _) => return needs("dragonfly"),
        (Policy::Fpar { threshold }, _) if !(0.0..=1.0).contains(&threshold) => {
            let text = format!("the threshold of routing fpar is {threshold}; a number from 0 to 1 is expected");
            return Err(SimError::Routing(text));
        }
        (Policy::Fpar { .. }, Some(ShapeKind::DragonflyPlus { .. })) => 2,
        (Policy::Fpar { .. }, _) => return needs("Dragonfly+"),
    }))
}

impl<'n> Adaptive<'n> {
    /// The routing `policy` on a network, if it is not the fabric's own; `fabric` has as many classes as [`classes`] says.
    pub(crate) fn new(network: &'n Network, fabric: &Fabric, model: &Model, policy: Policy, seed: u64) -> Option<Self> {
        let of_class = |bytes: u64| bytes.min(u64::from(u32::MAX)) * u64::from(model.router.lanes);
        let packet = model.link.packet_bytes + model.link.header_bytes;
        let shape = network.switched_shape();
        let topology = match (policy, shape) {
            (Policy::MinimalAdaptive, _) => Topology::Grid(grid::Grid::new(network)?),
            (Policy::RandomUp, Some(shape)) => Topology::FatTree(fat_tree::FatTree::new(network, fabric, shape, false)),
            (Policy::AdaptiveUp, Some(shape)) => {
                Topology::FatTree(fat_tree::FatTree::new(network, fabric, shape, true))
            }
            (Policy::Valiant | Policy::Ugal | Policy::Par, Some(shape)) => {
                Topology::Dragonfly(dragonfly::Dragonfly::new(network, fabric, shape, policy, packet))
            }
            (Policy::Fpar { threshold }, Some(shape)) => {
                let limit = |class| threshold * of_class(model.router.buffer(class)) as f64;
                let limits = dragonfly_plus::Limits { local: limit(Class::Local), global: limit(Class::Global) };
                Topology::DragonflyPlus(dragonfly_plus::DragonflyPlus::new(network, fabric, shape, limits))
            }
            _ => return None,
        };
        Some(Self { topology, seed, packet })
    }

    /// The size of the largest packet, on the wire.
    #[inline]
    pub(crate) fn packet_bytes(&self) -> u64 {
        self.packet
    }

    /// The seed of all random draws.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The outputs of a router that a decision about a packet will probably look at, if it is known which.
    #[inline]
    pub(crate) fn likely(&self, at: u32, dst: u32, mut look: impl FnMut(Range<u32>)) {
        match &self.topology {
            Topology::FatTree(tree) => look(tree.likely(at, dst)),
            Topology::DragonflyPlus(dragonfly) => dragonfly.likely(at, dst, look),
            Topology::Grid(_) | Topology::Dragonfly(_) => {}
        }
    }

    /// Where a packet goes next.
    pub(crate) fn decide(
        &self,
        fabric: &Fabric,
        place: Place,
        state: &mut RouteState,
        view: &mut impl RouterView,
    ) -> Choice {
        match &self.topology {
            Topology::Grid(grid) => grid.decide(fabric, place, view),
            Topology::FatTree(tree) => tree.decide(fabric, place, view),
            Topology::Dragonfly(dragonfly) => dragonfly.decide(fabric, place, state, view),
            Topology::DragonflyPlus(dragonfly) => dragonfly.decide(place, state, view),
        }
    }
}
