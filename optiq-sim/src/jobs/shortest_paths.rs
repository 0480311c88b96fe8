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
//! cable have the same distances but for 1, so everything is found once for each such switch, from a search that begins
//! there (E. Moore, "The Shortest Path through a Maze", 1959), and serves all of its hosts: `b` is linear in what is sent, so that what is
//! for several hosts of a switch is divided together; and where a part `r` of what comes to the switch passes a link of the set
//! behind it, `p(v) = p0(v) + q(v) r`, with `p0` for `r = 0`, and `q(v)` the part that meets no link of the set before. Hosts' own
//! cables are weights of the switch, at both ends.

use crate::error::SimError;
use crate::jobs::physical_links::{PhysicalLinks, entry};
use optiq_net::{LinkId, Network, NodeId};
use std::ops::Range;

/// A bundle of links on the way.
#[derive(Clone, Copy, Debug)]
struct Bundle {
    /// Its other end: where it leads, or comes from.
    other: NodeId,
    /// Its physical links.
    first: u32,
    lanes: u32,
}

impl Bundle {
    fn physical(self) -> Range<usize> {
        self.first as usize..(self.first + self.lanes) as usize
    }
}

/// The bundles of all vertices, one behind the other.
#[derive(Debug, Default)]
struct Bundles {
    all: Vec<Bundle>,
    /// Per vertex, where its own begin; and how many there are in all.
    first: Vec<u32>,
}

impl Bundles {
    fn of(&self, at: usize) -> &[Bundle] {
        &self.all[self.first[at] as usize..self.first[at + 1] as usize]
    }

    fn close(&mut self) {
        self.first.push(self.all.len() as u32);
    }

    fn clear(&mut self) {
        self.all.clear();
        self.first.clear();
        self.first.push(0);
    }
}

/// How packets reach or leave a host.
type Cable<T> = (NodeId, Option<T>);

/// Shortest paths to one vertex after the other. What was found for the last one is kept.
#[derive(Debug)]
pub(crate) struct ShortestPaths<'n> {
    network: &'n Network,
    /// Per host: where its packets leave it, and the physical link to there, if there is only one.
    entries: Vec<Cable<u32>>,
    /// Per host: the vertex from which all packets for it come, and the link from there, if there is only one.
    exits: Vec<Cable<LinkId>>,
    /// Per vertex: hosts that are ends only.
    is_end: Vec<bool>,
    /// Per vertex, to and from all that are not weights of a switch.
    outgoing: Bundles,
    incoming: Bundles,
    /// To where the paths below lead.
    root: Option<NodeId>,
    /// Per vertex.
    distance: Vec<u32>,
    /// Vertices by their distance, the root first; and, in this order, their bundles that lead closer.
    order: Vec<NodeId>,
    closer: Bundles,
    /// Per vertex: bytes that come by there on their way to the root, and are not divided yet; whether there are any.
    at: Vec<f64>,
    is_pending: bool,
    /// Per vertex, of each of two sets: `p0` and `q` at the top of the file; whether they are those of the root.
    parts: Vec<[[f64; 2]; 2]>,
    has_parts: bool,
}

impl<'n> ShortestPaths<'n> {
    pub(crate) fn new(network: &'n Network, links: &PhysicalLinks<'n>) -> Self {
        let hosts = || (0..network.hosts() as u32).map(NodeId);
        let entries: Vec<Cable<u32>> = hosts().map(|host| entry(network, links, host)).collect();
        let exits: Vec<Cable<LinkId>> = hosts().map(|host| exit(network, host)).collect();
        let is_weight =
            |v: NodeId| network.is_host(v) && entries[v.index()].1.is_some() && exits[v.index()].1.is_some();
        let bundle = |link: LinkId, other: NodeId| {
            let physical = links.all(link);
            Bundle { other, first: physical.start as u32, lanes: physical.len() as u32 }
        };
        let (mut outgoing, mut incoming) = (Bundles::default(), Bundles::default());
        outgoing.clear();
        incoming.clear();
        for v in (0..network.vertices() as u32).map(NodeId) {
            let to = network.out_links(v).map(|link| bundle(link, network.link(link).to));
            outgoing.all.extend(to.filter(|bundle| !is_weight(v) && !is_weight(bundle.other)));
            outgoing.close();
            let from = network.in_links(v).iter().map(|&link| bundle(link, network.link(link).from));
            incoming.all.extend(from.filter(|bundle| !is_weight(v) && !is_weight(bundle.other)));
            incoming.close();
        }
        let is_switched = network.hosts() < network.vertices();
        Self {
            network,
            entries,
            exits,
            is_end: (0..network.vertices() as u32).map(|v| is_switched && network.is_host(NodeId(v))).collect(),
            outgoing,
            incoming,
            root: None,
            distance: Vec::new(),
            order: Vec::new(),
            closer: Bundles::default(),
            at: vec![0.0; network.vertices()],
            is_pending: false,
            parts: vec![[[0.0; 2]; 2]; network.vertices()],
            has_parts: false,
        }
    }

    /// Finds the paths to a vertex; nothing is left to divide for another one.
    fn lead_to(&mut self, root: NodeId) {
        self.root = Some(root);
        self.has_parts = false;
        self.distance.clear();
        self.distance.resize(self.network.vertices(), u32::MAX);
        self.distance[root.index()] = 0;
        self.order.clear();
        self.order.push(root);
        self.closer.clear();
        let mut next = 0;
        while let Some(&at) = self.order.get(next) {
            next += 1;
            let away = self.distance[at.index()];
            if at != root {
                // All that are closer have their distances.
                let leads_on = |to: NodeId| to == root || !self.is_end[to.index()];
                let is_closer = |b: &&Bundle| self.distance[b.other.index()] < away && leads_on(b.other);
                self.closer.all.extend(self.outgoing.of(at.index()).iter().filter(is_closer));
            }
            self.closer.close();
            if at != root && self.is_end[at.index()] {
                continue;
            }
            for bundle in self.incoming.of(at.index()) {
                let distance = &mut self.distance[bundle.other.index()];
                if *distance == u32::MAX {
                    *distance = away + 1;
                    self.order.push(bundle.other);
                }
            }
        }
    }

