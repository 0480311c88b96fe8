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

use optiq_net::{Link, LinkId, Network, NodeId};

/// The hosts at which the path `links` is cut into the fewest legs: source, forwarders in order, destination.
///
/// `None` if the path is empty, not a chain of links, starts or ends at a switch, or cannot be cut into legs at all
/// (on a switched network: a path that leaves the fabric's own route between switches).
///
/// Among decompositions with equally few legs, the one whose last legs start nearest to the destination's side of
/// the path is taken, which makes the result unique.
pub fn stops(net: &Network, links: &[LinkId]) -> Option<Vec<NodeId>> {
    let nodes = nodes(net, links)?;
    let m = links.len();
    if !net.is_host(nodes[0]) || !net.is_host(nodes[m]) {
        return None;
    }
    const UNREACHED: usize = usize::MAX;
    let mut from = vec![UNREACHED; m + 1];
    from[0] = 0;
    let mut frontier = vec![0usize];
    let mut route = Vec::with_capacity(m);
    while from[m] == UNREACHED && !frontier.is_empty() {
        let mut next = Vec::new();
        for &i in &frontier {
            for j in (i + 1..=m).rev() {
                if from[j] == UNREACHED
                    && net.is_host(nodes[j])
                    && is_leg(net, nodes[i], nodes[j], &links[i..j], &mut route)
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

/// Whether `stops` cuts the path `links` into legs: it starts and ends with the path's ends, all stops are hosts on
/// the path in its order, and each stretch between two of them is the fabric's own route.
pub fn check(net: &Network, links: &[LinkId], stops: &[NodeId]) -> bool {
    let Some(nodes) = nodes(net, links) else { return false };
    if stops.first() != nodes.first() || stops.last() != nodes.last() || !stops.iter().all(|&s| net.is_host(s)) {
        return false;
    }
    let mut route = Vec::with_capacity(links.len());
    let mut at = 0;
    for &stop in &stops[1..] {
        let Some(hops) = nodes[at + 1..].iter().position(|&v| v == stop) else { return false };
        let end = at + 1 + hops;
        if !is_leg(net, nodes[at], stop, &links[at..end], &mut route) {
            return false;
        }
        at = end;
    }
    at == links.len()
}

/// The vertices of a path, one more than its links; `None` if it is empty, a link is out of range, or the links do
/// not follow each other.
pub fn nodes(net: &Network, links: &[LinkId]) -> Option<Vec<NodeId>> {
    let all = net.links();
    let mut nodes = vec![all.get(links.first()?.index())?.from];
    for l in links {
        let l = all.get(l.index())?;
        if nodes.last() != Some(&l.from) {
            return None;
        }
        nodes.push(l.to);
    }
    Some(nodes)
}

/// Paths of so many links are looked through link by link.
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
