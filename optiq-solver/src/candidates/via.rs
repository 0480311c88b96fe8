//! Paths for networks with switches: the fabric's own routes, and detours through one intermediate host.
//!
//! Between two hosts a switched fabric takes its own route, so all that software can choose is where bytes stop on the
//! way and by which of its links (rails) a host sends. A path is the direct leg `src -> dst`, or two legs
//! `src -> h -> dst`: Valiant's scheme (A Scheme for Fast Parallel Communication, SIAM J. Comput. 1982) with the
//! intermediate chosen by a planner instead of by lot, and a host in place of a switch. With H hosts there are H - 2 such
//! paths for a pair, of which a planner needs those that go round what the direct route may be stuck on.
//!
//! The order of a pair's paths: the fabric's own route; the direct routes by the other ports of the source; then
//! detours, fewer links first. Detours come from a fixed number of trials and no search. Intermediates are tried in turn
//! from three lists:
//! - hosts on the destination's switches: under d-mod-k everything to one destination comes down the same links, and only
//!   a stop beside it changes them;
//! - hosts on the source's switches, for the same reason under s-mod-k;
//! - all hosts in steps of about 0.618 of their number, from a place that the pair names: however few are tried, they
//!   are spread over groups, pods and core switches, as hosts are numbered group by group.
//!
//! A list whose last few hosts gave nothing new is left. What each pair begins with is a multiplicative hash of
//! both its ends, so that pairs do not all choose the same intermediates. Of the detours tried are taken: first those
//! that share no link between switches with a path that was taken before; then those that share none with the direct
//! routes, and one, two or any number with others; then the rest. All are taken only if they add a link that no path
//! taken before has, and leave out one that the direct route has. The two links of the intermediate host do not count:
//! they are new with every host and solve nothing.

use crate::constants::{VIA_FRUITLESS, VIA_MORE_TRIALS, VIA_TRIALS_PER_PATH};
use crate::leg_table::LegTable;
use crate::legs;
use optiq_net::{LinkId, Network, NodeId};

/// 2^32 divided by the golden ratio, and another odd number without pattern (as in Knuth's multiplicative hashing).
const GOLDEN: u32 = 0x9E37_79B1;
const OTHER: u32 = 0x85EB_CA77;

/// The working space for one network, to be used for one pair after another.
pub struct Via<'n> {
    net: &'n Network,
    table: LegTable<'n>,
    /// Coprime to the number of hosts, about 0.618 of it.
    stride: u64,
    /// Per link, whether it joins two switches.
    between_switches: Vec<bool>,
    /// Per link, the last pair for which it was on a path taken, and on a direct route.
    covered: Vec<u32>,
    on_direct: Vec<u32>,
    pair: u32,
}

/// Two legs.
struct Detour {
    links: Vec<LinkId>,
    /// Links of the first leg: the host is between this many and the next.
    stop: usize,
    /// Whether a link between switches is on a direct route, too.
    shares_with_direct: bool,
}

/// One of the lists of intermediates.
struct List {
    hosts: Vec<NodeId>,
    /// The position of the next one to be tried, counted on beyond the end.
    next: usize,
    last: usize,
    fruitless: u32,
}

impl List {
    /// All of `hosts` once, from a place that `start` in 0..2^32 names.
    fn new(hosts: Vec<NodeId>, start: u32) -> Self {
        let first = ((u64::from(start) * hosts.len() as u64) >> 32) as usize;
        List { next: first, last: first + hosts.len(), hosts, fruitless: 0 }
    }

    fn is_open(&self) -> bool {
        self.next < self.last && self.fruitless < VIA_FRUITLESS
    }

    /// The next one of a list that is open, and its place in the list.
    fn pop(&mut self) -> (NodeId, u32) {
        self.next += 1;
        (self.hosts[(self.next - 1) % self.hosts.len()], self.next as u32)
    }
}

impl<'n> Via<'n> {
    /// For about `pairs` pairs: legs are computed once if that makes it faster. Some words for each link and host of
    /// `net`, and at most 210 MB for the legs.
    pub fn new(net: &'n Network, pairs: usize, k: usize) -> Self {
        let table = LegTable::new(net);
        let legs = pairs.saturating_mul(2 * (k * VIA_TRIALS_PER_PATH + VIA_MORE_TRIALS));
        if table.entries().saturating_mul(net.hosts()) < legs {
            table.keep_routes();
        }
        let hosts = net.hosts() as u64;
        let coprime = |a: &u64| {
            let (mut a, mut b) = (*a, hosts);
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a == 1
        };
        let stride = (hosts * 618 / 1000..).find(coprime).unwrap_or(1);
        let marks = vec![0; net.links().len()];
        let between_switches = net.links().iter().map(|l| !net.is_host(l.from) && !net.is_host(l.to)).collect();
        Via { net, table, stride, between_switches, covered: marks.clone(), on_direct: marks, pair: 0 }
    }

    /// At most `k` distinct paths from host `src` to host `dst`, another one, the fabric's own first; none if it has no
    /// route.
    pub fn paths(&mut self, src: NodeId, dst: NodeId, k: usize) -> Vec<Vec<LinkId>> {
        self.pair = self.pair.wrapping_add(1);
        let mut found = self.direct(src, dst);
        found.truncate(k);
        for link in found.iter().flatten() {
            self.covered[link.index()] = self.pair;
            self.on_direct[link.index()] = self.pair;
        }
        if found.is_empty() || found.len() >= k {
            return found;
        }
        let mut detours = self.detours(src, dst, k - found.len(), &found);
        detours.sort_by_key(Vec::len);
        found.append(&mut detours);
        found
    }

