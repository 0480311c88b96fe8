//! I/O hosts: those through which a network's other hosts reach the storage (bridge nodes on Blue Gene/Q).
//!
//! ```text
//! io=0+10                        # hosts 0 and 10, by number or name
//! io=0@2GB/s+10@2GB/s            # with what their links to the storage carry
//! io=none                        # none, where a preset has some
//! ```
//!
//! On Blue Gene/Q "every 128 compute nodes (forming a pset) has two bridge nodes", each with an eleventh link of 2 GB/s to
//! an I/O node (thesis 6.1), and "each compute node has one default bridge node" (6.5.3). Where in the block they are, and
//! which nodes are whose, is not said; hosts 0 and 64 of each block of 128 consecutive numbers are taken.
//!
//! # Defaults
//!
//! A host's default is the nearest I/O host. Hosts that are as near to several go where fewer hosts are: first all hosts that
//! have no choice, then the others, those of the lowest number first, each to the one with the fewest by then, of these the
//! first. So ties between two I/O hosts are broken round robin, and on all `bgq:` presets each bridge node has 64 of the 128
//! nodes. The order in which hosts are looked at is that of their numbers, so all ranks find the same.
//!
//! I/O hosts are no part of [`Network::fingerprint`]: plans do not depend on them.

use crate::error::NetError;
use crate::ids::NodeId;
use crate::io_list::{IoHost, IoHosts};
use crate::network::Network;
use crate::text_file::shorten;
use crate::units::{format_rate, parse_rate};
use std::sync::OnceLock;

/// Hosts of a Blue Gene/Q block that shares its bridge nodes, and where in it they are (thesis 6.1).
const BGQ_BLOCK: u32 = 128;
const BGQ_BRIDGES: [u32; 2] = [0, 64];
/// Bytes per second from a bridge node to its I/O node (thesis 6.1).
const BGQ_STORAGE: f64 = 2e9;

/// Pairs of a host and an I/O host that is one of several nearest ones, at most; further ones are not considered, but for
/// the first one of each.
const MOST_CHOICES: usize = 1 << 25;

impl Network {
    /// The I/O hosts, ascending; none unless the specification or file names some, or is a Blue Gene/Q preset.
    pub fn io_hosts(&self) -> &[IoHost] {
        &self.io.hosts
    }

    /// The I/O host that `host` uses if no option balances what they get: the nearest, on Blue Gene/Q the nearest of the two in
    /// its block of 128. Hosts that are as near to several follow those that are not, in the order of their numbers, and get
    /// the one with the fewest hosts by then, of these the first. `None` without I/O hosts. All are found when the first one
    /// is asked for, and kept.
    ///
    /// ```
    /// use optiq_net::{Network, NodeId};
    ///
    /// let ring = Network::from_spec("torus:4,io=0+2")?;
    /// let defaults: Vec<u32> = (0..4).filter_map(|host| ring.default_io_host(NodeId(host))).map(|io| io.0).collect();
    /// assert_eq!(defaults, [0, 0, 2, 2]);
    /// # Ok::<(), optiq_net::NetError>(())
    /// ```
    pub fn default_io_host(&self, host: NodeId) -> Option<NodeId> {
        if self.io.hosts.is_empty() {
            return None;
        }
        self.derived.default_io.get_or_init(|| self.default_io_hosts()).get(host.index()).copied()
    }

    /// Of each host, its nearest I/O hosts, ascending: those among which [`Network::default_io_host`] chooses. On Blue Gene/Q
    /// they are of the host's block of 128. Empty lists without I/O hosts.
    ///
    /// ```
    /// use optiq_net::{Network, NodeId};
    ///
    /// let ring = Network::from_spec("torus:4,io=0+2")?;
    /// assert_eq!(ring.nearest_io_hosts()[1], [NodeId(0), NodeId(2)]);
    /// # Ok::<(), optiq_net::NetError>(())
    /// ```
    pub fn nearest_io_hosts(&self) -> Vec<Vec<NodeId>> {
        let hosts = |list: Vec<u32>| list.into_iter().map(|number| self.io.hosts[number as usize].host).collect();
        self.nearest_io_numbers().into_iter().map(hosts).collect()
    }

