//! Where links lie in the picture of a large network: one map for each direction of travel.
//!
//! On a grid the links that leave every vertex in the same direction form one map, laid out by the vertex: the
//! dimensions are assigned to columns and rows, from the last one on and always to the shorter side, the
//! later ones varying faster. A 4x4x4x8x2 torus becomes nine maps of 32 by 32 cells. Elsewhere the maps are the kinds
//! of links (host to switch, from one level of switches to the next, between the groups of a dragonfly, ...), as matrices
//! ([`crate::matrices`]): by switch and port, by group and group, by pod and top switch. Kinds without such an order fill their map
//! row by row.

use crate::layers;
use crate::matrices::{Matrix, Parts};
use optiq_net::{Grid, Link, Network, NodeId};
use serde::Serialize;
use std::collections::BTreeMap;

/// The maps, and the place of every link.
#[derive(Serialize)]
pub struct Maps {
    maps: Vec<Map>,
    /// Per link: the index of its map.
    map: Vec<u32>,
    /// Per link: its cell, row by row.
    cell: Vec<u32>,
    /// What varies along columns and rows, in words.
    columns_mean: String,
    rows_mean: String,
}

#[derive(Serialize)]
struct Map {
    label: String,
    columns: u32,
    rows: u32,
    /// What varies along its columns and rows, if that is its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    means: Option<[&'static str; 2]>,
}

impl Maps {
    /// Per map: the direction or kind of its links, and the links.
    pub fn kinds(&self) -> Vec<(&str, Vec<usize>)> {
        let links = |m: usize| (0..self.map.len()).filter(|&link| self.map[link] as usize == m).collect();
        self.maps.iter().enumerate().map(|(m, map)| (map.label.as_str(), links(m))).collect()
    }

    /// The maps of `net`.
    pub fn of(net: &Network) -> Self {
        match net.geometry().grid() {
            Some(grid) => Maps::of_grid(net, grid),
            None => Maps::of_kinds(net),
        }
    }

    fn of_grid(net: &Network, grid: &Grid) -> Self {
        let sheet = Sheet::new(grid);
        let directions: Vec<(usize, bool)> = (0..grid.dims().len())
            .filter(|&d| grid.dims()[d] > 1)
            .flat_map(|d| if grid.lanes(d) > 1 { vec![(d, true)] } else { vec![(d, true), (d, false)] })
            .collect();
        let label = |&(d, up): &(usize, bool)| {
            let sign = match (grid.lanes(d) > 1, up) {
                (true, _) => "\u{b1}",
                (_, true) => "+",
                _ => "\u{2212}",
            };
            format!("{}{sign}", letter(d))
        };
        let direction = |l: &Link| directions.iter().position(|&(d, up)| grid.step(l.from, d, up) == Some(l.to));
        Maps {
            maps: directions
                .iter()
                .map(|d| Map { label: label(d), columns: sheet.columns, rows: sheet.rows, means: None })
                .collect(),
            map: net.links().iter().map(|l| direction(l).unwrap_or(0) as u32).collect(),
            cell: net.links().iter().map(|l| sheet.cell(grid, l.from)).collect(),
            columns_mean: letters(&sheet.across),
            rows_mean: letters(&sheet.down),
        }
    }

    fn of_kinds(net: &Network) -> Self {
        let kinds: Vec<LinkKind> = {
            let kind = LinkKinds::of(net);
            net.links().iter().map(|l| kind.of_link(net, l)).collect()
        };
        let mut by_kind: BTreeMap<LinkKind, Vec<usize>> = BTreeMap::new();
        kinds.iter().enumerate().for_each(|(link, &kind)| by_kind.entry(kind).or_default().push(link));
        let parts = Parts::of(net);
        let (mut map, mut cell) = (vec![0; kinds.len()], vec![0; kinds.len()]);
        let mut maps = Vec::new();
        for (kind, links) in by_kind {
            let matrix = parts.as_ref().and_then(|parts| parts.matrix(net, &links));
            let Matrix { columns, rows, cells, means } = matrix.unwrap_or_else(|| Matrix::row_by_row(links.len()));
            for (&link, &place) in links.iter().zip(&cells) {
                (map[link], cell[link]) = (maps.len() as u32, place);
            }
            maps.push(Map { label: kind.label(), columns, rows, means });
        }
        let columns_mean = "links in the order of their ends".into();
        Maps { maps, map, cell, columns_mean, rows_mean: "the same, row by row".into() }
    }
}

/// What a link joins: the levels of its ends, hosts being level 0, and whether it leaves its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LinkKind {
    from: usize,
    to: usize,
    leaves_group: bool,
}

impl LinkKind {
    fn label(&self) -> String {
        let what = |level| match level {
            0 => "hosts".to_owned(),
            ANY_SWITCH => "switches".to_owned(),
            level => format!("switches {level}"),
        };
        let between = if self.leaves_group { " between groups" } else { "" };
        format!("{} to {}{between}", what(self.from), what(self.to))
    }
}

/// The level of switches where there is only one, or none can be told.
const ANY_SWITCH: usize = usize::MAX;

/// What is needed to tell the kinds of links.
struct LinkKinds {
    levels: Option<Vec<usize>>,
    groups: Option<usize>,
}

