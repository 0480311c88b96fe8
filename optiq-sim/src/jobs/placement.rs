//! Placement rules by their names: which hosts a job gets, and which hosts its I/O servers.
//!
//! `random-node`, `random-switch`, `spread-target`, `isolated-target` and `random-target` are those of the dissertation on
//! interference between MPI and I/O on fat trees (document 000, section 6.5): nodes at random; whole leaf switches at random,
//! the tasks of a job in sequence on them; a server on the last port of each leaf switch in turn; leaf switches for servers
//! alone, half of them in each half of the network; servers on random hosts. It does not say *which* leaf switches servers
//! have in `isolated-target`, though under d-mod-k that decides whether MPI and I/O meet at all: see [`LeafPositions`].
//! `contiguous` and random groups are those of the study of jobs on Dragonfly+ (document 003, section 4).
//!
//! All are pure functions of the network, what is free, and a stream of random numbers.

use crate::jobs::sites::Sites;
use optiq_net::random::SplitMix64;
use optiq_net::text_file::{self, shorten};
use optiq_net::{Network, NodeId};
use std::fmt;
use std::path::Path;

/// The largest file of hosts that is read.
const MOST_FILE_BYTES: u64 = 16 << 20;

/// A word of the rules, for help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleEntry {
    /// How it is written.
    pub syntax: &'static str,
    /// What it means, a sentence or a part of one without a full stop.
    pub meaning: &'static str,
}

const fn rule(syntax: &'static str, meaning: &'static str) -> RuleEntry {
    RuleEntry { syntax, meaning }
}

/// The rules for the hosts of a job.
pub const PLACEMENTS: &[RuleEntry] = &[
    rule("contiguous[:FIRST]", "the free hosts with the lowest numbers, from host number FIRST on"),
    rule("random-node", "free hosts at random, in random order"),
    rule("random-switch", "whole leaf switches at random, their hosts in sequence"),
    rule("random-group", "whole groups of a dragonfly or Dragonfly+ at random, their hosts in sequence"),
    rule("leaves:LIST", "these leaf switches, such as leaves:0-3+18, their hosts in sequence"),
    rule("groups:LIST", "these groups of a dragonfly or Dragonfly+, such as groups:3-8, their hosts in sequence"),
    rule("hosts:LIST", "these hosts, by number, such as hosts:0-47+384-431, in this order"),
    rule("file:PATH", "the hosts of a file: names, numbers or Slurm's lists, one or more in a line"),
    rule("like:JOB", "the hosts of another job of the file"),
];

/// The rules for I/O servers.
pub const SERVER_PLACEMENTS: &[RuleEntry] = &[
    rule("spread-target:COUNT", "a server on the last free port of each leaf switch in turn"),
    rule(
        "isolated-target:COUNT[:LEAVES]",
        "leaf switches for servers alone, half of them in each half of the network: congruent (the same place in each pod; \
         unless given), adjacent, random, or a list such as 0+18+36+54",
    ),
    rule("random-target:COUNT", "free hosts at random"),
    rule("hosts:LIST", "these hosts, by number"),
    rule("file:PATH", "the hosts of a file"),
    rule("like:JOB", "the hosts of another job's servers"),
];

/// Which hosts a job gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The free hosts with the lowest numbers, from a host on.
    Contiguous(u32),
    /// Free hosts at random, in random order.
    RandomNode,
    /// Whole leaf switches at random, hosts in sequence.
    RandomSwitch,
    /// Whole groups at random, hosts in sequence.
    RandomGroup,
    /// These leaf switches.
    Leaves(Ranges),
    /// These groups.
    Groups(Ranges),
    /// These hosts.
    Hosts(Ranges),
    /// The hosts of a file.
    File(String),
    /// Those of another job.
    Like(String),
}

