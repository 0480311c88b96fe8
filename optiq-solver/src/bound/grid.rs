//! Slabs and boxes on grids.
//!
//! In dimension `d`, an interval `[i, k)` of coordinates (of the ring, if the dimension wraps) is left upwards from
//! `k - 1` and downwards from `i`. A *box* is a product of intervals, a *slab* a box that is full in all dimensions but
//! one. With `b(x, y)` the bytes from coordinate `x` to coordinate `y`, what leaves `I = [i, k)` is
//! `sum_{x in I} (sum_y b(x, y)) - sum_{x, y in I} b(x, y)`. The double sum over any interval is four terms of the prefix
//! sums of `b`, so all slabs of a dimension take a pass over the demands and `O(L^2)`.
//!
//! Boxes in two dimensions: the interval of the first dimension grows by one coordinate at a time. Then the demands
//! with both ends in it, by their coordinates in the second dimension, grow by `O(L_2^2)` terms for each coordinate that
//! is in it, and all intervals of the second dimension follow as above: `O(L_1^3 L_2^2)` altogether.
//!
//! Boxes in all dimensions are too many. From a few boxes on (the smallest around all sources, around all destinations,
//! around the busiest of them, the best cut found so far), the interval of one dimension after the other is replaced
//! by the best there is, the others held fixed, until none is better: `O(nodes + demands + links + L^2)` for each.
//!
//! Sums of bytes fit 64 bits, because all demands together do; where prefix sums run twice round a ring they may wrap, but
//! differences of them are right. Capacities are only ever added, never subtracted, so small ones are not lost beside
//! large ones.

use crate::bound::cut::{Best, Cut, SAME, Verb, by_host};
use crate::bound::region::{Interval, Region, coordinates, directions};
use crate::demands::Demand;
use optiq_net::{Grid, Network};

/// Longer dimensions are divided into this many equal blocks, and intervals end between blocks: for slabs, for boxes in
/// two dimensions.
const SLAB_BLOCKS: u32 = 512;
const BOX_BLOCKS: u32 = 16;

/// Visits to demands, links and sums, at most, for boxes in two dimensions, and for those in all.
const PAIRS_WORK: usize = 1 << 24;
const SEARCH_WORK: usize = 1 << 20;

/// Bytes times hops, with every demand on a shortest path.
pub(super) fn volume(grid: &Grid, demands: &[Demand]) -> u128 {
    let coordinates = coordinates(grid);
    let along = |d: usize| {
        let of = &coordinates[d];
        let hops =
            |demand: &Demand| grid.offset_along(d, of[demand.src.index()], of[demand.dst.index()]).unsigned_abs();
        demands.iter().map(|demand| u128::from(demand.bytes) * u128::from(hops(demand))).sum::<u128>()
    };
    (0..coordinates.len()).filter(|&d| grid.dims()[d] > 1).map(along).sum()
}

/// A dimension divided into blocks of equal length (the last may be shorter).
struct Ruler {
    d: usize,
    length: u32,
    wrap: bool,
    /// Coordinates in a block.
    step: u32,
    /// Number of blocks.
    n: usize,
    /// Of each coordinate.
    block: Vec<u32>,
}

impl Ruler {
    fn new(grid: &Grid, d: usize, most: u32) -> Self {
        let length = grid.dims()[d];
        let step = length.div_ceil(most);
        let n = length.div_ceil(step) as usize;
        Ruler { d, length, wrap: grid.wrap()[d], step, n, block: (0..length).map(|c| c / step).collect() }
    }

    fn next(&self, block: usize) -> usize {
        if block + 1 == self.n { 0 } else { block + 1 }
    }

    fn previous(&self, block: usize) -> usize {
        if block == 0 { self.n - 1 } else { block - 1 }
    }

    fn interval(&self, start: usize, width: usize) -> Interval {
        if width == self.n {
            return Interval { start: 0, length: self.length };
        }
        let (start, end) = (start as u32 * self.step, (start + width) as u32);
        // The last block may be shorter, and an interval may go on at 0 after it.
        let n = self.n as u32;
        let end = if end < n { end * self.step } else { self.length + (end - n) * self.step };
        Interval { start, length: end - start }
    }

