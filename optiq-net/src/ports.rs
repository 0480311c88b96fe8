//! The ports of a grid as a table: which link leaves a vertex in which direction, and where it leads.
//!
//! Walking a grid by coordinates takes divisions and a search among links at every hop. Planning walks millions of hops;
//! with one table of (vertex, port) each costs one look-up. Port `2 d` leads towards higher coordinates of dimension
//! `d` and port `2 d + 1` towards lower ones. In a ring of two both are the same link, which counts as port `2 d`.
//!
//! On a grid that wraps everywhere, a sequence of ports is a path from any vertex, and its end depends on the start
//! only by translation.

use crate::geometry::Grid;
use crate::ids::{LinkId, NodeId};
use crate::routing::Routing;

/// Where a port leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The link that leaves there.
    pub link: LinkId,
    /// The vertex that it enters.
    pub to: NodeId,
}

impl Exit {
    /// Beyond the edge of a mesh.
    const NONE: Exit = Exit { link: LinkId(u32::MAX), to: NodeId(u32::MAX) };
}

/// The ports of all vertices of a grid, and the fixed dimension order of its routing, if it has one.
#[derive(Clone, Debug)]
pub struct Ports {
    per_vertex: usize,
    /// Vertex by vertex, in the order of ports.
    exits: Vec<Exit>,
    /// The port of every link.
    of_link: Vec<u8>,
    order: Option<FixedOrder>,
}

/// A dimension order that is the same for all packets, but for ties, which are decided by the source.
///
/// A route then is, in every dimension in turn, a straight run the shorter way round, so that every beginning of a
/// route is a route: as long as a run is shorter than half the ring, no tie arises, and the shorter way stays the
/// same. (An end of a route need not be one: at another source the tie rule may choose the other way.)
#[derive(Clone, Debug)]
pub struct FixedOrder {
    dims: Vec<u8>,
    /// Per dimension: its position in `dims`.
    rank: Vec<u8>,
    /// Per dimension: the longest run.
    longest: Vec<u32>,
    /// Per dimension: whether the longest run is a tie that a rule decides.
    tied: Vec<bool>,
    /// Per vertex: bit `d` says whether ties in dimension `d` go up for packets from there. Empty if all go up.
    ties_up: Vec<u32>,
    /// Whether routers choose, so that only a single hop is sure to be a route.
    one_hop: bool,
}

impl Ports {
    /// The ports of `grid`, whose network has `links` links, the one between two vertices being `link_between(from, to)`.
    pub(crate) fn new(
        grid: &Grid,
        links: usize,
        link_between: impl Fn(NodeId, NodeId) -> Option<LinkId>,
        routing: &Routing,
    ) -> Self {
        let dims = grid.dims().len();
        let per_vertex = 2 * dims;
        let mut exits = vec![Exit::NONE; grid.nodes() * per_vertex];
        let mut of_link = vec![0; links];
        for (v, exits) in exits.chunks_exact_mut(per_vertex).enumerate() {
            // Down first: in a ring of two the link is counted as up.
            for (port, exit) in exits.iter_mut().enumerate().rev() {
                let from = NodeId(v as u32);
                let Some(to) = grid.step(from, port / 2, port % 2 == 0) else { continue };
                let Some(link) = link_between(from, to) else { continue };
                *exit = Exit { link, to };
                of_link[link.index()] = port as u8;
            }
        }
        Ports { per_vertex, exits, of_link, order: FixedOrder::new(grid, routing) }
    }

    /// Ports of a vertex, twice the number of dimensions; not all of them need lead anywhere.
    pub fn per_vertex(&self) -> usize {
        self.per_vertex
    }

    /// Where `port` of `vertex` leads; `None` beyond the edge of a mesh and for numbers out of range.
    pub fn exit(&self, vertex: NodeId, port: usize) -> Option<Exit> {
        let row = self.exits.get(vertex.index() * self.per_vertex..)?;
        row.get(..self.per_vertex)?.get(port).copied().filter(|exit| *exit != Exit::NONE)
    }

    /// The whole table: port `p` of vertex `v` is at `v * per_vertex() + p`. What leads nowhere has numbers that are out
    /// of range.
    pub fn exits(&self) -> &[Exit] {
        &self.exits
    }

    /// The port that `link` leaves through. Panics if there is no such link.
    pub fn of_link(&self, link: LinkId) -> u8 {
        self.of_link[link.index()]
    }

    /// The fabric's dimension order, if it is the same for all packets.
    pub fn order(&self) -> Option<&FixedOrder> {
        self.order.as_ref()
    }
}

impl FixedOrder {
    fn new(grid: &Grid, routing: &Routing) -> Option<Self> {
        let (dims, ties) = routing.fixed_order(grid)?;
        let mut rank = vec![0; dims.len()];
        dims.iter().enumerate().for_each(|(i, &d)| rank[usize::from(d)] = i as u8);
        let shape = || grid.dims().iter().zip(grid.wrap());
        let up = |v: u32| {
            let bit = |(i, &d): (usize, &u8)| u32::from(ties.up(grid, NodeId(v), usize::from(d), i == 0)) << d;
            dims.iter().enumerate().map(bit).fold(0, |mask, bit| mask | bit)
        };
        let ties_up = if ties.always_up() { Vec::new() } else { (0..grid.nodes() as u32).map(up).collect() };
        Some(FixedOrder {
            longest: shape().map(|(&length, &wrap)| if wrap { length / 2 } else { length - 1 }).collect(),
            tied: shape().map(|(&length, &wrap)| wrap && length > 2 && length % 2 == 0).collect(),
            dims,
            rank,
            ties_up,
            one_hop: routing.is_adaptive(),
        })
    }

    /// The dimensions in the order of travel.
    pub fn dims(&self) -> &[u8] {
        &self.dims
    }

    /// Bit `d` says whether a packet from `source` goes up in dimension `d` where both ways round are equally short.
    pub fn ties_up(&self, source: NodeId) -> u32 {
        self.ties_up.get(source.index()).copied().unwrap_or(u32::MAX)
    }

    /// How many of the `ports`, taken one after the other from `source`, are a route. As every beginning of a route is a
    /// route, so is every shorter beginning.
    pub fn reach(&self, source: NodeId, ports: impl IntoIterator<Item = u8>) -> usize {
        let (mut now, mut run, mut rank) = (u8::MAX, 0, -1);
        let mut reached = 0;
        for port in ports {
            let d = usize::from(port / 2);
            if port == now {
                run += 1;
            } else if i32::from(self.rank[d]) > rank {
                (now, run, rank) = (port, 1, i32::from(self.rank[d]));
            } else {
                break;
            }
            if run > self.longest[d] {
                break;
            }
            if run == self.longest[d] && self.tied[d] && (self.ties_up(source) >> d & 1 == 1) != (port % 2 == 0) {
                break;
            }
            reached += 1;
            if self.one_hop {
                break;
            }
        }
        reached
    }
}
