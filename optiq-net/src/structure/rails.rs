//! Rails: planes of switches that are joined only at hosts.
//!
//! Without its hosts a fabric of several rails falls apart. Two of its connected parts are rails of each other if more than half
//! of the hosts of the one with fewer hosts are joined to both; a host that is a router between two fabrics makes no rails of them.
//! Parts are coloured so that rails of each other differ: each in turn, the one with the lowest host and switch first, gets the
//! lowest number that none of its rails has.

use super::adjacency::parts;
use std::collections::{BTreeMap, BTreeSet};

/// Per switch its rail, `None` for hosts; and how many rails there are, at least 1.
pub(super) fn of(neighbours: &[Vec<u32>], hosts: usize) -> (Vec<Option<u32>>, u32) {
    let is_switch = |v: usize| v >= hosts;
    let part = parts(neighbours, is_switch, |_, _| true);
    let mut of_part: BTreeMap<u32, u32> = BTreeMap::new();
    let mut shared: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    // Parts in the order of their first host, so that a numbering of switches alone decides little.
    let mut order: Vec<u32> = Vec::new();
    for joined in &neighbours[..hosts] {
        let joined: BTreeSet<u32> =
            joined.iter().filter(|&&v| is_switch(v as usize)).map(|&v| part[v as usize]).collect();
        for &p in &joined {
            *of_part.entry(p).or_insert_with(|| {
                order.push(p);
                0
            }) += 1;
            joined.iter().filter(|&&q| q != p).for_each(|&q| *shared.entry((p, q)).or_default() += 1);
        }
    }
    let mut colour: BTreeMap<u32, u32> = BTreeMap::new();
    for &p in &order {
        let is_rail = |&(&(_, q), &both): &(&(u32, u32), &u32)| 2 * both > of_part[&p].min(of_part[&q]);
        let taken: BTreeSet<u32> = shared
            .range((p, 0)..=(p, u32::MAX))
            .filter(is_rail)
            .filter_map(|((_, q), _)| colour.get(q).copied())
            .collect();
        let free = (0..).find(|c| !taken.contains(c)).unwrap_or(0);
        colour.insert(p, free);
    }
    let rails = colour.values().max().map_or(1, |most| most + 1);
    // Switches that no host is joined to, anywhere, are with the first rail.
    let rail = |v: usize| is_switch(v).then(|| colour.get(&part[v]).copied().unwrap_or(0));
    ((0..neighbours.len()).map(rail).collect(), rails)
}
