//! Rails: mirrored planes of switches, with an adapter of every host in each of them unless said otherwise.
//!
//! With R rails there are R planes of switches, wired and routed alike; the switches of plane r follow those of plane r - 1, in
//! the same order. A packet stays in the plane that it is sent into. The fabric's own route takes plane k mod R, where k is the
//! number of the destination (of the source under s-mod-k) that also chooses among equal paths in the plane; where one of the two
//! hosts has no adapter in that plane, the next plane, counted round, in which both have one. Software may send into any other plane
//! ([`crate::network::Network::route_by_port`]). Whichever plane each packet takes, a shift of all hosts that is free of
//! contention on one rail stays so: every plane carries a part of what the one carries.
//!
//! Where ranks own adapters, adapters are the hosts of the network, and every few consecutive ones are those of one *node*: they
//! are joined by the node's memory, a switch with a link to each of them, behind all other switches. Between hosts of one node
//! the route goes through the memory and nowhere else; from node to node it never does.

use crate::fingerprint::Hasher;
use crate::ids::NodeId;
use crate::switched::cables::{Cable, Class, check_size};
use crate::switched::closed_form::Plane;

/// The most rails: a bit for each of a host's adapters.
pub(crate) const MAX_RAILS: u32 = 64;

/// A switched network: mirrored planes of switches, and who has which adapters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Switched {
    plane: Plane,
    rails: u32,
    /// The adapters that hosts have, a bit for each rail: from this host on, up to the next entry. Empty if all have all.
    adapters: Vec<(u32, u64)>,
    /// Hosts that are the adapters of one node; `None` if each host is a node.
    node: Option<u32>,
    /// Hosts; switches of one plane. They follow from the plane, and every step of a route asks for them.
    hosts: u32,
    switches: u32,
}

impl Switched {
    /// `rails` times `plane`. `adapters` are those that hosts have: from each of these hosts on, the first of them 0, a bit for
    /// each rail; all if it is empty. With `node`, that many hosts are the adapters of one node.
    pub fn new(plane: Plane, rails: u32, adapters: Vec<(u32, u64)>, node: Option<u32>) -> Result<Self, String> {
        if rails == 0 || rails > MAX_RAILS {
            return Err(format!("{rails} rails; 1 to {MAX_RAILS} are expected"));
        }
        let hosts = plane.hosts();
        if let Some(size) = node.filter(|size| !hosts.is_multiple_of(*size) || *size < 2) {
            return Err(format!(
                "{hosts} hosts as nodes of {size} adapters; a number above 1 that divides them is expected"
            ));
        }
        if node.is_some() && rails > 1 {
            return Err(
                "rails= and nodes= are both given; with nodes= every adapter is a host of its own, on one rail".into(),
            );
        }
        let memory = node.map_or(0, |size| u64::from(hosts / size));
        let of_plane = plane.vertices() - hosts;
        let switches = u64::from(of_plane) * u64::from(rails) + memory;
        let memory_links = if node.is_some() { 2 * u64::from(hosts) } else { 0 };
        check_size(u64::from(hosts) + switches, plane.directed_links() * u64::from(rails) + memory_links)?;
        let there = || adapters.iter().filter(|(first, _)| *first < plane.hosts());
        if let Some((host, _)) = there().find(|(_, have)| *have == 0) {
            return Err(format!("host {host} is left without an adapter; at least one is expected"));
        }
        for (a, have) in there() {
            if let Some((b, _)) = there().find(|(_, other)| other & have == 0) {
                return Err(format!(
                    "hosts {a} and {b} have no rail in common, and no switch joins two rails; adapters in the same rail are expected"
                ));
            }
        }
        Ok(Switched { plane, rails, adapters, node, hosts, switches: of_plane })
    }

    /// What each plane is.
    pub fn plane(&self) -> &Plane {
        &self.plane
    }

    pub fn rails(&self) -> u32 {
        self.rails
    }

    #[inline]
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    pub fn vertices(&self) -> u32 {
        self.first_memory() + self.node.map_or(0, |size| self.hosts() / size)
    }

    /// Hosts that are the adapters of one node, if they are.
    pub fn node(&self) -> Option<u32> {
        self.node
    }

    /// The number of the first memory: what is below it are hosts and switches.
    #[inline]
    pub fn first_memory(&self) -> u32 {
        self.hosts + self.rails * self.switches
    }

    /// The memory that is `v`, or that the host `v` has: its vertex, and the first of its hosts.
    pub fn memory(&self, v: u32) -> Option<(u32, u32)> {
        let (size, first) = (self.node?, self.first_memory());
        let node = if v < self.hosts() { v / size } else { v.checked_sub(first)? };
        Some((first + node, node * size))
    }

    /// Whether both are of one node: hosts, or its memory.
    fn same_node(&self, a: u32, b: u32) -> bool {
        self.memory(a).is_some_and(|memory| self.memory(b) == Some(memory))
    }

    /// The rails in which a host has an adapter, a bit for each.
    fn adapters(&self, host: u32) -> u64 {
        let after = self.adapters.partition_point(|(first, _)| *first <= host);
        after.checked_sub(1).map_or(u64::MAX >> (MAX_RAILS - self.rails), |i| self.adapters[i].1)
    }

    /// Whether a host has an adapter in a rail.
    pub fn has_adapter(&self, host: u32, rail: u32) -> bool {
        self.adapters(host) >> rail & 1 == 1
    }

