//! Paths as chains of legs.
//!
//! Software chooses where bytes are forwarded, not which cables they take: between two hosts the fabric follows its
//! own route. A path `v_0, ..., v_m` can therefore be executed exactly if it falls into stretches between hosts that
//! are each the fabric's own route between their ends (a *leg*). Every host between two legs is a forwarder and costs
//! a copy, so the decomposition with the fewest legs is the one to execute: a shortest path in the graph whose
//! vertices are the host positions `0 = i_0 < i_1 < ... = m` of the path and whose edges are the legs, found here by
//! breadth-first search. Nothing is assumed of the routing (prefixes of routes need not be routes).
//!
//! Software that sends from a host with several links to switches also chooses by which of them
//! ([`Network::chooses_port`]): a leg may begin with any, and is the fabric's own route from where that leads.
//!
//! A path passes no host twice and takes no link twice; switches it may pass twice. On its way to the host that forwards
//! and back again it crosses that host's switch twice in any case, and two legs may meet in another.
//!
//! On a grid whose dimension order is the same for all packets ([`FixedOrder`]) every beginning of a leg is a leg. Then
//! let `r(i)` be the farthest position that one leg from position `i` reaches. The positions that need `n` legs and no
//! fewer are the stretch from behind those that need `n - 1` to the largest `r(i)` of these: level after level, one look
//! at each position, and `r(i)` costs the length of that leg. It is the same search, and finds the same stops.
//! (Always taking the longest next leg need not be best: where ties of half a ring depend on the source, a leg from
//! further ahead may end earlier.)

use optiq_net::{FixedOrder, Link, LinkId, Network, NodeId, Ports};

/// The hosts at which the path `links` is cut into the fewest legs: source, forwarders in order, destination.
///
/// `None` if the path is empty, not a chain of links, starts or ends at a switch, or cannot be cut into legs at all
/// (on a switched network: a path that leaves the fabric's own route between switches).
///
/// Among decompositions with equally few legs, the one whose last legs start nearest to the destination's side of
/// the path is taken, which makes the result unique.
pub fn stops(net: &Network, links: &[LinkId]) -> Option<Vec<NodeId>> {
    Cutter::new(net).stops(links)
}

/// Whether `stops` cuts the path `links` into legs: it starts and ends with the path's ends, all stops are hosts on
/// the path in its order, and each stretch between two of them is the fabric's own route.
pub fn check(net: &Network, links: &[LinkId], stops: &[NodeId]) -> bool {
    Cutter::new(net).check(links, stops)
}

/// [`stops`] and [`check`] for many paths of one network.
pub struct Cutter<'n> {
    net: &'n Network,
    /// Where every beginning of a leg is a leg.
    grid: Option<(&'n Ports, &'n FixedOrder)>,
    // Scratch space.
    nodes: Vec<NodeId>,
    reach: Vec<usize>,
    levels: Vec<usize>,
    route: Vec<LinkId>,
}

impl<'n> Cutter<'n> {
    /// For paths of `net`.
    pub fn new(net: &'n Network) -> Self {
        let grid = net.ports().and_then(|ports| ports.order().map(|order| (ports.as_ref(), order)));
        Cutter { net, grid, nodes: Vec::new(), reach: Vec::new(), levels: Vec::new(), route: Vec::new() }
    }

    /// See [`stops`].
    pub fn stops(&mut self, links: &[LinkId]) -> Option<Vec<NodeId>> {
        self.walk(links)?;
        let (first, last) = (self.nodes.first()?, self.nodes.last()?);
        if !self.net.is_host(*first) || !self.net.is_host(*last) {
            return None;
        }
        match self.grid {
            Some((ports, order)) => self.by_levels(ports, order, links),
            None => self.by_search(links),
        }
    }

    /// See [`check`].
    pub fn check(&mut self, links: &[LinkId], stops: &[NodeId]) -> bool {
        self.walk(links).is_some() && self.check_walked(links, stops)
    }