    /// The fabric's own route, then those by other ports.
    fn direct(&self, src: NodeId, dst: NodeId) -> Vec<Vec<LinkId>> {
        let mut own = Vec::new();
        if self.net.route(src, dst, &mut own).is_err() {
            return Vec::new();
        }
        let mut found = vec![own];
        if self.net.chooses_port(src) {
            for port in self.net.out_links(src) {
                let mut route = Vec::new();
                if port != found[0][0] && self.net.route_by_port(port, dst, &mut route).is_ok() {
                    found.push(route);
                }
            }
        }
        found
    }

    fn detours(&mut self, src: NodeId, dst: NodeId, k: usize, direct: &[Vec<LinkId>]) -> Vec<Vec<LinkId>> {
        let net = self.net;
        let start = src.0.wrapping_mul(GOLDEN).wrapping_add(dst.0.wrapping_mul(OTHER));
        let beside = |switches: &mut dyn Iterator<Item = NodeId>| {
            let on = |switch| net.in_links(switch).iter().map(|&l| net.link(l).from).filter(|&h| net.is_host(h));
            let mut hosts: Vec<NodeId> = switches.filter(|&s| !net.is_host(s)).flat_map(on).collect();
            hosts.sort_unstable();
            hosts.dedup();
            hosts
        };
        let mut lists = [
            List::new(beside(&mut net.in_links(dst).iter().map(|&l| net.link(l).from)), start),
            List::new(beside(&mut net.neighbours(src)), start),
        ];
        let ports = self.table.injections(src).len() as u64;
        let hosts = net.hosts() as u64;
        let offset = (u64::from(start) * hosts) >> 32;
        let stride = self.stride;
        let everywhere = |i: u64| NodeId(((offset + i % hosts * stride) % hosts) as u32);
        let mut far = 0..hosts * ports;

        let mut taken: Vec<Vec<LinkId>> = Vec::new();
        let mut rest: Vec<Detour> = Vec::new();
        for trial in 0..k * VIA_TRIALS_PER_PATH + VIA_MORE_TRIALS {
            if taken.len() == k {
                return taken;
            }
            // From the two short lists in turn, and from everywhere every other time.
            let short = if trial % 2 == 0 { Some(trial / 2 % 2) } else { None };
            let short = short.filter(|&list| lists[list].is_open());
            let (host, turn) = match short {
                Some(list) => lists[list].pop(),
                None => match far.next() {
                    Some(i) => (everywhere(i), i as u32),
                    None if lists.iter().any(List::is_open) => continue,
                    None => break,
                },
            };
            if host == src || host == dst {
                continue;
            }
            let Some(detour) = self.through(src, host, dst, turn.wrapping_add(start >> 16)) else { continue };
            let (new, shared) = self.adds(&detour);
            // What takes all links of a direct route, and more, is never better than it.
            let new = new && !direct.iter().any(|route| route.iter().all(|l| detour.links.contains(l)));
            if let Some(list) = short {
                lists[list].fruitless = if new { 0 } else { lists[list].fruitless + 1 };
            }
            if new && shared == 0 {
                taken.push(self.take(detour));
            } else if new {
                rest.push(detour);
            }
        }
        for (most, avoid_direct) in [(1, true), (2, true), (usize::MAX, true), (usize::MAX, false)] {
            let mut left = Vec::new();
            for detour in rest {
                if taken.len() == k {
                    return taken;
                }
                let (new, shared) = self.adds(&detour);
                if shared > most || (avoid_direct && detour.shares_with_direct) {
                    left.push(detour);
                } else if new {
                    taken.push(self.take(detour));
                }
            }
            rest = left;
        }
        taken
    }

    /// The two legs from `src` over `host` to `dst`, each by a port that `turn` names, if that is a path.
    fn through(&self, src: NodeId, host: NodeId, dst: NodeId, turn: u32) -> Option<Detour> {
        let mut links = Vec::with_capacity(16);
        let mut leg = |from: NodeId, to: NodeId, turn: u32| {
            let injections = self.table.injections(from);
            let injection = injections.get(turn as usize % injections.len().max(1))?;
            links.extend(injection.link);
            self.table.route(injection.entry as usize, to, &mut links).then_some(links.len())
        };
        let several = self.table.injections(src).len().max(1) as u32;
        let stop = leg(src, host, turn)?;
        leg(host, dst, turn / several)?;
        let of_direct = |l: &LinkId| self.between_switches[l.index()] && self.on_direct[l.index()] == self.pair;
        let shares_with_direct = links.iter().any(of_direct);
        legs::repeated(self.net, &links).is_none().then_some(Detour { links, stop, shares_with_direct })
    }

    /// Whether the detour has a link that no path taken has, those of its host aside; and how many links between
    /// switches it shares with them.
    fn adds(&self, detour: &Detour) -> (bool, usize) {
        let (mut new, mut shared) = (false, 0);
        for (i, l) in detour.links.iter().enumerate() {
            let covered = self.covered[l.index()] == self.pair;
            new |= !covered && i + 1 != detour.stop && i != detour.stop;
            shared += usize::from(covered && self.between_switches[l.index()]);
        }
        (new, shared)
    }

    fn take(&mut self, detour: Detour) -> Vec<LinkId> {
        detour.links.iter().for_each(|l| self.covered[l.index()] = self.pair);
        detour.links
    }
}
