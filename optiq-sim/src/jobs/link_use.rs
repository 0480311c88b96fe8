//! Which physical links the traffic of a job takes, with its bytes.
//!
//! A job of n hosts in which any host may talk to any other has n^2 routes. Where a routing is a function of the vertex and the
//! destination (d-mod-k, tables, minimal routes of dragonflies), the routes to one destination form a tree with the destination
//! as its root: every vertex has one link towards it. So each vertex of that tree is visited once, however many sources are
//! behind it; bytes are summed from the leaves to the root, and whether a link of a set is passed is known from the root
//! to the leaves. Hosts that hang on one link are not vertices of the tree but weights of their switch. For 1,000 hosts on
//! `fattree:brown1296` that is some 10^5 steps in place of 5 * 10^6. Other deterministic routings are followed pair by pair.
//!
//! Where routers choose, nothing is known but that most packets take shortest paths: bytes are then divided evenly over the
//! links that lead closer to the destination, at every vertex (`shortest_paths.rs`), and what is found is an estimate.
//!
//! Parallel links of one pair of vertices are told apart where the routing does ([`Network::lane`]). Where it does not, a
//! packet may take any, and a flow counts on all of them.

use crate::error::SimError;
use crate::jobs::physical_links::{PhysicalLinks, entry};
use crate::jobs::shortest_paths::ShortestPaths;
use optiq_net::{LinkId, Network, NodeId, Routing};
use std::ops::Range;

/// Bytes between hosts.
#[derive(Clone, Debug, PartialEq)]
pub enum HostFlows {
    /// From each of some hosts to each of others, these bytes for a pair. A host that is listed twice counts twice.
    All {
        /// Who sends.
        from: Vec<NodeId>,
        /// Who receives.
        to: Vec<NodeId>,
        /// Bytes of one pair.
        bytes: f64,
    },
    /// Of pairs of source and destination.
    Pairs(Vec<(NodeId, NodeId, f64)>),
}

/// A flow as it counts, in bytes: one that can be there, if only as headers, is never weightless. A power of two keeps sums of
/// whole bytes exact.
fn weight(bytes: f64) -> f64 {
    bytes.max(1.0 / 1024.0)
}

impl HostFlows {
    /// Calls `each` for every destination with its sources and their bytes, in an order that depends on the flows alone. What a
    /// host sends to itself is left out.
    fn by_destination(
        &self,
        mut each: impl FnMut(NodeId, &[(NodeId, f64)]) -> Result<(), SimError>,
    ) -> Result<(), SimError> {
        let mut sources = Vec::new();
        match self {
            HostFlows::All { from, to, bytes } => {
                let mut to = to.clone();
                to.sort_unstable();
                for same in to.chunk_by(|a, b| a == b) {
                    let bytes = weight(*bytes) * same.len() as f64;
                    sources.clear();
                    sources.extend(from.iter().filter(|&&h| h != same[0]).map(|&h| (h, bytes)));
                    each(same[0], &sources)?;
                }
            }
            HostFlows::Pairs(pairs) => {
                let mut pairs: Vec<_> = pairs.iter().filter(|p| p.0 != p.1).collect();
                pairs.sort_by_key(|&&(src, dst, _)| (dst, src));
                for same in pairs.chunk_by(|a, b| a.1 == b.1) {
                    sources.clear();
                    sources.extend(same.iter().map(|&&(src, _, bytes)| (src, weight(bytes))));
                    each(same[0].1, &sources)?;
                }
            }
        }
        Ok(())
    }
}

/// How flows are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// By the fabric's routes.
    Routes,
    /// Evenly over all shortest paths.
    ShortestPaths,
}

/// The bytes of a job on each physical link, and what they come from.
#[derive(Clone, Debug)]
pub(crate) struct LinkUse {
    /// Per physical link.
    pub(crate) bytes: Vec<f64>,
    /// Between different hosts.
    pub(crate) total: f64,
    flows: Vec<HostFlows>,
}

/// Follows flows over a network; what it needs on the way is used again.
#[derive(Debug)]
pub(crate) struct Walker<'n> {
    network: &'n Network,
    pub(crate) links: PhysicalLinks<'n>,
    by_tree: bool,
    /// Per host: where its packets enter the tree, and the physical link that leads there, if there is only one.
    entries: Vec<(NodeId, Option<u32>)>,
    /// Per vertex: bytes that come by there.
    at: Vec<f64>,
    /// Per vertex: in which sets of links there is one between it and the destination.
    passes: Vec<u8>,
    /// Per vertex: the round in which it was last met.
    met: Vec<u32>,
    round: u32,
    /// The tree, or all vertices that are closer, with their links: chains towards what was met before.
    steps: Vec<(NodeId, LinkId)>,
    /// Where chains end.
    ends: Vec<usize>,
    route: Vec<LinkId>,
    /// Where packets go by all shortest paths.
    paths: Option<ShortestPaths<'n>>,
}

