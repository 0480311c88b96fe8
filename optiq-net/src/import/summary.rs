//! What an import gives: the fabric's numbers, what could not be used, its network file and its routes.

use super::collected::Troubles;
use super::fabric::Fabric;
use super::levels::levels;
use super::network_file::{self, Vertices};
use super::roles::{HostRule, ImportedHost, Roles, clean, with_identity};
use super::walk::{Stop, StopReason, Walk};
use crate::error::NetError;
use crate::limits::DEFAULT_CAPACITY;
use crate::natural::natural_order;
use crate::routing::table::NextHops;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::Instant;

/// The most sets of connected parts that hosts may be in for pairs without tables to be counted exactly.
const MAX_SETS: usize = 1000;

/// What the user says of the fabric.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Only adapters with these names are hosts.
    pub hosts: Option<HostRule>,
    /// Adapters with these names are no hosts.
    pub others: Option<HostRule>,
    /// Of each physical link whose rate no file says, in bytes per second; 1 GB/s unless given.
    pub capacity: Option<f64>,
    /// Which of the LIDs of a port packets carry where LMC gives it several, counted modulo their number.
    pub lid_offset: u16,
}

/// Pairs of hosts whose packets do not arrive, by destination and by where they stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The destination.
    pub to: String,
    /// The switch where packets stop; none if they reach no switch that leads on.
    pub at: Option<String>,
    /// Why, as the rest of a sentence.
    pub why: String,
    /// How many sources.
    pub pairs: u64,
    /// The first of them.
    pub from: String,
}

/// A fabric that was imported.
#[derive(Debug)]
pub struct ImportedFabric {
    /// Number of hosts.
    pub hosts: usize,
    /// Number of switches.
    pub switches: usize,
    /// Directed physical links between hosts and switches.
    pub links: u64,
    /// Those of them that are one of several between the same two.
    pub parallel_links: u64,
    /// Directed physical links whose rate no file says.
    pub links_without_rate: u64,
    /// The most switches that stand above each other: a host's switch is on level 1.
    pub levels: u32,
    /// The most ports of a host that are joined.
    pub rails: usize,
    /// Connected parts that have hosts.
    pub subnets: usize,
    /// Joined adapters and routers that are no hosts.
    pub other_adapters: usize,
    /// Switches that have a forwarding table.
    pub tables: usize,
    /// Ordered pairs of different hosts.
    pub pairs: u64,
    /// Pairs whose packets arrive along the tables; without tables, pairs that are connected.
    pub pairs_resolved: u64,
    /// The most routes on a physical link between switches; none without tables.
    pub routes_per_link_max: Option<u64>,
    /// What the walk took, in seconds.
    pub routing_seconds: f64,
    /// Pairs that do not arrive. At most 10,000 entries, the rest is counted in `pairs`.
    pub unresolved: Vec<Unresolved>,
    /// Sentences about what could not be used, or is contradicted.
    pub warnings: Vec<String>,
    fabric: Fabric,
    roles: Roles,
    switch_nodes: Vec<u32>,
    switch_names: Vec<String>,
    walk: Option<Walk>,
    capacity: f64,
}

impl ImportedFabric {
    /// # Errors
    /// [`NetError::Spec`] for a fabric without hosts, [`NetError::Routing`] for one that is too large for tables.
    pub(super) fn new(mut fabric: Fabric, options: &ImportOptions) -> Result<Self, NetError> {
        let mut roles = Roles::new(&mut fabric, options.hosts.as_ref(), options.others.as_ref());
        if roles.hosts.is_empty() {
            let files = fabric.all.files.join(", ");
            let others = roles.others;
            return Err(NetError::Spec(format!(
                "no hosts are in {files}; at least one channel adapter that is joined to something is expected, and \
                 {others} are joined that are no hosts by a rule"
            )));
        }
        let levels = levels(&fabric, &roles.hosts);
        let (switch_nodes, mut switch_names) = switches(&fabric, &roles.hosts, &levels);
        tell_apart(roles.hosts.iter_mut().map(|host| &mut host.name).chain(&mut switch_names));
        let vertices = roles.hosts.len() + switch_nodes.len();
        let has_tables = switch_nodes.iter().any(|n| !fabric.tables[*n as usize].is_empty());
        if has_tables {
            NextHops::check_entries(roles.hosts.len(), vertices)?;
        }
        let began = Instant::now();
        let walk = has_tables.then(|| Walk::new(&fabric, &roles.hosts, &switch_nodes, options.lid_offset));
        let routing_seconds = began.elapsed().as_secs_f64();
        let hosts = roles.hosts.len() as u64;
        let parts: BTreeSet<u32> =
            roles.hosts.iter().flat_map(|h| &h.ports).map(|(n, _)| fabric.parts[*n as usize]).collect();
        let mut imported = ImportedFabric {
            hosts: roles.hosts.len(),
            switches: switch_nodes.len(),
            links: 0,
            parallel_links: 0,
            links_without_rate: 0,
            levels: switch_nodes.iter().filter_map(|n| levels[*n as usize]).max().unwrap_or(0),
            rails: roles.hosts.iter().map(|h| h.ports.len()).max().unwrap_or(0),
            subnets: parts.len(),
            other_adapters: roles.others,
            tables: fabric.tables.iter().filter(|table| !table.is_empty()).count(),
            pairs: hosts * (hosts - 1),
            pairs_resolved: walk.as_ref().map_or_else(|| connected_pairs(&fabric, &roles.hosts), |walk| walk.resolved),
            routes_per_link_max: walk.as_ref().map(|walk| walk.most_routes),
            routing_seconds,
            unresolved: Vec::new(),
            warnings: Vec::new(),
            capacity: options.capacity.unwrap_or(DEFAULT_CAPACITY),
            fabric,
            roles,
            switch_nodes,
            switch_names,
            walk,
        };
        imported.count_links();
        imported.tell();
        Ok(imported)
    }

