//! All legs of a network, by where the fabric takes over.
//!
//! A leg from host `u` to host `v` is a link of `u` and the fabric's route from there. Under a routing by destination that
//! route is the same for all hosts on a switch, so legs are kept as routes from *entries* to hosts: entries are the
//! switches that have hosts, and what differs between their hosts is the link. Otherwise (s-mod-k) the route
//! depends on who sends, and every port of every host is an entry. A host whose port the fabric chooses is one itself.

use optiq_net::{LinkId, Network, NodeId};
use std::cell::OnceCell;

/// Routes between all entries and hosts are kept if there are at most this many.
const KEPT_ROUTES: usize = 4 << 20;

/// And if they have at most this many links, 4 bytes each.
const KEPT_LINKS: usize = 48 << 20;

/// Where the fabric takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    /// At a switch, or at a host whose port the fabric chooses.
    At(NodeId),
    /// At the host whose link this is, which sends by it.
    Port(LinkId),
}

/// How a host can inject: over a link, if the entry does not include it, into an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Injection {
    pub link: Option<LinkId>,
    pub entry: u32,
}

/// Routes from every entry to every host: route (e, h) is `links[ends[i - 1]..ends[i]]` with `i = e * hosts + h`.
struct Routes {
    ends: Vec<u32>,
    links: Vec<LinkId>,
}

/// The legs of a network; routes are kept when that pays.
pub(crate) struct LegTable<'n> {
    net: &'n Network,
    entries: Vec<Entry>,
    /// Host h sends by `injections[first_injection[h]..first_injection[h + 1]]`.
    injections: Vec<Injection>,
    first_injection: Vec<u32>,
    /// `None` if they would be too many.
    routes: OnceCell<Option<Routes>>,
}

impl<'n> LegTable<'n> {
    /// Time and memory of a few words for each host; routes are computed later.
    pub fn new(net: &'n Network) -> Self {
        let by_destination = net.routing().is_destination_based();
        let mut wanted: Vec<(Option<LinkId>, Entry)> = Vec::new();
        let mut first_injection = vec![0];
        for host in (0..net.hosts() as u32).map(NodeId) {
            let links = net.out_range(host);
            let on_a_switch = links.len() == 1 && net.neighbours(host).all(|v| !net.is_host(v));
            match (net.chooses_port(host) || on_a_switch, by_destination) {
                (true, true) => wanted.extend(net.out_links(host).map(|l| (Some(l), Entry::At(net.link(l).to)))),
                (true, false) => wanted.extend(net.out_links(host).map(|l| (None, Entry::Port(l)))),
                (false, _) => wanted.push((None, Entry::At(host))),
            }
            first_injection.push(wanted.len() as u32);
        }
        let mut entries: Vec<Entry> = wanted.iter().map(|w| w.1).collect();
        entries.sort_unstable();
        entries.dedup();
        let injection = |&(link, entry): &(Option<LinkId>, Entry)| Injection {
            link,
            entry: entries.partition_point(|&e| e < entry) as u32,
        };
        let injections = wanted.iter().map(injection).collect();
        LegTable { net, entries, injections, first_injection, routes: OnceCell::new() }
    }

    /// How `host` can inject, by its links in ascending order.
    pub fn injections(&self, host: NodeId) -> &[Injection] {
        &self.injections[self.first_injection[host.index()] as usize..self.first_injection[host.index() + 1] as usize]
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Appends the fabric's route from entry `e` to `host`, if there is one; whether there is.
    pub fn route(&self, e: usize, host: NodeId, links: &mut Vec<LinkId>) -> bool {
        match self.kept(e, host) {
            Some(route) => {
                links.extend_from_slice(route);
                !route.is_empty()
            }
            None => self.walk(e, host, links),
        }
    }

    /// The route from entry `e` to `host`, empty if there is none, if routes were kept.
    pub fn kept(&self, e: usize, host: NodeId) -> Option<&[LinkId]> {
        let routes = self.routes.get()?.as_ref()?;
        let i = e * self.net.hosts() + host.index();
        let start = if i == 0 { 0 } else { routes.ends[i - 1] as usize };
        Some(&routes.links[start..routes.ends[i] as usize])
    }

    fn walk(&self, e: usize, host: NodeId, links: &mut Vec<LinkId>) -> bool {
        match self.entries[e] {
            Entry::At(v) => v != host && self.net.route(v, host, links).is_ok(),
            Entry::Port(l) => self.net.link(l).from != host && self.net.route_by_port(l, host, links).is_ok(),
        }
    }

    /// Computes all routes and keeps them, if they are not too many.
    pub fn keep_routes(&self) {
        let make = || {
            let hosts = self.net.hosts();
            let pairs = self.entries.len() * hosts;
            if pairs > KEPT_ROUTES {
                return None;
            }
            let mut routes = Routes { ends: Vec::with_capacity(pairs), links: Vec::new() };
            for pair in 0..pairs {
                self.walk(pair / hosts, NodeId((pair % hosts) as u32), &mut routes.links);
                if routes.links.len() > KEPT_LINKS {
                    return None;
                }
                routes.ends.push(routes.links.len() as u32);
            }
            Some(routes)
        };
        self.routes.get_or_init(make);
    }
}
