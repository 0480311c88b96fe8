//! Links of one kind in a network with switches, as a matrix that a reader can find something in.
//!
//! A network falls into *parts*: the groups of a dragonfly, or what is left of a tree without its top switches (pods, or leaf
//! switches with their hosts). Links between groups stand in the row of the group they leave and the column of the group they
//! enter; links to or from top switches in the row of the part and the column of the switch; links within a part in the row of
//! their lower switch, or in that of the part where there are many. Several links may share a cell.

use crate::layers;
use optiq_net::{Network, NodeId};

/// More rows than these are joined to one for each part.
const MAX_ROWS: usize = 160;

/// Where links of one kind lie.
pub struct Matrix {
    /// Its width.
    pub columns: u32,
    /// Its height.
    pub rows: u32,
    /// Per link: its cell, row by row.
    pub cells: Vec<u32>,
    /// What varies along columns and rows, if more than the order of links.
    pub means: Option<[&'static str; 2]>,
}

impl Matrix {
    /// `links` links in their order, in about a square.
    pub fn row_by_row(links: usize) -> Self {
        let columns = ((links as f64).sqrt().ceil() as u32).max(1);
        Matrix { columns, rows: (links as u32).div_ceil(columns), cells: (0..links as u32).collect(), means: None }
    }

    /// Cells as (row, column); the longer side goes across.
    fn of(places: &[(u32, u32)], [rows_mean, columns_mean]: [&'static str; 2]) -> Option<Self> {
        let rows = places.iter().map(|p| p.0).max()? + 1;
        let columns = places.iter().map(|p| p.1).max()? + 1;
        // One line is no matrix.
        if rows == 1 || columns == 1 {
            return None;
        }
        let upright = rows > columns;
        let (rows, columns) = if upright { (columns, rows) } else { (rows, columns) };
        let cell = |&(row, column): &(u32, u32)| if upright { column * columns + row } else { row * columns + column };
        let means = if upright { [rows_mean, columns_mean] } else { [columns_mean, rows_mean] };
        Some(Matrix { columns, rows, cells: places.iter().map(cell).collect(), means: Some(means) })
    }
}

/// The parts of a network.
pub struct Parts {
    /// Per vertex: links to the nearest host.
    level: Vec<usize>,
    /// Per vertex: its part; `None` for the top switches of a tree.
    part: Vec<Option<u32>>,
    /// Per vertex: its number among those of its level.
    number: Vec<u32>,
    /// Per vertex: its number among those of its level in its part.
    within: Vec<u32>,
    /// What parts are called.
    words: &'static str,
}

impl Parts {
    /// The parts of `net`; `None` if it has fewer than two.
    pub fn of(net: &Network) -> Option<Self> {
        let level = layers::levels(net)?;
        let (part, words) = match layers::groups(net) {
            Some(groups) => {
                let (hosts, switches) = (net.hosts(), net.vertices() - net.hosts());
                let group = |v: usize| match v.checked_sub(hosts) {
                    Some(switch) => switch * groups / switches,
                    None => v * groups / hosts,
                };
                ((0..net.vertices()).map(|v| Some(group(v) as u32)).collect::<Vec<_>>(), "groups")
            }
            None => {
                let top = level.iter().copied().max().filter(|&top| top > 1)?;
                (below(net, &level, top), if top == 2 { "leaf switches" } else { "pods" })
            }
        };
        let parts = part.iter().flatten().max()? + 1;
        if parts < 2 {
            return None;
        }
        let levels = level.iter().copied().max()? + 1;
        let mut next = vec![0u32; levels];
        let mut next_within = vec![0u32; levels * (parts as usize + 1)];
        let (mut number, mut within) = (Vec::new(), Vec::new());
        for (&level, part) in level.iter().zip(&part) {
            let count = |next: &mut u32| {
                *next += 1;
                *next - 1
            };
            number.push(count(&mut next[level]));
            within.push(count(&mut next_within[level * (parts as usize + 1) + part.unwrap_or(parts) as usize]));
        }
        Some(Parts { level, part, number, within, words })
    }

    /// The matrix of `links`, which join the same levels and are alike within parts or between them.
    pub fn matrix(&self, net: &Network, links: &[usize]) -> Option<Matrix> {
        let ends = |link: usize| {
            let link = &net.links()[link];
            (link.from.index(), link.to.index())
        };
        let (from, to) = ends(*links.first()?);
        let sorted = |(a, b): (usize, usize)| if self.level[a] <= self.level[b] { (a, b) } else { (b, a) };
        let all = |place: &dyn Fn((usize, usize)) -> (u32, u32)| -> Vec<(u32, u32)> {
            links.iter().map(|&link| place(ends(link))).collect()
        };
        let part = |v: usize| self.part[v].unwrap_or(0);
        if self.part[from].is_some() && self.part[to].is_some() && self.part[from] != self.part[to] {
            return Matrix::of(&all(&|(a, b)| (part(a), part(b))), ["from group", "to group"]);
        }
        let (low, high) = sorted((from, to));
        if self.part[high].is_none() {
            let place = |ends| {
                let (low, high) = sorted(ends);
                (part(low), self.number[high])
            };
            return Matrix::of(&all(&place), [self.words, "top switches"]);
        }
        if self.level[low] == self.level[high] {
            return Matrix::of(
                &all(&|(a, _)| (part(a), self.within[a])),
                [self.words, "the switches that links leave"],
            );
        }
        if self.level[low] == 0 {
            let hosts = all(&|ends| {
                let (low, high) = sorted(ends);
                (self.number[high], low as u32)
            });
            return self.hosts(
                &hosts,
                &all(&|ends| {
                    let (low, _) = sorted(ends);
                    (part(low), self.within[low])
                }),
            );
        }
        let place = |ends| {
            let (low, high) = sorted(ends);
            (self.number[low], self.within[high])
        };
        let matrix = Matrix::of(&all(&place), ["lower switches", "upper switches of their part"]);
        matrix.filter(|m| m.columns.max(m.rows) as usize <= MAX_ROWS).or_else(|| {
            let place = |ends| {
                let (low, high) = sorted(ends);
                (part(low), self.within[high])
            };
            Matrix::of(&all(&place), [self.words, "upper switches of their part"])
        })
    }

