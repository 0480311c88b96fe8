//! What software that looks at every hop must know of a fat tree, a dragonfly or a Dragonfly+: where switches stand, and the
//! minimal way from each of them.
//!
//! Everything is computed from the numbers of the vertices; see the files of the topologies for how they are numbered and
//! wired.

use crate::ids::NodeId;
use crate::network::Network;
use crate::switched::closed_form::Plane;
use crate::switched::rails::Switched;
use std::sync::Arc;

/// The parameters of a switched network that a specification made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeKind {
    /// A parallel-ports generalised fat tree (Öhring et al. 1995; Zahavi 2011), one entry for each level above the hosts.
    FatTree {
        /// Children of a vertex of the level.
        children: Vec<u32>,
        /// Parents of a vertex of the level below.
        parents: Vec<u32>,
        /// Parallel cables between a child and each of its parents.
        parallel: Vec<u32>,
        /// Mirrored planes of switches.
        rails: u32,
    },
    /// A dragonfly of routers that are all joined within a group (Kim et al., ISCA 2008).
    Dragonfly {
        /// Hosts on each router.
        hosts: u32,
        /// Routers in each group.
        routers: u32,
        /// Ports for global cables on each router; not all of them need be used.
        global: u32,
        /// Groups.
        groups: u32,
    },
    /// A Dragonfly+ of leaf and spine routers (Shpiner et al., HiPINEB 2017).
    DragonflyPlus {
        /// Hosts on each leaf.
        hosts: u32,
        /// Leaves in each group.
        leaves: u32,
        /// Spines in each group.
        spines: u32,
        /// Ports for global cables on each spine; not all of them need be used.
        global: u32,
        /// Groups.
        groups: u32,
    },
}

/// A switched network that a specification made: read-only, and cheap to clone. See [`Network::switched_shape`].
#[derive(Clone, Debug)]
pub struct Shape(Arc<Switched>);

impl Shape {
    /// The parameters.
    pub fn kind(&self) -> ShapeKind {
        match self.0.plane() {
            Plane::FatTree(tree) => {
                let [children, parents, parallel] = tree.shape().map(<[u32]>::to_vec);
                ShapeKind::FatTree { children, parents, parallel, rails: self.rails() }
            }
            Plane::Dragonfly(d) => {
                let [hosts, routers, global, groups] = d.words();
                ShapeKind::Dragonfly { hosts, routers, global, groups }
            }
            Plane::DragonflyPlus(d) => {
                let [hosts, leaves, spines, global, groups] = d.words();
                ShapeKind::DragonflyPlus { hosts, leaves, spines, global, groups }
            }
        }
    }

    /// Mirrored planes of switches; 1 unless the specification says `rails=`.
    pub fn rails(&self) -> u32 {
        self.0.rails()
    }

    /// Whether `host` has an adapter in a rail; `false` for what is no host or no rail.
    pub fn has_adapter(&self, host: NodeId, rail: u32) -> bool {
        host.0 < self.0.hosts() && rail < self.0.rails() && self.0.has_adapter(host.0, rail)
    }

    /// How many consecutive hosts are the adapters of one node; `None` if each host is a node (no `nodes=`).
    pub fn adapters_per_node(&self) -> Option<u32> {
        self.0.node()
    }

    /// The vertex that is the memory of the node of `host`; `None` without `nodes=`.
    pub fn memory(&self, host: NodeId) -> Option<NodeId> {
        (host.0 < self.0.hosts()).then(|| self.0.memory(host.0)).flatten().map(|memory| NodeId(memory.0))
    }

    /// The rail of a switch; `None` for a host, a memory and for what is no vertex.
    pub fn rail(&self, switch: NodeId) -> Option<u32> {
        (self.0.hosts()..self.0.first_memory()).contains(&switch.0).then(|| self.0.place(switch.0).0)
    }

    /// The group of a host or a switch of a dragonfly or Dragonfly+; 0 in a fat tree, and for what is no vertex.
    pub fn group(&self, vertex: NodeId) -> u32 {
        if vertex.0 < self.0.vertices() { self.0.group(vertex.0) } else { 0 }
    }

    /// How far a vertex is above the hosts: 0 for a host; the level in a fat tree; 1 for a dragonfly's router and a
    /// Dragonfly+'s leaf, 2 for a spine; 1 for a memory; 0 for what is no vertex.
    pub fn level(&self, vertex: NodeId) -> u32 {
        let shape = &*self.0;
        if vertex.0 < shape.hosts() || vertex.0 >= shape.vertices() {
            return 0;
        }
        if vertex.0 >= shape.first_memory() {
            return 1;
        }
        let (_, switch) = shape.place(vertex.0);
        match shape.plane() {
            Plane::FatTree(tree) => tree.level(switch),
            Plane::Dragonfly(_) => 1,
            Plane::DragonflyPlus(d) => 1 + u32::from(d.is_spine(switch)),
        }
    }

