//! What a job's traffic puts on the links of a network, and which pairs of hosts put it there.
//!
//! Let `R(s, d)` be the links that the fabric takes from host `s` to host `d`, and `b(s, d)` the bytes that the ranks of `s` sent to those of
//! `d`. A link `l` from `u` to `v` carries the sum of `b(s, d)` over all pairs with `l` in `R(s, d)`: that is what is sent at its end at `u`, and
//! what arrives at its end at `v`. What goes the other way is another link's. Ranks of one host send each other nothing over links.

use optiq_net::{LinkId, LinkLoad, NetError, Network, NodeId};
use std::collections::BTreeMap;

/// What one host sent to another one in one region of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTraffic {
    /// Where from.
    pub src: NodeId,
    /// Where to.
    pub dst: NodeId,
    /// The region's number.
    pub region: u32,
    /// Bytes.
    pub bytes: u64,
}

/// Traffic between hosts, from what ranks sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTraffics {
    /// By source, destination and region.
    pub all: Vec<HostTraffic>,
    /// Bytes between ranks of one host, which take no link.
    pub inside_bytes: u64,
}

/// Traffic on every link; see [`HostTraffics::on_links`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnLinks {
    /// In sum.
    pub load: LinkLoad,
    /// Per region: bytes on each link.
    pub regions: Vec<Vec<u64>>,
    /// Per link.
    pub makers: Vec<PairsOnLink>,
}

/// The pairs of hosts that send over a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairsOnLink {
    /// How many there are.
    pub pairs: u32,
    /// Those with the most bytes, the largest first; among equals those with the lower numbers.
    pub most: Vec<(NodeId, NodeId, u64)>,
}

impl PairsOnLink {
    /// Adds a pair. Pairs come in the order of their numbers, so that equals stay in it.
    fn add(&mut self, pair: (NodeId, NodeId, u64), most: usize) {
        self.pairs += 1;
        let place = self.most.partition_point(|kept| kept.2 >= pair.2);
        if place < most {
            self.most.truncate(most - 1);
            self.most.insert(place, pair);
        }
    }
}

impl HostTraffics {
    /// Adds up what ranks sent: (region, from, to, bytes), each end being the rank's host.
    pub fn new(sent: impl IntoIterator<Item = (u32, NodeId, NodeId, u64)>) -> Self {
        let mut sums: BTreeMap<(NodeId, NodeId, u32), u64> = BTreeMap::new();
        let mut inside_bytes = 0u64;
        for (region, src, dst, bytes) in sent {
            if src == dst {
                inside_bytes = inside_bytes.saturating_add(bytes);
            } else if bytes > 0 {
                let sum = sums.entry((src, dst, region)).or_default();
                *sum = sum.saturating_add(bytes);
            }
        }
        let traffic = |((src, dst, region), bytes)| HostTraffic { src, dst, region, bytes };
        Self { all: sums.into_iter().map(traffic).collect(), inside_bytes }
    }

    /// The same traffic by other numbers of regions: `numbers[r]` is that of `r`, and several may become one.
    pub fn merged(&self, numbers: &[u32]) -> Self {
        let all = self.all.iter().map(|t| (numbers[t.region as usize], t.src, t.dst, t.bytes));
        Self { inside_bytes: self.inside_bytes, ..Self::new(all) }
    }

    /// Bytes that take links.
    pub fn bytes(&self) -> u64 {
        self.all.iter().map(|t| t.bytes).fold(0, u64::saturating_add)
    }

    /// The traffic of each pair of hosts, by region.
    fn by_pair(&self) -> impl Iterator<Item = &[HostTraffic]> {
        self.all.chunk_by(|a, b| (a.src, a.dst) == (b.src, b.dst))
    }

    /// Pairs of hosts with their bytes, whatever the region.
    pub fn pairs(&self) -> Vec<(NodeId, NodeId, u64)> {
        let pair = |run: &[HostTraffic]| {
            let bytes = run.iter().map(|t| t.bytes).fold(0, u64::saturating_add);
            (run[0].src, run[0].dst, bytes)
        };
        self.by_pair().map(pair).collect()
    }

    /// The load on every link, on the fabric's own routes.
    ///
    /// # Errors
    /// As [`Network::route_load`].
    pub fn load(&self, network: &Network) -> Result<LinkLoad, NetError> {
        network.route_load(self.pairs())
    }

    /// What every link carries, region by region, and which pairs of hosts make most of it: one walk of each pair. `regions` is
    /// how many there are, `most` how many pairs are kept for each link.
    ///
    /// # Errors
    /// As [`Network::route`], and [`NetError::Overflow`] for sums beyond 64 bits.
    pub fn on_links(&self, network: &Network, regions: usize, most: usize) -> Result<OnLinks, NetError> {
        let links = network.links().len();
        let mut found = OnLinks {
            load: LinkLoad::empty(network),
            regions: vec![vec![0; links]; regions],
            makers: vec![PairsOnLink::default(); links],
        };
        let mut route = Vec::new();
        for run in self.by_pair() {
            route.clear();
            network.route(run[0].src, run[0].dst, &mut route)?;
            let bytes = run.iter().map(|t| t.bytes).fold(0, u64::saturating_add);
            found.load.add(network, &route, bytes)?;
            for link in &route {
                for t in run {
                    // No more than the sum over all regions, which fits.
                    found.regions[t.region as usize][link.index()] += t.bytes;
                }
                found.makers[link.index()].add((run[0].src, run[0].dst, bytes), most);
            }
        }
        Ok(found)
    }

