//! Every pair of hosts along the forwarding tables.
//!
//! A packet carries the LID of a port of its destination, and every switch looks up the port by which it goes on: for
//! one LID the tables are a function from switches to switches. So one pass over the switches of a destination, which
//! remembers where each of them leads, walks the pairs of all sources; it finds the switches where they stop and the
//! loops they end in (R. Floyd's "tortoise and hare" is not needed, as a switch that is met again on the same way
//! closes a loop). The cost is destinations times switches.
//!
//! A host with several ports is a destination with several LIDs. At each switch the first of them is taken that arrives
//! from there. A next switch on the way to it arrives as well, so that the choice never goes back to a later one: the
//! joined tables have no loops.

use super::fabric::Fabric;
use super::roles::ImportedHost;
use std::collections::BTreeMap;

/// No port, no switch, no host.
const NONE: u32 = u32::MAX;

/// The most stops that are told one by one.
const MAX_STOPS: usize = 10_000;
/// The most loops that are told.
const MAX_LOOPS: usize = 100;

/// Why packets go no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StopReason {
    /// The switch has no table.
    NoTable,
    /// The table has no entry for the LID, or port 255.
    NoEntry,
    /// The table names this port, which has no cable.
    NoCable(u8),
    /// The table names this port, and something else than the destination is joined to it.
    Elsewhere(u8),
    /// The tables form a loop.
    Loop,
    /// Source and destination are in different connected parts.
    OtherPart,
    /// The destination has no LID.
    NoLid,
}

/// Pairs that stop at one place, for one destination.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    pub to: u32,
    /// The switch, a number in [`Walk::switches`]; none if packets reach no switch.
    pub at: Option<u32>,
    pub why: StopReason,
    pub pairs: u64,
    /// The first source.
    pub from: u32,
}

/// A loop of switches, and for how many destinations the tables have it.
#[derive(Clone, Debug)]
pub(super) struct TableLoop {
    pub switches: Vec<u32>,
    pub to: u32,
    pub destinations: usize,
}

/// What the walk found.
#[derive(Debug)]
pub(super) struct Walk {
    /// `next[switch * hosts + host]`: the port towards the host, 0 if its packets do not arrive.
    pub next: Vec<u8>,
    /// Of hosts with several ports, which of them is taken towards each host, `u8::MAX` for none. Empty for others.
    pub first: Vec<Vec<u8>>,
    pub resolved: u64,
    pub stops: Vec<Stop>,
    /// Stops that are not in the list.
    pub more_stops: u64,
    pub loops: Vec<TableLoop>,
    /// The most routes on one link between switches.
    pub most_routes: u64,
}

/// Where packets for one LID end from a switch.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Unknown,
    /// The switch is on the way that is being followed.
    Open,
    Arrives,
    Stops(u32, StopReason),
}

/// The fabric as the walk needs it.
struct Walker<'f> {
    fabric: &'f Fabric,
    hosts: &'f [ImportedHost],
    switches: &'f [u32],
    /// Per node: its number among the switches.
    numbers: Vec<u32>,
    /// `peers[first_port[switch] + port]`: what is joined there.
    peers: Vec<(u32, u32)>,
    first_port: Vec<usize>,
    /// Routes on the link that leaves by each port.
    routes: Vec<u64>,
}

impl Walk {
    /// Walks all pairs of `hosts` over `switches`, nodes of the fabric. Where ports have several LIDs, packets carry
    /// the one that is `offset` above the first, counted modulo their number.
    pub fn new(fabric: &Fabric, hosts: &[ImportedHost], switches: &[u32], offset: u16) -> Walk {
        let mut walker = Walker::new(fabric, hosts, switches);
        let several = |host: &ImportedHost| if host.ports.len() > 1 { vec![u8::MAX; hosts.len()] } else { Vec::new() };
        let mut walk = Walk {
            next: vec![0; hosts.len() * switches.len()],
            first: hosts.iter().map(several).collect(),
            resolved: 0,
            stops: Vec::new(),
            more_stops: 0,
            loops: Vec::new(),
            most_routes: 0,
        };
        let mut loops = BTreeMap::new();
        for to in 0..hosts.len() as u32 {
            walker.walk_to(to, offset, &mut walk, &mut loops);
        }
        walk.loops = loops.into_values().collect();
        walk.most_routes = walker.routes.iter().copied().max().unwrap_or(0);
        walk
    }
}