/// Which hosts the I/O servers of a job get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerPlacement {
    /// A number of servers, on the last free port of each leaf in turn.
    Spread(u32),
    /// A number of servers, on leaves of their own.
    Isolated(u32, LeafPositions),
    /// A number of servers on random hosts.
    Random(u32),
    /// These hosts.
    Hosts(Ranges),
    /// The hosts of a file.
    File(String),
    /// Those of another job's servers.
    Like(String),
}

/// Which leaf switches servers have to themselves.
///
/// Under d-mod-k a level-2 switch sends up by the destination's place in its pod. Where servers have the same place in all
/// pods, no other host has it, and no other flow takes these ports; otherwise flows to the hosts on leaves of that place in
/// other pods do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeafPositions {
    /// The first leaf of every pod, then the second ones, and so on.
    Congruent,
    /// The first ones of each half of the network.
    Adjacent,
    /// Random ones, as many in each half.
    Random,
    /// These.
    Listed(Ranges),
}

/// Numbers as ranges: `0-3+18`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    /// The most ranges of a list.
    const MOST: usize = 65_536;

    /// Single numbers.
    pub fn of(numbers: impl IntoIterator<Item = u32>) -> Self {
        Self(numbers.into_iter().map(|n| (n, n)).collect())
    }

    fn parse(text: &str) -> Result<Self, String> {
        let number = |t: &str| t.trim().parse::<u32>().ok();
        let range = |item: &str| match item.split_once('-') {
            Some((first, last)) => Some((number(first)?, number(last)?)).filter(|(first, last)| first <= last),
            None => number(item).map(|n| (n, n)),
        };
        let items = text.split('+').take(Self::MOST + 1).map(|item| {
            range(item)
                .ok_or_else(|| format!("found \"{}\"; a list of numbers such as 0-3+18 is expected", shorten(item)))
        });
        let ranges = items.collect::<Result<Vec<_>, _>>()?;
        match ranges.len() {
            n if n > Self::MOST => Err(format!("a list of more than {} ranges", Self::MOST)),
            _ => Ok(Self(ranges)),
        }
    }

    /// The numbers, all below `end`; `what` they are, for the message.
    fn below(&self, end: usize, what: &str) -> Result<Vec<u32>, String> {
        if let Some((_, last)) = self.0.iter().find(|(_, last)| *last as usize >= end) {
            return Err(format!("there is no {what} {last}; a number below {end} is expected"));
        }
        let mut seen = vec![false; end];
        let mut numbers = Vec::new();
        for n in self.0.iter().flat_map(|&(first, last)| first..=last) {
            if std::mem::replace(&mut seen[n as usize], true) {
                return Err(format!("{what} {n} is listed twice"));
            }
            numbers.push(n);
        }
        Ok(numbers)
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (first, last)) in self.0.iter().enumerate() {
            let plus = if i > 0 { "+" } else { "" };
            match first == last {
                true => write!(f, "{plus}{first}")?,
                false => write!(f, "{plus}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

fn names(rules: &[RuleEntry]) -> String {
    rules.iter().map(|r| r.syntax).collect::<Vec<_>>().join(", ")
}

impl Placement {
    /// Reads a rule of [`PLACEMENTS`].
    ///
    /// # Errors
    /// A sentence that says what was found and what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (name, argument) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest.trim())));
        let list = |of: fn(Ranges) -> Self, list: &str| {
            Ranges::parse(list).map(of).map_err(|why| format!("placement \"{}\": {why}", shorten(text)))
        };
        match (name, argument) {
            ("contiguous", None) => Ok(Placement::Contiguous(0)),
            ("contiguous", Some(first)) => first
                .parse()
                .map(Placement::Contiguous)
                .map_err(|_| format!("placement \"{}\": the number of a host is expected", shorten(text))),
            ("random-node", None) => Ok(Placement::RandomNode),
            ("random-switch", None) => Ok(Placement::RandomSwitch),
            ("random-group", None) => Ok(Placement::RandomGroup),
            ("leaves", Some(numbers)) => list(Placement::Leaves, numbers),
            ("groups", Some(numbers)) => list(Placement::Groups, numbers),
            ("hosts", Some(numbers)) => list(Placement::Hosts, numbers),
            ("file", Some(path)) if !path.is_empty() => Ok(Placement::File(path.into())),
            ("like", Some(job)) if !job.is_empty() => Ok(Placement::Like(job.into())),
            _ => Err(format!("there is no placement \"{}\"; one of {} is expected", shorten(text), names(PLACEMENTS))),
        }
    }
}

impl Placement {
    /// Whether the rule lists hosts, so that a job that gives no number has all of them.
    pub fn has_own_count(&self) -> bool {
        use Placement::{File, Groups, Hosts, Leaves, Like};
        matches!(self, Leaves(_) | Groups(_) | Hosts(_) | File(_) | Like(_))
    }

    /// Whether another seed gives other hosts.
    pub fn is_random(&self) -> bool {
        matches!(self, Placement::RandomNode | Placement::RandomSwitch | Placement::RandomGroup)
    }
}

impl ServerPlacement {
    /// How many servers the rule places; `None` where it lists hosts.
    pub fn count(&self) -> Option<u32> {
        use ServerPlacement::{Isolated, Random, Spread};
        match self {
            Spread(count) | Isolated(count, _) | Random(count) => Some(*count),
            _ => None,
        }
    }

    /// The rule with another number of servers, unless it lists hosts.
    #[must_use]
    pub fn with_count(&self, count: u32) -> Self {
        use ServerPlacement::{Isolated, Random, Spread};
        match self {
            Spread(_) => Spread(count),
            Isolated(_, positions) => Isolated(count, positions.clone()),
            Random(_) => Random(count),
            listed => listed.clone(),
        }
    }

    /// Whether another seed gives other hosts.
    pub fn is_random(&self) -> bool {
        matches!(self, ServerPlacement::Random(_) | ServerPlacement::Isolated(_, LeafPositions::Random))
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placement::Contiguous(0) => f.write_str("contiguous"),
            Placement::Contiguous(first) => write!(f, "contiguous:{first}"),
            Placement::RandomNode => f.write_str("random-node"),
            Placement::RandomSwitch => f.write_str("random-switch"),
            Placement::RandomGroup => f.write_str("random-group"),
            Placement::Leaves(list) => write!(f, "leaves:{list}"),
            Placement::Groups(list) => write!(f, "groups:{list}"),
            Placement::Hosts(list) => write!(f, "hosts:{list}"),
            Placement::File(path) => write!(f, "file:{path}"),
            Placement::Like(job) => write!(f, "like:{job}"),
        }
    }
}

impl ServerPlacement {
    /// Reads a rule of [`SERVER_PLACEMENTS`].
    ///
    /// # Errors
    /// A sentence that says what was found and what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let bad = |why: String| format!("servers \"{}\": {why}", shorten(text));
        let unknown = || {
            let rules = names(SERVER_PLACEMENTS);
            format!("there is no placement of servers \"{}\"; one of {rules} is expected", shorten(text))
        };
        let (name, argument) = text.split_once(':').ok_or_else(unknown)?;
        let argument = argument.trim();
        let count = |text: &str| match text.trim().parse::<u32>() {
            Ok(0) => Err(bad("0 servers; at least 1 is expected".into())),
            Ok(count) => Ok(count),
            Err(_) => Err(bad(format!("found \"{}\"; a number of servers is expected", shorten(text)))),
        };
        match name {
            "spread-target" => count(argument).map(ServerPlacement::Spread),
            "random-target" => count(argument).map(ServerPlacement::Random),
            "isolated-target" => {
                let (number, leaves) = argument.split_once(':').unwrap_or((argument, "congruent"));
                let positions = match leaves.trim() {
                    "congruent" => LeafPositions::Congruent,
                    "adjacent" => LeafPositions::Adjacent,
                    "random" => LeafPositions::Random,
                    list => LeafPositions::Listed(Ranges::parse(list).map_err(bad)?),
                };
                Ok(ServerPlacement::Isolated(count(number)?, positions))
            }
            "hosts" => Ranges::parse(argument).map(ServerPlacement::Hosts).map_err(bad),
            "file" if !argument.is_empty() => Ok(ServerPlacement::File(argument.into())),
            "like" if !argument.is_empty() => Ok(ServerPlacement::Like(argument.into())),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for ServerPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerPlacement::Spread(count) => write!(f, "spread-target:{count}"),
            ServerPlacement::Isolated(count, LeafPositions::Congruent) => {
                write!(f, "isolated-target:{count}:congruent")
            }
            ServerPlacement::Isolated(count, LeafPositions::Adjacent) => write!(f, "isolated-target:{count}:adjacent"),
            ServerPlacement::Isolated(count, LeafPositions::Random) => write!(f, "isolated-target:{count}:random"),
            ServerPlacement::Isolated(count, LeafPositions::Listed(list)) => {
                write!(f, "isolated-target:{count}:{list}")
            }
            ServerPlacement::Random(count) => write!(f, "random-target:{count}"),
            ServerPlacement::Hosts(list) => write!(f, "hosts:{list}"),
            ServerPlacement::File(path) => write!(f, "file:{path}"),
            ServerPlacement::Like(job) => write!(f, "like:{job}"),
        }
    }
}