    /// What makes the load of each of `links`: its traffic, the largest first.
    ///
    /// # Errors
    /// As [`Network::route`].
    pub fn makers(&self, network: &Network, links: &[LinkId]) -> Result<Vec<Vec<HostTraffic>>, NetError> {
        let at: BTreeMap<LinkId, usize> = links.iter().enumerate().map(|(i, link)| (*link, i)).collect();
        let mut makers = vec![Vec::new(); links.len()];
        let mut route = Vec::new();
        for run in self.by_pair() {
            route.clear();
            network.route(run[0].src, run[0].dst, &mut route)?;
            for i in route.iter().filter_map(|link| at.get(link)) {
                makers[*i].extend_from_slice(run);
            }
        }
        for maker in &mut makers {
            maker.sort_by_key(|t| (std::cmp::Reverse(t.bytes), t.src, t.dst, t.region));
        }
        Ok(makers)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    /// Two leaves of two hosts each under one spine: h0 and h1 are on one leaf, h2 and h3 on the other.
    fn tree() -> Network {
        Network::from_spec("fattree:2x2:1x1").unwrap()
    }

    #[test]
    fn loads_are_what_a_walk_by_hand_gives() {
        let net = tree();
        let h = NodeId;
        let sent =
            [(0, h(0), h(2), 100), (1, h(0), h(2), 20), (0, h(1), h(3), 7), (0, h(1), h(0), 3), (0, h(2), h(2), 50)];
        let traffic = HostTraffics::new(sent);
        assert_eq!((traffic.inside_bytes, traffic.bytes()), (50, 130));
        let load = traffic.load(&net).unwrap();
        let leaf = |host: NodeId| net.link(net.out_links(host).next().unwrap()).to;
        let (left, right) = (leaf(h(0)), leaf(h(2)));
        assert!(left == leaf(h(1)) && left != right);
        let spine = net.out_links(left).map(|l| net.link(l).to).find(|v| !net.is_host(*v)).unwrap();
        let bytes = |a, b| load.bytes[net.link_between(a, b).unwrap().index()];
        // h0 sends 120 to the right; h1 sends 7 there and 3 to h0.
        assert_eq!((bytes(h(0), left), bytes(h(1), left)), (120, 10));
        assert_eq!((bytes(left, spine), bytes(spine, right), bytes(spine, left)), (127, 127, 0));
        assert_eq!((bytes(right, h(2)), bytes(right, h(3)), bytes(left, h(0))), (120, 7, 3));
        let up = net.link_between(left, spine).unwrap();
        let one = traffic.merged(&[4, 4]);
        assert_eq!((one.all[0].region, one.all[0].bytes, one.bytes(), one.inside_bytes), (4, 120, 130, 50));
        let makers = traffic.makers(&net, &[up]).unwrap();
        let bytes: Vec<_> = makers[0].iter().map(|t| (t.src, t.dst, t.region, t.bytes)).collect();
        assert_eq!(bytes, [(h(0), h(2), 0, 100), (h(0), h(2), 1, 20), (h(1), h(3), 0, 7)]);
    }

    proptest! {
        /// Every link's makers have its bytes, and the links that leave hosts have all.
        #[test]
        fn makers_sum_to_loads(sent in prop::collection::vec((0u32..3, 0u32..8, 0u32..8, 0u64..1000), 0..40)) {
            let net = Network::from_spec("fattree:2x4:1x2").unwrap();
            let traffic = HostTraffics::new(sent.iter().map(|&(r, s, d, b)| (r, NodeId(s), NodeId(d), b)));
            let load = traffic.load(&net).unwrap();
            let links: Vec<LinkId> = (0..net.links().len() as u32).map(LinkId).collect();
            let makers = traffic.makers(&net, &links).unwrap();
            for (makers, bytes) in makers.iter().zip(&load.bytes) {
                prop_assert_eq!(makers.iter().map(|m| m.bytes).sum::<u64>(), *bytes);
            }
            // All at once.
            let found = traffic.on_links(&net, 3, 2).unwrap();
            prop_assert_eq!(&found.load, &load);
            for (i, makers) in makers.iter().enumerate() {
                for region in 0..3 {
                    let sum: u64 = makers.iter().filter(|m| m.region == region).map(|m| m.bytes).sum();
                    prop_assert_eq!(found.regions[region as usize][i], sum);
                }
                let mut pairs: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
                makers.iter().for_each(|m| *pairs.entry((m.src, m.dst)).or_default() += m.bytes);
                prop_assert_eq!(found.makers[i].pairs as usize, pairs.len());
                let mut most: Vec<_> = pairs.into_iter().map(|((src, dst), bytes)| (src, dst, bytes)).collect();
                most.sort_by_key(|p| (std::cmp::Reverse(p.2), p.0, p.1));
                most.truncate(2);
                prop_assert_eq!(&found.makers[i].most, &most);
            }
            let from_hosts: u64 = net.links().iter().zip(&load.bytes).filter(|(l, _)| net.is_host(l.from)).map(|(_, b)| b).sum();
            prop_assert_eq!(from_hosts, traffic.bytes());
            prop_assert_eq!(traffic.bytes() + traffic.inside_bytes, sent.iter().map(|s| s.3).sum::<u64>());
        }
    }
}