/// The LID of the port of an adapter that is `offset` above its first.
fn lid_of(fabric: &Fabric, (adapter, port): (u32, u32), offset: u16) -> Option<u16> {
    let port = fabric.node(adapter).ports.get(&port)?;
    let lids = 1u16 << port.lmc.min(7);
    (port.lid > 0).then(|| port.lid.checked_add(offset % lids)).flatten()
}

impl<'f> Walker<'f> {
    fn new(fabric: &'f Fabric, hosts: &'f [ImportedHost], switches: &'f [u32]) -> Self {
        let mut numbers = vec![NONE; fabric.all.nodes.len()];
        let (mut peers, mut first_port) = (Vec::new(), Vec::new());
        for (number, &switch) in (0u32..).zip(switches) {
            numbers[switch as usize] = number;
            first_port.push(peers.len());
            // Tables name ports by 8 bits.
            peers.resize(peers.len() + 256, (NONE, NONE));
            for (port, peer, peer_port) in fabric.cables(switch).filter(|(port, ..)| *port < 255) {
                peers[first_port[number as usize] + port as usize] = (peer, peer_port);
            }
        }
        let routes = vec![0; peers.len()];
        Walker { fabric, hosts, switches, numbers, peers, first_port, routes }
    }

    /// The port that the table of a switch names for a LID.
    fn port(&self, switch: u32, lid: u16) -> Result<u8, StopReason> {
        let table = &self.fabric.tables[self.switches[switch as usize] as usize];
        if table.is_empty() {
            return Err(StopReason::NoTable);
        }
        let found = table.binary_search_by_key(&lid, |(lid, _)| *lid).map(|at| table[at].1);
        found.ok().filter(|port| *port != u8::MAX).ok_or(StopReason::NoEntry)
    }

    /// Where packets for `lid`, which `target` has, end from each switch.
    fn fates(&self, target: (u32, u32), lid: u16, to: u32, loops: &mut BTreeMap<Vec<u32>, TableLoop>) -> Vec<Fate> {
        let mut fates = vec![Fate::Unknown; self.switches.len()];
        let mut way = Vec::new();
        let part = self.fabric.parts[target.0 as usize];
        for start in 0..self.switches.len() as u32 {
            if self.fabric.parts[self.switches[start as usize] as usize] != part {
                fates[start as usize] = Fate::Stops(start, StopReason::OtherPart);
                continue;
            }
            let mut at = start;
            let fate = loop {
                match fates[at as usize] {
                    Fate::Unknown => {}
                    Fate::Open => {
                        let begin = way.iter().position(|s| *s == at).unwrap_or(0);
                        remember_loop(&way[begin..], to, loops);
                        break Fate::Stops(at, StopReason::Loop);
                    }
                    known => break known,
                }
                fates[at as usize] = Fate::Open;
                way.push(at);
                let port = match self.port(at, lid) {
                    Ok(port) => port,
                    Err(why) => break Fate::Stops(at, why),
                };
                let peer = self.peers[self.first_port[at as usize] + usize::from(port)];
                match peer {
                    _ if peer == target => break Fate::Arrives,
                    // Port 0 is the switch itself.
                    (NONE, _) if port > 0 => break Fate::Stops(at, StopReason::NoCable(port)),
                    (node, _) if node == NONE || self.numbers[node as usize] == NONE => {
                        break Fate::Stops(at, StopReason::Elsewhere(port));
                    }
                    (node, _) => at = self.numbers[node as usize],
                }
            };
            way.drain(..).for_each(|switch| fates[switch as usize] = fate);
        }
        fates
    }