    /// Pairs that do not arrive.
    pub fn pairs_unresolved(&self) -> u64 {
        self.pairs - self.pairs_resolved
    }

    fn vertices(&self) -> Vertices<'_> {
        Vertices {
            fabric: &self.fabric,
            hosts: &self.roles.hosts,
            switches: &self.switch_nodes,
            switch_names: &self.switch_names,
        }
    }

    fn count_links(&mut self) {
        let bundles = self.vertices().bundles(self.capacity);
        for bundle in bundles.values() {
            self.links += 2 * u64::from(bundle.lanes);
            self.links_without_rate += 2 * u64::from(bundle.unknown);
            self.parallel_links += if bundle.lanes > 1 { 2 * u64::from(bundle.lanes) } else { 0 };
        }
    }

    /// Collects the warnings: what was told while files were joined, and what the walk found.
    fn tell(&mut self) {
        let Troubles { told, more } = std::mem::take(self.fabric.troubles());
        self.warnings = told;
        if more > 0 {
            self.warnings.push(format!("{more} further sentences of this kind are left out"));
        }
        let Some(walk) = &self.walk else {
            if self.pairs_resolved < self.pairs {
                let (pairs, subnets) = (self.pairs_unresolved(), self.subnets);
                self.warnings.push(format!("{pairs} pairs of hosts are in {subnets} subnets that are not connected"));
            }
            return;
        };
        self.unresolved = walk.stops.iter().map(|stop| self.unresolved(stop)).collect();
        let host = |h: u32| self.roles.hosts[h as usize].name.as_str();
        let switch = |s: u32| self.switch_names[s as usize].as_str();
        let mut told = Vec::new();
        for found in &walk.loops {
            let mut names: Vec<&str> = found.switches.iter().take(16).map(|s| switch(*s)).collect();
            names.push(if found.switches.len() > 16 { "..." } else { names[0] });
            let more = match found.destinations {
                1 => String::new(),
                n => format!(" and {} further hosts", n - 1),
            };
            told.push(format!("the tables towards {}{more} form a loop: {}", host(found.to), names.join(" -> ")));
        }
        let mut places: BTreeMap<(Option<u32>, StopReason), (u64, &Stop)> = BTreeMap::new();
        for stop in walk.stops.iter().filter(|stop| stop.why != StopReason::Loop) {
            places.entry((stop.at, stop.why)).or_insert((0, stop)).0 += stop.pairs;
        }
        for ((at, why), (pairs, stop)) in places {
            let at = at.map_or("their source".to_owned(), |at| format!("\"{}\"", switch(at)));
            let why = why.words();
            told.push(format!(
                "{pairs} pairs of hosts stop at {at}, such as {} to {}: {why}",
                host(stop.from),
                host(stop.to)
            ));
        }
        if walk.more_stops > 0 {
            told.push(format!("{} further pairs of hosts do not arrive and are not listed", walk.more_stops));
        }
        self.warnings.extend(told);
    }

    fn unresolved(&self, stop: &Stop) -> Unresolved {
        Unresolved {
            to: self.roles.hosts[stop.to as usize].name.clone(),
            at: stop.at.map(|s| self.switch_names[s as usize].clone()),
            why: stop.why.words(),
            pairs: stop.pairs,
            from: self.roles.hosts[stop.from as usize].name.clone(),
        }
    }

    /// The network file ([`crate::network::Network::from_toml`]) of the fabric, in which `title` is its name for
    /// people. With tables every route of that network is the tables'; without them it is chosen by destination among
    /// equal paths.
    ///
    /// # Errors
    /// [`NetError::Spec`] if the file would be larger than those that are read.
    pub fn toml(&self, title: &str) -> Result<String, NetError> {
        let text = network_file::toml(&self.vertices(), self.walk.as_ref(), title, self.capacity);
        match text.len() as u64 > crate::file::MAX_BYTES {
            true => Err(NetError::Spec(format!(
                "the network file would have {} MB; at most {} MiB are read",
                text.len() / 1_000_000,
                crate::file::MAX_BYTES >> 20
            ))),
            false => Ok(text),
        }
    }

    /// Writes the route of every pair that arrives, a line each: `from,to,route`. The route has a word for each link,
    /// such as `5>spine0/1`: the port where it leaves, the vertex that it leads to, and the port there.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write_routes(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "from,to,route")?;
        let Some(walk) = &self.walk else { return Ok(()) };
        let mut numbers = vec![None; self.fabric.all.nodes.len()];
        self.switch_nodes.iter().enumerate().for_each(|(number, n)| numbers[*n as usize] = Some(number));
        for (from, source) in self.roles.hosts.iter().enumerate() {
            for (to, target) in self.roles.hosts.iter().enumerate().filter(|(to, _)| *to != from) {
                let rail = match walk.first[from].get(to) {
                    Some(&rail) => rail,
                    None => 0,
                };
                let Some(&(mut node, mut port)) = source.ports.get(usize::from(rail)) else { continue };
                let mut route = String::new();
                let arrives = loop {
                    let Some(peer) = self.fabric.node(node).ports.get(&port).and_then(|p| p.peer) else { break false };
                    let number = numbers[peer.node as usize];
                    let name = number.map_or(target.name.as_str(), |number: usize| self.switch_names[number].as_str());
                    let space = if route.is_empty() { "" } else { " " };
                    route.push_str(&format!("{space}{port}>{name}/{}", peer.port));
                    let Some(number) = number else { break target.ports.contains(&(peer.node, peer.port)) };
                    port = u32::from(walk.next[number * self.roles.hosts.len() + to]);
                    if port == 0 {
                        break false;
                    }
                    node = peer.node;
                };
                if arrives {
                    writeln!(out, "{},{},{route}", source.name, target.name)?;
                }
            }
        }
        Ok(())
    }
}

