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
    /// Per vertex, what is below it, where that is regular. It says no more than the shape, in a division.
    down: Option<Vec<Down>>,
    adaptive: bool,
}

/// What is below a switch: hosts one after the other, the same number of them below each of its children.
#[derive(Clone, Copy, Debug)]
struct Down {
    first_host: u32,
    hosts: u32,
    hosts_of_child: u32,
    /// The channels to the children, as many to each.
    first_channel: u32,
    channels_of_child: u32,
}

impl Down {
    /// What is below each vertex, a host above itself; `None` if it is not as regular anywhere, as where hosts lack adapters.
    fn of_all(network: &Network, fabric: &Fabric, shape: &Shape) -> Option<Vec<Self>> {
        let host = |h| Self { first_host: h, hosts: 1, hosts_of_child: 1, first_channel: 0, channels_of_child: 0 };
        let mut all: Vec<Self> = (0..network.hosts() as u32).map(host).collect();
        // Children have lower numbers.
        for v in network.hosts() as u32..network.vertices() as u32 {
            let mut here: Option<Self> = None;
            for link in network.out_links(NodeId(v)) {
                let child = network.link(link).to;
                if shape.level(child) >= shape.level(NodeId(v)) {
                    continue;
                }
                let (below, channels) = (*all.get(child.index())?, channels_of(network, fabric, link));
                let (hosts, lanes) = (below.hosts, channels.len() as u32);
                let here = here.get_or_insert(Self {
                    first_host: below.first_host,
                    hosts: 0,
                    hosts_of_child: hosts,
                    first_channel: channels.start,
                    channels_of_child: lanes,
                });
                let next = here.towards_place(here.hosts);
                if (below.first_host, hosts) != (here.first_host + here.hosts, here.hosts_of_child) || channels != next
                {
                    return None;
                }
                here.hosts += hosts;
            }
            all.push(here?);
        }
        Some(all)
    }

    /// The channels that lead down to a host, if it is below.
    #[inline]
    fn towards(&self, host: u32) -> Option<Range<u32>> {
        let place = host.wrapping_sub(self.first_host);
        (place < self.hosts).then(|| self.towards_place(place))
    }

    /// The channels to the child that has this one of the hosts, counted from the first.
    #[inline]
    fn towards_place(&self, place: u32) -> Range<u32> {
        let first = self.first_channel + place / self.hosts_of_child * self.channels_of_child;
        first..first + self.channels_of_child
    }
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
        let down = Down::of_all(network, fabric, &shape);
        Self { network, up, down, shape, adaptive }
    }

    /// The channels down to a host; `None` if it is not below the switch.
    #[inline]
    fn down(&self, fabric: &Fabric, at: u32, dst: u32) -> Option<Range<u32>> {
        match &self.down {
            Some(down) => down[at as usize].towards(dst),
            None => self.covers(at, dst).then(|| minimal(self.network, fabric, &self.shape, at, dst)),
        }
    }

    fn covers(&self, at: u32, dst: u32) -> bool {
        self.shape.covers(NodeId(at), NodeId(dst))
    }

    /// The outputs that [`FatTree::decide`] will look at; none if there is no choice.
    #[inline]
    pub(crate) fn likely(&self, at: u32, dst: u32) -> Range<u32> {
        let covers = || match &self.down {
            Some(down) => down[at as usize].towards(dst).is_some(),
            None => self.covers(at, dst),
        };
        if !self.adaptive || covers() { 0..0 } else { self.up[at as usize].clone() }
    }

    pub(crate) fn decide(&self, fabric: &Fabric, place: Place, view: &mut impl RouterView) -> Choice {
        let Place { at, dst, .. } = place;
        let channels = self.down(fabric, at, dst).unwrap_or_else(|| self.up[at as usize].clone());
        let channel = match channels.len() {
            1 => channels.start,
            _ if self.adaptive => view.least_in(channels.clone(), 0).map_or(channels.start, |best| best.0),
            n => channels.start + view.random(n as u32),
        };
        Choice::new(channel, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;

    #[test]
    fn what_is_below_is_what_the_shape_says() {
        for (spec, regular) in [
            ("fattree:k=4", true),
            ("fattree:3x3x2:1x3x2:1x1x3", true),
            ("fattree:4x2:1x1,rails=2", true),
            ("fattree:2x2x2:1x2x1,nodes=2@4GB/s", true),
            ("star:4,rails=2,adapters=1.1@none", false),
        ] {
            let network = Network::from_spec(spec).unwrap();
            let fabric = Fabric::new(&network, &Model::default(), 1);
            let tree = FatTree::new(&network, &fabric, network.switched_shape().unwrap(), true);
            assert_eq!(tree.down.is_some(), regular, "{spec}");
            for at in network.hosts() as u32..network.vertices() as u32 {
                for dst in 0..network.hosts() as u32 {
                    let expected = tree.covers(at, dst).then(|| minimal(&network, &fabric, &tree.shape, at, dst));
                    assert_eq!(tree.down(&fabric, at, dst), expected, "{spec}: {at} to {dst}");
                }
            }
        }
    }
}
