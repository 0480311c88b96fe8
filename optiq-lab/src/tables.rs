//! A network's routing as tables of kernels.
//!
//! A kernel's main table names one next device for each destination. Where the fabric's routes to a destination leave
//! a vertex by several links, the link of the most sources is in that table, and every other source has a rule
//! (`ip rule from SOURCE lookup TABLE`) with a table that holds its own deviations and nothing else: a table without
//! an entry for the destination passes the packet on to the next rule, and so to the main table. Following the tables
//! from `s` to `d` therefore reproduces the network's route, whatever that depends on, as long as no single route
//! leaves a vertex twice by different links.

use crate::error::LabError;
use optiq_net::{LinkId, Network, NodeId};
use std::collections::BTreeMap;

/// The most entries of all rules' tables: each is a line for `ip`, and a megabyte of these takes it seconds.
const MAX_DEVIATIONS: usize = 100_000;

/// Where each vertex sends what is for each host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tables {
    /// `next[v][d]`: the link by which `v` sends what is for host `d`, where any route passes `v`.
    pub next: Vec<Vec<Option<LinkId>>>,
    /// `deviations[v]`: (source, destination, link) wherever `v` sends otherwise, ascending.
    pub deviations: Vec<Vec<(usize, usize, LinkId)>>,
}

impl Tables {
    /// The tables of the network's own routing.
    ///
    /// # Errors
    /// [`LabError::Topology`] if routers choose, if a route leaves a vertex twice by different links, or if too many routes depend on
    /// their sources that the tables are beyond reason.
    pub(crate) fn new(network: &Network) -> Result<Self, LabError> {
        if network.routing().is_adaptive() {
            return Err(LabError::Topology(format!(
                "the lab cannot express the routing of {}: routers choose packet by packet, and a kernel's routes are fixed; another \
                 routing is expected",
                network.spec()
            )));
        }
        let hosts = network.hosts();
        let mut tables = Tables {
            next: vec![vec![None; hosts]; network.vertices()],
            deviations: vec![Vec::new(); network.vertices()],
        };
        let mut route = Vec::new();
        for dst in (0..hosts as u32).map(NodeId) {
            // Per vertex, the sources whose routes to `dst` pass it, with the link by which they leave.
            let mut passing: BTreeMap<usize, Vec<(usize, LinkId)>> = BTreeMap::new();
            for src in (0..hosts as u32).map(NodeId).filter(|&src| src != dst) {
                route.clear();
                network.route(src, dst, &mut route)?;
                for &id in &route {
                    let at = network.link(id).from;
                    let sources = passing.entry(at.index()).or_default();
                    match sources.last() {
                        Some(&(s, other)) if s == src.index() && other != id => {
                            return Err(twice(network, src, dst, other, id));
                        }
                        _ => sources.push((src.index(), id)),
                    }
                }
            }
            for (at, sources) in passing {
                let usual = most_frequent(&sources);
                tables.next[at][dst.index()] = Some(usual);
                let others = sources.iter().filter(|(_, id)| *id != usual);
                tables.deviations[at].extend(others.map(|&(s, id)| (s, dst.index(), id)));
            }
            if tables.deviations.iter().map(Vec::len).sum::<usize>() > MAX_DEVIATIONS {
                return Err(LabError::Topology(format!(
                    "the lab cannot express the routing of {}: its routes depend on their sources in more than \
                     {MAX_DEVIATIONS} places; a smaller network or routing by destination is expected",
                    network.spec()
                )));
            }
        }
        tables.deviations.iter_mut().for_each(|d| d.sort_unstable());
        Ok(tables)
    }
}

/// The link of the most sources; of equals the first.
fn most_frequent(sources: &[(usize, LinkId)]) -> LinkId {
    let mut counts: BTreeMap<LinkId, usize> = BTreeMap::new();
    sources.iter().for_each(|(_, id)| *counts.entry(*id).or_default() += 1);
    let best = counts.into_iter().max_by_key(|&(id, n)| (n, std::cmp::Reverse(id)));
    best.map_or(sources[0].1, |(id, _)| id)
}

fn twice(network: &Network, src: NodeId, dst: NodeId, first: LinkId, second: LinkId) -> LabError {
    let name = |v: NodeId| network.name(v);
    LabError::Topology(format!(
        "the lab cannot express the routing of {}: the route from {} to {} leaves {} first towards {} and then towards \
         {}, and a kernel's routes know source and destination only",
        network.spec(),
        name(src),
        name(dst),
        name(network.link(first).from),
        name(network.link(first).to),
        name(network.link(second).to),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blueprint::network_at;

    fn tables(spec: &str) -> Tables {
        Tables::new(&network_at(spec, "100mbit".parse().unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn routing_by_destination_needs_no_rules() {
        for spec in ["torus:4x4", "fattree:k=4", "dragonfly:p=1,a=2,h=1", "dragonfly+:p=2,l=2,s=2,h=1,g=3", "star:4"] {
            assert!(tables(spec).deviations.iter().all(Vec::is_empty), "{spec}");
        }
    }

    /// fattree:2x2:1x2 has hosts h0, h1 under s0, h2, h3 under s1, and above them s2 and s3. s-mod-k sends from h0
    /// over s2 and from h1 over s3, so at s0 the two disagree about h2 and about h3, at s1 h2 and h3 about h0 and h1.
    #[test]
    fn sources_that_deviate_have_rules() {
        let network = network_at("fattree:2x2:1x2,routing=smodk", "100mbit".parse().unwrap()).unwrap();
        let tables = Tables::new(&network).unwrap();
        let named: Vec<(String, usize, usize, String)> = (0..network.vertices())
            .flat_map(|v| tables.deviations[v].iter().map(move |&(s, d, id)| (v, s, d, id)))
            .map(|(v, s, d, id)| {
                let name = |v: NodeId| network.name(v).to_string();
                (name(NodeId(v as u32)), s, d, name(network.link(id).to))
            })
            .collect();
        let row = |at: &str, s, d| (at.to_string(), s, d, "s3".to_string());
        assert_eq!(named, [row("s0", 1, 2), row("s0", 1, 3), row("s1", 3, 0), row("s1", 3, 1)]);
    }

    #[test]
    fn routers_that_choose_have_no_tables() {
        let network = network_at("torus:4x4,routing=adaptive", "100mbit".parse().unwrap()).unwrap();
        let error = Tables::new(&network).unwrap_err().to_string();
        assert!(error.contains("routers choose packet by packet"), "{error}");
    }

    #[test]
    fn the_most_frequent_link_needs_no_rule() {
        let links = [(0, 5), (1, 3), (2, 3), (4, 9)].map(|(s, l)| (s, LinkId(l)));
        assert_eq!(most_frequent(&links), LinkId(3));
        assert_eq!(most_frequent(&links[2..]), LinkId(3));
    }

    #[test]
    fn a_vertex_that_is_left_twice_is_named() {
        let network = network_at("mesh:3", "100mbit".parse().unwrap()).unwrap();
        let error = twice(&network, NodeId(0), NodeId(2), LinkId(1), LinkId(2)).to_string();
        assert!(error.starts_with("the lab cannot express the routing of mesh:3"), "{error}");
        assert!(error.contains("from h0 to h2 leaves h1 first towards h0 and then towards h2"), "{error}");
    }
}