impl<'n> Walker<'n> {
    pub(crate) fn new(network: &'n Network, walk: Walk) -> Self {
        let (vertices, links) = (network.vertices(), PhysicalLinks::new(network));
        let entries = (0..network.hosts() as u32).map(|h| entry(network, &links, NodeId(h))).collect();
        let paths = (walk == Walk::ShortestPaths).then(|| ShortestPaths::new(network, &links));
        Self {
            network,
            links,
            by_tree: network.routing().is_destination_based(),
            entries,
            at: vec![0.0; vertices],
            passes: vec![0; vertices],
            met: vec![0; vertices],
            round: 0,
            steps: Vec::new(),
            ends: Vec::new(),
            route: Vec::new(),
            paths,
        }
    }

    /// The bytes of flows on each physical link.
    ///
    /// # Errors
    /// A pair without a route.
    pub(crate) fn follow(&mut self, flows: Vec<HostFlows>) -> Result<LinkUse, SimError> {
        let mut bytes = vec![0.0; self.links.len()];
        let mut total = 0.0;
        if let Some(paths) = &mut self.paths {
            paths.begin();
        }
        for part in &flows {
            part.by_destination(|dst, sources| {
                total += sources.iter().map(|s| s.1).sum::<f64>();
                if let Some(paths) = &mut self.paths {
                    return paths.spread(&self.links, (dst, sources), &mut bytes);
                }
                match self.by_tree {
                    true => self.sum_up(dst, sources, &mut bytes),
                    false => self.each_route(dst, sources, |links, range, w| {
                        range.for_each(|i| bytes[i] += w / links);
                    }),
                }
            })?;
        }
        if let Some(paths) = &mut self.paths {
            paths.finish(&mut bytes);
        }
        Ok(LinkUse { bytes, total, flows })
    }

    /// How many bytes of a job pass at least one physical link of each of two sets; `sets` has for each physical link a bit for
    /// each set that it is in.
    ///
    /// # Errors
    /// As [`Walker::follow`].
    pub(crate) fn passing(&mut self, job: &LinkUse, sets: &[u8]) -> Result<[f64; 2], SimError> {
        let mut passing = [0.0; 2];
        let mut add = |w: f64, passes: u8| {
            for (i, sum) in passing.iter_mut().enumerate() {
                *sum += if passes >> i & 1 == 1 { w } else { 0.0 };
            }
        };
        if let Some(paths) = &mut self.paths {
            paths.begin();
            for part in &job.flows {
                part.by_destination(|dst, sources| {
                    paths.passing(&self.links, (dst, sources), sets, |w, [a, b]| {
                        add(w * a, 1);
                        add(w * b, 2);
                    })
                })?;
            }
            return Ok(passing);
        }
        for part in &job.flows {
            part.by_destination(|dst, sources| match self.by_tree {
                true => self.look_down(dst, sources, sets, &mut add),
                false => sources.iter().try_for_each(|&source| {
                    let mut passes = 0;
                    self.each_route(dst, &[source], |_, range, _| passes |= union(&sets[range]))?;
                    add(source.1, passes);
                    Ok(())
                }),
            })?;
        }
        Ok(passing)
    }

    /// Every step of the route of each source: how many physical links it may take, which, and the source's bytes.
    fn each_route(
        &mut self,
        dst: NodeId,
        sources: &[(NodeId, f64)],
        mut step: impl FnMut(f64, Range<usize>, f64),
    ) -> Result<(), SimError> {
        for &(src, w) in sources {
            self.route.clear();
            self.network.route(src, dst, &mut self.route)?;
            for &link in &self.route {
                let range = self.links.taken(link, src, dst);
                step(range.len() as f64, range, w);
            }
        }
        Ok(())
    }