    /// Whether the way from a switch to a host leads down only: over no parent, no router of the same kind and no other
    /// group. A host covers itself.
    pub fn covers(&self, vertex: NodeId, host: NodeId) -> bool {
        let shape = &*self.0;
        if vertex.0.max(host.0) >= shape.vertices() || host.0 >= shape.hosts() {
            return false;
        }
        if vertex.0 < shape.hosts() {
            return vertex == host;
        }
        if vertex.0 >= shape.first_memory() {
            return self.memory(host) == Some(vertex);
        }
        let (rail, switch) = shape.place(vertex.0);
        shape.has_adapter(host.0, rail)
            && match shape.plane() {
                Plane::FatTree(tree) => tree.covers(switch, host.0),
                Plane::DragonflyPlus(d) if d.is_spine(switch) => self.group(vertex) == self.group(host),
                // The host's one switch.
                plane => plane.next(host.0, host.0, host.0) == switch,
            }
    }

    /// The next vertex from `at` towards the host `dst` by the fabric's minimal routing (d-mod-k in a fat tree), whatever
    /// routing the network has; `None` if `at` is `dst`, if one of them is out of range, or if `at` is a switch of a rail in which
    /// `dst` has no adapter.
    pub fn next(&self, at: NodeId, dst: NodeId) -> Option<NodeId> {
        let inside = at.0 < self.0.vertices() && dst.0 < self.0.hosts() && at != dst;
        inside.then(|| self.0.next(at.0, dst.0, dst.0).map(NodeId)).flatten()
    }
}

impl Network {
    /// The closed form of a fat tree, a dragonfly or a Dragonfly+ that a specification made; `None` for any other network.
    ///
    /// ```
    /// use optiq_net::{Network, NodeId, ShapeKind};
    ///
    /// let network = Network::from_spec("dragonfly:p=2,a=4,h=2")?;
    /// let shape = network.switched_shape().expect("a dragonfly");
    /// assert_eq!(shape.kind(), ShapeKind::Dragonfly { hosts: 2, routers: 4, global: 2, groups: 9 });
    /// assert_eq!(shape.group(NodeId(71)), 8);
    /// # Ok::<(), optiq_net::NetError>(())
    /// ```
    pub fn switched_shape(&self) -> Option<Shape> {
        self.switched.clone().map(Shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switched::cables::Class;

    #[test]
    fn shapes_agree_with_their_networks() {
        for (spec, top) in [
            ("fattree:3x3x2:1x3x2:1x1x2,rails=2", 3),
            ("dragonfly:p=2,a=3,h=2,g=4", 1),
            ("dragonfly+:p=2,l=3,s=2,h=2,g=4", 2),
            ("star:4,rails=3", 1),
            ("fattree:2x2x2:1x2x1,nodes=2@4GB/s", 3),
            ("dragonfly:p=2,a=3,h=2,g=4,nodes=2@4GB/s", 1),
            ("dragonfly:p=2,a=3,h=2,g=4,rails=2", 1),
            ("dragonfly+:p=2,l=3,s=2,h=2,g=4,rails=3", 2),
        ] {
            let network = Network::from_spec(spec).unwrap();
            let shape = network.switched_shape().unwrap();
            let vertices = || (0..network.vertices() as u32).map(NodeId);
            assert_eq!(vertices().map(|v| shape.level(v)).max(), Some(top), "{spec}");
            for link in (0..network.links().len() as u32).map(crate::ids::LinkId) {
                let ends = network.link(link);
                let same = shape.group(ends.from) == shape.group(ends.to);
                assert_eq!(same, network.class(link) != Class::Global, "{spec}");
            }
            for dst in (0..network.hosts() as u32).map(NodeId) {
                for at in vertices().filter(|&v| v != dst) {
                    // The memory of a node leads nowhere else.
                    let Some(next) = shape.next(at, dst) else {
                        assert!(shape.rail(at).is_none() && !network.is_host(at), "{spec}");
                        continue;
                    };
                    assert!(network.link_between(at, next).is_some(), "{spec}");
                    // Down exactly from what covers the host, and to what covers it.
                    let down = shape.level(next) < shape.level(at) && shape.covers(next, dst);
                    assert!(!shape.covers(at, dst) || down, "{spec}: {} to {}", at.0, dst.0);
                }
                assert_eq!(shape.next(dst, dst), None);
            }
            assert_eq!(shape.next(NodeId(u32::MAX), NodeId(0)), None);
        }
        assert!(Network::from_spec("torus:4x4").unwrap().switched_shape().is_none());
    }
}
