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

mod cut;
mod grid;
mod parts;
mod region;
mod words;

#[cfg(test)]
mod tests;

use crate::checks::{check_demands, unconnected};
use crate::demands::Demand;
use crate::error::PlanError;
use cut::{Best, Cut, Verb, all, at_host, boundary, by_host, capacity, ends};
use optiq_net::{NetError, Network, NodeId};

pub use cut::Bound;
pub(crate) use words::describe_prices;

/// The largest of the bounds above (the first of them, and the first host, among equals).
///
/// Takes time in the order of demands and links, and on grids some milliseconds more at most; work that a network's
/// shape would make larger is left out by fixed limits, so that the result is the same everywhere.
///
/// # Errors
/// As [`crate::Problem::new`] for demands that do not fit the network; [`PlanError::Unconnected`].
pub fn lower_bound(net: &Network, demands: &[Demand]) -> Result<Bound, PlanError> {
    check_demands(net, demands)?;
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
    // The demands of each such vertex, as lists that lead from one to the next.
    const NONE: usize = usize::MAX;
    let (mut heads, mut next) = (vec![NONE; net.vertices()], vec![NONE; demands.len()]);
    for (i, d) in demands.iter().enumerate().rev().filter(|(_, d)| d.bytes > 0) {
        next[i] = std::mem::replace(&mut heads[last(d).0.index()], i);
    }
    let mut sum = 0u128;
    for (to, &head) in (0..).map(NodeId).zip(&heads).filter(|(_, head)| **head != NONE) {
        let table = net.distances_to(to);
        let mut i = head;
        while i != NONE {
            let d = &demands[i];
            let hops = table[d.src.index()];
            if hops == u32::MAX {
                let none = NetError::Unreachable { from: String::new(), to: String::new() };
                return Err(unconnected(net, demands, i, none));
            }
            sum += u128::from(d.bytes) * u128::from(hops + last(d).1);
            i = next[i];
        }
    }
    Ok(sum)
}

/// The bytes that leave or enter a set, and the capacity of the links that do.
fn across(net: &Network, demands: &[Demand], inside: &[bool], verb: Verb) -> (u64, f64) {
    let crosses = |d: &&Demand| verb.crosses(inside[d.src.index()], inside[d.dst.index()]);
    let bytes = demands.iter().filter(crosses).map(|d| d.bytes).sum();
    (bytes, capacity(net, boundary(net, inside, verb)))
}