    /// Has the paths to where packets for `dst` come from; the link from there, if it is not `dst` itself.
    fn lead_to_host(
        &mut self,
        dst: NodeId,
        sources: &[(NodeId, f64)],
        bytes: &mut [f64],
    ) -> Result<Option<LinkId>, SimError> {
        let (root, last) = self.exits[dst.index()];
        if self.root != Some(root) {
            self.finish(bytes);
            self.lead_to(root);
        }
        match sources.iter().find(|s| self.distance[self.entries[s.0.index()].0.index()] == u32::MAX) {
            None => Ok(last),
            Some(&(src, _)) => {
                let [from, to] = [src, dst].map(|v| self.network.name(v).to_owned());
                Err(optiq_net::NetError::Unreachable { from, to }.into())
            }
        }
    }

    /// Adds the bytes from sources to `dst` to those of each physical link; those of links between others than hosts are added by
    /// [`ShortestPaths::finish`] at the latest.
    ///
    /// # Errors
    /// A source from which no path leads to `dst`.
    pub(crate) fn spread(
        &mut self,
        links: &PhysicalLinks<'_>,
        (dst, sources): (NodeId, &[(NodeId, f64)]),
        bytes: &mut [f64],
    ) -> Result<(), SimError> {
        let last = self.lead_to_host(dst, sources, bytes)?;
        let mut all = 0.0;
        for &(src, w) in sources {
            let (at, link) = self.entries[src.index()];
            self.at[at.index()] += w;
            all += w;
            if let Some(link) = link {
                bytes[link as usize] += w;
            }
        }
        self.is_pending = true;
        if let Some(last) = last {
            let range = links.all(last);
            let lanes = range.len() as f64;
            range.for_each(|i| bytes[i] += all / lanes);
        }
        Ok(())
    }

    /// Divides what is pending for the last destinations.
    pub(crate) fn finish(&mut self, bytes: &mut [f64]) {
        if !std::mem::take(&mut self.is_pending) {
            return;
        }
        for (place, &at) in self.order.iter().enumerate().rev() {
            let w = std::mem::take(&mut self.at[at.index()]);
            let closer = self.closer.of(place);
            if w > 0.0 && !closer.is_empty() {
                let each = w / f64::from(closer.iter().map(|bundle| bundle.lanes).sum::<u32>());
                for bundle in closer {
                    bundle.physical().for_each(|i| bytes[i] += each);
                    self.at[bundle.other.index()] += each * f64::from(bundle.lanes);
                }
            }
        }
    }

    /// Other flows or sets follow; what failed before is forgotten.
    pub(crate) fn begin(&mut self) {
        self.has_parts = false;
        if std::mem::take(&mut self.is_pending) {
            self.at.fill(0.0);
        }
    }

    /// Calls `add` for each source with which part of its bytes for `dst` passes a link of each of two sets; `sets` as in
    /// [`super::link_use::Walker::passing`], the same ones until [`ShortestPaths::begin`].
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
        let last = self.lead_to_host(dst, sources, &mut [])?;
        if !self.has_parts {
            self.find_parts(sets);
        }
        let behind = last.map_or([0.0; 2], |last| {
            let of = &sets[links.all(last)];
            [0, 1].map(|set| of.iter().filter(|&&of| of >> set & 1 == 1).count() as f64 / of.len() as f64)
        });
        for &(src, w) in sources {
            let (at, link) = self.entries[src.index()];
            let [none, rest] = self.parts[at.index()];
            let own = link.map_or(0, |link| sets[link as usize]);
            let part = |set: usize| if own >> set & 1 == 1 { 1.0 } else { none[set] + rest[set] * behind[set] };
            add(w, [part(0), part(1)]);
        }
        Ok(())
    }

    /// `p0` and `q` of all vertices.
    fn find_parts(&mut self, sets: &[u8]) {
        self.has_parts = true;
        for (place, &at) in self.order.iter().enumerate() {
            let closer = self.closer.of(place);
            if closer.is_empty() {
                self.parts[at.index()] = [[0.0; 2], [1.0; 2]];
                continue;
            }
            let (mut sums, mut lanes) = ([[0.0; 2]; 2], 0);
            for bundle in closer {
                let behind = self.parts[bundle.other.index()];
                lanes += bundle.lanes;
                for of in &sets[bundle.physical()] {
                    (0..2).for_each(|set| {
                        let is_in = of >> set & 1 == 1;
                        sums[0][set] += if is_in { 1.0 } else { behind[0][set] };
                        sums[1][set] += if is_in { 0.0 } else { behind[1][set] };
                    });
                }
            }
            self.parts[at.index()] = sums.map(|of| of.map(|sum| sum / f64::from(lanes)));
        }
    }
}

/// Where packets for a host come from: its switch, if a single bundle of links leads to it.
fn exit(network: &Network, host: NodeId) -> Cable<LinkId> {
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
            paths.finish(&mut bytes[1]);
            for (i, (a, b)) in bytes[0].iter().zip(&bytes[1]).enumerate() {
                assert!((a - b).abs() < 1e-9, "{spec}, physical link {i}: {b}, {a} are expected");
            }
        }
    }
}