    /// Of each host, the numbers of its nearest I/O hosts among the I/O hosts, ascending.
    fn nearest_io_numbers(&self) -> Vec<Vec<u32>> {
        // Per host: how far the nearest ones are, and their numbers.
        let mut nearest = vec![(u32::MAX, Vec::new()); self.hosts];
        let mut pairs = 0;
        for (number, io) in self.io.hosts.iter().enumerate() {
            let (range, distances) = match self.io.block {
                Some(size) => {
                    let first = io.host.0 / size * size;
                    let range = first as usize..((first + size) as usize).min(self.hosts);
                    (range.clone(), range.map(|host| self.distance(NodeId(host as u32), io.host)).collect())
                }
                None => (0..self.hosts, self.distances_to(io.host)),
            };
            for ((least, list), distance) in nearest[range].iter_mut().zip(distances) {
                if distance < *least || list.is_empty() {
                    pairs -= list.len();
                    (*least, *list) = (distance, Vec::new());
                } else if distance > *least || pairs >= MOST_CHOICES {
                    continue;
                }
                list.push(number as u32);
                pairs += 1;
            }
        }
        nearest.into_iter().map(|(_, list)| list).collect()
    }

    /// The default of each host, see the top of the file.
    fn default_io_hosts(&self) -> Vec<NodeId> {
        let nearest = self.nearest_io_numbers();
        let mut counts = vec![0u32; self.io.hosts.len()];
        nearest.iter().filter(|list| list.len() == 1).for_each(|list| counts[list[0] as usize] += 1);
        let choose = |list: &Vec<u32>| {
            let fewest = list.iter().copied().min_by_key(|&io| counts[io as usize]).unwrap_or(0);
            counts[fewest as usize] += u32::from(list.len() > 1);
            self.io.hosts[fewest as usize].host
        };
        nearest.iter().map(choose).collect()
    }

    /// The same network with these I/O hosts and no others. [`Network::spec`] says so afterwards, unless it is a file.
    ///
    /// ```
    /// use optiq_net::{IoHost, Network, NodeId};
    ///
    /// let torus = Network::from_spec("torus:4x4")?.with_io_hosts(&[IoHost { host: NodeId(10), storage: Some(2e9) }])?;
    /// assert_eq!(torus.spec(), "torus:4x4,io=10@2GB/s");
    /// # Ok::<(), optiq_net::NetError>(())
    /// ```
    ///
    /// # Errors
    /// [`NetError::Invalid`] for a host that does not exist or is given twice, and for a capacity that is not above zero.
    pub fn with_io_hosts(mut self, hosts: &[IoHost]) -> Result<Self, NetError> {
        let mut hosts = hosts.to_vec();
        hosts.sort_by_key(|io| io.host);
        if let Some(io) = hosts.iter().find(|io| io.host.index() >= self.hosts) {
            let most = self.hosts - 1;
            return Err(NetError::Invalid(format!("I/O host {} is not there; hosts are 0 to {most}", io.host.0)));
        }
        if let Some(pair) = hosts.windows(2).find(|pair| pair[0].host == pair[1].host) {
            return Err(NetError::Invalid(format!("I/O host {} is given twice", self.name(pair[0].host))));
        }
        if let Some(io) = hosts.iter().find(|io| io.storage.is_some_and(|s| !(s.is_finite() && s > 0.0))) {
            let name = self.name(io.host);
            return Err(NetError::Invalid(format!("I/O host {name} has a storage link without a capacity above zero")));
        }
        let io = IoHosts { hosts, block: None };
        // A preset has its own unless told otherwise.
        if !self.spec.starts_with("file:") && self.io != io {
            let (base, _) = split(&self.spec).unwrap_or((self.spec.clone(), None));
            let list = if io.hosts.is_empty() { "none".into() } else { written(&io.hosts) };
            self.spec =
                if io.hosts.is_empty() && !base.starts_with("bgq:") { base } else { format!("{base},io={list}") };
        }
        self.io = io;
        self.derived.default_io = OnceLock::new();
        Ok(self)
    }

