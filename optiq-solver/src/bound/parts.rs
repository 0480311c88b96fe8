//! Groups of vertices on networks that are no grids.
//!
//! A *partition* gives every vertex at most one part. One pass over the demands and one over the links weigh the cuts
//! around all of its parts. The partitions are what remains connected when links or vertices are left out:
//! - where there are switches, with `level(v)` the links from `v` to the nearest host (0 for hosts): for each `h`, the
//!   vertices up to level `h` and the links between different levels. On a fat tree these are the leaf switches with
//!   their hosts, the pods, and so on up; on a Dragonfly+ the leaf switches with their hosts, and the groups;
//! - for each capacity that links have: the links that are faster;
//! - the links with at least half as many *triangles* (common neighbours of their ends) as the link with the most, among
//!   switches if there are any, with the vertices that hang on one other only: the groups of a dragonfly, whose
//!   routers are all joined to each other.

use crate::bound::cut::{Best, Cut, Verb};
use crate::demands::Demand;
use optiq_net::{Link, Network, NodeId};
use std::collections::VecDeque;

/// The most levels, and the most different capacities, that are looked at.
const MOST: usize = 8;

/// The most steps for counting triangles.
const TRIANGLES_WORK: usize = 1 << 24;

/// The part of a vertex that is in none.
const NONE: u32 = u32::MAX;

/// Offers the cuts around the parts.
pub(super) fn cuts(net: &Network, demands: &[Demand], best: &mut Best) {
    let mut tried: Vec<Vec<u32>> = Vec::new();
    for partition in partitions(net) {
        if !tried.contains(&partition) {
            weigh(net, demands, &partition, best);
            tried.push(partition);
        }
    }
}

fn partitions(net: &Network) -> Vec<Vec<u32>> {
    let mut partitions = Vec::new();
    let everywhere = |_: &NodeId| true;
    if net.vertices() > net.hosts() {
        let level = levels(net);
        let highest = level.iter().copied().filter(|&l| l != u32::MAX).max().unwrap_or(0);
        for h in (1..=highest).take(MOST) {
            let inside = |v: &NodeId| level[v.index()] <= h;
            partitions.push(components(net, inside, |_, l| level[l.from.index()] != level[l.to.index()]));
        }
    }
    let mut capacities: Vec<f64> = Vec::new();
    for link in net.links() {
        // At most one more than are used, so that many different ones do not cost more.
        if !capacities.contains(&link.capacity) && capacities.len() <= MOST {
            capacities.push(link.capacity);
        }
    }
    // The fastest links leave nothing; if there are too many kinds, groups are not what they tell apart.
    capacities.sort_by(|a, b| b.total_cmp(a));
    if capacities.len() <= MOST {
        for &slow in capacities.iter().skip(1) {
            partitions.push(components(net, everywhere, |_, l| l.capacity > slow));
        }
    }
    partitions.extend(close(net));
    partitions
}

/// The links from each vertex to the nearest host, or to it, whichever way links lead; `u32::MAX` if there is none.
fn levels(net: &Network) -> Vec<u32> {
    let mut level = vec![u32::MAX; net.vertices()];
    level[..net.hosts()].fill(0);
    let mut queue: VecDeque<NodeId> = (0..net.hosts() as u32).map(NodeId).collect();
    while let Some(v) = queue.pop_front() {
        let before = net.in_links(v).iter().map(|&l| net.link(l).from);
        for other in net.neighbours(v).chain(before) {
            if level[other.index()] == u32::MAX {
                level[other.index()] = level[v.index()] + 1;
                queue.push_back(other);
            }
        }
    }
    level
}

/// Per vertex that is `inside`, the lowest vertex that links for which `kept` holds join it to, in whichever direction.
fn components(net: &Network, inside: impl Fn(&NodeId) -> bool, kept: impl Fn(usize, &Link) -> bool) -> Vec<u32> {
    let mut part: Vec<u32> = (0..net.vertices() as u32).collect();
    fn root(part: &mut [u32], v: u32) -> u32 {
        let mut v = v;
        while part[v as usize] != v {
            part[v as usize] = part[part[v as usize] as usize];
            v = part[v as usize];
        }
        v
    }
    let links = net.links().iter().enumerate();
    for (_, link) in links.filter(|(i, l)| inside(&l.from) && inside(&l.to) && kept(*i, l)) {
        let (a, b) = (root(&mut part, link.from.0), root(&mut part, link.to.0));
        part[a.max(b) as usize] = a.min(b);
    }
    (0..net.vertices() as u32).map(|v| if inside(&NodeId(v)) { root(&mut part, v) } else { NONE }).collect()
}

/// What is joined by links with many triangles; nothing if there are none, or if counting takes too long.
fn close(net: &Network) -> Option<Vec<u32>> {
    let switched = net.vertices() > net.hosts();
    let counts = |v: NodeId| !switched || !net.is_host(v);
    let neighbours: Vec<Vec<u32>> = (0..net.vertices() as u32)
        .map(|v| match counts(NodeId(v)) {
            true => net.neighbours(NodeId(v)).filter(|&w| counts(w)).map(|w| w.0).collect(),
            false => Vec::new(),
        })
        .collect();
    let work: usize =
        net.links().iter().map(|l| neighbours[l.from.index()].len() + neighbours[l.to.index()].len()).sum();
    if work > TRIANGLES_WORK {
        return None;
    }
    let common = |l: &Link| {
        let (mut a, mut b) = (neighbours[l.from.index()].iter().peekable(), neighbours[l.to.index()].iter().peekable());
        let mut common = 0;
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            match x.cmp(y) {
                std::cmp::Ordering::Less => drop(a.next()),
                std::cmp::Ordering::Greater => drop(b.next()),
                std::cmp::Ordering::Equal => {
                    common += 1;
                    a.next();
                    b.next();
                }
            }
        }
        common
    };
    let triangles: Vec<u32> = net.links().iter().map(common).collect();
    let most = triangles.iter().copied().max().filter(|&most| most > 0)?;
    let hangs = |v: NodeId| net.out_range(v).len() <= 1 && net.in_links(v).len() <= 1;
    let kept = |i: usize, l: &Link| 2 * triangles[i] >= most || hangs(l.from) || hangs(l.to);
    Some(components(net, |_| true, kept))
}

/// Offers the cuts around all parts.
fn weigh(net: &Network, demands: &[Demand], part: &[u32], best: &mut Best) {
    let n = net.vertices();
    let (mut bytes, mut capacity) = ([vec![0u64; n], vec![0u64; n]], [vec![0.0; n], vec![0.0; n]]);
    for d in demands {
        let (from, to) = (part[d.src.index()], part[d.dst.index()]);
        if from != to {
            [from, to].iter().zip(&mut bytes).filter(|(p, _)| **p != NONE).for_each(|(&p, b)| b[p as usize] += d.bytes);
        }
    }
    for l in net.links() {
        let (from, to) = (part[l.from.index()], part[l.to.index()]);
        if from != to {
            let sides = [from, to].into_iter().zip(&mut capacity);
            sides.filter(|(p, _)| *p != NONE).for_each(|(p, c)| c[p as usize] += l.capacity);
        }
    }
    for p in 0..n {
        for (side, verb) in Verb::BOTH.into_iter().enumerate() {
            if bytes[side][p] > 0 && capacity[side][p] > 0.0 {
                let members = || part.iter().map(|&q| q as usize == p).collect();
                best.offer(bytes[side][p] as f64 / capacity[side][p], || Cut::Part(members(), verb));
            }
        }
    }
}
