//! Levels of switches: how far they are from the nearest host, and which of them stand beside others.
//!
//! Let `d(v)` be the length of the shortest path from vertex `v` to a host (a breadth-first search from all hosts at once). In
//! a fat tree whose leaves all have hosts, `d` is the level of a switch (K. Brown: Resource Contention due to Data Movement
//! on HPC Systems, 2018, section 4.3.1). A leaf without hosts has `d = 3`: down from a spine and up again. So a switch `s` with
//! `d(s) = l >= 3` is put on level `l - 2` if it is a *sibling* of a switch `t` there:
//!
//! - all that `s` is joined to on level `l - 1` are joined to `t` as well, and more than half of what `t` is joined to there are
//!   joined to `s` (a cable may be missing);
//! - if `l - 2` is 1, nothing that is farther from hosts hangs on `s`: a leaf has nothing below itself but hosts.
//!
//! A whole pod without hosts is reached from the top: its upper switches are siblings of those of other pods, and what is below them
//! was counted upwards. A switch whose neighbours towards hosts were all put lower is put one level below the lowest of them.

use std::collections::{BTreeMap, VecDeque};

/// Per vertex of a graph whose first `hosts` vertices are the hosts: its level; `None` for what no host reaches.
pub(super) fn of(neighbours: &[Vec<u32>], hosts: usize) -> Vec<Option<u32>> {
    with_siblings(neighbours, 0..hosts as u32)
}

/// As [`of`], of any set of hosts.
pub(crate) fn with_siblings(neighbours: &[Vec<u32>], hosts: impl Iterator<Item = u32>) -> Vec<Option<u32>> {
    let distances = distances(neighbours, hosts);
    let mut levels = distances.clone();
    let mut order: Vec<u32> =
        (0..neighbours.len() as u32).filter(|&v| distances[v as usize].is_some_and(|d| d >= 3)).collect();
    order.sort_by_key(|&v| (distances[v as usize], v));
    // What is decided of a vertex rests on distances, and on what was decided of vertices that are nearer, so that the numbers of
    // vertices do not matter.
    for v in order {
        let Some(distance) = distances[v as usize] else { continue };
        let lower = || neighbours[v as usize].iter().filter(|&&w| distances[w as usize] == Some(distance - 1));
        let is_moved = |w: &&u32| levels[**w as usize] != distances[**w as usize];
        if lower().all(|w| is_moved(&w)) {
            let lowest = lower().filter_map(|&w| levels[w as usize]).min();
            levels[v as usize] = lowest.map(|level| level.saturating_sub(1).max(1));
        } else if has_sibling(neighbours, &distances, v, distance) {
            levels[v as usize] = Some(distance - 2);
        }
    }
    levels
}

fn distances(neighbours: &[Vec<u32>], hosts: impl Iterator<Item = u32>) -> Vec<Option<u32>> {
    let mut distances = vec![None; neighbours.len()];
    let mut next: VecDeque<u32> = hosts.collect();
    next.iter().for_each(|&host| distances[host as usize] = Some(0));
    while let Some(v) = next.pop_front() {
        let distance = distances[v as usize].map(|d: u32| d + 1);
        for &w in &neighbours[v as usize] {
            if distances[w as usize].is_none() {
                distances[w as usize] = distance;
                next.push_back(w);
            }
        }
    }
    distances
}

fn has_sibling(neighbours: &[Vec<u32>], distances: &[Option<u32>], v: u32, distance: u32) -> bool {
    let at =
        |of: u32, d: u32| neighbours[of as usize].iter().copied().filter(move |&w| distances[w as usize] == Some(d));
    if distance == 3 && (at(v, 3).next().is_some() || at(v, 4).next().is_some()) {
        return false;
    }
    let lower = at(v, distance - 1).count();
    let mut shared: BTreeMap<u32, usize> = BTreeMap::new();
    for w in at(v, distance - 1) {
        at(w, distance - 2).for_each(|t| *shared.entry(t).or_default() += 1);
    }
    shared.into_iter().any(|(t, shared)| shared == lower && 2 * lower > at(t, distance - 1).count())
}