    /// Whether links lead upwards (or downwards) from a block to another. In a ring of two those down from 0 are those up.
    fn leads(&self, block: usize, upwards: bool) -> bool {
        (self.wrap && self.length > 2) || if upwards { block + 1 < self.n } else { block > 0 }
    }

    /// Number of coordinates in a block.
    fn size(&self, block: usize) -> u32 {
        self.interval(block, 1).length
    }

    /// How many blocks an interval from `start` on may have at most.
    fn widest(&self, start: usize) -> usize {
        if self.wrap { self.n } else { self.n - start }
    }
}

/// What is needed to weigh all intervals of one dimension, the other dimensions held fixed to a cross-section. Per block of
/// the dimension:
struct Line<'a> {
    ruler: &'a Ruler,
    /// `n * n`: the bytes from block to block, both ends in the cross-section.
    between: &'a [u64],
    /// The bytes of all demands from a block, to a block.
    leaving: &'a [u64],
    entering: &'a [u64],
    /// The capacity of links from a block out of the cross-section, and into it.
    out: &'a [f64],
    into: &'a [f64],
    /// The capacity of links along the dimension from this block to the next, and to the one before it.
    up: &'a [f64],
    down: &'a [f64],
    /// Intervals of more blocks are left out.
    widest: usize,
}

/// An interval that proves a bound.
struct Weighed {
    seconds: f64,
    start: usize,
    width: usize,
    verb: Verb,
}

impl Line<'_> {
    /// The interval that proves the largest bound above `floor`, the first among equals.
    fn best(&self, floor: f64, prefix: &mut Vec<u64>) -> Option<Weighed> {
        let (ruler, n) = (self.ruler, self.ruler.n);
        // Prefix sums over blocks 0..span in both directions; twice round a ring.
        let span = if ruler.wrap { 2 * n } else { n };
        prefix.clear();
        prefix.resize((span + 1) * (span + 1), 0);
        for x in 0..span {
            let row = &self.between[x % n * n..][..n];
            let (above, below) = prefix[x * (span + 1)..].split_at_mut(span + 1);
            let mut sum = 0u64;
            for y in 0..span {
                sum = sum.wrapping_add(row[if y < n { y } else { y - n }]);
                below[y + 1] = above[y + 1].wrapping_add(sum);
            }
        }
        let at = |x: usize, y: usize| prefix[x * (span + 1) + y];
        let mut best: Option<Weighed> = None;
        let mut most = floor;
        for start in 0..n {
            let (mut leaving, mut entering) = (0u64, 0u64);
            let (mut out, mut into) = (0.0, 0.0);
            for width in 1..=self.widest.min(ruler.widest(start)) {
                let end = start + width;
                let last = if end > n { end - 1 - n } else { end - 1 };
                leaving += self.leaving[last];
                entering += self.entering[last];
                out += self.out[last];
                into += self.into[last];
                let (mut capacity_out, mut capacity_into) = (out, into);
                if width < n {
                    capacity_out += self.up[last] + self.down[start];
                    capacity_into += self.up[ruler.previous(start)] + self.down[ruler.next(last)];
                }
                let inside = at(end, end)
                    .wrapping_sub(at(start, end))
                    .wrapping_sub(at(end, start))
                    .wrapping_add(at(start, start));
                let sides = [(leaving, capacity_out, Verb::Leave), (entering, capacity_into, Verb::Enter)];
                for (bytes, capacity, verb) in sides {
                    // Divisions are slow, and nearly always for nothing.
                    let bytes = (bytes - inside) as f64;
                    if bytes > most * capacity && capacity > 0.0 {
                        let seconds = bytes / capacity;
                        best = Some(Weighed { seconds, start, width, verb });
                        most = seconds * (1.0 + SAME);
                    }
                }
            }
        }
        best
    }
}

/// The grid's links and the demands that move bytes, ready to be added up.
struct Sums<'a> {
    net: &'a Network,
    grid: &'a Grid,
    demands: &'a [Demand],
    coordinates: Vec<Vec<u32>>,
    /// Dimensions longer than 1.
    dims: Vec<usize>,
    /// Of each link, twice its dimension, plus 1 if it leads upwards.
    direction: Vec<u8>,
    /// Per dimension the capacity of its links, if each has its own: then links are counted, not looked at.
    even: Option<Vec<f64>>,
}

