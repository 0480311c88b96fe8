//! Parallel links of one pair of vertices, one by one, and where hosts are joined to them.

use optiq_net::{LinkId, Network, NodeId};
use std::ops::Range;

/// The physical links of a network, numbered bundle by bundle.
#[derive(Clone, Debug)]
pub(crate) struct PhysicalLinks<'n> {
    network: &'n Network,
    /// Per link, its first physical one; and how many there are in all.
    first: Vec<u32>,
}

impl<'n> PhysicalLinks<'n> {
    pub(crate) fn new(network: &'n Network) -> Self {
        let mut first = Vec::with_capacity(network.links().len() + 1);
        let mut sum = 0;
        for link in network.links() {
            first.push(sum);
            sum += link.lanes;
        }
        first.push(sum);
        Self { network, first }
    }

    pub(crate) fn len(&self) -> usize {
        self.first.last().map_or(0, |&n| n as usize)
    }

    /// Those that a packet may take.
    pub(crate) fn taken(&self, link: LinkId, src: NodeId, dst: NodeId) -> Range<usize> {
        let all = self.all(link);
        if all.len() == 1 {
            return all;
        }
        match self.network.lane(link, src, dst) {
            Some(lane) => all.start + lane as usize..all.start + lane as usize + 1,
            None => all,
        }
    }

    pub(crate) fn all(&self, link: LinkId) -> Range<usize> {
        self.first[link.index()] as usize..self.first[link.index() + 1] as usize
    }

    /// The link and the lane of a physical link.
    pub(crate) fn place(&self, physical: usize) -> (LinkId, u32) {
        let link = self.first.partition_point(|&f| f as usize <= physical) - 1;
        (LinkId(link as u32), physical as u32 - self.first[link])
    }
}

/// Where packets of a host enter the trees of routes: at its switch, if it hangs there by a single cable.
pub(crate) fn entry(network: &Network, links: &PhysicalLinks<'_>, host: NodeId) -> (NodeId, Option<u32>) {
    let out = network.out_range(host);
    let link = LinkId(out.start);
    if out.len() != 1 || network.link(link).lanes != 1 || network.is_host(network.link(link).to) {
        return (host, None);
    }
    (network.link(link).to, Some(links.all(link).start as u32))
}
