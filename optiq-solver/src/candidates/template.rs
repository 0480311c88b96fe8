//! Port-pair-diverse paths of vertex-transitive grids, as templates.
//!
//! Where every dimension wraps, translations map the grid onto itself, and so do reflections of single dimensions. The
//! paths of a pair therefore depend only on how far apart its nodes are in each dimension: a *template* holds the paths
//! for distances `(o_0, o_1, ...)`, `0 <= o_d <= L_d / 2`, as sequences of ports (module [`super::diverse`] has the
//! method). A pair's paths are the template walked from its source, with ports exchanged in the dimensions in which
//! the destination lies below the source. Time and memory follow the number of different distances, 162 on `bgq:512`,
//! and not the number of pairs.
//!
//! What must not be the same for all pairs:
//! - *The order of equally good ports.* Else load gathers on the ports that come first. There are [`VARIANTS`] templates
//!   for the same distances; which of them a pair has is a hash of source and destination.
//! - *The fabric's own routes.* They depend on the pair where a tie, a distance of exactly half a ring, is decided by
//!   the source. For the route of the pair itself both reflections serve, and the one that fits is taken. A middle that
//!   is an own route begins elsewhere; there a template holds *tie steps*, whose direction is looked up when the path
//!   is walked. Both directions lead to the same vertex in the same number of steps. Such a path is kept only if it has
//!   no loop whichever way its ties go, and paths count as different only if they are so whichever way ties go.
//!
//! So this module serves fabrics with one dimension order for all packets. The fabric's own route is the last of the
//! shortest paths.
//!
//! Whether a middle from `u = src + a` to `w = dst - b` passes an end needs no walk. It passes `src` only if the run in
//! the dimension of the first port `a` is the first that is not empty, and goes back through `a`; it passes `dst` only
//! if the run in the dimension of the last port `b` is the last, and comes in against `b`.

use crate::candidates::limits::MAX_PATHS;
use crate::candidates::table::PathBuffer;
use crate::constants::{MAX_DETOUR, VARIANTS};
use crate::deadline::Deadline;
use crate::demands::Demand;
use crate::parallel::in_two;
use optiq_net::{Exit, FixedOrder, Grid, Network, NodeId, Ports, random::SplitMix64};
use std::sync::Arc;

/// A step is a port, or this plus a dimension: a step of a tie that the fabric decides, for packets from the second
/// vertex of the path.
const TIE: u8 = 64;

/// With fewer paths than this a second thread does not pay.
const MANY: usize = 1 << 13;

/// The templates for a list of demands, and which of them each demand has.
#[derive(Clone, Debug)]
pub(super) struct Templates {
    ports: Arc<Ports>,
    paths: Paths,
    /// Template `t` has the paths `rows[t]..rows[t + 1]`.
    rows: Vec<u32>,
    placed: Vec<Placed>,
}

/// A demand's paths: a template, where it starts, and in which dimensions (bits) it is reflected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Placed {
    template: u32,
    source: NodeId,
    mirrored: u32,
}

/// Paths as sequences of steps.
#[derive(Clone, Debug, Default)]
struct Paths {
    steps: Vec<u8>,
    ends: Vec<usize>,
}

impl Paths {
    fn clear(&mut self) {
        self.steps.clear();
        self.ends.clear();
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn path(&self, path: usize) -> &[u8] {
        let start = if path == 0 { 0 } else { self.ends[path - 1] };
        &self.steps[start..self.ends[path]]
    }
}

/// The grid of `net` if templates serve there.
pub(super) fn serve(net: &Network) -> Option<Place<'_>> {
    let grid = net.geometry().grid()?;
    let ports = net.ports()?;
    let order = ports.order()?;
    let transitive = grid.dims().iter().zip(grid.wrap()).all(|(&length, &wrap)| wrap || length == 1);
    transitive.then_some(Place { grid, ports, order })
}

