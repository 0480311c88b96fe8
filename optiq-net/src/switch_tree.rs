//! Networks from the switches above each host, as process managers tell them: Slurm sets `SLURM_TOPOLOGY_ADDR`, such as
//! `s0.s4.tux1`, and `SLURM_TOPOLOGY_ADDR_PATTERN`, such as `switch.switch.node`, for every task.
//!
//! One address is a path from the top to one host; those of all hosts of a job give the part of the tree that the job uses. A
//! level with several switches is a list in Slurm's grammar (`s[0-1]`), each of them joined to all of the levels next to it; a level
//! without any is empty (`s0..tux1`). Nothing is said of rates or of numbers of cables: every host gets the same rate, and the links
//! above a switch carry together what its hosts of the job do, or a given share of it.

use crate::builder::{End, NetworkBuilder};
use crate::error::NetError;
use crate::geometry::Geometry;
use crate::hostlist;
use crate::network::Network;
use crate::routing::Routing;
use crate::routing::equal_cost::EqualCost;
use crate::text_file::shorten;
use std::collections::BTreeMap;

/// The most switches of one level of an address.
const MOST_IN_A_LEVEL: usize = 4096;

/// What joins switches of which no address says it.
const ABOVE_ALL: &str = "above-all";

/// The switches above a host, from the top down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchPath {
    /// Switches of each level, the top first; no level is empty.
    pub levels: Vec<Vec<String>>,
    /// The host.
    pub node: String,
}

impl SwitchPath {
    /// Reads an address (`s0.s[4-5].tux1`) by its pattern (`switch.switch.node`). The node's name may hold dots.
    ///
    /// ```
    /// use optiq_net::SwitchPath;
    ///
    /// let path = SwitchPath::parse("s0.s[4-5].tux1", "switch.switch.node")?;
    /// assert_eq!((path.levels[1].join(" "), path.node.as_str()), ("s4 s5".to_owned(), "tux1"));
    /// # Ok::<(), optiq_net::NetError>(())
    /// ```
    ///
    /// # Errors
    /// [`NetError::Spec`] for a pattern of other words, or an address of fewer parts than its pattern has.
    pub fn parse(address: &str, pattern: &str) -> Result<Self, NetError> {
        let bad = |why: String| NetError::Spec(format!("address \"{}\": {why}", shorten(address)));
        let kinds: Vec<&str> = pattern.trim().split('.').collect();
        let (last, above) = kinds.split_last().unwrap_or((&"", &[]));
        if *last != "node" || above.iter().any(|kind| !["switch", "block"].contains(kind)) {
            let pattern = shorten(pattern);
            return Err(bad(format!("its pattern is \"{pattern}\"; one such as switch.switch.node is expected")));
        }
        let parts: Vec<&str> = address.trim().splitn(kinds.len(), '.').collect();
        if parts.len() < kinds.len() {
            let (parts, expected) = (parts.len(), kinds.len());
            return Err(bad(format!("it has {parts} parts; {expected} are expected by its pattern \"{pattern}\"")));
        }
        let (node, switches) = parts.split_last().unwrap_or((&"", &[]));
        if node.is_empty() {
            return Err(bad("it does not end in the name of a node".into()));
        }
        let present = switches.iter().filter(|part| !part.is_empty());
        let levels = present.map(|part| hostlist::expand(part, MOST_IN_A_LEVEL).map_err(bad));
        Ok(Self { levels: levels.collect::<Result<_, _>>()?, node: (*node).to_owned() })
    }
}

/// The switches above the hosts of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchTree {
    /// Names of switches; those above a switch come before it.
    switches: Vec<String>,
    /// Per switch, those above it.
    above: Vec<Vec<usize>>,
    /// Per host, the switches that it is joined to.
    leaves: Vec<Vec<usize>>,
    /// What was assumed.
    note: Option<String>,
}

/// Switches in words.
fn listed(names: &[&str]) -> String {
    match names {
        [] => "no switch".into(),
        _ => format!("\"{}\"", shorten(&names.join(","))),
    }
}

