//! Lower bounds on congestion that hold for every routing, whatever paths it uses.
//!
//! In `t` seconds a set of links carries at most `t` times its capacity, so every set of links that certain bytes
//! must cross proves a bound: those bytes over that capacity. For a set `S` of vertices these are the bytes of all
//! demands from inside to outside, and the links that leave `S`; or the bytes from outside to inside, and the links
//! that enter it (Ford and Fulkerson 1956; for many demands Leighton and Rao 1999, who show how far such a *cut*
//! can be below the optimum). Used here:
//! - *egress*, *ingress*: a single host, all that it sends, all that it receives;
//! - *source cut*, *destination cut*: all that leaves the set of all sources crosses the links out of that set, and
//!   all that enters the set of all destinations crosses the links into it. On the thesis's disjoint pattern the
//!   sources fill a sub-torus, and this is the cut that binds;
//! - *volume*: a byte crosses at least as many links as its shortest path has, so all links together carry at
//!   least `sum_j b_j dist(src_j, dst_j)` bytes;
//! - on grids *slabs* and *boxes* (module `grid`): all hosts whose coordinates lie in an interval in one dimension, in
//!   two, or in all;
//! - elsewhere *groups* (module `parts`): what hangs together below a switch, below a level of switches, by fast links,
//!   or in a densely joined group.
//!
//! On a grid the best slab is never below the volume. A ring of `L` has `L` intervals of `floor(L / 2)` neighbours;
//! `dist(a, b)` of them hold `a` and not `b`, and every link of the ring leaves just one of them. So the mean of the
//! bounds of these slabs, weighted by their capacities, is the volume along this dimension over its links' capacity,
//! and the largest of those quotients over the dimensions is at least the whole volume over the whole capacity. On a
//! mesh the `L - 1` intervals from the edge on show the same. Where both are equal, the volume is named: then all links
//! are full.

mod grid;
mod parts;
mod words;

#[cfg(test)]
mod tests;

use crate::demands::Demand;
use crate::error::PlanError;
use crate::problem;
use optiq_net::{LinkId, NetError, Network, NodeId};

pub(crate) use words::describe_prices;

/// Two bounds that differ by less, relatively, are the same but for rounding; the first of them is kept.
const SAME: f64 = 1e-12;

/// A proved lower bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// No plan's congestion is below this, in seconds.
    pub seconds: f64,
    /// What proves it, in words that complete "the bound is set by ...": `the 9 links that leave h3`.
    pub binding: String,
}

/// Whether the bytes and links are those out of a set or those into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Leave,
    Enter,
}

impl Verb {
    const BOTH: [Verb; 2] = [Verb::Leave, Verb::Enter];

    /// Whether something from inside the set (or not) to inside the set (or not) counts.
    fn crosses(self, from_inside: bool, to_inside: bool) -> bool {
        from_inside != to_inside && from_inside == (self == Verb::Leave)
    }
}

/// What a bound was proved by.
#[derive(Clone, Debug, PartialEq)]
enum Cut {
    Nothing,
    Host(NodeId, Verb),
    /// All sources ([`Verb::Leave`]) or all destinations ([`Verb::Enter`]).
    Ends(Verb),
    Volume,
    Box(grid::Region, Verb),
    /// Per vertex, whether it is inside.
    Part(Vec<bool>, Verb),
}

/// The best bound so far.
struct Best {
    seconds: f64,
    cut: Cut,
}

impl Best {
    /// What another bound must exceed to be better.
    fn floor(&self) -> f64 {
        self.seconds * (1.0 + SAME)
    }

    fn offer(&mut self, seconds: f64, cut: impl FnOnce() -> Cut) {
        if seconds > self.floor() {
            *self = Best { seconds, cut: cut() };
        }
    }
}

/// The largest of the bounds above (the first of them, and the first host, among equals).
///
/// Takes time in the order of demands and links, and on grids some milliseconds more at most; work that a network's
/// shape would make larger is left out by fixed limits, so that the result is the same everywhere.
///
/// # Errors
/// As [`crate::Problem::new`] for demands that do not fit the network; [`PlanError::Unconnected`].
pub fn lower_bound(net: &Network, demands: &[Demand]) -> Result<Bound, PlanError> {
    problem::check_demands(net, demands)?;
    let best = best_cut(net, demands)?;
    Ok(Bound { seconds: best.seconds, binding: words::of(net, demands, &best.cut) })
}

