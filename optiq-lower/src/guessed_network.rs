//! A network without a description (`OPTIQ_TOPOLOGY=auto`): hosts from processor names, one switch between them, one rate for
//! all links. Decision 027.
//!
//! Which host a rank is on is no guess: ranks whose processors have the same name share one. That one switch joins the hosts is
//! one, and so is the rate, which is measured between a few pairs of hosts ([`RateProbe`], [`link_rate`]). A wrong guess costs
//! speed: planned paths carry every byte to its rank whatever the network is. Where a process manager tells the switches above each
//! host, those join them instead (decision 074).

use crate::constants::{
    PROBE_FIRST_BYTES, PROBE_IN_FLIGHT, PROBE_LARGEST_BYTES, PROBE_REPETITIONS, PROBE_STEADY, SHARED_RATE,
};
use crate::placement::Placement;
use optiq_net::text_file::shorten;
use optiq_net::units::{format_count, format_rate};
use optiq_net::{NetError, Network, NodeId, SwitchPath, SwitchTree};
use optiq_transport::Rank;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// The hosts of the ranks, and what they are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuessedHosts {
    names: Vec<String>,
    host_of: Vec<NodeId>,
    /// Ranks per host, where the user said it.
    per_host: Option<u32>,
    /// Two names that were taken for one host.
    merged: Option<(String, String)>,
    /// The switches above the hosts, if somebody told them.
    tree: Option<SwitchTree>,
    /// Who told more of the hosts than their processors' names, as the end of a sentence.
    told_by: Option<String>,
}

/// A name in small letters, without its domain, and that domain. An IP address has none.
fn parts(name: &str) -> (String, Option<String>) {
    let lower = name.trim().to_lowercase();
    match lower.split_once('.') {
        Some((short, domain)) if !short.is_empty() && lower.parse::<IpAddr>().is_err() => {
            (short.to_owned(), Some(domain.to_owned()))
        }
        _ => (lower, None),
    }
}

/// Whether two names are those of one host: they differ in case only, or one of them has no domain.
pub fn same_host(one: &str, other: &str) -> bool {
    let (one, other) = (parts(one), parts(other));
    one.0 == other.0 && (one.1 == other.1 || one.1.is_none() || other.1.is_none())
}

impl GuessedHosts {
    /// One host for each name in `processors`, which has one for each rank; hosts are numbered by their first rank.
    ///
    /// Names that differ only in case are one host. So are a name with a domain and the same name without one, unless the name
    /// comes with two domains: then the short name may be either machine, and it is a host of its own.
    pub fn from_processors(processors: &[String]) -> Self {
        let mut domains: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for name in processors {
            if let (short, Some(domain)) = parts(name) {
                domains.entry(short).or_default().insert(domain);
            }
        }
        let key = |name: &str| match parts(name) {
            (short, None) => {
                let one = domains.get(&short).filter(|all| all.len() == 1).and_then(|all| all.first().cloned());
                (short, one)
            }
            full => full,
        };
        let (mut names, mut merged): (Vec<String>, _) = (Vec::new(), None);
        let mut known: BTreeMap<(String, Option<String>), NodeId> = BTreeMap::new();
        let mut host_of = Vec::with_capacity(processors.len());
        for name in processors {
            let host = *known.entry(key(name)).or_insert_with(|| {
                names.push(name.clone());
                NodeId(names.len() as u32 - 1)
            });
            let first = &names[host.index()];
            if first != name && merged.is_none() {
                merged = Some((first.clone(), name.clone()));
            }
            host_of.push(host);
        }
        Self { names, host_of, per_host: None, merged, tree: None, told_by: None }
    }

    /// `per_host` ranks to a host, in rank order, as `OPTIQ_PLACEMENT=rank:K` says.
    pub fn in_rank_order(ranks: usize, per_host: u32) -> Self {
        let per_host = per_host.max(1);
        let host_of: Vec<NodeId> = (0..ranks).map(|rank| NodeId((rank / per_host as usize) as u32)).collect();
        let names = (0..ranks.div_ceil(per_host as usize)).map(|host| format!("h{host}")).collect();
        Self { names, host_of, per_host: Some(per_host), merged: None, tree: None, told_by: None }
    }

