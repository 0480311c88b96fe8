//! Routes that routers choose hop by hop.
//!
//! A packet whose route ends before its destination ([`crate::packet::Route`]) asks the router that it is in when it
//! comes to the head of its buffer; what is decided then holds: requests are never withdrawn. A decision is a function of
//!
//! - the router, the destination, and what the packet remembers ([`Way`]);
//! - the router's own outputs: the credits of the buffers behind them, and the requests that wait ([`Eyes::queue`],
//!   [`Eyes::room`]). What other routers know is not asked: a router could not know it either, and what happens elsewhere at
//!   the same time must not make a difference to simulations on several threads;
//! - random words that are a hash of the seed, the packet and its hop ([`Eyes::random`]), so that they do not depend on
//!   what else is drawn.
//!
//! # Why nothing deadlocks
//!
//! In virtual cut-through a packet that has to wait is in one buffer and, as it has decided, waits for room in one other.
//! So there is no deadlock if the graph of all (channel, class) pairs, with an arc wherever some packet may wait in the one
//! for the other, has no cycle (Dally and Seitz 1987). Each file says why its graph has none; `tests.rs` builds it from
//! every decision in every state that can be reached. Where a decision *reserves* room that is there, the packet does not
//! wait for the buffer, which needs no arc; so Duato's escape channels ("A New Theory of Deadlock-Free Adaptive Routing
//! in Wormhole Networks", IEEE TPDS 4(12), 1993) are all that is waited for in `grid.rs`.

mod dragonfly;
mod dragonfly_plus;
mod fat_tree;
mod grid;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use view::RESERVED;

use crate::SimError;
use crate::fabric::Fabric;
use crate::model::Model;
use crate::policy::Policy;
use bincode::{Decode, Encode};
use optiq_net::{LinkId, Network, NodeId, Shape, ShapeKind};
use std::ops::Range;

/// What a packet remembers of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub(crate) struct Way {
    /// The global channel that it has to take before it goes on minimally; [`Way::NO_VIA`] if there is none.
    via: u32,
    /// Global channels behind it.
    globals: u8,
    /// Local channels behind it since the last global one.
    locals: u8,
    /// The virtual lane of a Dragonfly+.
    lane: u8,
    /// It has left the minimal paths.
    pub(crate) detour: bool,
}

impl Way {
    const NO_VIA: u32 = u32::MAX;
    pub(crate) const START: Way = Way { via: Way::NO_VIA, globals: 0, locals: 0, lane: 0, detour: false };

    /// The virtual lane of a Dragonfly+, 0 elsewhere.
    pub(crate) fn lane(&self) -> u32 {
        self.lane.into()
    }

    fn local(&mut self) {
        self.locals = self.locals.saturating_add(1);
    }

    fn global(&mut self) {
        self.globals = self.globals.saturating_add(1);
        self.locals = 0;
    }
}

/// Where a packet is and where it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The router that decides.
    pub(crate) at: u32,
    /// The packet has come from its host, not from another router.
    pub(crate) first: bool,
    /// The host that it is for.
    pub(crate) dst: u32,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) channel: u32,
    pub(crate) class: u32,
    /// The virtual channel of the class in which room is to be reserved.
    pub(crate) reserve: Option<u32>,
}

impl Choice {
    fn new(channel: u32, class: u32) -> Self {
        Choice { channel, class, reserve: None }
    }
}

/// What a router sees when it decides about a packet.
pub(crate) trait Eyes {
    /// Bytes that are in the way of a packet that asks for a class of an output: in the buffer behind it or on the way
    /// there, and an estimate of what waits for the output.
    fn queue(&mut self, channel: u32, class: u32) -> u64;

    /// A virtual channel of a class whose buffer has room for the packet that nobody has reserved.
    fn room(&mut self, channel: u32, class: u32) -> Option<u32>;

    /// A number below `n`, each as likely.
    fn random(&mut self, n: u32) -> u32;

    /// Of several outputs one with the shortest queue, each of these as likely, and the queue.
    fn least(&mut self, channels: impl Iterator<Item = u32>, class: u32) -> Option<(u32, u64)> {
        let mut best = None;
        let mut ties = 0;
        for channel in channels {
            let queue = self.queue(channel, class);
            match best {
                Some((_, least)) if queue > least => continue,
                Some((_, least)) if queue == least => ties += 1,
                _ => ties = 1,
            }
            // The k-th of several alike replaces what was there with probability 1 / k.
            if ties == 1 || self.random(ties) == 0 {
                best = Some((channel, queue));
            }
        }
        best
    }
}