/// What a rule may choose from.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The network.
    pub network: &'a Network,
    /// Its leaf switches.
    pub sites: &'a Sites,
    /// Per host, whether the job may use it.
    pub usable: &'a [bool],
    /// Per host, whether ranks of another job are on it; I/O servers do not count.
    pub clients: &'a [bool],
}

impl Choice<'_> {
    fn usable(&self, host: NodeId) -> bool {
        self.usable[host.index()]
    }

    /// Usable hosts, ascending.
    fn all(&self) -> Vec<NodeId> {
        (0..self.usable.len() as u32).map(NodeId).filter(|&h| self.usable(h)).collect()
    }

    /// Usable hosts of a leaf, ascending.
    fn of_leaf(&self, leaf: usize) -> impl DoubleEndedIterator<Item = NodeId> {
        self.sites.hosts(leaf).iter().copied().filter(|&h| self.usable(h))
    }

    fn is_without_clients(&self, leaf: usize) -> bool {
        self.sites.hosts(leaf).iter().all(|h| !self.clients[h.index()])
    }

    fn needs_leaves(&self) -> Result<(), String> {
        match self.sites.leaves() {
            0 => Err("it needs leaf switches, and the hosts of this network are joined directly".into()),
            _ => Ok(()),
        }
    }

    fn groups(&self) -> Result<Vec<Vec<usize>>, String> {
        let none = || "it needs groups, and this network is no dragonfly or Dragonfly+".to_owned();
        self.sites.groups().ok_or_else(none)
    }

    /// The hosts of these sets of leaves, a whole set at a time, until there are `count`.
    fn take_sets(&self, sets: &[Vec<usize>], count: usize, what: &str) -> Result<Vec<NodeId>, String> {
        let free = |set: &&Vec<usize>| set.iter().all(|&leaf| self.is_without_clients(leaf));
        let mut hosts = Vec::new();
        for set in sets.iter().filter(free) {
            if hosts.len() >= count {
                break;
            }
            hosts.extend(set.iter().flat_map(|&leaf| self.of_leaf(leaf)));
        }
        if hosts.len() < count {
            let whole = sets.iter().filter(free).count();
            return Err(format!(
                "{count} hosts on whole {what} do not fit: {whole} are free, with {} hosts",
                hosts.len()
            ));
        }
        hosts.truncate(count);
        Ok(hosts)
    }

    /// The first `count` of these hosts.
    fn take(&self, mut hosts: Vec<NodeId>, count: usize) -> Result<Vec<NodeId>, String> {
        if hosts.len() < count {
            return Err(format!("{count} hosts do not fit: {} are free", hosts.len()));
        }
        hosts.truncate(count);
        Ok(hosts)
    }

    /// The first `count` of the hosts that a list names; all must be usable.
    fn listed(&self, hosts: Vec<NodeId>, count: Option<usize>) -> Result<Vec<NodeId>, String> {
        let count = count.unwrap_or(hosts.len());
        if hosts.len() < count {
            return Err(format!("{count} hosts do not fit: {} are listed", hosts.len()));
        }
        let hosts = self.take(hosts, count)?;
        let mut seen = vec![false; self.usable.len()];
        for host in &hosts {
            let name = self.network.name(*host);
            if std::mem::replace(&mut seen[host.index()], true) {
                return Err(format!("host {name} is listed twice"));
            }
            if !self.usable(*host) {
                return Err(format!("host {name} is taken: another job has it to itself, or has no core left there"));
            }
        }
        Ok(hosts)
    }

    /// The hosts of a rule, `count` of them, or all that it lists ([`Placement::has_own_count`]); by `rng` where it is
    /// random.
    ///
    /// # Errors
    /// The rest of a sentence that says what does not fit. [`Placement::Like`] is the caller's: it is refused here.
    pub fn place(&self, rule: &Placement, count: Option<usize>, rng: &mut SplitMix64) -> Result<Vec<NodeId>, String> {
        let hosts = self.network.hosts();
        let numbers = |list: &Ranges| Ok::<_, String>(list.below(hosts, "host")?.into_iter().map(NodeId).collect());
        let all_or = |hosts: Vec<NodeId>| {
            let count = count.unwrap_or(hosts.len());
            self.take(hosts, count)
        };
        let some = count.unwrap_or(1);
        match rule {
            Placement::Contiguous(first) => self.take(self.all().into_iter().filter(|h| h.0 >= *first).collect(), some),
            Placement::RandomNode => {
                let mut all = self.all();
                shuffle(&mut all, rng);
                self.take(all, some)
            }
            Placement::RandomSwitch => {
                self.needs_leaves()?;
                let mut leaves: Vec<Vec<usize>> = (0..self.sites.leaves()).map(|leaf| vec![leaf]).collect();
                shuffle(&mut leaves, rng);
                self.take_sets(&leaves, some, "leaf switches")
            }
            Placement::RandomGroup => {
                let mut groups = self.groups()?;
                shuffle(&mut groups, rng);
                self.take_sets(&groups, some, "groups")
            }
            Placement::Leaves(list) => {
                self.needs_leaves()?;
                let leaves = list.below(self.sites.leaves(), "leaf switch")?;
                all_or(leaves.into_iter().flat_map(|leaf| self.of_leaf(leaf as usize)).collect())
            }
            Placement::Groups(list) => {
                let groups = self.groups()?;
                let listed = list.below(groups.len(), "group")?;
                let leaves = listed.into_iter().flat_map(|group| groups[group as usize].iter());
                all_or(leaves.flat_map(|&leaf| self.of_leaf(leaf)).collect())
            }
            Placement::Hosts(list) => self.listed(numbers(list)?, count),
            Placement::File(path) => self.listed(read_hosts(self.network, path)?, count),
            Placement::Like(job) => Err(format!("there is no job \"{}\" before this one", shorten(job))),
        }
    }

    /// The hosts of I/O servers; by `rng` where the rule is random.
    ///
    /// # Errors
    /// As [`Choice::place`].
    pub fn place_servers(&self, rule: &ServerPlacement, rng: &mut SplitMix64) -> Result<Vec<NodeId>, String> {
        match rule {
            ServerPlacement::Spread(count) => {
                self.needs_leaves()?;
                self.spread(*count as usize)
            }
            ServerPlacement::Isolated(count, positions) => {
                self.needs_leaves()?;
                self.isolated(*count as usize, positions, rng)
            }
            ServerPlacement::Random(count) => self.place(&Placement::RandomNode, Some(*count as usize), rng),
            ServerPlacement::Hosts(list) => {
                let hosts = list.below(self.network.hosts(), "host")?;
                self.listed(hosts.into_iter().map(NodeId).collect(), None)
            }
            ServerPlacement::File(path) => self.listed(read_hosts(self.network, path)?, None),
            ServerPlacement::Like(job) => {
                Err(format!("there is no job \"{}\" with servers before this one", shorten(job)))
            }
        }
    }

    /// The last usable host of each leaf, then the last but one, and so on.
    fn spread(&self, count: usize) -> Result<Vec<NodeId>, String> {
        let leaves: Vec<Vec<NodeId>> =
            (0..self.sites.leaves()).map(|leaf| self.of_leaf(leaf).rev().collect()).collect();
        let deepest = leaves.iter().map(Vec::len).max().unwrap_or(0);
        let in_turn = (0..deepest).flat_map(|i| leaves.iter().filter_map(move |leaf| leaf.get(i).copied()));
        self.take(in_turn.collect(), count)
    }

    /// Leaves on which nothing else is, in the order of the rule, until they have `count` hosts; then ascending.
    fn isolated(&self, count: usize, positions: &LeafPositions, rng: &mut SplitMix64) -> Result<Vec<NodeId>, String> {
        let leaves = self.sites.leaves();
        let halves = || ((0..leaves.div_ceil(2)).collect::<Vec<_>>(), (leaves.div_ceil(2)..leaves).collect::<Vec<_>>());
        let order: Vec<usize> = match positions {
            LeafPositions::Congruent => {
                let pods = self.sites.by_pod();
                let longest = pods.iter().map(Vec::len).max().unwrap_or(0);
                (0..longest).flat_map(|i| pods.iter().filter_map(move |pod| pod.get(i).copied())).collect()
            }
            LeafPositions::Adjacent => alternate(halves()),
            LeafPositions::Random => {
                let (mut low, mut high) = halves();
                shuffle(&mut low, rng);
                shuffle(&mut high, rng);
                alternate((low, high))
            }
            LeafPositions::Listed(list) => {
                list.below(leaves, "leaf switch")?.into_iter().map(|leaf| leaf as usize).collect()
            }
        };
        let is_free = |leaf: &usize| self.of_leaf(*leaf).count() == self.sites.hosts(*leaf).len();
        let (mut chosen, mut hosts) = (Vec::new(), 0);
        for leaf in order.into_iter().filter(is_free) {
            if hosts >= count {
                break;
            }
            hosts += self.sites.hosts(leaf).len();
            chosen.push(leaf);
        }
        if hosts < count {
            let leaves = chosen.len();
            return Err(format!(
                "{count} servers on leaf switches of their own do not fit: {leaves} are free, with {hosts} hosts"
            ));
        }
        chosen.sort_unstable();
        chosen.dedup();
        self.take(chosen.into_iter().flat_map(|leaf| self.of_leaf(leaf)).collect(), count)
    }
}