    /// [`Cutter::check`] of the path that was walked last.
    pub(crate) fn check_walked(&mut self, links: &[LinkId], stops: &[NodeId]) -> bool {
        if self.nodes.len() != links.len() + 1
            || stops.first() != self.nodes.first()
            || stops.last() != self.nodes.last()
        {
            return false;
        }
        let mut at = 0;
        for &stop in &stops[1..] {
            let Some(hops) = self.nodes[at + 1..].iter().position(|&v| v == stop) else { return false };
            let end = at + 1 + hops;
            let leg = match self.grid {
                Some((ports, order)) => reach(ports, order, self.nodes[at], &links[at..end]) == end - at,
                None => is_leg(self.net, self.nodes[at], stop, &links[at..end], &mut self.route),
            };
            if !leg || !self.net.is_host(stop) {
                return false;
            }
            at = end;
        }
        at == links.len() && self.net.is_host(stops[0])
    }

    /// The vertices of a path, see [`nodes`].
    pub(crate) fn walk(&mut self, links: &[LinkId]) -> Option<&[NodeId]> {
        nodes_into(self.net, links, &mut self.nodes).then_some(self.nodes.as_slice())
    }

    /// The search of the module's head for fixed dimension orders.
    fn by_levels(&mut self, ports: &Ports, order: &FixedOrder, links: &[LinkId]) -> Option<Vec<NodeId>> {
        let m = links.len();
        self.reach.clear();
        self.levels.clear();
        self.levels.push(0);
        let (mut next, mut end) = (0, 0);
        // `levels[n]` is the last position that n legs reach; the one after it begins the next level.
        while end < m {
            for i in next..=end {
                self.reach.push(i + reach(ports, order, self.nodes[i], &links[i..]));
            }
            let farthest = self.reach[next..].iter().copied().max()?;
            if farthest <= end {
                return None;
            }
            (next, end) = (end + 1, farthest);
            self.levels.push(end);
        }
        let mut stops = vec![self.nodes[m]; self.levels.len()];
        let mut at = m;
        for n in (0..self.levels.len() - 1).rev() {
            at = (0..=self.levels[n]).rev().find(|&i| self.reach[i] >= at)?;
            stops[n] = self.nodes[at];
        }
        Some(stops)
    }

    /// Breadth-first search over all pairs of positions.
    fn by_search(&mut self, links: &[LinkId]) -> Option<Vec<NodeId>> {
        let (net, nodes, m) = (self.net, &self.nodes, links.len());
        if is_leg(net, nodes[0], nodes[m], links, &mut self.route) {
            return Some(vec![nodes[0], nodes[m]]);
        }
        const UNREACHED: usize = usize::MAX;
        let mut from = vec![UNREACHED; m + 1];
        from[0] = 0;
        let mut frontier = vec![0usize];
        while from[m] == UNREACHED && !frontier.is_empty() {
            let mut next = Vec::new();
            for &i in &frontier {
                for j in (i + 1..=m).rev() {
                    // The whole is no leg, as was found above.
                    if (i, j) != (0, m)
                        && from[j] == UNREACHED
                        && net.is_host(nodes[j])
                        && is_leg(net, nodes[i], nodes[j], &links[i..j], &mut self.route)
                    {
                        from[j] = i;
                        next.push(j);
                    }
                }
            }
            next.sort_unstable_by(|a, b| b.cmp(a));
            frontier = next;
        }
        if from[m] == UNREACHED {
            return None;
        }
        let mut stops = vec![nodes[m]];
        let mut at = m;
        while at > 0 {
            at = from[at];
            stops.push(nodes[at]);
        }
        stops.reverse();
        Some(stops)
    }
}

/// How many of `links`, which lead on from `source`, one leg covers.
fn reach(ports: &Ports, order: &FixedOrder, source: NodeId, links: &[LinkId]) -> usize {
    order.reach(source, links.iter().map(|&l| ports.of_link(l)))
}

/// Whether `host` may forward: where `forwarders` is given, only hosts that it says so of may, and none beyond its end.
pub(crate) fn may_forward(forwarders: Option<&[bool]>, host: NodeId) -> bool {
    forwarders.is_none_or(|allowed| allowed.get(host.index()) == Some(&true))
}

