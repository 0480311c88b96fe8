//! A fat tree of any number of levels and rails, hosts in one row.
//!
//! Let `C(t, v)` be the connected part that `v` is in among the switches of its rail on levels up to `t`: with `t = 1` a leaf by itself, with
//! `t = 2` what is called a pod where there are three levels, with the top level everything. Leaves are sorted by the first names
//! in `C(top), C(top - 1), ..., C(1)`, so that each part is a stretch of the row, and have their hosts side by side below them. The switches of
//! level `t` in a part are spread evenly over its stretch, in the order of the mean place of what they are joined to below (the
//! barycentre rule: K. Sugiyama, S. Tagawa, M. Toda: Methods for visual understanding of hierarchical system structures, 1981); equal
//! means are in the order of names.
//!
//! The first rail stands above the hosts and the second one below them, mirrored (K. Brown, 2018, section 4.3.2); further ones behind these. Leaves
//! of the second rail stand below the middle of their hosts, which are in the order of the first one.

use crate::svg::Point;
use optiq_net::structure::Structure;

/// Between two leaves, in distances of hosts.
const LEAF_GAP: f64 = 0.8;
/// More between two parts of each higher level.
const PART_GAP: f64 = 2.5;

pub(super) fn places(structure: &Structure, rank: &[u32]) -> Vec<Point> {
    let tree = Tree { structure, rank, parts: (0..=structure.top).map(|t| parts(structure, t)).collect() };
    let mut places = vec![(0.0, 0.0); rank.len()];
    let width = tree.first_row(&mut places).max(4.0);
    let mut widest = 1;
    for rail in 0..structure.rails {
        if rail > 0 {
            tree.further_leaves(rail, &mut places);
        }
        for level in 2..=structure.top {
            tree.spread(rail, level, &mut places);
        }
        let most = tree.switches(rail, 1).map(|leaf| tree.hosts(leaf).count()).max().unwrap_or(1);
        widest = widest.max(most);
    }
    tree.heights(width, widest, &mut places);
    places
}

struct Tree<'a> {
    structure: &'a Structure,
    rank: &'a [u32],
    /// Per level `t` and vertex: the number of its part.
    parts: Vec<Vec<u32>>,
}

