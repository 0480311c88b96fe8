//! Which channel adapters are hosts, and what hosts and switches are called.
//!
//! Not every adapter is a host's: switches have aggregation nodes inside, and management and storage are joined where
//! there is a free port. Names say nothing reliable of that. What adapters are joined to does, in two cases:
//!
//! - *Inside a switch.* Switches have an even number of ports for cables; one with an odd number has its last port
//!   inside, and what is joined to that is part of the switch.
//! - *Above the leaves.* A switch that has many cables to switches and few adapters, where those with many adapters have
//!   fewer cables to switches, is above those: an adapter there is no host. "Few" is less than half of the median number
//!   of adapters a switch, counted over adapters; "more cables" is more than any switch has that is not so. Leaves that
//!   are partly empty have no more cables than full ones and stay leaves; so do all switches of dragonflies.
//!
//! What is joined to a leaf like a host is one, unless a rule of the user's, or a list of Slurm's, says otherwise.

use super::collected::{Identity, NodeKind};
use super::fabric::Fabric;
use crate::error::NetError;
use crate::hostlist;
use crate::limits::MAX_HOSTS;
use crate::natural::natural_order;
use crate::text_file::shorten;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A rule for names of hosts: a list in Slurm's grammar, whose names may have `*` for any characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    names: HashSet<String>,
    patterns: Vec<String>,
}

impl HostRule {
    /// The rule in `text`, such as `node[001-144],gpu*`.
    ///
    /// # Errors
    /// [`NetError::Spec`] for what is no list.
    pub fn parse(text: &str) -> Result<HostRule, NetError> {
        let names = hostlist::expand(text, MAX_HOSTS).map_err(NetError::Spec)?;
        let (patterns, names) = names.into_iter().partition(|name| name.contains('*'));
        Ok(HostRule { patterns, names: HashSet::from_iter::<Vec<String>>(names) })
    }

    /// Whether it has this name.
    pub fn matches(&self, name: &str) -> bool {
        self.names.contains(name) || self.patterns.iter().any(|pattern| is_like(pattern, name))
    }
}

/// Whether a name is like a pattern, in which `*` stands for any characters.
fn is_like(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let Some((middle, last)) = rest.rsplit_once('*') else { return name.ends_with(rest) };
    // Taking the first place for each part leaves the most to those behind it.
    for part in middle.split('*') {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(last)
}

/// A host and the ports by which it is joined, its rails.
#[derive(Clone, Debug)]
pub(super) struct ImportedHost {
    pub name: String,
    /// Adapter and port.
    pub ports: Vec<(u32, u32)>,
}

/// Who is what.
#[derive(Debug)]
pub(super) struct Roles {
    /// In the order of their names.
    pub hosts: Vec<ImportedHost>,
    /// Adapters and routers that are joined and are no hosts.
    pub others: usize,
}

/// The host's name in what an adapter says of itself: `node1` of `node1 HCA-2` and `node1 mlx5_0`.
fn host_name(description: &str) -> &str {
    let mut words = description.split_whitespace();
    let (Some(first), Some(second), None) = (words.next(), words.next(), words.next()) else {
        return description.trim();
    };
    let lower = second.to_ascii_lowercase();
    let is_device = ["hca", "mlx", "mthca", "qib", "hfi", "ibp", "bnxt", "rocep", "cxgb", "ipath", "irdma", "erdma"];
    let numbered = lower.ends_with(|c: char| c.is_ascii_digit());
    if numbered && is_device.iter().any(|device| lower.starts_with(device)) { first } else { description.trim() }
}

/// A name that network files and lists of names can have.
pub(super) fn clean(name: &str) -> String {
    let mut clean = String::new();
    for word in name.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !clean.is_empty() {
            clean.push('-');
        }
        clean.extend(word.chars().map(|c| if matches!(c, '[' | ']' | ',' | '"' | '\\' | '*') { '_' } else { c }));
    }
    clean.chars().take(64).collect()
}

impl Roles {
    /// Tells hosts from other adapters.
    pub fn new(fabric: &mut Fabric, hosts: Option<&HostRule>, others: Option<&HostRule>) -> Roles {
        let joined: Vec<u32> =
            fabric.nodes().filter(|&n| !fabric.is_switch(n) && fabric.cables(n).next().is_some()).collect();
        let adapters = joined.iter().copied().filter(|&n| fabric.node(n).kind == NodeKind::Adapter);
        let is_named = |n: u32, rule: &HostRule| {
            let description = &fabric.node(n).name;
            rule.matches(host_name(description)) || rule.matches(description)
        };
        let adapters: Vec<u32> = adapters.filter(|&n| !others.is_some_and(|rule| is_named(n, rule))).collect();
        let kept: Vec<u32> = match (hosts, &fabric.listed) {
            (Some(rule), _) => adapters.into_iter().filter(|&n| is_named(n, rule)).collect(),
            (None, Some(listed)) => {
                adapters.into_iter().filter(|&n| listed.contains(host_name(&fabric.node(n).name))).collect()
            }
            (None, None) => by_what_they_are_joined_to(fabric, adapters),
        };
        let others = joined.len() - kept.len();
        let mut hosts = grouped(fabric, kept);
        hosts.sort_by(|a, b| natural_order(&a.name, &b.name));
        Roles { hosts, others }
    }
}

