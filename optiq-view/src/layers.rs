//! Where the vertices of switched networks lie in the picture, drawn as people draw them.
//!
//! *Layers*: where hosts hang below switches of several levels, and every link joins a level to the next (fat trees,
//! and such trees from files), hosts are the lowest row, in the order of their switches, and each level is a row above,
//! in the order of the mean place of what is below it, spread evenly.
//!
//! *Rings*: a dragonfly's hosts lie on a circle, group after group, their routers inside of them, and the spines of a
//! Dragonfly+ inside of those; links between groups cross the middle. Routers of one group that are all joined
//! to each other lie on an arc that bulges inwards, so that no link passes through a router.

use optiq_net::{Network, NodeId, structure};
use std::f64::consts::TAU;

type Point = (f64, f64);

/// The places of all vertices, in units of `unit`, if `net` is one of those networks.
pub fn places(net: &Network, unit: f64) -> Option<Vec<Point>> {
    let levels = levels(net)?;
    let places = match groups(net) {
        Some(groups) => rings(net, &levels, groups),
        None => layers(net, &levels)?,
    };
    Some(places.into_iter().map(|p| (p.0 * unit, p.1 * unit)).collect())
}

/// Vertices that a link joins to `v`, in either direction.
fn neighbours(net: &Network, v: NodeId) -> impl Iterator<Item = usize> {
    let out = net.out_links(v).map(|l| net.link(l).to.index());
    out.chain(net.in_links(v).iter().map(|&l| net.link(l).from.index()))
}

/// Per vertex: its level above the hosts. `None` without switches, or if some hang on nothing.
pub fn levels(net: &Network) -> Option<Vec<usize>> {
    structure::levels(net)?.into_iter().map(|level| level.map(|l| l as usize)).collect()
}

/// How many groups of equal shape a dragonfly has, by its specification: `dragonfly:p=2,a=4,h=2,g=9`.
pub fn groups(net: &Network) -> Option<usize> {
    let (kind, shape) = net.spec().split_once(':')?;
    if !matches!(kind, "dragonfly" | "dragonfly+") {
        return None;
    }
    let groups: usize = shape.split(',').find_map(|part| part.strip_prefix("g="))?.parse().ok()?;
    let equal = |n: usize| groups > 0 && n.is_multiple_of(groups);
    (equal(net.hosts()) && equal(net.vertices() - net.hosts())).then_some(groups)
}

/// Hosts and switches are numbered group after group.
fn rings(net: &Network, levels: &[usize], groups: usize) -> Vec<Point> {
    let (hosts, switches) = (net.hosts() / groups, (net.vertices() - net.hosts()) / groups);
    let top = levels.iter().copied().max().unwrap_or(1);
    let group = |group: usize| {
        let of_group = (0..switches).map(|s| net.hosts() + group * switches + s);
        let row = |level: usize| of_group.clone().filter(|&v| levels[v] == level).collect();
        RingGroup { hosts: (group * hosts..(group + 1) * hosts).collect(), switches: (1..=top).map(row).collect() }
    };
    ring_places(&(0..groups).map(group).collect::<Vec<_>>(), net.vertices())
}

/// A group on a circle.
pub struct RingGroup {
    /// Its hosts from left to right, as seen from the middle.
    pub hosts: Vec<usize>,
    /// Its switches on each level from 1 on.
    pub switches: Vec<Vec<usize>>,
}

/// The places of `vertices` vertices, all of which are in groups: hosts half a unit apart.
pub fn ring_places(groups: &[RingGroup], vertices: usize) -> Vec<Point> {
    // Switches without hosts need their places as well. Between two groups there is a gap of one host.
    let wide = |group: &RingGroup| group.hosts.len().max(group.switches.first().map_or(0, Vec::len)).max(1);
    let slots: usize = groups.iter().map(|group| wide(group) + 1).sum();
    let radius = (0.5 * slots as f64 / TAU).max(2.2);
    let mut places = vec![(0.0, 0.0); vertices];
    let mut before = 0;
    for group in groups {
        let at = |place: f64, r: f64| {
            let angle = TAU * (before as f64 + place + 0.5) / slots as f64;
            (r * radius * angle.sin(), -r * radius * angle.cos())
        };
        for (h, &v) in group.hosts.iter().enumerate() {
            places[v] = at(h as f64, 1.0);
        }
        for (level, row) in (1..).zip(&group.switches) {
            for (i, &v) in row.iter().enumerate() {
                let place = (i as f64 + 0.5) / row.len() as f64;
                // From -1 at one end of the row to 1 at the other.
                let t = if row.len() > 1 { 2.0 * i as f64 / (row.len() - 1) as f64 - 1.0 } else { 0.0 };
                let bulge = if group.switches.len() == 1 { 0.14 * (1.0 - t * t) } else { 0.0 };
                places[v] = at(place * wide(group) as f64 - 0.5, 1.0 - 0.24 * f64::from(level) - bulge);
            }
        }
        before += wide(group) + 1;
    }
    places
}