    /// Makes the tree of the routes from the sources to `dst`; what is at its vertices is 0.
    fn grow(&mut self, dst: NodeId, sources: &[(NodeId, f64)]) -> Result<(), SimError> {
        self.steps.clear();
        self.ends.clear();
        self.round += 1;
        self.met[dst.index()] = self.round;
        self.at[dst.index()] = 0.0;
        for &(src, _) in sources {
            let mut at = self.entries[src.index()].0;
            if self.met[at.index()] == self.round {
                continue;
            }
            if let Routing::Table(table) = self.network.routing() {
                while self.met[at.index()] != self.round {
                    let Some(link) = table.next_hop(self.network, at, dst) else {
                        let [from, to] = [src, dst].map(|v| self.network.name(v).to_owned());
                        return Err(optiq_net::NetError::Unreachable { from, to }.into());
                    };
                    self.meet(at, link);
                    at = self.network.link(link).to;
                }
            } else {
                let mut route = std::mem::take(&mut self.route);
                route.clear();
                let found = self.network.route(at, dst, &mut route);
                for &link in &route {
                    let from = self.network.link(link).from;
                    if self.met[from.index()] == self.round {
                        break;
                    }
                    self.meet(from, link);
                }
                self.route = route;
                found?;
            }
            self.ends.push(self.steps.len());
        }
        Ok(())
    }

    fn meet(&mut self, at: NodeId, link: LinkId) {
        self.met[at.index()] = self.round;
        self.at[at.index()] = 0.0;
        self.steps.push((at, link));
    }

    /// Sums bytes up from the sources to the root.
    fn sum_up(&mut self, dst: NodeId, sources: &[(NodeId, f64)], bytes: &mut [f64]) -> Result<(), SimError> {
        self.grow(dst, sources)?;
        for &(src, w) in sources {
            let (at, link) = self.entries[src.index()];
            self.at[at.index()] += w;
            if let Some(link) = link {
                bytes[link as usize] += w;
            }
        }
        // Each chain ends at one that was there before it: the last one first, each from its beginning.
        let mut end = self.steps.len();
        for start in self.ends.iter().rev().skip(1).copied().chain([0]) {
            for &(at, link) in &self.steps[start.min(end)..end] {
                let w = self.at[at.index()];
                let range = self.links.taken(link, at, dst);
                let links = range.len() as f64;
                range.for_each(|i| bytes[i] += w / links);
                self.at[self.network.link(link).to.index()] += w;
            }
            end = start;
        }
        Ok(())
    }

    /// Looks down from the root which vertices are behind links of the sets, and adds the bytes of their sources.
    fn look_down(
        &mut self,
        dst: NodeId,
        sources: &[(NodeId, f64)],
        sets: &[u8],
        mut add: impl FnMut(f64, u8),
    ) -> Result<(), SimError> {
        self.grow(dst, sources)?;
        self.passes[dst.index()] = 0;
        let mut start = 0;
        for &end in &self.ends {
            for &(at, link) in self.steps[start..end].iter().rev() {
                let behind = self.passes[self.network.link(link).to.index()];
                self.passes[at.index()] = behind | union(&sets[self.links.taken(link, at, dst)]);
            }
            start = end;
        }
        for &(src, w) in sources {
            let (at, link) = self.entries[src.index()];
            add(w, self.passes[at.index()] | link.map_or(0, |link| sets[link as usize]));
        }
        Ok(())
    }
}