enum Kind<'n> {
    Grid(grid::Grid<'n>),
    FatTree(fat_tree::FatTree<'n>),
    Dragonfly(dragonfly::Dragonfly<'n>),
    DragonflyPlus(dragonfly_plus::DragonflyPlus),
}

/// A routing on a network, ready to decide.
pub(crate) struct Adaptive<'n> {
    kind: Kind<'n>,
    seed: u64,
    /// A packet of the largest size, on the wire.
    packet: u64,
    /// The buffers of a class on a channel.
    buffer: u64,
}

/// How many classes of virtual channels a routing needs; `None` if it is the fabric's own.
///
/// # Errors
/// [`SimError::Routing`] if it does not fit the network.
pub(crate) fn classes(network: &Network, policy: Policy) -> Result<Option<u32>, SimError> {
    let kind = network.switched_shape().map(|shape| shape.kind());
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
        let buffer = model.router.buffer_bytes.min(u64::from(u32::MAX)) * u64::from(model.router.lanes);
        let packet = model.link.packet_bytes + model.link.header_bytes;
        let shape = network.switched_shape();
        let kind = match (policy, shape) {
            (Policy::MinimalAdaptive, _) => Kind::Grid(grid::Grid::new(network)?),
            (Policy::RandomUp, Some(shape)) => Kind::FatTree(fat_tree::FatTree::new(network, fabric, shape, false)),
            (Policy::AdaptiveUp, Some(shape)) => Kind::FatTree(fat_tree::FatTree::new(network, fabric, shape, true)),
            (Policy::Valiant | Policy::Ugal | Policy::Par, Some(shape)) => {
                Kind::Dragonfly(dragonfly::Dragonfly::new(network, fabric, shape, policy, packet))
            }
            (Policy::Fpar { threshold }, Some(shape)) => {
                let limit = threshold * buffer as f64;
                Kind::DragonflyPlus(dragonfly_plus::DragonflyPlus::new(network, fabric, shape, limit))
            }
            _ => return None,
        };
        Some(Self { kind, seed, packet, buffer })
    }

    /// That of all random words.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The outputs of a router that a decision about a packet will probably ask about, if it is known which.
    #[inline]
    pub(crate) fn likely(&self, at: u32, dst: u32, mut look: impl FnMut(Range<u32>)) {
        match &self.kind {
            Kind::FatTree(tree) => look(tree.likely(at, dst)),
            Kind::DragonflyPlus(dragonfly) => dragonfly.likely(at, dst, look),
            Kind::Grid(_) | Kind::Dragonfly(_) => {}
        }
    }

    /// Where a packet goes next.
    pub(crate) fn decide(&self, fabric: &Fabric, place: Place, way: &mut Way, eyes: &mut impl Eyes) -> Choice {
        match &self.kind {
            Kind::Grid(grid) => grid.decide(fabric, place, eyes),
            Kind::FatTree(tree) => tree.decide(fabric, place, eyes),
            Kind::Dragonfly(dragonfly) => dragonfly.decide(fabric, place, way, eyes),
            Kind::DragonflyPlus(dragonfly) => dragonfly.decide(place, way, eyes),
        }
    }
}

/// The channels from one vertex to its neighbour; none if they are not neighbours.
fn channels_between(network: &Network, fabric: &Fabric, from: u32, to: u32) -> Range<u32> {
    network.link_between(NodeId(from), NodeId(to)).map_or(0..0, |link| channels_of(network, fabric, link))
}

/// The channels of a link.
fn channels_of(network: &Network, fabric: &Fabric, link: LinkId) -> Range<u32> {
    let first = fabric.channel(link);
    first..first + network.link(link).lanes
}

/// The channels by the fabric's minimal routing from `at` towards `dst`.
fn minimal(network: &Network, fabric: &Fabric, shape: &Shape, at: u32, dst: u32) -> Range<u32> {
    let next = shape.next(NodeId(at), NodeId(dst)).map_or(dst, |v| v.0);
    channels_between(network, fabric, at, next)
}

/// The groups of all vertices.
fn groups(network: &Network, shape: &Shape) -> Vec<u32> {
    (0..network.vertices() as u32).map(|v| shape.group(NodeId(v))).collect()
}

/// The switch of each host, where it has one.
fn homes(network: &Network) -> Vec<u32> {
    let home = |host| network.out_links(NodeId(host)).next().map_or(host, |link| network.link(link).to.0);
    (0..network.hosts() as u32).map(home).collect()
}
