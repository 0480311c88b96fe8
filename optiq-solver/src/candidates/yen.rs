//! The k shortest loopless paths by hop count: Yen's algorithm with Lawler's rule and postponed searches.
//!
//! J. Y. Yen, "Finding the k shortest loopless paths in a network", Management Science 17 (1971); E. L. Lawler, "A
//! procedure for computing the k best solutions to discrete optimization problems", Management Science 18 (1972);
//! thesis 5.2, algorithm 1. That a search can wait until its lower bound is the smallest: D. Kurz and P. Mutzel, "A
//! sidetrack-based algorithm for finding the k shortest simple paths in a directed graph", ISAAC 2016; A. Al Zoobi, D.
//! Coudert and N. Nisse, "Space and time trade-off for the k shortest simple paths problem", SEA 2020.
//!
//! The set of all loopless paths is kept as a partition. A cell is (prefix, banned): the paths that start with
//! `prefix` and then take none of the `banned` links; it is represented by a shortest one of them. The
//! shortest representative of all cells is the next path; its cell, with prefix of length `p`, falls into the cells
//! that deviate from it at positions `p, p + 1, ...`. Only those are new, which is Lawler's rule: nothing is searched
//! twice and no path is found twice.
//!
//! Paths come out by length. Among equally long ones Yen leaves the order open; here the cell that was made first
//! comes first. So all deviations from the first path, beginning with those that leave through another port, come
//! before deviations from deviations, and the k paths spread: on `bgq:1024`, disjoint, k = 50 the linear program
//! reaches 16.2 MiB with them, and 40 MiB with those that are first in lexicographic order, which all leave through
//! one port. Within a cell, the first shortest path in the order of ports is taken, where every vertex ranks its
//! outgoing links by index, rotated by a given number, so that different pairs prefer different ports.
//!
//! **Postponed searches.** A path of length `L` makes some `L` cells, and most are never needed: k paths need k cells
//! with a path, of k L that are made. A new cell is a part of the cell that the path came from, so none of its paths
//! is shorter than `L`; with that bound it waits. When its turn comes, one search within the bound either gives the
//! representative, which is then the next path at once, or proves a larger bound, and the cell waits on with that. So
//! cells are taken by (bound, order of making), and the paths come in the order of (length, order of making), as if
//! every cell had been searched when it was made.
//!
//! **Cells without memory.** Paths are numbered as they come, and lie in one arena. The cell that deviates from path
//! `j` at position `p` is the pair `(j, p)`: its prefix is the path's, and it bans the path's link at `p` and, if the
//! path itself deviated at `p`, what was banned in the cell that the path represents. Lexicographic order of the
//! pairs is the order of making, so no heap is needed: cells of one bound are a list, to which new ones are appended,
//! and those that move to a larger bound are sorted when it becomes the smallest. Cells of one path follow each other
//! with growing prefix, so the vertices of the prefix are closed one by one, and the bounds that one search
//! has proved serve the next.

pub(super) mod query;
pub(super) mod search;

pub use query::Query;

use optiq_net::{LinkId, Network};
use search::Search;
use std::collections::BTreeMap;
use std::ops::Range;

/// The search's working space for one network, to be used for one pair after another.
pub struct Yen<'n> {
    search: Search<'n>,
    /// The most links that a loopless path can have, and one.
    vertices: u32,
    /// The links of all paths of the current query, one path after the other.
    arena: Vec<LinkId>,
    paths: Vec<Path>,
}

/// A path that was found, and the cell `(parent, prefix)` that it represents.
struct Path {
    /// Where its links lie.
    links: Range<usize>,
    /// The path that its cell deviates from; `None` for the first path, whose cell is everything.
    parent: Option<u32>,
    /// How many links it shares with that path.
    prefix: u32,
}

/// The paths that deviate from a path at a position: the path's number and how many links are shared. Their order is
/// the order in which cells are made.
type Cell = (u32, u32);