/// A grid that templates serve, its ports and its dimension order.
#[derive(Clone, Copy)]
pub(super) struct Place<'n> {
    grid: &'n Grid,
    ports: &'n Arc<Ports>,
    order: &'n FixedOrder,
}

impl Templates {
    /// At most `k` paths for each of `demands`, and one for those that are reached after the deadline; `None` beyond
    /// [`MAX_PATHS`] in all.
    pub(super) fn generate(place: Place, demands: &[Demand], k: usize, deadline: Deadline) -> Option<Self> {
        let Place { grid, ports, order } = place;
        let mut keys = Vec::with_capacity(demands.len());
        let mut placed = Vec::with_capacity(demands.len());
        for (d, demand) in demands.iter().enumerate() {
            let (key, mirrored) = key(grid, order, demand.src, demand.dst);
            keys.push((key, d as u32));
            placed.push(Placed { template: 0, source: demand.src, mirrored });
        }
        keys.sort_unstable();
        let mut distinct: Vec<u64> = Vec::new();
        for (key, d) in keys {
            if distinct.last() != Some(&key) {
                distinct.push(key);
            }
            placed[d as usize].template = distinct.len() as u32 - 1;
        }
        let make = |keys: &[u64]| {
            let mut maker = Maker::new(grid, order, k);
            for (i, &key) in keys.iter().enumerate() {
                if i % 64 == 63 && deadline.overdue() {
                    // The first path found is the fabric's own route.
                    maker.k = 1;
                }
                maker.template(key);
                if maker.paths.len() > MAX_PATHS {
                    return None;
                }
            }
            Some((maker.paths, maker.lengths))
        };
        let (first, second) = in_two(&distinct, distinct.len() * k >= MANY, make);
        let (mut paths, mut lengths) = first?;
        if let Some(second) = second {
            let (more, more_lengths) = second?;
            let before = paths.steps.len();
            paths.steps.extend_from_slice(&more.steps);
            paths.ends.extend(more.ends.iter().map(|end| before + end));
            lengths.extend(more_lengths);
        }
        let mut rows = vec![0];
        let mut end = 0;
        rows.extend(lengths.iter().map(|length| {
            end += length;
            end
        }));
        let templates = Templates { ports: ports.clone(), paths, rows, placed };
        let all: usize = (0..demands.len()).map(|d| templates.count(d)).sum();
        (all <= MAX_PATHS).then_some(templates)
    }

    /// The same templates for other demands, each placed as one of these.
    pub(super) fn rearranged(self, demands: &[usize]) -> Self {
        let placed = demands.iter().map(|&d| self.placed[d]).collect();
        Templates { placed, ..self }
    }

    /// Number of a demand's paths.
    pub(super) fn count(&self, demand: usize) -> usize {
        let t = self.placed[demand].template as usize;
        (self.rows[t + 1] - self.rows[t]) as usize
    }

    /// Number of links of all paths of a demand.
    pub(super) fn links(&self, demand: usize) -> usize {
        let t = self.placed[demand].template as usize;
        let end = |paths: u32| paths.checked_sub(1).map_or(0, |last| self.paths.ends[last as usize]);
        end(self.rows[t + 1]) - end(self.rows[t])
    }

    /// Number of paths stored, however often they are placed.
    pub(super) fn stored(&self) -> usize {
        self.paths.ends.len()
    }