impl SwitchTree {
    /// The switches of `paths`, which has one path for each host; top switches that join nothing are left out. Where no address says
    /// what joins two parts, one further switch does, and [`SwitchTree::note`] says so.
    ///
    /// # Errors
    /// [`NetError::Spec`] if a host has no switch, or if two addresses contradict each other about what is above a switch.
    pub fn new(paths: &[SwitchPath]) -> Result<Self, NetError> {
        let bad = |why: String| Err(NetError::Spec(why));
        let mut tree = Self { switches: Vec::new(), above: Vec::new(), leaves: Vec::new(), note: None };
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        // The host whose address named a switch first.
        let mut first: Vec<&str> = Vec::new();
        for path in paths {
            let mut above: Vec<usize> = Vec::new();
            for name in path.levels.iter().flatten() {
                if path.levels.iter().flatten().filter(|other| *other == name).count() > 1 {
                    return bad(format!("switch \"{}\" is twice in the address of \"{}\"", shorten(name), path.node));
                }
            }
            for level in &path.levels {
                let mut these = Vec::with_capacity(level.len());
                for name in level {
                    let number = *known.entry(name).or_insert_with(|| {
                        tree.switches.push(name.clone());
                        tree.above.push(above.clone());
                        first.push(&path.node);
                        tree.switches.len() - 1
                    });
                    if tree.above[number] != above {
                        let names = |of: &[usize]| listed(&of.iter().map(|&s| &*tree.switches[s]).collect::<Vec<_>>());
                        let (one, other) = (names(&tree.above[number]), names(&above));
                        return bad(format!(
                            "switch \"{}\" is below {one} in the address of \"{}\", and below {other} in that of \"{}\"",
                            shorten(name),
                            first[number],
                            path.node
                        ));
                    }
                    these.push(number);
                }
                these.sort_unstable();
                above = these;
            }
            if above.is_empty() {
                return bad(format!("the address of \"{}\" has no switch", shorten(&path.node)));
            }
            tree.leaves.push(above);
        }
        tree.join_parts();
        tree.leave_out_idle_tops();
        Ok(tree)
    }

    /// Joins parts that no address joins.
    fn join_parts(&mut self) {
        let mut part: Vec<usize> = (0..self.switches.len()).collect();
        fn root(part: &[usize], mut of: usize) -> usize {
            while part[of] != of {
                of = part[of];
            }
            of
        }
        let joined = (0..self.switches.len()).map(|s| [&self.above[s][..], &[s]].concat());
        for group in joined.chain(self.leaves.iter().cloned()).filter(|group| group.len() > 1) {
            for pair in group.windows(2) {
                let (one, other) = (root(&part, pair[0]), root(&part, pair[1]));
                part[one.max(other)] = one.min(other);
            }
        }
        let parts = (0..part.len()).filter(|&s| part[s] == s).count();
        if parts < 2 {
            return;
        }
        self.note = Some(format!(
            "nothing is said of what joins the {parts} parts that the switches of the job's addresses form; one switch, \
             \"{ABOVE_ALL}\", is taken to"
        ));
        // It comes first, as what is above a switch does.
        self.switches.insert(0, ABOVE_ALL.into());
        self.above.iter_mut().chain(&mut self.leaves).flatten().for_each(|s| *s += 1);
        self.above.iter_mut().filter(|above| above.is_empty()).for_each(|above| above.push(0));
        self.above.insert(0, Vec::new());
    }

    /// Leaves out top switches that only one other is joined to, which no packet of the job passes.
    fn leave_out_idle_tops(&mut self) {
        let mut kept = vec![true; self.switches.len()];
        for top in 0..self.switches.len() {
            let below: Vec<usize> = (top + 1..kept.len()).filter(|&s| self.above[s].contains(&top)).collect();
            let has_hosts = self.leaves.iter().any(|leaves| leaves.contains(&top));
            let [only] = below[..] else { continue };
            if self.above[top].is_empty() && !has_hosts && self.above[only].len() == 1 {
                kept[top] = false;
                self.above[only].clear();
            }
        }
        let numbers: Vec<usize> =
            kept.iter().scan(0, |next, &kept| Some(std::mem::replace(next, *next + usize::from(kept)))).collect();
        self.above.iter_mut().chain(&mut self.leaves).flatten().for_each(|s| *s = numbers[*s]);
        let mut flags = kept.iter();
        self.switches.retain(|_| flags.next() == Some(&true));
        let mut flags = kept.iter();
        self.above.retain(|_| flags.next() == Some(&true));
    }

    /// Number of switches.
    pub fn switches(&self) -> usize {
        self.switches.len()
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.leaves.len()
    }

    /// What was assumed where the addresses say nothing, a sentence.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The hosts, so that those below one switch stand together.
    pub fn order(&self) -> Vec<usize> {
        let path = |host: &usize| {
            let mut path = vec![self.leaves[*host].first().copied().unwrap_or(0)];
            while let Some(&above) = path.last().and_then(|&s| self.above[s].first()) {
                path.push(above);
            }
            path.reverse();
            path
        };
        let mut order: Vec<usize> = (0..self.leaves.len()).collect();
        order.sort_by_cached_key(|host| (path(host), *host));
        order
    }