/// `None` if some link does not join a level to the next, or there is only one level of switches: a star is a star.
fn layers(net: &Network, levels: &[usize]) -> Option<Vec<Point>> {
    let top = levels.iter().copied().max().filter(|&top| top > 1)?;
    if net.links().iter().any(|l| levels[l.from.index()].abs_diff(levels[l.to.index()]) != 1) {
        return None;
    }
    let width = (0.6 * net.hosts() as f64).max(4.0);
    let height = (0.55 * width / top as f64).max(1.2);
    let mut places = vec![(0.0, 0.0); net.vertices()];
    let spread = |row: &[usize], level: usize, places: &mut Vec<Point>| {
        for (i, &v) in row.iter().enumerate() {
            places[v] = (width * (i as f64 + 0.5) / row.len() as f64, height * (top - level) as f64);
        }
    };
    // Hosts of one switch side by side, whatever their numbers.
    let first = |switch: usize| neighbours(net, NodeId(switch as u32)).filter(|&v| v < net.hosts()).min();
    let family = |host: usize| neighbours(net, NodeId(host as u32)).filter_map(first).min();
    let mut row: Vec<usize> = (0..net.hosts()).collect();
    row.sort_by_key(|&host| (family(host), host));
    spread(&row, 0, &mut places);
    for level in 1..=top {
        let mut row: Vec<(f64, usize)> = Vec::new();
        for v in (net.hosts()..net.vertices()).filter(|&v| levels[v] == level) {
            let below = neighbours(net, NodeId(v as u32)).filter(|&w| levels[w] + 1 == level);
            let (sum, count) = below.fold((0.0, 0usize), |(s, n), w| (s + places[w].0, n + 1));
            row.push((sum / count.max(1) as f64, v));
        }
        // Means that differ by rounding only are equal.
        row.sort_by(|a, b| if (a.0 - b.0).abs() < 1e-9 * width { a.1.cmp(&b.1) } else { a.0.total_cmp(&b.0) });
        let row: Vec<usize> = row.into_iter().map(|r| r.1).collect();
        spread(&row, level, &mut places);
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(spec: &str) -> Option<Vec<Point>> {
        places(&Network::from_spec(spec).unwrap(), 1.0)
    }

    #[test]
    fn a_fat_tree_stands_on_its_hosts() {
        // 2 hosts below each of 4 leaves, 2 leaves and 2 spines in each of 2 pods, 2 x 2 cores.
        let net = Network::from_spec("fattree:2x2x2:1x2x2").unwrap();
        let places = places(&net, 1.0).unwrap();
        let (levels, bottom) = (levels(&net).unwrap(), places[0].1);
        for v in 0..net.vertices() {
            for w in 0..net.vertices() {
                assert_eq!(levels[v] < levels[w], places[v].1 > places[w].1, "{v} {w}");
            }
        }
        assert!((0..net.hosts()).all(|h| places[h].1 == bottom));
        // Hosts from left to right, each leaf above the middle of its two.
        assert!((1..net.hosts()).all(|h| places[h].0 > places[h - 1].0));
        let leaf = neighbours(&net, NodeId(0)).next().unwrap();
        assert!((places[leaf].0 - (places[0].0 + places[1].0) / 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_dragonfly_is_a_ring_of_groups() {
        for (spec, groups) in [("dragonfly:p=2,a=4,h=2", 9), ("dragonfly+:p=2,l=2,s=2,h=2", 5)] {
            let net = Network::from_spec(spec).unwrap();
            let places = places(&net, 1.0).unwrap();
            let radius = |v: usize| places[v].0.hypot(places[v].1);
            let levels = levels(&net).unwrap();
            for v in 0..net.vertices() {
                for w in neighbours(&net, NodeId(v as u32)).filter(|&w| levels[w] > levels[v]) {
                    assert!(radius(w) < radius(v), "{spec}: {w} lies outside of {v}");
                }
            }
            // Every group lies within its own part of the circle.
            for (h, place) in places.iter().enumerate().take(net.hosts()) {
                let angle = place.0.atan2(-place.1).rem_euclid(TAU);
                assert_eq!(
                    (angle / TAU * f64::from(groups)) as usize,
                    h / (net.hosts() / groups as usize),
                    "{spec}: {h}"
                );
            }
        }
    }

    #[test]
    fn other_networks_are_left_alone() {
        assert!(of("torus:4x4").is_none() && of("star:8").is_none());
    }
}