    /// Appends a demand's paths.
    pub(super) fn expand(&self, demand: usize, out: &mut PathBuffer) {
        let Placed { template, source, mirrored } = self.placed[demand];
        let ports = self.ports.as_ref();
        let Some(order) = ports.order() else { return };
        let dims = ports.per_vertex() / 2;
        // The port of every step.
        let mut port_of = [0u8; 128];
        for d in 0..dims {
            let exchanged = (mirrored >> d & 1) as u8;
            port_of[2 * d] = 2 * d as u8 + exchanged;
            port_of[2 * d + 1] = 2 * d as u8 + 1 - exchanged;
        }
        let ties = |port_of: &mut [u8; 128], up: u32| {
            for d in 0..dims {
                port_of[usize::from(TIE) + d] = 2 * d as u8 + u8::from(up >> d & 1 == 0);
            }
        };
        let mut up = order.ties_up(source);
        ties(&mut port_of, up);
        let (exits, per_vertex) = (ports.exits(), ports.per_vertex());
        let exit = |at: NodeId, port: u8| exits[at.index() * per_vertex + usize::from(port)];
        out.links.reserve(self.links(demand));
        let t = template as usize;
        for p in self.rows[t] as usize..self.rows[t + 1] as usize {
            let Some((&first, rest)) = self.paths.path(p).split_first() else { continue };
            let Exit { link, to: mut at } = exit(source, port_of[usize::from(first)]);
            out.links.push(link);
            let now = order.ties_up(at);
            if now != up {
                up = now;
                ties(&mut port_of, up);
            }
            out.links.extend(rest.iter().map(|&step| {
                let Exit { link, to } = exit(at, port_of[usize::from(step)]);
                at = to;
                link
            }));
            out.ends.push(out.links.len());
        }
    }
}

/// The number of the template of a pair, and in which dimensions (bits) it is reflected: such that the fabric's own
/// route goes up in the template.
fn key(grid: &Grid, order: &FixedOrder, src: NodeId, dst: NodeId) -> (u64, u32) {
    let (mut key, mut mirrored) = (0, 0);
    let ties_up = order.ties_up(src);
    for (d, &length) in grid.dims().iter().enumerate() {
        let offset = grid.offset(src, dst, d);
        let down = if grid.is_tie(d, offset) { ties_up >> d & 1 == 0 } else { offset < 0 };
        mirrored |= u32::from(down) << d;
        key = key * u64::from(length / 2 + 1) + offset.unsigned_abs();
    }
    let choice = SplitMix64::new(u64::from(src.0) << 32 | u64::from(dst.0)).next_u64() >> 32;
    (key * VARIANTS + choice % VARIANTS, mirrored)
}

/// Makes templates.
struct Maker<'g> {
    lengths_of_dims: &'g [u32],
    /// The fabric's order of dimensions.
    order: &'g [u8],
    k: usize,
    /// The ports to leave and to arrive through: both ways in rings of more than two, one in rings of two.
    ports: Vec<u8>,
    /// What was made so far, and the number of paths of each template.
    paths: Paths,
    lengths: Vec<u32>,
    // Scratch space.
    found: Paths,
    /// Per path found, the one found before it for the same pair of ports.
    before: Vec<u32>,
    pairs: Vec<Pair>,
    hops: Vec<u32>,
    by_length: Vec<usize>,
}

/// A pair of ports, as positions in the list of ports.
#[derive(Clone, Copy)]
struct Pair {
    first: u8,
    last: u8,
    /// How many middles of their list were tried.
    next_middle: u32,
    /// The path that was found last for them.
    found: u32,
    /// Whether the fabric's own route goes through them: then the first round passes them by.
    served: bool,
}

/// No path.
const NONE: u32 = u32::MAX;

/// Distances of a pair per dimension, at least 0.
type Offsets = [i32; Grid::MAX_DIMENSIONS];

impl<'g> Maker<'g> {
    fn new(grid: &'g Grid, order: &'g FixedOrder, k: usize) -> Self {
        let both = |(d, &length): (usize, &u32)| match length {
            1 => 0..0,
            2 => 2 * d as u8..2 * d as u8 + 1,
            _ => 2 * d as u8..2 * d as u8 + 2,
        };
        let ports = grid.dims().iter().enumerate().flat_map(both).collect();
        let (paths, lengths, found) = Default::default();
        let (before, pairs, hops, by_length) = Default::default();
        let (lengths_of_dims, order) = (grid.dims(), order.dims());
        Maker { lengths_of_dims, order, k, ports, paths, lengths, found, before, pairs, hops, by_length }
    }

