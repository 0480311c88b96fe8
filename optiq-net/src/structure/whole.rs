//! All of it for a network.

use super::adjacency::{Adjacency, neighbours};
use super::{groups, rails};
use crate::network::Network;

/// What switches form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Every link joins a level to the next: a fat tree, or a star.
    Tree,
    /// Groups of switches that are joined densely within and sparsely between: a dragonfly or a Dragonfly+.
    Groups,
    /// Anything else, networks without switches among them.
    Other,
}

/// The structure of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Per vertex: its neighbours.
    pub neighbours: Adjacency,
    /// Per vertex: 0 for hosts, 1 for leaf switches, and so on; `None` for what no host is joined to.
    pub levels: Vec<Option<u32>>,
    /// The highest level; 0 without switches.
    pub top: u32,
    /// Per switch its rail, from 0; `None` for hosts.
    pub rail: Vec<Option<u32>>,
    /// Planes of switches that are joined only at hosts; 1 also without switches.
    pub rails: u32,
    /// Per switch of a dragonfly its group, from 0, in the order of the groups' first vertices.
    pub group: Vec<Option<u32>>,
    /// Groups; 0 if there are none.
    pub groups: u32,
    /// Switches without hosts that stand where those with hosts do.
    pub unpopulated_leaves: usize,
    /// What it all is.
    pub arrangement: Arrangement,
}

impl Structure {
    /// Looks at a network.
    pub fn of(network: &Network) -> Self {
        let neighbours = neighbours(network);
        let hosts = network.hosts();
        let levels = super::levels::of(&neighbours, hosts);
        let top = levels.iter().flatten().copied().max().unwrap_or(0);
        let (rail, rails) = rails::of(&neighbours, hosts);
        let no_hosts = |v: usize| neighbours[v].iter().all(|&w| w as usize >= hosts);
        let unpopulated_leaves = (hosts..neighbours.len()).filter(|&v| levels[v] == Some(1) && no_hosts(v)).count();
        let edges = || neighbours.iter().enumerate().flat_map(|(v, all)| all.iter().map(move |&w| (v, w as usize)));
        let steps_by_one =
            |(v, w): (usize, usize)| matches!((levels[v], levels[w]), (Some(a), Some(b)) if a.abs_diff(b) == 1);
        let none = (vec![None; neighbours.len()], 0);
        let (arrangement, (group, groups)) =
            if top > 0 && levels.iter().all(Option::is_some) && edges().all(steps_by_one) {
                (Arrangement::Tree, none)
            } else {
                match groups::of(&neighbours, hosts, &levels).filter(|_| rails == 1) {
                    Some(found) => (Arrangement::Groups, found),
                    None => (Arrangement::Other, none),
                }
            };
        Structure { levels, top, rail, rails, group, groups, unpopulated_leaves, arrangement, neighbours }
    }
}

/// How far each vertex is from the nearest host: 0 for hosts, 1 for leaf switches, and so on (see [`Structure::levels`]); `None`
/// for a network without switches.
pub fn levels(network: &Network) -> Option<Vec<Option<u32>>> {
    (network.vertices() > network.hosts()).then(|| super::levels::of(&neighbours(network), network.hosts()))
}
