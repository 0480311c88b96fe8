//! A network that nobody described (`OPTIQ_TOPOLOGY=auto`): hosts from processor names, one switch between them, one rate for
//! all links. Decision 027.
//!
//! Which host a rank is on is no guess: ranks whose processors have the same name share one. That one switch joins the hosts is
//! one, and so is the rate, which is measured between a few pairs of hosts ([`RateProbe`], [`link_rate`]). A wrong guess costs
//! speed: planned paths carry every byte to its rank whatever the network is.

use crate::constants::{PROBE_FIRST_BYTES, PROBE_LARGEST_BYTES, PROBE_REPETITIONS, PROBE_SECONDS, SHARED_RATE};
use crate::placement::Placement;
use optiq_net::text_file::shorten;
use optiq_net::units::format_rate;
use optiq_net::{NetError, Network, NodeId};
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

impl GuessedHosts {
    /// One host for each name in `processors`, which has one for each rank; hosts are numbered by their first rank.
    ///
    /// Names that differ only in case are one host. So are a name with a domain and the same name without one, unless the name
    /// comes with two domains: then nobody knows which of the two machines the short name is, and it is a host of its own.
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
        Self { names, host_of, per_host: None, merged }
    }

    /// `per_host` ranks to a host, in rank order, as `OPTIQ_PLACEMENT=rank:K` says.
    pub fn in_rank_order(ranks: usize, per_host: u32) -> Self {
        let per_host = per_host.max(1);
        let host_of: Vec<NodeId> = (0..ranks).map(|rank| NodeId((rank / per_host as usize) as u32)).collect();
        let names = (0..ranks.div_ceil(per_host as usize)).map(|host| format!("h{host}")).collect();
        Self { names, host_of, per_host: Some(per_host), merged: None }
    }

    /// Number of hosts.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no host, as there is no rank.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// One switch with these hosts, whose links carry `rate` bytes per second in each direction.
    ///
    /// # Errors
    /// [`NetError::TooLarge`] beyond `most` hosts and switches.
    pub fn network(&self, rate: u64, most: usize) -> Result<Network, NetError> {
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
        let one_switch = network.vertices() == network.hosts() + 1 && network.links().len() == 2 * network.hosts();
        let all = match self.per_host {
            Some(_) => network.hosts() == self.len(),
            None => self.names.iter().all(|name| network.host(name).is_some_and(|host| network.is_host(host))),
        };
        one_switch && all
    }

    /// The first ranks of pairs of hosts between which rates are measured, one that sends and one that receives: no host is in
    /// two pairs, and the two of a pair are far apart where neighbours have neighbouring ranks.
    pub fn pairs(&self) -> Vec<(Rank, Rank)> {
        let half = self.len() / 2;
        let mut first = vec![Rank(0); self.len()];
        for (rank, host) in self.host_of.iter().enumerate().rev() {
            first[host.index()] = Rank(rank as u32);
        }
        (0..half).map(|host| (first[host], first[host + half])).collect()
    }

    /// Where they are from, in words.
    pub fn origin(&self) -> &'static str {
        if self.per_host.is_some() { "OPTIQ_PLACEMENT" } else { "processor names" }
    }

    /// What the user should know about the names.
    pub fn note(&self) -> Option<String> {
        let (one, other) = self.merged.as_ref()?;
        Some(format!(
            "OPTIQ_TOPOLOGY=auto: the processors \"{}\" and \"{}\" differ only in case or domain, and are taken for one host; \
             OPTIQ_PLACEMENT=rank:K says otherwise",
            shorten(one),
            shorten(other)
        ))
    }
}

/// What a pair of ranks sends to learn the rate of a link: messages that double in size, each answered by an empty one, until
/// the time is over or they are long enough.
#[derive(Clone, Debug, Default)]
pub struct RateProbe {
    /// Sizes and durations of the messages so far.
    rounds: Vec<(u64, Duration)>,
}

impl RateProbe {
    /// The size of the next message, if there is to be one: `spent` is the time since the first one.
    pub fn next(&self, spent: Duration) -> Option<u64> {
        let Some(&(bytes, took)) = self.rounds.last() else { return Some(PROBE_FIRST_BYTES) };
        if bytes >= PROBE_LARGEST_BYTES {
            let there = self.rounds.iter().filter(|round| round.0 == bytes).count() as u64;
            return (there < PROBE_REPETITIONS && (spent + took).as_secs_f64() <= PROBE_SECONDS).then_some(bytes);
        }
        ((spent + 2 * took).as_secs_f64() <= PROBE_SECONDS).then_some(2 * bytes)
    }

    /// A message of so many bytes and its answer took so long.
    pub fn add(&mut self, bytes: u64, took: Duration) {
        self.rounds.push((bytes, took));
    }

    /// Bytes per second: what the longer of the two largest messages had more, in the time that it took longer, so that latency
    /// does not count. 0 if nothing was sent.
    pub fn rate(&self) -> u64 {
        let Some(&(most, _)) = self.rounds.last() else { return 0 };
        let least =
            |bytes: u64| self.rounds.iter().filter(|r| r.0 == bytes).map(|r| r.1.as_secs_f64()).reduce(f64::min);
        let long = least(most).unwrap_or_default().max(1e-9);
        let whole = most as f64 / long;
        let rate = match least(most / 2) {
            // One of them may have been disturbed; latency is no more than half of a message that is this long.
            Some(short) if long > short => ((most - most / 2) as f64 / (long - short)).clamp(whole / 2.0, whole * 2.0),
            _ => whole,
        };
        rate.clamp(1.0, 1e15) as u64
    }
}

/// What the rates of the pairs say of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRate {
    /// Of a link, in bytes per second, at three digits.
    pub bytes_per_second: u64,
    /// What half of the pairs reached at most when all sent at once, if that is much less than one pair reaches alone: then
    /// they share links, and one switch it is not.
    pub shared: Option<u64>,
}

