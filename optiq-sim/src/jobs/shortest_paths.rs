//! Bytes divided evenly over all shortest paths: at every vertex over the links that lead closer to the destination.
//!
//! With `d(v)` the distance of a vertex to the destination, `closer(v)` the physical links of `v` to vertices at `d(v) - 1`, and
//! `b(v)` the bytes that come by `v`:
//!
//! ```text
//!     b(v) = what v sends + sum over links (u, v) in closer(u) of b(u) / |closer(u)|,      farthest vertices first
//!     p(v) = mean over links l = (v, u) in closer(v) of (1 if l is in the set, else p(u)),  nearest vertices first
//! ```
//!
//! where `p(v)` is the part of what is at `v` that passes a link of a set. All hosts that hang on a switch by a single
//! cable have the same distances but for 1, so distances and `closer` are found once for each such switch, by a search that begins
//! there (E. Moore, "The Shortest Path through a Maze", 1959), and serve all of its hosts; their own cables are weights of the
//! switch, at both ends. The sums are those of one search for each host, in the same order.

use crate::error::SimError;
use crate::jobs::link_use::{PhysicalLinks, entry};
use optiq_net::{LinkId, Network, NodeId};
use std::collections::VecDeque;

/// Shortest paths to one vertex after the other. What was found for the last one is kept.
#[derive(Debug)]
pub(crate) struct ShortestPaths<'n> {
    network: &'n Network,
    /// Hosts are joined by switches: no path leads through a host.
    is_switched: bool,
    /// Per host: where its packets leave it, and the physical link to there, if there is only one.
    entries: Vec<(NodeId, Option<u32>)>,
    /// Per host: the vertex from which all packets for it come, and the link from there, if there is only one.
    exits: Vec<(NodeId, Option<LinkId>)>,
    /// To where the paths below lead.
    root: Option<NodeId>,
    /// Per vertex.
    distance: Vec<u32>,
    /// Vertices by their distance, without the root and without hosts that are weights of their switch; and where their links
    /// begin below.
    order: Vec<(NodeId, u32)>,
    /// Links that lead closer, vertex by vertex.
    closer: Vec<LinkId>,
    /// Per vertex: bytes that come by there.
    at: Vec<f64>,
    /// Per vertex: which part of what is there passes a link of each set; and of which root, with which parts there.
    parts: Vec<[f64; 2]>,
    parts_of: Option<(NodeId, [f64; 2])>,
}

impl<'n> ShortestPaths<'n> {
    pub(crate) fn new(network: &'n Network, links: &PhysicalLinks<'n>) -> Self {
        let hosts = || (0..network.hosts() as u32).map(NodeId);
        Self {
            network,
            is_switched: network.hosts() < network.vertices(),
            entries: hosts().map(|host| entry(network, links, host)).collect(),
            exits: hosts().map(|host| exit(network, host)).collect(),
            root: None,
            distance: Vec::new(),
            order: Vec::new(),
            closer: Vec::new(),
            at: vec![0.0; network.vertices()],
            parts: vec![[0.0; 2]; network.vertices()],
            parts_of: None,
        }
    }

    fn is_weight(&self, at: NodeId) -> bool {
        self.network.is_host(at) && self.entries[at.index()].1.is_some()
    }

    /// Finds the paths to a vertex, if they are not at hand.
    fn lead_to(&mut self, root: NodeId) {
        if self.root.replace(root) == Some(root) {
            return;
        }
        self.parts_of = None;
        self.distance.clear();
        self.distance.resize(self.network.vertices(), u32::MAX);
        self.distance[root.index()] = 0;
        self.order.clear();
        let mut queue = VecDeque::from([root]);
        while let Some(at) = queue.pop_front() {
            if at != root && !self.is_weight(at) {
                self.order.push((at, 0));
            }
            if self.is_switched && at != root && self.network.is_host(at) {
                continue;
            }
            for &link in self.network.in_links(at) {
                let from = self.network.link(link).from;
                if self.distance[from.index()] == u32::MAX {
                    self.distance[from.index()] = self.distance[at.index()] + 1;
                    queue.push_back(from);
                }
            }
        }
        self.closer.clear();
        for (at, first) in &mut self.order {
            *first = self.closer.len() as u32;
            let away = self.distance[at.index()];
            self.closer.extend(self.network.out_links(*at).filter(|&link| {
                let to = self.network.link(link).to;
                let leads_on = !self.is_switched || !self.network.is_host(to) || to == root;
                leads_on && self.distance[to.index()].checked_add(1) == Some(away)
            }));
        }
    }

    /// The links of a place in the order that lead closer.
    fn closer(&self, place: usize) -> &[LinkId] {
        let end = self.order.get(place + 1).map_or(self.closer.len(), |&(_, first)| first as usize);
        &self.closer[self.order[place].1 as usize..end]
    }

    fn lanes(&self, links: &[LinkId]) -> f64 {
        f64::from(links.iter().map(|&link| self.network.link(link).lanes).sum::<u32>())
    }