    /// Appends the template of number `key`.
    fn template(&mut self, key: u64) {
        let rotation = (key % VARIANTS) as u32;
        let mut rest = key / VARIANTS;
        let mut offsets: Offsets = [0; Grid::MAX_DIMENSIONS];
        for (d, &length) in self.lengths_of_dims.iter().enumerate().rev() {
            let radix = u64::from(length / 2 + 1);
            offsets[d] = (rest % radix) as i32;
            rest /= radix;
        }
        self.found.clear();
        self.before.clear();
        self.own(&offsets);
        self.list_pairs(&offsets, rotation);
        let middles = 1 + 2 * self.lengths_of_dims.len() as u32;
        let mut pairs = std::mem::take(&mut self.pairs);
        // In every round each pair of ports gives the next path of its list that serves, until all lists are at
        // their end.
        let mut count = 0;
        while self.found.len() < self.k && self.found.len() != count {
            count = self.found.len();
            for pair in &mut pairs {
                if std::mem::take(&mut pair.served) {
                    continue;
                }
                while pair.next_middle < middles && self.found.len() < self.k {
                    pair.next_middle += 1;
                    if self.through(&offsets, pair, pair.next_middle - 1, rotation) {
                        break;
                    }
                }
            }
        }
        self.pairs = pairs;
        let by_length = &mut self.by_length;
        by_length.clear();
        by_length.extend((1..self.found.len()).chain([0]));
        by_length.sort_by_key(|&p| self.found.path(p).len());
        for &p in by_length.iter() {
            self.paths.steps.extend_from_slice(self.found.path(p));
            self.paths.ends.push(self.paths.steps.len());
        }
        self.lengths.push(self.found.len() as u32);
    }

    /// The fabric's own route, which is the first path found.
    fn own(&mut self, offsets: &Offsets) {
        for &d in self.order {
            self.found.steps.extend((0..offsets[usize::from(d)]).map(|_| 2 * d));
        }
        self.found.ends.push(self.found.steps.len());
        self.before.push(NONE);
    }

    /// Whether a distance of `o` in dimension `d` can be travelled either way, over different links.
    fn is_tie(&self, d: usize, o: i32) -> bool {
        let length = self.lengths_of_dims[d];
        length > 2 && 2 * o.unsigned_abs() == length
    }

    /// The signed minimal distance for `o` in dimension `d`; ties and rings of two are positive.
    fn shortest(&self, d: usize, o: i32) -> i32 {
        let length = self.lengths_of_dims[d] as i32;
        let rest = o.rem_euclid(length);
        if 2 * rest > length { rest - length } else { rest }
    }

    /// All usable pairs of ports, the shortest first, see [`super::diverse`].
    fn list_pairs(&mut self, offsets: &Offsets, rotation: u32) {
        let n = self.ports.len();
        let distance: i32 = offsets.iter().sum();
        self.hops.clear();
        let up = |port: u8| 1 - 2 * i32::from(port & 1);
        for &a in &self.ports {
            let i = usize::from(a / 2);
            let behind_a = self.shortest(i, offsets[i] - up(a)).abs() - offsets[i];
            for &b in &self.ports {
                let j = usize::from(b / 2);
                let between = if i == j {
                    self.shortest(i, offsets[i] - up(a) - up(b)).abs() - offsets[i]
                } else {
                    behind_a + self.shortest(j, offsets[j] - up(b)).abs() - offsets[j]
                };
                let ends = |d: usize, port: u8| distance == 1 && self.shortest(d, offsets[d] - up(port)) == 0;
                self.hops.push(match () {
                    // The one link from source to destination is a path, once: the fabric's own.
                    () if ends(i, a) || ends(j, b) => NONE,
                    () => (2 + distance + between) as u32,
                });
            }
        }
        let shortest = self.hops.iter().copied().min().unwrap_or(0).min(distance as u32);
        self.pairs.clear();
        for hops in shortest..=shortest + MAX_DETOUR {
            for diagonal in 0..n {
                for turned in 0..n {
                    let first = (turned + n - rotation as usize % n) % n;
                    let last = (diagonal + first + n - rotation as usize % n) % n;
                    if self.hops[first * n + last] == hops {
                        let (a, b) = (self.ports[first], self.ports[last]);
                        let served = self.found.steps.first() == Some(&a) && self.found.steps.last() == Some(&b);
                        self.pairs.push(Pair {
                            first: first as u8,
                            last: last as u8,
                            next_middle: 0,
                            found: NONE,
                            served,
                        });
                    }
                }
            }
        }
    }

