//! Port-pair-diverse paths: through every pair of a port of the source and a port of the destination.
//!
//! The load that a demand puts near its ends cannot be avoided, only spread: what limits a plan are cuts around
//! source and destination sets, and a demand can use a link of such a cut only if a path through it is offered.
//! The k *shortest* paths leave and arrive through few ports. Here the first link `a: src -> u` and the last link
//! `b: w -> dst` are forced to all pairs in turn, and the middle is a shortest path from `u` to `w` that avoids both
//! ends. On Blue Gene/Q shapes the linear program over some 20 such paths reaches the optimum over all routings,
//! which the 50 shortest paths do not.
//!
//! On a torus a path is at most 4 hops longer than the shortest: 2 for a first hop that leads away and 2 for a last
//! hop that does. Where there are fewer port pairs than paths asked for, further middles are used.
//!
//! Middles. Every pair of ports has a list of them; the first that serves for each pair (one that avoids both ends) comes
//! before the second one of any pair:
//! - the fabric's own route from `u` to `w`, where it is as short as can be: the path then has at most three legs,
//!   that is two forwarders;
//! - on a grid, dimension by dimension, beginning with the dimension of the forced first link and going on cyclically
//!   from there, ties (offsets of half a ring) turned this way or that by ports and pair; then the same beginning with
//!   the next dimension, and so on; then all of them with ties turned around;
//! - elsewhere, first shortest paths in port order, rotated by pair, port and position in the list.
//!
//! For a third of the port pairs the second middle changes places with the first: the fabric's own routes alone use
//! the dimensions in one order, and load gathers. The third was chosen on `bgq:1024` (disjoint, overlap, subset; k =
//! 50) among none, a quarter, a third, a half and all: the linear program's optimum is 16.00, 15.28, 14.70 MiB, with
//! some 70 % of the forwarded bytes that dimension orders alone need for 16.00, 15.30, 14.75; with own routes alone
//! heuristic 2 is 2 to 4 % worse. It is not best everywhere: on `bgq:2048` heuristic 1 is 13 % worse than with
//! dimension orders alone.
//!
//! On tori with one dimension order for all packets the same paths come from module `template`.

use crate::candidates::yen::query::Query;
use crate::candidates::yen::search::Search;
use crate::constants;
use optiq_net::{Geometry, Grid, LinkId, Network, NodeId};

/// How much longer than the shortest path a path may be, in hops.
pub const MAX_DETOUR: u32 = constants::MAX_DETOUR;

/// The most ports of a host that are used; no grid has more.
const MAX_PORTS: usize = 64;

/// The search's working space for one network, to be used for one pair after another.
pub struct Diverse<'n> {
    net: &'n Network,
    search: Search<'n>,
    /// Outside of grids: a destination, and the distances to those who have a link to it, in the order of its
    /// incoming links.
    towards: Option<(NodeId, Vec<Vec<u32>>)>,
}

/// A pair of ports.
struct Ports {
    /// Length of the path through them.
    hops: u32,
    /// Position in the order of the pairs: consecutive ones differ in both ports.
    order: (u32, u32),
    /// The first link's position among those that leave the source, the last link's among those that enter the
    /// destination.
    first: u32,
    last: u32,
    /// How many middles of their list were tried.
    next_middle: u32,
    /// The path that was found last for them.
    found: Option<usize>,
}

impl<'n> Diverse<'n> {
    /// Working space of a few words for each vertex of `net`.
    pub fn new(net: &'n Network) -> Self {
        Diverse { net, search: Search::new(net), towards: None }
    }

    /// At most `k` distinct loopless paths from `src` to `dst`, another vertex: fewer links first; those that
    /// `accept` refuses are left out. `rotation` decides between equals. Outside of grids, queries that
    /// follow each other with the same `dst` are cheaper.
    pub fn paths(
        &mut self,
        src: NodeId,
        dst: NodeId,
        k: usize,
        rotation: u32,
        mut accept: impl FnMut(&[LinkId]) -> bool,
    ) -> Vec<Vec<LinkId>> {
        self.prepare(dst);
        let mut pairs = self.port_pairs(src, dst, rotation);
        let middles = 1 + match self.net.geometry() {
            Geometry::Grid(grid) => 2 * grid.dims().len() as u32,
            Geometry::General => 4,
        };
        let mut found: Vec<Vec<LinkId>> = Vec::new();
        // Per path found, the one found before it through the same ports. Paths through other ports are others.
        let mut previous: Vec<Option<usize>> = Vec::new();
        // In every round each pair of ports gives the next path of its list that serves, until all lists are at
        // their end.
        let mut before = usize::MAX;
        while found.len() < k && found.len() != before {
            before = found.len();
            for ports in &mut pairs {
                while ports.next_middle < middles && found.len() < k {
                    ports.next_middle += 1;
                    let Some(path) = self.path(src, dst, ports, ports.next_middle - 1, rotation) else { continue };
                    let mut other = ports.found;
                    while let Some(i) = other.filter(|&i| found[i] != path) {
                        other = previous[i];
                    }
                    if other.is_none() && accept(&path) {
                        previous.push(ports.found.replace(found.len()));
                        found.push(path);
                        break;
                    }
                }
            }
        }
        found.sort_by_key(Vec::len);
        found
    }