    /// The network of these hosts, called `names`: each can send and receive `rate` bytes per second, and the links above a switch
    /// carry together `share` (1: all) of what its hosts can. Between equally short paths d-mod-k chooses.
    ///
    /// # Errors
    /// [`NetError::TooLarge`] beyond `most` hosts and switches; [`NetError::Invalid`] for names that are given twice or missing.
    pub fn network(&self, names: &[String], rate: u64, share: f64, most: usize) -> Result<Network, NetError> {
        let (hosts, switches) = (self.hosts(), self.switches());
        let spec = format!("tree of {switches} switches with {hosts} hosts");
        if hosts + switches > most {
            return Err(NetError::TooLarge { spec, vertices: hosts + switches, most });
        }
        let mut builder = NetworkBuilder::new();
        let hosts: Vec<End> = names.iter().take(hosts).map(|name| builder.host(name)).collect();
        let switches: Vec<End> = self.switches.iter().map(|name| builder.switch(name)).collect();
        // The hosts' worth of traffic that goes up through each switch.
        let mut through = vec![0.0; switches.len()];
        for (host, leaves) in hosts.iter().zip(&self.leaves) {
            let part = 1.0 / leaves.len() as f64;
            for &leaf in leaves {
                builder.duplex(*host, switches[leaf], 1, rate as f64 * part);
                through[leaf] += part;
            }
        }
        // What is above a switch has a lower number.
        for switch in (0..switches.len()).rev() {
            let part = through[switch] / self.above[switch].len().max(1) as f64;
            for &above in &self.above[switch] {
                let lanes = part.round().max(1.0);
                builder.duplex(switches[switch], switches[above], lanes as u32, rate as f64 * share * part / lanes);
                through[above] += part;
            }
        }
        builder.build(spec, Geometry::General, Routing::EqualCost(EqualCost::DModK))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::ids::NodeId;
    use proptest::prelude::*;

    fn paths(addresses: &[&str]) -> Vec<SwitchPath> {
        let pattern = |address: &str| "switch.".repeat(address.matches('.').count()) + "node";
        addresses.iter().map(|address| SwitchPath::parse(address, &pattern(address)).unwrap()).collect()
    }

    fn network(addresses: &[&str], share: f64) -> Network {
        let paths = paths(addresses);
        let names: Vec<String> = paths.iter().map(|path| path.node.clone()).collect();
        SwitchTree::new(&paths).unwrap().network(&names, 1000, share, 100).unwrap()
    }

    fn distance(net: &Network, from: &str, to: &str) -> u32 {
        net.distance(net.resolve(from).unwrap(), net.resolve(to).unwrap())
    }

    /// Bytes per second and lanes.
    fn link(net: &Network, from: &str, to: &str) -> (f64, u32) {
        let (from, to) = (net.resolve(from).unwrap(), net.resolve(to).unwrap());
        let link = net.links().iter().find(|l| (l.from, l.to) == (from, to)).unwrap();
        (link.capacity, link.lanes)
    }

    #[test]
    fn hosts_of_one_leaf_are_joined_by_it() {
        let net = network(&["s0.s1.n1", "s0.s2.n2", "s0.s1.n3", "s0.s2.n4"], 1.0);
        assert_eq!((net.hosts(), net.vertices(), net.name(NodeId(1))), (4, 7, "n2"));
        assert_eq!((distance(&net, "n1", "n3"), distance(&net, "n1", "n2")), (2, 4));
        assert_eq!((link(&net, "n1", "s1"), link(&net, "s1", "s0")), ((1000.0, 1), (2000.0, 2)));
        let tapered = network(&["s0.s1.n1", "s0.s2.n2", "s0.s1.n3", "s0.s2.n4"], 0.25);
        assert_eq!((link(&tapered, "n1", "s1"), link(&tapered, "s0", "s1")), ((1000.0, 1), (500.0, 2)));
    }

    #[test]
    fn levels_depths_and_several_switches_of_a_level() {
        // n4 hangs one level higher than the others, Slurm's way to write it and another.
        let net = network(&["r.a.b.n1", "r.a.b.n2", "r.a.c.n3", "r...n4"], 1.0);
        assert_eq!((net.vertices(), distance(&net, "n1", "n4"), distance(&net, "n1", "n3")), (8, 4, 4));
        assert_eq!((link(&net, "a", "r").0, link(&net, "b", "a").0), (3000.0, 2000.0));
        assert_eq!(network(&["r.a.b.n1", "r.n4"], 1.0).vertices(), 5);
        // Two spines, a host with two leaves.
        let net = network(&["s[1-2].a.n1", "s[1-2].a.n2", "s[1-2].b[1-2].n3"], 1.0);
        assert_eq!(
            (link(&net, "a", "s1"), link(&net, "n3", "b1"), link(&net, "b1", "s2")),
            ((1000.0, 1), (500.0, 1), (250.0, 1))
        );
    }

    #[test]
    fn tops_that_join_nothing_are_left_out_and_parts_are_joined() {
        let one = SwitchTree::new(&paths(&["r.a.s.n1", "r.a.s.n2"])).unwrap();
        assert_eq!((one.switches(), one.note()), (1, None));
        let parts = SwitchTree::new(&paths(&["a.n1", "b.n2", "a.n3"])).unwrap();
        assert!(parts.note().unwrap().contains("joins the 2 parts"), "{:?}", parts.note());
        assert_eq!((parts.switches(), parts.order()), (3, vec![0, 2, 1]));
        let net = network(&["a.n1", "b.n2", "a.n3"], 1.0);
        assert_eq!((distance(&net, "n1", "n2"), distance(&net, "n1", "n3")), (4, 2));
    }

    #[test]
    fn contradictions_and_malformed_addresses_are_named() {
        for (addresses, expected) in [
            (
                &["s1.s2.n1", "s3.s2.n2"][..],
                "\"s2\" is below \"s1\" in the address of \"n1\", and below \"s3\" in that of \"n2\"",
            ),
            (&["s1.s2.n1", "s2.n2"], "below \"s1\" in the address of \"n1\", and below no switch in that of \"n2\""),
            (&["s1.s2.n1", "s2.s1.n2"], "\"s2\" is below \"s1\""),
            (&["s1.s1.n1"], "\"s1\" is twice in the address of \"n1\""),
            (&["n1"], "the address of \"n1\" has no switch"),
        ] {
            let error = SwitchTree::new(&paths(addresses)).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{addresses:?}: {error}");
        }
        for (address, pattern, expected) in [
            ("s1.n1", "switch.switch.node", "it has 2 parts; 3 are expected by its pattern"),
            ("s1.n1", "", "its pattern is \"\"; one such as switch.switch.node is expected"),
            ("s1.n1", "switch.rack", "its pattern is \"switch.rack\""),
            ("s1.n1", "node.node", "its pattern is \"node.node\""),
            ("s1.", "switch.node", "does not end in the name of a node"),
            ("s[1-.n1", "switch.node", "ascending"),
            ("s[1-99999].n1", "switch.node", "more than 4096 names"),
        ] {
            let error = SwitchPath::parse(address, pattern).unwrap_err().to_string();
            assert!(error.starts_with("address \"") && error.contains(expected), "{address} {pattern}: {error}");
        }
        assert_eq!(SwitchPath::parse("s1.n1.site.gov", "switch.node").unwrap().node, "n1.site.gov");
        let tree = SwitchTree::new(&paths(&["s.n1", "s.n2"])).unwrap();
        let names = ["n1".to_owned(), "n2".to_owned()];
        assert!(matches!(tree.network(&names, 1, 1.0, 2), Err(NetError::TooLarge { vertices: 3, .. })));
        assert!(tree.network(&["s".to_owned(), "n2".to_owned()], 1, 1.0, 9).is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_told_gives_a_connected_network_or_a_sentence(
            told in proptest::collection::vec("([ab]\\.){0,1}([cd]|c\\[1-2\\]|)\\.[ef]\\.", 1..6),
        ) {
            let addresses: Vec<String> = told.iter().enumerate().map(|(i, above)| format!("{above}n{i}")).collect();
            let paths = paths(&addresses.iter().map(String::as_str).collect::<Vec<_>>());
            if let Ok(tree) = SwitchTree::new(&paths) {
                let names: Vec<String> = paths.iter().map(|path| path.node.clone()).collect();
                let net = tree.network(&names, 7, 0.5, 1000).unwrap();
                let mut order = tree.order();
                order.sort_unstable();
                prop_assert_eq!(order, (0..names.len()).collect::<Vec<_>>());
                for from in 0..net.hosts() as u32 {
                    for to in 0..net.hosts() as u32 {
                        let mut route = Vec::new();
                        prop_assert!(net.route(NodeId(from), NodeId(to), &mut route).is_ok());
                    }
                }
            }
        }
    }
}