/// The sets that any of these links is in.
fn union(sets: &[u8]) -> u8 {
    sets.iter().fold(0, |all, &of| all | of)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    fn walker<'n>(network: &'n Network, by_tree: bool) -> Walker<'n> {
        let mut walker = Walker::new(network, Walk::Routes);
        walker.by_tree &= by_tree;
        walker
    }

    const SPECS: [&str; 10] = [
        "fattree:3x3x2:1x3x1:1x1x3",
        "fattree:3x3x2:1x3x1:1x1x3,routing=smodk",
        "fattree:3x3x2:1x3x2:1x1x2,routing=shortest",
        "fattree:2x3:1x2,rails=2",
        "dragonfly:p=2,a=2,h=1",
        "dragonfly+:p=2,l=2,s=2,h=1",
        "torus:4x5",
        "torus:4x4,routing=longest",
        "mesh:3x6",
        "star:18",
    ];

    #[test]
    fn bytes_on_a_star_by_hand() {
        let network = Network::from_spec("star:4").unwrap();
        let mut walker = walker(&network, true);
        let flows = vec![
            HostFlows::All { from: vec![NodeId(0), NodeId(1)], to: vec![NodeId(1), NodeId(2)], bytes: 10.0 },
            HostFlows::Pairs(vec![(NodeId(3), NodeId(0), 5.0), (NodeId(2), NodeId(2), 7.0)]),
        ];
        let used = walker.follow(flows).unwrap();
        // 0 sends to 1 and 2, 1 to 2 alone; 3 to 0; what 2 has for itself goes nowhere.
        let on = |from: u32, to: u32| used.bytes[network.link_between(NodeId(from), NodeId(to)).unwrap().index()];
        assert_eq!([0, 1, 2, 3].map(|h| on(h, 4)), [20.0, 10.0, 0.0, 5.0]);
        assert_eq!([0, 1, 2, 3].map(|h| on(4, h)), [5.0, 10.0, 20.0, 0.0]);
        assert_eq!(used.total, 35.0);
        let mut sets = vec![0; 8];
        sets[network.link_between(NodeId(4), NodeId(2)).unwrap().index()] = 3;
        sets[network.link_between(NodeId(3), NodeId(4)).unwrap().index()] = 2;
        assert_eq!(walker.passing(&used, &sets).unwrap(), [20.0, 25.0]);
    }

    #[test]
    fn shortest_paths_are_shared_evenly() {
        // Two leaves of two hosts, two spines: half over each, all of it over the terminal links.
        let network = Network::from_spec("fattree:2x2:1x2").unwrap();
        let mut walker = Walker::new(&network, Walk::ShortestPaths);
        let used = walker.follow(vec![HostFlows::Pairs(vec![(NodeId(0), NodeId(2), 8.0)])]).unwrap();
        let mut loads: Vec<f64> = used.bytes.iter().copied().filter(|&b| b > 0.0).collect();
        loads.sort_by(f64::total_cmp);
        assert_eq!(loads, [4.0, 4.0, 4.0, 4.0, 8.0, 8.0]);
        let mut sets = vec![0; used.bytes.len()];
        let one = used.bytes.iter().position(|&b| b == 4.0).unwrap();
        sets[one] = 1;
        assert_eq!(walker.passing(&used, &sets).unwrap(), [4.0, 0.0]);
    }

    proptest! {
        /// Trees give what following every route gives: bytes of every link, and what passes a set of links.
        #[test]
        fn trees_are_the_sum_of_routes(
            which in 0..SPECS.len(),
            pairs in proptest::collection::vec((0u32..6, 0u32..8, 0u8..9), 0..40),
            from in proptest::collection::vec(0u32..8, 0..6),
            to in proptest::collection::vec(0u32..8, 0..6),
            chosen: u64,
        ) {
            let network = Network::from_spec(SPECS[which]).unwrap();
            let hosts = network.hosts() as u32;
            // Spread over the network.
            let host = |h: u32| NodeId(h * 7 % hosts);
            let flows = vec![
                HostFlows::Pairs(pairs.iter().map(|&(a, b, w)| (host(a), host(b), f64::from(w))).collect()),
                HostFlows::All {
                    from: from.iter().map(|&h| host(h)).collect(),
                    to: to.iter().map(|&h| host(h)).collect(),
                    bytes: 3.0,
                },
            ];
            let (mut tree, mut routes) = (walker(&network, true), walker(&network, false));
            let (a, b) = (tree.follow(flows.clone()).unwrap(), routes.follow(flows.clone()).unwrap());
            for (a, b) in a.bytes.iter().zip(&b.bytes) {
                prop_assert!((a - b).abs() < 1e-6, "{} {}: {} {}", SPECS[which], chosen, a, b);
            }
            let set = |i: usize| (chosen.rotate_left(i as u32 * 11) & 15) as u8;
            let sets: Vec<u8> = (0..a.bytes.len()).map(|i| if set(i) < 4 { set(i) } else { 0 }).collect();
            let passing = [tree.passing(&a, &sets).unwrap(), routes.passing(&b, &sets).unwrap()];
            for i in 0..2 {
                prop_assert!((passing[0][i] - passing[1][i]).abs() < 1e-6, "{}: {:?}", SPECS[which], passing);
                prop_assert!(passing[0][i] <= a.total && a.total == b.total);
            }
            // All of it passes the set of all links.
            let all = vec![1; a.bytes.len()];
            prop_assert_eq!(tree.passing(&a, &all).unwrap(), [a.total, 0.0]);
            let mut spread = Walker::new(&network, Walk::ShortestPaths);
            let c = spread.follow(flows).unwrap();
            prop_assert!((spread.passing(&c, &all).unwrap()[0] - c.total).abs() < 1e-6);
        }
    }
}
