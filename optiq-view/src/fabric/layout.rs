//! Where the vertices of a fabric lie, from its connections alone ([`optiq_net::structure`]), for pictures of thousands of hosts.
//!
//! - *Trees* of any number of levels and rails: [`super::tree`].
//! - *Dragonflies*: groups on a circle, hosts outside, spines inside ([`crate::layers::ring_places`]).
//! - *Grids*, whose coordinates are known: the last dimension to the right, the one before it downwards, the next two as blocks
//!   of those, and so on.
//! - *Anything else*: [`super::sweeps`].
//!
//! The order of names (`node9` before `node10`) decides where connections do not, and nothing else does: the same fabric from a file
//! with its lines in another order has the same picture. Nearest hosts are about one unit apart.

use super::{sweeps, tree};
use crate::layers::{RingGroup, ring_places};
use crate::svg::Point;
use optiq_net::structure::{Arrangement, Structure};
use optiq_net::{Grid, Network, NodeId, natural_order};

/// How far the third and higher dimensions of a grid lean, so that links of different blocks do not lie on each other.
const LEAN: f64 = 0.16;

/// A fabric with a place for each vertex.
pub struct FabricLayout {
    /// What it is built like.
    pub structure: Structure,
    /// Per vertex; `y` points down.
    pub places: Vec<(f64, f64)>,
    /// Links that close a ring of a grid, which are drawn as stubs at their ends.
    pub stubs: Vec<bool>,
    /// What the picture shows, in a few words.
    pub words: String,
}

impl FabricLayout {
    /// Lays out a network.
    pub fn of(net: &Network) -> Self {
        let mut structure = Structure::of(net);
        let rank = ranks(net);
        rails_by_name(&mut structure, &rank);
        let stubs = match net.geometry().grid() {
            Some(grid) => net.links().iter().map(|l| is_wrapped(grid, l.from, l.to)).collect(),
            None => vec![false; net.links().len()],
        };
        let (places, words) = match (net.geometry().grid(), structure.arrangement) {
            (Some(grid), _) => (grid_places(grid), "a grid, two dimensions to a block".to_owned()),
            (None, Arrangement::Tree) => (tree::places(&structure, &rank), tree_words(&structure)),
            (None, Arrangement::Groups) => {
                (groups(&structure, &rank), format!("{} groups on a circle", structure.groups))
            }
            (None, Arrangement::Other) => {
                (sweeps::places(&structure, &rank), "rows by distance from one end".to_owned())
            }
        };
        FabricLayout { structure, places, stubs, words }
    }

    /// The corners of a box around all places, the lower one first.
    pub fn bounds(&self) -> ((f64, f64), (f64, f64)) {
        let low = self.places.iter().fold((f64::INFINITY, f64::INFINITY), |m, p| (m.0.min(p.0), m.1.min(p.1)));
        let high = self.places.iter().fold((f64::NEG_INFINITY, f64::NEG_INFINITY), |m, p| (m.0.max(p.0), m.1.max(p.1)));
        (low, high)
    }
}

fn tree_words(structure: &Structure) -> String {
    let levels = match structure.top {
        1 => "a tree with one level of switches".to_owned(),
        top => format!("a tree with {top} levels of switches"),
    };
    match structure.rails {
        1 => levels,
        rails => format!("{levels} and {rails} rails, hosts between them"),
    }
}

/// Per vertex: how many names come before its own.
fn ranks(net: &Network) -> Vec<u32> {
    let mut order: Vec<u32> = (0..net.vertices() as u32).collect();
    order.sort_by(|&a, &b| natural_order(net.name(NodeId(a)), net.name(NodeId(b))));
    let mut rank = vec![0; order.len()];
    (0..).zip(order).for_each(|(r, v)| rank[v as usize] = r);
    rank
}