    /// As [`ShortestPaths::lead_to`] where packets for `dst` come from; the link from there, if it is not `dst` itself.
    fn lead_to_host(&mut self, dst: NodeId, sources: &[(NodeId, f64)]) -> Result<Option<LinkId>, SimError> {
        let (root, last) = self.exits[dst.index()];
        self.lead_to(root);
        match sources.iter().find(|s| self.distance[self.entries[s.0.index()].0.index()] == u32::MAX) {
            None => Ok(last),
            Some(&(src, _)) => {
                let [from, to] = [src, dst].map(|v| self.network.name(v).to_owned());
                Err(optiq_net::NetError::Unreachable { from, to }.into())
            }
        }
    }

    /// Adds the bytes from sources to `dst` to those of each physical link.
    ///
    /// # Errors
    /// A source from which no path leads to `dst`.
    pub(crate) fn spread(
        &mut self,
        links: &PhysicalLinks<'_>,
        (dst, sources): (NodeId, &[(NodeId, f64)]),
        bytes: &mut [f64],
    ) -> Result<(), SimError> {
        let last = self.lead_to_host(dst, sources)?;
        let mut carried = std::mem::take(&mut self.at);
        carried.fill(0.0);
        let mut all = 0.0;
        for &(src, w) in sources {
            let (at, link) = self.entries[src.index()];
            carried[at.index()] += w;
            all += w;
            if let Some(link) = link {
                bytes[link as usize] += w;
            }
        }
        for (place, &(at, _)) in self.order.iter().enumerate().rev() {
            let w = carried[at.index()];
            if w > 0.0 {
                let closer = self.closer(place);
                let lanes = self.lanes(closer);
                for &link in closer {
                    links.all(link).for_each(|i| bytes[i] += w / lanes);
                    let (to, of) = (self.network.link(link).to, self.network.link(link).lanes);
                    carried[to.index()] += w * f64::from(of) / lanes;
                }
            }
        }
        if let Some(last) = last {
            let range = links.all(last);
            let lanes = range.len() as f64;
            range.for_each(|i| bytes[i] += all / lanes);
        }
        self.at = carried;
        Ok(())
    }

    /// Calls `add` for each source with which part of its bytes for `dst` passes a link of each of two sets; `sets` as in
    /// [`super::link_use::Walker::passing`], the same ones until [`ShortestPaths::forget_sets`].
    ///
    /// # Errors
    /// As [`ShortestPaths::spread`].
    pub(crate) fn passing(
        &mut self,
        links: &PhysicalLinks<'_>,
        (dst, sources): (NodeId, &[(NodeId, f64)]),
        sets: &[u8],
        mut add: impl FnMut(f64, [f64; 2]),
    ) -> Result<(), SimError> {
        let last = self.lead_to_host(dst, sources)?;
        let at_root = last.map_or([0.0; 2], |last| {
            let of = &sets[links.all(last)];
            [0, 1].map(|set| of.iter().filter(|&&of| of >> set & 1 == 1).count() as f64 / of.len() as f64)
        });
        let root = self.exits[dst.index()].0;
        if self.parts_of.replace((root, at_root)) != Some((root, at_root)) {
            self.find_parts(links, root, at_root, sets);
        }
        for &(src, w) in sources {
            let (at, link) = self.entries[src.index()];
            let behind = self.parts[at.index()];
            let own = link.map_or(0, |link| sets[link as usize]);
            add(w, [0, 1].map(|set| if own >> set & 1 == 1 { 1.0 } else { behind[set] }));
        }
        Ok(())
    }

    /// Other sets follow.
    pub(crate) fn forget_sets(&mut self) {
        self.parts_of = None;
    }

    fn find_parts(&mut self, links: &PhysicalLinks<'_>, root: NodeId, at_root: [f64; 2], sets: &[u8]) {
        let mut parts = std::mem::take(&mut self.parts);
        parts[root.index()] = at_root;
        for (place, &(at, _)) in self.order.iter().enumerate() {
            let closer = self.closer(place);
            let lanes = self.lanes(closer);
            let mut sums = [0.0; 2];
            for &link in closer {
                let behind = parts[self.network.link(link).to.index()];
                for &of in &sets[links.all(link)] {
                    (0..2).for_each(|i| sums[i] += if of >> i & 1 == 1 { 1.0 } else { behind[i] });
                }
            }
            parts[at.index()] = if lanes > 0.0 { sums.map(|sum| sum / lanes) } else { [0.0; 2] };
        }
        self.parts = parts;
    }
}