    /// Finds the path through `pair` with the `middle`-th middle of their list. `false`, and nothing is found, if that
    /// has a loop or may be the same as another path.
    fn through(&mut self, offsets: &Offsets, pair: &mut Pair, middle: u32, rotation: u32) -> bool {
        let dims = self.lengths_of_dims.len();
        let (a, b) = (self.ports[usize::from(pair.first)], self.ports[usize::from(pair.last)]);
        let (i, j) = (usize::from(a / 2), usize::from(b / 2));
        let up = |port: u8| 1 - 2 * i32::from(port & 1);
        let turn = u32::from(pair.first) + u32::from(pair.last) + rotation;
        let exchanged = turn % 3 == 2 && middle < 2;
        let middle = if exchanged { 1 - middle } else { middle };
        let start = self.found.steps.len();
        self.found.steps.push(a);
        // The last run of the middle, and whether it is the first.
        let mut run: Option<u8> = None;
        let mut serves = true;
        for turned in 0..dims {
            let d = match middle {
                0 => usize::from(self.order[turned]),
                _ => (i + (middle - 1) as usize + turned) % dims,
            };
            let behind = if d == i { up(a) } else { 0 } + if d == j { up(b) } else { 0 };
            let o = if behind == 0 { offsets[d] } else { self.shortest(d, offsets[d] - behind) };
            if o == 0 {
                continue;
            }
            let d8 = d as u8;
            let step = match (self.is_tie(d, o), middle) {
                (true, 0) => TIE + d8,
                (true, _) => 2 * d8 + ((turn + (middle - 1) / dims as u32) % 2) as u8,
                (false, _) => 2 * d8 + u8::from(o < 0),
            };
            if run.is_none() && d == i && self.may_go(step, a ^ 1) {
                serves = false;
                break;
            }
            run = Some(step);
            self.found.steps.extend((0..o.unsigned_abs()).map(|_| step));
        }
        serves &= !run.is_some_and(|step| dimension(step) == j && self.may_go(step, b ^ 1));
        self.found.steps.push(b);
        let path = &self.found.steps[start..];
        let mut other = pair.found;
        serves &= !may_be_equal(path, self.found.path(0));
        while serves && other != NONE {
            serves = !may_be_equal(path, self.found.path(other as usize));
            other = self.before[other as usize];
        }
        if !serves {
            self.found.steps.truncate(start);
            return false;
        }
        self.before.push(pair.found);
        pair.found = self.found.len() as u32;
        self.found.ends.push(self.found.steps.len());
        true
    }

    /// Whether `step` may go through `port`, which is in its dimension. In a ring of two both ports are one.
    fn may_go(&self, step: u8, port: u8) -> bool {
        step == port || step >= TIE || self.lengths_of_dims[usize::from(port / 2)] == 2
    }
}

/// The dimension of a step.
fn dimension(step: u8) -> usize {
    usize::from(if step >= TIE { step - TIE } else { step / 2 })
}

/// Whether two paths are the same for some outcome of their ties.
fn may_be_equal(a: &[u8], b: &[u8]) -> bool {
    let may = |(&x, &y): (&u8, &u8)| x == y || (x.max(y) >= TIE && dimension(x) == dimension(y));
    a.len() == b.len() && a.iter().zip(b).all(may)
}