/// The adapters that are hosts as far as their neighbours tell.
fn by_what_they_are_joined_to(fabric: &Fabric, adapters: Vec<u32>) -> Vec<u32> {
    let inside = |n: u32| {
        let mut cables = fabric.cables(n);
        cables.all(|(_, switch, port)| {
            let radix = fabric.node(switch).radix;
            fabric.is_switch(switch) && radix > 8 && radix % 2 == 1 && port == radix
        })
    };
    let adapters: Vec<u32> = adapters.into_iter().filter(|&n| !inside(n)).collect();
    let mut below: BTreeMap<u32, usize> = BTreeMap::new();
    for &n in &adapters {
        for (_, switch, _) in fabric.cables(n).filter(|(_, s, _)| fabric.is_switch(*s)) {
            *below.entry(switch).or_default() += 1;
        }
    }
    let mut counts: Vec<usize> = below.values().flat_map(|&count| std::iter::repeat_n(count, count)).collect();
    counts.sort_unstable();
    let Some(&median) = counts.get(counts.len() / 2) else { return adapters };
    let is_full = |count: usize| 2 * count >= median;
    let to_switches = |s: u32| fabric.cables(s).filter(|(_, peer, _)| fabric.is_switch(*peer)).count();
    let most = below.iter().filter(|&(_, &count)| is_full(count)).map(|(&s, _)| to_switches(s)).max().unwrap_or(0);
    let above: BTreeSet<u32> =
        below.iter().filter(|&(&s, &count)| !is_full(count) && to_switches(s) > most).map(|(&s, _)| s).collect();
    let is_above = |n: u32| fabric.cables(n).all(|(_, switch, _)| above.contains(&switch));
    adapters.into_iter().filter(|&n| !is_above(n)).collect()
}

/// Adapters of one host, by the name that they give; those that cannot be of one host get names of their own.
fn grouped(fabric: &mut Fabric, adapters: Vec<u32>) -> Vec<ImportedHost> {
    let mut by_name: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for n in adapters {
        by_name.entry(clean(host_name(&fabric.node(n).name))).or_default().push(n);
    }
    let ports = |fabric: &Fabric, nodes: &[u32]| -> Vec<(u32, u32)> {
        nodes.iter().flat_map(|&n| fabric.cables(n).map(move |(port, _, _)| (n, port))).collect()
    };
    let mut hosts = Vec::new();
    let (mut unclear, mut first) = (0, String::new());
    for (name, mut nodes) in by_name {
        let descriptions: BTreeSet<&str> = nodes.iter().map(|&n| fabric.node(n).name.as_str()).collect();
        let systems: BTreeSet<Option<u64>> = nodes.iter().map(|&n| fabric.node(n).system).collect();
        let one_system = systems.len() == 1 && !systems.contains(&None);
        if !name.is_empty() && (nodes.len() == 1 || descriptions.len() == nodes.len() || one_system) {
            nodes.sort_by(|&a, &b| natural_order(&fabric.node(a).name, &fabric.node(b).name).then(a.cmp(&b)));
            hosts.push(ImportedHost { name, ports: ports(fabric, &nodes) });
            continue;
        }
        unclear += nodes.len();
        if first.is_empty() {
            first.clone_from(&name);
        }
        for n in nodes {
            let name = with_identity(&name, &fabric.node(n).identity);
            hosts.push(ImportedHost { name, ports: ports(fabric, &[n]) });
        }
    }
    if unclear > 0 {
        let sentence = format!(
            "{unclear} adapters share their names with others, such as \"{}\", and are hosts of their own, named by \
             their GUIDs",
            shorten(&first)
        );
        fabric.troubles().tell(sentence);
    }
    hosts
}

/// A name that no other node has.
pub(super) fn with_identity(name: &str, identity: &Identity) -> String {
    let id = match identity {
        Identity::Guid(guid) => format!("{guid:016x}"),
        Identity::Name(id) => clean(id),
    };
    if name.is_empty() { id } else { format!("{name}-{id}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_lists_with_stars() {
        let rule = HostRule::parse("node[08-10],gpu*,*-ib*x").unwrap();
        for (name, expected) in [
            ("node08", true),
            ("node8", false),
            ("gpu", true),
            ("gpu7", true),
            ("a-ibx", true),
            ("a-ib1xy", false),
            ("xgpu", false),
        ] {
            assert_eq!(rule.matches(name), expected, "{name}");
        }
        assert!(is_like("*a*b*", "xaybz") && !is_like("*a*b*", "xbya") && is_like("a*", "a") && !is_like("ab*b", "ab"));
    }

    #[test]
    fn hosts_are_named_without_their_devices() {
        for (description, name) in [
            ("node1", "node1"),
            ("node1 HCA-2", "node1"),
            ("n1.site mlx5_0", "n1.site"),
            ("MT4119 ConnectX5 Mellanox Technologies", "MT4119 ConnectX5 Mellanox Technologies"),
            ("node1 spare", "node1 spare"),
        ] {
            assert_eq!(host_name(description), name);
        }
        assert_eq!(clean(" Quantum  Mellanox[1],\t2 "), "Quantum-Mellanox_1__-2");
    }

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let mut names = ["n10", "n9", "n09", "m", "n", "n9a"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["m", "n", "n09", "n9", "n9a", "n10"]);
    }
}
