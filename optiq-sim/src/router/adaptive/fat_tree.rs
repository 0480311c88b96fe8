//! Fat trees: up by any port, down by the only path.
//!
//! A switch that is not above the destination sends up, and every parent is as good as any other (F. Petrini and M. Vanneschi,
//! "k-ary n-trees: High Performance Networks for Massively Parallel Architectures", IPPS 1997). It takes a port at random, or
//! the one with the shortest queue: the most credits of the next buffer, less what already waits for it; of several alike a
//! random one. Down, there is a choice only among parallel cables.
//!
//! Packets go up and then down and never up again: channels up depend on those further up and on those down, channels down on
//! those further down. There is no cycle, with one class.
//!
//! The source's cable (where a host has several, or several rails) is the one of the fabric's own route: a host is no router.

use super::ports::{channels_of, minimal};
use super::router_view::{Choice, Place, RouterView};
use crate::router::fabric::Fabric;
use optiq_net::{Network, NodeId, Shape};
use std::ops::Range;

pub(crate) struct FatTree<'n> {
    network: &'n Network,
    shape: Shape,
    /// Per vertex, its channels to its parents.
    up: Vec<Range<u32>>,
    adaptive: bool,
}

impl<'n> FatTree<'n> {
    pub(crate) fn new(network: &'n Network, fabric: &Fabric, shape: Shape, adaptive: bool) -> Self {
        let up = |v: u32| {
            let level = shape.level(NodeId(v));
            let mut range = 0..0;
            // Parents have higher numbers than children in the same plane, so their channels follow each other.
            for link in network.out_links(NodeId(v)).filter(|&l| shape.level(network.link(l).to) > level) {
                let channels = channels_of(network, fabric, link);
                range = if range.is_empty() { channels } else { range.start..channels.end };
            }
            range
        };
        let up = (0..network.vertices() as u32).map(up).collect();
        Self { network, up, shape, adaptive }
    }

    /// The outputs that [`FatTree::decide`] will look at; none if there is no choice.
    pub(crate) fn likely(&self, at: u32, dst: u32) -> Range<u32> {
        if !self.adaptive || self.shape.covers(NodeId(at), NodeId(dst)) { 0..0 } else { self.up[at as usize].clone() }
    }

    pub(crate) fn decide(&self, fabric: &Fabric, place: Place, view: &mut impl RouterView) -> Choice {
        let Place { at, dst, .. } = place;
        let channels = if self.shape.covers(NodeId(at), NodeId(dst)) {
            minimal(self.network, fabric, &self.shape, at, dst)
        } else {
            self.up[at as usize].clone()
        };
        let channel = match channels.len() {
            1 => channels.start,
            _ if self.adaptive => view.least(channels.clone(), 0).map_or(channels.start, |best| best.0),
            n => channels.start + view.random(n as u32),
        };
        Choice::new(channel, 0)
    }
}