impl StopReason {
    /// The rest of a sentence.
    fn words(self) -> String {
        match self {
            StopReason::NoTable => "no file has its table".into(),
            StopReason::NoEntry => "its table has no entry".into(),
            StopReason::NoCable(port) => format!("its table names port {port}, which has no cable"),
            StopReason::Elsewhere(port) => format!("its table names port {port}, and something else is joined there"),
            StopReason::Loop => "the tables form a loop".into(),
            StopReason::OtherPart => "the two hosts are in subnets that are not connected".into(),
            StopReason::NoLid => "the destination has no LID".into(),
        }
    }
}

/// The switches that have cables, lowest level first, and what they are called.
fn switches(fabric: &Fabric, hosts: &[ImportedHost], levels: &[Option<u32>]) -> (Vec<u32>, Vec<String>) {
    let level = |n: u32| levels[n as usize].unwrap_or(u32::MAX);
    let joined = fabric.nodes().filter(|&n| fabric.is_switch(n) && fabric.cables(n).next().is_some());
    let mut switches: Vec<(u32, String)> = joined.map(|n| (n, clean(&fabric.node(n).name))).collect();
    let mut taken: BTreeMap<&str, usize> = hosts.iter().map(|host| (host.name.as_str(), 1)).collect();
    for (_, name) in &switches {
        *taken.entry(name).or_default() += 1;
    }
    let shared: BTreeSet<String> = taken.iter().filter(|(_, n)| **n > 1).map(|(name, _)| (*name).to_owned()).collect();
    for (n, name) in &mut switches {
        if name.is_empty() || shared.contains(name) {
            *name = with_identity(name, &fabric.node(*n).identity);
        }
    }
    switches.sort_by(|(a, a_name), (b, b_name)| level(*a).cmp(&level(*b)).then_with(|| natural_order(a_name, b_name)));
    switches.into_iter().unzip()
}

/// Makes names different that still are not, which takes files that were made for it.
fn tell_apart<'n>(names: impl Iterator<Item = &'n mut String>) {
    let mut taken = BTreeSet::new();
    for name in names {
        if name.is_empty() {
            name.push_str("unnamed");
        }
        let mut number = 1usize;
        let plain = name.clone();
        while !taken.insert(name.clone()) {
            number += 1;
            *name = format!("{plain}-{number}");
        }
    }
}

/// Ordered pairs of hosts that are in one connected part.
fn connected_pairs(fabric: &Fabric, hosts: &[ImportedHost]) -> u64 {
    let mut sets: BTreeMap<BTreeSet<u32>, u64> = BTreeMap::new();
    for host in hosts {
        let parts = host.ports.iter().map(|(n, _)| fabric.parts[*n as usize]).collect();
        *sets.entry(parts).or_default() += 1;
    }
    if sets.len() > MAX_SETS {
        // Then nearly every host is by itself, and pairs of the same set are what there is.
        return sets.values().map(|count| count * (count - 1)).sum();
    }
    let mut pairs = 0;
    for (a, count) in &sets {
        for (b, other) in &sets {
            let others = if a == b { count - 1 } else { *other };
            pairs += if a.is_disjoint(b) { 0 } else { count * others };
        }
    }
    pairs
}