    /// Links of hosts, each at its switch: one row for each switch, or for each part where there are many switches.
    fn hosts(&self, by_switch: &[(u32, u32)], by_part: &[(u32, u32)]) -> Option<Matrix> {
        let switches = by_switch.iter().map(|p| p.0).max()? + 1;
        if switches as usize > MAX_ROWS {
            return Matrix::of(by_part, [self.words, "their hosts"]);
        }
        let mut seen = vec![0u32; switches as usize];
        let mut order: Vec<usize> = (0..by_switch.len()).collect();
        order.sort_by_key(|&i| by_switch[i].1);
        let mut places = vec![(0, 0); by_switch.len()];
        for i in order {
            let switch = by_switch[i].0;
            places[i] = (switch, seen[switch as usize]);
            seen[switch as usize] += 1;
        }
        Matrix::of(&places, ["switches", "their hosts"])
    }
}

/// Per vertex: which part of the network it is in that is left without the switches of level `top`.
fn below(net: &Network, level: &[usize], top: usize) -> Vec<Option<u32>> {
    let mut part = vec![None; net.vertices()];
    let mut parts = 0;
    for start in (0..net.vertices()).filter(|&v| level[v] < top) {
        if part[start].is_some() {
            continue;
        }
        part[start] = Some(parts);
        let mut open = vec![start];
        while let Some(v) = open.pop() {
            for link in net.out_links(NodeId(v as u32)) {
                let to = net.link(link).to.index();
                if level[to] < top && part[to].is_none() {
                    part[to] = Some(parts);
                    open.push(to);
                }
            }
        }
        parts += 1;
    }
    part
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn matrix(spec: &str, from: &str, to: &str) -> Matrix {
        let net = Network::from_spec(spec).unwrap();
        let parts = Parts::of(&net).unwrap();
        let kind = |v: NodeId| parts.level[v.index()];
        let first = net.links().iter().find(|l| net.name(l.from) == from && net.name(l.to) == to).unwrap();
        let within = |l: &optiq_net::Link| parts.part[l.from.index()] == parts.part[l.to.index()];
        let alike = |l: &optiq_net::Link| {
            (kind(l.from), kind(l.to), within(l)) == (kind(first.from), kind(first.to), within(first))
        };
        let links: Vec<usize> = (0..net.links().len()).filter(|&i| alike(&net.links()[i])).collect();
        parts.matrix(&net, &links).unwrap()
    }

    #[test]
    fn groups_of_a_dragonfly_meet_in_one_cell() {
        let net = Network::from_spec("dragonfly:p=2,a=4,h=2,g=9").unwrap();
        let parts = Parts::of(&net).unwrap();
        let out = net.links().iter().find(|l| parts.part[l.from.index()] != parts.part[l.to.index()]).unwrap();
        let found = matrix("dragonfly:p=2,a=4,h=2,g=9", net.name(out.from), net.name(out.to));
        assert_eq!((found.rows, found.columns), (9, 9));
        // Each group is joined to each other one by a link in each direction, and none to itself.
        assert_eq!(found.cells.len(), 72);
        assert!(found.cells.iter().all(|cell| cell / 9 != cell % 9));
    }

    #[test]
    fn a_tree_is_shown_by_switches_and_pods() {
        let net = Network::from_spec("fattree:k=4").unwrap();
        let up = |v: u32| net.links().iter().find(|l| l.from == NodeId(v) && l.to.index() >= net.hosts()).unwrap();
        let leaf = up(0);
        // Eight leaf switches with two hosts each.
        let hosts = matrix("fattree:k=4", net.name(leaf.from), net.name(leaf.to));
        assert_eq!((hosts.columns, hosts.rows, hosts.means), (8, 2, Some(["switches", "their hosts"])));
        let spread: std::collections::BTreeSet<u32> = hosts.cells.iter().copied().collect();
        assert_eq!(spread.len(), 16);
    }

    #[test]
    fn ten_thousand_hosts_are_a_few_rows() {
        let net = Network::from_spec("fattree:k=36").unwrap();
        let parts = Parts::of(&net).unwrap();
        let hosts: Vec<usize> = (0..net.links().len()).filter(|&i| net.links()[i].from.index() < net.hosts()).collect();
        let found = parts.matrix(&net, &hosts).unwrap();
        assert_eq!((found.columns, found.rows, found.means), (324, 36, Some(["their hosts", "pods"])));
    }

    #[test]
    fn stars_and_meshes_have_no_parts() {
        for spec in ["star:20", "mesh:3x3"] {
            assert!(Parts::of(&Network::from_spec(spec).unwrap()).is_none(), "{spec}");
        }
    }
}