/// The hosts that forward on a path with these stops.
pub(crate) fn between(stops: &[NodeId]) -> &[NodeId] {
    stops.get(1..stops.len().saturating_sub(1)).unwrap_or_default()
}

/// The vertices of a path, one more than its links; `None` if it is empty, a link is out of range, or the links do
/// not follow each other.
pub fn nodes(net: &Network, links: &[LinkId]) -> Option<Vec<NodeId>> {
    let mut nodes = Vec::with_capacity(links.len() + 1);
    nodes_into(net, links, &mut nodes).then_some(nodes)
}

/// [`nodes`] into a list; `false` where that gives `None`.
fn nodes_into(net: &Network, links: &[LinkId], nodes: &mut Vec<NodeId>) -> bool {
    let all = net.links();
    nodes.clear();
    for l in links {
        let Some(l) = all.get(l.index()) else { return false };
        match nodes.last() {
            None => nodes.push(l.from),
            Some(at) if *at == l.from => {}
            Some(_) => return false,
        }
        nodes.push(l.to);
    }
    !nodes.is_empty()
}

/// Paths of this many links are searched link by link.
const SHORT: usize = 24;

/// Whether [`repeated`] finds something, without working space but in quadratic time.
fn passes_twice(net: &Network, links: &[LinkId]) -> bool {
    let all = net.links();
    let (Some(first), true) = (links.first(), links.iter().all(|l| l.index() < all.len())) else {
        return !links.is_empty();
    };
    let start = all[first.index()].from;
    links.iter().enumerate().any(|(i, l)| {
        let to = all[l.index()].to;
        let host_again = net.is_host(to) && (to == start || links[..i].iter().any(|m| all[m.index()].to == to));
        host_again || links[..i].contains(l)
    })
}

/// The host that the path `links` passes twice, or else the vertex from which it takes the same link twice, if there is
/// one; also if `links` is not a chain.
pub fn repeated(net: &Network, links: &[LinkId]) -> Option<NodeId> {
    let all = net.links();
    if links.len() <= SHORT && !passes_twice(net, links) {
        return None;
    }
    let mut taken: Vec<&Link> = links.iter().filter_map(|l| all.get(l.index())).collect();
    let mut hosts: Vec<NodeId> = taken.first().map(|l| l.from).into_iter().chain(taken.iter().map(|l| l.to)).collect();
    hosts.retain(|&v| net.is_host(v));
    hosts.sort_unstable();
    taken.sort_unstable_by_key(|l| (l.from, l.to));
    let host = hosts.windows(2).find(|w| w[0] == w[1]).map(|w| w[0]);
    host.or_else(|| taken.windows(2).find(|w| (w[0].from, w[0].to) == (w[1].from, w[1].to)).map(|w| w[0].from))
}

/// Whether every path of the network can be cut into legs, because each vertex is a host and each link is the
/// fabric's own route between its ends. True for grids with minimal routing; saves checking path by path.
pub fn every_path_has_legs(net: &Network) -> bool {
    if net.ports().is_some_and(|ports| ports.order().is_some()) {
        // Dimension order goes from neighbour to neighbour by the link between them.
        return true;
    }
    let mut route = Vec::new();
    net.vertices() == net.hosts()
        && net.links().iter().enumerate().all(|(i, l)| is_leg(net, l.from, l.to, &[LinkId(i as u32)], &mut route))
}

/// Whether `stretch` is the fabric's own route from `from` to `to`, or the one by another port that software can choose;
/// `route` is scratch space.
fn is_leg(net: &Network, from: NodeId, to: NodeId, stretch: &[LinkId], route: &mut Vec<LinkId>) -> bool {
    route.clear();
    if !net.chooses_port(from) {
        return net.route(from, to, route).is_ok() && route == stretch;
    }
    // The own route is one of those by a port.
    stretch.first().is_some_and(|&port| net.route_by_port(port, to, route).is_ok() && route == stretch)
}