/// Offers the slabs, the boxes in two dimensions, and those in all that a search finds.
pub(super) fn cuts(net: &Network, grid: &Grid, demands: &[Demand]) -> Best {
    let mut best = Best { seconds: 0.0, cut: Cut::Nothing };
    let dims: Vec<usize> = (0..grid.dims().len()).filter(|&d| grid.dims()[d] > 1).collect();
    let direction = directions(net, grid);
    let even = even(net, grid, &direction);
    let sums = Sums { net, grid, demands, coordinates: coordinates(grid), dims, direction, even };
    let mut prefix = Vec::new();
    for &d in &sums.dims {
        sums.slabs(d, &mut prefix, &mut best);
    }
    let mut work = 0;
    for (i, &d) in sums.dims.iter().enumerate() {
        for &e in &sums.dims[i + 1..] {
            // The first dimension costs more.
            let (outer, inner) = if grid.dims()[e] < grid.dims()[d] { (e, d) } else { (d, e) };
            sums.boxes(outer, inner, &mut work, &mut prefix, &mut best);
        }
    }
    sums.search(&mut prefix, &mut best);
    best
}

/// The capacity of the links of each dimension, if all links of a dimension have the same.
fn even(net: &Network, grid: &Grid, direction: &[u8]) -> Option<Vec<f64>> {
    let mut capacities = vec![0.0; grid.dims().len()];
    for (link, direction) in net.links().iter().zip(direction) {
        let capacity = &mut capacities[usize::from(direction / 2)];
        if *capacity == 0.0 {
            *capacity = link.capacity;
        } else if *capacity != link.capacity {
            return None;
        }
    }
    Some(capacities)
}