impl<'n> Yen<'n> {
    /// Working space of a few words for each vertex and a few bytes for each link of `net`.
    pub fn new(net: &'n Network) -> Self {
        let vertices = net.vertices() as u32;
        Yen { search: Search::new(net), vertices, arena: Vec::new(), paths: Vec::new() }
    }

    /// The shortest paths in the order described at the module, those that `accept` refuses left out. To keep a
    /// refusing `accept` from searching an exponential number of paths, at most `16 k + 256` paths are offered to it.
    pub fn paths(&mut self, query: Query, mut accept: impl FnMut(&[LinkId]) -> bool) -> Vec<Vec<LinkId>> {
        let most_offers = query.k.saturating_mul(16).saturating_add(256);
        let shortest = query.distance[query.src.index()];
        let limit = query.max_hops.min(self.vertices);
        let mut accepted = Vec::new();
        if query.k == 0 || shortest > limit {
            return accepted;
        }
        self.arena.clear();
        self.paths.clear();
        self.search.begin();
        self.search.close(query.src);
        // Cells whose paths have at least `bound` links, in the order of making; and those with larger bounds.
        let (mut bound, mut cells) = (shortest, Vec::<Cell>::new());
        let mut later = BTreeMap::<u32, Vec<Cell>>::new();
        let mut next = 0;
        // The cell that was searched last; before the first path there are no cells but everything.
        let mut cell: Option<Cell> = None;
        loop {
            let prefix = cell.map_or(0, |(_, prefix)| prefix);
            let begin = self.arena.len();
            if let Some((path, _)) = cell {
                let start = self.paths[path as usize].links.start;
                self.arena.extend_from_within(start..start + prefix as usize);
            }
            let at = self.arena.last().filter(|_| prefix > 0).map_or(query.src, |&l| self.search.to(l));
            match self.search.descend(&query, at, bound - prefix, &mut self.arena) {
                None => {
                    let links = begin..self.arena.len();
                    let number = self.paths.len() as u32;
                    cells.extend((prefix..links.len() as u32).map(|position| (number, position)));
                    if accept(&self.arena[links.clone()]) {
                        accepted.push(self.arena[links.clone()].to_vec());
                    }
                    self.paths.push(Path { links, parent: cell.map(|(path, _)| path), prefix });
                    if accepted.len() == query.k || self.paths.len() == most_offers {
                        return accepted;
                    }
                }
                Some(proved) => {
                    self.arena.truncate(begin);
                    let proved = proved.saturating_add(prefix);
                    if let Some(cell) = cell.filter(|_| proved <= limit) {
                        later.entry(proved).or_default().push(cell);
                    }
                }
            }
            if next == cells.len() {
                let Some((larger, waiting)) = later.pop_first() else { return accepted };
                (bound, cells, next) = (larger, waiting, 0);
                cells.sort_unstable();
            }
            self.enter(&query, cells[next], cell);
            cell = Some(cells[next]);
            next += 1;
        }
    }

    /// Closes the prefix of `cell` and bans its links. If the cell searched before deviates from the same path at an
    /// earlier position, what was closed and proved there stays.
    fn enter(&mut self, query: &Query, cell: Cell, before: Option<Cell>) {
        let (path, prefix) = cell;
        let start = self.paths[path as usize].links.start;
        let closed = match before {
            Some((last, closed)) if last == path && closed < prefix => closed as usize,
            _ => {
                self.search.begin();
                self.search.close(query.src);
                0
            }
        };
        for at in start + closed..start + prefix as usize {
            let node = self.search.to(self.arena[at]);
            self.search.close(node);
        }
        let mut of = path;
        loop {
            let Path { links, parent, prefix: shared } = &self.paths[of as usize];
            self.search.ban(self.arena[links.start + prefix as usize]);
            match parent {
                Some(parent) if *shared == prefix => of = *parent,
                _ => break,
            }
        }
    }
}