/// The rate of a link, in whole numbers, so that all ranks find the same: `together` are the rates of all pairs at once, `alone`
/// is that of one pair while no other sends. The larger of `alone` and the third quartile of `together` counts: what disturbs a
/// measurement makes it slower, a slow host spoils some pairs, and links that pairs share spoil `together`.
pub fn link_rate(together: &[u64], alone: u64) -> LinkRate {
    let mut sorted: Vec<u64> = together.iter().copied().filter(|&rate| rate > 0).collect();
    sorted.sort_unstable();
    let most = alone.max(sorted.get(sorted.len() * 3 / 4).copied().unwrap_or(0)).max(1);
    let unit = 10u64.pow(most.ilog10().saturating_sub(2));
    let bytes_per_second = (most + unit / 2) / unit * unit;
    let median = sorted.get(sorted.len().saturating_sub(1) / 2).copied().filter(|_| sorted.len() > 1);
    let shared = median.filter(|&rate| u128::from(rate) * 100 < u128::from(alone) * u128::from(SHARED_RATE));
    LinkRate { bytes_per_second, shared }
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_net::Network;

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
        let network = two.network(12_500_000, 100).unwrap();
        assert_eq!(network.spec(), "star:2,capacity=12.5MB/s,names=b,a");
        assert_eq!((network.unit_capacity(), network.host("a")), (12.5e6, Some(NodeId(1))));
        let placement = two.placement(&network);
        assert_eq!(placement.ranks(NodeId(0)), [Rank(0), Rank(2)]);
        assert_eq!(placement.provenance().to_string(), "processor names, of which one host each was made");
        assert!(matches!(two.network(1, 2), Err(NetError::TooLarge { .. })));
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
            let network = hosts(&[strange, "other"]).network(1, 100).unwrap();
            assert_eq!((network.hosts(), network.vertices()), (2, 3), "{strange}");
        }
        assert_eq!(hosts(&["h0", "h1"]).network(1_000_000, 9).unwrap().spec(), "star:2,capacity=1MB/s");
    }

    #[test]
    fn ranks_in_order_and_pairs() {
        let spread = GuessedHosts::in_rank_order(7, 2);
        assert_eq!((spread.len(), numbers(&spread)), (4, vec![0, 0, 1, 1, 2, 2, 3]));
        assert_eq!(spread.pairs(), [(Rank(0), Rank(4)), (Rank(2), Rank(6))]);
        assert_eq!(hosts(&["a", "b", "c"]).pairs(), [(Rank(0), Rank(1))]);
        assert!(hosts(&["a", "a"]).pairs().is_empty());
    }

    #[test]
    fn a_measured_network_is_ours_or_of_another_machine() {
        let here = hosts(&["n1", "n2"]);
        let on = |spec: &str| here.are_on(&Network::from_spec(spec).unwrap());
        assert!(on("star:4,names=n[1-4],capacity=2MB/s") && on("star:2,names=n2,n1"));
        assert!(!on("star:4") && !on("torus:2x2,names=n[1-4]") && !on("fattree:2x2:1x2,names=n[1-4]"));
        assert!(GuessedHosts::in_rank_order(4, 1).are_on(&Network::from_spec("star:4,names=n[1-4]").unwrap()));
    }

    /// Messages over a link of `rate` bytes per second, with `latency` seconds for each.
    fn probe(rate: f64, latency: f64) -> (RateProbe, f64) {
        let (mut probe, mut spent) = (RateProbe::default(), 0.0);
        while let Some(bytes) = probe.next(Duration::from_secs_f64(spent)) {
            let took = latency + bytes as f64 / rate;
            probe.add(bytes, Duration::from_secs_f64(took));
            spent += took;
        }
        (probe, spent)
    }

    #[test]
    fn the_rate_is_found_within_the_time() {
        assert_eq!(RateProbe::default().rate(), 0);
        for (rate, latency) in [(12.5e6, 1e-4), (1.25e9, 2e-5), (25e9, 2e-6), (1e6, 1e-3)] {
            let (probe, spent) = probe(rate, latency);
            let found = probe.rate() as f64;
            assert!((found / rate - 1.0).abs() < 0.05 || rate < 2e6, "{rate}: {found}");
            // The first message is sent in any case.
            assert!(spent <= PROBE_SECONDS.max(latency + PROBE_FIRST_BYTES as f64 / rate), "{rate}: {spent} s");
        }
        let mut stopped = RateProbe::default();
        stopped.add(PROBE_FIRST_BYTES, Duration::from_secs(1));
        assert_eq!((stopped.next(Duration::from_secs(1)), stopped.rate()), (None, PROBE_FIRST_BYTES));
    }

    #[test]
    fn all_pairs_and_one_alone() {
        let plain = |bytes_per_second| LinkRate { bytes_per_second, shared: None };
        assert_eq!(link_rate(&[11_800_000, 11_700_000, 11_900_000], 11_812_345), plain(11_900_000));
        // The pair that was alone has a slow host.
        assert_eq!(link_rate(&[1_000_000, 11_700_000, 11_800_000], 1_000_000), plain(11_800_000));
        // Pairs share links.
        let shared = LinkRate { bytes_per_second: 12_000_000, shared: Some(5_900_000) };
        assert_eq!(link_rate(&[5_800_000, 6_000_000, 5_900_000, 11_000_000], 12_000_000), shared);
        // One pair alone says nothing about others, and nothing measured is no division by zero.
        assert_eq!(link_rate(&[10], 100), plain(100));
        assert_eq!((link_rate(&[], 0), link_rate(&[0], 7)), (plain(1), plain(7)));
    }
}