impl LinkKinds {
    fn of(net: &Network) -> Self {
        // One level of switches, or more than a few, are simply switches.
        let few = |levels: &Vec<usize>| (2..=4).contains(&levels.iter().copied().max().unwrap_or(0));
        LinkKinds { levels: layers::levels(net).filter(few), groups: layers::groups(net) }
    }

    fn of_link(&self, net: &Network, link: &Link) -> LinkKind {
        let level = |v: NodeId| match &self.levels {
            _ if net.is_host(v) => 0,
            Some(levels) => levels[v.index()],
            None => ANY_SWITCH,
        };
        // Only switches have links out of their group.
        let group = |v: NodeId, groups: usize| match v.index().checked_sub(net.hosts()) {
            Some(switch) => switch * groups / (net.vertices() - net.hosts()),
            None => v.index() * groups / net.hosts(),
        };
        let leaves_group = self.groups.is_some_and(|n| group(link.from, n) != group(link.to, n));
        LinkKind { from: level(link.from), to: level(link.to), leaves_group }
    }
}

/// How a grid is spread out on paper.
struct Sheet {
    /// Dimensions along columns, slowest first.
    across: Vec<usize>,
    /// Dimensions along rows, slowest first.
    down: Vec<usize>,
    columns: u32,
    rows: u32,
}

impl Sheet {
    fn new(grid: &Grid) -> Self {
        let mut sheet = Sheet { across: Vec::new(), down: Vec::new(), columns: 1, rows: 1 };
        for (d, &length) in grid.dims().iter().enumerate().rev().filter(|(_, length)| **length > 1) {
            if sheet.columns <= sheet.rows {
                sheet.across.insert(0, d);
                sheet.columns *= length;
            } else {
                sheet.down.insert(0, d);
                sheet.rows *= length;
            }
        }
        sheet
    }

    fn cell(&self, grid: &Grid, v: NodeId) -> u32 {
        let position = |dims: &[usize]| dims.iter().fold(0, |p, &d| p * grid.dims()[d] + grid.coordinate(v, d));
        position(&self.down) * self.columns + position(&self.across)
    }
}

/// The name of dimension `d`: A, B, C, ... as on Blue Gene/Q.
fn letter(d: usize) -> char {
    char::from(b'A' + d as u8)
}

fn letters(dims: &[usize]) -> String {
    dims.iter().map(|&d| letter(d).to_string()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn places_are_distinct(spec: &str) -> Maps {
        let net = Network::from_spec(spec).unwrap();
        let maps = places_fit(spec);
        let places: BTreeSet<(u32, u32)> = maps.map.iter().copied().zip(maps.cell.iter().copied()).collect();
        assert_eq!(places.len(), net.links().len(), "{spec}");
        maps
    }

    fn places_fit(spec: &str) -> Maps {
        let net = Network::from_spec(spec).unwrap();
        let maps = Maps::of(&net);
        assert_eq!((maps.map.len(), maps.cell.len()), (net.links().len(), net.links().len()));
        for (&m, &c) in maps.map.iter().zip(&maps.cell) {
            let map = &maps.maps[m as usize];
            assert!(c < map.columns * map.rows);
        }
        maps
    }

    #[test]
    fn blue_gene_becomes_nine_squares() {
        let maps = places_are_distinct("bgq:1024");
        let labels: Vec<&str> = maps.maps.iter().map(|m| m.label.as_str()).collect();
        assert_eq!(labels, ["A+", "A\u{2212}", "B+", "B\u{2212}", "C+", "C\u{2212}", "D+", "D\u{2212}", "E\u{b1}"]);
        assert!(maps.maps.iter().all(|m| (m.columns, m.rows) == (32, 32)));
        // E goes across (1 by 1), D down (2 by 1), C across (2 by 8), B down (8 by 8), A across (8 by 32).
        assert_eq!((maps.columns_mean.as_str(), maps.rows_mean.as_str()), ("B C E", "A D"));
    }

    #[test]
    fn a_star_has_two_kinds_of_links() {
        let maps = places_are_distinct("star:200");
        assert_eq!(maps.maps.len(), 2);
        assert_eq!((maps.maps[0].columns, maps.maps[0].rows), (15, 14));
    }

    #[test]
    fn kinds_of_links_in_switched_networks() {
        let labels = |spec: &str| -> Vec<String> { places_fit(spec).maps.into_iter().map(|m| m.label).collect() };
        let tree =
            ["hosts to switches 1", "switches 1 to hosts", "switches 1 to switches 2", "switches 2 to switches 1"];
        let top = ["switches 2 to switches 3", "switches 3 to switches 2"];
        assert_eq!(labels("fattree:k=8"), [&tree[..], &top[..]].concat());
        let dragonfly = ["hosts to switches", "switches to hosts", "switches to switches"];
        assert_eq!(
            labels("dragonfly:p=2,a=4,h=2"),
            [&dragonfly[..], &["switches to switches between groups"]].concat()
        );
        let plus = ["switches 2 to switches 2 between groups"];
        assert_eq!(labels("dragonfly+:p=2,l=2,s=2,h=2"), [&tree[..], &plus[..]].concat());
    }

    #[test]
    fn meshes_and_flat_dimensions_fit() {
        places_are_distinct("mesh:40x1x3");
        places_are_distinct("torus:2x100");
    }
}