impl Tree<'_> {
    fn switches(&self, rail: u32, level: u32) -> impl Iterator<Item = usize> + '_ {
        let s = self.structure;
        (0..s.levels.len()).filter(move |&v| s.rail[v] == Some(rail) && s.levels[v] == Some(level))
    }

    fn hosts(&self, leaf: usize) -> impl Iterator<Item = usize> + '_ {
        let s = self.structure;
        s.neighbours[leaf].iter().map(|&w| w as usize).filter(|&w| s.levels[w] == Some(0))
    }

    /// The leaf below which a host is drawn.
    fn home(&self, host: usize) -> Option<usize> {
        let s = self.structure;
        let leaves = s.neighbours[host].iter().map(|&w| w as usize).filter(|&w| s.levels[w] == Some(1));
        leaves.min_by_key(|&leaf| (s.rail[leaf], self.rank[leaf]))
    }

    /// Hosts, and the leaves that hosts are drawn below; returns how long the row is.
    fn first_row(&self, places: &mut [Point]) -> f64 {
        let s = self.structure;
        let mut own: Vec<Vec<usize>> = vec![Vec::new(); s.levels.len()];
        for host in (0..s.levels.len()).filter(|&v| s.rail[v].is_none()) {
            if let Some(leaf) = self.home(host) {
                own[leaf].push(host);
            }
        }
        let mut leaves: Vec<usize> = self.switches(0, 1).collect();
        // A leaf of a further rail leads hosts that the first rail does not reach.
        leaves.extend((1..s.rails).flat_map(|rail| self.switches(rail, 1)).filter(|&leaf| !own[leaf].is_empty()));
        // The first name below each part: of hosts, or behind all of these of leaves without any.
        let name = |leaf: usize| own[leaf].iter().map(|&h| (0, self.rank[h])).min().unwrap_or((1, self.rank[leaf]));
        let mut first = vec![vec![(2, 0); s.levels.len()]; self.parts.len()];
        for &leaf in &leaves {
            for (part, first) in self.parts.iter().zip(&mut first) {
                let first = &mut first[part[leaf] as usize];
                *first = name(leaf).min(*first);
            }
        }
        leaves.sort_by_cached_key(|&leaf| {
            let parts = self.parts.iter().zip(&first).skip(1).rev();
            let keys: Vec<(u32, u32)> = parts.map(|(part, first)| first[part[leaf] as usize]).collect();
            (s.rail[leaf], keys, self.rank[leaf])
        });
        let mut x = 0.0;
        for (i, &leaf) in leaves.iter().enumerate() {
            if let Some(&before) = i.checked_sub(1).map(|i| &leaves[i]) {
                let apart = self.parts.iter().skip(2).filter(|part| part[leaf] != part[before]).count();
                x += LEAF_GAP + PART_GAP * apart as f64;
            }
            own[leaf].sort_by_key(|&host| self.rank[host]);
            let wide = own[leaf].len().max(1) as f64;
            for (place, &host) in own[leaf].iter().enumerate() {
                places[host].0 = x + place as f64 + 0.5;
            }
            places[leaf].0 = x + wide / 2.0;
            x += wide;
        }
        x
    }

    /// The leaves of a rail that is not the first: each at the middle of its hosts, or to the right of the one before it.
    fn further_leaves(&self, rail: u32, places: &mut [Point]) {
        let middle = |leaf: usize, places: &[Point]| {
            let (sum, count) = self.hosts(leaf).fold((0.0, 0), |(sum, n), h| (sum + places[h].0, n + 1));
            if count > 0 { sum / f64::from(count) } else { f64::INFINITY }
        };
        let mut leaves: Vec<(f64, usize)> = self.switches(rail, 1).map(|leaf| (middle(leaf, places), leaf)).collect();
        leaves.sort_by(|a, b| a.0.total_cmp(&b.0).then(self.rank[a.1].cmp(&self.rank[b.1])));
        let mut least = f64::NEG_INFINITY;
        for (middle, leaf) in leaves {
            let x = if middle.is_finite() { middle.max(least) } else { least.max(0.0) };
            places[leaf].0 = x;
            least = x + 1.0;
        }
    }

    /// The switches of a level, each part by itself.
    fn spread(&self, rail: u32, level: u32, places: &mut [Point]) {
        let part = &self.parts[level as usize];
        let mut stretch = vec![(f64::INFINITY, f64::NEG_INFINITY); part.len()];
        for leaf in self.switches(rail, 1) {
            let (low, high) = &mut stretch[part[leaf] as usize];
            let half = self.hosts(leaf).count().max(1) as f64 / 2.0;
            *low = low.min(places[leaf].0 - half);
            *high = high.max(places[leaf].0 + half);
        }
        let below = |v: usize| {
            let s = self.structure;
            let lower = s.neighbours[v].iter().filter(|&&w| s.levels[w as usize] == Some(level - 1));
            let (sum, count) = lower.fold((0.0, 0), |(sum, n), &w| (sum + places[w as usize].0, n + 1));
            // In thousandths, so that means that differ by rounding only are equal.
            (1000.0 * sum / f64::from(count.max(1))).round() as i64
        };
        let mut row: Vec<(u32, i64, u32, usize)> =
            self.switches(rail, level).map(|v| (part[v], below(v), self.rank[v], v)).collect();
        row.sort_unstable();
        for same in row.chunk_by(|a, b| a.0 == b.0) {
            let (low, high) = stretch[same[0].0 as usize];
            for (i, &(.., v)) in same.iter().enumerate() {
                let share = (i as f64 + 0.5) / same.len() as f64;
                places[v].0 = if low <= high { low + (high - low) * share } else { i as f64 };
            }
        }
    }

    /// Rows: hosts at 0, leaves as high as the fan of their hosts is wide, and the levels above so that all is about twice as wide as high.
    fn heights(&self, width: f64, widest: usize, places: &mut [Point]) {
        let s = self.structure;
        let leaf = (0.8 * widest as f64).clamp(2.5, (0.25 * width).max(2.5));
        let high = if s.rails > 1 { 0.28 } else { 0.48 };
        let step = (high * width / f64::from(s.top.saturating_sub(1)).max(1.4)).max(leaf);
        let all = leaf + step * f64::from(s.top.saturating_sub(1));
        for (v, place) in places.iter_mut().enumerate() {
            let (Some(rail), Some(level)) = (s.rail[v], s.levels[v]) else { continue };
            let height = leaf + step * f64::from(level - 1) + f64::from(rail / 2) * (all + step);
            place.1 = if rail % 2 == 0 { -height } else { height };
        }
    }
}

/// Per vertex the lowest vertex of its part among the switches of levels up to `level`.
fn parts(structure: &Structure, level: u32) -> Vec<u32> {
    let inside = |v: usize| structure.rail[v].is_some() && structure.levels[v].is_some_and(|l| l <= level);
    optiq_net::structure::parts(&structure.neighbours, inside, |_, _| true)
}
