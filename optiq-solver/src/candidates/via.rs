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

use optiq_net::{LinkId, Network, NodeId};

/// The trials for k paths are at most this many times k, and so many more.
const TRIALS_PER_PATH: usize = 3;
const MORE_TRIALS: usize = 24;

/// A list of intermediates is left after so many trials in a row that gave nothing new.
const FRUITLESS: u32 = 4;

/// 2^32 divided by the golden ratio, and another odd number without pattern (as in Knuth's multiplicative hashing).
const GOLDEN: u32 = 0x9E37_79B1;
const OTHER: u32 = 0x85EB_CA77;

/// The working space for one network, to be used for one pair after another.
pub struct Via<'n> {
    net: &'n Network,
    /// Coprime to the number of hosts, about 0.618 of it.
    stride: u64,
    /// Per link, the last pair for which it was on a path taken, and on a direct route.
    covered: Vec<u32>,
    on_direct: Vec<u32>,
    pair: u32,
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
        self.next < self.last && self.fruitless < FRUITLESS
    }

    /// The next one of a list that is open, and its place in the list.
    fn pop(&mut self) -> (NodeId, u32) {
        self.next += 1;
        (self.hosts[(self.next - 1) % self.hosts.len()], self.next as u32)
    }
}

impl<'n> Via<'n> {
    /// Two words for each link of `net`.
    pub fn new(net: &'n Network) -> Self {
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
        Via { net, stride, covered: marks.clone(), on_direct: marks, pair: 0 }
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
        let ports = self.ports(src).len().max(1) as u64;
        let hosts = net.hosts() as u64;
        let offset = (u64::from(start) * hosts) >> 32;
        let stride = self.stride;
        let everywhere = |i: u64| NodeId(((offset + i % hosts * stride) % hosts) as u32);
        let mut far = 0..hosts * ports;

        let mut taken: Vec<Vec<LinkId>> = Vec::new();
        let mut rest: Vec<(NodeId, Vec<LinkId>)> = Vec::new();
        let mut path = Vec::new();
        for trial in 0..(k * TRIALS_PER_PATH + MORE_TRIALS) as u32 {
            if taken.len() == k {
                return taken;
            }
            // From the two short lists in turn, and from everywhere every other time.
            let short = if trial % 2 == 0 { Some(trial as usize / 2 % 2) } else { None };
            let short = short.filter(|&list| lists[list].is_open());
            let (host, turn) = match short {
                Some(list) => lists[list].pop(),
                None => match far.next() {
                    Some(i) => (everywhere(i), i as u32),
                    None if lists.iter().any(List::is_open) => continue,
                    None => break,
                },
            };
            if host == src || host == dst || !self.through(src, host, dst, turn.wrapping_add(start >> 16), &mut path) {
                continue;
            }
            let (new, shared) = self.adds(&path, host);
            // What takes all links of a direct route, and more, is never better than it.
            let new = new && !direct.iter().any(|route| route.iter().all(|l| path.contains(l)));
            if let Some(list) = short {
                lists[list].fruitless = if new { 0 } else { lists[list].fruitless + 1 };
            }
            if new && shared == 0 {
                self.take(&path);
                taken.push(path.clone());
            } else if new {
                rest.push((host, path.clone()));
            }
        }
        for (most, avoid_direct) in [(1, true), (2, true), (usize::MAX, true), (usize::MAX, false)] {
            let mut left = Vec::new();
            for (host, path) in rest {
                let (new, shared) = self.adds(&path, host);
                let of_direct = |&l: &LinkId| self.between_switches(l) && self.on_direct[l.index()] == self.pair;
                if shared > most || (avoid_direct && path.iter().any(of_direct)) {
                    left.push((host, path));
                } else if new && taken.len() < k {
                    self.take(&path);
                    taken.push(path);
                }
            }
            rest = left;
        }
        taken
    }

    /// The ports that software chooses from at `host`; none if the fabric chooses.
    fn ports(&self, host: NodeId) -> std::ops::Range<u32> {
        if self.net.chooses_port(host) { self.net.out_range(host) } else { 0..0 }
    }

    /// Makes `path` the two legs from `src` over `host` to `dst`, each by a port that `turn` names; whether that is a
    /// path.
    fn through(&self, src: NodeId, host: NodeId, dst: NodeId, turn: u32, path: &mut Vec<LinkId>) -> bool {
        path.clear();
        let several = self.ports(src).len().max(1) as u32;
        let legs = [(src, host, turn), (host, dst, turn / several)];
        let routed = legs.into_iter().all(|(from, to, turn)| match self.ports(from) {
            none if none.is_empty() => self.net.route(from, to, path).is_ok(),
            ports => self.net.route_by_port(LinkId(ports.start + turn % ports.len() as u32), to, path).is_ok(),
        });
        routed && crate::legs::repeated(self.net, path).is_none()
    }

    fn between_switches(&self, link: LinkId) -> bool {
        let link = self.net.link(link);
        !self.net.is_host(link.from) && !self.net.is_host(link.to)
    }

    /// Whether the path over `host` has a link that no path taken has, those of `host` aside; and how many links between
    /// switches it shares with them.
    fn adds(&self, path: &[LinkId], host: NodeId) -> (bool, usize) {
        let covered = |l: &LinkId| self.covered[l.index()] == self.pair;
        let of_host = |l: &LinkId| self.net.link(*l).from == host || self.net.link(*l).to == host;
        let new = path.iter().any(|l| !of_host(l) && !covered(l));
        (new, path.iter().filter(|l| self.between_switches(**l) && covered(l)).count())
    }

    fn take(&mut self, path: &[LinkId]) {
        path.iter().for_each(|l| self.covered[l.index()] = self.pair);
    }
}
