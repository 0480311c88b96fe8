//! The channels of a network that a routing chooses from.

use crate::router::fabric::Fabric;
use optiq_net::{LinkId, Network, NodeId, Shape};
use std::ops::Range;

/// The channels from one vertex to its neighbour; none if they are not neighbours.
pub(super) fn channels_between(network: &Network, fabric: &Fabric, from: u32, to: u32) -> Range<u32> {
    network.link_between(NodeId(from), NodeId(to)).map_or(0..0, |link| channels_of(network, fabric, link))
}

/// The channels of a link.
pub(super) fn channels_of(network: &Network, fabric: &Fabric, link: LinkId) -> Range<u32> {
    let first = fabric.channel(link);
    first..first + network.link(link).lanes
}

/// The channels by the fabric's minimal routing from `at` towards `dst`.
pub(super) fn minimal(network: &Network, fabric: &Fabric, shape: &Shape, at: u32, dst: u32) -> Range<u32> {
    let next = shape.next(NodeId(at), NodeId(dst)).map_or(dst, |v| v.0);
    channels_between(network, fabric, at, next)
}

/// The groups of all vertices.
pub(super) fn groups(network: &Network, shape: &Shape) -> Vec<u32> {
    (0..network.vertices() as u32).map(|v| shape.group(NodeId(v))).collect()
}

/// The switch of each host, where it has one.
pub(super) fn homes(network: &Network) -> Vec<u32> {
    let home = |host| network.out_links(NodeId(host)).next().map_or(host, |link| network.link(link).to.0);
    (0..network.hosts() as u32).map(home).collect()
}
