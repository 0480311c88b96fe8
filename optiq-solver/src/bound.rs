//! Lower bounds on congestion that hold for every routing, whatever paths it uses.
//!
//! In `t` seconds a set of links carries at most `t` times its capacity, so every set of links that certain bytes
//! must cross proves a bound: those bytes over that capacity. Used here:
//! - *egress*: all that a host sends crosses its outgoing links;
//! - *ingress*: all that a host receives crosses its incoming links;
//! - *source cut*, *destination cut*: all that leaves the set of all sources crosses the links out of that set, and
//!   all that enters the set of all destinations crosses the links into it. On the thesis's disjoint pattern the
//!   sources fill a sub-torus, and this is the cut that binds;
//! - *volume*: a byte crosses at least as many links as its shortest path has, so all links together carry at
//!   least `sum_j b_j dist(src_j, dst_j)` bytes.

use crate::demands::Demand;
use crate::error::PlanError;
use crate::problem;
use optiq_net::{LinkId, NetError, Network, NodeId};

/// A proved lower bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// No plan's congestion is below this, in seconds.
    pub seconds: f64,
    /// What proves it, in words that complete "the bound is set by ...": `the 9 links that leave h3`.
    pub binding: String,
}

/// The largest of the bounds above (the first of them, and the first host, among equals).
///
/// # Errors
/// As [`crate::Problem::new`] for demands that do not fit the network; [`PlanError::Unconnected`].
pub fn lower_bound(net: &Network, demands: &[Demand]) -> Result<Bound, PlanError> {
    problem::check_demands(net, demands)?;
    let mut best = Bound { seconds: 0.0, binding: "nothing, as there is nothing to move".into() };
    let mut offer = |seconds: f64, binding: &dyn Fn() -> String| {
        if seconds > best.seconds {
            best = Bound { seconds, binding: binding() };
        }
    };
    let mut leaving = vec![0u64; net.hosts()];
    let mut entering = vec![0u64; net.hosts()];
    for d in demands {
        leaving[d.src.index()] += d.bytes;
        entering[d.dst.index()] += d.bytes;
    }
    for host in (0..net.hosts() as u32).map(NodeId) {
        let sides = [
            (leaving[host.index()], net.out_links(host).collect::<Vec<_>>(), "leave"),
            (entering[host.index()], net.in_links(host).to_vec(), "enter"),
        ];
        for (bytes, links, verb) in sides {
            if bytes > 0 && !links.is_empty() {
                offer(bytes as f64 / capacity(net, &links), &|| of_host(net, &links, verb, host));
            }
        }
    }
    let set_of =
        |bytes: &[u64]| -> Vec<bool> { (0..net.vertices()).map(|v| bytes.get(v).is_some_and(|&b| b > 0)).collect() };
    for (set, verb, side) in [(set_of(&leaving), "leave", "sources"), (set_of(&entering), "enter", "destinations")] {
        // From inside to outside for sources, the other way for destinations.
        let crosses = |from: NodeId, to: NodeId| {
            let (from, to) = (set[from.index()], set[to.index()]);
            if verb == "leave" { from && !to } else { !from && to }
        };
        let bytes: u128 = demands.iter().filter(|d| crosses(d.src, d.dst)).map(|d| u128::from(d.bytes)).sum();
        let links: Vec<LinkId> =
            (0..net.links().len() as u32).map(LinkId).filter(|&l| crosses(net.link(l).from, net.link(l).to)).collect();
        if bytes > 0 && !links.is_empty() {
            offer(bytes as f64 / capacity(net, &links), &|| of_set(net, &links, verb, side, &set));
        }
    }
    let volume = volume(net, demands)?;
    if volume > 0 {
        let all: Vec<LinkId> = (0..net.links().len() as u32).map(LinkId).collect();
        offer(volume as f64 / capacity(net, &all), &|| {
            format!("all {} links together, with every byte on a shortest path", net.physical_links())
        });
    }
    Ok(best)
}

/// Bytes times hops, with every demand on a shortest path.
fn volume(net: &Network, demands: &[Demand]) -> Result<u128, PlanError> {
    let mut order: Vec<usize> = (0..demands.len()).filter(|&d| demands[d].bytes > 0).collect();
    order.sort_by_key(|&d| demands[d].dst);
    let mut distances: Option<(NodeId, Vec<u32>)> = None;
    let mut sum = 0u128;
    for i in order {
        let d = &demands[i];
        let hops = if net.geometry().grid().is_some() {
            net.distance(d.src, d.dst)
        } else {
            let table = match distances.take() {
                Some((of, table)) if of == d.dst => table,
                _ => net.distances_to(d.dst),
            };
            let hops = table[d.src.index()];
            distances = Some((d.dst, table));
            hops
        };
        if hops == u32::MAX {
            let none = NetError::Unreachable { from: String::new(), to: String::new() };
            return Err(problem::unconnected(net, demands, i, none));
        }
        sum += u128::from(d.bytes) * u128::from(hops);
    }
    Ok(sum)
}

fn capacity(net: &Network, links: &[LinkId]) -> f64 {
    links.iter().map(|&l| net.link(l).capacity).sum()
}

fn of_set(net: &Network, links: &[LinkId], verb: &str, side: &str, set: &[bool]) -> String {
    let members: Vec<u32> = (0..net.hosts() as u32).filter(|&h| set[h as usize]).collect();
    let (Some(&first), Some(&last)) = (members.first(), members.last()) else { return String::new() };
    let lanes: u32 = links.iter().map(|&l| net.link(l).lanes).sum();
    let (first_name, last_name) = (net.name(NodeId(first)), net.name(NodeId(last)));
    let which = if members.len() == 1 {
        first_name.to_string()
    } else if (last - first) as usize + 1 == members.len() {
        format!("{first_name} to {last_name}")
    } else {
        format!("{first_name} ... {last_name}")
    };
    format!("{} the {} {side} ({which})", that(lanes, verb), members.len())
}

fn of_host(net: &Network, links: &[LinkId], verb: &str, host: NodeId) -> String {
    format!("{} {}", that(links.iter().map(|&l| net.link(l).lanes).sum(), verb), net.name(host))
}

/// `the 1 link that leaves`, `the 4 links that leave`.
fn that(lanes: u32, verb: &str) -> String {
    if lanes == 1 { format!("the 1 link that {verb}s") } else { format!("the {lanes} links that {verb}") }
}