    /// Walks the pairs of all sources to one host.
    fn walk_to(&mut self, to: u32, offset: u16, walk: &mut Walk, loops: &mut BTreeMap<Vec<u32>, TableLoop>) {
        let hosts = self.hosts;
        let mut fates: Vec<(u16, Vec<Fate>)> = Vec::new();
        for &target in &hosts[to as usize].ports {
            if let Some(lid) = lid_of(self.fabric, target, offset) {
                fates.push((lid, self.fates(target, lid, to, loops)));
            }
        }
        for switch in 0..self.switches.len() {
            let arrives = fates.iter().find(|(_, fates)| fates[switch] == Fate::Arrives);
            if let Some(Ok(port)) = arrives.map(|(lid, _)| self.port(switch as u32, *lid)) {
                walk.next[switch * hosts.len() + to as usize] = port;
            }
        }
        let mut sources = vec![0u64; self.switches.len()];
        let mut stops: BTreeMap<(Option<u32>, StopReason), Stop> = BTreeMap::new();
        for from in (0..hosts.len() as u32).filter(|from| *from != to) {
            match self.start(from, to, &walk.next) {
                Some((rail, switch)) => {
                    walk.resolved += 1;
                    if let Some(first) = walk.first[from as usize].get_mut(to as usize) {
                        *first = rail;
                    }
                    if let Some(switch) = switch {
                        sources[switch as usize] += 1;
                    }
                }
                None => {
                    let (at, why) = self.why(from, &fates);
                    let new = Stop { to, at, why, pairs: 0, from };
                    stops.entry((at, why)).or_insert(new).pairs += 1;
                }
            }
        }
        for stop in stops.into_values() {
            if walk.stops.len() < MAX_STOPS { walk.stops.push(stop) } else { walk.more_stops += stop.pairs }
        }
        self.count(to, &sources, &walk.next);
    }

    /// By which of its ports, and over which switch, packets of `from` reach `to`.
    fn start(&self, from: u32, to: u32, next: &[u8]) -> Option<(u8, Option<u32>)> {
        let ports = &self.hosts[from as usize].ports;
        (0u8..u8::MAX).zip(ports).find_map(|(rail, &(adapter, port))| {
            let peer = self.fabric.node(adapter).ports[&port].peer?;
            if self.hosts[to as usize].ports.contains(&(peer.node, peer.port)) {
                return Some((rail, None));
            }
            let switch = Some(self.numbers[peer.node as usize]).filter(|s| *s != NONE)?;
            (next[switch as usize * self.hosts.len() + to as usize] > 0).then_some((rail, Some(switch)))
        })
    }

    /// Where packets of `from` stop, which reach their destination by none of its LIDs.
    fn why(&self, from: u32, fates: &[(u16, Vec<Fate>)]) -> (Option<u32>, StopReason) {
        if fates.is_empty() {
            return (None, StopReason::NoLid);
        }
        let mut found = None;
        for &(adapter, port) in &self.hosts[from as usize].ports {
            let peer = self.fabric.node(adapter).ports[&port].peer;
            let Some(switch) = peer.map(|p| self.numbers[p.node as usize]).filter(|s| *s != NONE) else { continue };
            for (_, fates) in fates {
                match fates[switch as usize] {
                    Fate::Stops(_, StopReason::OtherPart) => {}
                    Fate::Stops(at, why) => found = found.or(Some((Some(at), why))),
                    _ => {}
                }
            }
        }
        found.unwrap_or((None, StopReason::OtherPart))
    }

    /// Counts the routes from each switch to a host on the links between switches.
    fn count(&mut self, to: u32, sources: &[u64], next: &[u8]) {
        for (start, &pairs) in sources.iter().enumerate().filter(|(_, pairs)| **pairs > 0) {
            let mut at = start;
            loop {
                let link = self.first_port[at] + usize::from(next[at * self.hosts.len() + to as usize]);
                let (node, _) = self.peers[link];
                let Some(number) = self.numbers.get(node as usize).copied().filter(|n| *n != NONE) else { break };
                self.routes[link] += pairs;
                at = number as usize;
            }
        }
    }
}

/// Remembers a loop, which begins at its first switch whatever the way was that led to it.
fn remember_loop(way: &[u32], to: u32, loops: &mut BTreeMap<Vec<u32>, TableLoop>) {
    let begin = (0..way.len()).min_by_key(|i| way[*i]).unwrap_or(0);
    let mut switches = way.to_vec();
    switches.rotate_left(begin);
    if let Some(known) = loops.get_mut(&switches) {
        known.destinations += 1;
    } else if loops.len() < MAX_LOOPS {
        loops.insert(switches.clone(), TableLoop { switches, to, destinations: 1 });
    }
}
