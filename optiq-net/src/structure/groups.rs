//! Groups of a dragonfly or a Dragonfly+.
//!
//! *Dragonfly+* (Shpiner et al., HiPINEB 2017; Megafly): leaves are joined to spines of their group alone, and spines of different
//! groups to each other. Without the links between spines, what stays connected is a group.
//!
//! *Dragonfly* (Kim et al., ISCA 2008): all switches have hosts. For a link from `u` to `v` let `c(u, v)` be how many vertices are in
//! both closed neighbourhoods `N[u]` and `N[v]` (the structural similarity of X. Xu et al.: SCAN, KDD 2007, not divided by the
//! sizes). Within a group of `a` switches that are all joined, `c >= a`; between two groups mostly `c = 2`, the ends themselves. A link is
//! *local* if `c` exceeds three quarters of the largest `c` of any link at either of its ends, and what local links join is a group. It
//! takes three switches in a group. Where groups are no cliques but rows and columns (Cray's), the rows are found.
//!
//! Both count as groups only if there are two or more, of two switches or more each, and at least half of all pairs that could be
//! joined within them are.

use super::adjacency::parts;
use std::collections::BTreeMap;

/// Per switch its group, and how many there are.
pub(super) type Groups = (Vec<Option<u32>>, u32);

/// The groups, if the switches form some.
pub(super) fn of(neighbours: &[Vec<u32>], hosts: usize, levels: &[Option<u32>]) -> Option<Groups> {
    if levels[hosts..].iter().any(Option::is_none) || levels.len() == hosts {
        return None;
    }
    let is_switch = |v: usize| v >= hosts;
    let top = levels.iter().flatten().max()?;
    let part = match top {
        1 => {
            let local = local_links(neighbours, hosts);
            parts(neighbours, is_switch, |v, w| local.get(&edge(v, w)).copied().unwrap_or(false))
        }
        2 => parts(neighbours, is_switch, |v, w| levels[v] != levels[w]),
        _ => return None,
    };
    let mut members: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    (hosts..levels.len()).for_each(|v| members.entry(part[v]).or_default().push(v));
    let is_dense = |group: &Vec<usize>| {
        let of = |level| group.iter().filter(|&&v| levels[v] == Some(level)).count();
        let inside =
            |v: &usize| neighbours[*v].iter().filter(|&&w| part[w as usize] == part[*v] && w as usize >= hosts).count();
        let possible = if *top == 1 { of(1) * (of(1) - 1) } else { 2 * of(1) * of(2) };
        group.len() > 1 && 2 * group.iter().map(inside).sum::<usize>() >= possible.max(1)
    };
    if members.len() < 2 || !members.values().all(is_dense) {
        return None;
    }
    let number: BTreeMap<u32, u32> = members.keys().copied().zip(0..).collect();
    let group = |v: usize| is_switch(v).then(|| number[&part[v]]);
    Some(((0..levels.len()).map(group).collect(), members.len() as u32))
}

fn edge(v: usize, w: usize) -> (usize, usize) {
    (v.min(w), v.max(w))
}

/// For each link between switches, the lower end first, whether it is local.
fn local_links(neighbours: &[Vec<u32>], hosts: usize) -> BTreeMap<(usize, usize), bool> {
    let mut common: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    let mut most = vec![0; neighbours.len()];
    let mut mark = vec![usize::MAX; neighbours.len()];
    let switches = |v: usize| neighbours[v].iter().map(|&w| w as usize).filter(|&w| w >= hosts);
    for v in hosts..neighbours.len() {
        switches(v).for_each(|w| mark[w] = v);
        for w in switches(v).filter(|&w| w > v) {
            let both = 2 + switches(w).filter(|&x| mark[x] == v).count() as u32;
            common.insert((v, w), both);
            most[v] = most[v].max(both);
            most[w] = most[w].max(both);
        }
    }
    common.into_iter().map(|((v, w), both)| ((v, w), 4 * both > 3 * most[v].max(most[w]))).collect()
}