impl Sums<'_> {
    fn moving(&self) -> impl Iterator<Item = &Demand> {
        self.demands.iter().filter(|d| d.bytes > 0)
    }

    /// For every link along a dimension of `rulers` that leads from one block to another: `add(which ruler, upwards, the
    /// vertex it leaves, capacity)`.
    fn crossing(&self, rulers: &[&Ruler], mut add: impl FnMut(usize, bool, usize, f64)) {
        let mut ruler_of = vec![usize::MAX; self.grid.dims().len()];
        rulers.iter().enumerate().for_each(|(r, ruler)| ruler_of[ruler.d] = r);
        for (link, &direction) in self.net.links().iter().zip(&self.direction) {
            let r = ruler_of[usize::from(direction / 2)];
            if r == usize::MAX {
                continue;
            }
            let ruler = rulers[r];
            let of = &self.coordinates[ruler.d];
            let (from, to) = (of[link.from.index()], of[link.to.index()]);
            if ruler.step == 1 || ruler.block[from as usize] != ruler.block[to as usize] {
                add(r, direction % 2 == 1, link.from.index(), link.capacity);
            }
        }
    }

    /// How many links are looked at when capacities are added.
    fn visits(&self) -> usize {
        if self.even.is_some() { 0 } else { self.net.links().len() }
    }

    fn slabs(&self, d: usize, prefix: &mut Vec<u64>, best: &mut Best) {
        let ruler = Ruler::new(self.grid, d, SLAB_BLOCKS);
        let n = ruler.n;
        let block = |v: usize| ruler.block[self.coordinates[d][v] as usize] as usize;
        let (mut between, mut leaving, mut entering) = (vec![0u64; n * n], vec![0u64; n], vec![0u64; n]);
        for demand in self.moving() {
            let (from, to) = (block(demand.src.index()), block(demand.dst.index()));
            between[from * n + to] += demand.bytes;
            leaving[from] += demand.bytes;
            entering[to] += demand.bytes;
        }
        let [mut up, mut down] = [(); 2].map(|()| vec![0.0; n]);
        match &self.even {
            Some(capacities) => {
                let section = (self.grid.nodes() / ruler.length as usize) as f64;
                for x in 0..n {
                    up[x] = if ruler.leads(x, true) { capacities[d] * section } else { 0.0 };
                    down[x] = if ruler.leads(x, false) { capacities[d] * section } else { 0.0 };
                }
            }
            None => self.crossing(&[&ruler], |_, upwards, from, capacity| {
                (if upwards { &mut up } else { &mut down })[block(from)] += capacity;
            }),
        }
        let none = vec![0.0; n];
        let line = Line {
            ruler: &ruler,
            between: &between,
            leaving: &leaving,
            entering: &entering,
            out: &none,
            into: &none,
            up: &up,
            down: &down,
            // What leaves an interval of a ring enters the rest of it.
            widest: if ruler.wrap { n / 2 } else { n - 1 },
        };
        if let Some(found) = line.best(best.floor(), prefix) {
            let mut region = Region::full(self.grid);
            region.0[d] = ruler.interval(found.start, found.width);
            best.offer(found.seconds, || Cut::Box(region, found.verb));
        }
    }

    /// The capacity of links from each pair of blocks, `x * m + y`: along the outer dimension, the inner one; down, up.
    fn faces(&self, outer: &Ruler, inner: &Ruler) -> [[Vec<f64>; 2]; 2] {
        let (n, m) = (outer.n, inner.n);
        let outer_block = |v: usize| outer.block[self.coordinates[outer.d][v] as usize] as usize;
        let inner_block = |v: usize| inner.block[self.coordinates[inner.d][v] as usize] as usize;
        let mut faces = [[vec![0.0; n * m], vec![0.0; n * m]], [vec![0.0; n * m], vec![0.0; n * m]]];
        match &self.even {
            Some(capacities) => {
                let section = (self.grid.nodes() / outer.length as usize / inner.length as usize) as f64;
                for (x, y, up) in (0..n * m).flat_map(|i| [(i / m, i % m, false), (i / m, i % m, true)]) {
                    if outer.leads(x, up) {
                        faces[0][usize::from(up)][x * m + y] = capacities[outer.d] * section * f64::from(inner.size(y));
                    }
                    if inner.leads(y, up) {
                        faces[1][usize::from(up)][x * m + y] = capacities[inner.d] * section * f64::from(outer.size(x));
                    }
                }
            }
            None => self.crossing(&[outer, inner], |along, upwards, from, capacity| {
                faces[along][usize::from(upwards)][outer_block(from) * m + inner_block(from)] += capacity;
            }),
        }
        faces
    }

    /// Boxes that are full in all dimensions but `d` and `e`, unless that takes `work` beyond its limit.
    fn boxes(&self, d: usize, e: usize, work: &mut usize, prefix: &mut Vec<u64>, best: &mut Best) {
        let (outer, inner) = (Ruler::new(self.grid, d, BOX_BLOCKS), Ruler::new(self.grid, e, BOX_BLOCKS));
        let (n, m) = (outer.n, inner.n);
        let cost = self.demands.len() + self.visits() + n * n * m * m * (n + 12);
        if *work + cost > PAIRS_WORK {
            return;
        }
        *work += cost;
        let outer_block = |v: usize| outer.block[self.coordinates[d][v] as usize] as usize;
        let inner_block = |v: usize| inner.block[self.coordinates[e][v] as usize] as usize;
        // between[x][y]: from block x to block y of the outer dimension, a matrix over blocks of the inner one.
        let mut between = vec![0u64; n * n * m * m];
        let (mut leaving, mut entering) = (vec![0u64; n * m], vec![0u64; n * m]);
        for demand in self.moving() {
            let (s, t) = (demand.src.index(), demand.dst.index());
            let (x, y, u, v) = (outer_block(s), outer_block(t), inner_block(s), inner_block(t));
            between[((x * n + y) * m + u) * m + v] += demand.bytes;
            leaving[x * m + u] += demand.bytes;
            entering[y * m + v] += demand.bytes;
        }
        let [[outer_down, outer_up], [inner_down, inner_up]] = self.faces(&outer, &inner);
        let row = |x: usize| x * m..(x + 1) * m;
        for start in 0..n {
            let mut inside = vec![0u64; m * m];
            let (mut from, mut to) = (vec![0u64; m], vec![0u64; m]);
            let (mut up, mut down) = (vec![0.0; m], vec![0.0; m]);
            // All coordinates of the outer dimension make a slab.
            for width in 1..=outer.widest(start).min(n - 1) {
                let last = (start + width - 1) % n;
                for other in (start..start + width).map(|x| x % n) {
                    add(&mut inside, &between[(last * n + other) * m * m..][..m * m]);
                    if other != last {
                        add(&mut inside, &between[(other * n + last) * m * m..][..m * m]);
                    }
                }
                add(&mut from, &leaving[row(last)]);
                add(&mut to, &entering[row(last)]);
                up.iter_mut().zip(&inner_up[row(last)]).for_each(|(sum, c)| *sum += c);
                down.iter_mut().zip(&inner_down[row(last)]).for_each(|(sum, c)| *sum += c);
                let sum = |up: usize, down: usize| -> Vec<f64> {
                    outer_up[row(up)].iter().zip(&outer_down[row(down)]).map(|(a, b)| a + b).collect()
                };
                let line = Line {
                    ruler: &inner,
                    between: &inside,
                    leaving: &from,
                    entering: &to,
                    out: &sum(last, start),
                    into: &sum(outer.previous(start), outer.next(last)),
                    up: &up,
                    down: &down,
                    widest: m - 1,
                };
                if let Some(found) = line.best(best.floor(), prefix) {
                    let mut region = Region::full(self.grid);
                    region.0[d] = outer.interval(start, width);
                    region.0[e] = inner.interval(found.start, found.width);
                    best.offer(found.seconds, || Cut::Box(region, found.verb));
                }
            }
        }
    }

    /// Boxes in all dimensions, from a few of them on.
    fn search(&self, prefix: &mut Vec<u64>, best: &mut Best) {
        let step = self.grid.nodes() + self.demands.len() + self.visits();
        let mut work = 0;
        for mut region in self.seeds(best) {
            let mut floor = 0.0;
            // How many dimensions in a row had no better interval.
            let mut settled = 0;
            for &d in self.dims.iter().cycle() {
                work += step + 8 * (self.grid.dims()[d].min(SLAB_BLOCKS) as usize).pow(2);
                if settled == self.dims.len() || work > SEARCH_WORK {
                    break;
                }
                settled += 1;
                if let Some((seconds, interval, verb)) = self.best_along(d, &region, floor, prefix) {
                    region.0[d] = interval;
                    floor = seconds * (1.0 + SAME);
                    settled = 1;
                    best.offer(seconds, || Cut::Box(region.clone(), verb));
                }
            }
        }
    }

    /// The best interval of dimension `d` for a box that is otherwise `region`, if it proves more than `floor`.
    fn best_along(
        &self,
        d: usize,
        region: &Region,
        floor: f64,
        prefix: &mut Vec<u64>,
    ) -> Option<(f64, Interval, Verb)> {
        let ruler = Ruler::new(self.grid, d, SLAB_BLOCKS);
        let n = ruler.n;
        let section = region.inside(self.grid, &self.coordinates, Some(d));
        let block = |v: usize| ruler.block[self.coordinates[d][v] as usize] as usize;
        let (mut between, mut leaving, mut entering) = (vec![0u64; n * n], vec![0u64; n], vec![0u64; n]);
        for demand in self.moving() {
            let (s, t) = (demand.src.index(), demand.dst.index());
            if section[s] {
                leaving[block(s)] += demand.bytes;
            }
            if section[t] {
                entering[block(t)] += demand.bytes;
            }
            if section[s] && section[t] {
                between[block(s) * n + block(t)] += demand.bytes;
            }
        }
        let [mut out, mut into, mut up, mut down] = [(); 4].map(|()| vec![0.0; n]);
        match &self.even {
            Some(capacities) => {
                let held: Vec<usize> = self.dims.iter().copied().filter(|&e| e != d).collect();
                let section: f64 = held.iter().map(|&e| f64::from(region.0[e].length)).product();
                let sideways = held.iter().map(|&e| {
                    let (interval, length) = (region.0[e], self.grid.dims()[e]);
                    let ends = match self.grid.wrap()[e] && length > 2 {
                        _ if interval.length == length => 0,
                        true => 2,
                        false => u32::from(interval.start > 0) + u32::from(interval.start + interval.length < length),
                    };
                    capacities[e] * section / f64::from(interval.length) * f64::from(ends)
                });
                let sideways: f64 = sideways.sum();
                for x in 0..n {
                    out[x] = sideways * f64::from(ruler.size(x));
                    up[x] = if ruler.leads(x, true) { capacities[d] * section } else { 0.0 };
                    down[x] = if ruler.leads(x, false) { capacities[d] * section } else { 0.0 };
                }
                into.clone_from(&out);
            }
            None => self.along(d, &section, &block, [&mut out, &mut into, &mut up, &mut down]),
        }
        let line = Line {
            ruler: &ruler,
            between: &between,
            leaving: &leaving,
            entering: &entering,
            out: &out,
            into: &into,
            up: &up,
            down: &down,
            widest: n,
        };
        let found = line.best(floor, prefix)?;
        Some((found.seconds, ruler.interval(found.start, found.width), found.verb))
    }

    /// Adds the capacities for a [`Line`] along `d`, link by link: out of the cross-section, into it, up and down.
    fn along(&self, d: usize, section: &[bool], block: &dyn Fn(usize) -> usize, sums: [&mut [f64]; 4]) {
        let [out, into, up, down] = sums;
        for (link, &direction) in self.net.links().iter().zip(&self.direction) {
            let (s, t) = (link.from.index(), link.to.index());
            match (section[s], section[t]) {
                // Only links along the dimension stay in the cross-section and change its coordinate.
                (true, true) if usize::from(direction / 2) == d && block(s) != block(t) => {
                    (if direction % 2 == 1 { &mut *up } else { &mut *down })[block(s)] += link.capacity;
                }
                (true, false) => out[block(s)] += link.capacity,
                (false, true) => into[block(t)] += link.capacity,
                _ => {}
            }
        }
    }

    /// Boxes to begin with: around all sources, around all destinations, the best cut so far, and around the half, the
    /// quarter, ... of the sources and of the destinations that have the most bytes.
    fn seeds(&self, best: &Best) -> Vec<Region> {
        let busiest = |bytes: Vec<u64>| {
            let mut order: Vec<u32> = (0..self.grid.nodes() as u32).filter(|&v| bytes[v as usize] > 0).collect();
            // Stable: the lower number among equals.
            order.sort_by_key(|&v| std::cmp::Reverse(bytes[v as usize]));
            order
        };
        let ends = Verb::BOTH.map(|verb| busiest(by_host(self.net, self.demands, verb)));
        let mut seeds: Vec<Region> = ends.iter().map(|end| self.hull(end)).collect();
        if let Cut::Box(region, _) = &best.cut {
            seeds.push(region.clone());
        }
        let most = ends[0].len().max(ends[1].len());
        for part in (1..).map(|halvings| most >> halvings).take_while(|&part| part > 0) {
            seeds.extend(ends.iter().filter(|end| end.len() > part).map(|end| self.hull(&end[..part])));
        }
        // Around everything there is no cut.
        let full = Region::full(self.grid);
        seeds.retain(|seed| *seed != full);
        let mut distinct: Vec<Region> = Vec::new();
        seeds.into_iter().for_each(|seed| {
            if !distinct.contains(&seed) {
                distinct.push(seed);
            }
        });
        distinct
    }

    /// The smallest box around at least one vertex.
    fn hull(&self, of: &[u32]) -> Region {
        let mut region = Region::full(self.grid);
        for &d in &self.dims {
            let length = self.grid.dims()[d];
            let mut used = vec![false; length as usize];
            of.iter().for_each(|&v| used[self.coordinates[d][v as usize] as usize] = true);
            let used: Vec<u32> = (0..length).filter(|&c| used[c as usize]).collect();
            let (Some(&first), Some(&last)) = (used.first(), used.last()) else { continue };
            // All but the longest gap; without a ring, or among equals, the gap round the end.
            let mut interval = Interval { start: first, length: last - first + 1 };
            if self.grid.wrap()[d] {
                for pair in used.windows(2) {
                    let rest = length - (pair[1] - pair[0] - 1);
                    if rest < interval.length {
                        interval = Interval { start: pair[1], length: rest };
                    }
                }
            }
            if interval.length < length {
                region.0[d] = interval;
            }
        }
        region
    }
}

fn add(sums: &mut [u64], more: &[u64]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}