    /// The same hosts below the switches of `paths`, one for each rank, which `told_by` tells.
    ///
    /// # Errors
    /// A sentence if ranks of one host have paths to two nodes, those of two hosts to one node, or the paths contradict each other.
    pub fn below(mut self, paths: &[SwitchPath], told_by: &str) -> Result<Self, String> {
        let mut of_host: Vec<Option<(usize, &SwitchPath)>> = vec![None; self.len()];
        let mut host_of_node: BTreeMap<&str, NodeId> = BTreeMap::new();
        for (rank, (host, path)) in self.host_of.iter().zip(paths).enumerate() {
            let name = &self.names[host.index()];
            match &mut of_host[host.index()] {
                Some((first, known)) if *known != path => {
                    return Err(format!(
                        "ranks {first} and {rank} are both on \"{}\", but their addresses are those of \"{}\" and \"{}\"",
                        shorten(name),
                        shorten(&known.node),
                        shorten(&path.node)
                    ));
                }
                Some(_) => {}
                empty @ None => *empty = Some((rank, path)),
            }
            let other = *host_of_node.entry(&path.node).or_insert(*host);
            if other != *host {
                return Err(format!(
                    "the address of rank {rank} is that of \"{}\", which \"{}\" and \"{}\" would both be",
                    shorten(&path.node),
                    shorten(&self.names[other.index()]),
                    shorten(name)
                ));
            }
            if self.per_host.is_none() && !same_host(name, &path.node) {
                return Err(format!(
                    "rank {rank} runs on \"{}\", but its address is that of \"{}\"",
                    shorten(name),
                    shorten(&path.node)
                ));
            }
        }
        let paths: Vec<SwitchPath> = of_host.into_iter().flatten().map(|(_, path)| path.clone()).collect();
        if paths.len() != self.len() {
            return Err(format!("{} of {} hosts have an address", paths.len(), self.len()));
        }
        let tree = SwitchTree::new(&paths).map_err(|e| e.to_string())?;
        if self.per_host.is_some() {
            self.names = paths.into_iter().map(|path| path.node).collect();
        }
        self.tree = Some(tree);
        self.told_by = Some(told_by.to_owned());
        Ok(self)
    }

    /// The same hosts, which `told_by` confirms.
    #[must_use]
    pub fn confirmed(mut self, told_by: &str) -> Self {
        self.told_by = Some(told_by.to_owned());
        self
    }

    /// Number of hosts.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no host, as there is no rank.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// One switch with these hosts, whose links carry `rate` bytes per second in each direction; or the switches that were told, where
    /// those above others carry `share` (1: all) of what the hosts below can send.
    ///
    /// # Errors
    /// [`NetError::TooLarge`] beyond `most` hosts and switches.
    pub fn network(&self, rate: u64, share: f64, most: usize) -> Result<Network, NetError> {
        if let Some(tree) = &self.tree {
            // A processor may have the name of a switch.
            let plain = || (0..self.len()).map(|host| format!("host-{host}")).collect::<Vec<_>>();
            let built = tree.network(&self.names, rate, share, most);
            return built.or_else(|_| tree.network(&plain(), rate, share, most));
        }
        let plain = format!("star:{},capacity={}", self.len(), format_rate(rate as f64));
        if self.names.iter().enumerate().all(|(host, name)| *name == format!("h{host}")) {
            return Network::from_spec_within(&plain, most);
        }
        // Names serve messages only, and a processor may have one that no specification can hold.
        let named = format!("{plain},names={}", self.names.join(","));
        Network::from_spec_within(&named, most).or_else(|_| Network::from_spec_within(&plain, most))
    }

    /// The ranks on the hosts of [`GuessedHosts::network`].
    pub fn placement(&self, network: &Network) -> Placement {
        Placement::guessed(network, self.host_of.clone(), self.per_host)
    }

    /// Whether a network that somebody measured before is this machine's: one switch that has all of these hosts.
    pub fn are_on(&self, network: &Network) -> bool {
        let one_switch = self.tree.is_none()
            && network.vertices() == network.hosts() + 1
            && network.links().len() == 2 * network.hosts();
        let all = match self.per_host {
            Some(_) => network.hosts() == self.len(),
            None => self.names.iter().all(|name| network.host(name).is_some_and(|host| network.is_host(host))),
        };
        one_switch && all
    }

