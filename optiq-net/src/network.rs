//! The network as a directed multigraph in compressed sparse rows.
//!
//! Vertices are numbered densely: hosts are `0..hosts()`, switches follow. Links are directed and sorted by
//! `(from, to)`, so that the links leaving a vertex are one contiguous range of [`LinkId`]s. Parallel physical
//! links between the same pair of vertices are one [`Link`] with `lanes > 1` and the summed capacity: no
//! software and no routing function can tell them apart, and a bundle shares its load evenly.

use crate::fingerprint::{Fingerprint, Hasher};
use crate::geometry::Geometry;
use crate::ids::{Link, LinkId, NodeId};
use crate::io_list::IoHosts;
use crate::names::Names;
use crate::ports::Ports;
use crate::routing::Routing;
use crate::routing::equal_cost::EqualCostRows;
use crate::routing::shortest::ShortestRows;
use crate::switched::cables::Class;
use crate::switched::rails::Switched;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A network: vertices, links, the geometry where there is one, and the fabric's own routing.
///
/// Immutable once built ([`crate::builder::NetworkBuilder`]); cheap to share behind an `Arc`.
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) spec: String,
    pub(crate) title: String,
    pub(crate) hosts: usize,
    pub(crate) names: Names,
    pub(crate) links: Vec<Link>,
    /// Per link, the vertex that receives, once more: in few cache lines for who looks for a neighbour.
    pub(crate) ends: Vec<u32>,
    /// `first_out[v]..first_out[v + 1]` are the links that leave `v`.
    pub(crate) first_out: Vec<u32>,
    /// `in_links[first_in[v]..first_in[v + 1]]` are the links that enter `v`, in ascending order.
    pub(crate) first_in: Vec<u32>,
    pub(crate) in_links: Vec<LinkId>,
    pub(crate) geometry: Geometry,
    pub(crate) routing: Routing,
    /// The closed form of a fat tree or dragonfly that a specification made.
    pub(crate) switched: Option<Arc<Switched>>,
    /// Shortest-path next hops, computed for a destination when they are first asked for.
    pub(crate) shortest: ShortestRows,
    /// What [`Network::unit_capacity`] was before background load was taken off; `None` if none was.
    pub(crate) unit_capacity: Option<f64>,
    /// Where the storage is; no part of the fingerprint.
    pub(crate) io: IoHosts,
    pub(crate) derived: Derived,
}

/// What follows from the rest of a network and is computed when it is first asked for. Whoever changes a network
/// begins it anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derived {
    fingerprint: OnceLock<Fingerprint>,
    ports: OnceLock<Option<Arc<Ports>>>,
    pub(crate) equal_cost: OnceLock<EqualCostRows>,
    /// See [`Network::unused_equal_paths`].
    pub(crate) unused: OnceLock<Option<(NodeId, NodeId)>>,
    /// Per host: see [`Network::default_io_host`].
    pub(crate) default_io: OnceLock<Vec<NodeId>>,
}

impl Network {
    /// The specification that the network was made from, in its canonical form (`torus:4x4,capacity=...`).
    pub fn spec(&self) -> &str {
        &self.spec
    }

    /// The network's name for people: the one its file gives, or else the specification.
    pub fn title(&self) -> &str {
        if self.title.is_empty() { &self.spec } else { &self.title }
    }

    /// Number of hosts; they are the vertices `0..hosts()`.
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// Number of vertices: hosts and switches.
    pub fn vertices(&self) -> usize {
        self.names.len()
    }

    /// Whether `node` is a host (and not a switch).
    pub fn is_host(&self, node: NodeId) -> bool {
        node.index() < self.hosts
    }

    /// All directed links, sorted by `(from, to)`.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// One link.
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// Number of directed physical links: the sum of all lanes.
    pub fn physical_links(&self) -> usize {
        self.links.iter().map(|l| l.lanes as usize).sum()
    }

    /// The links that leave `node`, a contiguous range of link indices.
    pub fn out_range(&self, node: NodeId) -> Range<u32> {
        self.first_out[node.index()]..self.first_out[node.index() + 1]
    }