/// Numbers rails by the first names of their switches.
fn rails_by_name(structure: &mut Structure, rank: &[u32]) {
    let mut first = vec![u32::MAX; structure.rails as usize];
    for (rail, &rank) in structure.rail.iter().zip(rank) {
        if let Some(rail) = rail {
            first[*rail as usize] = first[*rail as usize].min(rank);
        }
    }
    let mut order: Vec<u32> = (0..structure.rails).collect();
    order.sort_by_key(|&rail| first[rail as usize]);
    let mut number = vec![0; order.len()];
    (0..).zip(order).for_each(|(new, old)| number[old as usize] = new);
    structure.rail.iter_mut().flatten().for_each(|rail| *rail = number[*rail as usize]);
}

/// Groups in the order of their first names; within them hosts beside those of the same leaf.
fn groups(structure: &Structure, rank: &[u32]) -> Vec<Point> {
    let vertices = rank.len();
    let home = |host: usize| structure.neighbours[host].iter().copied().min_by_key(|&v| rank[v as usize]);
    let mut found: Vec<(u32, RingGroup)> = Vec::new();
    found.resize_with(structure.groups as usize, || {
        (u32::MAX, RingGroup { hosts: Vec::new(), switches: vec![Vec::new(); structure.top as usize] })
    });
    let mut order: Vec<usize> = (0..vertices).collect();
    order.sort_by_key(|&v| rank[v]);
    // Switches first, so that hosts can be sorted by the first host of their leaf.
    for &v in &order {
        let switch = if structure.levels[v] == Some(0) { home(v).map(|h| h as usize) } else { Some(v) };
        let Some(group) = switch.and_then(|switch| structure.group[switch]) else { continue };
        let (first, members) = &mut found[group as usize];
        *first = (*first).min(rank[v]);
        match structure.levels[v] {
            Some(0) => members.hosts.push(v),
            Some(level) => members.switches[level as usize - 1].push(v),
            None => {}
        }
    }
    let first_host = |switch: u32| {
        let hosts = structure.neighbours[switch as usize].iter().filter(|&&w| structure.levels[w as usize] == Some(0));
        hosts.map(|&h| rank[h as usize]).min().unwrap_or(u32::MAX)
    };
    for (_, members) in &mut found {
        members.hosts.sort_by_key(|&host| (home(host).map(first_host), rank[host]));
        members.switches[0].sort_by_key(|&leaf| (first_host(leaf as u32), rank[leaf]));
    }
    found.sort_by_key(|(first, _)| *first);
    let groups: Vec<RingGroup> = found.into_iter().map(|(_, group)| group).collect();
    // Hosts on a circle are half a unit apart.
    ring_places(&groups, vertices).into_iter().map(|(x, y)| (2.0 * x, 2.0 * y)).collect()
}

/// Whether a link joins the last vertex of a ring to the first one.
fn is_wrapped(grid: &Grid, a: NodeId, b: NodeId) -> bool {
    (0..grid.dims().len()).any(|d| grid.coordinate(a, d).abs_diff(grid.coordinate(b, d)) > 1)
}

fn grid_places(grid: &Grid) -> Vec<Point> {
    let dims: Vec<usize> = (0..grid.dims().len()).rev().filter(|&d| grid.dims()[d] > 1).collect();
    let mut vectors: Vec<Point> = Vec::new();
    let mut extent = [0.0, 0.0];
    for (i, &d) in dims.iter().enumerate() {
        let length = f64::from(grid.dims()[d]);
        // Blocks of many vertices are a little farther from each other than vertices.
        let step = if i < 2 { 1.0 } else { extent[i % 2] + 1.6 };
        let lean = if i < 2 { 0.0 } else { LEAN / (i / 2) as f64 };
        vectors.push(if i % 2 == 0 { (step, lean) } else { (lean, step) });
        extent[i % 2] += step * (length - 1.0);
        extent[1 - i % 2] += lean * (length - 1.0);
    }
    let place = |v: u32| {
        dims.iter().zip(&vectors).fold((0.0, 0.0), |p, (&d, vector)| {
            let c = f64::from(grid.coordinate(NodeId(v), d));
            (p.0 + c * vector.0, p.1 + c * vector.1)
        })
    };
    (0..grid.nodes() as u32).map(place).collect()
}