/// Where packets for a host come from: its switch, if a single bundle of links leads to it.
fn exit(network: &Network, host: NodeId) -> (NodeId, Option<LinkId>) {
    match network.in_links(host) {
        &[link] if !network.is_host(network.link(link).from) => (network.link(link).from, Some(link)),
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use optiq_net::random::SplitMix64;

    /// Rails, bundles, several levels, hosts that are joined directly, hosts with several cables.
    const SPECS: [&str; 9] = [
        "fattree:3x3x2:1x3x1:1x1x3",
        "fattree:3x3x2:1x3x2:1x1x2",
        "fattree:2x3:1x2,rails=2",
        "dragonfly:p=2,a=4,h=2",
        "dragonfly+:p=2,l=2,s=2,h=1",
        "torus:4x5",
        "torus:2x4x2",
        "mesh:3x6",
        "star:18",
    ];

    /// The definition at the top of the file, from each destination host on its own.
    struct Reference<'n> {
        network: &'n Network,
        distance: Vec<u32>,
        order: Vec<NodeId>,
    }

    impl<'n> Reference<'n> {
        fn new(network: &'n Network, dst: NodeId) -> Self {
            let mut this = Self { network, distance: vec![u32::MAX; network.vertices()], order: vec![dst] };
            this.distance[dst.index()] = 0;
            let mut next = 0;
            while next < this.order.len() {
                let at = this.order[next];
                next += 1;
                if at != dst && this.is_end(at) {
                    continue;
                }
                for &link in network.in_links(at) {
                    let from = network.link(link).from;
                    if this.distance[from.index()] == u32::MAX {
                        this.distance[from.index()] = this.distance[at.index()] + 1;
                        this.order.push(from);
                    }
                }
            }
            this
        }

        fn is_end(&self, at: NodeId) -> bool {
            self.network.hosts() < self.network.vertices() && self.network.is_host(at)
        }

        fn closer(&self, at: NodeId) -> Vec<LinkId> {
            let is_closer = |&link: &LinkId| {
                let to = self.network.link(link).to;
                (!self.is_end(to) || self.distance[to.index()] == 0)
                    && self.distance[to.index()].checked_add(1) == Some(self.distance[at.index()])
            };
            self.network.out_links(at).filter(is_closer).collect()
        }

        fn spread(&self, links: &PhysicalLinks<'_>, sources: &[(NodeId, f64)], bytes: &mut [f64]) {
            let mut at = vec![0.0; self.network.vertices()];
            sources.iter().for_each(|&(src, w)| at[src.index()] += w);
            for &v in self.order[1..].iter().rev() {
                let all: Vec<(usize, NodeId)> = self.physical(links, v);
                for &(i, to) in &all {
                    bytes[i] += at[v.index()] / all.len() as f64;
                    at[to.index()] += at[v.index()] / all.len() as f64;
                }
            }
        }

        fn physical(&self, links: &PhysicalLinks<'_>, at: NodeId) -> Vec<(usize, NodeId)> {
            let each = |link| links.all(link).map(move |i| (i, self.network.link(link).to));
            self.closer(at).into_iter().flat_map(each).collect()
        }

        fn parts(&self, links: &PhysicalLinks<'_>, sets: &[u8], set: u8) -> Vec<f64> {
            let mut parts = vec![0.0; self.network.vertices()];
            for &v in &self.order[1..] {
                let all = self.physical(links, v);
                let part = |&(i, to): &(usize, NodeId)| if sets[i] >> set & 1 == 1 { 1.0 } else { parts[to.index()] };
                parts[v.index()] = all.iter().map(part).sum::<f64>() / all.len() as f64;
            }
            parts
        }
    }

    #[test]
    fn a_search_from_the_switch_finds_what_one_from_each_host_does() {
        for (spec, seed) in SPECS.iter().flat_map(|spec| (0..4).map(move |seed| (spec, seed))) {
            let network = Network::from_spec(spec).unwrap();
            let links = PhysicalLinks::new(&network);
            let mut random = SplitMix64::new(seed);
            let hosts = network.hosts() as u64;
            let mut paths = ShortestPaths::new(&network, &links);
            let mut bytes = [vec![0.0; links.len()], vec![0.0; links.len()]];
            let sets: Vec<u8> = (0..links.len()).map(|_| random.below(4) as u8 & random.below(4) as u8).collect();
            for dst in (0..network.hosts() as u32).map(NodeId) {
                let mut source = || (NodeId(random.below(hosts) as u32), (1 + random.below(9)) as f64);
                let sources: Vec<_> = (0..5).map(|_| source()).filter(|&(src, _)| src != dst).collect();
                let reference = Reference::new(&network, dst);
                reference.spread(&links, &sources, &mut bytes[0]);
                paths.spread(&links, (dst, &sources), &mut bytes[1]).unwrap();
                let parts = [0, 1].map(|set| reference.parts(&links, &sets, set));
                let mut found = Vec::new();
                paths.passing(&links, (dst, &sources), &sets, |w, parts| found.push((w, parts))).unwrap();
                assert_eq!(found.len(), sources.len());
                for (&(src, w), (weight, found)) in sources.iter().zip(found) {
                    assert_eq!(w, weight);
                    let expected = [0, 1].map(|set| parts[set][src.index()]);
                    let same = (0..2).all(|set| (expected[set] - found[set]).abs() < 1e-12);
                    assert!(same, "{spec}, {src:?} to {dst:?}: {found:?}, {expected:?} are expected");
                }
            }
            for (i, (a, b)) in bytes[0].iter().zip(&bytes[1]).enumerate() {
                assert!((a - b).abs() < 1e-9, "{spec}, physical link {i}: {b}, {a} are expected");
            }
        }
    }
}