    /// The links that leave `node`, ascending by neighbour.
    pub fn out_links(&self, node: NodeId) -> impl DoubleEndedIterator<Item = LinkId> + use<> {
        self.out_range(node).map(LinkId)
    }

    /// The links that enter `node`, ascending by link.
    pub fn in_links(&self, node: NodeId) -> &[LinkId] {
        let range = self.first_in[node.index()] as usize..self.first_in[node.index() + 1] as usize;
        &self.in_links[range]
    }

    /// The link (or bundle) from `from` to `to`, if they are neighbours.
    pub fn link_between(&self, from: NodeId, to: NodeId) -> Option<LinkId> {
        let range = self.out_range(from);
        let ends = &self.ends[range.start as usize..range.end as usize];
        // The hosts of a switch, its parents and the switches of its group are mostly numbered one after the other.
        let is_there = |&i: &u32| ends.get(i as usize) == Some(&to.0);
        let from_first = Some(to.0.wrapping_sub(*ends.first()?)).filter(is_there);
        let from_last = || Some((ends.len() as u32 - 1).wrapping_sub(ends.last()?.wrapping_sub(to.0))).filter(is_there);
        let found = from_first.or_else(from_last).or_else(|| ends.binary_search(&to.0).ok().map(|i| i as u32));
        found.map(|i| LinkId(range.start + i))
    }

    /// Capacity in bytes per second of the slowest physical link: the unit in which "bytes per unit link" counts.
    /// 0 on a network without links. Of a network with background load ([`Network::with_background`]), that of the
    /// slowest link without it.
    pub fn unit_capacity(&self) -> f64 {
        if let Some(capacity) = self.unit_capacity {
            return capacity;
        }
        self.links.iter().map(|l| l.capacity / f64::from(l.lanes)).min_by(f64::total_cmp).unwrap_or(0.0)
    }

    /// The vertex's name: host names as the job launcher knows them, switch names for people.
    pub fn name(&self, node: NodeId) -> &str {
        self.names.of(node)
    }

    /// The grid that the vertices form, if they form one.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The fabric's own routing.
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// What a link joins. Links of a network whose shape is not known (of a file, say) are terminal or local; those of a
    /// network without switches are local.
    pub fn class(&self, link: LinkId) -> Class {
        let Link { from, to, .. } = *self.link(link);
        match &self.switched {
            Some(shape) => shape.class(from.0, to.0),
            None if self.hosts < self.vertices() && (self.is_host(from) || self.is_host(to)) => Class::Terminal,
            None => Class::Local,
        }
    }

    /// Which of the parallel physical links of a bundle the fabric's own route from host `src` to host `dst` takes;
    /// `None` where the routing does not tell them apart.
    pub fn lane(&self, link: LinkId, src: NodeId, dst: NodeId) -> Option<u32> {
        let Link { from, to, .. } = *self.link(link);
        let key = self.routing.key(src, dst)?;
        self.switched.as_ref()?.lane(from.0, to.0, key, dst.0)
    }

    /// A fingerprint of everything that a plan depends on: vertices, links, lanes, capacities and routing, not names.
    /// It is computed once and kept.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.derived.fingerprint.get_or_init(|| self.compute_fingerprint())
    }

    /// The ports of a grid's vertices as a table, which is made once and kept; `None` without a grid.
    pub fn ports(&self) -> Option<&Arc<Ports>> {
        let make = || {
            let grid = self.geometry.grid()?;
            let between = |from, to| self.link_between(from, to);
            Some(Arc::new(Ports::new(grid, self.links.len(), between, &self.routing)))
        };
        self.derived.ports.get_or_init(make).as_ref()
    }

    fn compute_fingerprint(&self) -> Fingerprint {
        let mut h = Hasher::new("optiq network 1");
        h.u64(self.hosts as u64);
        h.u64(self.vertices() as u64);
        for l in &self.links {
            h.u64(u64::from(l.from.0) << 32 | u64::from(l.to.0));
            h.u64(u64::from(l.lanes));
            h.u64(l.capacity.to_bits());
        }
        self.routing.fingerprint(&mut h);
        h.finish()
    }
}