    /// I/O hosts from a list as in `io=`: numbers or names, each with or without `@RATE`, joined by `+` or commas.
    ///
    /// # Errors
    /// [`NetError::Unknown`] for a host that does not exist, [`NetError::Invalid`] for anything else that is not such a list.
    pub fn parse_io_hosts(&self, text: &str) -> Result<Vec<IoHost>, NetError> {
        let invalid = |why: String| NetError::Invalid(format!("I/O hosts \"{}\": {why}", shorten(text)));
        if text.trim() == "none" {
            return Ok(Vec::new());
        }
        let item = |item: &str| {
            let (name, rate) = match item.split_once('@') {
                Some((name, rate)) => (name, Some(rate)),
                None => (item, None),
            };
            let host = match name.trim() {
                "" => return Err(invalid("a host is missing; a list such as 0+10 or h0@2GB/s is expected".into())),
                name => self.resolve(name).map_err(|e| invalid(e.to_string()))?,
            };
            if !self.is_host(host) {
                return Err(invalid(format!("{} is a switch, not a host", self.name(host))));
            }
            let storage = rate.map(|r| parse_rate(r.trim()).map_err(|e| invalid(e.to_string()))).transpose()?;
            Ok(IoHost { host, storage })
        };
        text.split(['+', ',']).map(item).collect()
    }

    /// With the bridge nodes of Blue Gene/Q.
    pub(crate) fn with_bridges(mut self) -> Self {
        let hosts = self.hosts as u32;
        let blocks = (0..hosts).step_by(BGQ_BLOCK as usize);
        let bridges = blocks.flat_map(|first| BGQ_BRIDGES.map(|b| NodeId(first + b))).filter(|b| b.0 < hosts);
        let hosts = bridges.map(|host| IoHost { host, storage: Some(BGQ_STORAGE) }).collect();
        self.io = IoHosts { hosts, block: Some(BGQ_BLOCK) };
        self.derived.default_io = OnceLock::new();
        self
    }
}

fn written(hosts: &[IoHost]) -> String {
    let one = |io: &IoHost| match io.storage {
        Some(rate) => format!("{}@{}", io.host.0, format_rate(rate)),
        None => io.host.0.to_string(),
    };
    hosts.iter().map(one).collect::<Vec<_>>().join("+")
}