    /// The first ranks of pairs of hosts between which rates are measured, one that sends and one that receives: no host is in
    /// two pairs, and the two of a pair are far apart where neighbours have neighbouring ranks, or below different switches.
    pub fn pairs(&self) -> Vec<(Rank, Rank)> {
        let half = self.len() / 2;
        let mut first = vec![Rank(0); self.len()];
        for (rank, host) in self.host_of.iter().enumerate().rev() {
            first[host.index()] = Rank(rank as u32);
        }
        let order = self.tree.as_ref().map_or_else(|| (0..self.len()).collect(), SwitchTree::order);
        (0..half).map(|i| (first[order[i]], first[order[i + half]])).collect()
    }

    /// Whether the switches above the hosts were told.
    pub fn has_switches(&self) -> bool {
        self.tree.is_some()
    }

    /// What they are, and who says so: `one switch with 4 hosts, guessed from processor names`.
    pub fn describe(&self) -> String {
        let names = if self.per_host.is_some() { "OPTIQ_PLACEMENT" } else { "processor names" };
        let hosts = format_count(self.len(), "host", "hosts");
        match (&self.tree, &self.told_by) {
            (Some(tree), Some(who)) => {
                let switches = format_count(tree.switches(), "switch", "switches");
                format!("{switches} with {hosts}, told by {who}")
            }
            (_, Some(who)) => format!("one switch with {hosts}, guessed from {names}, which {who}"),
            (_, None) => format!("one switch with {hosts}, guessed from {names}"),
        }
    }

    /// What the user should know: about the names, and about switches that nobody told.
    pub fn notes(&self) -> Vec<String> {
        let switches = self.tree.as_ref().and_then(SwitchTree::note).map(|note| format!("OPTIQ_TOPOLOGY=auto: {note}"));
        self.note().into_iter().chain(switches).collect()
    }

    /// What the user should know about the names.
    fn note(&self) -> Option<String> {
        let (one, other) = self.merged.as_ref()?;
        Some(format!(
            "OPTIQ_TOPOLOGY=auto: the processors \"{}\" and \"{}\" differ only in case or domain, and are taken for one host; \
             OPTIQ_PLACEMENT=rank:K says otherwise",
            shorten(one),
            shorten(other)
        ))
    }
}

/// What a pair of ranks sends to learn the rate of a link: a stream of messages, of which [`PROBE_IN_FLIGHT`] are on their way at
/// a time, each answered by an empty one. They become longer where they take next to no time.
#[derive(Clone, Debug, Default)]
pub struct RateProbe {
    sent: u64,
    /// Sizes of the messages that were answered, and when, from the beginning.
    answered: Vec<(u64, Duration)>,
}

impl RateProbe {
    /// The size of the next message, if there is to be one, so that all is over in `seconds`; `spent` is the time since
    /// the beginning. The first one is sent in any case.
    pub fn next(&mut self, spent: Duration, seconds: f64) -> Option<u64> {
        let size = match &self.answered[..] {
            [] => (self.sent == 0 || seconds > 0.0).then_some(PROBE_FIRST_BYTES),
            [.., (bytes, last)] => {
                let before = self.answered.iter().rev().nth(1).map_or(Duration::ZERO, |answer| answer.1);
                let took = last.saturating_sub(before).as_secs_f64();
                let longest = self.answered.iter().filter(|answer| answer.0 == PROBE_LARGEST_BYTES).count() as u64;
                let in_time = spent.as_secs_f64() + took * PROBE_IN_FLIGHT as f64 <= seconds;
                let grows = took * PROBE_STEADY < seconds && *bytes < PROBE_LARGEST_BYTES;
                (in_time && longest < PROBE_REPETITIONS).then_some(if grows { 2 * bytes } else { *bytes })
            }
        };
        self.sent += u64::from(size.is_some());
        size
    }

    /// The answer to the oldest message on its way came at this time, counted from the beginning.
    pub fn answered(&mut self, bytes: u64, at: Duration) {
        self.answered.push((bytes, at));
    }