/// One of the first, one of the second, and so on.
fn alternate((low, high): (Vec<usize>, Vec<usize>)) -> Vec<usize> {
    let longest = low.len().max(high.len());
    (0..longest).flat_map(|i| [low.get(i).copied(), high.get(i).copied()]).flatten().collect()
}

/// Any order, each equally likely (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], rng: &mut SplitMix64) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

/// The hosts of a file: in each line a name, a number or a list as Slurm writes them; what follows a `#` does not count.
fn read_hosts(network: &Network, path: &str) -> Result<Vec<NodeId>, String> {
    let text = text_file::read(Path::new(path), MOST_FILE_BYTES).map_err(|why| format!("host file {path}: {why}"))?;
    let mut hosts = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let bad = |why: String| format!("host file {path}, line {number}: {why}");
        let left = network.hosts().saturating_sub(hosts.len());
        for name in optiq_net::expand_host_list(line, left).map_err(|e| bad(e.to_string()))? {
            let host = network.resolve(&name).map_err(|e| bad(e.to_string()))?;
            if !network.is_host(host) {
                return Err(bad(format!("{} is a switch; a host is expected", shorten(&name))));
            }
            hosts.push(host);
        }
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn place(spec: &str, rule: &str, count: usize, seed: u64) -> Result<Vec<u32>, String> {
        let network = Network::from_spec(spec).unwrap();
        let sites = Sites::new(&network);
        let (usable, clients) = (vec![true; network.hosts()], vec![false; network.hosts()]);
        let choice = Choice { network: &network, sites: &sites, usable: &usable, clients: &clients };
        let rng = &mut SplitMix64::new(seed);
        let hosts = match Placement::parse(rule) {
            Ok(rule) => choice.place(&rule, Some(count), rng)?,
            Err(_) => choice.place_servers(&ServerPlacement::parse(rule)?, rng)?,
        };
        Ok(hosts.into_iter().map(|h| h.0).collect())
    }

    #[test]
    fn rules_place_as_their_names_say() {
        let tree = "fattree:2x3x2:1x2x3";
        for (spec, rule, count, expected) in [
            (tree, "contiguous", 3, vec![0, 1, 2]),
            (tree, "contiguous:5", 2, vec![5, 6]),
            (tree, "leaves:5+0", 3, vec![10, 11, 0]),
            (tree, "hosts:7+1-2", 3, vec![7, 1, 2]),
            ("dragonfly:p=2,a=2,h=1", "groups:2", 4, vec![8, 9, 10, 11]),
            // The last port of each leaf, then the port before it.
            (tree, "spread-target:8", 0, vec![1, 3, 5, 7, 9, 11, 0, 2]),
            // The first leaf of both pods of three; of both halves; and as listed.
            (tree, "isolated-target:4", 0, vec![0, 1, 6, 7]),
            (tree, "isolated-target:7:congruent", 0, vec![0, 1, 2, 3, 6, 7, 8]),
            (tree, "isolated-target:6:adjacent", 0, vec![0, 1, 2, 3, 6, 7]),
            (tree, "isolated-target:3:4+2", 0, vec![4, 5, 8]),
        ] {
            assert_eq!(place(spec, rule, count, 1).unwrap(), expected, "{rule}");
        }
        // In halves of an odd number of leaves, and where nothing is known of pods.
        assert_eq!(place("star:4", "isolated-target:2", 0, 1).unwrap(), [0, 1]);
    }

    #[test]
    fn random_rules_take_whole_switches_and_groups() {
        let tree = "fattree:4x3x2:1x4x3";
        for seed in 0..20 {
            let hosts = place(tree, "random-switch", 10, seed).unwrap();
            let leaves: BTreeSet<u32> = hosts.iter().map(|h| h / 4).collect();
            assert_eq!(leaves.len(), 3);
            assert!(hosts.chunks(4).all(|leaf| leaf.windows(2).all(|w| w[1] == w[0] + 1) && leaf[0] % 4 == 0));
            let hosts = place("dragonfly:p=2,a=2,h=1", "random-group", 5, seed).unwrap();
            assert_eq!(hosts.iter().map(|h| h / 4).collect::<BTreeSet<_>>().len(), 2);
            let servers = place(tree, "isolated-target:8:random", 0, seed).unwrap();
            assert_eq!(servers.iter().filter(|&&h| h < 12).count(), 4, "one leaf in each half");
            assert_ne!(place(tree, "random-node", 24, seed), place(tree, "random-node", 24, seed + 1));
        }
    }

    #[test]
    fn refusals_say_what_was_found_and_what_is_expected() {
        for (spec, rule, count, expected) in [
            ("star:4", "contiguous", 5, "5 hosts do not fit: 4 are free"),
            ("torus:4x4", "random-switch", 5, "needs leaf switches"),
            ("torus:4x4", "spread-target:2", 0, "needs leaf switches"),
            ("fattree:k=4", "random-group", 5, "needs groups"),
            ("fattree:k=4", "leaves:8", 1, "there is no leaf switch 8; a number below 8"),
            ("fattree:k=4", "leaves:0+0", 4, "leaf switch 0 is listed twice"),
            ("fattree:k=4", "hosts:0+0", 2, "host 0 is listed twice"),
            ("fattree:k=4", "hosts:0-3", 5, "4 are listed"),
            ("fattree:k=4", "isolated-target:3:0", 0, "1 are free, with 2 hosts"),
            ("fattree:k=4", "nearby", 1, "there is no placement of servers \"nearby\""),
            ("fattree:k=4", "spread-target:0", 0, "at least 1"),
            ("fattree:k=4", "spread-target:many", 0, "a number of servers"),
            ("fattree:k=4", "file:/nowhere/at/all", 1, "/nowhere/at/all"),
            ("fattree:k=4", "like:other", 1, "no job \"other\""),
        ] {
            let found = place(spec, rule, count, 1);
            let why = found.expect_err(rule);
            assert!(why.contains(expected) && !why.contains('\n'), "{rule}: {why}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_is_written(text in "(contiguous|leaves|groups|hosts|file|like|isolated-target|spread-target)(:[0-9a-z+-]{0,9}){0,2}") {
            if let Ok(rule) = Placement::parse(&text) {
                prop_assert_eq!(Placement::parse(&rule.to_string()), Ok(rule));
            }
            if let Ok(rule) = ServerPlacement::parse(&text) {
                prop_assert_eq!(ServerPlacement::parse(&rule.to_string()), Ok(rule));
            }
        }

        /// Each host once, only usable ones, the number that was asked for, and the same ones for the same seed.
        #[test]
        fn placements_are_sets_of_usable_hosts(seed: u64, count in 1usize..40, taken in proptest::collection::btree_set(0usize..36, 0..20), which in 0usize..8) {
            let network = Network::from_spec("fattree:3x4x3:1x3x4").unwrap();
            let sites = Sites::new(&network);
            let usable: Vec<bool> = (0..36).map(|h| !taken.contains(&h)).collect();
            let clients: Vec<bool> = (0..36).map(|h| taken.contains(&h) && h % 2 == 0).collect();
            let choice = Choice { network: &network, sites: &sites, usable: &usable, clients: &clients };
            let run = || {
                let mut rng = SplitMix64::new(seed);
                match which {
                    0 => choice.place(&Placement::Contiguous(3), Some(count), &mut rng),
                    1 => choice.place(&Placement::RandomNode, Some(count), &mut rng),
                    2 => choice.place(&Placement::RandomSwitch, Some(count), &mut rng),
                    3 => choice.place_servers(&ServerPlacement::Spread(count as u32), &mut rng),
                    4 => choice.place_servers(&ServerPlacement::Isolated(count as u32, LeafPositions::Congruent), &mut rng),
                    5 => choice.place_servers(&ServerPlacement::Isolated(count as u32, LeafPositions::Adjacent), &mut rng),
                    6 => choice.place_servers(&ServerPlacement::Isolated(count as u32, LeafPositions::Random), &mut rng),
                    _ => choice.place_servers(&ServerPlacement::Random(count as u32), &mut rng),
                }
            };
            let found = run();
            prop_assert_eq!(&found, &run());
            if let Ok(hosts) = found {
                prop_assert_eq!(hosts.len(), count);
                prop_assert!(hosts.iter().all(|h| usable[h.index()]));
                prop_assert_eq!(hosts.iter().collect::<BTreeSet<_>>().len(), count);
            }
        }
    }
}