/// A specification without its `io=` option, and that option's value. The error is the rest of a sentence.
pub(crate) fn split(spec: &str) -> Result<(String, Option<String>), String> {
    // A file's path is all that follows, and may contain anything.
    if spec.trim_start().starts_with("file:") {
        return Ok((spec.to_string(), None));
    }
    let (mut rest, mut found) = (Vec::new(), None);
    for (number, part) in spec.split(',').enumerate() {
        let value = part.trim().strip_prefix("io").and_then(|p| p.trim_start().strip_prefix('='));
        match value.filter(|_| number > 0) {
            None => rest.push(part),
            Some(_) if found.is_some() => return Err("option io is given twice".into()),
            Some(value) => found = Some(value.trim().to_string()),
        }
    }
    Ok((rest.join(","), found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::mutations;
    use proptest::prelude::*;

    fn hosts(net: &Network) -> Vec<(u32, Option<f64>)> {
        net.io_hosts().iter().map(|io| (io.host.0, io.storage)).collect()
    }

    #[test]
    fn any_specification_can_mark_hosts() {
        let cases = [
            ("torus:4x4,io=0+10", "torus:4x4,io=0+10", vec![(0, None), (10, None)]),
            (
                "torus:4x4 , io = h10@2GB/s + 0,routing=longest",
                "torus:4x4,routing=longest,io=0+10@2GB/s",
                vec![(0, None), (10, Some(2e9))],
            ),
            ("star:4,io=3@100Mbit/s", "star:4,io=3@12.5MB/s", vec![(3, Some(12.5e6))]),
            ("fattree:2x2:1x2,io=1", "fattree:2x2:1x2,io=1", vec![(1, None)]),
            ("torus:4x4,io=none", "torus:4x4", vec![]),
            ("bgq:512,io=none", "bgq:512,io=none", vec![]),
            ("bgq:512,io=7", "bgq:512,io=7", vec![(7, None)]),
        ];
        for (text, canonical, expected) in cases {
            let net = Network::from_spec(text).unwrap();
            assert_eq!((net.spec(), hosts(&net)), (canonical, expected), "{text}");
            let again = Network::from_spec(canonical).unwrap();
            assert_eq!((again.spec(), hosts(&again)), (canonical, hosts(&net)));
            let without = Network::from_spec(&split(text).unwrap().0).unwrap();
            assert_eq!(net.fingerprint(), without.fingerprint());
        }
    }

    #[test]
    fn blue_gene_has_two_per_128() {
        let net = Network::from_spec("bgq:512").unwrap();
        assert_eq!(net.spec(), "bgq:512");
        let expected: Vec<_> = (0..8).map(|i| (64 * i, Some(2e9))).collect();
        assert_eq!(hosts(&net), expected);
        for host in (0..512).map(NodeId) {
            let io = net.default_io_host(host).unwrap();
            let others = [0, 64].map(|b| NodeId(host.0 / 128 * 128 + b));
            assert!(others.contains(&io));
            assert!(others.iter().all(|&o| net.distance(host, io) <= net.distance(host, o)));
        }
        // Half of the block for each, on every machine: with 512 and 2,048 nodes half of the hosts are between the two.
        for spec in ["bgq:512", "bgq:1024", "bgq:2048", "bgq:4096"] {
            let net = Network::from_spec(spec).unwrap();
            let mut count = vec![0; net.hosts()];
            defaults(&net).into_iter().for_each(|io| count[io as usize] += 1);
            assert!(net.io_hosts().iter().all(|io| count[io.host.index()] == 64), "{spec}: {count:?}");
        }
    }

    fn defaults(net: &Network) -> Vec<u32> {
        (0..net.hosts() as u32).filter_map(|h| net.default_io_host(NodeId(h))).map(|io| io.0).collect()
    }

    #[test]
    fn the_default_is_the_nearest_and_ties_are_broken_round_robin() {
        let net = Network::from_spec("torus:4x4,io=0+10").unwrap();
        // (0,0) and (2,2): five hosts are nearer to either; the six in between, 2, 5, 7, 8, 13 and 15, alternate.
        assert_eq!(defaults(&net), [0, 0, 0, 0, 0, 10, 10, 0, 10, 10, 10, 10, 0, 0, 10, 10]);
        assert_eq!(Network::from_spec("torus:4").unwrap().default_io_host(NodeId(1)), None);
        // On a star all others are as near to all of them, and these have themselves by then.
        let net = Network::from_spec("star:8,io=5+1+6").unwrap();
        assert_eq!(defaults(&net), [1, 1, 5, 6, 1, 5, 6, 5]);
        // Who is nearer to one does not go elsewhere for the balance: 0 to 3 are next to 0, 4 is between the two.
        assert_eq!(defaults(&Network::from_spec("mesh:9,io=0+8").unwrap()), [0, 0, 0, 0, 0, 8, 8, 8, 8]);
        assert_eq!(defaults(&Network::from_spec("mesh:5,io=0+2").unwrap()), [0, 0, 2, 2, 2]);
        // Others are marked afterwards.
        let other = net.with_io_hosts(&[IoHost { host: NodeId(2), storage: None }]).unwrap();
        assert_eq!(defaults(&other), [2; 8]);
    }

    #[test]
    fn refusals_say_what_was_expected() {
        for (text, expected) in [
            ("torus:4x4,io=16", "16"),
            ("torus:4x4,io=", "a host is missing"),
            ("torus:4x4,io=0+", "a host is missing"),
            ("torus:4x4,io=0+0", "given twice"),
            ("torus:4x4,io=0,io=1", "option io is given twice"),
            ("torus:4x4,io=0@fast", "decimal number"),
            ("torus:4x4,io=0@0", "above zero"),
            ("star:4,io=s0", "is a switch"),
            ("torus:4x4,io=unknown", "unknown"),
        ] {
            let error = Network::from_spec(text).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn mutated_lists_do_not_panic(
            text in mutations(vec!["torus:4x4,io=0@2GB/s+10@1GB/s", "star:9,io=h1+h2", "mesh:3x3,io=none"]),
        ) {
            if let Ok(net) = Network::from_spec(&text)
                && net.hosts() < 2000
            {
                let again = Network::from_spec(net.spec()).unwrap();
                prop_assert_eq!(again.io_hosts(), net.io_hosts());
                prop_assert_eq!(again.spec(), net.spec());
            }
        }
    }
}