    /// Bytes per second: of the second half of the time, in which what a queue takes at once does not count, and no more than of
    /// all of it, as answers may come late and together. So it may be too low, and others make up for that. 0 if nothing was sent.
    pub fn rate(&self) -> u64 {
        let Some(&(_, last)) = self.answered.last() else { return 0 };
        let middle = self.answered.iter().position(|answer| answer.1 >= last / 2).unwrap_or(0);
        let rate = |answers: &[(u64, Duration)], from: Duration| {
            let bytes: u64 = answers.iter().map(|answer| answer.0).sum();
            bytes as f64 / last.saturating_sub(from).as_secs_f64().max(1e-9)
        };
        let all = rate(&self.answered, Duration::ZERO);
        let second = rate(&self.answered[middle + 1..], self.answered[middle].1);
        let least = if self.answered.len() > middle + 1 { all.min(second) } else { all };
        least.clamp(1.0, 1e15) as u64
    }
}

/// What the rates of the pairs say of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRate {
    /// Of a link, in bytes per second, at three digits.
    pub bytes_per_second: u64,
    /// The mean rate of all pairs at once but the slowest, if that is much less than one pair reaches alone: then they share
    /// links, and one switch it is not. However they share them, the mean is about the same.
    pub shared: Option<u64>,
}

impl LinkRate {
    /// The part of what hosts can send that the links above their switches carry: all, unless the pairs were seen to share links.
    /// In thousandths, so that all ranks have the same number.
    pub fn share_permille(&self) -> u64 {
        self.shared.map_or(1000, |mean| (mean.saturating_mul(1000) / self.bytes_per_second.max(1)).clamp(1, 1000))
    }
}

