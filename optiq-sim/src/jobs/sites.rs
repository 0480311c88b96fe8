//! Where hosts stand: the leaf switches of a network, and what is above them.
//!
//! A *leaf switch* is a switch with hosts on it. Leaves are numbered in the order of their switches, which is that of their
//! hosts; a host that is on several (a fat tree of several rails) counts to the first of them. A *pod* is what leaves have in
//! common: in a fat tree the tree below one port of the top level, in a dragonfly or Dragonfly+ the group.

use optiq_net::{Network, NodeId, ShapeKind};
use std::collections::BTreeMap;

/// See the top of the file.
#[derive(Clone, Debug)]
pub struct Sites {
    /// Per leaf, its switch.
    switches: Vec<NodeId>,
    /// Per leaf, its hosts, ascending.
    leaves: Vec<Vec<NodeId>>,
    /// Per leaf, its pod; all 0 if nothing is known of pods.
    pods: Vec<u32>,
    /// Per host, its leaf. Empty without switches.
    leaf_of: Vec<u32>,
    /// Whether pods are groups.
    has_groups: bool,
    /// Whether the network has a shape that says what pods are.
    has_pods: bool,
}

impl Sites {
    /// Those of a network; without any leaf if hosts are joined directly.
    pub fn new(network: &Network) -> Self {
        let hosts = network.hosts() as u32;
        let first = |h: u32| network.out_links(NodeId(h)).map(|l| network.link(l).to).find(|&to| !network.is_host(to));
        let mut by_switch: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for host in 0..hosts {
            if let Some(switch) = first(host) {
                by_switch.entry(switch).or_default().push(NodeId(host));
            }
        }
        let (switches, leaves): (Vec<NodeId>, Vec<Vec<NodeId>>) = by_switch.into_iter().unzip();
        let mut leaf_of = vec![u32::MAX; if leaves.is_empty() { 0 } else { hosts as usize }];
        for (leaf, hosts) in (0..).zip(&leaves) {
            hosts.iter().for_each(|h| leaf_of[h.index()] = leaf);
        }
        let shape = network.switched_shape();
        let pod = |leaf: usize| match shape.as_ref().map(|s| (s, s.kind())) {
            // Below the top level there is one tree for each of its children.
            Some((_, ShapeKind::FatTree { children, .. })) => {
                let pods = children.last().copied().unwrap_or(1) as usize;
                (leaf * pods / leaves.len().max(1)) as u32
            }
            Some((shape, _)) => shape.group(switches[leaf]),
            None => 0,
        };
        let pods = (0..leaves.len()).map(pod).collect();
        let has_groups = shape.as_ref().is_some_and(|s| !matches!(s.kind(), ShapeKind::FatTree { .. }));
        Self { switches, pods, leaf_of, has_groups, has_pods: shape.is_some(), leaves }
    }

    /// How many leaf switches there are.
    pub fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// The switch of a leaf. Panics if there is no such leaf.
    pub fn switch(&self, leaf: usize) -> NodeId {
        self.switches[leaf]
    }

    /// The hosts of a leaf, ascending. Panics if there is no such leaf.
    pub fn hosts(&self, leaf: usize) -> &[NodeId] {
        &self.leaves[leaf]
    }

    /// The leaf of a host, if it is on a switch.
    pub fn leaf_of(&self, host: NodeId) -> Option<usize> {
        self.leaf_of.get(host.index()).filter(|&&leaf| leaf != u32::MAX).map(|&leaf| leaf as usize)
    }

    /// The pod of a leaf. Panics if there is no such leaf.
    pub fn pod(&self, leaf: usize) -> u32 {
        self.pods[leaf]
    }

    /// The leaves of each group of a dragonfly or Dragonfly+, by group; `None` in other networks.
    pub fn groups(&self) -> Option<Vec<Vec<usize>>> {
        self.has_groups.then(|| self.by_pod())
    }

    /// The leaves of each pod, by pod. In a network of an unknown shape every leaf is a pod of its own.
    pub fn by_pod(&self) -> Vec<Vec<usize>> {
        if !self.has_pods {
            return (0..self.leaves.len()).map(|leaf| vec![leaf]).collect();
        }
        let mut pods: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        (0..self.leaves.len()).for_each(|leaf| pods.entry(self.pods[leaf]).or_default().push(leaf));
        pods.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn leaves_and_pods_of_the_topologies() {
        // 72 leaves of 18 hosts in 4 pods of 18 leaves.
        let network = Network::from_spec("fattree:brown1296").unwrap();
        let sites = Sites::new(&network);
        assert_eq!((sites.leaves(), sites.hosts(71).len(), sites.by_pod().len()), (72, 18, 4));
        assert_eq!(sites.by_pod()[2], (36..54).collect::<Vec<_>>());
        assert_eq!((sites.leaf_of(NodeId(1295)), sites.pod(71), sites.groups()), (Some(71), 3, None));
        assert_eq!(network.name(sites.switch(0)), "s0");
        // 9 groups of 4 routers with 2 hosts each.
        let sites = Sites::new(&Network::from_spec("dragonfly:p=2,a=4,h=2").unwrap());
        assert_eq!((sites.leaves(), sites.groups().unwrap().len()), (36, 9));
        assert_eq!(sites.groups().unwrap()[8], [32, 33, 34, 35]);
        // Spines are no leaves.
        let sites = Sites::new(&Network::from_spec("dragonfly+:p=2,l=3,s=3,h=2").unwrap());
        assert_eq!((sites.leaves(), sites.groups().unwrap()[1].clone()), (21, vec![3, 4, 5]));
        // Two rails: each host counts to its first leaf.
        let sites = Sites::new(&Network::from_spec("fattree:2x2:1x2,rails=2").unwrap());
        assert_eq!((sites.leaves(), sites.hosts(1).to_vec()), (2, vec![NodeId(2), NodeId(3)]));
        let sites = Sites::new(&Network::from_spec("torus:4x4").unwrap());
        assert_eq!((sites.leaves(), sites.leaf_of(NodeId(0))), (0, None));
        let sites = Sites::new(&Network::from_spec("star:5").unwrap());
        assert_eq!((sites.leaves(), sites.by_pod()), (1, vec![vec![0]]));
    }
}