    /// The rail of a switch (0 for a host), and the number that it has in a plane; of a memory, those of its first host.
    pub fn place(&self, v: u32) -> (u32, u32) {
        if v >= self.first_memory() {
            return (0, self.memory(v).map_or(0, |memory| memory.1));
        }
        if self.rails == 1 || v < self.hosts() {
            return (0, v);
        }
        let rail = (v - self.hosts()) / self.switches;
        (rail, v - rail * self.switches)
    }

    /// The vertex that has this number in a plane.
    fn vertex(&self, rail: u32, v: u32) -> u32 {
        if v < self.hosts() { v } else { v + rail * self.switches }
    }

    /// The links of memories: a host and its memory.
    pub fn memory_cables(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let hosts = if self.node.is_some() { self.hosts() } else { 0 };
        (0..hosts).filter_map(|host| Some((host, self.memory(host)?.0)))
    }

    /// Bundles, those of plane 0 first, with their rail; without those of memories.
    pub fn cables(&self) -> impl Iterator<Item = (u32, Cable)> + '_ {
        let of_plane = self.plane.cables();
        (0..self.rails).flat_map(move |rail| {
            let there = |&(a, _, _, _): &Cable| a >= self.hosts() || self.has_adapter(a, rail);
            let moved =
                |&(a, b, lanes, class): &Cable| (rail, (self.vertex(rail, a), self.vertex(rail, b), lanes, class));
            of_plane.iter().filter(|c| there(c)).map(moved).collect::<Vec<_>>()
        })
    }

    /// Whether it is nothing but a plane of switches and its hosts, as most are: places and vertices are the plane's then.
    #[inline]
    fn is_one_plane(&self) -> bool {
        self.rails == 1 && self.node.is_none()
    }

    /// The rail that the fabric's own route from `src` to `dst` takes; `None` if they have none in common.
    fn rail(&self, src: u32, key: u32, dst: u32) -> Option<u32> {
        let first = key % self.rails;
        if self.adapters.is_empty() {
            return Some(first);
        }
        let both = self.adapters(src) & self.adapters(dst);
        (0..self.rails).map(|turn| (first + turn) % self.rails).find(|rail| both >> rail & 1 == 1)
    }

    /// The next vertex from `at` towards the host `dst`, which is not `at`; the number of the host `key` chooses among
    /// equally good ways. `None` where the plane that `at` is in does not lead there.
    #[inline]
    pub fn next(&self, at: u32, key: u32, dst: u32) -> Option<u32> {
        if self.is_one_plane() { Some(self.plane.next(at, key, dst)) } else { self.next_in_planes(at, key, dst) }
    }

    /// As [`Switched::next`], with several planes or memories.
    fn next_in_planes(&self, at: u32, key: u32, dst: u32) -> Option<u32> {
        if self.same_node(at, dst) {
            return if at < self.hosts() { self.memory(at).map(|memory| memory.0) } else { Some(dst) };
        }
        if at >= self.first_memory() {
            return None;
        }
        let (rail, place) = self.place(at);
        let rail = if at < self.hosts() { self.rail(at, key, dst)? } else { rail };
        self.has_adapter(dst, rail).then(|| self.vertex(rail, self.plane.next(place, key, dst)))
    }

    /// The host whose number chooses for packets that start at `src`: itself, or the first host below a switch.
    pub fn source_key(&self, src: u32) -> u32 {
        self.plane.source_key(self.place(src).1)
    }

    /// The group of a switch of a dragonfly; 0 elsewhere.
    pub fn group(&self, switch: u32) -> u32 {
        match (self.place(switch).1, &self.plane) {
            (_, Plane::FatTree(_)) => 0,
            // The switch of a memory's first host.
            (host, plane) if host < self.hosts() => plane.group(plane.next(host, host, host)),
            (switch, plane) => plane.group(switch),
        }
    }

    /// The class of the link between two neighbours.
    pub fn class(&self, a: u32, b: u32) -> Class {
        if a.max(b) >= self.first_memory() {
            return Class::Terminal;
        }
        self.plane.class(self.place(a).1, self.place(b).1)
    }

    /// The cable of a bundle of parallel ones that modulo routing takes; nothing where it does not say.
    pub fn lane(&self, from: u32, to: u32, key: u32, dst: u32) -> Option<u32> {
        if self.is_one_plane() {
            return self.plane.lane(from, to, key, dst);
        }
        if from.max(to) >= self.first_memory() {
            return Some(0);
        }
        self.plane.lane(self.place(from).1, self.place(to).1, key, dst)
    }

    /// The distance between two hosts in links; nothing if one of them is a switch, or if the way through the memory of a node may
    /// be shorter.
    pub fn distance(&self, a: NodeId, b: NodeId) -> Option<u32> {
        let (a, b) = (a.0, b.0);
        match a.max(b) < self.hosts() {
            true if a != b && self.same_node(a, b) => Some(2),
            true if self.node.is_none() => Some(self.plane.distance(a, b)),
            _ => None,
        }
    }

    /// One rail has the words that it had before there were rails. Who lacks which adapters, the links say.
    pub fn fingerprint(&self, h: &mut Hasher) {
        let (kind, mut words) = self.plane.words();
        words.extend((self.rails > 1).then_some(self.rails));
        words.extend(self.node.map(|size| [u32::MAX, size]).into_iter().flatten());
        h.u64(kind);
        h.u64(words.len() as u64);
        words.iter().for_each(|&w| h.u64(u64::from(w)));
    }
}