    fn prepare(&mut self, dst: NodeId) {
        if self.net.geometry().grid().is_none() && self.towards.as_ref().is_none_or(|(of, _)| *of != dst) {
            let into = self.net.in_links(dst);
            let into = &into[..into.len().min(MAX_PORTS)];
            self.towards = Some((dst, into.iter().map(|&l| self.net.distances_to(self.net.link(l).from)).collect()));
        }
    }

    /// Hops from `u` to the tail of the `last`-th link that enters the prepared destination.
    fn distance(&self, u: NodeId, w: NodeId, last: u32) -> u32 {
        match (self.net.geometry(), &self.towards) {
            (Geometry::Grid(grid), _) => grid.distance(u, w),
            (Geometry::General, Some((_, table))) => table[last as usize][u.index()],
            (Geometry::General, None) => self.net.distance(u, w),
        }
    }

    /// All usable pairs of ports, the shortest first.
    fn port_pairs(&self, src: NodeId, dst: NodeId, rotation: u32) -> Vec<Ports> {
        let outs: Vec<NodeId> = self.net.out_links(src).map(|l| self.net.link(l).to).take(MAX_PORTS).collect();
        let ins: Vec<NodeId> = self.net.in_links(dst).iter().map(|&l| self.net.link(l).from).take(MAX_PORTS).collect();
        let (n, m) = (outs.len() as u32, ins.len() as u32);
        let mut pairs = Vec::with_capacity(outs.len() * ins.len());
        for (first, &u) in (0..).zip(&outs) {
            for (last, &w) in (0..).zip(&ins) {
                let hops = match () {
                    // The one link from source to destination is a path, once.
                    () if u == dst && w == src => 1,
                    () if u == dst || w == src => continue,
                    () => self.distance(u, w, last).saturating_add(2),
                };
                let diagonal = (last + n - first + rotation) % m;
                let order = (diagonal, (first + rotation) % n);
                pairs.push(Ports { hops, order, first, last, next_middle: 0, found: None });
            }
        }
        let shortest = pairs.iter().map(|p| p.hops).min().unwrap_or(0);
        pairs.retain(|p| p.hops != u32::MAX && p.hops - shortest <= MAX_DETOUR);
        pairs.sort_by_key(|p| (p.hops, p.order));
        pairs
    }

    /// The path through `ports` with the `middle`-th middle of their list; `None` if that one is of no use.
    fn path(&mut self, src: NodeId, dst: NodeId, ports: &Ports, middle: u32, rotation: u32) -> Option<Vec<LinkId>> {
        let net = self.net;
        let a = LinkId(net.out_range(src).start + ports.first);
        let b = net.in_links(dst)[ports.last as usize];
        if a == b {
            return Some(vec![a]);
        }
        let (u, w) = (net.link(a).to, net.link(b).from);
        let mut links = Vec::with_capacity(ports.hops as usize);
        links.push(a);
        let turn = ports.first.wrapping_add(ports.last).wrapping_add(rotation);
        let exchanged = turn % 3 == 2 && middle < 2;
        match (if exchanged { 1 - middle } else { middle }, net.geometry()) {
            _ if u == w => {}
            (0, _) => net.route(u, w, &mut links).ok()?,
            (i, Geometry::Grid(grid)) => {
                let dims = grid.dims().len();
                let (begin, turned) = ((i - 1) as usize % dims, (i - 1) / dims as u32);
                let positive = turn.wrapping_add(turned) % 2 == 0;
                travel(net, grid, (u, w), dimension(grid, src, u) + begin, positive, &mut links)?;
            }
            (i, Geometry::General) => {
                self.search.begin();
                self.search.close(src);
                self.search.close(dst);
                let distance = &self.towards.as_ref()?.1[ports.last as usize];
                let rotation = rotation.wrapping_add(ports.first).wrapping_add(i);
                let query = Query { src: u, dst: w, distance, k: 1, max_hops: ports.hops - 2, rotation };
                self.search.shortest(&query, &[], &mut links).then_some(())?;
            }
        }
        let passes_end = links[1..].iter().any(|&l| net.link(l).to == src || net.link(l).to == dst);
        links.push(b);
        (!passes_end && links.len() as u32 == ports.hops).then_some(links)
    }
}

/// The dimension in which the neighbours `a` and `b` differ.
fn dimension(grid: &Grid, a: NodeId, b: NodeId) -> usize {
    (0..grid.dims().len()).find(|&d| grid.coordinate(a, d) != grid.coordinate(b, d)).unwrap_or(0)
}

/// Travels from `u` to `w` dimension by dimension, beginning with dimension `begin` (counted cyclically), the
/// shorter way round each ring and towards higher coordinates at a tie if `positive`.
fn travel(
    net: &Network,
    grid: &Grid,
    (u, w): (NodeId, NodeId),
    begin: usize,
    positive: bool,
    links: &mut Vec<LinkId>,
) -> Option<()> {
    let dims = grid.dims().len();
    let mut at = u;
    let ports = net.ports()?;
    for d in (begin..begin + dims).map(|d| d % dims) {
        let offset = grid.offset(at, w, d);
        let up = if grid.is_tie(d, offset) { positive } else { offset > 0 };
        for _ in 0..offset.unsigned_abs() {
            let exit = ports.exit(at, 2 * d + usize::from(!up))?;
            links.push(exit.link);
            at = exit.to;
        }
    }
    Some(())
}