/// What proves the largest bound.
fn best_cut(net: &Network, demands: &[Demand]) -> Result<Best, PlanError> {
    let mut best = Best { seconds: 0.0, cut: Cut::Nothing };
    let [leaving, entering] = Verb::BOTH.map(|verb| by_host(net, demands, verb));
    for host in (0..net.hosts() as u32).map(NodeId) {
        let sides = [(leaving[host.index()], Verb::Leave), (entering[host.index()], Verb::Enter)];
        for (bytes, verb) in sides.into_iter().filter(|side| side.0 > 0) {
            let capacity = capacity(net, at_host(net, host, verb));
            if capacity > 0.0 {
                best.offer(bytes as f64 / capacity, || Cut::Host(host, verb));
            }
        }
    }
    for (bytes, verb) in [(&leaving, Verb::Leave), (&entering, Verb::Enter)] {
        let inside = ends(net, bytes);
        let (bytes, capacity) = across(net, demands, &inside, verb);
        if bytes > 0 && capacity > 0.0 {
            best.offer(bytes as f64 / capacity, || Cut::Ends(verb));
        }
    }
    let volume = volume(net, demands)?;
    if volume > 0 {
        best.offer(volume as f64 / capacity(net, all(net)), || Cut::Volume);
        match net.geometry().grid() {
            // Found without regard to `best`: where the search for boxes begins must not decide where it ends.
            Some(grid) => {
                let region = grid::cuts(net, grid, demands);
                best.offer(region.seconds, || region.cut);
            }
            None => parts::cuts(net, demands, &mut best),
        }
    }
    Ok(best)
}

/// The bytes that each host sends, or receives.
fn by_host(net: &Network, demands: &[Demand], verb: Verb) -> Vec<u64> {
    let mut bytes = vec![0u64; net.hosts()];
    for d in demands {
        bytes[if verb == Verb::Leave { d.src } else { d.dst }.index()] += d.bytes;
    }
    bytes
}

/// Bytes times hops, with every demand on a shortest path.
fn volume(net: &Network, demands: &[Demand]) -> Result<u128, PlanError> {
    if let Some(grid) = net.geometry().grid() {
        return Ok(grid::volume(grid, demands));
    }
    // A host with one link in is one hop farther than the vertex before it: one search serves all hosts on a switch.
    let last = |d: &Demand| match net.in_links(d.dst) {
        &[only] => (net.link(only).from, 1),
        _ => (d.dst, 0),
    };
    let mut order: Vec<usize> = (0..demands.len()).filter(|&d| demands[d].bytes > 0).collect();
    order.sort_by_key(|&d| last(&demands[d]));
    let mut distances: Option<(NodeId, Vec<u32>)> = None;
    let mut sum = 0u128;
    for i in order {
        let d = &demands[i];
        let (to, more) = last(d);
        let table = match distances.take() {
            Some((of, table)) if of == to => table,
            _ => net.distances_to(to),
        };
        let hops = table[d.src.index()];
        distances = Some((to, table));
        if hops == u32::MAX {
            let none = NetError::Unreachable { from: String::new(), to: String::new() };
            return Err(problem::unconnected(net, demands, i, none));
        }
        sum += u128::from(d.bytes) * u128::from(hops + more);
    }
    Ok(sum)
}

fn all(net: &Network) -> impl Iterator<Item = LinkId> + use<> {
    (0..net.links().len() as u32).map(LinkId)
}

fn at_host(net: &Network, host: NodeId, verb: Verb) -> impl Iterator<Item = LinkId> + '_ {
    let out = (verb == Verb::Leave).then(|| net.out_links(host));
    let into = (verb == Verb::Enter).then(|| net.in_links(host).iter().copied());
    out.into_iter().flatten().chain(into.into_iter().flatten())
}

/// Per vertex, whether it is a host with bytes.
fn ends(net: &Network, bytes: &[u64]) -> Vec<bool> {
    (0..net.vertices()).map(|v| bytes.get(v).is_some_and(|&b| b > 0)).collect()
}

/// The links that leave or enter a set.
fn boundary<'a>(net: &'a Network, inside: &'a [bool], verb: Verb) -> impl Iterator<Item = LinkId> + 'a {
    all(net).filter(move |&l| {
        let link = net.link(l);
        verb.crosses(inside[link.from.index()], inside[link.to.index()])
    })
}

/// The bytes that leave or enter a set, and the capacity of the links that do.
fn across(net: &Network, demands: &[Demand], inside: &[bool], verb: Verb) -> (u64, f64) {
    let crosses = |d: &&Demand| verb.crosses(inside[d.src.index()], inside[d.dst.index()]);
    let bytes = demands.iter().filter(crosses).map(|d| d.bytes).sum();
    (bytes, capacity(net, boundary(net, inside, verb)))
}

fn capacity(net: &Network, links: impl Iterator<Item = LinkId>) -> f64 {
    links.map(|l| net.link(l).capacity).sum()
}