/// The rate of a link, in whole numbers, so that all ranks find the same: `together` are the rates of all pairs at once, `alone`
/// is that of one pair while no other sends. The larger of `alone` and the third quartile of `together` counts: what disturbs a
/// measurement makes it slower, a slow host spoils some pairs, and links that pairs share spoil `together`.
pub fn link_rate(together: &[u64], alone: u64) -> LinkRate {
    let mut sorted: Vec<u64> = together.iter().copied().filter(|&rate| rate > 0).collect();
    sorted.sort_unstable();
    let quartile = sorted.get(sorted.len() * 3 / 4).copied().filter(|_| sorted.len() > 1);
    let most = alone.max(quartile.unwrap_or(0)).max(1);
    let unit = 10u64.pow(most.ilog10().saturating_sub(2));
    let bytes_per_second = (most + unit / 2) / unit * unit;
    // Without the slowest, which may have a slow host.
    let others = sorted.get(1..).filter(|others| !others.is_empty());
    let mean = others.map(|others| others.iter().sum::<u64>() / others.len() as u64);
    let shared = mean.filter(|&rate| u128::from(rate) * 100 < u128::from(alone) * u128::from(SHARED_RATE));
    LinkRate { bytes_per_second, shared }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::PROBE_SECONDS;
    use optiq_net::Network;
    use std::collections::VecDeque;

    fn hosts(names: &[&str]) -> GuessedHosts {
        GuessedHosts::from_processors(&names.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    fn numbers(hosts: &GuessedHosts) -> Vec<u32> {
        hosts.host_of.iter().map(|host| host.0).collect()
    }

    #[test]
    fn ranks_of_one_name_share_a_host() {
        let two = hosts(&["b", "a", "b", "a"]);
        assert_eq!((two.len(), numbers(&two), two.note()), (2, vec![0, 1, 0, 1], None));
        let network = two.network(12_500_000, 1.0, 100).unwrap();
        assert_eq!(network.spec(), "star:2,capacity=12.5MB/s,names=b,a");
        assert_eq!((network.unit_capacity(), network.host("a")), (12.5e6, Some(NodeId(1))));
        let placement = two.placement(&network);
        assert_eq!(placement.ranks(NodeId(0)), [Rank(0), Rank(2)]);
        assert_eq!(placement.provenance().to_string(), "processor names, of which one host each was made");
        assert!(matches!(two.network(1, 1.0, 2), Err(NetError::TooLarge { .. })));
    }

    #[test]
    fn case_and_domain_make_no_second_host_and_that_is_said() {
        let one = hosts(&["Node1", "node1", "node1.Cluster", "node2"]);
        assert_eq!(numbers(&one), [0, 0, 0, 1]);
        let note = one.note().unwrap();
        assert!(note.contains("\"Node1\" and \"node1\" differ only in case or domain"), "{note}");
        assert_eq!(numbers(&hosts(&["n.a", "n.b", "n", "N"])), [0, 1, 2, 2]);
        assert_eq!(numbers(&hosts(&["n", "n.a", "m.b"])), [0, 0, 1]);
        assert_eq!(numbers(&hosts(&["10.0.0.1", "10.0.0.2"])), [0, 1]);
        assert!(hosts(&["n.a", "n.b"]).note().is_none());
    }

    #[test]
    fn names_that_no_specification_holds_do_no_harm() {
        for strange in ["1234", "a,b", "x=y", "a[1", "s0", "", " ", "é n"] {
            let network = hosts(&[strange, "other"]).network(1, 1.0, 100).unwrap();
            assert_eq!((network.hosts(), network.vertices()), (2, 3), "{strange}");
        }
        assert_eq!(hosts(&["h0", "h1"]).network(1_000_000, 1.0, 9).unwrap().spec(), "star:2,capacity=1MB/s");
    }

    #[test]
    fn ranks_in_order_and_pairs() {
        let spread = GuessedHosts::in_rank_order(7, 2);
        assert_eq!((spread.len(), numbers(&spread)), (4, vec![0, 0, 1, 1, 2, 2, 3]));
        assert_eq!(spread.pairs(), [(Rank(0), Rank(4)), (Rank(2), Rank(6))]);
        assert_eq!(hosts(&["a", "b", "c"]).pairs(), [(Rank(0), Rank(1))]);
        let one = hosts(&["a", "a"]);
        assert!(one.pairs().is_empty());
        assert_eq!(one.describe(), "one switch with 1 host, guessed from processor names");
    }

    fn told(addresses: &[&str]) -> Vec<SwitchPath> {
        addresses.iter().map(|text| SwitchPath::parse(text, "switch.switch.node").unwrap()).collect()
    }

    #[test]
    fn switches_that_were_told_join_the_hosts() {
        let addresses = ["t.a.n1", "t.a.n1", "t.b.n2", "t.a.n3", "t.b.n4"];
        let names = hosts(&["n1", "n1.site", "n2", "N3", "n4"]);
        let below = names.clone().below(&told(&addresses), "Slurm").unwrap();
        assert_eq!(below.describe(), "3 switches with 4 hosts, told by Slurm");
        let network = below.network(1000, 0.5, 100).unwrap();
        assert_eq!((network.hosts(), network.vertices()), (4, 7));
        let distance = |from, to| network.distance(NodeId(from), NodeId(to));
        assert_eq!((distance(0, 2), distance(0, 1)), (2, 4));
        // Rates are measured between hosts below different switches.
        assert_eq!(below.pairs(), [(Rank(0), Rank(2)), (Rank(3), Rank(4))]);
        assert!(!below.are_on(&Network::from_spec("star:4,names=n[1-4]").unwrap()));
        let by_rank = GuessedHosts::in_rank_order(2, 1).below(&told(&["t.a.x", "t.b.y"]), "Slurm").unwrap();
        assert_eq!(by_rank.network(1, 1.0, 9).unwrap().name(NodeId(1)), "y");
        for (names, addresses, expected) in [
            (&["n1", "n1"][..], ["t.a.n1", "t.a.n2"], "ranks 0 and 1 are both on \"n1\""),
            (&["n1", "n2"], ["t.a.n1", "t.a.n1"], "the address of rank 1 is that of \"n1\", which \"n1\" and \"n2\""),
            (&["n1", "n2"], ["t.a.n1", "t.a.n3"], "rank 1 runs on \"n2\", but its address is that of \"n3\""),
            (&["n1", "n2"], ["t.a.n1", "a.t.n2"], "\"t\" is below"),
        ] {
            let error = hosts(names).below(&told(&addresses), "Slurm").unwrap_err();
            assert!(error.contains(expected) || error.contains("\"a\" is below"), "{error}");
        }
        let share = |shared| LinkRate { bytes_per_second: 1000, shared }.share_permille();
        assert_eq!((share(None), share(Some(250)), share(Some(0)), share(Some(5000))), (1000, 250, 1, 1000));
    }

    #[test]
    fn a_measured_network_is_ours_or_of_another_machine() {
        let here = hosts(&["n1", "n2"]);
        let on = |spec: &str| here.are_on(&Network::from_spec(spec).unwrap());
        assert!(on("star:4,names=n[1-4],capacity=2MB/s") && on("star:2,names=n2,n1"));
        assert!(!on("star:4") && !on("torus:2x2,names=n[1-4]") && !on("fattree:2x2:1x2,names=n[1-4]"));
        assert!(GuessedHosts::in_rank_order(4, 1).are_on(&Network::from_spec("star:4,names=n[1-4]").unwrap()));
    }

    /// A stream over a link of `rate` bytes per second behind a queue that takes `burst` bytes at once, with `latency` seconds
    /// for each message.
    fn probe(rate: f64, latency: f64, burst: f64) -> (RateProbe, f64) {
        let (mut probe, mut flying, mut now, mut free) = (RateProbe::default(), VecDeque::new(), 0.0, -burst / rate);
        loop {
            while flying.len() < PROBE_IN_FLIGHT {
                let Some(bytes) = probe.next(Duration::from_secs_f64(now), PROBE_SECONDS) else { break };
                free = f64::max(free, now - burst / rate) + bytes as f64 / rate;
                flying.push_back((bytes, f64::max(free, now) + latency));
            }
            let Some((bytes, at)) = flying.pop_front() else { return (probe, now) };
            now = f64::max(now, at);
            probe.answered(bytes, Duration::from_secs_f64(now));
        }
    }

    #[test]
    fn the_rate_is_found_within_the_time() {
        assert_eq!(RateProbe::default().rate(), 0);
        for (rate, latency, burst) in
            [(12.5e6, 3e-4, 0.0), (12.5e6, 3e-4, 5e4), (1.25e9, 2e-5, 0.0), (1.25e9, 2e-5, 1e6), (25e9, 2e-6, 0.0)]
        {
            let (probe, spent) = probe(rate, latency, burst);
            let found = probe.rate() as f64;
            assert!((found / rate - 1.0).abs() < 0.1, "{rate}, {burst}: {found}");
            assert!(spent <= 1.1 * PROBE_SECONDS, "{rate}: {spent} s");
        }
        let mut slow = RateProbe::default();
        assert_eq!(slow.next(Duration::ZERO, PROBE_SECONDS), Some(PROBE_FIRST_BYTES));
        slow.answered(PROBE_FIRST_BYTES, Duration::from_secs(1));
        assert_eq!((slow.next(Duration::from_secs(1), PROBE_SECONDS), slow.rate()), (None, PROBE_FIRST_BYTES));
        // Answers that come late and together make no link faster.
        let mut late = RateProbe::default();
        for at in [1, 20, 21, 22] {
            late.answered(10_000, Duration::from_millis(at));
        }
        assert_eq!(late.rate(), 40_000 * 1000 / 22);
        // To open a connection, one message is enough.
        let mut opens = RateProbe::default();
        assert_eq!([(); 2].map(|()| opens.next(Duration::ZERO, 0.0)), [Some(PROBE_FIRST_BYTES), None]);
    }

    #[test]
    fn all_pairs_and_one_alone() {
        let plain = |bytes_per_second| LinkRate { bytes_per_second, shared: None };
        assert_eq!(link_rate(&[11_800_000, 11_700_000, 11_900_000], 11_812_345), plain(11_900_000));
        // The pair that was alone has a slow host.
        assert_eq!(link_rate(&[1_000_000, 11_700_000, 11_800_000], 1_000_000), plain(11_800_000));
        // Pairs share links.
        let shared = |mean| LinkRate { bytes_per_second: 12_000_000, shared: Some(mean) };
        assert_eq!(link_rate(&[5_800_000, 6_000_000, 5_900_000, 6_100_000], 12_000_000), shared(6_000_000));
        assert_eq!(link_rate(&[2_800_000, 9_000_000, 2_900_000, 9_100_000], 12_000_000), shared(7_000_000));
        assert_eq!(link_rate(&[6_000_000, 9_000_000, 11_000_000, 11_000_000], 12_000_000), plain(12_000_000));
        assert_eq!(link_rate(&[1_000_000, 11_800_000], 12_000_000), plain(12_000_000));
        // One pair alone says nothing about others, and nothing measured is no division by zero.
        assert_eq!(link_rate(&[10], 100), plain(100));
        assert_eq!((link_rate(&[], 0), link_rate(&[0], 7)), (plain(1), plain(7)));
    }
}
